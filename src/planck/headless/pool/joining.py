"""Joining a pool: which database, under which name, with what to offer."""

import logging
import os
import re
import socket

import msgspec

import planck
from planck.headless.planck import Planck
from planck.headless.pool.database import PoolDatabase
from planck.headless.pool.node import NodeError, Terms
from planck.headless.pool.places import name_label
from planck.headless.pool.pool import Pool
from planck.permissions.approver import Approver
from planck.records.outcome import ErrorKind
from planck.store.roster import NodeRow

log: logging.Logger = logging.getLogger(__name__)

_NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_WORK = 4
"""Sessions at a time where nobody says how many."""


class Joining(msgspec.Struct, frozen=True, kw_only=True):
    """What the command line says; what it leaves out is as the configuration has it."""

    name: str = ""
    labels: tuple[str, ...] = ()
    work: int | None = None
    url: str = ""


def name_node(wanted: str, planck_: Planck) -> str:
    name = wanted or planck_.config.node.name or socket.gethostname()
    if not _NAME.fullmatch(name):
        raise NodeError(
            ErrorKind.INVALID_ARGS,
            f"{name[:80]!r} is not a valid node name. Use 1 to 64 letters, digits, `_`, `.` and `-`.",
        )
    return name


def read_terms(planck_: Planck) -> Terms:
    cluster, node = planck_.config.cluster, planck_.config.node
    if cluster.beat_s * 2 > cluster.lease_s:
        raise NodeError(
            ErrorKind.INVALID_ARGS,
            f"A lease of {cluster.lease_s:g} s is too short for a heartbeat every {cluster.beat_s:g} s. "
            "Set `cluster.lease_s` to at least twice `cluster.beat_s`.",
        )
    return Terms(lease_s=cluster.lease_s, beat_s=cluster.beat_s, drain_s=node.drain_s)


async def open_pool(planck_: Planck, database: PoolDatabase, approver: Approver, wanted: Joining) -> Pool:
    """Returns the pool with this process as a node of it, which has not joined yet."""
    entry = planck_.config.node
    name = name_node(wanted.name, planck_)
    await _check_free(database, name)
    work = wanted.work if wanted.work is not None else entry.work
    me = NodeRow(
        name=name,
        instance=f"{socket.gethostname()}/{os.getpid()}/{os.urandom(4).hex()}",
        version=planck.__version__,
        labels=tuple(dict.fromkeys((*entry.labels, *wanted.labels, name_label(name)))),
        capacity=_WORK if work is None else work,
        url=wanted.url,
    )
    if me.capacity and not entry.accept:
        log.warning(
            "This node accepts no submissions. Name the repositories that it may work on: "
            "`planck config set node.accept '[\"URL\"]'`."
        )
    return Pool(planck_, database, me, approver)


async def _check_free(database: PoolDatabase, name: str) -> None:
    """Raises where a process of this machine works under that name: it would lose what it does."""
    for row in await database.roster.nodes():
        host, _, rest = row.instance.partition("/")
        pid = rest.partition("/")[0]
        if row.name == name and host == socket.gethostname() and pid.isdigit() and _lives(int(pid)):
            raise NodeError(
                ErrorKind.NOT_UNIQUE,
                f"Process {pid} on this machine is already running as node {name!r}. "
                "Choose another name with --name NAME.",
            )


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return pid != os.getpid()
