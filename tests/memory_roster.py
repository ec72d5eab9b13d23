"""The roster's twin in memory: the same words on the loop's own clock, for simulations."""

import asyncio
from collections.abc import Callable, Sequence

import msgspec

from planck.store.names import CANDIDATES, check_name, refuse_unclear
from planck.store.roster import Answer, Command, Common, NodeRow, SessionRow, State, TokenRow

replace = msgspec.structs.replace


class MemoryRoster:
    """One for all nodes: every call is one step, as a statement is."""

    def __init__(self, now: Callable[[], float] | None = None, *, lease: float = 30.0) -> None:
        """`now`: seconds of the clock that leases are counted by; default: the loop's."""
        self._lease = lease
        self._now = now or (lambda: asyncio.get_running_loop().time())
        self._nodes: dict[str, NodeRow] = {}
        self._seen: dict[str, float] = {}
        self._since: dict[str, float] = {}
        """When each joined, also after a gap."""
        self._sessions: dict[str, SessionRow] = {}
        self._waiting: dict[str, None] = {}
        """The queued sessions, oldest first."""
        self._owned: dict[str, set[str]] = {}
        self._commands: dict[tuple[str, str], Command] = {}
        self._tokens: dict[str, TokenRow] = {}
        self._cold: dict[str, float] = {}
        self._hint = asyncio.Event()

    async def join(self, node: NodeRow) -> None:
        self._nodes[node.name] = replace(node, draining=False, sessions=())
        self._seen[node.name] = self._since[node.name] = self._now()

    async def beat(self, name: str, instance: str) -> Answer:
        node = self._nodes.get(name)
        if node is None or node.instance != instance:
            return "gone"
        lapsed = self._seen[name] < self._now() - self._lease * 2 / 3
        self._seen[name] = self._now()
        if lapsed:
            self._since[name] = self._now()
            return "lapsed"
        return "draining" if node.draining else "alive"

    async def leave(self, name: str, instance: str) -> None:
        if (node := self._nodes.get(name)) and node.instance == instance:
            await self.forget(name)

    async def nodes(self) -> list[NodeRow]:
        return [
            replace(
                node,
                seen=f"{self._seen[node.name]:.3f}",
                sessions=tuple(sorted(self._owned.get(node.name, ()))),
            )
            for node in self._nodes.values()
        ]

    async def drain(self, name: str) -> bool:
        if node := self._nodes.get(name):
            self._nodes[name] = replace(node, draining=True)
        return name in self._nodes

    async def forget(self, name: str) -> bool:
        known = self._nodes.pop(name, None)
        self._seen.pop(name, None)
        self._since.pop(name, None)
        if known:
            self._tell()
        return known is not None

    async def claim(
        self, node: NodeRow, *, held: Sequence[str], limit: int, lease_s: float, version: int, only: str = ""
    ) -> list[SessionRow]:
        mine = self._nodes.get(node.name)
        if mine is None or mine.instance != node.instance or (mine.draining and not only):
            return []
        now = self._now()
        settled = now - self._since[node.name] >= lease_s
        lost = {
            owner
            for owner, sessions in self._owned.items()
            if sessions and owner != node.name and self._is_lost(owner, lease_s, settled)
        }
        found: list[str] = []
        for id in self._list_candidates(node.name, held, lost, only):
            row = self._sessions[id]
            if set(row.needs) <= set(mine.labels) and row.version <= version:
                found.append(id)
            if len(found) >= limit:
                break
        return [self._take(id, node.name) for id in found]

    def _is_lost(self, owner: str, lease_s: float, settled: bool) -> bool:
        """One that left is lost at once; a silent one after a lease in which we were here ourselves."""
        seen = self._seen.get(owner)
        return seen is None or (settled and self._now() - seen >= lease_s)

    def _list_candidates(self, me: str, held: Sequence[str], lost: set[str], only: str) -> list[str]:
        if only:
            row = self._sessions.get(only)
            free = row is not None and (row.owner is None or row.owner in lost)
            return [only] if free and only not in held else []
        mine = sorted(self._owned.get(me, set()) - set(held))
        others = sorted(id for owner in lost for id in self._owned[owner])
        return [*mine, *self._waiting, *others]

    def _take(self, id: str, owner: str) -> SessionRow:
        row = self._sessions[id]
        self._disown(row)
        self._owned.setdefault(owner, set()).add(id)
        taken = replace(row, owner=owner, state="running", epoch=row.epoch + 1, attempts=row.attempts + 1)
        self._sessions[id] = taken
        return taken

    def _disown(self, row: SessionRow) -> None:
        self._waiting.pop(row.id, None)
        if row.owner is not None:
            self._owned.get(row.owner, set()).discard(row.id)

    async def release(self, session: str, epoch: int, state: State, problem: str = "") -> bool:
        row = self._sessions.get(session)
        if row is None or row.epoch != epoch or row.owner is None:
            return False
        self._disown(row)
        if state == "idle" and any(command.session == session for command in self._commands.values()):
            state = "queued"
        self._put(replace(row, owner=None, state=state, problem=problem))
        return True

    def _put(self, row: SessionRow) -> None:
        self._sessions[row.id] = row
        if row.state == "queued":
            self._waiting[row.id] = None
            self._tell()

    async def reset_attempts(self, session: str, epoch: int) -> None:
        row = self._sessions.get(session)
        if row and row.epoch == epoch:
            self._sessions[session] = replace(row, attempts=0)

    async def submit(self, row: SessionRow, command: Command | None) -> bool:
        check_name(row.name)
        if row.id in self._sessions:
            return False
        self._put(replace(row, owner=None, epoch=0, attempts=0, state="queued" if command else "idle"))
        if command:
            self._commands[command.session, command.id] = command
        return True

    async def discard(self, session: str, owner: str) -> bool:
        row = self._sessions.get(session)
        if row is None or row.owner != owner or row.head:
            return False
        self._disown(row)
        del self._sessions[session]
        self._commands = {key: one for key, one in self._commands.items() if key[0] != session}
        return True

    async def post(self, command: Command) -> bool:
        row = self._sessions.get(command.session)
        if row is None or (command.session, command.id) in self._commands:
            return False
        self._commands[command.session, command.id] = command
        if row.owner is None and row.state != "queued":
            self._put(replace(row, state="queued", attempts=0))
        self._tell()
        return True

    async def commands(self, sessions: Sequence[str]) -> list[Command]:
        wanted = set(sessions)
        return [command for command in self._commands.values() if command.session in wanted]

    async def drop(self, commands: Sequence[Command]) -> None:
        for command in commands:
            self._commands.pop((command.session, command.id), None)

    async def find(self, id_or_name: str) -> SessionRow | None:
        if row := self._sessions.get(id_or_name):
            return row
        named = [row for row in self._sessions.values() if row.name == id_or_name]
        if len(named) > 1:
            raise refuse_unclear(id_or_name, [(row.id, row.name) for row in named[:CANDIDATES]])
        return named[0] if named else None

    async def list_sessions(self, *, limit: int = 100, before: str = "") -> list[SessionRow]:
        rows = sorted(self._sessions.values(), key=_rank, reverse=True)
        return [row for row in rows if not before or _rank(row) < tuple(before.split(" ", 1))][:limit]

    async def read_common(self, lease_s: float) -> Common:
        now = self._now()
        asking = [
            node
            for node in self._nodes.values()
            if now - self._seen[node.name] < lease_s and (node.capacity or self._owned.get(node.name))
        ]
        return Common(len(asking), {scope: at - now for scope, at in self._cold.items() if at > now})

    async def back_off(self, scope: str, seconds: float) -> None:
        self._cold[scope] = max(self._cold.get(scope, 0.0), self._now() + seconds)
        self._tell()

    async def wait(self, seconds: float) -> None:
        hint = self._hint
        await asyncio.wait({asyncio.ensure_future(hint.wait())}, timeout=seconds)

    def _tell(self) -> None:
        told, self._hint = self._hint, asyncio.Event()
        told.set()

    async def add_token(self, token: TokenRow) -> None:
        self._tokens[token.digest] = token

    async def revoke_token(self, digest: str) -> bool:
        return self._tokens.pop(digest, None) is not None

    async def tokens(self) -> list[TokenRow]:
        return [*self._tokens.values()]


def _rank(row: SessionRow) -> tuple[str, ...]:
    return (row.updated, row.id)
