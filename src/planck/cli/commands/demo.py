"""`planck demo`: the main job, with everything real but the model."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from typing import Literal

from planck import headless
from planck.records.outcome import ErrorKind, PlanckError

EXAMPLE = "planck demo --web"


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--web", action="store_true", help="Play the demo slowly on the web page; press Ctrl+C to stop"
    )
    parser.add_argument(
        "--slow", action="store_true", help="Play it at a pace at which every line can be read"
    )
    parser.add_argument(
        "--json", action="store_true", help="With --web: print the address as JSON and do not open a browser"
    )


def run(options: argparse.Namespace) -> int:
    import asyncio

    return _show(options) if options.web else asyncio.run(_demo(options.slow))


def _show(options: argparse.Namespace) -> int:
    """Plays it slowly behind the page, until Ctrl+C."""
    import asyncio

    from planck.cli.commands.serve import Announcement, load_server  # not where no server is wanted

    frontend = load_server()
    inbox = headless.Inbox()
    planck, task = headless.open_demo(
        Path(tempfile.mkdtemp(prefix="planck-demo-")), approver=inbox, pace="slow"
    )
    settings = frontend.ServerConfig(port=0, opening=("demo", task))
    what = f"A team with a scripted offline model fixes a bug in {planck.workspace}."
    title = f"{what} Press Ctrl+C to stop.\nServing"
    announce = Announcement(title=title, as_json=options.json, in_browser=not options.json)
    try:
        return int(asyncio.run(frontend.serve(planck, inbox, settings, announce)))
    finally:
        announce.clean_up()


async def _demo(slow: bool) -> int:
    """In a pipe as fast as it goes; where somebody watches, so that it can be followed."""
    from planck.cli.session import Watch
    from planck.cli.tell.blocks import Answer
    from planck.cli.tell.figures import summarise
    from planck.cli.tell.reporter import Reporter
    from planck.cli.tell.terminal import Terminal

    folder = Path(tempfile.mkdtemp(prefix="planck-demo-"))
    terminal = Terminal(err=sys.stdout)
    pace: Literal["", "brisk", "slow"] = "slow" if slow else "brisk" if sys.stdout.isatty() else ""
    planck, task = headless.open_demo(folder, pace=pace)
    async with planck:
        terminal.line(f"A small project with a failing test: {planck.workspace}", wrap=True)
        terminal.line(
            "The model is offline and scripted. The team, its tools and its log are real.\n", wrap=True
        )
        session = await planck.start(name="demo")
        terminal.line(f"you: {task}\n", "bold", wrap=True)
        screen = Reporter(terminal, session)
        watch = Watch(session, screen.show, also=screen.run if terminal.live else None)
        result = await session.run(task)
        await watch.finish()
        screen.done()
        if result.text and not screen.answered:
            terminal.answer(Answer(result.text))
        terminal.line(f"\n{summarise(result, result.status)}", "dim", wrap=True)
        if failure := await headless.find_failure(session):
            raise PlanckError(
                ErrorKind.COMMAND_FAILED,
                f'The demo failed: {failure}. Run "planck doctor" to find out what is missing.',
            )
        terminal.line(_next(planck.home), wrap=True)
    return result.exit_code


def _next(home: Path) -> str:
    return f"""
The session is saved in {home / "sessions"}. List it:
  PLANCK_HOME={home} planck sessions list --all
The team is defined in {home / "teams/demo/TEAM.json"}. Create your own:
  planck teams new mine -m PROVIDER/MODEL
Run a task in your own project, with your own model:
  planck run "the tests fail; find out why and fix the bug" -m PROVIDER/MODEL"""
