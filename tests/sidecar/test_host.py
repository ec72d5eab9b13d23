"""A sidecar as the runtime sees it: a real process, from build to end."""

import asyncio
import os
import signal
import sys
import zipfile
from pathlib import Path
from unittest.mock import ANY

import pytest

from planck.mcp.peer import State
from planck.records.messages import (
    AssistantMessage,
    Image,
    Message,
    StopReason,
    Text,
    Thinking,
    ToolMessage,
    ToolResult,
    UserMessage,
    user_text,
)
from planck.records.outcome import Err, ErrorKind, Ok
from planck.sidecar import compacting
from planck.sidecar.host import SidecarTool
from planck.toolkit.tool import Outcome, Tool, ToolContext
from tests.mcp.bench import WAIT, Leaping, Watched, descendants, names
from tests.sidecar.bench import HEAD, TOOLS, sidecar, write


def tools_of(one: Watched) -> dict[str, Tool]:
    return {listed.name: SidecarTool(listed, one.instances) for listed in one.peer.tools.tools}


async def test_its_tools_are_listed_called_timed_and_dry_run_and_nothing_it_prints_breaks_that(
    tmp_path: Path,
) -> None:
    async with sidecar(write(tmp_path / "side")) as one:
        await one.until(State.CONNECTED)
        assert one.states == [State.BUILDING, State.STARTING, State.CONNECTED]
        tools = tools_of(one)
        assert names(one.peer.tools) == ["echo", "slow", "block", "crash", "wrong", "remove", "pid", "waits"]
        added = tools["echo"].parameters["properties"]["timeout_ms"]
        assert (added["type"], added["maximum"]) == ("integer", 3_600_000)
        assert tools["waits"].parameters["properties"] == {"timeout_ms": {"type": "integer"}}

        heard: list[str] = []
        ctx = ToolContext("s1", "a1", "c1", tmp_path, progress=heard.append)
        assert await _run(tools["echo"], {"text": "hi", "timeout_ms": 5000}, ctx) == Ok(
            {"output": "s1/a1/c1/hi"}
        )
        assert await _run(tools["waits"], {"timeout_ms": 5000}, ctx) == Ok({"output": '{"timeout_ms":5000}'})
        assert await _run(tools["remove"], {}, ctx) == Ok({"output": "removed", "left": 0})
        dry = ToolContext("s1", "a1", "c1", tmp_path, dry_run=True)
        assert await _run(tools["remove"], {}, dry) == Ok({"output": "would remove it", "dry_run": True})
        assert await _run(tools["wrong"], {"kind": "not_found"}, ctx) == Err(
            ErrorKind.NOT_FOUND, "as asked", {"why": "not_found"}
        )
        assert await _run(tools["wrong"], {"kind": "exit"}, ctx) == Err(ErrorKind.INTERNAL_ERROR, ANY)
        assert await _run(tools["wrong"], {"kind": 7}, ctx) == Err(ErrorKind.INVALID_ARGS, ANY, ANY)
        late = await _run(tools["slow"], {"seconds": 60, "timeout_ms": 300}, ctx)
        assert late == Err(ErrorKind.TIMEOUT, ANY, {"timeout_ms": 300, "output": "begun\n"})
        assert heard == ["begun\n"]
        # The next call finds the same process: a blocked thread is not a hang.
        assert await _run(tools["echo"], {"text": "on"}, ctx) == Ok({"output": "s1/a1/c1/on"})
        assert one.states[-1] is State.CONNECTED


@pytest.mark.heavy  # it starts the SDK, a second of processor time each time
async def test_a_hang_of_the_whole_process_ends_it_and_its_tools_come_back(tmp_path: Path) -> None:
    async with sidecar(write(tmp_path / "side"), probe_timeout=0.2) as one:
        await one.until(State.CONNECTED)
        first = await one.peer.call("pid", {}, timeout=20)
        os.kill(_sidecar_pid(), signal.SIGSTOP)
        assert await one.peer.call("echo", {"text": "x"}, timeout=0.2) == Err(ErrorKind.TIMEOUT, ANY, ANY)
        await one.until(State.CONNECTED, 2)
        assert (
            await one.peer.call("pid", {}, timeout=20) == first
        )  # in a namespace of its own, the first process
        assert [len(listing.tools) for listing in one.listings] == [8, 0, 8]


@pytest.mark.heavy  # it starts the SDK, a second of processor time each time
async def test_a_compactor_is_given_plain_messages_and_its_time_is_kept_on_our_side(tmp_path: Path) -> None:
    text = HEAD + "from planck.sidecar import as_text\nclass Mine(Sidecar):\n    def compactors(self):\n"
    text += "        echo = lambda m: '|'.join(map(as_text, m)) + f'{m}'\n"
    text += "        return {'echo': echo, 'hang': lambda m: time.sleep(60)}\n"
    messages: list[Message] = [
        UserMessage((Text("look"), Image("image/png", "QUJD")), "rita"),
        AssistantMessage((Thinking("hm", "sealed"), Text("I do")), "x", "m", StopReason.END),
        ToolMessage((ToolResult("1", "1", "read", True, "what is there", (Image("image/png", "QUJD"),)),)),
    ]
    async with sidecar(write(tmp_path / "side", text)) as one:
        await one.until(State.CONNECTED)
        (listed,) = one.peer.tools.tools
        assert compacting.names_of(listed) == ("echo", "hang")
        whole = await compacting.compact(one.peer, "echo", messages, 20)
        assert isinstance(whole, Ok)
        assert whole.value.startswith("rita: look|agent: I do|read -> what is there[UserMessage(")
        assert "QUJD" not in whole.value
        assert "sealed" not in whole.value
        late = await compacting.compact(one.peer, "hang", messages, 0.3)
        assert isinstance(late, Err)
        assert late.kind is ErrorKind.TIMEOUT
        huge: list[Message] = [user_text("x" * (9 << 20))]
        assert await compacting.compact(one.peer, "echo", huge, 20) == Err(ErrorKind.LIMIT_EXCEEDED, ANY)
        assert one.states[-1] is State.CONNECTED


@pytest.mark.parametrize("kills", [1, pytest.param(30, marks=pytest.mark.soak)])
async def test_kill_9_during_a_call_fails_it_once_and_the_tools_return(tmp_path: Path, kills: int) -> None:
    before = descendants()
    async with sidecar(write(tmp_path / "side"), clock=Leaping()) as one:
        for count in range(1, kills + 1):
            await one.until(State.CONNECTED, count)
            call = asyncio.create_task(one.peer.call("slow", {"seconds": 60}, timeout=60))
            watch = await _begun(one)
            os.kill(_sidecar_pid(), signal.SIGKILL)
            outcomes = await asyncio.gather(call, watch)
            assert [outcome.kind for outcome in outcomes if isinstance(outcome, Err)] == [
                ErrorKind.PEER_FAILED
            ] * 2
        await one.until(State.CONNECTED, kills + 1)
        assert await one.peer.call("remove", {}, timeout=20) == Ok({"output": "removed", "left": 0})
        assert one.peer.starts == kills + 1
    assert descendants() - before == set()


@pytest.mark.heavy  # it starts the SDK, a second of processor time each time
async def test_a_changed_file_starts_it_afresh_between_two_calls(tmp_path: Path) -> None:
    folder = write(tmp_path / "side")
    async with sidecar(folder) as one:
        await one.until(State.CONNECTED)
        call = await _begun(one, seconds=1.0)
        write(folder, TOOLS.replace("Echo a text.", "Echo it anew."))
        assert await call == Ok({"output": "done"})
        await one.until(State.CONNECTED, 2)
        assert one.peer.tools.tools[0].spec.description == "Echo it anew."
        assert State.DISCONNECTED not in one.states


SAYS = "class A(Sidecar):\n    def tools(self): "
BROKEN = {
    "syntax": (HEAD + "class Mine(Sidecar:\n", "SyntaxError"),
    "import": ("import nowhere_to_be_found\n", "No module named 'nowhere_to_be_found'"),
    "exit": (HEAD + "sys.exit(4)\n", "SystemExit: 4"),
    "tools-exit": (HEAD + SAYS + "sys.exit(4)\n", "SystemExit: 4"),
    "tools-raise": (HEAD + SAYS + "raise ValueError('half \\udcff')\n", "ValueError: half ?"),
    "tools-none": (HEAD + SAYS + "return None\n", "'NoneType' object is not iterable"),
    "tools-async": (HEAD + SAYS.replace("def", "async def") + "return []\n", "'coroutine' object"),
    "schema": (
        HEAD + SAYS + "return [Tool('a', '', {'type': 'nonsense'}, print)]\n",
        "the parameters of 'a'",
    ),
    "schema-list": (HEAD + SAYS + "return [Tool('a', '', {'type': 'array'}, print)]\n", "not 'object'"),
    "init": (HEAD + "class A(Sidecar):\n    def __init__(self): 1 / 0\n", "ZeroDivisionError"),
    "two": (
        HEAD + "class A(Sidecar): pass\nclass B(Sidecar): pass\n",
        "more than one class implements Sidecar",
    ),
    "twice": (
        HEAD
        + "t = Tool('same', '', {'type': 'object'}, lambda a, c, x: '')\n"
        + "class A(Sidecar):\n    def tools(self): return [t, t]\n",
        "two of the sidecar's tools have the same name: same",
    ),
    "requirement": (
        "# /// script\n# dependencies = ['no-such-package-anywhere']\n# ///\n" + HEAD,
        "cannot build the sidecar",
    ),
}


@pytest.mark.parametrize(
    "problem",
    [
        pytest.param(name, marks=[] if name in ("syntax", "tools-raise", "two") else [pytest.mark.heavy])
        for name in BROKEN
    ],
)
async def test_a_broken_sidecar_says_what_is_wrong_once_and_is_tried_again_when_it_changes(
    tmp_path: Path, problem: str
) -> None:
    text, expected = BROKEN[problem]
    folder = write(tmp_path / "side", text)
    async with sidecar(folder) as one:
        await one.until(State.ERROR)
        assert expected in one.peer.detail
        assert one.states.count(State.BUILDING) == 1  # another start would end the same way
        assert await one.peer.call("x", {}, timeout=5) == Err(ErrorKind.PEER_FAILED, one.peer.detail)
        if problem == "syntax":
            write(folder)
            await one.until(State.CONNECTED)


async def test_a_sidecar_without_an_entry_class_is_connected_without_tools(tmp_path: Path) -> None:
    async with sidecar(write(tmp_path / "side", "x = 1\n")) as one:
        await one.until(State.CONNECTED)
        assert one.peer.tools.tools == ()


@pytest.mark.heavy  # it builds an environment with pip
async def test_a_project_with_a_dependency_gets_an_environment_that_is_built_once(tmp_path: Path) -> None:
    wheel = _wheel(tmp_path, "planck_test_dependency", "ANSWER = 42\n")
    folder = tmp_path / "side"
    package = folder / "src" / "my_side"
    package.mkdir(parents=True)
    needed = f'["planck-agents", "planck-test-dependency @ {wheel.as_uri()}"]'
    (folder / "pyproject.toml").write_text(f'[project]\nname = "my-side"\ndependencies = {needed}\n')
    (package / "__init__.py").write_text("")
    (package / "entry.py").write_text(
        HEAD + "from planck_test_dependency import ANSWER\nclass Mine(Sidecar):\n    def tools(self):\n"
        "        return [Tool('answer', '', {'type': 'object'}, lambda a, c, x: f'{ANSWER} {sys.prefix}'),\n"
        "                Tool('env', '', {'type': 'object'}, lambda a, c, x: dict(os.environ))]\n"
    )
    for _ in range(2):
        async with sidecar(folder) as one:
            await one.until(State.CONNECTED)
            answer = await one.peer.call("answer", {}, timeout=20)
            environment = await one.peer.call("env", {}, timeout=20)
        assert isinstance(answer, Ok)
        assert answer.value["output"].startswith(f"42 {tmp_path}/cache/")
        assert isinstance(environment, Ok)
        assert "SECRET_KEY" not in environment.value["output"]
    assert len([entry for entry in (tmp_path / "cache").iterdir() if entry.is_dir()]) == 1


async def _begun(one: Watched, seconds: float = 60) -> "asyncio.Task[Outcome]":
    """A call of `slow` that has reached the tool."""
    begun = asyncio.Event()
    call = one.peer.call("slow", {"seconds": seconds}, timeout=60, progress=lambda text: begun.set())
    task = asyncio.create_task(call)
    async with asyncio.timeout(WAIT):
        await begun.wait()
    return task


async def _run(tool: Tool, args: dict[str, object], ctx: ToolContext) -> object:
    function = tool.dry_run if ctx.dry_run else tool.execute
    outcome = function(args, ctx)
    assert not isinstance(outcome, Ok | Err)
    return await outcome


def _sidecar_pid() -> int:
    """The process below us that runs the sidecar's code, not the one that contains it."""
    for pid in descendants():
        try:
            words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        except OSError:  # ended meanwhile
            continue
        if words[:2] == [sys.executable.encode(), b"-PB"]:
            return pid
    raise AssertionError("no sidecar runs")


def _wheel(folder: Path, name: str, text: str) -> Path:
    path = folder / f"{name}-1.0-py3-none-any.whl"
    info = f"{name}-1.0.dist-info"
    with zipfile.ZipFile(path, "w") as wheel:
        wheel.writestr(f"{name}.py", text)
        wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        wheel.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: t\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        wheel.writestr(f"{info}/RECORD", f"{name}.py,,\n{info}/METADATA,,\n{info}/WHEEL,,\n{info}/RECORD,,\n")
    return path


HOSTILE = (
    HEAD
    + """
sys.stdout.close()
sys.stderr.close()
failing = []

def fail(agent, call, args):
    failing.append(1)
    print("nobody reads this")

class Mine(Sidecar):
    def tools(self):
        if failing[1:]:
            raise RuntimeError("no more")
        object_ = {"type": "object"}
        return [
            Tool("fine", "half \\udcff", object_, lambda agent, call, args: "a \\udcff"),
            Tool("fail", "", object_, fail),
        ]
"""
)


@pytest.mark.heavy  # it starts the SDK, a second of processor time each time
async def test_half_characters_and_closed_streams_break_nothing_and_a_late_failure_is_told(
    tmp_path: Path,
) -> None:
    async with sidecar(write(tmp_path / "side", HOSTILE)) as one:
        await one.until(State.CONNECTED)
        assert await one.peer.call("fine", {}, timeout=20) == Ok({"output": "a \ufffd"})
        for _ in range(2):
            assert await one.peer.call("fail", {}, timeout=20) == Err(ErrorKind.INTERNAL_ERROR, ANY)
        gone = await one.peer.call("fine", {}, timeout=20)
        assert isinstance(gone, Err)
        assert "cannot list the sidecar's tools: RuntimeError: no more" in gone.message
        assert one.peer.starts == 1
