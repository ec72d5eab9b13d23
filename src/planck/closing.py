"""Closing something that has several parts: one that fails, or is cancelled, leaves no other one open."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

Close = Callable[[], Awaitable[Any] | None]


async def close_all(*parts: Close) -> None:
    """Closes the parts in this order, and then raises the first error that there was.

    A cancellation ends the part that is being closed, and the next one begins: it is an error like others.
    """
    first: BaseException | None = None
    for close in parts:
        try:
            if (closing := close()) is not None:
                await closing
        except BaseException as e:
            first = first or e
    if first is not None:
        raise first


async def close_together(*parts: Callable[[], Awaitable[Any]]) -> None:
    """Closes them at the same time, waits for all of them, and then raises the first error that there was."""
    for outcome in await asyncio.gather(*(close() for close in parts), return_exceptions=True):
        if isinstance(outcome, BaseException):
            raise outcome


async def wait_for_end(*tasks: "asyncio.Future[Any]") -> None:
    """Waits until they are done; a caller that is cancelled waits too, and is told so then."""
    cancelled: asyncio.CancelledError | None = None
    while left := [task for task in tasks if not task.done()]:
        try:
            await asyncio.wait(left)
        except asyncio.CancelledError as e:
            cancelled = e
    if cancelled:
        raise cancelled
