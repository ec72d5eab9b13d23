"""Asks which of the newest sessions is meant."""

import shutil

from planck.cli.ask.typed_line import ask
from planck.cli.errors import UsageError
from planck.cli.tell.session_rows import make_rows
from planck.headless import Archive
from planck.records.outcome import ErrorKind

_CHOICES = 9
_ALONE = (
    "-r without a name asks which session to resume, which needs a terminal. "
    'Pass a name from "planck sessions list".'
)


def pick_session(archive: Archive) -> str:
    """Asks which of the newest sessions is meant, and returns its id; needs somebody to ask."""
    sessions = archive.sessions(limit=_CHOICES)
    if not sessions:
        raise UsageError(
            ErrorKind.NOT_FOUND, "This workspace has no session to resume. Leave out -r to start one."
        )
    width = shutil.get_terminal_size().columns
    indent = " " * 3
    shown: list[str] = []
    for at, line in enumerate(rows := [*make_rows(sessions, archive.now(), width - len(indent))]):
        number, rest = divmod(at * len(sessions), len(rows))
        shown.append(f"{indent if rest else f'{number + 1}  '}{line}")
    numbers = "1" if len(sessions) == 1 else f"1-{len(sessions)}"
    shown.append(f"Resume which session? ({numbers}, a name, or Enter to cancel)  ")
    answer = ask("\n".join(shown), without_terminal=_ALONE)
    if answer.isdecimal() and 1 <= int(answer) <= len(sessions):
        return sessions[int(answer) - 1].id
    if not answer:
        raise UsageError(ErrorKind.INVALID_ARGS, "No session was chosen. Name one with -r NAME.")
    return answer
