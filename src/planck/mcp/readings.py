"""What a server has beside tools: resources to read and prompts to say, asked for and made plain text."""

from collections.abc import Iterable
from typing import Any

from mcp import Client
from mcp_types import PaginatedRequestParams

from planck.mcp.listing import GET_PROMPT, LIST_PROMPTS, LIST_RESOURCES, READ_RESOURCE, drop_unseen
from planck.records.outcome import Ok
from planck.toolkit.tool import Outcome

READINGS = frozenset({LIST_RESOURCES, READ_RESOURCE, LIST_PROMPTS, GET_PROMPT})
_MAX_ROWS = 500
_MAX_PAGES = 16
_LINE = 300


async def read_from(client: Client, what: str, arguments: dict[str, Any]) -> Outcome:
    """Asks for one of `READINGS`; what goes wrong raises, as it does for a call of a tool."""
    session = client.session
    if what == LIST_RESOURCES:
        rows = [_describe(one, str(one.uri)) async for one in _pages(session.list_resources, "resources")]
        return Ok({"output": "\n".join(rows) or "No resources."})
    if what == READ_RESOURCE:
        found = await session.read_resource(arguments["uri"])
        return Ok({"output": "\n".join(_read_contents(found.contents))})
    if what == LIST_PROMPTS:
        prompts = [one async for one in _pages(session.list_prompts, "prompts")]
        return Ok({"output": "", "prompts": [_read_prompt(one) for one in prompts]})
    said = await session.get_prompt(arguments["name"], arguments.get("arguments") or {})
    texts = (getattr(message.content, "text", None) for message in said.messages)
    return Ok({"output": "\n\n".join(text for text in texts if isinstance(text, str))})


async def _pages(ask: Any, field: str) -> Any:
    cursor: str | None = None
    count = 0
    for _ in range(_MAX_PAGES):
        page = await ask(params=PaginatedRequestParams(cursor=cursor))
        for one in getattr(page, field):
            count += 1
            if count > _MAX_ROWS:
                return
            yield one
        cursor = page.next_cursor
        if cursor is None:
            return


def _describe(resource: Any, uri: str) -> str:
    words = " ".join(filter(None, (resource.name, resource.description)))
    return drop_unseen(f"{uri}  {' '.join(words.split())}")[:_LINE]


def _read_contents(contents: Iterable[Any]) -> Iterable[str]:
    for one in contents:
        text = getattr(one, "text", None)
        if isinstance(text, str):
            yield text
        else:
            size = len(getattr(one, "blob", "") or "")
            media = one.mime_type or "unknown type"
            yield f"[{drop_unseen(str(one.uri))}, {media}, {size} bytes as base64, not shown]"


def _read_prompt(prompt: Any) -> dict[str, Any]:
    wanted = [
        {"name": drop_unseen(one.name), "required": bool(one.required)} for one in prompt.arguments or ()
    ]
    described = drop_unseen(" ".join((prompt.description or "").split()))[:_LINE]
    return {"name": prompt.name, "description": described, "arguments": wanted}
