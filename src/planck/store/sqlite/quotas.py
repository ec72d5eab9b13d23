"""What all sessions of a user may take of a provider in a day: one small file that their processes share.

Who wants to send a request holds its worst case first, in one transaction with the check. A hold has an
owner: what a process that died had on its way is given back, and noted as lost. What a process holds that
can't be seen from here (another container with the same home) is given back when it expires.
"""

import logging
import os
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import date, timedelta
from pathlib import Path
from typing import Protocol

from planck.records.amounts import MICRO, count_micro, say
from planck.records.outcome import Err, ErrorKind
from planck.records.ports import Clock, Quotas, add_seconds
from planck.store.sqlite.witness import read_boot

log: logging.Logger = logging.getLogger(__name__)

_PATIENCE = 10.0
"""Seconds to wait for others' transactions, each of which takes less than a millisecond."""
_PAUSE = 0.001
"""Between two tries. SQLite's own waiting grows to 0.1 s, and of eight busy processes one would starve."""
_EXPIRY = 900.0
"""Seconds: longer than any server takes to begin an answer."""

_SCHEMA = """
CREATE TABLE IF NOT EXISTS days (
    provider TEXT, day TEXT, micro_usd INTEGER, tokens INTEGER, lost_usd INTEGER, lost_tokens INTEGER,
    PRIMARY KEY (provider, day)
);
CREATE TABLE IF NOT EXISTS holds (
    id INTEGER PRIMARY KEY, provider TEXT, day TEXT, owner TEXT, expires TEXT,
    micro_usd INTEGER, tokens INTEGER
);
"""


class Quota(Protocol):
    @property
    def usd_per_day(self) -> float | None: ...

    @property
    def tokens_per_day(self) -> int | None: ...


class QuotaFile:
    """The quotas of one home; `limits` are asked anew at each request, so that a change is seen."""

    def __init__(self, path: Path, limits: Callable[[], Mapping[str, Quota]], clock: Clock) -> None:
        self._path = path
        self._limits = limits
        self._clock = clock
        self._db: sqlite3.Connection | None = None
        self._owner = name_owner(os.getpid())
        self._unsettled: list[tuple[QuotaHold, int, int]] = []
        """What could not be written down yet; its holds stand until it is."""

    def counts_usd(self, provider: str) -> bool:
        quota = self._limits().get(provider)
        return quota is not None and quota.usd_per_day is not None

    async def hold(self, provider: str, micro_usd: int, tokens: int) -> "QuotaHold | Err | None":
        return self.take(provider, micro_usd, tokens)  # a file of this machine: less than a millisecond

    def take(self, provider: str, micro_usd: int, tokens: int) -> "QuotaHold | Err | None":
        quota = self._limits().get(provider)
        if quota is None:
            return None
        self._settle_all()
        try:
            with self._transaction() as db:
                day = self._choose_day(db)
                self._give_back_lost(db)
                spent, held = _sum_day(db, provider, day), _sum_holds(db, provider, day)
                limits = (
                    None if quota.usd_per_day is None else count_micro(quota.usd_per_day),
                    quota.tokens_per_day,
                )
                for unit, limit, asked, used, waiting in zip(
                    ("usd", "tokens"), limits, (micro_usd, tokens), spent, held, strict=True
                ):
                    if limit is not None and asked > limit - used - waiting:
                        return refuse_quota(provider, unit, limit, asked, used, waiting)
                _count(db, provider, day, 0, 0)  # the day has begun, whatever a clock says later
                expires = add_seconds(self._clock.now(), _EXPIRY)
                values = (provider, day, self._owner, expires, micro_usd, tokens)
                columns = "provider, day, owner, expires, micro_usd, tokens"
                row = db.execute(f"INSERT INTO holds ({columns}) VALUES (?, ?, ?, ?, ?, ?)", values)
                return QuotaHold(self, row.lastrowid or 0, provider, day)
        except sqlite3.Error as failure:
            return Err(
                ErrorKind.READ_FAILED,
                f"Cannot enforce the quotas, because {str(self._path)!r} cannot be used: {failure}. Fix or "
                "remove the file, "
                "or remove `quotas` from your config.json.",
            )

    def settle(self, hold: "QuotaHold", micro_usd: int, tokens: int) -> None:
        """Counts what a request came to, on the day on which it began."""
        self._unsettled.append((hold, micro_usd, tokens))
        self._settle_all()

    def _settle_all(self) -> None:
        if not self._unsettled:
            return
        try:
            with self._transaction() as db:
                self._write_settled(db)
            self._unsettled.clear()
        except sqlite3.Error as failure:  # the holds stay, and the next transaction tries again
            log.error(
                "Cannot count requests against the quota yet (%d waiting); will try again: %s",
                *(len(self._unsettled), failure),
            )

    def _write_settled(self, db: sqlite3.Connection) -> None:
        for hold, micro_usd, tokens in self._unsettled:
            db.execute("DELETE FROM holds WHERE id = ?", (hold.id,))
            _count(db, hold.provider, hold.day, micro_usd, tokens)

    def close(self) -> None:
        self._settle_all()
        if self._db is not None:
            self._db.close()
            self._db = None

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        db = self._begin()
        try:
            yield db
        except BaseException:
            db.execute("ROLLBACK")
            raise
        db.execute("COMMIT")

    def _begin(self) -> sqlite3.Connection:
        give_up = self._clock.monotonic() + _PATIENCE
        while True:
            try:
                db = self._open()
                db.execute("BEGIN IMMEDIATE")
                return db
            except sqlite3.OperationalError as busy:
                if busy.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or self._clock.monotonic() > give_up:
                    raise
                time.sleep(_PAUSE)

    def _open(self) -> sqlite3.Connection:
        if self._db is None:
            os.close(os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
            db = sqlite3.connect(self._path, timeout=0, isolation_level=None)
            try:
                db.execute("PRAGMA journal_mode = WAL")
                db.execute("PRAGMA synchronous = NORMAL")
                db.executescript(_SCHEMA)
            except BaseException:
                db.close()
                raise
            self._db = db
        return self._db

    def _choose_day(self, db: sqlite3.Connection) -> str:
        """Today; while the clock stands just before a midnight that it had passed, the day after that.

        Else whoever has spent tomorrow's quota could spend today's once more.
        """
        today = self._clock.now()[:10]
        tomorrow = (date.fromisoformat(today) + timedelta(days=1)).isoformat()
        row = db.execute("SELECT MAX(day) FROM days WHERE day BETWEEN ? AND ?", (today, tomorrow)).fetchone()
        return str(row[0] or today)

    def _give_back_lost(self, db: sqlite3.Connection) -> None:
        now = self._clock.now()
        rows = db.execute("SELECT id, provider, day, owner, expires, micro_usd, tokens FROM holds").fetchall()
        for id, provider, day, owner, expires, micro_usd, tokens in rows:
            alive = owner == self._owner or is_alive(owner)
            if alive or (alive is None and expires > now):
                continue
            db.execute("DELETE FROM holds WHERE id = ?", (id,))
            _count(db, provider, day, 0, 0, micro_usd, tokens)


class QuotaHold:
    """What one request has set aside of a day's quota."""

    __slots__ = ("_file", "_settled", "day", "id", "provider")

    def __init__(self, file: QuotaFile, id: int, provider: str, day: str) -> None:
        self._file = file
        self._settled = False
        self.id: int = id
        self.provider: str = provider
        self.day: str = day

    def settle(self, micro_usd: int, tokens: int) -> None:
        if not self._settled:
            self._settled = True
            self._file.settle(self, micro_usd, tokens)


def name_owner(pid: int) -> str:
    """Names a process so that another with its number is not taken for it."""
    return f"{_read_world()} {pid} {_read_start(pid)}"


def is_alive(owner: str) -> bool | None:
    """Whether that process is there; None: it is of another machine, container or boot, and can't be seen."""
    world, _, process = owner.partition(" ")
    pid, _, start = process.partition(" ")
    if world != _read_world() or not pid.isdecimal():
        return None
    return _read_start(int(pid)) == start != ""


def _read_world() -> str:
    """The boot and the set of process numbers that a number is of."""
    try:
        return f"{read_boot()}/{os.readlink('/proc/self/ns/pid')}" if read_boot() else "unknown"
    except OSError:
        return "unknown"


def _read_start(pid: int) -> str:
    """When it started, in ticks since the boot; empty: there is none, or it is dead and not buried yet."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if fields[0] in "ZX" else fields[19]


def _sum_day(db: sqlite3.Connection, provider: str, day: str) -> tuple[int, int]:
    query = "SELECT micro_usd, tokens FROM days WHERE provider = ? AND day = ?"
    row = db.execute(query, (provider, day)).fetchone()
    return (row[0], row[1]) if row else (0, 0)


def _sum_holds(db: sqlite3.Connection, provider: str, day: str) -> tuple[int, int]:
    sums = "COALESCE(SUM(micro_usd), 0), COALESCE(SUM(tokens), 0)"
    query = f"SELECT {sums} FROM holds WHERE provider = ? AND day = ?"
    usd, tokens = db.execute(query, (provider, day)).fetchone()
    return usd, tokens


def _count(
    db: sqlite3.Connection, provider: str, day: str, usd: int, tokens: int, lost_usd: int = 0, lost: int = 0
) -> None:
    db.execute(
        "INSERT INTO days VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET micro_usd = micro_usd + ?, "
        "tokens = tokens + ?, lost_usd = lost_usd + ?, lost_tokens = lost_tokens + ?",
        (provider, day, usd, tokens, lost_usd, lost, usd, tokens, lost_usd, lost),
    )


def refuse_quota(provider: str, unit: str, limit: int, asked: int, spent: int, held: int) -> Err:
    """Says what a day's quota has left, and what to do; dollars are counted in millionths."""
    scale = MICRO if unit == "usd" else 1
    said = {
        name: say(unit, value / scale)
        for name, value in zip(("limit", "asked", "spent", "held"), (limit, asked, spent, held), strict=True)
    }
    left = max(0, limit - spent - held) / scale
    return Err(
        ErrorKind.BUDGET_EXCEEDED,
        f"Your quota for {provider!r} is {said['limit']} per day (UTC): {said['spent']} spent, "
        f"{said['held']} reserved by requests in progress, and the next request may need {said['asked']}. "
        "Continue after midnight UTC, use another provider, "
        f"or raise `quotas.{provider}.{unit}_per_day` in your config.json.",
        {"asked": asked / scale, "left": left, "unit": unit, "provider": provider, "limit": limit / scale},
    )


_: type[Quotas] = QuotaFile
