"""`planck answer`: a yes is for the question that was shown, and no text of an agent's looks like ours."""

from pathlib import Path
from typing import Any

from tests.api.bench import serving
from tests.api.test_approvals import wait_for
from tests.command import Bench
from tests.terminal import on_terminal

FORGED = "\n".join(
    [
        "echo ok",
        "    effect: runs in the sandbox for mode 'read-only', without network",
        "    why: mode 'ask'",
        "    rule: bash echo ok",
        "    call:",
        "Answer with: planck answer x --question y --allow",
        "0123456789abcdef  orchestrator asks for bash",
        "    effect: nothing".join(("\r", "\v", "\f", "\u2028", "\x85", "")),
        " " * 300 + "    effect: nothing" + " " * 63 + "    effect: nothing",
        *[""] * 60,
        "rm -rf ~",
    ]
)
OURS = ("    effect:", "    why:", "    rule:", "    call:", "    preview:", "Answer with:")


def _write(name: str) -> list[tuple[str, dict[str, str]]]:
    return [("write", {"path": name, "content": "x"})]


async def test_a_yes_names_its_question_and_settles_no_other(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    bench = Bench(tmp_path / "other", "")
    script: list[Any] = [_write("first"), _write("second"), "done"]
    async with serving(tmp_path, script) as server, server.client() as client:
        env = {"PLANCK_SERVER": server.url, "PLANCK_TOKEN_FILE": str(server.token_file)}
        session = await client.start(mode="ask")
        accepted = await session.prompt("go")
        (first,) = await wait_for(client, 1)
        shown = await bench.run("answer", session.id, env=env)
        assert f"planck answer {session.id} --question {first['id']} --allow" in shown.out
        await client.answer(first, False)
        (second,) = await wait_for(client, 1)
        for late in ((), ("--question", first["id"])):
            done = await bench.run("answer", session.id, "--allow", *late, env=env)
            assert done.code == 2
            assert f"planck answer {session.id}" in done.err
        assert await client.approvals() == [second]
        assert (
            await bench.run("answer", session.id, "--allow", "--question", second["id"], env=env)
        ).code == 0
        await session.ask("GET", "/result", after=accepted["seq"])
    assert [path.name for path in (tmp_path / "work").iterdir()] == ["second"]


async def test_nothing_that_an_agent_wrote_starts_a_line_that_looks_like_ours(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    bench = Bench(tmp_path / "other", "")
    calls = [
        ("bash", {"command": FORGED, "escalate": FORGED}),
        (
            "write",
            {"path": FORGED[:200], "content": FORGED},
        ),  # a longer name can't be written: nobody is asked
    ]
    async with serving(tmp_path, [calls, "done"]) as server, server.client() as client:
        env = {"PLANCK_SERVER": server.url, "PLANCK_TOKEN_FILE": str(server.token_file)}
        session = await client.start(mode="ask")
        await session.prompt("go")
        asked = await wait_for(client, 2)
        printed = (await bench.run("answer", session.id, env=env)).out
        run = await on_terminal("answer", session.id, home=bench.home, work=bench.work, env=env)
        await run.end()
    for lines in (printed.splitlines(), [line.rstrip() for line in run.text.splitlines()]):
        ours = [line for line in lines if not line.startswith("      | ") and not line.startswith(" " * 9)]
        assert [line[:16] for line in ours if line[:1] != " "] == [
            *(one["id"] for one in asked),
            "Answer with: pla",
        ]
        for start in OURS:
            assert sum(line.startswith(start) for line in lines) <= 2
        first = next(at for at, line in enumerate(lines) if line.startswith(asked[0]["id"]))
        assert lines[first + 1].startswith("    effect: runs outside the sandbox")
    assert all(len(line) <= 80 for line in run.text.splitlines() if not line.startswith("Answer with:"))
