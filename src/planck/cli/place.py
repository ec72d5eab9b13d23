"""Where a command works: what -C and --here say."""

from __future__ import annotations

import argparse
import os

from planck import headless
from planck.cli.errors import UsageError
from planck.cli.streams import complain
from planck.records.outcome import ErrorKind, PlanckError
from planck.records.visible import make_plain


def find_place(options: argparse.Namespace) -> str | None:
    """Returns the folder that was named, None: the project around the current folder."""
    if options.here:
        return "."
    named: str | None = options.directory
    if named is not None and not os.path.isdir(named):
        raise UsageError(ErrorKind.NOT_FOUND, f"Folder not found: {named!r}. Pass an existing folder to -C.")
    return named


def open_project(options: argparse.Namespace) -> headless.Project:
    """Returns the project that a command is about."""
    return headless.Project(workspace=find_place(options), trust=getattr(options, "trust", False))


def name_place(options: argparse.Namespace) -> str:
    """Returns the workspace for a result that no session is behind; what was named where there is none."""
    try:
        return str(open_project(options).workspace)
    except PlanckError:
        return options.directory or ""


def say_place(project: headless.Project) -> None:
    """Tells a user who stands in a folder below it which workspace it is."""
    if project.place_notice:
        complain(make_plain(project.place_notice))
