"""The sessions of a database, where `store` names one: its library, and where copies are kept here."""

import hashlib
from pathlib import Path

from planck.config.project import Project
from planck.store.postgres.connection import hide_password
from planck.store.postgres.dev import DevServer
from planck.store.postgres.library import PostgresLibrary

DEV = "dev"
"""The value of `store` that means a database below the home, started when it is needed."""


def open_library(project: Project, *, owner: str = "") -> PostgresLibrary:
    """Returns the library of the configured store; `owner` is the node that has joined its roster."""
    project.check_store()
    url = find_url(project)
    return PostgresLibrary(url, find_copies(project), project.workspace, owner=owner)


def find_copies(project: Project) -> Path:
    """Returns the folder of what this machine has read: one for each database, by any password."""
    return find_copies_of(project.home, project.config.store)


def find_copies_of(home: Path, store: str) -> Path:
    place = DEV if store == DEV else hide_password(store)
    return home / "copies" / hashlib.sha256(place.encode()).hexdigest()[:16]


def find_url(project: Project) -> str:
    """Returns the store's address; the `dev` one is started first if it does not run, which takes seconds."""
    if project.config.store != DEV:
        return project.config.store
    return open_dev(project.home).start()


def open_dev(home: Path) -> DevServer:
    """Returns the database below the home, running or not."""
    return DevServer(home / "postgres")
