"""The views of one session: which agent has which, opened before its first turn, mounted again at a resume.

On disk, `<home of the session's views>/<view>/`: never removed while somebody's work is in it. A view that
nothing was changed in goes at the end of the session.
"""

import asyncio
import logging
import os
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from contextlib import suppress
from functools import partial

from planck.closing import close_all
from planck.records.events import View as Fact
from planck.records.events import ViewDropped, ViewOpened
from planck.records.outcome import ErrorKind
from planck.records.ports import Ids
from planck.records.specs import AgentSpec
from planck.toolkit.journal import Journal
from planck.workspace.views.housekeeping import clean_up, has_changes
from planck.workspace.views.layers import Layers
from planck.workspace.views.mounting import Opener, ViewError
from planck.workspace.views.overlay import OverlayView, is_in_use, remove_folder
from planck.workspace.views.view import View
from planck.workspace.views.worktree import Worktree, refuse_worktree

log: logging.Logger = logging.getLogger(__name__)

Give = Callable[[str, View | None], None]
"""Lets an agent's tools work in a view; None: in the workspace."""


class SessionViews:
    def __init__(
        self,
        base: str,
        home: str,
        environment: Mapping[str, str],
        journal: Journal,
        ids: Ids,
        give: Give,
        *,
        shared: bool = False,
    ) -> None:
        """`home`: where this session's views lie. `environment`: for git. `shared`: all agents work in one,
        which the facts call the orchestrator's."""
        self.home = home
        self._base = base
        self._environment = environment
        self._journal = journal
        self._ids = ids
        self._give = give
        self._shared = shared
        self._layers = Layers(base, home, environment)
        self._opener = Opener()
        self._making = asyncio.Lock()
        self._open: dict[str, View] = {}

    def find(self, agent_id: str) -> View | None:
        """Returns the view that an agent works in; None: it works in the workspace."""
        return self._open.get(agent_id)

    @property
    def by_agent(self) -> Mapping[str, View]:
        return self._open

    async def take_layers(self) -> tuple[str, ...]:
        """Returns the layers that are the workspace as it is now, topmost first, by their names in `home`."""
        async with self._making:
            return await asyncio.to_thread(self._take)

    def _take(self) -> tuple[str, ...]:
        if not os.path.isdir(self.home):
            _make_home(self.home)
            clean_up(os.path.dirname(self.home), but=os.path.basename(self.home))
        return self._layers.take()

    async def prepare(self, spec: AgentSpec) -> Sequence[Fact]:
        """Opens the view of an agent that is to have one; returns what is recorded with its start."""
        if not self._wants(spec):
            return ()
        if spec.acp:
            raise ViewError(
                ErrorKind.INVALID_ARGS,
                f'{spec.name!r} is an external program, which cannot have a view. Set "workspace": "shared".',
            )
        if self._journal.moves:
            raise ViewError(
                ErrorKind.INVALID_ARGS,
                f"{spec.name!r} cannot have a workspace of its own in a pool, where another machine may "
                'continue the session. Set "workspace": "shared".',
            )
        if self._shared and self._open:
            self._keep(spec.id, next(iter(self._open.values())))
            return ()
        layers = await self.take_layers()
        view, notice = await asyncio.to_thread(self._open_new, spec.name, layers)
        self._keep(spec.id, view)
        return [
            ViewOpened(
                view=view.id,
                agent_id=spec.id,
                backend="overlay" if view.exact else "worktree",
                layers=view.layers,
                exact=view.exact,
                notice=notice,
            )
        ]

    def _wants(self, spec: AgentSpec) -> bool:
        return self._shared or spec.workspace == "own"

    def _open_new(self, name: str, layers: tuple[str, ...]) -> tuple[View, str]:
        id = f"v{self._ids.new()}"
        try:
            return OverlayView(id, self._base, self.home, layers, self._opener), ""
        except ViewError as refused:
            remove_folder(f"{self.home}/{id}")
            if refused.err.kind is not ErrorKind.SANDBOX_UNAVAILABLE:
                raise
            why = refused.err.message
        if no_worktree := refuse_worktree(self._base, self._environment):
            raise ViewError(
                ErrorKind.SANDBOX_UNAVAILABLE,
                f"{name!r} can't have a workspace of its own here: {why}, and no git worktree of the "
                f'workspace, because {no_worktree}. Set "workspace": "shared" for it.',
            )
        view = Worktree.make(id, self._base, self.home, layers, self._environment)
        return view, (
            f"no view of its own for {name!r}: {why}; it gets a git worktree, without what git ignores. "
            '"workspace": "shared" is the other way'
        )

    async def mount_again(
        self, living: Iterable[tuple[AgentSpec, Iterable[Fact]]], facts: Iterable[Fact]
    ) -> dict[str, str]:
        """Opens the views that a killed or closed process left; returns, by agent, what each must be told.

        `facts` are those of all agents, also of those that ended, whose work stays.
        """
        # A folder that no log names was left by a process that was killed before its commit.
        await asyncio.to_thread(_sweep, self.home, {*list_known(facts), "layers"})
        told: dict[str, str] = {}
        for spec, facts in living:
            left = _find_open(facts)
            if left is None:
                if self._wants(spec):
                    await self._open_anew(spec, told)
                continue
            try:
                view = await asyncio.to_thread(self._mount, left)
            except FileNotFoundError:
                await self._journal.record(spec.id, 0, ViewDropped(view=left.view, why="lost"))
                told[spec.id] = (
                    "Your own view of the workspace is lost: its folder is gone, and with it every change "
                    "that had not landed. You have a new view of the workspace as it is now. Look at the "
                    "files before you continue."
                )
                await self._open_anew(spec, told)
                continue
            except ViewError as refused:
                raise ViewError(
                    refused.err.kind,
                    f"The view of {spec.name!r} cannot be opened again: {refused.err.message}. "
                    f"What was changed in it is in {self.home}/{left.view}/upper.",
                ) from None
            self._keep(spec.id, view)
        return told

    async def _open_anew(self, spec: AgentSpec, told: dict[str, str]) -> None:
        try:
            if facts := await self.prepare(spec):
                await self._journal.record(spec.id, 0, *facts)
        except ViewError as refused:
            told[spec.id] = f"{told.get(spec.id, '')} You work in the workspace itself now: {refused}".strip()

    def _mount(self, left: ViewOpened) -> View:
        if not os.path.isdir(f"{self.home}/{left.view}/upper"):
            raise FileNotFoundError(left.view)
        if left.backend == "worktree":
            return Worktree(left.view, self._base, self.home, left.layers, self._environment)
        if not all(os.path.isdir(f"{self.home}/{layer}") for layer in left.layers):
            raise FileNotFoundError(left.view)
        return OverlayView(left.view, self._base, self.home, left.layers, self._opener)

    def _keep(self, agent_id: str, view: View) -> None:
        self._open[agent_id] = view
        self._give(agent_id, view)

    async def drop(self, agent_id: str, why: str) -> None:
        """Removes an agent's view with all that was changed in it; it works in the workspace from then on."""
        view = self._open.get(agent_id)
        if view is None:
            return
        if any(self._journal.recorded(agent_id)):  # else its start failed, and no log knows of it
            await self._journal.record(agent_id, 0, ViewDropped(view=view.id, why=why))
        for id in [id for id, one in self._open.items() if one is view]:
            del self._open[id]
            self._give(id, None)
        await view.drop()

    async def aclose(self) -> None:
        """Lets go of all; those in which nothing was changed are dropped."""
        try:
            first = {view: agent_id for agent_id, view in reversed(self._open.items())}
            for view, agent_id in first.items():
                layers = [f"{self.home}/{layer}" for layer in view.layers]
                if not await asyncio.to_thread(has_changes, view.upper, layers):
                    await self.drop(agent_id, "unchanged")
        finally:
            views = [view.aclose for view in dict.fromkeys(self._open.values())]
            self._open = {}
            await close_all(*views, partial(asyncio.to_thread, self._opener.close))
        if os.path.isdir(self.home):
            await asyncio.to_thread(_tidy, self.home)


def _find_open(facts: Iterable[Fact]) -> ViewOpened | None:
    found: ViewOpened | None = None
    for fact in facts:
        if isinstance(fact, ViewOpened):
            found = fact
        elif isinstance(fact, ViewDropped) and found and fact.view == found.view:
            found = None
    return found


def _make_home(home: str) -> None:
    os.makedirs(os.path.dirname(home), mode=0o700, exist_ok=True)
    with suppress(FileExistsError):
        os.mkdir(home, 0o711)  # the owner of the workspace reads layers, where that is not us


def _tidy(home: str) -> None:
    """Removes what no view needs any more: without one, the layers too."""
    names = [name for name in os.listdir(home) if name != "layers"]
    if not names:
        remove_folder(home)


def _sweep(home: str, known: Set[str]) -> None:
    with suppress(FileNotFoundError):
        for name in set(os.listdir(home)) - known:
            if not is_in_use(f"{home}/{name}"):
                remove_folder(f"{home}/{name}")


def list_known(facts: Iterable[Fact]) -> set[str]:
    """Returns the views that were opened and not dropped, of living agents and of those that ended."""
    known: set[str] = set()
    for fact in facts:
        if isinstance(fact, ViewOpened):
            known.add(fact.view)
        elif isinstance(fact, ViewDropped):
            known.discard(fact.view)
    return known
