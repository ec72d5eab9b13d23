"""`search_tools`: of more tools than there is room for, those that the work at hand needs."""

import re
import weakref
from typing import Any

from planck.peers.handout import SEARCH
from planck.records.events import ToolsChanged
from planck.records.outcome import Ok
from planck.toolkit.schema import arguments, integer, text
from planck.toolkit.scribe import Scribe
from planck.toolkit.tool import Effect, Outcome, Tool, ToolContext
from planck.toolkit.toolset import ToolSet

_SHOWN = 8
_MOST = 25
_LINE = 200


def make_search_tool(toolset: ToolSet, found: set[str], scribe: "weakref.ref[Scribe]") -> Tool:
    """Returns the tool for one agent; `found` are the names that it has found so far."""
    servers = sorted({name.split("__")[1] for name in toolset.names() if name.startswith("mcp__")})
    named = ", ".join(servers[:20])
    more = f" and {len(servers) - 20} more" if len(servers) > 20 else ""
    description = (
        f"Find tools on the MCP servers {named}{more}, which have too many tools to list. Search by purpose "
        "or by name. From your next step on, you can call the tools you find."
    )
    parameters = arguments(
        {"query": text("Search words")}, {"limit": integer(f"Default {_SHOWN}", minimum=1, maximum=_MOST)}
    )
    search = _Search(weakref.ref(toolset), found, scribe)
    return Tool(SEARCH, description, parameters, search.run, search.run, effect=Effect.NONE)


class _Search:
    def __init__(
        self, toolset: "weakref.ref[ToolSet]", found: set[str], scribe: "weakref.ref[Scribe]"
    ) -> None:
        self._toolset = toolset
        self._found = found
        self._scribe = scribe

    async def run(self, args: dict[str, Any], ctx: ToolContext) -> Outcome:
        toolset, scribe = self._toolset(), self._scribe()
        if toolset is None or scribe is None:
            return Ok({"output": "No tools."})
        hidden = [tool for tool in toolset if tool.name.startswith("mcp__")]
        words = set(re.findall(r"[^\W_]+", args["query"].lower()))
        ranked = sorted(
            ((_score(tool, words, args["query"].lower()), tool.name, tool) for tool in hidden), key=_rank
        )
        hits = [tool for score, _, tool in ranked[: args.get("limit", _SHOWN)] if score > 0]
        if not hits:
            return Ok({"output": f"None of the {len(hidden)} tools matches; use other words."})
        fresh = tuple(tool.name for tool in hits if tool.name in toolset.deferred)
        self._found.update(fresh)
        toolset.defer({*toolset.deferred} - self._found)
        if fresh:
            await scribe.record(ToolsChanged(added=fresh, tools=scribe.keep_tools(toolset.specs)))
        rows = [f"{tool.name}: {' '.join(tool.description.split())[:_LINE]}" for tool in hits]
        return Ok({"output": "\n".join(rows)})


def _rank(row: tuple[float, str, Tool]) -> tuple[float, str]:
    return -row[0], row[1]


def _score(tool: Tool, words: set[str], query: str) -> float:
    """A word in the name counts more than one in the description; the whole name most of all."""
    name, description = tool.name.lower(), tool.description.lower()
    if query.strip() in (name, name.split("__", 2)[-1]):
        return 100.0
    in_name = set(re.findall(r"[^\W_]+", name))
    return sum(3.0 * (word in in_name) + 1.0 * (word in name) + 1.0 * (word in description) for word in words)
