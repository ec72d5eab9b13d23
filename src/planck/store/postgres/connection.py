"""How PostgreSQL is reached, and what its errors mean; needs the extra `postgres`."""

import asyncio
import re
from typing import TYPE_CHECKING, Any

from planck.records.outcome import ErrorKind, say_exception, say_extra
from planck.store.store import StoreError

if TYPE_CHECKING:
    import asyncpg

_CONNECT = 10.0
"""Seconds that a connection may take to be made."""
ANSWER = 10.0
"""Seconds that a statement may take. A link that is cut without a word would hold it for minutes; what is
given up here is asked about on the next connection."""
_LONGEST = 60.0
"""The same for what makes tables."""
_FIRST_PAUSE, _LONGEST_PAUSE = 0.05, 2.0
"""Seconds between two tries to connect again; each is twice the one before."""


class Lost(Exception):
    """The connection is gone, and with it the answer: whether the statement was done is not known."""


class Database:
    """One connection, made when it is needed and made again after it was lost. One statement at a time."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._connection: asyncpg.Connection | None = None
        self._busy = asyncio.Lock()
        self._connecting = asyncio.Lock()
        self._closed = False

    @property
    def place(self) -> str:
        """The address without what nobody else should read."""
        return hide_password(self._url)

    async def connect(self) -> "asyncpg.Connection":
        """Returns the connection; raises what stands in the way of a new one."""
        async with self._connecting:
            if self._closed:
                raise self._refuse_closed()
            if self._connection is None or self._connection.is_closed():
                made = await open_connection(self._url)
                if self._closed:  # meanwhile
                    made.terminate()
                    raise self._refuse_closed()
                self._connection = made
            return self._connection

    def _refuse_closed(self) -> StoreError:
        return StoreError(
            ErrorKind.LOG_WRITE_FAILED,
            f"The connection to the database at {self.place} was closed. Open the session again.",
        )

    async def ask(self, sql: str, *values: object, timeout: float = ANSWER) -> list[Any]:
        """Runs one statement. `Lost` where nobody can say whether it was done; else its error, as ours."""
        import asyncpg

        async with self._busy:
            connection = await self.connect()
            try:
                async with asyncio.timeout(timeout):
                    return list(await connection.fetch(sql, *values))
            except asyncpg.PostgresError as e:
                if _is_lost(e):
                    self._drop()
                    raise Lost(say_exception(e)) from e
                raise
            except (OSError, TimeoutError, asyncpg.InterfaceError) as e:
                self._drop()
                raise Lost(say_exception(e)) from e
            except asyncio.CancelledError:
                self._drop()  # its answer would come to whoever asks next
                raise

    async def read(self, sql: str, *values: object, patience: float = 10.0) -> list[Any]:
        """Runs what may be run twice, again and again where the connection is lost, as long as that."""
        import asyncpg

        give_up = asyncio.get_running_loop().time() + patience
        pauses = Pauses()
        while True:
            try:
                return await self.ask(sql, *values)
            except Lost as lost:
                problem: Exception = StoreError(
                    ErrorKind.NETWORK,
                    f"The database at {self.place} does not answer: {lost}. Try again later.",
                )
            except StoreError as failure:
                if failure.err.kind is not ErrorKind.NETWORK:
                    raise
                problem = failure
            except asyncpg.PostgresError as e:
                raise as_store_error(self.place, e) from e
            if asyncio.get_running_loop().time() > give_up:
                raise problem
            await asyncio.sleep(pauses.next())

    def drop(self) -> None:
        """Ends the connection now, also under a statement on its way."""
        self._drop()

    def _drop(self) -> None:
        if self._connection is not None:
            self._connection.terminate()
            self._connection = None

    async def close(self) -> None:
        self._closed = True
        connection, self._connection = self._connection, None
        if connection is not None and not connection.is_closed():
            import asyncpg

            try:
                await connection.close(timeout=2.0)
            except (OSError, TimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError):
                connection.terminate()


class Pauses:
    """How long to wait before each try to connect again."""

    def __init__(self) -> None:
        self._next = _FIRST_PAUSE

    def next(self) -> float:
        now, self._next = self._next, min(self._next * 2, _LONGEST_PAUSE)
        return now


async def open_connection(url: str) -> "asyncpg.Connection":
    """Connects, or raises a `StoreError` whose kind says what to mend: `network`, `not_authenticated`…"""
    try:
        import asyncpg
    except ImportError as problem:
        raise StoreError(
            ErrorKind.NOT_FOUND,
            f"A PostgreSQL store needs the extra `postgres` ({problem}); {say_extra('postgres')}.",
        ) from None
    place = hide_password(url)
    try:
        # Sixty seconds are asyncpg's own limit; a node that waits so long has lost its lease.
        connection = await asyncpg.connect(
            url,
            timeout=_CONNECT,
            command_timeout=_LONGEST,
            statement_cache_size=64,
            server_settings={"application_name": "planck"},
        )
        try:
            # Off or local would acknowledge what a crash, or a failover, takes back.
            if await connection.fetchval("SHOW synchronous_commit", timeout=ANSWER) in ("off", "local"):
                await connection.execute("SET synchronous_commit = on", timeout=ANSWER)
        except BaseException:
            connection.terminate()
            raise
        return connection
    except asyncpg.PostgresError as e:
        raise as_store_error(place, e) from e
    except (TimeoutError, OSError) as e:
        raise _describe_unreachable(place, e) from e
    except (ValueError, asyncpg.InterfaceError) as e:
        raise StoreError(
            ErrorKind.INVALID_ARGS,
            f"`store` is not a PostgreSQL address: {e}. Write it as "
            "postgresql://user:password@host:5432/database.",
        ) from e


def _describe_unreachable(place: str, e: Exception) -> StoreError:
    import ssl

    cause: BaseException | None = e
    while cause is not None:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return StoreError(
                ErrorKind.NOT_AUTHENTICATED,
                f"The certificate of {place} was rejected ({cause.verify_message}). Connect with the name "
                "in the certificate, or set sslrootcert to the certificate that signed it.",
            )
        cause = cause.__cause__ or cause.__context__
    if isinstance(e, FileNotFoundError):
        return StoreError(
            ErrorKind.INVALID_ARGS, f"The address {place} names a missing file: {e}. Fix `store`."
        )
    return StoreError(
        ErrorKind.NETWORK,
        f"Cannot reach the database at {place}: {say_exception(e)}. "
        'Check that it is running and that the address is right, then run "planck store check".',
    )


def as_store_error(place: str, e: Exception) -> Exception:
    """Returns what PostgreSQL says as a `StoreError`, and every other exception as it is."""
    import asyncpg

    if isinstance(e, StoreError | asyncio.CancelledError) or not isinstance(
        e, asyncpg.PostgresError | asyncpg.InterfaceError
    ):
        return e
    state = getattr(e, "sqlstate", "") or ""
    if state[:2] == "28":
        kind, advice = ErrorKind.NOT_AUTHENTICATED, "Check the user and the password in `store`."
    elif state == "3D000":
        kind, advice = ErrorKind.NOT_FOUND, "Create the database first with createdb."
    elif state == "53300":
        kind = ErrorKind.NETWORK
        advice = "Raise max_connections on the server: each node needs five connections. Planck keeps trying."
    elif state[:2] == "53":
        kind, advice = (
            ErrorKind.LOG_WRITE_FAILED,
            "Free some disk space or memory on the server. No acknowledged event is lost.",
        )
    elif state == "42501":
        kind = ErrorKind.PERMISSION_DENIED
        advice = 'Run "planck store init" as a role that may create tables.'
    elif state[:2] in ("57", "08"):
        kind, advice = ErrorKind.NETWORK, "It is starting, stopping or unreachable. Try again."
    else:
        kind, advice = ErrorKind.LOG_WRITE_FAILED, "Check the PostgreSQL server log."
    return StoreError(kind, f"The database at {place} reports: {e}. {advice}", {"sqlstate": state})


def _is_lost(e: Exception) -> bool:
    """Whether the server ends connections, or this one: 57P01 to 57P05, 08xxx, and 25006 of a standby."""
    state = getattr(e, "sqlstate", "") or ""
    return state[:2] == "08" or state[:4] == "57P0" or state == "25006"


def hide_password(url: str) -> str:
    """Returns the address with its user and hosts, and without a password or options, which may hold one."""
    place, _, _ = url.partition("?")
    return re.sub(r"^(\w+://)([^:/@]*)(?::.*)?@", r"\1\2@", place)
