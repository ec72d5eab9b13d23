"""A line to PostgreSQL for whoever can't await: a thread with a loop and a connection of its own."""

import asyncio
import atexit
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

from planck.store.postgres.connection import Database
from planck.store.postgres.schema import prepare

T = TypeVar("T")


class BlockingDatabase:
    """Begun when it is first used; any thread may wait here, also one whose loop has other connections."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._starting = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._database: Database | None = None
        self._prepared = False
        self._preparing = asyncio.Lock()

    def run(self, work: Callable[[Database], Coroutine[Any, Any, T]]) -> T:
        """Returns what the work returns, and raises what it raises."""
        return self.begin(work).result()

    def begin(self, work: Callable[[Database], Coroutine[Any, Any, T]]) -> "Future[T]":
        """Has the work done, for whoever asks for its result later."""
        with self._starting:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._database = Database(self._url)
                self._thread = threading.Thread(
                    target=self._loop.run_forever, name="planck-postgres", daemon=True
                )
                self._thread.start()
                atexit.register(self.close)  # a command that only looks has nobody who closes it
        assert self._database is not None
        return asyncio.run_coroutine_threadsafe(self._begin(self._database, work), self._loop)

    async def _begin(self, database: Database, work: Callable[[Database], Coroutine[Any, Any, T]]) -> T:
        async with self._preparing:  # several threads may be the first
            if not self._prepared:  # a database that nobody has used, or that this planck does not know
                await prepare(await database.connect(), database.place)
                self._prepared = True
        return await work(database)

    def close(self) -> None:
        with self._starting:
            loop, thread, database = self._loop, self._thread, self._database
            self._loop = self._thread = self._database = None
        if loop is None or thread is None or database is None:
            return
        atexit.unregister(self.close)
        asyncio.run_coroutine_threadsafe(_end(database), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


async def _end(database: Database) -> None:
    """Cuts off what nobody waits for any more, then the connection."""
    begun = asyncio.all_tasks() - {asyncio.current_task()}
    for task in begun:
        task.cancel()
    await asyncio.gather(*begun, return_exceptions=True)
    await database.close()
