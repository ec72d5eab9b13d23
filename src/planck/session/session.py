"""A session from its log: its team rebuilt, or shown again what it was shown before."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NoReturn

import msgspec
from msgspec.structs import replace

from planck.records.events import (
    AgentEnded,
    AgentStarted,
    Compacted,
    Event,
    FileChanged,
    LandingFinished,
    LandingStarted,
    ModeChanged,
    PermissionDecision,
    PermissionRequest,
    Rewound,
    SessionResumed,
    SessionStarted,
    ToolEnd,
    ToolStart,
    View,
    list_types,
    view,
)
from planck.records.history import History
from planck.records.outcome import Err, ErrorKind, PlanckError
from planck.records.specs import AgentSpec, SessionOptions
from planck.session.logs import SessionLog
from planck.store.store import Log, SessionError, StoreError
from planck.team.team import Team

if TYPE_CHECKING:
    from planck.records.ledger import Ledger


class Before(msgspec.Struct, frozen=True):
    """What a log says of the time before a resume."""

    options: SessionOptions | None
    """Of the last run; None for an old log."""
    undone: bool
    """Whether files were undone since the resume before: that may have been interrupted."""
    landing: bool
    """Whether a landing was started and not finished."""


class Past(msgspec.Struct, frozen=True):
    """All that a resume needs of a log, which is read once: it may be long."""

    facts: dict[str, list[View]]
    """By agent, what it needs to go on."""
    before: Before
    ledger: "Ledger"
    """What was spent."""


def find_living(past: Past) -> list[tuple[AgentSpec, list[View]]]:
    """Returns the agents that a resume builds again, with their facts."""
    return [
        (started.agent, facts)
        for facts in past.facts.values()
        if (started := _find_start(facts)) and not any(isinstance(fact, AgentEnded) for fact in facts)
    ]


async def resume_session(
    log: SessionLog, resumed: SessionResumed, team: Team, past: Past, told: Mapping[str, str]
) -> None:
    """Rebuilds the team from the log; what was in flight is recorded as interrupted, nothing is re-run.

    `told`: by agent, what it must know of its workspace.
    A call that waited for the user had not begun: where somebody can be asked, it asks again.
    """
    store, facts = log.store, past.facts
    living = find_living(past)
    if not any(spec.role == "orchestrator" for spec, _ in living):
        _refuse_headless(log)
    # A copy has the ids of its original, where the same question may be open at this moment.
    asks = bool(resumed.options and resumed.options.person) and not store.meta.get("parent")
    in_flight = tuple(id for agent_facts in facts.values() for id in _open_calls(agent_facts, asks))
    await log.journal.record(None, 0, replace(resumed, interrupted=in_flight), *log.describe_damage())
    team.mail.remember(fact for agent_facts in facts.values() for fact in agent_facts)
    team.accounts.take_up(past.ledger, {*(spec.id for spec, _ in living), *team.mail.sent.tasks})
    await team.adopt(living, ended=len(facts) - len(living), asks=asks)
    for agent_id, text in told.items():
        if member := team.member(agent_id):
            await team.mail.announce(text, [member])


def _refuse_headless(log: SessionLog) -> NoReturn:
    """Says why nobody could be talked to, and where somebody still could."""
    leads = set()
    for event in log.store.read():
        fact = view(event)
        if isinstance(fact, AgentStarted) and fact.agent.role == "orchestrator":
            leads.add(fact.agent.id)
        if isinstance(fact, AgentEnded) and event.agent_id in leads:
            raise SessionError(
                ErrorKind.DETACHED,
                f"The orchestrator of {log.name} has ended ({fact.reason}). Continue in a copy from before "
                f'that: "planck sessions fork {log.id} --at {(event.seq or 1) - 1}".',
            )
    text = f"The log of {log.name} ends before any agent started. Start a new session."
    raise SessionError(ErrorKind.NOT_FOUND, text)


async def rewind(log: SessionLog, team: Team, to: int) -> Err | None:
    """Shows every agent again what it was shown after that event, or says why not now.

    Files and mail stay as they are, and so does the log.
    """
    if any(member.actor.working for member in team.members):
        return Err(ErrorKind.INVALID_ARGS, "Agents are working. Interrupt them before you rewind.")
    try:
        facts = plan_rewind(log.store, to)
        for member in team.members:
            if fact := facts.get(member.id):
                await member.actor.agent.scribe.record(fact, barrier=True)
    except PlanckError as failure:
        return failure.err
    return None


def plan_rewind(log: Log, to: int) -> dict[str, Rewound]:
    """Returns, for each agent, the fact that shows it again what it was shown after event `to`."""
    if type(to) is not int or not 0 <= to <= log.head:
        raise StoreError(
            ErrorKind.INVALID_ARGS, f"There is no event {to}. The session has events 1 to {log.head}."
        )
    then: dict[str, History] = {}
    for event in log.read():
        if event.agent_id is not None:
            history = then.setdefault(event.agent_id, History())
            if (event.seq or 0) <= to and (fact := view(event)):
                history.apply(fact)
    return {id: Rewound(to=to, messages=tuple(history.balanced)) for id, history in then.items()}


_BEHIND_A_CHECKPOINT = list_types("behind_checkpoint")


def read_past(stored: Iterable[Event]) -> Past:
    """Returns what each agent needs to go on, what came before, and what was spent."""
    options: SessionOptions | None = None
    undone, landings = False, 0
    from planck.records.ledger import Ledger  # a new session has spent nothing

    ledger = Ledger()
    settled: dict[str, list[Event]] = defaultdict(list)
    active: dict[str, list[Event]] = defaultdict(list)
    for event in stored:
        agent_id, type = event.agent_id, event.type
        if type in Ledger.TYPES:
            ledger.add(event)
        landings += (type == LandingStarted.type) - (type == LandingFinished.type)
        if agent_id is None:
            options = _follow_options(options, event)
            undone = type == FileChanged.type or (undone and type != SessionResumed.type)
            continue
        if type == FileChanged.type:  # whole files, which only an undo needs
            continue
        events = active[agent_id]
        if type == Compacted.type:
            settled[agent_id] += [e for e in events if e.type not in _BEHIND_A_CHECKPOINT]
            events.clear()
        events.append(event)
    facts = {
        id: [fact for event in (*settled[id], *events) if (fact := view(event))]
        for id, events in active.items()
    }
    return Past(facts, Before(options, undone, landings > 0), ledger)


def _follow_options(known: SessionOptions | None, event: Event) -> SessionOptions | None:
    if event.type not in (SessionStarted.type, SessionResumed.type, ModeChanged.type):
        return known
    match view(event):
        case SessionStarted(options=options) | SessionResumed(options=options) if options:
            return options
        case ModeChanged(mode=mode) if known:
            return replace(known, mode=mode)
    return known


def _find_start(facts: Sequence[View]) -> AgentStarted | None:
    return next((fact for fact in facts if isinstance(fact, AgentStarted)), None)


def _open_calls(facts: Sequence[View], asks: bool) -> list[str]:
    """Returns the calls whose outcome is unknown; `asks`: without those that ask the user again."""
    waiting: dict[str, bool] = {}
    """By open call: whether it waits for the user."""
    foreign: set[str] = set()
    for fact in facts:
        match fact:
            case ToolStart():
                waiting[fact.id] = False
                if fact.foreign:
                    foreign.add(fact.id)
            case ToolEnd():
                waiting.pop(fact.id, None)
            case PermissionRequest() | PermissionDecision() if fact.call_id in waiting:
                asked = isinstance(fact, PermissionRequest)
                waiting[fact.call_id] = asked and fact.call_id not in foreign
    return [id for id, waits in waiting.items() if not (waits and asks)]
