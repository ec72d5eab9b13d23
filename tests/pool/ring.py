"""Three nodes behind links, sessions at work on them, and what is true of every log after a fault."""

import asyncio
import os
import signal
import sqlite3
import sys
import time
from collections import Counter
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import asyncpg

from planck.client import Client
from planck.records.events import ToolStart, view
from planck.store.chain import GENESIS, verified
from tests.pool.links import Link, Postgres
from tests.pool.nodes import Machine, until
from tests.wire import chat
from tests.wire.server import Asked, Reply, WireServer

LEASE, BEAT = 9.0, 1.5
STEPS = 4
_LATE = 2.0
"""Seconds: the lease counts from the last beat before a gap, and whoever looks again does so that often."""
KINDS = ("kill", "cut", "stop", "restart", "short gap", "long gap", "failover")

_AUDIT = """
CREATE TABLE audit_writes (session text, epoch bigint, addr inet, UNIQUE (session, epoch, addr));
CREATE FUNCTION note_write() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    INSERT INTO audit_writes VALUES (NEW.id, NEW.epoch, inet_client_addr()) ON CONFLICT DO NOTHING;
    RETURN NEW; END $$;
CREATE TRIGGER note_write AFTER UPDATE OF head ON sessions FOR EACH ROW
    WHEN (NEW.head <> OLD.head) EXECUTE FUNCTION note_write();
CREATE TABLE audit_claims (at timestamptz, session text, epoch bigint, owner text, old text);
CREATE FUNCTION note_claim() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    INSERT INTO audit_claims VALUES (clock_timestamp(), NEW.id, NEW.epoch, NEW.owner, OLD.owner);
    RETURN NEW; END $$;
CREATE TRIGGER note_claim AFTER UPDATE OF epoch ON sessions FOR EACH ROW EXECUTE FUNCTION note_claim();
"""


@dataclass
class Round:
    """What a fault did."""

    kind: str
    sessions: int
    at_risk: int = 0
    moved: int = 0
    """Of those, by another node than before."""
    takeover_s: float = 0.0
    """The longest from the fault to the claim."""
    margin_s: float | None = None
    """The shortest from the last sign of the old node's command to the claim."""
    gap_s: float = 0.0
    events: int = 0
    effects: int = 0
    copies: int = 0
    """Events that nodes had heard to be committed, each found again."""
    wrong: list[str] = field(default_factory=list)


class Ring:
    def __init__(self, folder: Path, *, delay: float) -> None:
        self.folder = folder
        self.effects = folder / "effects"
        self.hearts = folder / "hearts"
        self.hearts.mkdir()
        self.effects.touch()
        self.shared = folder / "shared"
        self.shared.mkdir()
        self._delay = delay
        self._number = 0
        base = 30_000 + os.getpid() % 20_000
        self.primary = Postgres(folder / "pg-a", base)
        self.standby = Postgres(folder / "pg-b", base + 1)
        self.links = {f"n{number}": Link(number) for number in (1, 2, 3)}
        self.machines: dict[str, Machine] = {}
        self.model = WireServer(self._answer, host="0.0.0.0")
        self.client: Client | None = None

    # What the model says: unique calls, so that one that is run twice is seen.

    def _answer(self, asked: Asked) -> Reply:
        messages: list[dict[str, Any]] = asked.json["messages"]
        first = next(
            str(m["content"]) for m in messages if m["role"] == "user" and "key=" in str(m["content"])
        )
        key = first.partition("key=")[2].split()[0].strip("'\"]}")
        calls = sum(len(message.get("tool_calls") or ()) for message in messages)
        if "heart" in first:
            if calls:
                return self._late(chat.text("it beats no more"))
            until_stopped = f"until test -e {self.folder}/stop-{key}"
            beat = f"{until_stopped}; do date +%s.%N >> {self.hearts}/{key}; sleep 0.1; done"
            return self._late(chat.calls(("bash", {"command": beat})), 0.0)
        if calls >= STEPS:
            return self._late(chat.text("done"))
        return self._late(chat.calls(("bash", {"command": f"echo {key}:{calls + 1} >> {self.effects}"})))

    def _late(self, reply: Reply, delay: float | None = None) -> Reply:
        ready = asyncio.Event()
        asyncio.get_running_loop().call_later(self._delay if delay is None else delay, ready.set)
        return Reply([ready, *reply.pieces])

    # Machines.

    def url(self, host: str) -> str:
        ports = sorted((self.primary.port, self.standby.port))
        hosts = ",".join(f"{host}:{port}" for port in ports)
        plain = self.primary.url("x").replace(f"x:{self.primary.port}", hosts)
        return f"{plain}?target_session_attrs=primary"

    async def start_node(self, name: str, work: int = 150) -> None:
        link = self.links.get(name)
        host = link.here if link else "127.0.0.1"
        config = {
            "default_model": "local/m",
            "providers": {"local": {"type": "openai", "base_url": f"http://{host}:{self.model.port}"}},
            "cluster": {"lease_s": LEASE, "beat_s": BEAT},
            "permissions": {"mode": "full"},
            "node": {"accept": ["*"]},
        }
        inside = ("ip", "netns", "exec", link.namespace) if link else ()
        machine = self.machines[name] = Machine(name, self.folder / name)
        program = (*inside, sys.executable, "-m", "planck")
        await machine.start(program, self.url(host), config, "--work", str(work))
        if not link:
            self.client = machine.client()

    async def kill(self, name: str) -> None:
        await self.machines[name].end()

    async def open(self) -> None:
        for link in self.links.values():
            link.make()
        await asyncio.to_thread(self.primary.make)
        await asyncio.to_thread(self.primary.start)
        await self.model.__aenter__()
        await self.start_node("gate", work=0)
        await self.ask(_AUDIT)
        await asyncio.gather(*(self.start_node(name) for name in self.links))

    async def close(self) -> None:
        if self.client:
            await self.client.__aexit__(None, None, None)
        for machine in self.machines.values():
            await machine.end()
        await self.model.__aexit__(None, None, None)
        for server in (self.primary, self.standby):
            try:
                await asyncio.to_thread(server.crash)
            except Exception:  # it does not run
                continue
        for link in self.links.values():
            link.remove()

    async def ask(self, sql: str, *values: object) -> list[Any]:
        connection = await asyncpg.connect(self.url("127.0.0.1"), timeout=10)
        try:
            if not values and ";" in sql:
                await connection.execute(sql)
                return []
            return list(await connection.fetch(sql, *values))
        finally:
            await connection.close()

    # A round.

    async def submit(self, prompt: str) -> str:
        assert self.client
        body = {"prompt": prompt, "repo": str(self.shared)}
        made = await self.client.ask("POST", "/submissions", body, key=prompt.partition("key=")[2])
        return str(made.data["id"])

    async def play(self, kind: str, sessions: int) -> Round:
        self._number += 1
        done, name = Round(kind, sessions), f"r{self._number}"
        before = self.effects.read_text().count("\n")
        if kind == "failover":
            await asyncio.to_thread(self.primary.copy_to, self.standby)
        hearts = [f"{name}h{number}" for number in range(3)]
        ids = {key: await self.submit(f"heart key={key}") for key in hearts}
        for number in range(sessions - 3):
            await self.submit(f"work key={name}s{number}")

        async def is_busy() -> bool:
            beating = all((self.hearts / key).exists() for key in hearts)
            return beating and self.effects.read_text().count("\n") - before >= (sessions - 3) // 2

        await until(is_busy, f"{name}: sessions are at work", 240)
        (row,) = await self.ask("SELECT owner FROM sessions WHERE id = $1", ids[hearts[0]])
        victim = row["owner"]
        rows = await self.ask("SELECT id, owner FROM sessions WHERE owner IS NOT NULL")
        owners = {row["id"]: row["owner"] for row in rows}
        at = await self._hurt(kind, victim, done)
        lost = (
            {id for id, owner in owners.items() if owner == victim}
            if kind in ("kill", "cut", "stop", "restart")
            else set(owners)
            if kind == "long gap"
            else set()
        )
        done.at_risk = len(lost)

        async def is_taken() -> bool:
            sql = "SELECT id FROM sessions WHERE id = ANY($1) AND owner = $2 AND epoch = 1"
            return not lost or kind == "long gap" or not await self.ask(sql, [*lost], victim)

        await until(is_taken, f"{name}: what {victim} had is taken", 120)
        await self._heal(kind, victim)
        for key in hearts:
            (self.folder / f"stop-{key}").touch()

        async def is_over() -> bool:
            sql = (
                "SELECT count(*) AS n FROM sessions WHERE NOT (state = 'idle' AND owner IS NULL AND head > 0)"
            )
            (left,) = await self.ask(sql)
            return not left["n"]

        await until(is_over, f"{name}: all is done", 300)
        await self._look_at_claims(done, at, lost, {ids[key]: key for key in hearts}, owners)
        await self._check(done)
        done.effects = self.effects.read_text().count("\n") - before
        return done

    async def _hurt(self, kind: str, victim: str, done: Round) -> float:
        at = time.time()
        match kind:
            case "kill":
                await self.kill(victim)
            case "restart":
                await self.kill(victim)
                await self.start_node(victim)
            case "stop":
                self.machines[victim].process.send_signal(signal.SIGSTOP)
            case "cut":
                link = self.links[victim]
                if not await link.reaches(self.primary.port):
                    done.wrong.append("the link was cut before")
                at = time.time()
                link.set("down")
                if await link.reaches(self.primary.port):
                    done.wrong.append("the link is not cut")
            case "failover":
                await asyncio.to_thread(self.primary.crash)
                await asyncio.to_thread(self.standby.promote)
                self.primary, self.standby = self.standby, self.primary
                # Its own standby is not there yet, and a commit would wait for it.
                await asyncio.to_thread(self.primary.psql, "ALTER SYSTEM RESET synchronous_standby_names")
                await asyncio.to_thread(self.primary.psql, "SELECT pg_reload_conf()")
                done.gap_s = time.time() - at
            case _:
                await asyncio.to_thread(self.primary.crash)
                await asyncio.sleep(LEASE * 1.5 if kind == "long gap" else 0.2)
                await asyncio.to_thread(self.primary.start)
                done.gap_s = time.time() - at
        return at

    async def _heal(self, kind: str, victim: str) -> None:
        match kind:
            case "kill":
                await self.start_node(victim)
            case "stop":
                self.machines[victim].process.send_signal(signal.SIGCONT)
            case "cut":
                self.links[victim].set("up")
            case _:
                pass

    async def _look_at_claims(
        self, done: Round, at: float, lost: set[str], hearts: dict[str, str], owners: dict[str, str]
    ) -> None:
        rows = await self.ask(
            "SELECT extract(epoch FROM at)::float8 AS at, session, epoch, owner FROM audit_claims"
        )
        for row in rows:
            if row["session"] not in owners or row["at"] < at:
                continue
            if row["epoch"] != 2:
                continue
            if done.kind == "short gap" and done.gap_s < LEASE * 2 / 3 - BEAT - _LATE:
                done.wrong.append(
                    f"{row['session']} was taken from {owners[row['session']]} after a short gap"
                )
            done.moved += row["owner"] != owners[row["session"]]
            if row["session"] in lost:
                done.takeover_s = max(done.takeover_s, row["at"] - at)
            if (key := hearts.get(row["session"])) and done.kind != "stop":
                last = float((self.hearts / key).read_text().split()[-1])
                margin = row["at"] - last
                done.margin_s = margin if done.margin_s is None else min(margin, done.margin_s)
                if margin <= 0:
                    done.wrong.append(f"a command of {key} ran on for {-margin:.1f} s after its takeover")

    async def _check(self, done: Round) -> None:
        logs: dict[str, list[Any]] = {}
        for row in await self.ask("SELECT session, seq, bytes, hash FROM events ORDER BY session, seq"):
            logs.setdefault(row["session"], []).append((row["seq"], row["bytes"], row["hash"]))
        heads = {
            row["id"]: (row["head"], row["hash"], row["state"])
            for row in await self.ask("SELECT id, head, hash, state FROM sessions")
        }
        started: Counter[str] = Counter()
        for id, (head, hash, state) in heads.items():
            rows = logs.get(id, [])
            events = [event for event, _ in verified(rows, 0, GENESIS)]  # raises where a chain is broken
            if (len(events), rows[-1][2] if rows else GENESIS) != (head, hash):
                done.wrong.append(f"{id}: {len(events)} events, head {head}")
            if state != "idle":
                done.wrong.append(f"{id} is {state}")
            if [event.type for event in events].count("turn_end") < 1 or b'"completed"' not in rows[-1][
                1
            ] + b"".join(data for _, data, _ in rows[-6:]):
                done.wrong.append(f"{id} did not end")
            for event in events:
                match view(event):
                    case ToolStart(args=args) if ">> " + str(self.effects) in str(args):
                        started[str(args).partition("echo ")[2].split()[0]] += 1
            done.events += len(events)
        ran = Counter(self.effects.read_text().split())
        for line, count in ran.items():
            if count > 1:
                done.wrong.append(f"{line} was run {count} times")
            if started[line] != 1:
                done.wrong.append(f"{line} was run, and its start is {started[line]} times in the log")
        twice = await self.ask("SELECT session, epoch FROM audit_writes GROUP BY 1, 2 HAVING count(*) > 1")
        done.wrong += [f"{row['session']}: two writers of epoch {row['epoch']}" for row in twice]
        done.copies = await asyncio.to_thread(self._check_copies, logs, done.wrong)

    def _check_copies(self, logs: dict[str, list[Any]], wrong: list[str]) -> int:
        """A node copies what was acknowledged to it: each such event must be in the log."""
        count = 0
        for path in self.folder.glob("n*/copies/**/*.db"):
            with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as copy:
                rows = copy.execute("SELECT seq, hash FROM events ORDER BY seq").fetchall()
            log = logs.get(path.name.partition("_")[0], [])
            for seq, hash in rows:
                count += 1
                if seq > len(log) or log[seq - 1][2] != hash:
                    wrong.append(f"event {seq} of {path.name} was acknowledged and is not in the log")
                    break
        return count


@asynccontextmanager
async def ring(folder: Path, *, delay: float = 1.0) -> AsyncGenerator[Ring, None]:
    made = Ring(folder, delay=delay)
    try:
        await made.open()
        yield made
    finally:
        await made.close()


async def play(
    folder: Path, kinds: tuple[str, ...], sessions: int, told: Callable[[Round], None], *, delay: float = 1.0
) -> list[Round]:
    async with ring(folder, delay=delay) as nodes:
        rounds = []
        for kind in kinds:
            rounds.append(await nodes.play(kind, sessions))
            told(rounds[-1])
        return rounds
