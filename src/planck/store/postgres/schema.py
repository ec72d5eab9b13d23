"""The tables, as numbered steps: each in one transaction, one process at a time."""

from typing import TYPE_CHECKING, Any

from planck.records.outcome import ErrorKind
from planck.store.postgres.connection import as_store_error
from planck.store.store import StoreError

if TYPE_CHECKING:
    import asyncpg

MIGRATIONS: tuple[str, ...] = (
    """
    CREATE TABLE nodes (
        name text PRIMARY KEY, instance text NOT NULL, seen timestamptz NOT NULL DEFAULT now(),
        joined timestamptz NOT NULL DEFAULT now(), labels text[] NOT NULL DEFAULT '{}',
        capacity int NOT NULL DEFAULT 0, version int NOT NULL DEFAULT 0, url text NOT NULL DEFAULT '',
        draining bool NOT NULL DEFAULT false, kind text NOT NULL DEFAULT 'node'
    );
    CREATE TABLE sessions (
        id text PRIMARY KEY, project text NOT NULL, name text NOT NULL, state text NOT NULL DEFAULT 'idle',
        owner text, epoch bigint NOT NULL DEFAULT 0, head bigint NOT NULL DEFAULT 0,
        hash bytea NOT NULL DEFAULT decode(repeat('00', 32), 'hex'),
        needs text[] NOT NULL DEFAULT '{}', workspace jsonb NOT NULL DEFAULT '{}',
        options jsonb NOT NULL DEFAULT '{}', version int NOT NULL DEFAULT 0, attempts int NOT NULL DEFAULT 0,
        meta jsonb NOT NULL DEFAULT '{}', created text NOT NULL DEFAULT '',
        queued timestamptz NOT NULL DEFAULT now()
    ) WITH (fillfactor = 50);
    CREATE UNIQUE INDEX sessions_by_name ON sessions (project, name);
    CREATE INDEX sessions_by_owner ON sessions (owner) WHERE owner IS NOT NULL;
    CREATE INDEX sessions_queued ON sessions (queued) WHERE state = 'queued';
    CREATE TABLE events (
        session text, seq bigint, bytes bytea NOT NULL, hash bytea NOT NULL, PRIMARY KEY (session, seq)
    );
    CREATE TABLE blobs (session text, hash bytea, bytes bytea NOT NULL, PRIMARY KEY (session, hash));
    ALTER TABLE events ALTER COLUMN bytes SET STORAGE MAIN;
    CREATE TABLE commands (
        number bigserial, id text PRIMARY KEY, session text NOT NULL, kind text NOT NULL,
        data jsonb NOT NULL DEFAULT '{}', by text NOT NULL DEFAULT '', at timestamptz NOT NULL DEFAULT now()
    );
    CREATE INDEX commands_by_session ON commands (session, number);
    CREATE TABLE quotas (scope text PRIMARY KEY, lim bigint NOT NULL, spent bigint NOT NULL DEFAULT 0);
    CREATE TABLE slices (
        scope text, node text, "left" bigint NOT NULL DEFAULT 0, PRIMARY KEY (scope, node)
    );
    CREATE TABLE tokens (
        hash bytea PRIMARY KEY, who text NOT NULL, role text NOT NULL, made timestamptz NOT NULL DEFAULT now()
    );
    """,
    """
    ALTER TABLE nodes ALTER COLUMN version DROP DEFAULT;
    ALTER TABLE nodes ALTER COLUMN version TYPE text USING version::text;
    ALTER TABLE nodes ALTER COLUMN version SET DEFAULT '';
    ALTER TABLE sessions ADD COLUMN updated timestamptz NOT NULL DEFAULT now();
    ALTER TABLE sessions ADD COLUMN problem text NOT NULL DEFAULT '';
    ALTER TABLE sessions ADD COLUMN pooled bool NOT NULL DEFAULT false;
    ALTER TABLE sessions ADD COLUMN waiting int NOT NULL DEFAULT 0;
    """,
    """
    CREATE TABLE cold (scope text PRIMARY KEY, until timestamptz NOT NULL);
    """,
    """
    ALTER TABLE blobs ADD COLUMN aside bool NOT NULL DEFAULT false;
    CREATE TABLE removed (id text PRIMARY KEY, at timestamptz NOT NULL DEFAULT now());
    """,
    """
    ALTER TABLE commands DROP CONSTRAINT commands_pkey;
    ALTER TABLE commands ADD PRIMARY KEY (session, id);
    """,
)
"""Step n leads from version n to n + 1. Released steps never change."""

KNOWN = len(MIGRATIONS)
_LOCK = 0x706C616E636B
"""`planck` as a number: an advisory lock of this database."""


async def read_version(connection: "asyncpg.Connection | Any") -> int:
    """Returns 0 for a database that holds nothing of ours."""
    if await connection.fetchval("SELECT to_regclass('planck_version')") is None:
        return 0
    return int(await connection.fetchval("SELECT max(number) FROM planck_version") or 0)


async def prepare(connection: "asyncpg.Connection | Any", place: str) -> int:
    """Brings the tables to the newest version, and returns it; a newer database is refused, not touched."""
    import asyncpg

    try:
        found = await read_version(connection)
        if found < KNOWN:
            async with connection.transaction():
                await connection.execute("SELECT pg_advisory_xact_lock($1)", _LOCK)
                await connection.execute(
                    "CREATE TABLE IF NOT EXISTS planck_version (number int PRIMARY KEY, "
                    "at timestamptz NOT NULL DEFAULT now())"
                )
                found = await read_version(connection)  # another one may have been quicker
                for number in range(found, KNOWN):
                    await connection.execute(MIGRATIONS[number])
                    await connection.execute("INSERT INTO planck_version VALUES ($1)", number + 1)
                found = max(found, KNOWN)
    except (asyncpg.PostgresError, asyncpg.InterfaceError) as e:
        raise as_store_error(place, e) from e
    if found > KNOWN:
        raise StoreError(
            ErrorKind.LOG_WRITE_FAILED,
            f"The database at {place} was made by a newer version of Planck (schema {found}; this version "
            f"supports schema {KNOWN}). Upgrade Planck on this machine.",
            {"schema": found, "known": KNOWN},
        )
    return found
