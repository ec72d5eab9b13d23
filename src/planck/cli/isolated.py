"""`planck run --isolated`: how its flags fit together, and what becomes of its view after the run."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from planck.cli.errors import UsageError
from planck.cli.streams import complain, report_error
from planck.records.outcome import ErrorKind, PlanckError

if TYPE_CHECKING:
    from planck.headless import Landed, OpenSession, Planck, RunResult, StoredViews, Waiting
    from planck.records.events import LandingConflict

BRANCH = "branch:"


def check_land(options: argparse.Namespace) -> None:
    """Raises for flags that do not fit together, before anything costs something."""
    land = options.land
    if land and not options.isolated:
        raise UsageError(ErrorKind.INVALID_ARGS, "--land is for a run in a view. Add --isolated.")
    if not options.isolated:
        return
    if options.no_session:
        text = "--isolated cannot be used with --no-session, because the view belongs to a saved session."
        raise UsageError(ErrorKind.INVALID_ARGS, f"{text} Remove one of the options.")
    if options.dry_run:
        text = "--isolated cannot be used with --dry-run, which changes nothing. Remove one of the options."
        raise UsageError(ErrorKind.INVALID_ARGS, text)
    if land not in (None, "ask", "auto", "never") and land.removeprefix(BRANCH) == land:
        text = f"Unknown value of --land: {land!r}. Use ask, auto, never or branch:NAME."
        raise UsageError(ErrorKind.INVALID_ARGS, text)
    if land == "ask" and not _has_terminal():
        text = "--land ask needs a terminal. Use auto, never or branch:NAME."
        raise UsageError(ErrorKind.INVALID_ARGS, text)


async def finish_isolated(
    planck_: Planck, session: OpenSession, options: argparse.Namespace, result: RunResult
) -> tuple[str, ...]:
    """Shows the run's diff and lands it, if that was said; returns the paths that the workspace has now.

    The view stays where it does not land, and the exit code is that of the run in any case.
    """
    await session.aclose()
    try:
        async with planck_.hold_views(session.id) as views:
            for agent_id in views.agents:
                if waiting := await views.prepare(agent_id):
                    return await _finish(views, waiting, options, result)
    except PlanckError as failure:
        report_error(failure.err.kind, f"The changes did not land: {failure.err.message}")
        complain(_say_left(session.name))
    return ()


async def _finish(
    views: StoredViews, waiting: Waiting, options: argparse.Namespace, result: RunResult
) -> tuple[str, ...]:
    from planck.cli.tell.landing import describe_conflicts, describe_landed, preview

    shown = options.output_format == "text"
    if shown:
        print(preview(waiting), file=sys.stderr, flush=True)
    land = options.land or ("ask" if shown and _has_terminal() else "never")
    # What a run left that did not end well is not what was asked for.
    wanted = result.exit_code == 0 and land != "never" and (land != "ask" or _ask())
    name = result.session_name
    if not wanted:
        complain(_say_left(name))
        return ()
    if land.startswith(BRANCH):
        branch = land.removeprefix(BRANCH)
        commit = await views.commit(waiting, branch)
        if isinstance(commit, str):
            complain(f"Committed to {branch}: {commit[:12]}")
            return ()
        landed: Landed | tuple[LandingConflict, ...] = commit
    else:
        landed = await views.land(waiting)
    if isinstance(landed, tuple):
        why = describe_conflicts(landed)
        report_error(ErrorKind.EDIT_CONFLICT, f"The changes did not land: {why}. {_say_left(name)}")
        return ()
    complain(describe_landed(landed, name))
    return landed.paths


def _say_left(name: str) -> str:
    return f'They are in a view of session {name}. Land them with "planck land {name}", or add --drop.'


def _has_terminal() -> bool:
    return sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()


def _ask() -> bool:
    from planck.cli.ask.typed_line import ask

    return ask("Land these changes in the workspace? [y/N] ", without_terminal="").lower() in ("y", "yes")
