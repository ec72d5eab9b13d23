"""Asks, before a conversation begins, whether the folder's own files may run things."""

import argparse
import signal
from typing import TYPE_CHECKING

from planck.cli.place import find_place
from planck.cli.screen.styled import paint
from planck.cli.tell.styled import INDENT, make_lines, wrap_all
from planck.headless import Project

if TYPE_CHECKING:
    from planck.cli.screen.screen import Screen
    from planck.headless import Trust, TrustState

KEYS = ("y", "o", "n", "esc", "c-d", "c-c")
_ANSWERS = {"y": "y", "yes": "y", "o": "o", "once": "o", "n": "n", "no": "n"}
"""Anything else is a no that is not remembered."""


def describe_trust(state: "TrustState") -> list[str]:
    """Everything that would run or decide something, line by line; what changed since the last time first."""
    lines = ["This folder has files that would run, or change what Planck does:"]
    if state.changed:
        lines = [f"Changed since you trusted this folder: {', '.join(state.changed)}", *lines]
    return [*lines, *(f"  {line}" for line in state.content.runs)]


def offer_trust(state: "TrustState", *, once: bool = True) -> str:
    always = "" if state.content.unsound else "y trust · "
    return f"Trust them? {always}{'o only this time · ' * once}n no"


async def settle_trust(options: argparse.Namespace, screen: "Screen | None" = None) -> "Trust | None":
    """Returns the trust of the folder, after one question where it has something to be trusted.

    Without a screen the question is a line. A yes is for the files that were listed: one that has changed
    by then is not trusted. An `n` holds until one of them changes. None: Ctrl+C, the user leaves.
    """
    project = Project(workspace=find_place(options), trust=options.trust, add_dirs=options.add_dir)
    trust, state = project.trust, project.trust.state
    if state.trusted or state.declined or not state.content.runs:
        return trust
    key = await _ask_on(screen, state) if screen else _ask_by_line(state)
    if key == "c-c":
        return None
    if key == "y" and not state.content.unsound:
        trust.give(state.content)
        trust.examine()
    elif key == "n":
        trust.decline(state.content)
    elif key == "o":
        once = Project(workspace=find_place(options), trust=key == "o", add_dirs=options.add_dir).trust
        if once.state.content.hashes == state.content.hashes:
            return once
    return trust


async def _ask_on(screen: "Screen", state: "TrustState") -> str:
    lines = [*make_lines("\n".join(describe_trust(state))), *make_lines(offer_trust(state), "yellow bold")]
    screen.print(
        [paint(line, screen.width, color=screen.color) for line in wrap_all(lines, screen.width, INDENT)]
    )
    return await screen.ask(KEYS)


def _ask_by_line(state: "TrustState") -> str:
    from planck.cli.ask.typed_line import ask

    # asyncio takes the first Ctrl+C for its loop, which does not run while a line is awaited here.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        answer = ask(
            "\n".join([*describe_trust(state), f"{offer_trust(state)}: "]),
            without_terminal="Trust needs a terminal. Pass --trust for this run.",
        )
    except KeyboardInterrupt:
        return "c-c"
    finally:
        signal.signal(signal.SIGINT, before)
    return _ANSWERS.get(answer.strip().lower(), "")
