"""The result of a run, counted while it goes on, is what its log says."""

from pathlib import Path

import pytest

from planck import Planck
from planck.records.outcome import Err, ErrorKind
from planck.testing.scripted import Say, Scripted, ScriptedProvider

REFUSED = Err(ErrorKind.PROVIDER_HTTP_ERROR, "no", {"status": 400})
RUNS: dict[str, tuple[list[Scripted], str]] = {
    "an answer": (["done"], "completed"),
    "tools, and usage of several steps": ([[("list_dir", {})], [("list_dir", {})], "done"], "completed"),
    "a call that is denied": ([[("write", {"path": "a", "content": "b"})], "so be it"], "completed"),
    "a model that fails": ([REFUSED], "failed"),
    "too many steps": ([[("list_dir", {})]] * 4, "capped"),
    "no text at all": ([Say(text="")], "completed"),
}


@pytest.mark.parametrize("name", RUNS)
async def test_a_run_comes_to_what_its_log_says(tmp_path: Path, name: str) -> None:
    script, status = RUNS[name]
    (tmp_path / "work").mkdir()
    provider = ScriptedProvider(["before", *script])
    async with Planck(
        tmp_path / "home", tmp_path / "work", environ={}, providers={"double": provider}
    ) as planck:
        session = await planck.start(model="double/m", mode="ask", max_steps=3)
        await session.run("an earlier run, which is not counted")
        before = session.head
        result = await session.run("go")
        assert result.status == status
        assert result == session.result(before, result.duration_ms)
        assert result != session.result(0, result.duration_ms)


async def test_a_long_run_is_not_read_back_from_the_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "work").mkdir()
    provider = ScriptedProvider([*[[("list_dir", {"path": f"./{'/' * n}"})] for n in range(5)], "done"])
    async with Planck(
        tmp_path / "home", tmp_path / "work", environ={}, providers={"double": provider}
    ) as planck:
        session = await planck.start(model="double/m", mode="ask")
        read: list[int] = []
        reader = type(session._log.store)
        whole = reader.read

        def watch(store: object, after: int = 0, **of: str | None) -> object:
            read.append(after)
            return whole(store, after, **of)  # type: ignore[arg-type]

        monkeypatch.setattr(reader, "read", watch)
        assert (await session.run("go")).steps == 6
        assert read == []
