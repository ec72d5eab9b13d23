"""Commands that go elsewhere: another session, a copy, an earlier place in this one, out."""

from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from planck.cli.chat.past import list_prompts
from planck.cli.session import read_options
from planck.cli.tell.blocks import say, say_rows
from planck.cli.tell.session_rows import make_choices, make_rows
from planck.records import codec
from planck.records.specs import RunOptions
from planck.records.visible import fit_line

if TYPE_CHECKING:
    from planck.cli.chat.talk import Talk

_LISTED = 200


class _Began(msgspec.Struct):
    team: str = ""


def _read_for_resume(talk: "Talk") -> RunOptions:
    """Returns what the command line says of a session that has a model of its own."""
    return replace(read_options(talk.options), model="")


async def run_new(talk: "Talk", rest: str) -> None:
    await _start(talk, team=rest)


async def _start(talk: "Talk", **chosen: str) -> None:
    options = replace(read_options(talk.options), **{**chosen, "name": ""})
    session = await talk.planck.start(settings=options)
    before = "" if talk.is_empty else talk.session.name
    await talk.change(session)
    talk.greet()
    if before:
        say(talk.frontend, f"Previous session: /resume {before}", "dim")


async def run_clear(talk: "Talk", rest: str) -> None:
    """Keeps what was chosen for the conversation: its team, or its model, and the permission mode."""
    began = codec.decode_as(bytes(next(talk.session.recorded()).data), _Began)
    model = talk.session.orchestrator.model
    own = {} if began.team else {"model": model.label, "effort": str(model.params.get("effort", ""))}
    talk.frontend.clear()
    await _start(talk, team=began.team, mode=talk.mode, **own)


async def run_resume(talk: "Talk", rest: str) -> None:
    if not rest:
        archive = talk.planck.archive
        sessions = [info for info in archive.sessions(limit=_LISTED) if info.id != talk.session.id]
        if not talk.frontend.live or not sessions:
            await run_sessions(talk, "")
            return
        rows = make_choices(sessions, archive.now(), talk.frontend.width - 2)
        chosen = await talk.frontend.choose("Resume which session?", rows)
        if chosen is None:
            return
        rest = sessions[chosen].id
    elif rest in (talk.session.id, talk.session.name):
        say(talk.frontend, "You are already in this session.")
        return
    await talk.change(await talk.planck.reopen(rest, _read_for_resume(talk)))
    talk.greet()
    await talk.show_past()


async def run_sessions(talk: "Talk", rest: str) -> None:
    archive = talk.planck.archive
    if rest:
        hits = list(archive.search(rest, limit=20))
        say_rows(
            talk.frontend,
            [
                f"{hit.session_name} #{hit.seq} {hit.agent or hit.type}: {fit_line(hit.excerpt, 300)}"
                for hit in hits
            ],
        )
        if not hits:
            say(talk.frontend, f"No session contains {rest!r}.")
        return
    sessions = archive.sessions(limit=_LISTED)
    say_rows(
        talk.frontend, list(make_rows(sessions, archive.now(), talk.frontend.width, head=talk.frontend.live))
    )
    say(talk.frontend, "/resume NAME resumes a session. /sessions TEXT searches the sessions.", "dim")


async def run_fork(talk: "Talk", rest: str) -> None:
    before = talk.session.name
    copied = await talk.planck.archive.fork(talk.session.id, name=rest)
    await talk.change(await talk.planck.reopen(copied.id, _read_for_resume(talk)))
    talk.greet()
    say(talk.frontend, f"Forked from {before}, which stays unchanged. Return with /resume {before}.", "dim")


async def run_transcript(talk: "Talk", rest: str) -> None:
    from planck.cli.tell.transcript import read_transcript

    lines = await read_transcript(talk.session)
    if not lines:
        say(talk.frontend, "There are no messages yet.")
        return
    await talk.frontend.page(f"Transcript of {talk.session.name}", lines, at_end=True)


async def run_rename(talk: "Talk", rest: str) -> None:
    if not rest:
        say(talk.frontend, f"This session is named {talk.session.name}. /rename NAME renames it.")
        return
    await talk.session.rename(rest)
    say(talk.frontend, f"Renamed to {talk.session.name}.")


async def run_rewind(talk: "Talk", rest: str) -> None:
    """Puts a past message into the input; sent again, it goes on from where that one was said."""
    words = rest.split()
    files = "--files" in words
    numbers = [word for word in words if word != "--files"]
    prompts = await list_prompts(talk.session)
    if not prompts:
        say(talk.frontend, "There are no messages yet.")
        return
    rows = [f"{number}  {fit_line(one.text, 200)}" for number, one in enumerate(prompts, 1)]
    if not numbers and talk.frontend.live:
        title = "Rewind to which message?" + (" Files are restored too." if files else "")
        chosen = await talk.frontend.choose(title, rows[::-1])
        at = None if chosen is None else len(rows) - 1 - chosen
    elif not numbers:
        say_rows(talk.frontend, rows)
        say(
            talk.frontend, "/rewind N returns to a message. /rewind N --files also restores the files.", "dim"
        )
        return
    else:
        at = int(numbers[0]) - 1 if numbers[0].isdecimal() else -1
        if not 0 <= at < len(rows) or len(numbers) > 1:
            which = "1" if len(rows) == 1 else f"a number from 1 to {len(rows)}"
            say(talk.frontend, f"Use /rewind N [--files], where N is {which}.", "yellow")
            return
    if at is None:
        return
    talk.rewind_to = (prompts[at].before, files)
    talk.frontend.edit(prompts[at].text)
    kept = "Files are restored too." if files else "Files stay unchanged (/rewind N --files restores them)."
    say(talk.frontend, f"Edit message {at + 1} and send it to continue from there. {kept}", "dim")


async def run_exit(talk: "Talk", rest: str) -> None:
    talk.leave()
