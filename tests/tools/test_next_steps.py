"""Errors of these tools say what to do next and nothing twice; a model that does it gets through."""

import os
import re
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from planck.records.authority import Confinement, Mode
from planck.records.events import ToolEnd
from planck.records.outcome import ErrorKind
from planck.toolkit.tool import Tool, ToolContext
from planck.tools.builtin.read import MAX_BYTES
from planck.tools.results import Finished, is_spilled
from tests.tools.room import Room, kind, value

_STEPS = (
    "add|answer|ask|call|check|continue|copy|correct|did|end|give|leave|look|make|narrow|pass|put|read"
    "|remove|report|run|say|send|shorten|stop|try|use|write"
)
"""One of these is what to do next (`did`: did you mean)."""
Provoke = Callable[[Room], Awaitable[Finished]]


def _call(name: str, **args: Any) -> Provoke:
    return lambda room: room.call(name, args)


def _edit(old: str, new: str = "z") -> Provoke:
    return _call("edit", path="a.py", old_string=old, new_string=new)


async def _conflict(room: Room) -> Finished:
    await room.call("read", {"path": "a.py"})
    (room.ws / "a.py").write_text("changed = True\n")
    return await room.call("edit", {"path": "a.py", "old_string": "changed", "new_string": "z"})


async def _too_many_jobs(room: Room) -> Finished:
    room.jobs.limit = 0
    return await room.call("bash", {"command": "sleep 9", "background": True})


CASES: dict[str, tuple[ErrorKind, Provoke]] = {
    "a missing argument": (ErrorKind.INVALID_ARGS, _call("read")),
    "an unknown argument": (ErrorKind.INVALID_ARGS, _call("read", path="a.py", offfset=1)),
    "JSON that was cut": (ErrorKind.INVALID_ARGS, lambda room: room.call("read", '{"path": "a.p')),
    "not an object": (ErrorKind.INVALID_ARGS, lambda room: room.call("read", "[1]")),
    "a key twice": (ErrorKind.INVALID_ARGS, lambda room: room.call("read", '{"path": "a", "path": "b"}')),
    "an offset past the end": (ErrorKind.INVALID_ARGS, _call("read", path="a.py", offset=99)),
    "the same text": (ErrorKind.INVALID_ARGS, _edit("x = 1", "x = 1")),
    "a broken pattern": (ErrorKind.INVALID_ARGS, _call("grep", pattern="(")),
    "a private address by name": (ErrorKind.INVALID_ARGS, _call("web_fetch", url="ftp://host/x")),
    "an unknown tool": (ErrorKind.UNKNOWN_TOOL, _call("reed", path="a.py")),
    "a tool like no other": (ErrorKind.UNKNOWN_TOOL, _call("zzzzzz")),
    "no such file": (ErrorKind.NOT_FOUND, _call("read", path="b.py")),
    "no such file anywhere": (ErrorKind.NOT_FOUND, _call("read", path="nowhere/at/all.txt")),
    "no file to edit": (ErrorKind.NOT_FOUND, _call("edit", path="ab.py", old_string="x", new_string="y")),
    "no background command": (ErrorKind.NOT_FOUND, _call("bash", command="kill bg_c9")),
    "output that is not kept": (ErrorKind.RESOURCE_MISSING, _call("read", path="output:c9")),
    "nothing near": (ErrorKind.NO_MATCH, _edit("completely different")),
    "something near": (ErrorKind.NO_MATCH, _edit("def total(prices):")),
    "several places": (ErrorKind.NOT_UNIQUE, _edit("x = 1")),
    "a file that changed": (ErrorKind.EDIT_CONFLICT, _conflict),
    "outside": (ErrorKind.OUTSIDE_WORKSPACE, _call("read", path="../out/secret")),
    "a home": (ErrorKind.OUTSIDE_WORKSPACE, _call("read", path="~/x")),
    "a protected path": (ErrorKind.PROTECTED_PATH, _call("write", path=".git/config", content="x")),
    "a folder": (ErrorKind.READ_FAILED, _call("read", path="folder")),
    "a binary file": (ErrorKind.READ_FAILED, _call("read", path="blob.bin")),
    "a folder to write": (ErrorKind.WRITE_FAILED, _call("write", path="folder", content="x")),
    "a name of a folder": (ErrorKind.WRITE_FAILED, _call("write", path="new/", content="x")),
    "no time": (ErrorKind.TIMEOUT, _call("bash", command="echo begun; sleep 9", timeout=300)),
    "no time and no output": (ErrorKind.TIMEOUT, _call("bash", command="sleep 9", timeout=300)),
    "arguments that are too long": (
        ErrorKind.LIMIT_EXCEEDED,
        _call("bash", command="x" * (1 << 20)),
    ),
    "a file that is too long": (
        ErrorKind.LIMIT_EXCEEDED,
        _call("edit", path="big", old_string="x", new_string="y"),
    ),
    "too many background commands": (ErrorKind.LIMIT_EXCEEDED, _too_many_jobs),
    "a host of this machine": (ErrorKind.PERMISSION_DENIED, _call("web_fetch", url="http://127.0.0.1:9/")),
    "a tool that raises": (ErrorKind.INTERNAL_ERROR, _call("broken")),
}
ELSEWHERE = {
    ErrorKind.COMMAND_FAILED: "what a tool of the user says, in its own words",
    ErrorKind.DETACHED: "team",
    ErrorKind.INTERRUPTED: "below: the history says it, no tool",
    ErrorKind.SANDBOX_UNAVAILABLE: "below: here there is one",
    ErrorKind.NETWORK: "tests/tools/test_web_fetch.py",
}


async def _raise(args: dict[str, Any], ctx: ToolContext) -> Any:
    raise RuntimeError("something that nobody expected")


@pytest.fixture
def room(tmp_path: Path) -> Room:
    room = Room(tmp_path)
    room.tools.add(Tool("broken", "d", {}, _raise))
    (room.ws / "a.py").write_text(
        "import os\n\nx = 1\n\ndef total(prices, discount):\n    return sum(prices) - discount\n\nx = 1\n"
    )
    (room.ws / "folder").mkdir()
    (room.ws / "blob.bin").write_bytes(b"\0" * 64)
    with (room.ws / "big").open("wb") as file:
        file.truncate((8 << 20) + 1)
    return room


def _find_repeated(text: str, length: int = 20) -> str:
    seen = set()
    for at in range(len(text) - length + 1):
        piece = text[at : at + length]
        if len(set(piece)) < 4:  # a ruler or an indentation says nothing
            continue
        if piece in seen:
            return piece
        seen.add(piece)
    return ""


def _has_step(message: str) -> bool:
    """Whether something after the first half-sentence begins with what to do."""
    return any(
        re.match(rf"(?:\w+ )?(?:{_STEPS})\b|none is running|you have|known arguments:", part)
        for part in (p.strip().lower() for p in re.split(r"; |\. |: (?=copy)|, so ", message)[1:])
    )


@pytest.mark.parametrize("case", CASES)
async def test_an_error_says_what_to_do_next_and_nothing_twice(room: Room, case: str) -> None:
    expected, provoke = CASES[case]
    result = await provoke(room)
    assert kind(result) == expected, result.output
    message = result.output.splitlines()[0]
    assert message.startswith(f"{expected}: ")
    assert _has_step(message), message
    assert _find_repeated(result.output) == "", result.output
    assert "\n{" not in result.output, "details are sentences"


def test_every_kind_that_these_tools_give_is_provoked() -> None:
    tools = Path(__file__).parents[2] / "src" / "planck"
    folders = [tools / "tools", tools / "toolkit", tools / "workspace" / "paths"]
    texts = [path.read_text() for folder in folders for path in folder.rglob("*.py")]
    given = {name.lower() for text in texts for name in re.findall(r"ErrorKind\.([A-Z_]+)\b", text)}
    assert given - {str(kind) for kind, _ in CASES.values()} - {str(kind) for kind in ELSEWHERE} == set()


async def test_a_command_without_output_says_so(room: Room) -> None:
    assert (await room.call("bash", {"command": "true"})).output == "[no output]"
    assert (await room.call("bash", {"command": "echo; exit 4"})).output == "[no output]\n[exit code 4]"


async def test_a_quiet_failure_in_a_sandbox_without_network_names_the_network(tmp_path: Path) -> None:
    from planck.workspace.sandbox.refusal import explain_refusal

    rights = Confinement(Mode.WORKSPACE, (str(tmp_path),), (str(tmp_path),))
    assert not rights.network
    for command in ("curl -fs https://example.org", "cd x && git fetch -q", "pip install -q y"):
        why = explain_refusal("", rights, command)
        assert why == ("there is no network here", False), command
    assert explain_refusal("", rights, "grep -q curl notes") is None
    assert explain_refusal("404\n", rights, "curl -f https://example.org") is None


async def test_no_match_is_mended_by_copying_from_the_lines_that_it_shows(room: Room) -> None:
    refused = await _edit("def total(prices):", "def total(prices, discount=0):")(room)
    shown = re.search(r"\[lines \d+-\d+\]\n(.*)\n\[end of lines", refused.output, re.DOTALL)
    assert shown, refused.output
    (line,) = (line for line in shown[1].splitlines() if "def total" in line)
    await _succeed(_edit(line, "def total(prices, discount=0):")(room))
    assert "discount=0" in (room.ws / "a.py").read_text()


async def test_not_unique_is_mended_by_a_line_around_it_and_by_replace_all(room: Room) -> None:
    refused = await _edit("x = 1", "x = 2")(room)
    first = int(re.findall(r"at lines (\d+)", refused.output)[0])
    lines = (room.ws / "a.py").read_text().splitlines()
    await _succeed(_edit("\n".join(lines[first - 3 : first]), "import os\n\nx = 2")(room))
    (room.ws / "a.py").write_text("x = 1\nx = 1\n")
    await _succeed(room.call("read", {"path": "a.py"}))
    all_of_them = {"path": "a.py", "old_string": "x = 1", "new_string": "x = 2", "replace_all": True}
    await _succeed(room.call("edit", all_of_them))


async def test_a_conflict_is_mended_by_reading_again(room: Room) -> None:
    refused = await _conflict(room)
    assert "\n+changed = True" in refused.output
    await _succeed(room.call("read", {"path": "a.py"}))
    await _succeed(_edit("changed = True", "changed = False")(room))


@pytest.mark.parametrize("tool", ["read", "edit"])
async def test_a_wrong_path_is_mended_by_the_name_that_is_suggested(room: Room, tool: str) -> None:
    (room.ws / "folder" / "prices.py").write_text("one\n")
    args = {"path": "folder/price.py", "old_string": "one", "new_string": "two"}
    wanted = args if tool == "edit" else {"path": args["path"]}
    refused = await room.call(tool, wanted)
    meant = re.search(r"did you mean '([^']+)'", refused.output)
    assert meant, refused.output
    await _succeed(room.call(tool, {**wanted, "path": meant[1]}))


async def test_a_mistyped_tool_and_a_mistyped_argument_are_mended_by_their_suggestions(room: Room) -> None:
    for name, args in (("reed", {"path": "a.py"}), ("read", {"path": "a.py", "limitt": 1})):
        refused = await room.call(name, args)
        meant = re.search(r"\. Did you mean '([^']+)'\?", refused.output)
        assert meant, refused.output
        tool = meant[1] if name == "reed" else name
        await _succeed(room.call(tool, {"path": "a.py"} if name == "reed" else {"path": "a.py", meant[1]: 1}))


async def test_a_timeout_is_mended_by_a_larger_one(room: Room) -> None:
    command = "echo begun; sleep 0.6"
    refused = await room.call("bash", {"command": command, "timeout": 200})
    assert (kind(refused), "longer timeout" in refused.output) == ("timeout", True)
    assert refused.output.endswith("output:\nbegun\n")
    await _succeed(room.call("bash", {"command": command, "timeout": 60_000}))


async def test_long_output_is_read_at_the_place_that_its_last_line_names(room: Room) -> None:
    result = await room.call("bash", {"command": "seq 1 20000"})
    place = re.search(r"read path (output:\S+)\]$", result.output)
    assert place, result.output[-200:]
    assert (result.spilled, result.as_fact().spilled) == (True, True)
    page = await room.call("read", {"path": place[1], "offset": 10_000})
    assert value(page)["output"].startswith("10000\n")
    assert len(page.output) < MAX_BYTES + 200


@pytest.mark.parametrize(
    ("output", "spilled", "kept"),
    [
        ("1\n[the whole output: read path output:c7]", False, True),  # before there was a field
        ("1\n[full output (9 lines): read path output:c7]", True, True),
        ("1\n[full output (9 lines): read path output:c7]", False, False),  # a command that prints this
        ("1", False, False),
    ],
)
def test_that_output_is_kept_is_a_fact_of_its_event(output: str, spilled: bool, kept: bool) -> None:
    end = ToolEnd(id="c7", name="bash", ok=True, output=output, duration_ms=1, spilled=spilled)
    assert is_spilled(end) is kept


async def _succeed(call: Awaitable[Finished]) -> None:
    result = await call
    assert (kind(result), result.ok) == ("ok", True), result.output


def test_an_interrupted_call_and_a_missing_sandbox_say_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    from planck.records.history import INTERRUPTED, NEVER_RUN
    from planck.workspace.sandbox import sandbox

    assert _has_step(str(INTERRUPTED))
    assert _has_step(str(NEVER_RUN))
    monkeypatch.setattr(sandbox, "find", lambda: sandbox.Backend(None, ("bubblewrap is not installed",)))
    rights = Confinement(Mode.READ_ONLY, (os.getcwd(),), ())
    with pytest.raises(sandbox.SandboxError) as refused:
        sandbox.wrap(rights)
    assert refused.value.err.kind == ErrorKind.SANDBOX_UNAVAILABLE
    assert _has_step(str(refused.value.err))
