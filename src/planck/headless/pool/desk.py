"""What the operator of a pool does with its database: make it, check it, and give out tokens."""

import hashlib
from types import TracebackType
from typing import Self

from planck.config.load import ConfigError
from planck.config.project import Project
from planck.headless.pool.database import find_address
from planck.headless.services.workbench import make_token
from planck.records.outcome import ErrorKind
from planck.store.postgres.connection import hide_password, open_connection
from planck.store.postgres.dev import DEV, open_dev
from planck.store.postgres.roster import PostgresRoster
from planck.store.postgres.schema import KNOWN, prepare, read_version
from planck.store.roster import Role, TokenRow


class StoreDesk:
    def __init__(self, project: Project, store: str) -> None:
        if not store:
            raise ConfigError(
                ErrorKind.INVALID_ARGS,
                "No database was given. Pass --store URL, or set `store` in your configuration.",
            )
        self._project = project
        self._store = store
        self._roster: PostgresRoster | None = None

    async def __aenter__(self) -> Self:
        self._url = await find_address(self._project, self._store)
        return self

    async def __aexit__(
        self, type: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._roster:
            await self._roster.aclose()

    async def init(self) -> int:
        """Brings the tables to this version, and returns it."""
        connection = await open_connection(self._url)
        try:
            return await prepare(connection, hide_password(self._url))
        finally:
            await connection.close()

    async def check(self) -> dict[str, object]:
        """Returns what there is, changing nothing; raises why it can't be used."""
        connection = await open_connection(self._url)
        try:
            version = await read_version(connection)
            server = await connection.fetchval("SHOW server_version")
            return {"postgresql": server, "version": version, "known": KNOWN, "ready": version == KNOWN}
        finally:
            await connection.close()

    def stop(self) -> bool:
        """Ends the database of `dev`; False: it did not run."""
        if self._store != DEV:
            raise ConfigError(
                ErrorKind.INVALID_ARGS,
                "Planck can only stop its own `dev` database. Stop other databases with their own tools.",
            )
        return open_dev(self._project.home).stop()

    async def add_token(self, who: str, role: Role) -> str:
        """Returns the token: it is nowhere else, only its digest is kept."""
        token = make_token()
        digest = hashlib.sha256(token.encode()).hexdigest()
        await self._reach().add_token(TokenRow(digest=digest, who=who, role=role))
        return token

    async def tokens(self) -> list[TokenRow]:
        return await self._reach().tokens()

    async def revoke_tokens(self, who: str) -> int:
        rows = [row for row in await self.tokens() if row.who == who or row.digest.startswith(who)]
        for row in rows:
            await self._reach().revoke_token(row.digest)
        return len(rows)

    def _reach(self) -> PostgresRoster:
        if self._roster is None:
            self._roster = PostgresRoster(self._url)
        return self._roster
