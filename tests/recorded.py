"""What an open session has recorded, for tests."""

from contextlib import aclosing

from planck.headless import OpenSession, SessionEvent


async def recorded(session: OpenSession) -> list[SessionEvent]:
    """Every event up to the newest."""
    found: list[SessionEvent] = []
    head = session.head
    async with aclosing(session.events()) as events:
        async for event in events:
            found.append(event)
            if event.seq == head:
                break
    return found
