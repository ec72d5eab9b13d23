"""Threads for what waits for the disk: an event loop never does."""

import asyncio
import atexit
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from queue import SimpleQueue
from typing import Generic, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


async def run_blocking(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Returns what it returns; a caller that is cancelled is let go at once, and the work goes on."""
    work = _Work(partial(function, *args, **kwargs))
    await work.wait()
    return work.result()


async def finish_blocking(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """The same for what must not be left in the middle: a caller that is cancelled waits for its end."""
    work = _Work(partial(function, *args, **kwargs))
    await work.wait_for_end()
    return work.result()


async def hand_over(make: Callable[[], T], take_back: Callable[[T], None]) -> T:
    """Returns what was made; a caller that is cancelled meanwhile gets nothing, and nothing is left of it."""
    work = _Work(make)
    try:
        await work.wait_for_end()
    except asyncio.CancelledError:
        if not work.failure:
            await finish_blocking(take_back, work.result())
        raise
    return work.result()


class _Work(Generic[T]):
    """One call in a thread. No task and no second future stand around it: a session that starts and ends
    waits for the disk four times, and the way there and back costs as much as what it does there."""

    __slots__ = ("_done", "_function", "_loop", "_made", "_waiter", "failure")

    def __init__(self, function: Callable[[], T]) -> None:
        self._function = function
        self._loop = asyncio.get_running_loop()
        self._waiter: asyncio.Future[None] | None = None
        self._done = False
        self._made: list[T] = []
        self.failure: BaseException | None = None
        _THREADS.do(self._run)

    def result(self) -> T:
        if self.failure:
            raise self.failure
        return self._made[0]

    async def wait(self) -> None:
        if not self._done:
            self._waiter = self._loop.create_future()
            await self._waiter

    async def wait_for_end(self) -> None:
        cancelled: asyncio.CancelledError | None = None
        while not self._done:
            try:
                await self.wait()
            except asyncio.CancelledError as e:  # the disk's time is short: a second one waits too
                cancelled = e
        if cancelled:
            raise cancelled

    def _run(self) -> None:
        try:
            self._made.append(self._function())
        except BaseException as e:
            self.failure = e
        with suppress(RuntimeError):  # the loop was closed meanwhile: nobody waits
            self._loop.call_soon_threadsafe(self._end)

    def _end(self) -> None:
        self._done = True
        if self._waiter and not self._waiter.done():
            self._waiter.set_result(None)


class _Threads:
    """A few threads that do one call after the other, at half of what an executor and its futures cost."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._calls = SimpleQueue[Callable[[], None] | None]()
        self._lock = threading.Lock()
        self._unfinished = 0
        self._threads: list[threading.Thread] = []

    def do(self, call: Callable[[], None]) -> None:
        with self._lock:
            self._unfinished += 1
            if len(self._threads) < min(self._unfinished, self._most):
                self._add_thread()
        self._calls.put(call)

    def _add_thread(self) -> None:
        if not self._threads:
            atexit.register(self._finish)
        # What they do is finished at the end of the process, but none may hold it up that has nothing to do.
        thread = threading.Thread(target=self._work, name=f"planck-disk-{len(self._threads)}", daemon=True)
        self._threads.append(thread)
        thread.start()

    def _work(self) -> None:
        while call := self._calls.get():
            call()
            del call  # and with it the session whose it was
            with self._lock:
                self._unfinished -= 1

    def _finish(self) -> None:
        for _ in self._threads:
            self._calls.put(None)
        for thread in self._threads:
            thread.join()


_THREADS = _Threads(16)
"""More than a loop has by itself: they wait, and a hundred sessions that start at once wait together."""
