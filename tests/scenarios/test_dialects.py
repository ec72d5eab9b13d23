"""A whole turn with a real tool in each dialect: config, key, wire, executor, log and back."""

import json
from pathlib import Path

import pytest

from planck import Planck
from planck.records.messages import Part, StopReason, Text, ToolCall
from planck.records.usage import Usage
from tests.wire.known import KNOWN, Known
from tests.wire.script import SHOW, Answer, play
from tests.wire.server import WireServer

VARIABLES = {"anthropic": "ANTHROPIC_API_KEY", "google": "GOOGLE_API_KEY", "openai": "OPENAI_API_KEY"}


@pytest.mark.parametrize("known", KNOWN, ids=lambda known: known.name)
async def test_a_turn_reads_two_files_and_answers(known: Known, tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.txt").write_text(f"this is {name}\n")
    calls: tuple[Part, ...] = tuple(
        ToolCall("", f"call_{name}", "read", json.dumps({"path": f"{name}.txt"})) for name in ("a", "b")
    )
    thoughts = known.thoughts
    steps = [
        Answer((*thoughts, Text("I look."), *calls), StopReason.TOOL_CALLS, Usage(100, 10), fragment=3),
        Answer((Text("They say a and b."),), usage=Usage(150, 5)),
    ]
    home = tmp_path / "home"
    home.mkdir()
    async with WireServer(play(known.server, steps)) as server:
        entry = {"type": known.type, "base_url": server.url, **({"api": known.api} if known.api else {})}
        (home / "config.json").write_text(json.dumps({"providers": {"p": entry}}))
        environ = {VARIABLES[known.type]: "sk-0123456789"} if known.type in VARIABLES else {}
        async with Planck(home, tmp_path, environ=environ) as planck:
            session = await planck.start(model=f"p/{known.model}", mode="read-only")
            result = await session.run("what do they say?")
        _, second = [asked for asked in server.asked if asked.path != SHOW]
    assert (result.status, result.text) == ("completed", "They say a and b.")
    assert (result.usage.input_tokens, result.usage.output_tokens) == (250, 15)
    assert b"this is a" in second.body
    assert b"this is b" in second.body
    if known.type in VARIABLES:
        assert any("sk-0123456789" in value for value in second.headers.values())


@pytest.mark.parametrize("name", ["anthropic", "google"])
async def test_only_an_error_is_marked_as_one_not_a_command_that_exited_nonzero(
    name: str, tmp_path: Path
) -> None:
    known = next(known for known in KNOWN if known.type == name)
    bad: tuple[Part, ...] = (
        ToolCall("", "call_a", "bash", json.dumps({"command": "echo seen; exit 3"})),
        ToolCall("", "call_b", "read", json.dumps({"path": "nowhere"})),
    )
    steps = [Answer(bad, StopReason.TOOL_CALLS), Answer((Text("I see."),))]
    async with WireServer(play(known.server, steps)) as server:
        flags = {"providers": {"p": {"type": name, "base_url": server.url}}}
        environ = {VARIABLES[name]: "sk-0123456789", "PATH": "/usr/bin:/bin"}
        async with Planck(tmp_path / "home", tmp_path, environ=environ, flags=flags) as planck:
            session = await planck.start(model=f"p/{known.model}", mode="full")
            await session.run("try")
        shown = server.asked[-1].json
    if name == "anthropic":
        blocks = shown["messages"][-1]["content"]
        assert [block["is_error"] for block in blocks] == [False, True]
        assert blocks[0]["content"][0]["text"] == "seen\n[exit code 3]"
    else:
        answers = [part["functionResponse"]["response"] for part in shown["contents"][-1]["parts"]]
        assert [list(answer) for answer in answers] == [["output"], ["error"]]
