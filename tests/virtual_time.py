"""An event loop whose clock jumps to the next timer when nothing is ready: hours pass in milliseconds."""

import asyncio
import random
import selectors
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from tests.leaks import inspected

T = TypeVar("T")

_STUCK = 30.0
"""Real seconds without a timer or a ready callback before the run is called a hang."""


def run_virtual(main: Coroutine[Any, Any, T], *, seed: int | None = None) -> T:
    """Run to the end in virtual time; a seed shuffles the callbacks that are ready together.

    Real sockets and threads work, but virtual time does not wait for them: use it for simulations.
    """
    loop = VirtualLoop(seed)
    try:
        asyncio.set_event_loop(loop)
        return loop.run_until_complete(main)
    finally:
        try:
            with inspected(loop):
                _cancel_all(loop)
        finally:
            asyncio.set_event_loop(None)
            loop.close()


class VirtualLoop(asyncio.SelectorEventLoop):
    _ready: Any

    def __init__(self, seed: int | None = None) -> None:
        self.virtual_now = 0.0
        self.before_jump: Callable[[], None] | None = None
        """Called when nothing is ready to run and time would pass; not again once it has raised."""
        self._shuffle = random.Random(seed).shuffle if seed is not None else None
        super().__init__(_JumpingSelector(self))

    def time(self) -> float:
        return self.virtual_now

    def _run_once(self) -> None:
        if self._shuffle and len(self._ready) > 1:
            ready = list(self._ready)
            self._shuffle(ready)
            self._ready.clear()
            self._ready.extend(ready)
        super()._run_once()  # type: ignore[misc]  # private in typeshed, stable in CPython


class _JumpingSelector(selectors.DefaultSelector):
    def __init__(self, loop: VirtualLoop) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> Any:
        ready = super().select(0)
        if ready or timeout == 0:
            return ready
        if timeout is None:
            ready = super().select(_STUCK)
            if not ready:
                raise TimeoutError(f"nothing can wake this loop: {asyncio.all_tasks(self._loop)}")
            return ready
        if look := self._loop.before_jump:
            self._loop.before_jump = None
            look()
            self._loop.before_jump = look
        self._loop.virtual_now += timeout
        return ready


def _cancel_all(loop: asyncio.AbstractEventLoop) -> None:
    tasks = asyncio.all_tasks(loop)
    for task in tasks:
        task.cancel()
    loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
    loop.run_until_complete(loop.shutdown_asyncgens())
