"""An agent that waits for the user; to be killed there.

`python -m tests.killed_asking FOLDER` says `asked` once its two questions wait. Its step has four calls: one
that has ended, one that runs, and two that ask.
"""

import asyncio
import sys
from pathlib import Path
from typing import Any

from planck import Planck, Tool, ToolContext
from planck.headless import Inbox
from planck.testing import Say, ScriptedProvider
from planck.toolkit.tool import Effect

NAME = "asking"
WRITES = [("write", {"path": f"{name}.txt", "content": "by the agent\n"}) for name in "bc"]
STEP = [("read", {"path": "a.txt"}), WRITES[0], ("hang", {}), WRITES[1]]


async def hang(args: dict[str, Any], ctx: ToolContext) -> str:
    await asyncio.Event().wait()
    return ""


def open_planck(folder: Path, model: ScriptedProvider, inbox: Inbox | None, mode: str = "ask") -> Planck:
    (folder / "work").mkdir(exist_ok=True)
    return Planck(
        folder / "home",
        folder / "work",
        environ={},
        flags={"permissions": {"mode": mode}},
        providers={"local": model},
        approver=inbox,
    )


async def wait_for_questions(inbox: Inbox, count: int) -> None:
    seen = inbox.changes
    async with asyncio.timeout(30):
        while len(inbox.pending()) != count:
            seen = await inbox.wait_for_change(seen)


async def _main(folder: Path) -> None:
    inbox = Inbox()
    tool = Tool("hang", "", {"type": "object", "properties": {}}, hang, effect=Effect.NONE)
    async with open_planck(folder, ScriptedProvider([Say(text="I write.", calls=STEP)]), inbox) as planck:
        (folder / "work" / "a.txt").write_text("first\n")
        session = await planck.start(model="local/m", name=NAME, tools=[tool])
        await session.prompt("write them")
        await wait_for_questions(inbox, 2)
        print("asked", flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(_main(Path(sys.argv[1])))
