"""`planck demo`: the main job, with everything real but the model."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from planck import headless
from planck.records.outcome import ErrorKind, PlanckError

EXAMPLE = "planck demo --web"


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--web", action="store_true", help="slowly, and in the page, until Ctrl+C")
    parser.add_argument("--json", action="store_true", help="with --web: print where it is, open no browser")


def run(options: argparse.Namespace) -> int:
    import asyncio

    return _show(options) if options.web else asyncio.run(_demo())


def _show(options: argparse.Namespace) -> int:
    """Plays it slowly behind the page, until Ctrl+C."""
    import asyncio

    from planck.cli.commands.serve import Announcement, load_server  # not where no server is wanted

    frontend = load_server()
    inbox = headless.Inbox()
    planck, task = headless.open_demo(
        Path(tempfile.mkdtemp(prefix="planck-demo-")), approver=inbox, slowly=True
    )
    settings = frontend.ServerConfig(port=0, opening=("demo", task))
    title = (
        f"A team mends {planck.workspace} with an offline model that follows a script; Ctrl+C ends it.\nIt is"
    )
    announce = Announcement(title=title, as_json=options.json, in_browser=not options.json)
    try:
        return int(asyncio.run(frontend.serve(planck, inbox, settings, announce)))
    finally:
        announce.clean_up()


async def _demo() -> int:
    from planck.cli.session import Watch
    from planck.cli.tell.figures import summarise
    from planck.cli.tell.reporter import Reporter
    from planck.cli.tell.terminal import Terminal

    folder = Path(tempfile.mkdtemp(prefix="planck-demo-"))
    terminal = Terminal(err=sys.stdout)
    planck, task = headless.open_demo(folder)
    async with planck:
        terminal.line(f"A small project with a failing test, in {planck.workspace}", wrap=True)
        terminal.line(
            "The model is offline and follows a script; the team, its tools and its log are real.\n"
        )
        session = await planck.start(name="demo")
        terminal.line(f"you: {task}\n", "bold", wrap=True)
        screen = Reporter(terminal, session)
        watch = Watch(session, screen.show, also=screen.run if terminal.live else None)
        result = await session.run(task)
        await watch.finish()
        screen.done()
        if result.text and not screen.answered:
            terminal.answer(result.text)
        terminal.line(f"\n{summarise(result, result.status)}", "dim", wrap=True)
        if failure := await headless.find_failure(session):
            raise PlanckError(
                ErrorKind.COMMAND_FAILED,
                f"the demo's team did not do its work: {failure}; `planck doctor` says what is missing here",
            )
        terminal.line(_next(planck.home), wrap=True)
    return result.exit_code


def _next(home: Path) -> str:
    return f"""
The session is a file in {home / "sessions"}; look at it:
  PLANCK_HOME={home} planck sessions list --all
The team is {home / "teams/demo/TEAM.json"}; make one of your own:
  planck teams new mine -m PROVIDER/MODEL
With a model of yours, in a project of yours:
  planck run "the tests fail; find out why and mend it" -m PROVIDER/MODEL"""
