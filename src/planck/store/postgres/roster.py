"""The roster in PostgreSQL: a handful of statements, each of them whole by itself.

A NOTIFY is a statement of its own, after the commit, and only a hint: inside it would be one lock for all.
"""

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from planck.records import codec
from planck.store.names import CANDIDATES, check_name, refuse_taken, refuse_unclear
from planck.store.postgres.connection import Database, Lost, as_store_error, open_connection
from planck.store.postgres.schema import prepare
from planck.store.roster import Answer, Command, Common, NodeRow, Roster, SessionRow, State, TokenRow
from planck.store.store import StoreError

_CHANNEL = "planck"
_TIME = "to_char({} AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"')"
_ROW = (
    "s.id, s.name, s.project, s.state, s.owner, s.epoch, s.head, s.needs, s.workspace, s.options, s.version, "
    f"s.attempts, s.created, s.problem, {_TIME.format('s.updated')} AS updated"
)

_CLAIM = f"""
WITH me AS (
    SELECT name, labels, joined < now() - make_interval(secs => $5) AS settled
    FROM nodes WHERE name = $1 AND instance = $2 AND (NOT draining OR $7 <> '')
), picked AS (
    SELECT s.id FROM sessions s CROSS JOIN me LEFT JOIN nodes o ON o.name = s.owner
    WHERE s.id <> ALL($3::text[]) AND s.needs <@ me.labels AND s.version <= $6 AND s.state <> 'making' AND (
        (s.owner = me.name AND $7 = '') OR (s.owner IS NULL AND (s.state = 'queued' OR s.id = $7))
        OR (s.owner IS NOT NULL AND (o.name IS NULL
            OR (me.settled AND o.seen < now() - make_interval(secs => $5))))
    ) AND CASE WHEN $7 = '' THEN s.pooled ELSE s.id = $7 END
    ORDER BY s.owner IS DISTINCT FROM me.name, s.owner IS NOT NULL, s.queued, s.id
    LIMIT $4 FOR UPDATE OF s SKIP LOCKED
)
UPDATE sessions s SET owner = $1, epoch = s.epoch + 1, attempts = s.attempts + 1, state = 'running',
    updated = now() FROM picked p WHERE s.id = p.id RETURNING {_ROW}
"""

_SUBMIT = """
WITH made AS (
    INSERT INTO sessions
        (id, project, name, state, needs, workspace, options, version, created, pooled, waiting, meta)
    VALUES ($1, $2, $3, CASE WHEN $9::text IS NULL THEN 'idle' ELSE 'queued' END, $4, $5, $6, $7, $8, true,
        CASE WHEN $9::text IS NULL THEN 0 ELSE 1 END, '{}')
    ON CONFLICT (id) DO NOTHING RETURNING id
), said AS (
    INSERT INTO commands (id, session, kind, data, by) SELECT $9, id, $10, $11, $12 FROM made
    WHERE $9::text IS NOT NULL
)
SELECT id FROM made
"""

_POST = """
WITH left_here AS (
    INSERT INTO commands (id, session, kind, data, by)
    SELECT $1, s.id, $3, $4, $5 FROM sessions s WHERE s.id = $2
    ON CONFLICT (session, id) DO NOTHING RETURNING session
)
UPDATE sessions s SET waiting = s.waiting + 1, updated = now(),
    attempts = CASE WHEN s.owner IS NULL AND s.state <> 'queued' THEN 0 ELSE s.attempts END,
    queued = CASE WHEN s.owner IS NULL AND s.state <> 'queued' THEN now() ELSE s.queued END,
    state = CASE WHEN s.owner IS NULL THEN 'queued' ELSE s.state END
FROM left_here l WHERE s.id = l.session RETURNING s.id
"""

_DROP = """
WITH gone AS (
    DELETE FROM commands c USING unnest($1::text[], $2::text[]) AS d(session, id)
    WHERE c.session = d.session AND c.id = d.id RETURNING c.session
),
counted AS (SELECT session, count(*) AS number FROM gone GROUP BY session)
UPDATE sessions s SET waiting = greatest(0, s.waiting - c.number) FROM counted c WHERE s.id = c.session
"""


class PostgresRoster:
    def __init__(self, url: str, *, lease: float = 30.0) -> None:
        """`lease`: a node that was silent for most of it counts as new when it is heard again."""
        self._url = url
        self._lease = lease
        self._beats = Database(url)
        """For the beats alone: nothing else makes them late."""
        self._database = Database(url)
        self._listener: Any = None
        self._hint = asyncio.Event()
        self._starting = asyncio.Lock()
        self._started = False
        self._listening = asyncio.Lock()

    async def start(self) -> None:
        """Connects and brings the tables to this version; every method does so where it was not done."""
        async with self._starting:
            if not self._started:
                await prepare(await self._database.connect(), self._database.place)
                self._started = True

    async def aclose(self) -> None:
        await self._beats.close()
        await self._database.close()
        if self._listener is not None and not self._listener.is_closed():
            await self._listener.close()

    async def join(self, node: NodeRow) -> None:
        await self.start()
        columns = (node.name, node.instance, [*node.labels], node.capacity, node.version, node.url)
        await self._beats.read(
            "INSERT INTO nodes (name, instance, labels, capacity, version, url) "
            "VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (name) DO UPDATE SET "
            "instance = $2, labels = $3, capacity = $4, version = $5, url = $6, "
            "seen = now(), joined = now(), draining = false, kind = 'node'",
            *columns,
        )

    async def beat(self, name: str, instance: str) -> Answer:
        await self.start()
        rows = await self._beats.read(
            "UPDATE nodes SET seen = now(), joined = CASE WHEN seen < now() - make_interval(secs => $3) "
            "THEN now() ELSE joined END WHERE name = $1 AND instance = $2 "
            "RETURNING draining, joined = now() AS lapsed",
            name,
            instance,
            self._lease * 2 / 3,
        )
        if not rows:
            return "gone"
        return "lapsed" if rows[0]["lapsed"] else "draining" if rows[0]["draining"] else "alive"

    async def leave(self, name: str, instance: str) -> None:
        await self._change(
            "DELETE FROM nodes WHERE name = $1 AND instance = $2 RETURNING name", name, instance
        )
        await self._tell()

    async def nodes(self) -> list[NodeRow]:
        rows = await self._read(
            f"SELECT n.name, n.instance, n.version, n.labels, n.capacity, n.url, n.draining, "
            f"{_TIME.format('n.seen')} AS seen, ARRAY(SELECT id FROM sessions s WHERE s.owner = n.name "
            "ORDER BY id) AS sessions FROM nodes n WHERE n.kind = 'node' ORDER BY n.name"
        )
        return [msgspec.convert(dict(row), NodeRow) for row in rows]

    async def drain(self, name: str) -> bool:
        sql = "UPDATE nodes SET draining = true WHERE name = $1 AND kind = 'node' RETURNING name"
        return bool(await self._change(sql, name))

    async def forget(self, name: str) -> bool:
        found = await self._change("DELETE FROM nodes WHERE name = $1 RETURNING name", name)
        await self._tell()
        return bool(found)

    async def claim(
        self, node: NodeRow, *, held: Sequence[str], limit: int, lease_s: float, version: int, only: str = ""
    ) -> list[SessionRow]:
        await self.start()
        values = (node.name, node.instance, [*held], limit, lease_s, version, only)
        # Not again where the answer was lost: what it took is this node's, and taken at the next look.
        return [_read(row) for row in await self._ask(_CLAIM, *values)]

    async def release(self, session: str, epoch: int, state: State, problem: str = "") -> bool:
        rows = await self._change(
            "UPDATE sessions SET owner = NULL, problem = $4, updated = now(), queued = now(), state = "
            "CASE WHEN $3 = 'idle' AND waiting > 0 THEN 'queued' ELSE $3 END "
            "WHERE id = $1 AND epoch = $2 AND owner IS NOT NULL RETURNING state",
            session,
            epoch,
            state,
            problem,
        )
        if rows and rows[0]["state"] == "queued":
            await self._tell()
        return bool(rows)

    async def reset_attempts(self, session: str, epoch: int) -> None:
        await self._change("UPDATE sessions SET attempts = 0 WHERE id = $1 AND epoch = $2", session, epoch)

    async def submit(self, row: SessionRow, command: Command | None) -> bool:
        check_name(row.name)
        said: tuple[Any, ...] = (None, None, None, None)
        if command:
            said = (command.id, command.kind, _encode(command.data), command.by)
        own = (row.id, row.project, row.name, [*row.needs], _encode(row.workspace), _encode(row.options))
        try:
            made = await self._change(_SUBMIT, *own, row.version, row.created, *said)
        except StoreError as failure:
            if failure.err.details.get("sqlstate") != "23505":
                raise
            # Of two equal rows at the same moment, the database may notice the name before the id, for which
            # alone ON CONFLICT is. The other row is committed by then.
            if await self._read("SELECT id FROM sessions WHERE id = $1", row.id):
                return False
            raise refuse_taken(row.name) from None
        if made:
            await self._tell()
        return bool(made)

    async def discard(self, session: str, owner: str) -> bool:
        sql = (
            "WITH gone AS (DELETE FROM sessions WHERE id = $1 AND owner = $2 AND head = 0 RETURNING id), "
            "c AS (DELETE FROM commands x USING gone WHERE x.session = gone.id) SELECT id FROM gone"
        )
        return bool(await self._change(sql, session, owner))

    async def post(self, command: Command) -> bool:
        values = (command.id, command.session, command.kind, _encode(command.data), command.by)
        posted = await self._change(_POST, *values)
        if posted:
            await self._tell()
        return bool(posted)

    async def commands(self, sessions: Sequence[str]) -> list[Command]:
        rows = await self._read(
            "SELECT id, session, kind, data, by FROM commands "
            "WHERE session = ANY($1::text[]) ORDER BY number",
            [*sessions],
        )
        return [msgspec.convert({**dict(row), "data": _decode(row["data"])}, Command) for row in rows]

    async def drop(self, commands: Sequence[Command]) -> None:
        await self._change(_DROP, [one.session for one in commands], [one.id for one in commands])

    async def find(self, id_or_name: str) -> SessionRow | None:
        sql = f"SELECT {_ROW} FROM sessions s WHERE (s.id = $1 OR s.name = $1) AND s.state <> 'making'"
        rows = await self._read(
            f"{sql} ORDER BY s.id = $1 DESC, s.updated DESC LIMIT $2", id_or_name, CANDIDATES
        )
        if len(rows) > 1 and rows[0]["id"] != id_or_name:
            raise refuse_unclear(id_or_name, [(row["id"], row["name"]) for row in rows])
        return _read(rows[0]) if rows else None

    async def list_sessions(self, *, limit: int = 100, before: str = "") -> list[SessionRow]:
        updated, _, id = before.partition(" ")
        sql = (
            f"SELECT * FROM (SELECT {_ROW} FROM sessions s) AS r "
            "WHERE $1 = '' OR (r.updated, r.id) < ($1, $2) ORDER BY r.updated DESC, r.id DESC LIMIT $3"
        )
        return [_read(row) for row in await self._read(sql, updated, id, limit)]

    async def read_common(self, lease_s: float) -> Common:
        (row,) = await self._read(
            "SELECT (SELECT count(*) FROM nodes n WHERE n.kind = 'node' AND "
            "n.seen > now() - make_interval(secs => $1) AND (n.capacity > 0 OR "
            "EXISTS (SELECT FROM sessions s WHERE s.owner = n.name))) AS nodes, "
            "ARRAY(SELECT scope FROM cold WHERE until > now() ORDER BY scope) AS scopes, "
            "ARRAY(SELECT extract(epoch FROM until - now())::float8 FROM cold WHERE until > now() "
            "ORDER BY scope) AS seconds",
            lease_s,
        )
        return Common(row["nodes"], dict(zip(row["scopes"], row["seconds"], strict=True)))

    async def back_off(self, scope: str, seconds: float) -> None:
        await self._change(
            "WITH old AS (DELETE FROM cold WHERE until < now() AND scope <> $1) "
            "INSERT INTO cold (scope, until) VALUES ($1, now() + make_interval(secs => $2)) "
            "ON CONFLICT (scope) DO UPDATE SET until = greatest(cold.until, excluded.until)",
            scope,
            seconds,
        )
        await self._tell()

    async def wait(self, seconds: float) -> None:
        try:
            await self._listen()
            async with asyncio.timeout(seconds):
                await self._hint.wait()
        except TimeoutError:
            pass
        except (StoreError, OSError):  # no hints then: whoever waits looks again by itself
            await asyncio.sleep(seconds)
        self._hint.clear()

    async def add_token(self, token: TokenRow) -> None:
        await self._change(
            "INSERT INTO tokens (hash, who, role) VALUES ($1, $2, $3) "
            "ON CONFLICT (hash) DO UPDATE SET who = $2, role = $3",
            bytes.fromhex(token.digest),
            token.who,
            token.role,
        )

    async def revoke_token(self, digest: str) -> bool:
        sql = "DELETE FROM tokens WHERE hash = $1 RETURNING who"
        return bool(await self._change(sql, bytes.fromhex(digest)))

    async def tokens(self) -> list[TokenRow]:
        rows = await self._read("SELECT encode(hash, 'hex') AS digest, who, role FROM tokens ORDER BY made")
        return [msgspec.convert(dict(row), TokenRow) for row in rows]

    async def _read(self, sql: str, *values: object) -> list[Any]:
        await self.start()
        return await self._database.read(sql, *values)

    async def _change(self, sql: str, *values: object) -> list[Any]:
        """Each may be run twice: the second finds that it is done, and its answer may be no."""
        return await self._read(sql, *values)

    async def _ask(self, sql: str, *values: object) -> list[Any]:
        try:
            return await self._database.ask(sql, *values)
        except Lost:
            return []

    async def _tell(self) -> None:
        await self._read(f"NOTIFY {_CHANNEL}")

    async def _listen(self) -> None:
        """One connection hears for all who wait; raises a `StoreError` where there can be none."""
        async with self._listening:
            if self._listener is not None and not self._listener.is_closed():
                return
            listener = await open_connection(self._url)
            try:
                await listener.add_listener(_CHANNEL, self._hear)
            except Exception as e:  # of the server; see `as_store_error`
                listener.terminate()
                raise as_store_error(self._database.place, e) from e
            except BaseException:
                listener.terminate()
                raise
            self._listener = listener

    def _hear(self, *_: object) -> None:
        self._hint.set()


def _encode(value: Any) -> str:
    return codec.encode(value).decode()


def _decode(text: str) -> Any:
    return codec.decode_as(text.encode(), dict[str, Any])


def _read(row: Any) -> SessionRow:
    values = dict(row)
    values["workspace"], values["options"] = _decode(values["workspace"]), _decode(values["options"])
    if values["state"] == "making":
        values["state"] = "idle"
    return msgspec.convert(values, SessionRow)


if TYPE_CHECKING:
    _: type[Roster] = PostgresRoster
