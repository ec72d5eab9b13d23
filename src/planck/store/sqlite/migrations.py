"""The schema, as numbered steps: each in one transaction, with a copy of the file made before the first."""

import os
import sqlite3
from collections.abc import Sequence
from pathlib import Path

MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        "CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
        "CREATE TABLE events (seq INTEGER PRIMARY KEY, bytes BLOB NOT NULL, hash BLOB NOT NULL)",
        "INSERT INTO meta VALUES ('epoch', '0')",
    ),
    ("CREATE TABLE blobs (hash BLOB PRIMARY KEY, bytes BLOB NOT NULL)",),
)
"""Step n leads from version n to n + 1. Released steps never change."""


def read_version(connection: sqlite3.Connection) -> int:
    (number,) = connection.execute("PRAGMA user_version").fetchone()
    return int(number)


def migrate(connection: sqlite3.Connection, path: Path, steps: Sequence[Sequence[str]] = MIGRATIONS) -> None:
    """Brings an older file to the newest version; killed at any point, it is at one version or the next."""
    at = read_version(connection)
    if 0 < at < len(steps):
        _back_up(connection, path.with_name(f"{path.name}.v{at}.bak"))
    for number in range(at, len(steps)):
        connection.execute("BEGIN IMMEDIATE")
        for statement in steps[number]:
            connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {number + 1}")
        connection.execute("COMMIT")


def _back_up(connection: sqlite3.Connection, path: Path) -> None:
    partial = path.with_name(f"{path.name}.part")
    partial.unlink(missing_ok=True)
    os.close(os.open(partial, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600))
    copy = sqlite3.connect(partial)
    try:
        connection.backup(copy)
    finally:
        copy.close()
    partial.rename(path)
