"""Threads for what waits for the disk: an event loop never does."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

THREADS = ThreadPoolExecutor(16, "planck-disk")
"""More than a loop has by itself: they wait, and a hundred sessions that start at once wait together."""


async def run_blocking(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Returns what it returns; a caller that is cancelled is let go at once, and the work goes on."""
    return await _begin(partial(function, *args, **kwargs))


async def finish_blocking(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """The same for what must not be left in the middle: a caller that is cancelled waits for its end."""
    work = _begin(partial(function, *args, **kwargs))
    await _wait_for_end(work)
    return work.result()


async def hand_over(make: Callable[[], T], take_back: Callable[[T], None]) -> T:
    """Returns what was made; a caller that is cancelled meanwhile gets nothing, and nothing is left of it."""
    work = _begin(make)
    try:
        await _wait_for_end(work)
    except asyncio.CancelledError:
        if not work.exception():
            await finish_blocking(take_back, work.result())
        raise
    return work.result()


def _begin(function: Callable[[], T]) -> asyncio.Future[T]:
    """No task stands around it: a session that starts and ends waits for the disk four times."""
    return asyncio.get_running_loop().run_in_executor(THREADS, function)


async def _wait_for_end(work: asyncio.Future[T]) -> None:
    cancelled: asyncio.CancelledError | None = None
    while not work.done():
        try:
            await asyncio.wait({work})
        except asyncio.CancelledError as e:  # the disk's time is short: a second one waits too
            cancelled = e
    if cancelled:
        work.exception()  # it is heard of, if only here
        raise cancelled
