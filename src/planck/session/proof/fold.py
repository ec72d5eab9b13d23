"""What the log proves of some work: which commands ran and are of the files as they are, what changed, and
whether what agents claim is so. A fold over events; nothing here believes what anybody says."""

import hashlib
import os
import re
from collections.abc import Iterable, Mapping, Set
from typing import Any

import msgspec
from msgspec.structs import replace

from planck.records.authority import CHANGELESS, Mode
from planck.records.events import (
    AgentStarted,
    Checked,
    Claim,
    CommandRecorded,
    Envelope,
    Event,
    FileChanged,
    Kind,
    LandingFinished,
    LandingProposed,
    LandingSkipped,
    ModeChanged,
    PermissionDecision,
    SessionResumed,
    SessionStarted,
    ToolEnd,
    ToolStart,
    TurnStart,
    Verdict,
    ViewDropped,
    ViewOpened,
    ViewRebased,
    read_claims,
    view,
)
from planck.records.specs import AgentSpec
from planck.records.tools import COMMAND_TOOLS, RESPOND
from planck.session.evidence import has_own_exit_code, has_run, only_reads
from planck.session.proof.command_kinds import CommandKind, Scope, find_kind, find_scope

_WORSE: tuple[Verdict, ...] = ("proven", "stale", "unsupported", "contradicted")
RUNTIME = "planck"
"""In place of an agent's name: who ran a check of the whole run."""
_PROSE = frozenset(
    {".md", ".markdown", ".mdx", ".rst", ".txt", ".adoc", ".tex", ".png", ".jpg", ".jpeg", ".gif", ".webp"}
    | {".svg", ".ico", ".bmp", ".pdf"}
)


class CommandRun(msgspec.Struct, frozen=True, kw_only=True):
    """A command that ran, as a result names it."""

    agent: str
    agent_id: str | None
    command: str
    kind: CommandKind
    scope: Scope
    exit_code: int | None
    seq: int
    """Of the event that ended it."""
    fresh: bool
    """Whether nothing changed since it began but what it changed itself, as far as the log knows."""


class ClaimRow(msgspec.Struct, frozen=True, kw_only=True):
    agent: str
    agent_id: str | None
    text: str
    verdict: Verdict
    seq: int


class RunEvidence(msgspec.Struct, frozen=True, kw_only=True):
    """What stands behind the answer of a run."""

    commands: tuple[CommandRun, ...] = ()
    files_changed: tuple[str, ...] = ()
    claims: tuple[ClaimRow, ...] = ()


class CheckRow(msgspec.Struct, frozen=True, kw_only=True):
    """How a check of the user's ended."""

    command: str
    ok: bool
    exit_code: int | None
    attempts: int
    base_ok: bool | None
    """How it ended before the run changed anything; None: that was not tried."""


class _Run(msgspec.Struct, frozen=True):
    id: str
    agent_id: str | None
    command: str
    folder: str
    exit_code: int | None
    start: int
    end: int
    check: Checked | None = None
    tree: str = ""
    """The view in which it ran, or whose changes were merged for it; empty: the workspace."""

    @property
    def landing(self) -> str:
        """The proposal that it ran with; empty: there was none."""
        return self.check.landing if self.check and isinstance(self.check.landing, str) else ""

    @property
    def is_of_base(self) -> bool:
        """Whether it ran on the files from before the work, and so says nothing of them now."""
        return self.check is not None and self.check.scope == "base"

    @property
    def counts(self) -> bool:
        """Whether its exit code says how the command ended."""
        return self.exit_code is not None and has_own_exit_code(self.command)


class _Change(msgspec.Struct, frozen=True):
    end: int
    """When it was over at the latest."""
    by: str
    """The call that made it."""
    agent_id: str | None
    path: str = ""
    before: str = ""
    """Says what had the path, and with which content; likewise `after`."""
    after: str = ""
    local: bool = False
    """Git ignores the file, and a command changed it: a cache, most often."""
    tree: str = ""
    """The view in which it happened; empty: the workspace."""


class ProofFold:
    """Folds events in the order of their numbers; what it returns is of the newest one."""

    def __init__(self) -> None:
        self.head: int = 0
        self._began = 0
        """The newest event before the run."""
        self._names: dict[str, str] = {}
        self._folders: dict[str, str] = {}
        """Where each agent's commands start that name no folder."""
        self._open: dict[str, _Run] = {}
        self._claiming: dict[str, tuple[str | None, Any]] = {}
        """By call: the claims of a response that is under way."""
        self._background: set[str] = set()
        """Calls that leave a command in the background; when that ends, the log does not say."""
        self._mode: Mode | None = None
        """None: not known, so that any command may have changed something."""
        self._allowed: set[str] = set()
        """Calls that a rule or the user allowed: in mode `ask`, others run where they can change nothing."""
        self._checks: set[str] = set()
        """What the runtime ran: what checks change makes nothing stale."""
        self._recorded: set[str] = set()
        """Calls of commands whose changes are all on record: as `file_changed` facts, or there were none."""
        self._views: dict[str, str] = {}
        """By agent: the view that it works in."""
        self._lead = ""
        self._shared = False
        """Whether all agents work in the orchestrator's view."""
        self._view_of: dict[str, str] = {}
        """By landing: the view that it brings back."""
        self._proposed: dict[str, str] = {}
        """By view: the landing that was proposed last."""
        self._put: set[tuple[str, str]] = set()
        """Landings and the paths that they have put."""
        self._landed: set[str] = set()
        self._touched: set[str] = set()
        """Views in which something was changed that has not landed."""
        self._runs: list[_Run] = []
        self._changes: list[_Change] = []
        self._claims: list[ClaimRow] = []
        self._work_from: dict[str, int] = {}
        """By agent: where the task or the question at hand began; absent: with the run."""

    def know(self, agent: AgentSpec) -> None:
        """Takes in an agent whose start is not among the events."""
        self._names[agent.id] = agent.name
        if agent.role == "orchestrator" and not self._lead:
            self._lead = agent.id
        self._folders[agent.id] = agent.cwd

    def name(self, names: Mapping[str, str]) -> None:
        """Takes in the names of agents, by id."""
        self._names.update(names)

    def push(self, event: Event) -> None:
        """As `add`, for what is published: deltas are nothing to it."""
        if event.seq is not None:
            self.add(event)

    def end(self) -> None:
        """Nothing more comes."""

    def begin_run(self, until: int) -> None:
        """From here on nothing before that event counts; agents and what still runs stay."""
        self._began = until
        self._runs = [run for run in self._runs if run.end > until]
        self._changes = [change for change in self._changes if change.end > until]
        self._claims = [claim for claim in self._claims if claim.seq > until]

    def add(self, event: Event) -> None:
        self.head = seq = event.seq or self.head
        if event.type not in _READ:
            return
        match view(event):
            case AgentStarted(agent=agent):
                self.know(agent)
            case ViewOpened() | ViewRebased() | ViewDropped() | LandingProposed() as fact:
                self._follow_view(fact, seq)
            case LandingSkipped(landing=id):  # what the workspace has is not what was checked
                self._note_other_tree(id, event.agent_id, seq)
            case LandingFinished(landing=id, branch=""):
                self._landed.add(id)
            case TurnStart() as turn:
                given = turn.kind in (Kind.ASK, Kind.TASK)
                self._work_from[event.agent_id or ""] = seq if given else 0
            case ToolStart() as call if call.name in COMMAND_TOOLS and isinstance(call.args, dict):
                self._begin(call.id, event.agent_id, call.args, seq)
            case ToolStart() as call if call.name == RESPOND and isinstance(call.args, dict):
                self._claiming[call.id] = (event.agent_id, call.args.get("claims"))
            case ToolEnd() as ended:
                self._finish(ended, seq)
            case FileChanged() as change:
                self._change(_read_change(change, event.agent_id, seq))
                if isinstance(change.landing, str):
                    put = change.landing, change.path
                    if put in self._put:  # merged once more, with what came after the checks
                        self._note_other_tree(change.landing, event.agent_id, seq)
                    self._put.add(put)
            case SessionStarted(options=options) | SessionResumed(options=options):
                self._shared = options is not None and options.isolated
                self._mode = _read_mode(options.mode) if options else None
            case ModeChanged(mode=mode):
                self._mode = _read_mode(mode)
            case PermissionDecision(call_id=id, decision="allow"):
                self._allowed.add(id)
            case CommandRecorded(call_id=id, partial=False, running=False):
                self._recorded.add(id)
            case Checked() as check:
                run = _Run(check.id, event.agent_id, check.command, ".", check.exit_code, check.after, seq)
                tree = self._find_tree(event.agent_id or self._lead)
                if isinstance(check.landing, str):
                    tree = self._view_of.get(check.landing, tree)
                self._runs.append(replace(run, check=check, tree=tree))
                self._checks.add(check.id)
            case Envelope(claims=tuple() as claims, call_id=call_id) as sent:
                self._claiming.pop(call_id or "", None)
                self._claims += [self._row(sent.sender, claim, seq) for claim in claims]
            case _:
                pass

    def _begin(self, id: str, agent_id: str | None, args: dict[str, Any], seq: int) -> None:
        command, folder = args.get("command"), args.get("cwd")
        if not isinstance(command, str):
            return
        folder = folder if isinstance(folder, str) else self._folders.get(agent_id or "", "")
        run = _Run(id, agent_id, command, os.path.normpath(folder or "."), None, seq, 0)
        self._open[id] = replace(run, tree=self._find_tree(agent_id or ""))
        if args.get("background"):
            self._background.add(id)

    def _finish(self, ended: ToolEnd, seq: int) -> None:
        if said := self._claiming.pop(ended.id, None):  # no message has them: nobody was there to send it to
            agent_id, claims = said
            judged = self.judge(agent_id or "", read_claims(claims))
            self._claims += [self._row(agent_id, claim, seq) for claim in judged]
        run = self._open.pop(ended.id, None)
        if run is None or not has_run(ended):
            return
        stays = run.id in self._background
        self._background.discard(run.id)
        dry = ended.error is None and ended.exit_code is None and not stays
        if dry:
            return
        if self._may_write(run):
            self._change(_Change(seq, run.id, run.agent_id, tree=run.tree))
        if not stays:
            self._runs.append(replace(run, exit_code=ended.exit_code, end=seq))

    def _may_write(self, run: _Run) -> bool:
        """Whether a command may have changed something that is not on record."""
        held = self._mode in CHANGELESS or (self._mode is Mode.ASK and run.id not in self._allowed)
        return not (held or run.id in self._recorded or only_reads(run.command))

    def _row(self, agent_id: str | None, claim: Claim, seq: int) -> ClaimRow:
        return ClaimRow(
            agent=self._name(agent_id), agent_id=agent_id, text=claim.text, verdict=claim.verdict, seq=seq
        )

    def _name(self, agent_id: str | None) -> str:
        return self._names.get(agent_id, agent_id) if agent_id else RUNTIME

    def _find_tree(self, agent_id: str) -> str:
        return self._views.get(agent_id) or (self._views.get(self._lead, "") if self._shared else "")

    def _follow_view(self, fact: ViewOpened | ViewRebased | ViewDropped | LandingProposed, seq: int) -> None:
        match fact:
            case ViewOpened():
                self._views[fact.agent_id] = fact.view
            case ViewDropped():
                self._views = {agent: view for agent, view in self._views.items() if view != fact.view}
            case LandingProposed():
                self._view_of[fact.landing] = fact.view
                self._proposed[fact.view] = fact.landing
            case ViewRebased():
                # It has what others landed from here on, and its runs are of other files.
                self._change(_Change(seq, self._proposed.get(fact.view, ""), None, tree=fact.view))
                if not fact.carried:
                    self._touched.discard(fact.view)

    def _change(self, change: _Change) -> None:
        self._changes.append(change)
        self._touched.add(change.tree)

    def _note_other_tree(self, landing: str, agent_id: str | None, seq: int) -> None:
        for tree in ("", self._view_of.get(landing, "")):
            self._change(_Change(seq, "", agent_id, tree=tree))

    def is_untouched(self, agent_id: str) -> bool:
        """Whether an agent's view has nothing that has not landed."""
        return self._find_tree(agent_id) not in self._touched

    def is_fresh(self, run: _Run) -> bool:
        """Whether nothing was changed in its tree after it began but by itself.

        The tree of a check that ran with a proposal is the workspace and the view together, and after the
        landing the workspace alone, which then has that very tree. The runtime's checks change nothing.
        """
        if run.is_of_base:
            return False
        if run.landing in self._landed:
            return self._is_same(run, {""})
        return self._is_same(run, {"", run.tree} if run.check else {run.tree})

    def _is_same(self, run: _Run, trees: Set[str]) -> bool:
        opened = (one for one in self._open.values() if one.tree in trees and one.id != run.id)
        if any(not only_reads(one.command) for one in opened):
            return False
        own = {run.id, run.landing} - {""}
        return not any(
            change.end > run.start and change.by not in self._checks and change.by not in own
            for change in self._changes
            if not change.local and change.tree in trees
        )

    def is_current(self, check_id: str) -> bool:
        """Whether nothing changed since a check began, so that it would end as it did.

        After a landing that asks for the view: what others do in the workspace is not this work.
        """
        run = self._find_check(check_id)
        if run is None:
            return False
        return self._is_same(run, {run.tree}) if run.landing in self._landed else self.is_fresh(run)

    def is_base(self, check_id: str) -> bool:
        """Whether a check ran before the work at hand changed anything."""
        run = self._find_check(check_id)
        begun = max(self._work_from.get(run.agent_id or "", 0), self._began) if run else 0
        return run is not None and not any(begun < change.end <= run.end for change in self._changes)

    def find_touched(self, agent_id: str, command: str) -> str:
        """Returns a file that a command names and that the work at hand changed; empty: there is none."""
        begun = max(self._work_from.get(agent_id, 0), self._began)
        words = {os.path.normpath(word) for word in re.split(r"[\s;|&<>()'\"]+", command) if word}
        changed = (change.path for change in self._changes if change.path and change.end > begun)
        return next((path for path in changed if path in words), "")

    def _find_check(self, id: str) -> _Run | None:
        return next((run for run in reversed(self._runs) if run.id == id), None)

    def judge(self, agent_id: str, claims: Iterable[Claim]) -> tuple[Claim, ...]:
        """Returns an agent's claims with their verdicts."""
        return tuple(replace(claim, verdict=self._judge(agent_id, claim)) for claim in claims)

    def _shows(self, run: _Run, tree: str) -> bool:
        """Whether it ran on the files of this tree: another agent's view shows nothing about one's own."""
        if run.is_of_base:
            return False
        return run.tree == tree or (tree == "" and run.landing in self._landed)

    def _judge(self, agent_id: str, claim: Claim) -> Verdict:
        found: list[Verdict] = []
        if command := claim.command.strip():
            folder = os.path.normpath(self._folders.get(agent_id, "") or ".")
            tree = self._find_tree(agent_id)
            same = (
                run
                for run in reversed(self._runs)
                if run.end > self._began
                and run.counts
                and run.command.strip() == command
                and run.folder == folder
                and self._shows(run, tree)
            )
            run = next(same, None)
            if run is None:
                found.append("unsupported")
            elif run.exit_code != claim.exit_code:
                found.append("contradicted")
            else:
                found.append("proven" if self.is_fresh(run) else "stale")
        if claim.path:
            begun = max(self._work_from.get(agent_id, 0), self._began)
            path = os.path.normpath(claim.path)
            mine = (c for c in self._changes if c.path and c.agent_id == agent_id and c.end > begun)
            found.append("proven" if any(c.path == path for c in mine) else "unsupported")
        return max(found, key=_WORSE.index, default="unsupported")

    def describe_work(self, agent_id: str) -> tuple[str, ...]:
        """Says what an agent changed in the work at hand, and how its newest test or check ended."""
        begun, facts = max(self._work_from.get(agent_id, 0), self._began), []
        paths = sorted({c.path for c in self._changes if c.path and c.agent_id == agent_id and c.end > begun})
        if paths:
            more = ", …" if len(paths) > 3 else ""
            files = "1 file" if len(paths) == 1 else f"{len(paths)} files"
            facts.append(f"{files} changed: {', '.join(map(_quote, paths[:3]))}{more}")
        runs = [run for run in self._runs if run.agent_id == agent_id and run.end > begun]
        checks = [run for run in runs if run.check and not run.is_of_base]
        newest = {run.command: run for run in checks}.values() if checks else runs[-1:]
        tests = [run for run in runs if find_kind(run.command) == "test" and not run.check]
        shown = [*newest] if checks else tests[-1:]
        for run in shown:
            what = "check" if run.check else "its test run"
            facts.append(f"{what} {_quote(run.command)} {self._say_end(run)}")
        for run in checks[-1:]:
            if touched := self.find_touched(agent_id, run.command):
                facts.append(f"{_quote(touched)}, which the check runs, was changed in this work")
        if paths and not shown:
            facts.append("no check ran after the last change")
        return tuple(facts)

    def _say_end(self, run: _Run) -> str:
        if not run.check and not self.is_fresh(run):
            return "is older than the last change"
        if run.exit_code is None or not (run.check or run.counts):
            return "ended without a known exit code"
        return "passed" if run.exit_code == 0 else f"failed with {run.exit_code}"

    def find_evidence(self, after: int) -> RunEvidence:
        """Returns what stands behind a run that began after an event."""
        ran = (run for run in self._runs if run.end > after and not (run.check and run.check.refused))
        runs = sorted(ran, key=lambda run: run.end)
        return RunEvidence(
            commands=tuple(
                CommandRun(
                    agent=self._name(run.agent_id),
                    agent_id=run.agent_id,
                    command=run.command,
                    kind=find_kind(run.command),
                    scope=find_scope(run.command),
                    exit_code=run.exit_code,
                    seq=run.end,
                    fresh=self.is_fresh(run),
                )
                for run in runs
            ),
            files_changed=self._find_changed(after),
            claims=tuple(claim for claim in self._claims if claim.seq > after),
        )

    def _find_changed(self, after: int) -> tuple[str, ...]:
        """The paths that are not as they were before the run, by what the log kept of them."""
        first: dict[tuple[str, str], str] = {}
        last: dict[tuple[str, str], str] = {}
        for change in self._changes:
            if change.path and change.end > after and not change.local:
                place = change.path, change.tree
                first.setdefault(place, change.before)
                last[place] = change.after
        return tuple(sorted({place[0] for place in first if first[place] != last[place]}))

    def find_checks(self, commands: Iterable[str], after: int) -> tuple[CheckRow, ...]:
        """Returns how the checks of a run stand; one that has not run since the last change is not ok."""
        rows = []
        for command in dict.fromkeys(commands):
            runs = [
                run
                for run in self._runs
                if run.check and run.check.scope == "run" and run.command == command and run.end > after
            ]
            bases = (run for run in self._runs if run.is_of_base and run.end > after)
            tried = next((run for run in bases if run.command == command), None)
            last = runs[-1] if runs else None
            unchanged = bool(runs) and not any(after < c.end <= runs[0].end for c in self._changes)
            base = tried or (runs[0] if unchanged else None)
            rows.append(
                CheckRow(
                    command=command,
                    ok=bool(last and last.check and last.check.ok and self.is_fresh(last)),
                    exit_code=last.exit_code if last else None,
                    attempts=sum(not (run.check and run.check.refused) for run in runs),
                    base_ok=base.check.ok if base and base.check and not base.check.refused else None,
                )
            )
        return tuple(rows)


def _read_change(fact: FileChanged, agent_id: str | None, seq: int) -> _Change:
    if fact.keys or isinstance(fact.blob, str) or fact.undoable is False:
        before = f"unknown {seq}"  # what is kept of it is not all of it
    else:
        digest = "" if fact.before is None else hashlib.sha256(fact.before).hexdigest()
        before = f"{fact.was or ''} {fact.link or ''} {fact.mode} {digest}"
    mode = fact.mode if fact.after_mode is msgspec.UNSET else fact.after_mode
    after = f"{fact.becomes or ''} {fact.after_link or ''} {mode} {fact.after_sha256}"
    local, tree = isinstance(fact.image, str), fact.view if isinstance(fact.view, str) else ""
    return _Change(seq, fact.call_id, agent_id, fact.path, before, after, local, tree)


def _read_mode(mode: str) -> Mode | None:
    return Mode(mode) if mode in list(Mode) else None


def find_unproven(evidence: RunEvidence, checks: tuple[CheckRow, ...]) -> str:
    """Returns why a run is not proven; empty: its claims hold, and a proof is of the files as they are."""
    if wrong := [claim for claim in evidence.claims if claim.verdict != "proven"]:
        first = wrong[0]
        return f"{first.agent} claimed {_quote(first.text)}, which is {first.verdict} by the log"
    changed = [path for path in evidence.files_changed if os.path.splitext(path)[1].lower() not in _PROSE]
    if not changed or (checks and all(check.ok for check in checks)):
        return ""
    if not checks and any(
        one.kind == "test" and one.exit_code == 0 and one.fresh and has_own_exit_code(one.command)
        for one in evidence.commands
    ):
        return ""
    files = f"{_quote(changed[0])} was" if len(changed) == 1 else f"{len(changed)} files were"
    proof = "the checks did not all pass" if checks else "no test command passed"
    return f"{files} changed, and {proof} after the last change"


def _quote(text: str) -> str:
    """On one line, and nothing in it that could end the line of the runtime in which it stands."""
    from planck.records.visible import fit_line

    return f'"{fit_line(text, 80)}"'.replace("[", "(").replace("]", ")").replace(";", ",")


_READ = frozenset(
    fact.type
    for fact in (
        *(AgentStarted, Checked, CommandRecorded, Envelope, FileChanged, ModeChanged, PermissionDecision),
        *(LandingFinished, LandingProposed, LandingSkipped, ViewDropped, ViewOpened, ViewRebased),
        *(SessionResumed, SessionStarted, ToolEnd, ToolStart, TurnStart),
    )
)
