"""Where checks run of an agent that works in a view: in trees of their own, which nobody works in."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, NamedTuple

from planck.workspace.views.view import View

if TYPE_CHECKING:
    from planck.session.landing.landings import Landings, Prepared
    from planck.session.views import SessionViews


class Tree(NamedTuple):
    view: View
    landing: str
    """The proposal whose changes it has; empty: it is the workspace of now."""


class Place:
    """The trees for the checks of one agent's work."""

    def __init__(
        self,
        views: "SessionViews",
        landings: "Landings",
        agent_id: str,
        view: View,
        prepared: "Prepared | None" = None,
    ) -> None:
        """`prepared`: the landing that waits for the checks; None: what the view has when it is opened."""
        self._views = views
        self._landings = landings
        self._agent_id = agent_id
        self._view = view
        self._prepared = prepared

    @property
    def lands(self) -> bool:
        """Whether a landing waits for the checks."""
        return self._prepared is not None

    @property
    def has_base(self) -> bool:
        """Whether the layers below the view are a tree; those of a worktree are not."""
        return self._view.exact

    @asynccontextmanager
    async def open(self) -> AsyncGenerator[Tree, None]:
        """Opens what the workspace would be with the agent's work."""
        from planck.session.landing.candidate import open_candidate

        prepared = self._prepared or await self._landings.prepare(self._agent_id, "")
        layers, states = await self._landings.find_candidate(prepared)
        async with open_candidate(self._views, layers, states) as view:
            yield Tree(view, prepared.id if prepared else "")

    @asynccontextmanager
    async def open_base(self) -> AsyncGenerator[Tree, None]:
        """Opens what the workspace was before the agent's work."""
        from planck.session.landing.candidate import open_candidate

        layers, states = await self._landings.find_base(self._view)
        async with open_candidate(self._views, layers, states) as view:
            yield Tree(view, "")
