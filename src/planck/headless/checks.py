"""Checks: commands that the runtime runs before a run counts as done, or a task is reported.

No model sets, changes or skips one of the user's: which they are is in the options of the session and in the
specs of its members, and they are run here, by nobody's call.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal

import msgspec

from planck.agent.agent import Agent
from planck.headless.session_setup import SessionSetup
from planck.permissions.rules import Decision
from planck.records.authority import Confinement
from planck.records.events import USER, Checked, Claim, Envelope, Kind, Origin, View
from planck.records.outcome import Err, ErrorKind, PlanckError
from planck.records.ports import Clock, Ids
from planck.session.proof.fold import ProofFold
from planck.team.member import Member
from planck.toolkit.journal import Journal
from planck.toolkit.permit import Permit
from planck.toolkit.tool import Outcome, Tool, ToolContext

_LINES, _BYTES = 60, 4_000
"""Of the output of a red check: what the agent is shown of its end."""
_REPORTED_LINES = 20
_FIX = (
    "Fix the cause, not the check, and end your turn again with your whole answer; the check is then run "
    "again. "
    "If the cause is outside your task, say so and end your turn.]"
)
_REFUSED = frozenset({ErrorKind.PERMISSION_DENIED, ErrorKind.SANDBOX_UNAVAILABLE, ErrorKind.INVALID_ARGS})

FindAsker = Callable[[str], "Asker | None"]
"""An agent's id -> with what its commands are judged; None: there is no such agent any more."""


class Asker(msgspec.Struct, frozen=True):
    """An agent in whose name a check is run: its own `bash`, and what permits the calls of that."""

    tool: Tool | None
    permit: Permit


class _Check(msgspec.Struct, frozen=True):
    command: str
    asker: str = ""
    """The agent that wrote it; empty: the user did."""


class _Rounds:
    """The checks of one run or one task, and how each ended last."""

    def __init__(self) -> None:
        self.last: dict[_Check, Checked] = {}
        self.attempts: dict[_Check, int] = {}
        self.done = False
        """Whether they decided: all passed, or none that is red is run again."""

    @property
    def red(self) -> list[Checked]:
        return [checked for checked in self.last.values() if not checked.ok]


class Checks:
    """The checks of one session, as its team and its runs need them."""

    def __init__(
        self,
        plan: SessionSetup,
        journal: Journal,
        fold: ProofFold,
        find_asker: FindAsker,
        lead: Callable[[], Agent],
    ) -> None:
        runtime = plan.runtime
        self._lead = lead
        self._plan = plan
        self._journal = journal
        self._fold = fold
        self._find_asker = find_asker
        self._clock: Clock = runtime.clock
        self._ids: Ids = runtime.ids
        self._limits = plan.limits
        self._tasks: dict[str, _Rounds] = {}
        self._run = _Rounds()

    # What the team asks.

    def describe_work(self, agent_id: str) -> tuple[str, ...]:
        return self._fold.describe_work(agent_id)

    def judge(self, agent_id: str, claims: Iterable[Claim]) -> tuple[Claim, ...]:
        return self._fold.judge(agent_id, claims)

    def has_checks(self, member: Member, task: Envelope) -> bool:
        return bool(self._list(member.actor.agent, task))

    def find_red(self, member: Member, task: Envelope) -> str:
        checks = self._list(member.actor.agent, task)
        rounds = self._tasks.pop(task.id, None)
        if not checks:
            return ""
        if rounds is None or not rounds.done:
            return "its checks did not run."
        return " ".join(map(_say_red, rounds.red))

    async def review(self, agent: Agent, opening: Envelope) -> Envelope | None:
        """Runs the checks of a task whose turn would end; returns what sends the agent back to work."""
        checks = self._list(agent, opening)
        if not checks:
            return None
        rounds = self._tasks.setdefault(opening.id, _Rounds())
        text = await self._go_round(rounds, checks, "task", agent, opening.id)
        return self._tell(agent, opening, text) if text else None

    def _list(self, agent: Agent, opening: Envelope) -> list[_Check]:
        if opening.kind is not Kind.TASK or self._plan.options.dry_run:
            return []
        own = [_Check(command) for command in agent.spec.done_when]
        given = [_Check(command, opening.sender) for command in opening.done_when or ()]
        return list(dict.fromkeys((*own, *given)))

    # What a run asks.

    def begin_run(self, head: int) -> None:
        """A prompt of the user's begins another run: what was checked before belongs to an earlier one."""
        self._run = _Rounds()
        self._fold.begin_run(head)

    def needed(self, lead: Agent) -> bool:
        """Whether checks run before a run counts as done: the user's, and the orchestrator's own."""
        return bool(self._list_for_run(lead))

    async def review_run(self, lead: Agent) -> str:
        """Runs the checks where they have to run; returns what sends the orchestrator back to work."""
        return await self._go_round(self._run, self._list_for_run(lead), "run", lead, "")

    @property
    def demands(self) -> dict[str, Any]:
        """What `RunTally.summarise` holds a run to."""
        lead = self._lead()
        commands = [check.command for check in self._list_for_run(lead)]
        return {"checks": commands, "require_proof": self._plan.options.require_proof}

    def _list_for_run(self, lead: Agent) -> list[_Check]:
        if self._plan.options.dry_run:
            return []
        return [*map(_Check, dict.fromkeys((*self._plan.options.checks, *lead.spec.done_when)))]

    # The rounds themselves.

    async def _go_round(
        self,
        rounds: _Rounds,
        checks: Sequence[_Check],
        scope: Literal["run", "task"],
        agent: Agent,
        task_id: str,
    ) -> str:
        """Runs each check that has not run, or that ran before something changed.

        Returns what to say of those that are red, where they can turn green yet.
        """
        rounds.done = False
        before, failed = dict(rounds.last), []
        for check in checks:
            last, attempts = rounds.last.get(check), rounds.attempts.get(check, 0)
            if last and (last.refused or self._fold.is_current(last.id)):
                continue
            if attempts >= self._limits.check_attempts:
                if last and last.ok:  # it passed, and what came after it can't be checked any more
                    rounds.last[check] = msgspec.structs.replace(last, ok=False)
                continue
            rounds.attempts[check] = attempts + 1
            checked = await self._check(check, scope, agent, task_id, attempts + 1)
            rounds.last[check] = checked
            if not checked.ok and not checked.refused and attempts + 1 < self._limits.check_attempts:
                failed.append((check, checked))
        if not failed:
            rounds.done = True
            return ""
        return "\n".join(
            self._say(checked, before.get(check), self._fold.find_touched(agent.id, checked.command))
            for check, checked in failed
        )

    async def _check(
        self, check: _Check, scope: Literal["run", "task"], agent: Agent, task_id: str, attempt: int
    ) -> Checked:
        id, after = self._ids.new(task_id or agent.id), self._fold.head
        begun = self._clock.monotonic()
        outcome = await self._run_command(check, agent.id, id)
        took = round((self._clock.monotonic() - begun) * 1000)
        refused = isinstance(outcome, Err) and outcome.kind in _REFUSED
        if isinstance(outcome, Err):
            code, output = None, f"{outcome.details.get('output', '')}\n{outcome.message}".strip()
            spilled = outcome.details.get("spilled") is True
        else:
            code, output = outcome.value.get("exit_code"), str(outcome.value["output"])
            spilled = outcome.value.get("spilled") is True
        fact = Checked(
            id=id,
            scope=scope,
            task_id=task_id or msgspec.UNSET,
            command=check.command,
            exit_code=code,
            ok=code == 0,
            attempt=attempt,
            duration_ms=took,
            output=output,
            after=after,
            refused=refused,
            spilled=spilled,
        )
        who = (agent.id, agent.turn) if scope == "task" else (None, 0)
        await self._journal.record(*who, fact)
        return fact

    async def _run_command(self, check: _Check, agent_id: str, id: str) -> Outcome:
        """Runs it with the rights of whoever asks for it; cancelling it ends what it started."""

        async def record(*facts: View) -> None:
            await self._journal.record(agent_id, 0, *facts)

        plan, args = self._plan, {"command": check.command, "cwd": ".", "timeout": self._limits.check_ms}
        ctx: ToolContext = ToolContext(
            plan.session_id,
            check.asker or agent_id,
            id,
            plan.runtime.project.workspace,
            record=record,
            keys=plan.runtime.providers.keyring.redactor,
        )
        tool, permit = plan.tools.bash, None
        if check.asker:
            asker = self._find_asker(check.asker)
            if asker is None or asker.tool is None:
                return _refuse("the agent that wants this check does not hold bash")
            permit = asker.permit
        try:
            rights = await permit.decide(tool, args, ctx) if permit else self._find_rights(args)
            while not isinstance(rights, Err):
                held = rights if isinstance(rights, Confinement) or rights is None else rights.confinement
                outcome = await _execute(tool, args, msgspec.structs.replace(ctx, confinement=held))
                if isinstance(rights, Confinement) or rights is None:
                    return outcome
                if (settled := await rights.settle(outcome)) is None:
                    return outcome
                rights = settled
            return rights
        except PlanckError as failure:
            return failure.err

    def _find_rights(self, args: dict[str, object]) -> Confinement | Err:
        """Returns the rights of a check of the user's: those that a command has in this mode unasked."""
        plan, tool = self._plan, self._plan.tools.bash
        verdict = plan.gate.judge("", plan.ceiling, tool, args)
        if verdict.decision is Decision.ALLOW:
            return verdict.confinement
        trial = plan.gate.find_trial(plan.ceiling, verdict, tool, args)
        return trial or _refuse(verdict.why)

    # What is said.

    def _tell(self, agent: Agent, opening: Envelope, text: str) -> Envelope:
        return Envelope(
            id=self._ids.new(opening.id),
            kind=Kind.RESPONSE,
            sender=USER,
            receiver=agent.id,
            text=text,
            root=opening.root,
            origin=Origin.PLANCK,
            cause="turn_end",
        )

    def _say(self, checked: Checked, before: Checked | None, touched: str) -> str:
        most, code = self._limits.check_attempts, checked.exit_code
        how = "did not end in time" if code is None else f"ended with exit code {code}"
        head = f"Not done yet: the check `{checked.command}` {how} (attempt {checked.attempt} of {most})."
        if before and before.output == checked.output and not before.ok:
            head += " The same failure as before: what you changed did not reach the cause."
        if self._fold.is_base(checked.id):
            head += " It was red before your work, too: nothing had been changed when it ran."
        if touched:
            head += f" {touched}, which the check runs, was changed in this work: put it back, or say why."
        whole = f" All of it: read path output:{checked.id}." if checked.spilled else ""
        shown = _find_end(checked.output, _LINES)
        return f"[planck: {head} Its end, as material:]\n{shown}\n[end of check {checked.id}.{whole} {_FIX}"


async def _execute(tool: Tool, args: dict[str, object], ctx: ToolContext) -> Outcome:
    outcome = tool.execute(dict(args), ctx)
    return outcome if not hasattr(outcome, "__await__") else await outcome


def _refuse(why: str) -> Err:
    return Err(ErrorKind.PERMISSION_DENIED, f"the check was not run: {why}")


def _say_red(checked: Checked) -> str:
    """Says what a delegator must know of a check that stayed red."""
    if checked.refused:
        return f"The check `{checked.command}` could not be run: {checked.output.rstrip('.')}."
    how = "did not end in time" if checked.exit_code is None else f"ended with exit code {checked.exit_code}"
    attempts = "1 attempt" if checked.attempt == 1 else f"{checked.attempt} attempts"
    return (
        f"The check `{checked.command}` {how} after {attempts}. Its end, as material:\n"
        f"{_find_end(checked.output, _REPORTED_LINES)}\n[end of check {checked.id}]"
    )


def _find_end(output: str, lines: int) -> str:
    shown = "\n".join(output.rstrip().splitlines()[-lines:])
    return shown.encode(errors="replace")[-_BYTES:].decode(errors="ignore")
