"""The message that a command line makes: commands of files expanded, what it names attached."""

import argparse
import os
import re
from typing import TYPE_CHECKING

from planck.cli.errors import UsageError
from planck.cli.streams import complain
from planck.records.messages import Text, UserMessage
from planck.records.outcome import ErrorKind, PlanckError
from planck.records.visible import make_plain

if TYPE_CHECKING:
    from planck.headless import Planck

_COMMAND = re.compile(r"/([A-Za-z0-9][\w.:-]*)(?:\s+(.*))?", re.DOTALL)


async def make_input(planck_: "Planck", options: argparse.Namespace, prompt: str) -> str | UserMessage:
    """Returns what is said: a command of a file expanded, files and images that it names attached."""
    said = options.prompt or ""
    within = None
    if found := _COMMAND.fullmatch(said.strip()):
        command = planck_.resources.commands_by_call().get(found[1])
        if command is not None:
            within = planck_.workspace if command.scope == "project" else None
            expanded = command.expand((found[2] or "").strip())
            if "!`" in command.text:
                complain(f"{said.split()[0]} has !`...` in it, which is not run here")
            prompt = prompt.replace(said, expanded, 1)
            said = expanded
        elif _is_servers(planck_, found[1]):
            expanded = await planck_.say_prompt(found[1], (found[2] or "").strip())
            return prompt.replace(said, expanded, 1)  # foreign text: it names no file of ours
        elif not os.path.lexists(said.split()[0]):
            raise UsageError(
                ErrorKind.NOT_FOUND,
                f"no command {said.split()[0]!r}; they are files: .planck/commands/{found[1]}.md (a task "
                "that begins with `/` has a space before it)",
            )
    if not options.image and "@" not in said and not _names_image(said):
        return prompt
    from planck.headless import attach

    try:
        planck_.project.root.check()
        attached = attach(said, planck_.project.here, within=within, images=options.image)
    except PlanckError as failure:
        raise UsageError(failure.err.kind, failure.err.message) from None
    for note in attached.notes:
        complain(make_plain(note))
    text = prompt.replace(said, attached.text, 1) if said else prompt
    return UserMessage((Text(text), *attached.images))


def _is_servers(planck_: "Planck", name: str) -> bool:
    server, colon, _ = name.partition(":")
    return bool(colon) and bool(planck_.peers.plan.select("mcp", server))


def _names_image(text: str) -> bool:
    return any(ending in text.lower() for ending in (".png", ".jpg", ".jpeg", ".gif", ".webp"))
