"""What a view is to those who open files in it and start commands in it."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from planck.records.authority import Confinement
from planck.workspace.sandbox.sandbox import Wrapped


class View(Protocol):
    """An agent's own tree. `OverlayView` has the workspace's path; a `Worktree` has another one."""

    @property
    def id(self) -> str: ...

    @property
    def base(self) -> str:
        """The workspace that it is a view of."""

    @property
    def path(self) -> str:
        """Where commands find it."""

    @property
    def root(self) -> int:
        """A descriptor of its top folder."""

    @property
    def fds(self) -> tuple[int, ...]:
        """Descriptors that `words` names."""

    @property
    def exact(self) -> bool:
        """Whether it has everything that the workspace has, ignored files included."""

    @property
    def backend(self) -> str: ...

    @property
    def layers(self) -> tuple[str, ...]: ...

    @property
    def upper(self) -> str: ...

    def confine(self, confinement: Confinement) -> Confinement:
        """The same rights by its own path."""

    def words(self) -> Sequence[str]:
        """What goes before a command: it then runs in the view, in the folder in which it is started."""

    def acting(self) -> AbstractContextManager[None]:
        """For changes in it by this thread: root is nobody in a view that belongs to another user."""

    def prepare(self, confinement: Confinement) -> None:
        """Does what takes long before `wrap`; call it in a thread."""

    def wrap(self, confinement: Confinement) -> Wrapped:
        """As `sandbox.wrap`, by what is in the view; the words begin with those of the view."""

    async def aclose(self) -> None: ...

    async def drop(self) -> None: ...
