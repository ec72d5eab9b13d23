"""What a session publishes, handed to its readers: bounded, and without waiting for any of them."""

import asyncio
from collections import deque

from planck.records.events import Event


class Bus:
    """From one journal to whoever watches now; never waits for a reader."""

    def __init__(self) -> None:
        self._subscriptions: list[Subscription] = []
        self._closed = False

    @property
    def watched(self) -> bool:
        return bool(self._subscriptions)

    def publish(self, event: Event) -> None:
        for subscription in self._subscriptions:
            subscription.push(event)

    def subscribe(self, limit: int = 1000) -> "Subscription":
        subscription = Subscription(limit)
        if self._closed:
            subscription.end()
        else:
            self._subscriptions.append(subscription)
        return subscription

    def unsubscribe(self, subscription: "Subscription") -> None:
        if subscription in self._subscriptions:
            self._subscriptions.remove(subscription)

    def close(self) -> None:
        """Readers get what is queued, then the end."""
        self._closed = True
        for subscription in self._subscriptions:
            subscription.end()
        self._subscriptions = []


class Subscription:
    """A bounded queue; when it is full, what comes is dropped, and a dropped event sets `behind`."""

    def __init__(self, limit: int) -> None:
        self.queue: deque[Event] = deque()
        self.behind = False
        self.ended = False
        self._limit = limit
        self._waiter: asyncio.Future[None] | None = None

    def push(self, event: Event) -> None:
        if len(self.queue) < self._limit:
            self.queue.append(event)
        elif event.seq is not None:
            self.behind = True
        self._wake()

    def end(self) -> None:
        self.ended = True
        self._wake()

    async def wait(self) -> None:
        """Returns once there is something to take, to catch up with, or the end."""
        if not (self.queue or self.behind or self.ended):
            self._waiter = asyncio.get_running_loop().create_future()
            await self._waiter

    def _wake(self) -> None:
        waiter, self._waiter = self._waiter, None
        if waiter and not waiter.done():
            waiter.set_result(None)
