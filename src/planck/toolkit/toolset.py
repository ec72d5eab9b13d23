"""The tools of one agent."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from typing import Protocol

from planck.records.outcome import ErrorKind
from planck.records.specs import ToolSpec
from planck.toolkit.tool import Tool, ToolError


class Arrivals(Protocol):
    async def wait_for(self, name: str) -> None:
        """Returns when no peer that still starts could bring a tool of that name any more."""

    async def wait_for_listings(self, held: Collection[str]) -> None:
        """Returns when what a first request should show is listed, or after the wait that is configured."""


class ToolSet:
    """Names are unique; tools may come and go while the agent runs (sidecars, MCP servers)."""

    def __init__(self, tools: Iterable[Tool] = (), *, withheld: Collection[str] = ()) -> None:
        """`withheld` are patterns of names that are never in the set, even if a peer brings them."""
        self._withheld = withheld
        self._tools: dict[str, Tool] = {}
        self._specs: tuple[ToolSpec, ...] | None = None
        self.arrived: list[str] = []
        """Names of tools that came from peers and files after the set was made."""
        self._deferred: frozenset[str] = frozenset()
        self.arrivals: Arrivals | None = None
        """Set where peers (sidecars, MCP servers) may still bring tools into this set."""
        for tool in tools:
            self.add(tool)

    def withholds(self, name: str) -> bool:
        return any(fnmatchcase(name, pattern) for pattern in self._withheld)

    def add(self, tool: Tool) -> None:
        if self._withheld and self.withholds(tool.name):
            return
        if tool.name in self._tools:
            raise ToolError(
                ErrorKind.NOT_UNIQUE,
                f"a tool named {tool.name!r} is already in this set; remove it first or rename the new one",
                {"name": tool.name},
            )
        self._tools[tool.name] = tool
        self._specs = None

    def arrive(self, tool: Tool) -> None:
        """Add a tool of a peer or a file, which may go again; the agent may pass it on."""
        self.add(tool)
        if tool.name in self._tools:
            self.arrived.append(tool.name)

    def remove(self, name: str) -> None:
        """Does nothing when the tool is gone already."""
        if name in self.arrived:
            self.arrived.remove(name)
        if self._tools.pop(name, None) is not None:
            self._specs = None

    def defer(self, names: Collection[str]) -> None:
        """These, and no others, are there and can be called, and are not shown until they are asked for."""
        if self._deferred != names:
            self._deferred, self._specs = frozenset(names), None

    @property
    def deferred(self) -> Collection[str]:
        return self._deferred

    async def wait_for_listings(self) -> None:
        if self.arrivals is not None:
            await self.arrivals.wait_for_listings(self._tools.keys())

    def get(self, name: str) -> Tool | None:
        return self._tools.get(name)

    def names(self) -> list[str]:
        return list(self._tools)

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        """What is shown of them. The same tuple object until that changes: dialects keep its bytes by it."""
        if self._specs is None:
            self._specs = _share([tool for name, tool in self._tools.items() if name not in self._deferred])
        return self._specs

    def __iter__(self) -> Iterator[Tool]:
        return iter(list(self._tools.values()))

    def __len__(self) -> int:
        return len(self._tools)


def _share(tools: Sequence[Tool]) -> tuple[ToolSpec, ...]:
    """Returns one tuple for all agents of a process that are shown the same: its bytes are made once."""
    key = tuple((tool.name, tool.description, id(tool.shown_parameters)) for tool in tools)
    specs = _SHARED.get(key)
    if specs is None:
        if len(_SHARED) >= _MOST_SHARED:
            del _SHARED[next(iter(_SHARED))]
        specs = _SHARED[key] = tuple(tool.to_ai_tool() for tool in tools)
    return specs


_MOST_SHARED = 64
_SHARED: dict[tuple[tuple[str, str, int], ...], tuple[ToolSpec, ...]] = {}
"""Each holds the parameters that its key has the ids of, so that no other object can have them."""
