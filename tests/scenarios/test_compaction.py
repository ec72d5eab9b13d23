"""A session that outgrows its model's window, through the facade."""

import json
from pathlib import Path
from typing import Any

from planck import Planck
from planck.llm.provider import Request
from planck.records.outcome import Err, ErrorKind
from planck.records.usage import Usage
from planck.testing.scripted import Say, ScriptedProvider
from tests.recorded import recorded

WINDOW = 128_000


async def test_a_long_turn_goes_on_after_it_filled_the_window(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "big.txt").write_text("a long line of text\n" * 800)
    shown: list[int] = []

    def answer(request: Request) -> Any:
        if "memory of a coding agent" in request.system:
            return "I read big.txt several times."
        shown.append(request.history.tokens(5000))
        if len(shown) >= 40:
            return "done"
        # A model that counts many more tokens than the bytes suggest, and no more than there are bytes.
        return Say(
            calls=[("read", {"path": "big.txt", "offset": len(shown)})], usage=Usage(shown[-1] + 13_000, 20)
        )

    double = ScriptedProvider(answer)
    async with Planck(tmp_path / "home", tmp_path / "work", environ={}, providers={"double": double}) as p:
        session = await p.start(model="double/m", mode="full")
        result = await session.run("read it again and again")
        assert (result.status, result.text) == ("completed", "done")
        before = await recorded(session)
        await session.aclose()
        again = await p.resume(session.id)
        assert (await again.run("and now?")).status == "completed"
    compacted = [event["data"] for event in before if event["type"] == "compacted"]
    assert len(compacted) > 2
    assert all(data["tokens_after"] < data["tokens_before"] for data in compacted)
    assert max(shown) < WINDOW
    assert "read it again and again" in str(double.asked[-1].messages)
    assert "left out; call read again" in str(double.asked[-1].messages)


async def test_a_resumed_agent_knows_its_usage_and_turns_from_before_the_checkpoint(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "big.txt").write_text("a long line of text\n" * 800)
    script = [
        *(
            Say(calls=[("read", {"path": "big.txt", "offset": n})], usage=Usage(n * 16_000, 20))
            for n in range(1, 8)
        ),
        Say(text="done", usage=Usage(100, 5)),
        Say(calls=[("list_team", {})], usage=Usage(100, 5)),
        Say(text="again", usage=Usage(100, 5)),
    ]
    double = ScriptedProvider(script)
    async with Planck(tmp_path / "home", tmp_path / "work", environ={}, providers={"double": double}) as p:
        session = await p.start(model="double/m", mode="full")
        await session.run("first")
        assert [event["type"] for event in await recorded(session)].count("compacted") == 1
        await session.aclose()
        again = await p.resume(session.id)
        await again.run("second")
        events = await recorded(again)
        await again.aclose()
        detail = p.archive.detail(session.id)
    assert [event["turn"] for event in events if event["type"] == "turn_start"] == [1, 2]
    assert "first" in str(double.asked[-1].messages)
    (row,) = json.loads(
        next(event["data"]["output"] for event in reversed(events) if event["type"] == "tool_end")
    )
    before = (sum(range(1, 8)) * 16_000 + 100, 7 * 20 + 5)
    assert (row["usage"]["input_tokens"], row["usage"]["output_tokens"]) == (before[0] + 100, before[1] + 5)
    assert (detail.usage.input_tokens, detail.usage.output_tokens) == (before[0] + 200, before[1] + 10)


async def test_a_model_with_a_smaller_window_than_we_knew_is_believed(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "big.txt").write_text("a long line of text\n" * 400)
    real_window = 20_000
    refused: list[int] = []
    reads = 0

    def answer(request: Request) -> Any:
        nonlocal reads
        if request.history.tokens(6000) > real_window:
            refused.append(request.history.tokens(6000))
            return Err(ErrorKind.CONTEXT_OVERFLOW, "prompt is too long")
        if "memory of a coding agent" in request.system:
            return "I read big.txt several times."
        reads += 1
        if reads > 15:
            return "done"
        return Say(calls=[("read", {"path": "big.txt", "offset": reads})], usage=Usage())

    double = ScriptedProvider(answer)
    async with Planck(tmp_path / "home", tmp_path / "work", environ={}, providers={"double": double}) as p:
        session = await p.start(model="double/m", mode="full")
        result = await session.run("read it again and again")
        assert (result.status, result.text) == ("completed", "done")
        assert 0 < len(refused) < 6
        compacted = [event["data"] for event in await recorded(session) if event["type"] == "compacted"]
        assert sum(data.get("overflowed", False) for data in compacted) == len(refused)
        windows = [data["window"] for data in compacted]
        assert windows == sorted(windows, reverse=True)
        assert windows[-1] < WINDOW
        assert any(data.get("summary") == "I read big.txt several times." for data in compacted)
        await session.aclose()
        learned, reads = len(refused), 0
        again = await p.resume(session.id)
        assert (await again.run("and once more")).text == "done"
    assert len(refused) == learned, "the model had to refuse again what it had refused before"
