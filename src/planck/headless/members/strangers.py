"""An imported session is resumed only with programs and addresses that the user named, not its author."""

import shlex

from msgspec.structs import replace

from planck.config import teams
from planck.config.addresses import find_stranger
from planck.config.project import Project
from planck.records.outcome import ErrorKind
from planck.session.logs import SessionLog
from planck.store.store import SessionError


def refuse_strangers(project: Project, log: SessionLog) -> None:
    """Raises where its agents would start a program, or go to an address, that is none of the user's."""
    files = [
        one.acp
        for one in project.resources.agents().agents.values()
        if one.acp and not project.doubt(one.file)
    ]
    named = (*files, *teams.list_foreign(project.resources.team_dirs(), project.doubt))
    known = {replace(one, source="") for one in named}
    for one in log.foreign():
        if replace(one, source="") not in known:
            raise SessionError(
                ErrorKind.PERMISSION_DENIED,
                f"An agent in this imported session runs the program {shlex.join(one.command)!r}, which "
                "none of your teams uses. If you trust the program, add it to a TEAM.json. "
                f'To only read the session, run "planck sessions show {log.name}".',
            )
    if stranger := find_stranger(project.config, log.models()):
        raise SessionError(
            ErrorKind.PERMISSION_DENIED,
            f"Agents in this imported session use {stranger!r}, which is not in your `providers`. "
            "If you trust the address, add it there. "
            f'To only read the session, run "planck sessions show {log.name}".',
        )
