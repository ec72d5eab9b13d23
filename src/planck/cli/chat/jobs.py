"""The commands that agents run, with what they have put out until now."""

import asyncio
from collections.abc import Iterable
from typing import TYPE_CHECKING

from planck.cli.tell.blocks import Said, Told, say
from planck.cli.tell.figures import format_time
from planck.cli.tell.styled import Line, make_line, make_lines
from planck.cli.tell.team_rows import draw_end
from planck.records.outcome import PlanckError
from planck.records.visible import fit_line

if TYPE_CHECKING:
    from planck.cli.chat.talk import Talk
    from planck.headless import ShellCommand

_PAGE = 1 << 20
"""Characters of outputs that are read for one page: it is wrapped again whenever the width changes."""
_END = 5
"""Lines of each output where nothing can be scrolled."""


async def unfold(talk: "Talk", folded: "Iterable[Told | Said]") -> list[list[Line]]:
    """Each folded block, the newest first, with its whole text: more than a page can hold is left out."""
    blocks, room = [], _PAGE
    for told in folded:
        text = await _read_whole(talk, told) if room > 0 else told.rest
        room -= len(text)
        blocks.append([((told.title or "message", "bold"),), *make_lines(text, "", "  "), ()])
    return blocks


async def _read_whole(talk: "Talk", told: "Told | Said") -> str:
    if not isinstance(told, Told) or not told.call:
        return told.rest
    from planck.headless import read_end

    try:
        file = await asyncio.to_thread(talk.planck.find_output, talk.session.id, told.call)
        return await asyncio.to_thread(read_end, file) if file else told.rest
    except (PlanckError, OSError):  # what the model was shown of it is better than nothing
        return told.rest


async def run_jobs(talk: "Talk", rest: str) -> None:
    """Shows each command whole where it can be scrolled, else its last lines."""
    commands = talk.session.commands()
    if not commands:
        say(talk.frontend, "No command is running.")
    elif talk.frontend.live:
        await talk.frontend.page("Running commands, and background jobs", lambda: _list(talk))
    else:
        for one in commands:
            end = draw_end(one.read_output(), _END)
            talk.frontend.show(Told((_draw_head(one, _name_agent(talk, one)), *end)))


def _list(talk: "Talk") -> list[Line]:
    lines: list[Line] = []
    for one in reversed(talk.session.commands()):
        lines += draw_command(one, _name_agent(talk, one))
    return lines


def _name_agent(talk: "Talk", command: "ShellCommand") -> str:
    """Empty where there is only one agent."""
    names = {spec.id: spec.name for spec in talk.session.members}
    return names.get(command.agent_id, "") if len(names) > 1 else ""


def draw_command(command: "ShellCommand", agent: str = "") -> list[Line]:
    """How it is called, what it does, and all of its output."""
    output = command.read_output().rstrip("\n")
    return [_draw_head(command, agent), *(make_lines(output, "", "  ") if output else ()), ()]


def _draw_head(command: "ShellCommand", agent: str) -> Line:
    state = f"running {format_time(command.seconds)}" if command.running else f"exit {command.exit_code}"
    handle = f" · bg_{command.call_id}" if command.background else ""
    who = f"{fit_line(agent, 24)} · " if agent else ""
    mark, style = ("● ", "") if command.running else ("○ ", "dim")
    about = make_line(f"  {who}{state}{handle}", "dim")
    return ((mark, style), *make_line(fit_line(command.text), "bold"), *about)
