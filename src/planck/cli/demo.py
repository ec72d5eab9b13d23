"""`planck demo`: the main job, with everything real but the model."""

import argparse
import asyncio
import tempfile
from contextlib import aclosing
from pathlib import Path
from typing import Any

from planck.headless.demo import PROMPT, open_demo
from planck.headless.headless import SessionEvent, SessionHandle

EXAMPLE = "planck demo"


def arguments(parser: argparse.ArgumentParser) -> None:
    pass


def run(options: argparse.Namespace) -> int:
    return asyncio.run(_demo())


async def _demo() -> int:
    folder = Path(tempfile.mkdtemp(prefix="planck-demo-"))
    async with open_demo(folder) as planck:
        print(f"A small project with a failing test, in {planck.workspace}")
        print("The model is offline and follows a script; the tools, the files and the log are real.\n")
        print(f"you  {PROMPT}\n")
        session = await planck.start(name="demo")
        show = asyncio.get_running_loop().create_task(_show(session))
        result = await session.run(PROMPT)
        await show
        print(f"\n{result.status} after {result.steps} steps in {result.duration_ms / 1000:.1f} s.")
        print(f"The session's log: {next(planck.sessions_dir.glob('*.db'))}")
        print('Next: planck run "your task" -m PROVIDER/MODEL, in a project of yours.')
    return result.exit_code


async def _show(session: SessionHandle) -> None:
    async with aclosing(session.events()) as events:
        async for event in events:
            if line := _line(event):
                print(line, flush=True)
            if event.type == "turn_end":
                return


def _line(event: SessionEvent) -> str:
    data: dict[str, Any] = event.data
    match event.type:
        case "assistant_message":
            text = "".join(p["text"] for p in data["message"]["parts"] if p["type"] == "text")
            return f"planck  {text}" if text else ""
        case "tool_start":
            what = data["args"].get("command") or data["args"].get("path") or ""
            return f"  > {data['name']} {what}"
        case "tool_end":
            last = data["output"].strip().splitlines()[-3:]
            return "\n".join(f"    {line}" for line in last)
    return ""
