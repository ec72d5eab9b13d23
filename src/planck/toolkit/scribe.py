"""One agent's way to write: what it records is durable first and history second."""

from collections.abc import Sequence

from planck.records import codec
from planck.records.events import View
from planck.records.history import History
from planck.records.specs import ToolSpec
from planck.toolkit.journal import Entry, Journal


class Scribe:
    """The agent, its executor and its gate share one; without an agent id it writes for the session."""

    __slots__ = ("__weakref__", "_journal", "_system", "_tools", "agent_id", "history", "turn")

    def __init__(self, journal: Journal, agent_id: str | None) -> None:
        self.agent_id: str | None = agent_id
        self.turn: int = 0
        """The turn that the facts belong to; the agent counts it up."""
        self.history: History = History()
        self._journal = journal
        self._system: tuple[str, str] = ("", "")
        self._tools: tuple[Sequence[ToolSpec], str] = ((), "")

    async def record(self, *facts: View, also: Sequence[Entry] = (), barrier: bool = False) -> None:
        """Make the facts durable, in one commit with other agents' facts; in that step they are history."""
        entries = [Entry(self.agent_id, self.turn, fact, self.history) for fact in facts]
        await self._journal.record_all([*entries, *also], barrier=barrier)

    def keep_system(self, text: str) -> str:
        """Keeps a system prompt in the log; returns the name by which a fact may refer to it."""
        if text != self._system[0]:
            self._system = (text, self._keep(text.encode(errors="replace")))
        return self._system[1]

    def keep_tools(self, specs: Sequence[ToolSpec]) -> str:
        """The same for what a model is told of its tools; a set that did not change is the same object."""
        if specs is not self._tools[0]:
            self._tools = (specs, self._keep(_encode(specs)))
        return self._tools[1]

    def keep_output(self, whole: bytes) -> str:
        """The same for an output that was too long for the model; returns the name by which it is found."""
        return self._journal.keep(whole, detached=True)

    @property
    def tools_kept(self) -> str:
        """The name of the tools that were kept last; empty before the first."""
        return self._tools[1]

    def publish(self, delta: View) -> None:
        """Send a delta to the present readers; it is never stored."""
        self._journal.publish(self.agent_id, self.turn, delta)

    def _keep(self, blob: bytes) -> str:
        return self._journal.keep(blob)


def _encode(specs: Sequence[ToolSpec]) -> bytes:
    """Returns the same bytes for the same list: most sessions of a process have one list, of many KB."""
    known = _ENCODED.get(id(specs))
    if known is None or known[0] is not specs:
        if len(_ENCODED) >= _MOST_ENCODED:
            del _ENCODED[next(iter(_ENCODED))]
        known = _ENCODED[id(specs)] = (specs, codec.trimmed(codec.encode(specs)))
    return known[1]


_MOST_ENCODED = 16
_ENCODED: dict[int, tuple[Sequence[ToolSpec], bytes]] = {}
