"""`planck sidecar`: make one, serve one to any MCP client, see whether it works."""

from __future__ import annotations

import argparse
import os
import re
import shlex
import sys
from pathlib import Path

from planck import headless
from planck.cli.commands.mcp import add_address, check_extra, open_with_notices, show_reports, try_peers
from planck.cli.errors import UsageError
from planck.cli.parser import JSON, TRUST, add_shared, subcommand
from planck.cli.streams import complain
from planck.own_code import safe_path
from planck.records.outcome import ErrorKind
from planck.records.visible import make_plain

SIDECAR = ".planck/sidecar"
EXAMPLE = "planck sidecar new && planck sidecar status --trust"


def add_options(parser: argparse.ArgumentParser) -> None:
    commands = parser.add_subparsers(dest="action", required=True, metavar="status|new|run")
    status = subcommand(
        commands,
        "status",
        "Build and start the sidecars in this folder, list their tools, and stop them",
        "planck sidecar status --trust",
    )
    add_shared(status, trust=TRUST, json=JSON)
    new = subcommand(commands, "new", "Create a working sidecar with a test", "planck sidecar new prices")
    running = subcommand(
        commands,
        "run",
        "Serve a sidecar to any MCP client, over stdio or HTTP",
        "planck sidecar run .planck/sidecar --http 8080",
    )
    for command in (new, running):
        command.add_argument(
            "path",
            nargs="?",
            default=SIDECAR,
            metavar="NAME|PATH",
            help=f"Name, for a folder in {SIDECAR}, or path of a folder such as ./NAME (default: {SIDECAR})",
        )
    add_address(running)


def run(options: argparse.Namespace) -> int:
    match options.action:
        case "new":
            return _new(_find_folder(options.path), own=options.path == SIDECAR or _is_name(options.path))
        case "run":
            return _run(options)
        case _:
            return _status(options)


def _find_folder(path: str) -> Path:
    """The usual one is the project's, wherever in it the user stands, and so are those with a name."""
    named = _is_name(path)
    if path != SIDECAR and not named:
        return Path(path)
    project = headless.Project()
    project.check_place()
    return Path(os.path.relpath(project.workspace / SIDECAR / (path if named else "")))


def _is_name(path: str) -> bool:
    return re.fullmatch(r"[A-Za-z][\w-]*", path) is not None


def _new(folder: Path, *, own: bool) -> int:
    """`own`: in the folder where Planck looks for a project's sidecar."""
    from planck.headless import create_sidecar

    for file in create_sidecar(folder):
        print(file)
    if own:
        complain(f"Test it with: python -m pytest {folder} && planck sidecar status --trust")
    else:
        complain(f"To use it, set `sidecar` to {str(folder.absolute())!r} in .planck/config.json.")
        complain(f"Test it with: python -m pytest {shlex.quote(str(folder))}")
    return 0


def _run(options: argparse.Namespace) -> int:
    """This process becomes the sidecar: it is the user's own act, so trust is not asked for."""
    import asyncio

    from planck.headless import make_token, pipe_secret, prepare_sidecar, read_environment

    if options.http is not None:
        check_extra("Serving a sidecar over HTTP needs")

    def progress(text: str) -> None:
        complain(make_plain(text))

    more = (
        () if options.http is None else (str(options.http), str(pipe_secret(options.token or make_token())))
    )
    folder = _find_folder(options.path)
    if not folder.exists():
        folder = Path(options.path)
    argv = asyncio.run(prepare_sidecar(folder.absolute(), progress, *more))
    sys.stderr.flush()
    os.execve(argv[0], argv, safe_path(read_environment()))
    raise AssertionError


def _status(options: argparse.Namespace) -> int:
    import asyncio

    planck = open_with_notices(options)
    reports = asyncio.run(try_peers(planck, "sidecar"))
    if not reports and not options.json:
        state = planck.trust.state
        if state.content.runs and not state.trusted:
            raise UsageError(
                ErrorKind.PERMISSION_DENIED,
                "No sidecar was started, because this folder is not trusted. "
                "Pass --trust to trust it for this run.",
            )
        print("No sidecars. Create one with: planck sidecar new")
        return 0
    return show_reports(reports, options.json)
