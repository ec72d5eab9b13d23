"""The logs of a workspace, read for changes of files, and for what stands behind each of them."""

from collections.abc import Callable, Iterable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import msgspec

from planck.archive.blame.trace import Change
from planck.archive.listing import SessionInfo
from planck.records.events import (
    USER,
    AgentStarted,
    Checked,
    Envelope,
    FileChanged,
    Kind,
    LandingProposed,
    LandingSkipped,
    ModeChanged,
    PermissionDecision,
    SessionResumed,
    SessionStarted,
    ToolEnd,
    ToolStart,
    TurnStart,
    ViewOpened,
    view,
)
from planck.records.redact import Redactor
from planck.records.tools import COMMAND_TOOLS
from planck.session.evidence import has_run, is_test
from planck.session.outputs import IMAGES, name_outputs
from planck.session.undo_story import OldContents, list_candidates
from planck.store.sqlite.reader import SqliteReader
from planck.store.store import IMPORTED, StoreError
from planck.workspace.recording.facts import after_of, before_of, digest

_QUOTED = 4_000
"""Characters of a message or a command that are kept."""
_MOST_HOPS = 64


class Instruction(msgspec.Struct, frozen=True):
    """A message on the way from the user to the agent that made a change."""

    sender: str
    """The name of an agent, `user` or `planck`."""
    receiver: str
    kind: str
    text: str


class CheckAfter(msgspec.Struct, frozen=True):
    """The first check or test run after a change, in the same session."""

    command: str
    exit_code: int | None
    agent: str
    """Who ran it; `planck`: it was a check of the user's or of a task."""
    ok: bool


class Call(msgspec.Struct, kw_only=True):
    """What made a change, and what stands behind it."""

    session: str
    session_name: str
    agent: str
    """Its name; `user` for an undo."""
    agent_id: str | None
    turn: int
    """The orchestrator's turn, as `planck undo --turn` counts it."""
    call: str
    tool: str
    """`landing` or `undo`, where a tool call did not make the change."""
    command: str = ""
    time: str
    approved_by: str = ""
    """`user`, `rule` or `mode`; empty for an undo, which is the user's own act."""
    approval: str = ""
    """The permission mode, or the reason in the log."""
    instructions: tuple[Instruction, ...] = ()
    """From the user's words down to the message that the agent worked on."""
    check: CheckAfter | None = None


class _Work(msgspec.Struct, frozen=True):
    """A call as it began."""

    agent_id: str | None
    message: str
    turn: int
    tool: str
    command: str
    mode: str
    seq: int


class RecordedLog:
    """What is kept of one log: no content of a file."""

    def __init__(self, store: SqliteReader, images: Path, redactor: Redactor, number: int) -> None:
        self.store = store
        self.number = number
        self.changes: list[tuple[str, Change]] = []
        """With the time, which never goes back in one log."""
        self.opened: dict[str, str] = {}
        """By view: when it was opened."""
        self._old = OldContents(store, redactor, images)
        self._names: dict[str, str] = {}
        self._calls: dict[str, _Work] = {}
        self._messages: dict[str, Envelope] = {}
        self._decisions: dict[str, PermissionDecision] = {}
        self._checks: list[tuple[int, CheckAfter]] = []
        self._times: dict[int, tuple[str, str | None, int, str]] = {}
        """By change: when, by whom, in which turn, for which message."""

    def read(self, after: int) -> None:
        """Takes in a log; changes up to an event are left out, because another log has them."""
        landings: dict[str, str] = {}
        skipped: set[tuple[str, str]] = set()
        at, turn, mode, orchestrator = "", 0, "", ""
        working: dict[str, str] = {}
        for event in self.store.read():
            if event.type not in _READ:
                continue
            seq, at, agent_id = event.seq or 0, max(at, event.ts), event.agent_id or ""
            match fact := view(event):
                case FileChanged() if seq > after:
                    self.changes.append((at, self._read_change(fact, seq, landings)))
                    self._times[seq] = (event.ts, event.agent_id, turn, working.get(agent_id, ""))
                case AgentStarted(agent=agent):
                    self._names[agent.id] = agent.name
                    orchestrator = orchestrator or agent.id
                case TurnStart(message_id=message):
                    working[agent_id] = message
                    turn = event.turn if agent_id == orchestrator else turn
                case ToolStart() as start:
                    command = start.args.get("command") if isinstance(start.args, dict) else ""
                    text = command[:_QUOTED] if isinstance(command, str) else ""
                    given = working.get(agent_id, "")
                    self._calls[start.id] = _Work(event.agent_id, given, turn, start.name, text, mode, seq)
                case ToolEnd() as end if end.name in COMMAND_TOOLS and has_run(end):
                    self._add_test(end, seq)
                case Checked(refused=False) as check:
                    found = CheckAfter(check.command[:_QUOTED], check.exit_code, "planck", check.ok)
                    self._checks.append((check.after or seq, found))
                case Envelope() as message:
                    self._messages[message.id] = msgspec.structs.replace(message, text=_say(message))
                case PermissionDecision(decision="allow", call_id=id) as decision:
                    self._decisions[id] = decision
                case LandingProposed(landing=id, view=name):
                    landings[id] = self._name_view(name)
                case LandingSkipped(landing=id, path=path):
                    skipped.add((id, path))
                case ViewOpened(view=name):
                    self.opened[self._name_view(name)] = at
                case SessionStarted(options=options) | SessionResumed(options=options) if options:
                    mode = options.mode
                case ModeChanged(mode=changed):
                    mode = changed
                case _:
                    pass
        self.changes = [one for one in self.changes if (one[1].call_id, one[1].path) not in skipped]

    def _name_view(self, name: str) -> str:
        return f"{self.number}:{name}"

    def _read_change(self, fact: FileChanged, seq: int, landings: dict[str, str]) -> Change:
        landing = landings.get(fact.landing, "") if isinstance(fact.landing, str) else ""
        return Change(
            log=self.number,
            seq=seq,
            call_id=fact.call_id,
            path=fact.path,
            view=self._name_view(fact.view) if isinstance(fact.view, str) else "",
            after=fact.after_sha256 if after_of(fact).kind == "file" else "",
            landed_from=landing,
            undoes=fact.undoes,
        )

    def _add_test(self, end: ToolEnd, seq: int) -> None:
        call = self._calls.get(end.id)
        if call and is_test(call.command):
            name = self._names.get(call.agent_id or "", "")
            self._checks.append((seq, CheckAfter(call.command, end.exit_code, name, end.exit_code == 0)))

    def _load(self, change: Change) -> FileChanged | None:
        fact = view(self.store.read_back(change.seq + 1, 1)[0])
        return fact if isinstance(fact, FileChanged) else None

    def before(self, change: Change) -> bytes | None:
        fact = self._load(change)
        if fact is None or fact.undoable is False:
            return None
        return b"" if before_of(fact).kind != "file" else self._old.before(fact).content

    def after(self, change: Change) -> bytes | None:
        fact, work = self._load(change), self._calls.get(change.call_id)
        if fact is None:
            return None
        if isinstance(fact.landing, str):
            return self._old.find_landed(fact)
        args = self._load_arguments(work) if work else {}
        if any(isinstance(args.get(key), str) for key in ("content", "old_string")):
            for content in list_candidates(self._old.before(fact).content or b"", args):
                if digest(content) == fact.after_sha256:
                    return content
        return None

    def _load_arguments(self, work: _Work) -> dict[str, Any]:
        if work.tool in COMMAND_TOOLS:
            return {}
        start = view(self.store.read_back(work.seq + 1, 1)[0])
        return start.args if isinstance(start, ToolStart) and isinstance(start.args, dict) else {}

    def describe(self, change: Change) -> Call:
        time, agent_id, turn, message = self._times[change.seq]
        work = self._calls.get(change.call_id)
        decision = self._decisions.get(change.call_id)
        undo = bool(change.undoes)
        if work:
            turn, message = work.turn, work.message
        approved = ("user" if decision.request_id else "rule") if decision else "mode" if work else ""
        return Call(
            session=self.store.meta.get("id", ""),
            session_name=self.store.meta.get("name", ""),
            agent=USER if undo or not agent_id else self._name(agent_id),
            agent_id=None if undo else agent_id,
            turn=turn,
            call=change.call_id,
            tool=work.tool if work else "undo" if undo else "landing" if change.landed_from else "",
            command=work.command if work else "",
            time=time,
            approved_by=approved,
            approval=decision.reason if decision else work.mode if work else "",
            instructions=() if undo else self._list_instructions(message),
            check=next((check for seq, check in self._checks if seq > change.seq), None),
        )

    def _list_instructions(self, id: str) -> tuple[Instruction, ...]:
        """Follows the calls that sent each message, up to the user's words."""
        chain: list[Instruction] = []
        seen: set[str] = set()
        while id in self._messages and id not in seen and len(chain) < _MOST_HOPS:
            seen.add(id)
            one = self._messages[id]
            names = self._name(one.sender), self._name(one.receiver)
            chain.append(Instruction(*names, one.kind.value, one.text))
            call = self._calls.get(one.call_id or "")
            # A report or an answer did not set the work going; what it answers did, which the user asked for.
            id = one.root or "" if one.kind is Kind.RESPONSE or call is None else call.message
        return tuple(reversed(chain))

    def _name(self, id: str) -> str:
        return self._names.get(id, id)


def _say(message: Envelope) -> str:
    return (message.typed if isinstance(message.typed, str) else message.text)[:_QUOTED]


class Recorded:
    """All logs of a workspace; they stay open while contents are read from them."""

    def __init__(self) -> None:
        self._logs: list[RecordedLog] = []
        self._stack = ExitStack()

    def __enter__(self) -> "Recorded":
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def read(
        self,
        sessions: Iterable[tuple[Path, SessionInfo]],
        folder: Path,
        redactor: Redactor,
        skipped: Callable[[str, str], None],
    ) -> None:
        """`skipped` hears of each session that can't be believed or read, by its name."""
        listed = list(sessions)
        known = {info.id for _, info in listed}
        for path, info in sorted(listed, key=lambda one: (one[1].created, one[1].id)):
            if info.problem:
                skipped(info.name, info.problem)
                continue
            try:
                store = SqliteReader.open(path)
                self._stack.callback(store.close)
                if IMPORTED in store.meta:
                    skipped(info.name, "It was imported, so its changes are not from this workspace.")
                    continue
                images = name_outputs(folder, store.meta.get("id", "")) / IMAGES
                log = RecordedLog(store, images, redactor, len(self._logs))
                log.read(info.forked_at if info.parent in known else 0)
            except StoreError as damage:
                skipped(info.name, damage.err.message)
                continue
            self._logs.append(log)

    def list_changes(self) -> tuple[list[Change], dict[str, int]]:
        """Returns the changes in order, and for each view how many of them are older than it."""
        rows = [(at, log.number, change.seq, change) for log in self._logs for at, change in log.changes]
        rows.sort(key=lambda row: row[:3])
        changes: dict[tuple[str, str, str], Change] = {}
        for at, _, _, change in rows:  # a fork has what its parent had, also where that is gone
            changes.setdefault((at, change.call_id, change.path), change)
        times = [at for at, _, _ in changes]
        opened = {
            name: sum(time < at for time in times) for log in self._logs for name, at in log.opened.items()
        }
        return [*changes.values()], opened

    def before(self, change: Change) -> bytes | None:
        return self._logs[change.log].before(change)

    def after(self, change: Change) -> bytes | None:
        return self._logs[change.log].after(change)

    def describe(self, change: Change) -> Call:
        return self._logs[change.log].describe(change)


_READ = frozenset(
    fact.type
    for fact in (
        *(AgentStarted, Checked, Envelope, FileChanged, LandingProposed, LandingSkipped, ModeChanged),
        *(PermissionDecision, SessionResumed, SessionStarted, ToolEnd, ToolStart, TurnStart, ViewOpened),
    )
)
