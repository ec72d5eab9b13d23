"""What commands are known to need beyond reading in the sandbox, by their words.

It decides only which permissions a question names at once: an installer that failed to look up a host would
fail again when it writes. What no row names is learned from what the command says when it fails.
"""

import re
from collections.abc import Mapping, Sequence

from planck.records.authority import Right

Needs = frozenset[Right]

_NONE: Needs = frozenset()
_REACHES: Needs = frozenset({Right.NETWORK})
_FETCHES: Needs = frozenset({Right.NETWORK, Right.WRITE})
_LEAVES: Needs = frozenset({Right.OUTSIDE})
_CONNECTS: Needs = frozenset({Right.NETWORK, Right.OUTSIDE})
"""With keys of the user that the sandbox hides."""


def find_needs(command: str) -> Needs:
    """Returns what the programs that a line starts are known to need; empty: nothing is known."""
    from planck.shell.plain import segments  # what reads bash is large
    from planck.shell.reach import find_reach

    found = _NONE
    for words in find_reach(command, segments(command)).commands:
        found |= _look_up([word.text for word in words])
    return found


def _look_up(words: Sequence[str]) -> Needs:
    if not words:
        return _NONE
    program = re.sub(r"(?<=\D)\d[\d.]*$", "", words[0].rpartition("/")[2])
    rest = words[1:]
    if program == "python" and rest[:1] == ["-m"]:
        return _look_up(rest[1:])
    if program == "curl":
        return _FETCHES if any(re.match(_CURL_WRITES, word) for word in rest) else _REACHES
    row = _PROGRAMS.get(program, _NONE)
    if isinstance(row, frozenset):
        return row
    verb = _find_verb(program, rest)
    if program == "uv" and verb == "pip":
        return _look_up(rest[rest.index(verb) :])
    return row.get(verb, _NONE)


def _find_verb(program: str, rest: Sequence[str]) -> str:
    from planck.shell.programs import find_program

    valued, skips = find_program(program).valued, False
    for word in rest:
        if skips or word.startswith("-"):
            skips = not skips and word in valued
        else:
            return word
    return ""


def _rows(*rows: tuple[str, Needs]) -> Mapping[str, Needs]:
    return {word: needs for words, needs in rows for word in words.split(" ")}


_CURL_WRITES = r"-[A-Za-z]*[oO]|--output|--remote-name"
_PROGRAMS: Mapping[str, Needs | Mapping[str, Needs]] = {
    "wget": _FETCHES,
    **dict.fromkeys(("dig", "host", "nslookup", "whois", "telnet", "nc", "ftp"), _REACHES),
    **dict.fromkeys(("ssh", "scp", "sftp", "gh"), _CONNECTS),
    **dict.fromkeys(("sudo", "su", "doas", "docker", "podman", "systemctl"), _LEAVES),
    "git": _rows(
        # `.git` is protected: no sandbox writes it.
        ("add am checkout cherry-pick commit merge mv rebase reset restore revert rm stash switch", _LEAVES),
        ("fetch pull push submodule", _CONNECTS),
        ("clone", _FETCHES),
        ("ls-remote", _REACHES),
    ),
    "pip": _rows(("install download wheel", _FETCHES), ("index", _REACHES)),
    "uv": _rows(("sync add remove lock tool", _FETCHES)),
    "poetry": _rows(("install add update lock sync", _FETCHES)),
    "pipenv": _rows(("install sync update lock", _FETCHES)),
    "npm": _rows(
        ("install i ci add update", _FETCHES), ("view audit search publish ping outdated", _REACHES)
    ),
    "pnpm": _rows(("install i add update", _FETCHES)),
    "yarn": _rows((" install add upgrade up", _FETCHES)),
    "bun": _rows(("install i add update", _FETCHES)),
    "cargo": _rows(("fetch add update install", _FETCHES), ("search publish", _REACHES)),
    "go": _rows(("get", _FETCHES)),
    "bundle": _rows(("install update", _FETCHES)),
    "gem": _rows(("install update", _FETCHES)),
    "composer": _rows(("install update require", _FETCHES)),
}
"""By the program, or by what its first word says that it does."""
