"""The rows of sessions: how they are made, found and taken, as statements."""

import asyncio
from collections.abc import Coroutine, Mapping
from typing import Any, NamedTuple

from planck.closing import wait_for_end
from planck.records import codec
from planck.records.authority import STRICTNESS
from planck.records.outcome import ErrorKind
from planck.store.chain import find_digest
from planck.store.library import Entry, Origin
from planck.store.names import (
    BEGINNING,
    CANDIDATES,
    check_name,
    is_valid_name,
    refuse_unclear,
    refuse_unknown,
)
from planck.store.postgres.connection import Database
from planck.store.store import SessionError, StoreError

_ALIVE = "EXISTS (SELECT FROM nodes n WHERE n.name = s.owner AND n.seen > now() - make_interval(secs => {}))"
_BEGUN = "s.head > 0 AND s.state <> 'making'"
_COLUMNS = "s.id, s.project, s.name, s.created, s.head, s.hash, s.epoch, s.owner, s.state, s.pooled, s.meta"


class LogRow(NamedTuple):
    """What the log's side of a session's row says; what nodes read of it is `store/roster.SessionRow`."""

    id: str
    project: str
    name: str
    created: str
    head: int
    hash: bytes
    epoch: int
    owner: str | None
    state: str
    pooled: bool
    """Nodes take it, and let go of it, by the roster."""
    meta: dict[str, str]
    """All that a log says of itself beside its events."""

    @property
    def entry(self) -> Entry:
        return Entry(self.id, self.name, self.project, self.created)


class SessionPlace(NamedTuple):
    """What nodes go by: where a session is worked on, by which of them, and at most how."""

    project: str = ""
    needs: tuple[str, ...] = ()
    workspace: str = "{}"
    """JSON; of a session that no pool works on, nothing is in it."""
    options: str = "{}"
    version: int = 0


_OF_ITS_REQUEST = ("digest", "request")
"""Options that name the request which made a session; a copy was made by another request."""


async def read_place(database: Database, origin: Origin) -> SessionPlace:
    """Returns the place of a copy: its origin's, with the stricter of both ceilings."""
    sql = "SELECT s.project, s.needs, s.workspace, s.options, s.version FROM sessions s WHERE s.id = $1"
    for row in await database.read(sql, origin.id):
        options = codec.decode_as(row["options"].encode(), dict[str, Any])
        options = {name: value for name, value in options.items() if name not in _OF_ITS_REQUEST}
        for ceiling in STRICTNESS:
            if ceiling in (options.get("ceiling"), origin.ceiling):
                options["ceiling"] = ceiling
                break
        workspace = codec.decode_as(row["workspace"].encode(), dict[str, Any])
        if workspace.get("kind") == "git":  # a clone of its own: it begins with what these have on record
            workspace["origins"] = [origin.id, *workspace.get("origins", ())]
        needs, version = tuple(row["needs"]), row["version"]
        return SessionPlace(row["project"], needs, _write(workspace), _write(options), version)
    return SessionPlace()


def _write(value: dict[str, Any]) -> str:
    return codec.encode(value).decode()


def _read(row: Any) -> LogRow:
    own = {"id": row["id"], "name": row["name"], "workspace": row["project"], "created": row["created"]}
    meta = {**codec.decode_as(row["meta"].encode(), dict[str, str]), **own}
    return LogRow(**{**dict(row), "meta": meta})


async def find_row(database: Database, project: str | None, what: str) -> LogRow:
    """See `Library.find`."""
    if not is_valid_name(what):
        raise refuse_unknown(what)
    exact = (
        f"SELECT {_COLUMNS} FROM sessions s WHERE {_BEGUN} AND "
        "(s.id = $1 OR (($2::text IS NULL OR s.project = $2) AND s.name = $1)) ORDER BY s.id = $1 DESC"
    )
    found = [_read(row) for row in await database.read(exact, what, project)]
    if found and (len(found) == 1 or found[0].id == what):
        return found[0]
    if found:
        raise refuse_unclear(what, [(row.id, row.name) for row in found[:CANDIDATES]])
    begins = (
        f"SELECT {_COLUMNS} FROM sessions s WHERE {_BEGUN} AND (($3 AND starts_with(s.id, $1)) "
        "OR (($2::text IS NULL OR s.project = $2) AND starts_with(s.name, $1))) ORDER BY s.id LIMIT $4"
    )
    rows = await database.read(begins, what, project, len(what) >= BEGINNING, CANDIDATES)
    found = [_read(row) for row in rows]
    if len(found) == 1:
        return found[0]
    if found:
        raise refuse_unclear(what, [(row.id, row.name) for row in found])
    raise refuse_unknown(what)


async def read_row(database: Database, id: str) -> LogRow | None:
    rows = await database.read(f"SELECT {_COLUMNS} FROM sessions s WHERE s.id = $1", id)
    return _read(rows[0]) if rows else None


async def list_rows(database: Database, project: str | None, limit: int | None = None) -> list[LogRow]:
    """Returns those that have begun, of one project or of all, newest first."""
    sql = f"SELECT {_COLUMNS} FROM sessions s WHERE {_BEGUN} AND ($1::text IS NULL OR s.project = $1)"
    rows = await database.read(f"{sql} ORDER BY s.created DESC, s.id DESC LIMIT $2", project, limit)
    return [_read(row) for row in rows]


async def is_taken(database: Database, project: str | None, name: str, lease: float) -> bool:
    sql = f"SELECT FROM sessions s WHERE s.project = $1 AND s.name = $2 AND NOT ({_LEFT_BEHIND.format('$3')})"
    return bool(await database.read(sql, project, name, lease))


_LEFT_BEHIND = f"(s.head = 0 OR s.state = 'making') AND s.state <> 'queued' AND NOT {_ALIVE}"
"""It never began, and nobody is about to begin it."""

_CREATE = f"""
WITH cleared AS (
    DELETE FROM sessions s WHERE s.project = $2 AND s.name = $3 AND s.id <> $1 AND {_LEFT_BEHIND.format("$7")}
)
INSERT INTO sessions
    (id, project, name, created, meta, owner, epoch, state, needs, workspace, options, version)
    VALUES ($1, $2, $3, $4, $5, $6, 1, $8, $9, $10, $11, $12) ON CONFLICT DO NOTHING RETURNING id
"""


async def create_row(
    database: Database,
    id: str,
    name: str,
    meta: Mapping[str, str],
    owner: str,
    lease: float,
    state: str,
    place: SessionPlace,
) -> bool:
    """Makes a session of this owner in its first epoch; False where the name is taken.

    Nodes leave it alone until its owner has closed it, also where it has a workspace of the pool.
    """
    check_name(name)
    project, created = meta.get("workspace", ""), meta.get("created", "")
    own = (id, project, name, created, codec.encode(dict(meta)).decode(), owner, lease, state)
    values = (*own, [*place.needs], place.workspace, place.options, place.version)
    for _ in range(2):  # what was cleared in the first is gone only after it
        if await database.read(_CREATE, *values):
            return True
        row = await read_row(database, id)
        if row and row.owner == owner and row.head == 0 and not row.pooled:
            return True  # the answer to the first try was lost
        if row:
            raise SessionError(
                ErrorKind.NOT_UNIQUE, f"Session {id!r} already exists here. Delete it, or fork it."
            )
    return False


async def take_row(database: Database, id: str, owner: str, lease: float) -> LogRow:
    """Becomes the writer in the next epoch; `writer_conflict` where a living node has the session."""
    sql = (
        "UPDATE sessions s SET owner = $2, epoch = s.epoch + 1, state = 'running' WHERE s.id = $1 "
        f"AND (s.owner IS NULL OR s.owner = $2 OR NOT {_ALIVE.format('$3')}) RETURNING {_COLUMNS}"
    )
    rows = await database.read(sql, id, owner, lease)
    if rows:
        return _read(rows[0])
    row = await read_row(database, id)
    raise refuse_unknown(id) if row is None else refuse_held(row)


def refuse_held(row: LogRow) -> StoreError:
    return StoreError(
        ErrorKind.WRITER_CONFLICT,
        f"Node {row.owner!r} has session {row.name!r} open. Close it there, "
        f'or run "planck sessions fork {row.name}" to continue in a copy.',
        {"node": row.owner},
    )


async def find_owners(database: Database, ids: list[str], lease: float) -> dict[str, str]:
    """Returns the living owners by the sessions' ids."""
    sql = f"SELECT s.id, s.owner FROM sessions s WHERE s.id = ANY($1::text[]) AND {_ALIVE.format('$2')}"
    return {row["id"]: row["owner"] for row in await database.read(sql, ids, lease)}


async def find_failures(database: Database, ids: list[str]) -> dict[str, str]:
    """Returns the problems of the sessions that were given up, by their ids."""
    sql = "SELECT id, problem FROM sessions WHERE id = ANY($1::text[]) AND state = 'failed'"
    return {row["id"]: row["problem"] for row in await database.read(sql, ids)}


async def list_detached(database: Database, id: str, name: str) -> list[bytes]:
    """Returns the digests of blobs that copies are made without, or of the one with that name."""
    sql = "SELECT hash FROM blobs WHERE session = $1 AND aside AND starts_with(encode(hash, 'hex'), $2)"
    return [row["hash"] for row in await database.read(f"{sql} ORDER BY hash", id, name)]


async def read_blob(database: Database, id: str, digest: bytes) -> list[bytes]:
    """Returns the bytes, in a list; none where they are gone, or not what was kept."""
    rows = await database.read("SELECT bytes FROM blobs WHERE session = $1 AND hash = $2", id, digest)
    return [row["bytes"] for row in rows if find_digest(row["bytes"]) == digest]


async def remove_row(database: Database, id: str, lease: float) -> bool:
    """Removes a session with all that belongs to it, unless somebody has it; copies of it are to go too."""
    sql = (
        f"WITH gone AS (DELETE FROM sessions s WHERE s.id = $1 AND NOT {_ALIVE.format('$2')} RETURNING s.id)"
        ", "
        "e AS (DELETE FROM events x USING gone WHERE x.session = gone.id), "
        "b AS (DELETE FROM blobs x USING gone WHERE x.session = gone.id), "
        "c AS (DELETE FROM commands x USING gone WHERE x.session = gone.id), "
        "r AS (INSERT INTO removed (id) SELECT id FROM gone ON CONFLICT DO NOTHING) SELECT id FROM gone"
    )
    return bool(await database.read(sql, id, lease))


async def find_removed(database: Database, ids: list[str]) -> list[str]:
    """Returns those that were removed for good; a database that was lost says so of none."""
    sql = "SELECT r.id FROM removed r WHERE r.id = ANY($1::text[]) AND NOT EXISTS "
    return [row["id"] for row in await database.read(f"{sql}(SELECT FROM sessions s WHERE s.id = r.id)", ids)]


async def clear_unfinished(database: Database, id: str, owner: str, lease: float) -> bool:
    """Removes a copy that was never finished, of this owner's earlier start or of one that is gone."""
    sql = (
        "WITH gone AS (DELETE FROM sessions s WHERE s.id = $1 AND s.state = 'making' AND "
        f"(s.owner = $2 OR NOT {_ALIVE.format('$3')}) RETURNING s.id), "
        "e AS (DELETE FROM events x USING gone WHERE x.session = gone.id), "
        "b AS (DELETE FROM blobs x USING gone WHERE x.session = gone.id) SELECT id FROM gone"
    )
    return bool(await database.read(sql, id, owner, lease))


_BRIEF = 2.0
"""Seconds for a database that does not answer, where somebody waits to hear what was wrong already."""
_RELEASE = """
UPDATE sessions SET owner = NULL, pooled = pooled OR workspace <> '{}', state = CASE
    WHEN state NOT IN ('running', 'making') THEN state WHEN waiting > 0 THEN 'queued' ELSE 'idle' END
WHERE id = $1 AND epoch = $2 AND ($3::text IS NULL OR owner = $3)
"""


async def release_row(database: Database, id: str, epoch: int, owner: str | None = None) -> None:
    """Lets go of a session: nodes may take a copy of one of theirs, and go on with commands that wait.

    `owner`: for one that may have it in that epoch, or not; a lost answer would have said it.
    """
    patience = {"patience": _BRIEF} if owner else {}
    await database.read(_RELEASE, id, epoch, owner, **patience)


async def clear_row(database: Database, id: str, owner: str) -> None:
    """Removes what this owner was making, if it is there: the answer that would say so was lost."""
    sql = "DELETE FROM sessions WHERE id = $1 AND owner = $2 AND epoch = 1 AND head = 0 AND NOT pooled"
    await database.read(sql, id, owner)


async def finish(statement: Coroutine[Any, Any, None]) -> None:
    """Runs what lets go of a row to its end, also where the caller is cancelled: it is told so then."""
    running = asyncio.ensure_future(statement)
    await wait_for_end(running)
    running.result()


async def discard_row(database: Database, id: str, epoch: int) -> None:
    """Removes what its own writer could not begin."""
    await database.read(
        "WITH gone AS (DELETE FROM sessions WHERE id = $1 AND epoch = $2 RETURNING id), "
        "e AS (DELETE FROM events x USING gone WHERE x.session = gone.id) "
        "DELETE FROM blobs x USING gone WHERE x.session = gone.id",
        id,
        epoch,
    )
