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
from planck.headless import find_failure, open_demo
from planck.records.outcome import ErrorKind, PlanckError


def run(options: argparse.Namespace) -> int:
    return asyncio.run(_demo())


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
