"""Cancels a piece of work at each of its awaits, one after the other, without sleeps."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Generator
from typing import Any, Literal, TypeVar

T = TypeVar("T")
Moment = Literal["waits", "ends"]
"""Cancelled while the await waits for something, or when that is there already and not yet taken."""


class _Stepped(Awaitable[T]):
    def __init__(self, work: Coroutine[Any, Any, T], at: int, moment: Moment) -> None:
        self._work, self._at, self._moment = work, at, moment
        self.cancelled = False

    def __await__(self) -> Generator[Any, Any, T]:
        task = asyncio.current_task()
        assert task is not None
        step, send = 0, self._work.send
        value: Any = None
        while True:
            try:
                awaited = send(value)
            except StopIteration as end:
                result: T = end.value
                return result
            if step == self._at:
                self.cancelled = True
                if self._moment == "waits" or awaited is None:
                    task.cancel()
                else:  # before the task hears of the result: it is called first
                    awaited.add_done_callback(lambda _: task.cancel())
            step += 1
            try:
                value, send = (yield awaited), self._work.send
            except BaseException as e:
                value, send = e, self._work.throw


async def cancel_at_each_await(
    work: Callable[[], Coroutine[Any, Any, T]],
    check: Callable[[int], Awaitable[None]],
    *,
    moment: Moment = "waits",
) -> tuple[int, T]:
    """Runs the work again and again, and cancels it at its first await, its second, and so on.

    `check` runs after each that was cancelled. Returns at how many awaits it was, and the result of the run
    that had no further one.
    """
    for at in range(1000):
        stepped = _Stepped(work(), at, moment)

        async def run(stepped: _Stepped[T] = stepped) -> T:
            return await stepped

        task = asyncio.ensure_future(run())
        await asyncio.wait({task})
        if not stepped.cancelled:
            return at, task.result()
        if not task.cancelled() and task.exception() is None:
            raise AssertionError(f"the work swallowed its cancellation at await {at}: {task.result()!r}")
        await check(at)
    raise AssertionError("it has no end")
