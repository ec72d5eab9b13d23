"""The right to write a log: no transaction happens once another process has taken over."""

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain

from planck.records.outcome import ErrorKind
from planck.store.sqlite.database import put_meta
from planck.store.store import StoreError

Bound = tuple[int, bytes | bytearray, bytes | bytearray]
"""A `Row` as sqlite3 binds it. Of each `bytes` it asks first whether there is an adapter, 0.3 us; of a
`bytearray` it does not."""

_NUMBER = "SELECT value FROM meta WHERE key = 'epoch'"

_FEW = 8
"""Up to so many events are one statement, their own transaction: 3 us less of 34 than BEGIN, SELECT, INSERT,
COMMIT. Each count has a statement of its own, and the connection keeps 128 prepared ones."""

_OFTEN = 8
"""From so many commits on: to prepare one of them is 21 us, and many sessions have one answer."""

_INSERTS = [
    f"INSERT INTO events SELECT * FROM (VALUES {', '.join(['(?, ?, ?)'] * count)}) WHERE ({_NUMBER}) = ?"
    for count in range(1, _FEW + 1)
]


class Epoch:
    """One writer's time with a log; each of its transactions checks that it is not over."""

    def __init__(self, connection: sqlite3.Connection, name: str, number: str) -> None:
        self._db = connection
        self._name = name
        self._number = number
        self._commits = 0
        self._cursor = connection.cursor()

    def add_events(self, rows: Sequence[Bound], blobs: Mapping[bytes, bytes] | None = None) -> None:
        """Commits all of the rows at once with the blobs, by their digests, that they name; or none."""
        self._commits += 1
        if blobs or self._commits < _OFTEN or len(rows) > _FEW or self._db.in_transaction:
            if rows or blobs:
                self.adopt(rows, (blobs or {}).items())
            return
        # One cursor for all commits: a connection makes a new one for each of its statements.
        values = (*chain.from_iterable(rows), self._number)
        if rows and not self._cursor.execute(_INSERTS[len(rows) - 1], values).rowcount:
            raise self._refuse()

    def adopt(self, rows: Iterable[Bound], blobs: Iterable[tuple[bytes, bytes]]) -> None:
        """The same for any number of them, each read when it is written."""
        self._add(
            ("INSERT OR IGNORE INTO blobs VALUES (?, ?)", blobs),
            ("INSERT INTO events VALUES (?, ?, ?)", rows),
        )

    def change_meta(self, changes: Mapping[str, str]) -> None:
        self._add(("INSERT OR REPLACE INTO meta VALUES (?, ?)", [*changes.items()]))

    def _add(self, *work: tuple[str, Iterable[tuple[object, ...]]]) -> None:
        """Runs each statement for all of its rows in one commit, or for none."""
        db = self._db
        if db.in_transaction:
            db.execute("ROLLBACK")  # the one that failed could not be rolled back either
        try:
            db.execute("BEGIN IMMEDIATE")
            (number,) = db.execute(_NUMBER).fetchone()
            if number.decode() != self._number:
                raise self._refuse()
            for statement, rows in work:
                if rows:
                    db.executemany(statement, rows)
            db.execute("COMMIT")
        except BaseException:
            if db.in_transaction:
                db.execute("ROLLBACK")
            raise

    def _refuse(self) -> StoreError:
        return StoreError(
            ErrorKind.WRITER_CONFLICT,
            f"Another process took over {self._name!r}. This process can only read it now.",
        )


def begin_epoch(
    connection: sqlite3.Connection, meta: Mapping[str, str], changes: Mapping[str, str]
) -> dict[str, str]:
    """Whoever held the log before is refused from here on. Returns what the log says of itself then."""
    last = meta.get("epoch", "")
    lines = {"epoch": str(int(last) + 1 if last.isdigit() else 1), **changes}
    put_meta(connection, lines)
    return {**meta, **lines}
