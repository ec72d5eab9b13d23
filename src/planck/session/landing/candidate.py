"""A tree for checks alone: layers of the workspace, and the states that a landing would give to its names.

Nobody works in it and no log names it: what a check leaves behind goes with it, at the latest when the
views of the session are opened the next time.
"""

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Protocol

from planck.closing import wait_for_end
from planck.session.landing.rebase import write_states
from planck.workspace.recording.states import State
from planck.workspace.views.view import View


class Trees(Protocol):
    """Opens views that no agent has; `SessionViews` is one."""

    def open_scratch(self, layers: Sequence[str]) -> View: ...


@asynccontextmanager
async def open_candidate(
    trees: Trees, layers: Sequence[str], states: Mapping[str, State]
) -> AsyncGenerator[View, None]:
    """Opens a tree of its own for the block. `states`: by raw path."""
    opening = asyncio.ensure_future(asyncio.to_thread(trees.open_scratch, layers))
    try:
        await wait_for_end(opening)  # what a cancelled caller began to open is closed all the same
        view = opening.result()
        filling = asyncio.ensure_future(asyncio.to_thread(_fill, view, states))
        await wait_for_end(filling)
        filling.result()
        yield view
    finally:
        if opening.done() and not opening.cancelled() and opening.exception() is None:
            dropping = asyncio.ensure_future(opening.result().drop())
            await wait_for_end(dropping)
            dropping.result()


def _fill(view: View, states: Mapping[str, State]) -> None:
    with view.acting():
        write_states(view.root, states)
