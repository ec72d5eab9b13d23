"""What each command of the table does; a test compares the two."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from planck.cli.talk import about, files, moves, settings, transcript

if TYPE_CHECKING:
    from planck.cli.talk.talk import Talk

Act = Callable[["Talk", str], Awaitable[None]]

ACTS: dict[str, Act] = {
    "new": moves.begin_new,
    "clear": moves.clear,
    "resume": moves.resume,
    "sessions": moves.list_sessions,
    "fork": moves.fork,
    "rewind": moves.rewind,
    "transcript": transcript.show_transcript,
    "rename": moves.rename,
    "exit": moves.leave,
    "diff": files.show_diff,
    "undo": files.undo,
    "redo": files.redo,
    "export": files.export,
    "copy": files.copy,
    "init": settings.init,
    "mode": settings.change_mode,
    "plan": settings.plan,
    "permissions": settings.show_permissions,
    "model": settings.change_model,
    "effort": settings.change_effort,
    "theme": settings.change_theme,
    "reload": settings.reload,
    "team": about.show_team,
    "agents": about.show_team,
    "interrupt": about.interrupt,
    "tools": about.show_tools,
    "mcp": about.show_peers,
    "skills": about.show_skills,
    "context": about.show_context,
    "compact": about.compact,
    "cost": about.show_cost,
    "status": about.show_status,
    "help": about.show_help,
}
