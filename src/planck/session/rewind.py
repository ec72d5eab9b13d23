"""What an agent's history is taken back to: a fact like any other, and nothing leaves the log."""

from planck.records.events import Rewound, view
from planck.records.history import History
from planck.records.outcome import ErrorKind
from planck.store.store import LogReader, StoreError


def plan_rewind(log: LogReader, to: int) -> dict[str, Rewound]:
    """Returns, for each agent, the fact that shows it again what it was shown after event `to`."""
    if not 0 <= to <= log.head:
        raise StoreError(
            ErrorKind.INVALID_ARGS, f"there is no event {to}; the session has the events 1 to {log.head}"
        )
    then: dict[str, History] = {}
    for event in log.read():
        if event.agent_id is not None:
            history = then.setdefault(event.agent_id, History())
            if (event.seq or 0) <= to and (fact := view(event)):
                history.apply(fact)
    return {id: Rewound(to=to, messages=tuple(history.balanced)) for id, history in then.items()}
