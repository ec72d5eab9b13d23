"""A peer's list of tools is made safe for a model: bounded, named uniquely, with nothing hidden in it."""

import hashlib
import re
import unicodedata
from collections.abc import Container, Iterable
from typing import Any

import msgspec

from planck.records import codec
from planck.records.specs import ToolSpec
from planck.toolkit.tool import find_schema_problem

MAX_TOOLS = 1024
MAX_DESCRIPTION = 4096
MAX_SCHEMA = 64 << 10
MAX_TOTAL = 1 << 20
"""Bytes that all tools of one peer may add to every request."""
MAX_NAME = 64
"""What every vendor accepts."""


LIST_RESOURCES, READ_RESOURCE = "\0resources/list", "\0resources/read"
LIST_PROMPTS, GET_PROMPT = "\0prompts/list", "\0prompts/get"
"""What a peer is asked beside its tools, in the place of a tool's name."""


class ListedTool(msgspec.Struct, frozen=True):
    name: str
    """Under which the peer knows it."""
    spec: ToolSpec
    """Under which the model does."""

    @property
    def digest(self) -> str:
        return hashlib.sha256(codec.encode(self.spec)).hexdigest()


class Listing(msgspec.Struct, frozen=True):
    tools: tuple[ListedTool, ...]
    problems: tuple[str, ...] = ()
    """What was left out, and why."""
    over: bool = False
    """The peer went: it has no tools now, and did not say so itself."""


def read_listing(raw: Iterable[Any], prefix: str, refused: Container[str] = ()) -> Listing:
    """Reads what the peer sent; an invalid tool is left out, and listed in `problems`.

    `refused`: names of tools whose schemas ask for HTTP headers that can't be sent.
    """
    tools: dict[str, ListedTool] = {}
    problems: list[str] = []
    total = 0
    for count, entry in enumerate(raw):
        if count >= MAX_TOOLS:
            problems.append(f"only the first {MAX_TOOLS} tools are used")
            break
        if not isinstance(entry, dict) or not isinstance(entry.get("name"), str):
            problems.append(f"tool {count + 1} is omitted: it has no name")
            continue
        name: str = entry["name"]
        schema: Any = entry.get("inputSchema")
        description = entry["description"] if isinstance(entry.get("description"), str) else ""
        wanted, shown = make_name(prefix, name), repr(drop_unseen(name)[:80])
        if wanted in tools:
            problems.append(f"{shown} is omitted: an earlier tool already has the name {wanted!r}")
        elif name in refused:
            problems.append(f"{shown} is omitted: the `x-mcp-header` of its input schema is not valid")
        elif problem := _find_problem(schema):
            problems.append(f"{shown} is omitted: {problem}")
        else:
            spec = ToolSpec(wanted, drop_unseen(description)[:MAX_DESCRIPTION], {"type": "object", **schema})
            total += len(codec.encode(spec))
            if total > MAX_TOTAL:
                problems.append(
                    f"only the first {len(tools)} tools are used: "
                    f"there are more than {MAX_TOTAL} bytes of tool definitions"
                )
                break
            tools[wanted] = ListedTool(name, spec)
    return Listing(tuple(tools.values()), tuple(problems))


def add_resource_tools(listing: Listing, prefix: str) -> Listing:
    """Adds two tools by which agents read what the peer has to read; its own of that name come first."""
    uri = {"type": "string", "description": "URI from the list of resources"}
    reading = {"type": "object", "properties": {"uri": uri}, "required": ["uri"]}
    own = (
        ListedTool(
            LIST_RESOURCES,
            ToolSpec(f"{prefix}list_resources", "List the resources on this server.", {"type": "object"}),
        ),
        ListedTool(
            READ_RESOURCE, ToolSpec(f"{prefix}read_resource", "Read a resource from this server.", reading)
        ),
    )
    taken = {listed.spec.name for listed in listing.tools}
    more = tuple(one for one in own if one.spec.name not in taken and len(one.spec.name) <= MAX_NAME)
    return msgspec.structs.replace(listing, tools=(*listing.tools, *more))


def make_name(prefix: str, name: str) -> str:
    """Keeps letters, digits, `_` and `-`, at most 64; a name that had to be cut ends with its hash."""
    whole = prefix + (re.sub(r"[^A-Za-z0-9_-]", "_", name) or "_")
    if len(whole) <= MAX_NAME:
        return whole
    return whole[: MAX_NAME - 9] + "_" + hashlib.sha256(name.encode("utf-8", "replace")).hexdigest()[:8]


def drop_unseen(text: str) -> str:
    """Removes what a reader can't see: control characters, zero width, direction marks, tags."""
    return "".join(
        character
        for character in text
        if character in "\n\t" or unicodedata.category(character) not in ("Cc", "Cf", "Cs", "Co")
    )


def _find_problem(schema: Any) -> str:
    if not isinstance(schema, dict):
        return "its input schema is not an object"
    try:
        size = len(codec.encode(schema))
    except (TypeError, ValueError, RecursionError) as problem:
        return f"its input schema is not valid JSON: {problem}"
    if size > MAX_SCHEMA:
        return f"its input schema has {size} bytes, more than the limit of {MAX_SCHEMA}"
    # One that a vendor refuses would take every request of the session along.
    wrong = find_schema_problem(schema)
    return f"its input schema is {wrong}" if wrong else ""
