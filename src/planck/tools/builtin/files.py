"""What the built-in tools share: who has seen which content, the change itself, where long outputs lie, and
what each says of itself to a model, kept in a `.md` beside its code."""

import asyncio
import hashlib
import re
import threading
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from planck.records.events import FileChanged
from planck.records.outcome import ErrorKind
from planck.toolkit import schema
from planck.toolkit.tool import Changed, FindBasis, ToolContext, ToolError
from planck.workspace.paths.paths import Root, Slot, WorkspaceError

if TYPE_CHECKING:
    from planck.tools.builtin.search import Engine
    from planck.tools.builtin.web import Resolver
    from planck.tools.command_recording import CommandRecording
    from planck.workspace.process.jobs import Jobs
    from planck.workspace.views.view import View

FILE = schema.text("Relative to the workspace", minLength=1)
MAX_FILE = 8 << 20
"""Bytes of a file that is written or edited as a whole."""
_MAX_REMEMBERED = 32 << 20
_MAX_DIFF = 8_000


class Contents:
    """What the agents of a session share: what somebody saw of a file, for diffs; one lock a file."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, bytes] = OrderedDict()
        self._remembered = 0
        self._locks: dict[tuple[str, str], tuple[asyncio.Lock, int]] = {}
        self._noting = threading.Lock()  # `read` notes from its own thread

    def remember(self, content: bytes) -> str:
        """Returns the name under which `recall` may still have it."""
        key = digest(content)
        with self._noting:
            if key not in self._known:
                self._known[key] = content
                self._remembered += len(content)
            self._known.move_to_end(key)
            while self._remembered > _MAX_REMEMBERED:
                self._remembered -= len(self._known.popitem(last=False)[1])
        return key

    def recall(self, key: str) -> bytes | None:
        return self._known.get(key)

    @asynccontextmanager
    async def lock(self, place: tuple[str, str]) -> AsyncIterator[None]:
        """`place`: a view, empty for the workspace itself, and a path: one path is another file in each.

        Waiters go in order of arrival; a lock is there only while somebody holds it or waits."""
        lock, users = self._locks.get(place, (asyncio.Lock(), 0))
        self._locks[place] = lock, users + 1
        try:
            async with lock:
                yield
        finally:
            lock, users = self._locks[place]
            if users == 1:
                del self._locks[place]
            else:
                self._locks[place] = lock, users - 1


class Seen:
    """What one agent last saw of each file, by `Root.place`."""

    def __init__(self, contents: Contents) -> None:
        self._contents = contents
        self._digests: dict[str, str] = {}

    def note(self, place: str, content: bytes) -> None:
        self._digests[place] = self._contents.remember(content)

    def _refuse_change(self, slot: Slot, now: bytes | None) -> None:
        """A file never read by this agent, or gone, may be written; one that changed since may not."""
        last = self._digests.get(slot.place)
        if last is None or now is None or last == digest(now):
            return
        change = _describe_change(self._contents.recall(last), now, slot.path)
        shown = " (the difference is below)" if change else ""
        raise ToolError(
            ErrorKind.EDIT_CONFLICT,
            f"{slot.path!r} changed since you last read it{shown}; "
            "read it again, keep that change, and adjust your edit",
            {"diff": change},
        )

    def peek(self, root: Root, path: str) -> tuple[bytes, int] | None:
        """As `Root.peek`; refuses what `alone` would refuse."""
        try:
            with root.writing(path, create=False) as slot:
                old = slot.read(MAX_FILE)
                self._refuse_change(slot, old[0] if old else None)
                return old
        except WorkspaceError as refusal:
            if refusal.err.kind is ErrorKind.NOT_FOUND:
                return None
            raise

    @asynccontextmanager
    async def alone(self, slot: Slot, ctx: ToolContext) -> AsyncIterator[tuple[bytes, int] | None]:
        """Gives what the file holds, with its mode, where it is what the agent saw and the user was shown.

        No other call of this session changes it meanwhile; what anybody else does is found by `Slot.replace`.
        """
        async with self._contents.lock((slot.view, slot.place)):
            old = await asyncio.to_thread(slot.read, MAX_FILE)
            self._refuse_change(slot, old[0] if old else None)
            shown = ctx.confinement.basis if ctx.confinement else ""
            if shown and shown != _name_basis(slot.place, old):
                raise Changed(slot.path)
            yield old


class AgentView:
    """The workspace as one agent has it: where its paths begin, and what it saw of the files."""

    __slots__ = ("root", "seen")

    def __init__(self, root: Root, seen: Seen) -> None:
        self.root: Root = root
        self.seen: Seen = seen


class Views:
    """One view for each agent of a session that used a file, from its first call until its end.

    The tools are shared, because a set of them for each agent would weigh more than the rest of it: at each
    call they ask here for the view of the caller, and for nothing of anybody else's.
    """

    def __init__(self, root: Root) -> None:
        self.root = root
        self._contents = Contents()
        self._by_agent: dict[str, AgentView] = {}
        self._own: dict[str, View] = {}

    def give(self, agent_id: str, view: "View | None") -> None:
        """Lets an agent work in a view of its own from its next call on; None: in the workspace again."""
        self._by_agent.pop(agent_id, None)
        if view is None:
            self._own.pop(agent_id, None)
        else:
            self._own[agent_id] = view

    def of(self, ctx: ToolContext) -> AgentView:
        found = self._by_agent.get(ctx.agent_id)
        if found is None:  # two first calls at once, in two threads: both get the one that came first
            own = self._own.get(ctx.agent_id)
            root = self.root if own is None else self.root.within(own)
            new = AgentView(root, Seen(self._contents))
            found = self._by_agent.setdefault(ctx.agent_id, new)
        return found

    def end(self, agent_id: str) -> None:
        self._by_agent.pop(agent_id, None)
        self._own.pop(agent_id, None)


def bind_to_file(views: Views) -> FindBasis:
    """Returns what binds a question to the bytes of the file that it shows, and to where that file is.

    The mode bits are not included: no diff shows them, and they are kept as they are.
    """

    async def find_basis(args: dict[str, Any], ctx: ToolContext) -> str:
        root = views.of(ctx).root.under(ctx.confinement)
        return await asyncio.to_thread(_find_basis, root, args["path"])

    return find_basis


def _find_basis(root: Root, path: str) -> str:
    try:
        with root.writing(path, create=False) as slot:
            return _name_basis(slot.place, slot.read(MAX_FILE))
    except WorkspaceError as refused:
        if refused.err.kind is ErrorKind.NOT_FOUND:  # its folder is made with it
            return _name_basis(root.foresee(path), None)
        return f"refused: {refused.err}"  # as the tool will be, unless it changes


def _name_basis(place: str, old: tuple[bytes, int] | None) -> str:
    content = digest(old[0]) if old else "-"
    return digest(f"{content} {place}".encode(errors="surrogateescape"))


async def replace(
    slot: Slot, old: tuple[bytes, int] | None, content: bytes, seen: Seen, ctx: ToolContext
) -> None:
    """The before-image is durable before anything changes."""
    before, mode = old if old is not None else (None, None)
    await ctx.record(
        FileChanged(
            call_id=ctx.call_id,
            path=slot.relative,
            before=before,
            mode=mode,
            after_sha256=digest(content),
            view=slot.view or msgspec.UNSET,
        )
    )
    await asyncio.to_thread(slot.replace, content, mode)
    seen.note(slot.place, content)


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def diff(before: bytes | None, after: bytes, path: str) -> str:
    """Returns the whole unified diff; empty where the files are too long to compare.

    It is not cut here: somebody may decide by it, and only the question says how much of it is not shown.
    """
    if max(len(before or b""), len(after)) > 1 << 20:
        return ""
    from planck.records.diffs import diff_bytes  # not before the first change

    return "\n".join(diff_bytes(before, after, path))


def _describe_change(before: bytes | None, after: bytes, path: str) -> str:
    """Returns what a model is told of a change; empty where the old content is forgotten."""
    from planck.records.diffs import cut_middle

    return cut_middle(diff(before, after, path), _MAX_DIFF)[0] if before is not None else ""


FetchOutput = Callable[[str], "Path | None"]
"""A call's id -> the file with its output, which another machine made; raises why that can't be had."""

SHARED_BYTES = 1 << 20
"""An output up to this size goes with its session to other machines; a larger one stays where it was made."""


class Spills:
    """Whole outputs that were too long for the model, one file per call."""

    def __init__(self, folder: Path, fetch: FetchOutput | None = None) -> None:
        self.folder = folder
        self._fetch = fetch

    def file(self, call_id: str) -> Path | None:
        """None for an id that is no plain name: it can't have a file."""
        plain = re.fullmatch(r"[\w-][\w.-]{0,127}", call_id, re.ASCII)
        return self.folder / f"{call_id}.txt" if plain else None

    def find(self, call_id: str) -> Path | None:
        """Returns the file of an output that is kept, here or where this session was before; it may wait for
        a disk and a database."""
        file = self.file(call_id)
        if file is None or self._fetch is None or file.exists():
            return file
        return self._fetch(call_id)

    def read_shared(self, call_id: str) -> bytes | None:
        """Returns the output for other machines; None where it is too large for that, or can't be read."""
        file = self.file(call_id)
        try:
            if file is None or file.stat().st_size > SHARED_BYTES:
                return None
            return file.read_bytes()
        except OSError:
            return None


class Shared(msgspec.Struct, frozen=True):
    """What the built-in tools of one workspace are made of."""

    views: Views
    spills: Spills
    environment: Mapping[str, str]
    jobs: "Jobs"
    engine: "Engine"
    resolver: "Resolver | None" = None
    recording: "CommandRecording | None" = None
    """None: what commands change is not recorded."""


@cache
def prose(name: str, **limits: object) -> str:
    """Returns a tool's text with `{limit}` filled in from the constants that the code itself uses.

    Once a process: a server starts sessions by the thousand.
    """
    text = Path(__file__).with_name(f"{name}.md").read_text(encoding="utf-8").strip()
    for key, value in limits.items():
        text = text.replace(f"{{{key}}}", str(value))
    return text
