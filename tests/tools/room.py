"""A workspace with the built-in tools behind the executor, beside a folder that nobody may reach."""

import asyncio
import hashlib
import json
import os
import tempfile
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import aclosing, contextmanager
from pathlib import Path
from typing import Any

from planck.records import codec
from planck.records.events import Event, View
from planck.records.messages import ToolCall
from planck.records.outcome import Err
from planck.toolkit.clock import SystemClock
from planck.toolkit.journal import Entry, Unrecorded
from planck.toolkit.permit import Allowed
from planck.toolkit.scribe import Scribe
from planck.toolkit.tool import Tool, ToolContext
from planck.toolkit.toolset import ToolSet
from planck.tools.builtin.catalog import builtin_tools
from planck.tools.executor import Executor, ReadCall, Site, read_calls
from planck.tools.results import Finished
from planck.workspace.process.jobs import Jobs

ENVIRONMENT = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "FOO_API_KEY": "canary-4711"}


class AsksFirst:
    """A permit that is a function."""

    def __init__(self, decide: Callable[[Tool, dict[str, Any], ToolContext], Awaitable[Any]]) -> None:
        self._decide = decide

    async def decide(self, tool: Tool, args: dict[str, Any], ctx: ToolContext) -> Any:
        return await self._decide(tool, args, ctx)


class RoomJournal(Unrecorded):
    """Keeps what was recorded and said, or hands what is recorded to somebody else."""

    def __init__(self, room: "Room", record: Callable[[View], Awaitable[None]] | None) -> None:
        super().__init__(lambda call_id, text: room.progress.append((call_id, text)))
        self._record = record or room._record

    async def record_all(self, entries: Sequence[Entry], *, barrier: bool = False) -> list[Event]:
        for entry in entries:
            await self._record(entry.fact)
        return []


class Room:
    def __init__(self, folder: Path, tools: Iterable[Tool] | None = None, **options: Any) -> None:
        self.ws = folder / "ws"
        self.out = folder / "out"
        self.spill = folder / "spill"
        for place in (self.ws, self.out, self.spill):
            place.mkdir(exist_ok=True)
        (self.out / "secret").write_text("the secret\n")
        self.jobs = Jobs()
        self.facts: list[View] = []
        self.progress: list[tuple[str, str]] = []
        self.tools = ToolSet(tools if tools is not None else self.builtin())
        self._options = options
        self.executor = self.agent("agent-1")
        self._count = 0

    def builtin(self, **options: Any) -> list[Tool]:
        return builtin_tools(self.ws, spill=self.spill, environment=ENVIRONMENT, jobs=self.jobs, **options)

    def agent(self, agent_id: str, record: Callable[[View], Awaitable[None]] | None = None) -> Executor:
        options = dict(self._options)
        decide, dry_run = options.pop("permit", None), options.pop("dry_run", False)
        return Executor(
            self.tools,
            Site("session-1", self.ws, dry_run),
            permit=AsksFirst(decide) if decide else Allowed(),
            scribe=Scribe(RoomJournal(self, record), agent_id),
            clock=SystemClock(),
            **options,
        )

    async def call(self, name: str, args: Any = None, *, by: Executor | None = None) -> Finished:
        (only,) = await self.step((name, args), by=by)
        return only

    async def step(self, *calls: tuple[str, Any], by: Executor | None = None) -> list[Finished]:
        read = self.read(*(self.tool_call(*call) for call in calls))
        async with aclosing((by or self.executor).run(read)) as results:
            return [finished async for finished in results]

    def read(self, *calls: ToolCall) -> list[ReadCall]:
        return read_calls(self.tools, calls)

    def tool_call(self, name: str, args: Any = None) -> ToolCall:
        self._count += 1
        text = args if isinstance(args, str) else json.dumps({} if args is None else args)
        return ToolCall(id=f"c{self._count}", provider_id="p", name=name, arguments=text)

    async def _record(self, fact: View) -> None:
        codec.encode(fact)  # as any log would
        self.facts.append(fact)


@contextmanager
def open_folder() -> Iterator[Path]:
    """A folder that another user can reach; pytest closes its own whenever a session starts."""
    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        os.chmod(name, 0o777)
        yield Path(name)


def kind(finished: Finished) -> str:
    return str(finished.outcome.kind) if isinstance(finished.outcome, Err) else "ok"


def value(finished: Finished) -> dict[str, Any]:
    assert not isinstance(finished.outcome, Err), finished.output
    return finished.outcome.value


def details(finished: Finished) -> dict[str, Any]:
    assert isinstance(finished.outcome, Err), finished.output
    return finished.outcome.details


def tree(folder: Path) -> dict[str, str]:
    """Everything below with its content, kind and mode: what must not change."""
    found = {}
    for top, folders, files in os.walk(os.fsencode(folder)):
        for name in sorted(folders + files):
            path = os.path.join(top, name)
            state = os.lstat(path)
            content = b""
            if os.path.islink(path):
                content = os.readlink(path)
            elif os.path.isfile(path):
                with open(path, "rb") as file:
                    content = file.read()
            stamp = (state.st_mode, state.st_ino, state.st_mtime_ns, hashlib.sha256(content).hexdigest())
            found[os.fsdecode(path)] = repr(stamp)
    return found


async def until(condition: Callable[[], object]) -> None:
    """Returns once it holds; 30 s, paid only on failure."""
    for _ in range(1500):
        if condition():
            return
        await asyncio.sleep(0.02)
    raise AssertionError("it never came true")


def processes(tag: str) -> list[int]:
    """Every process of the machine whose command line holds the tag."""
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                command = Path(f"/proc/{entry}/cmdline").read_bytes()
            except OSError:
                continue
            if tag.encode() in command and int(entry) != os.getpid():
                found.append(int(entry))
    return found
