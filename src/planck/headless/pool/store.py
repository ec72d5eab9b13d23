"""The sessions of a database, where `store` names one: its library, and where copies are kept here."""

import hashlib
from pathlib import Path

from planck.config.project import Project
from planck.store.postgres.connection import hide_password
from planck.store.postgres.dev import DEV, find_url
from planck.store.postgres.library import PostgresLibrary


def open_library(project: Project) -> PostgresLibrary:
    """Returns the library of the configured store."""
    project.check_store()
    url = find_url(project.config.store, project.home)
    copies = find_copies(project.config.store, project.home)
    return PostgresLibrary(url, copies, project.workspace)


def find_copies(store: str, home: Path) -> Path:
    """Returns the folder of what this machine has read: one for each database, by any password."""
    place = DEV if store == DEV else hide_password(store)
    return home / "copies" / hashlib.sha256(place.encode()).hexdigest()[:16]
