"""A screen without a conversation behind it: says what it is told, and does what its first line asks for."""

import asyncio
import sys

from planck.cli.screen.inputs import Closed, Pressed, Submitted
from planck.cli.screen.screen import Screen


async def main() -> None:
    screen = Screen(color=False)
    screen.open()
    print("ready")
    try:
        while True:
            match await screen.next():
                case Submitted("overlay", _):
                    await _show_overlay(screen)
                case Submitted("flood", _):
                    screen.print([f"line {number} of the flood" for number in range(5_000)])
                    await _count(screen)
                case Submitted("ask", _):
                    print("sure? y n")
                    print(f"answered {await screen.ask('yn')!r}")
                case Submitted("stray", _):
                    print("with \x1b[2J and \x1b]0;title\x07 and \x1b[31mred\x1b[0m", file=sys.stderr)
                case Submitted(text, queue):
                    screen.busy = text == "work"
                    print(f"said {text!r} {queue}")
                case Pressed("exit") | Closed():
                    return
                case Pressed(action):
                    print(f"pressed {action}")
    finally:
        await screen.close()


async def _show_overlay(screen: Screen) -> None:
    async with screen.overlay() as page:
        print("said behind it")
        while True:
            columns, rows = page.size
            page.show([((f"page of {columns} x {rows}", "bold"),), (("日本" * 100, ""),)])
            key = await page.key()
            if key in ("esc", ""):
                return
            page.show([((f"key {key}", ""),)])
            if key == "resize":
                continue
            await page.key()


async def _count(screen: Screen) -> None:
    """The loop goes on, whatever the terminal does."""
    for _ in range(20):
        await asyncio.sleep(0.01)
    with open("alive", "w") as file:
        file.write("yes")


asyncio.run(main())
