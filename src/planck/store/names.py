"""Names of sessions: in the names of their files, and for those that nobody named."""

import os
import re
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

from planck.records.outcome import ErrorKind, say_option
from planck.records.ports import Ids
from planck.store.store import SessionError

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
BEGINNING = 4
"""So many characters of an id at least: fewer would be a random one's by chance."""
CANDIDATES = 5
"""Named where it is not clear which session is meant."""
_TRIES = 8
"""Random names that may be taken, before longer ones are tried."""

_ADJECTIVES = (
    "able amber ample apt arctic autumn azure bold brave bright brisk bronze calm candid clear clever "
    "coastal copper coral cosmic crisp daring deep eager early easy even fair fast fine firm fleet fond "
    "frank free fresh gentle glad golden grand great green happy hardy honest humble ivory jolly keen "
    "kind late lean level light lively loyal lucid lunar major mellow merry mild misty modest neat nimble "
    "noble north open patient plain polar prime proud quick quiet rapid rare ready robust rosy round "
    "royal rustic sage silent silver simple sleek smooth solar solid sound south spare spry steady still "
    "stout sturdy subtle summer sunny sure swift tidy tranquil true vast vivid warm wise young"
)

_NOUNS = (
    "acorn alder anchor apple arbor ash aspen aurora badger bamboo basin bay beacon birch bison bloom "
    "breeze bridge brook canyon cedar cherry cliff cloud clover comet cove crane creek dawn delta dove "
    "dune eagle ember falcon fern field finch fjord flint forest fox garden glacier grove harbor hawk "
    "hazel heron hill horizon iris island ivy jay juniper kelp lagoon lake lark laurel leaf lily linden "
    "lotus lynx maple marsh meadow mesa mist moon moss mountain nova oak oasis ocean olive orbit orchid "
    "otter owl panda pebble pine planet plum pond poplar prairie quail quartz rain raven reef ridge river "
    "robin rock rose sail salmon seal shore sparrow spring spruce star stone stream summit swan thistle "
    "tide trail tulip valley violet walnut wave willow wind wren"
)


def new_name(ids: Ids) -> str:
    """`<adjective>-<noun>`; about 14,000 of them, so the caller checks whether it is taken."""
    number = int(ids.new(), 16)
    adjectives, nouns = _list_words()
    return f"{adjectives[number % len(adjectives)]}-{nouns[number // 1009 % len(nouns)]}"


@cache
def _list_words() -> tuple[list[str], list[str]]:
    return _ADJECTIVES.split(), _NOUNS.split()


def name_in(path: Path) -> str:
    """Returns the session's name as its file name has it, which is what finds it."""
    return path.stem.partition("_")[2]


def id_in(path: Path) -> str:
    """Returns the session's id as its file name has it."""
    return path.name.partition("_")[0]


def new_names(ids: Ids) -> Iterator[str]:
    """Yields names without an end; once so many are taken that a pair of words is no name, longer ones."""
    for _ in range(_TRIES):
        yield new_name(ids)
    while True:
        yield f"{new_name(ids)}-{ids.new()[-4:]}"


def is_valid_name(name: str) -> bool:
    return _NAME.fullmatch(name) is not None


def check_name(wanted: str) -> None:
    if not is_valid_name(wanted):
        raise SessionError(
            ErrorKind.INVALID_ARGS,
            f"{wanted!r} is not a valid session name. Use at most 64 letters, digits, '.', '_' and '-'.",
        )


def check_id(wanted: str) -> None:
    """Raises for what can't be the id of a session: it is a part of a file's name, in front of `_`."""
    if not is_valid_name(wanted) or "_" in wanted:
        raise SessionError(
            ErrorKind.INVALID_ARGS,
            f"{wanted[:100]!r} is not a valid session id. Use at most 64 letters, digits, '.' and '-'.",
        )


def refuse_taken_id(id: str) -> SessionError:
    return SessionError(
        ErrorKind.NOT_UNIQUE,
        f"A session with the id {id!r} already exists. Choose another id, or resume that session.",
    )


def refuse_taken(name: str) -> SessionError:
    return SessionError(
        ErrorKind.NOT_UNIQUE,
        f"A session named {name!r} already exists. Choose another name, or "
        f"resume it with {say_option(f'-r {name}', f'Planck.resume({name!r})')}.",
    )


def refuse_unknown(id_or_name: str) -> SessionError:
    return SessionError(
        ErrorKind.NOT_FOUND, f'Session not found: {id_or_name!r}. Run "planck sessions list --all".'
    )


def refuse_foreign(id: str) -> SessionError:
    return SessionError(
        ErrorKind.NOT_FOUND, f'Session not found in this workspace: {id!r}. Run "planck sessions list".'
    )


def refuse_unclear(text: str, found: Sequence[tuple[str, str]]) -> SessionError:
    """`found`: the ids and names that it may be, no more than `CANDIDATES`."""
    named = ", ".join(f"{name} ({id})" for id, name in found)
    more = " and more" if len(found) == CANDIDATES else ""
    return SessionError(
        ErrorKind.NOT_UNIQUE,
        f"{text!r} matches several sessions: {named}{more}. Type more of the name or the id.",
        {"candidates": [id for id, _ in found]},
    )


def is_same_place(recorded: str, workspace: Path) -> bool:
    """True whatever link either was reached by."""
    return bool(recorded) and (
        recorded == str(workspace) or os.path.realpath(recorded) == os.path.realpath(workspace)
    )
