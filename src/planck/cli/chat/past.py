"""What was said before this process opened the session: the last screenful, and the user's own messages."""

from collections import deque
from collections.abc import Sequence
from contextlib import aclosing

import msgspec

from planck.cli.tell.blocks import Block
from planck.cli.tell.teller import Teller
from planck.headless import OpenSession

_EVENTS = 400
_BLOCKS = 12
"""The newest facts that are looked through for what is shown at a resume, and what is shown of them."""


class Prompt(msgspec.Struct, frozen=True):
    text: str
    before: int
    """The event before it was said."""


async def read_past(session: OpenSession, teller: Teller) -> tuple[Sequence[Block], int]:
    """The newest blocks of what was recorded before it was opened, and how many events are before them."""
    first = max(session.opened_at - _EVENTS, 0)
    blocks: deque[Block] = deque(maxlen=_BLOCKS)
    if not session.opened_at:
        return (), 0
    async with aclosing(session.events(after=first)) as events:
        async for event in events:
            if event.seq is None or event.seq > session.opened_at:
                break
            if event.type != "agent_started":
                blocks.extend(teller.tell(event))
            if event.seq == session.opened_at:
                break
    return tuple(blocks), first


async def list_prompts(session: OpenSession) -> list[Prompt]:
    """Each message of the user's to the orchestrator that began a turn, the oldest first."""
    found: list[Prompt] = []
    if not session.head:
        return found
    head = session.head
    async with aclosing(session.events(after=0)) as events:
        async for event in events:
            if event.type == "message" and event.seq is not None:
                data = event.data
                if (
                    data["from"] == "user"
                    and data["kind"] == "prompt"
                    and data.get("origin") in (None, "user")
                ):
                    found.append(Prompt(data.get("typed") or data["text"], event.seq - 1))
            if event.seq is not None and event.seq >= head:
                break
    return found


async def list_calls_after(session: OpenSession, seq: int) -> list[str]:
    """The calls that changed files after an event, the newest first, those of an undo left out."""
    calls: dict[str, None] = {}
    head = session.head
    if head <= seq:
        return []
    async with aclosing(session.events(after=seq)) as events:
        async for event in events:
            if event.type == "file_changed" and not (data := event.data).get("undoes"):
                calls[data["call_id"]] = None
            if event.seq is not None and event.seq >= head:
                break
    return [*reversed(calls)]
