"""All that was said and done in a session, with what was folded, to scroll and to search."""

from collections import deque
from collections.abc import Iterator
from contextlib import aclosing

from planck.cli.tell.blocks import Answer, Block, Said
from planck.cli.tell.styled import INDENT, Line, as_text, make_lines
from planck.cli.tell.teller import Teller
from planck.headless import OpenSession

_MOST = 100_000
"""Lines that are kept, the newest ones: `planck sessions show` and `/export` have the others."""


async def read_transcript(session: OpenSession) -> list[Line]:
    """Returns every block of the log, unfolded."""
    teller = Teller(session.members, echoes=True, ends=True)
    lines: deque[Line] = deque(maxlen=_MOST)
    head = session.head
    if not head:
        return []
    async with aclosing(session.events(after=0)) as events:
        async for event in events:
            if event.seq is None:  # what passes by is told again by what is recorded
                continue
            for block in teller.tell(event) if event.type != "agent_started" else ():
                lines.extend(unfold(block))
            if event.seq >= head:
                break
    return [*lines]


def unfold(block: Block) -> Iterator[Line]:
    """Every line of a block, and not only those that a screen is shown of it."""
    if isinstance(block, Answer):
        yield ()
        yield from make_lines(block.markdown.strip("\n"))
        yield ()
    elif isinstance(block, Said):
        yield from _put_behind(block.prefix, block.markdown)
    elif not block.rest:
        yield from block.lines
    elif block.prefix:
        if not as_text(block.lines[0]):
            yield ()
        yield from _put_behind(block.prefix, block.rest)
    else:
        yield block.lines[0]
        yield from make_lines(block.rest.rstrip("\n"), "dim", INDENT)


def _put_behind(prefix: Line, text: str) -> Iterator[Line]:
    first, *others = make_lines(text.strip("\n"))
    yield (*prefix, *first)
    for line in others:
        yield ((INDENT, ""), *line)
