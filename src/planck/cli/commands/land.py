"""`planck land`: bring what a session changed in views of its own into the workspace, or onto a branch."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from planck import headless
from planck.cli.parser import add_folders, add_place
from planck.cli.place import find_place, say_place
from planck.cli.streams import report_error
from planck.cli.tell.landing import describe_conflicts, describe_landed, preview
from planck.records.outcome import ErrorKind

if TYPE_CHECKING:
    from planck.headless import StoredViews, Waiting

EXAMPLE = "planck land bold-otter --branch fix-tests"


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("session", metavar="SESSION", help="Session whose views to land: its id or its name")
    how = parser.add_mutually_exclusive_group()
    how.add_argument(
        "--branch",
        default="",
        metavar="NAME",
        help="Commit the changes to this branch; the working tree and the index stay as they are",
    )
    how.add_argument("--drop", action="store_true", help="Throw the changes away")
    add_place(parser)
    add_folders(parser)
    parser.add_argument("--dry-run", action="store_true", help="Show what would land, and change nothing")


async def run(options: argparse.Namespace) -> int:
    codes = []
    async with headless.Planck(workspace=find_place(options), add_dirs=options.add_dir) as planck:
        say_place(planck.project)
        async with planck.hold_views(options.session) as views:
            for agent_id in views.agents:
                # One after the other: the next plan is made of what the last one left.
                if waiting := await views.prepare(agent_id):
                    print(preview(waiting))
                    codes.append(
                        headless.Exit.DONE if options.dry_run else await _do(views, waiting, options)
                    )
                elif options.drop and not options.dry_run:
                    codes.append(await _drop(views, agent_id))  # what git ignores is in it, or nothing
    if not codes:
        print("Nothing to land: no view of this session has changes.")
        return headless.Exit.USAGE
    return max(codes)


async def _do(views: StoredViews, waiting: Waiting, options: argparse.Namespace) -> int:
    if options.drop:
        return await _drop(views, waiting.agent_id)
    if options.branch:
        commit = await views.commit(waiting, options.branch)
        if isinstance(commit, str):
            print(f"Committed to {options.branch}: {commit[:12]}")
            return headless.Exit.DONE
        return _report(waiting, describe_conflicts(commit))
    landed = await views.land(waiting)
    if isinstance(landed, tuple):
        return _report(waiting, describe_conflicts(landed))
    print(describe_landed(landed, views.session_name))
    return headless.Exit.FAILURE if landed.skipped else headless.Exit.DONE


async def _drop(views: StoredViews, agent_id: str) -> int:
    await views.drop(agent_id)
    print(f"Dropped the view of {views.name_of(agent_id)}.")
    return headless.Exit.DONE


def _report(waiting: Waiting, why: str) -> int:
    report_error(
        ErrorKind.EDIT_CONFLICT,
        f"The changes of {waiting.agent} did not land, and its view is kept: {why}. Resume the session and "
        "have it resolve them, or land them on a branch.",
    )
    return headless.Exit.FAILURE
