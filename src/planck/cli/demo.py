"""`planck demo`: the main job, with everything real but the model."""

import argparse
import asyncio
import sys
import tempfile
from pathlib import Path

from planck.cli.run import Watch
from planck.cli.talk.figures import summarise
from planck.cli.talk.reporter import Reporter
from planck.cli.terminal import Terminal
from planck.headless import Inbox, find_failure, open_demo
from planck.records.outcome import ErrorKind, PlanckError


def run(options: argparse.Namespace) -> int:
    return _show(options) if options.web else asyncio.run(_demo())


def _show(options: argparse.Namespace) -> int:
    """Plays it slowly behind the page, until Ctrl+C."""
    from planck.cli.serve import Announcement, load_server  # not where no server is wanted

    frontend = load_server()
    inbox = Inbox()
    planck, task = open_demo(Path(tempfile.mkdtemp(prefix="planck-demo-")), approver=inbox, slowly=True)
    settings = frontend.Settings(port=0, opening=("demo", task))
    title = (
        f"A team mends {planck.workspace} with an offline model that follows a script; Ctrl+C ends it.\nIt is"
    )
    announce = Announcement(title=title, as_json=options.json, in_browser=not options.json)
    try:
        return int(asyncio.run(frontend.serve(planck, inbox, settings, announce)))
    finally:
        announce.clean_up()


async def _demo() -> int:
    folder = Path(tempfile.mkdtemp(prefix="planck-demo-"))
    terminal = Terminal(err=sys.stdout)
    planck, task = open_demo(folder)
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
        terminal.line(f"\n{result.status} · {summarise(result)}", "dim", wrap=True)
        if failure := await find_failure(session):
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
