"""What a command that failed says of why: whether it was the sandbox, in one line for the model.

It is a guess from the words of the output, so nothing is decided by it but what is said and whether to ask.
"""

import os
import re
import shutil
import stat
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from planck.own_code import list_own, user_path
from planck.records.authority import PROTECTED, Confinement, Mode, Right
from planck.records.visible import fit_line
from planck.workspace.paths.paths import is_inside
from planck.workspace.sandbox.bubblewrap import PRIVATE
from planck.workspace.sandbox.view import CACHES

_READ_ONLY = r"read-only file ?system|\bEROFS\b"
_DENIED = r"permission denied|operation not permitted|insufficient permission|\bEACCES\b|\bEPERM\b"
_LOOKUP = (
    r"could ?n[o']t resolve|(?:failed|unable) to (?:resolve|lookup)|temporary failure (?:in name )?resol"
    r"|name or service not known|no address associated|nodename nor servname|no such host\b|unknown host"
    r"|host not found|name resolution|dns error|bad address '|\bENOTFOUND\b|\bEAI_AGAIN\b|\bgetaddrinfo\b"
)
_NETWORK = (
    r"network is (?:unreachable|down)|no route to host|connection refused|\bENETUNREACH\b|\bEHOSTUNREACH\b"
    r"|\bECONNREFUSED\b|(?:could ?n[o']t|cannot|can't|failed to|unable to) connect\b"
    r"|failed to establish a new connection"
)
_SOCKET = r"\.sock\b|\bunix:|\bdial unix\b|\bdaemon\b|\bagent\b|\bto bus\b|\bdisplay\b"
_TAKEN = r"file exists|no such device or address|device or resource busy|cross-device link"
"""What is said of a protected name that is absent, and of one that would be moved."""
_MISSING = r"no such file or directory|\bENOENT\b"
_NO_PROGRAM = (
    r"^(?:\S*sh: )?(?:line )?(?:\d+: )?([\w.+-]+): (?:command )?not found"
    r"|env: [‘']([\w.+-]+)[’']: no such"  # noqa: RUF001
)
_HOW_TO_SHOW = 'the user can add it to "permissions.readable"'
_QUOTED = r"'([^']+)'|\"([^\"]+)\"|‘([^’]+)’|`([^'`]+)['`]"  # noqa: RUF001  as coreutils writes it
_BARE = r"([^\s'\"‘’`:,;()\[\]]+)"  # noqa: RUF001
_SHELL = r"^\S*sh: (?:line )?\d+: "
"""How a shell begins what it says: with its own name, which is not the path that it speaks of."""
_MAX_NAME = 80
_MAX_LINES = 200
"""At the end of an output, where programs say why they failed."""
_REMOTE = r"\bport \d|\b(?:https?|ssh|git|ftp)://|[\w\]]:\d{2,5}\b"
"""A line that names a port or an address is not about a socket in the file system."""
_MOVES = r"\b(?:cd|pushd|popd)\b"


class Refusal(NamedTuple):
    text: str
    final: bool = False
    """No question to the user would change it."""


def find_refusal(output: str, command: str = "") -> str:
    """Returns the line that names a read-only file system, a missing permission, an unreachable network or
    a failed lookup; empty: there is none. A command that said nothing may be known to need more."""
    line = fit_line(_last(rf"{_READ_ONLY}|{_DENIED}|{_LOOKUP}|{_NETWORK}", output), 200)
    return line or ("no output" if _find_silent_needs(output, command) else "")


def _find_silent_needs(output: str, command: str) -> frozenset[Right]:
    """What one program is known to need that failed without a word, as `curl -s` and `git stash` do. Of
    several, `test -f x && git stash`, another may be the one that failed."""
    if re.sub(r"(?:\[no output\]\s*)?\[exit code -?\d+\]\s*$", "", output).strip():
        return frozenset()
    from planck.shell.plain import segments
    from planck.workspace.sandbox.needs import find_needs

    return find_needs(command) if len(segments(command) or ()) == 1 else frozenset()


def explain_refusal(output: str, rights: Confinement | None, command: str = "") -> Refusal | None:
    """What of the sandbox plausibly made a command fail; None: nothing did."""
    if rights is None or rights.mode is Mode.FULL:
        return None
    if line := _last(_READ_ONLY, output):
        if not _find_protected(line, rights.roots) and (found := _find_own(line, rights.roots)):
            return Refusal(f"{found} is part of the running Planck, which agents cannot change", final=True)
        return Refusal(_explain_read_only(line, rights))
    if not output.strip() and not rights.network and _fails_silently(command):
        return Refusal("there is no network here")
    text = _explain_other(output, rights, command)
    return Refusal(text) if text else None


def find_missing(output: str, writable: Iterable[str], command: str = "", cwd: str = "") -> frozenset[Right]:
    """What a command lacked that failed in the read-only sandbox without network; empty: nothing of that.

    `writable` are the folders that a permission to write would open, `cwd` is where it ran. Every line
    counts, so that one question names all. What can't be placed is taken for a need to leave the sandbox.
    """
    found: set[Right] = set()
    for line in _matching(rf"{_READ_ONLY}|{_DENIED}|{_LOOKUP}|{_NETWORK}", output):
        if re.search(rf"{_READ_ONLY}|{_DENIED}", line, re.IGNORECASE):
            found.add(_find_lacked(line, tuple(writable), command, cwd))
        else:
            found.add(Right.OUTSIDE if _is_socket(line) else Right.NETWORK)
    if not found:
        return _find_silent_needs(output, command)
    from planck.workspace.sandbox.needs import find_needs  # few commands are refused

    return frozenset(found) | find_needs(command)


def _find_lacked(line: str, writable: tuple[str, ...], command: str, cwd: str) -> Right:
    """What would let a command change the place that a line names."""
    if _names_protected(line, writable, cwd):
        return Right.OUTSIDE
    named = False
    for path in _paths(_drop_program(line)):
        named = True
        path = os.path.expanduser(path)
        # A relative path is from wherever the command went: only a folder above says that it may be outside.
        moved = not os.path.isabs(path) and bool(re.search(_MOVES, command))
        folder, name = os.path.split(os.path.join(cwd, path))
        if not moved and not is_inside(os.path.join(os.path.realpath(folder), name), writable):
            return Right.OUTSIDE
    said = re.search(_READ_ONLY, line, re.IGNORECASE)
    return Right.WRITE if named or said else Right.OUTSIDE


def _names_protected(line: str, writable: tuple[str, ...], cwd: str) -> bool:
    """Whether a line names what no sandbox writes. Below a root, a command may make a name like `sub/.git`
    that is not there."""
    for path in _paths(line):
        place = os.path.normpath(os.path.join(cwd, path))
        while place != (above := os.path.dirname(place)):
            if os.path.basename(place) in PROTECTED and (above in writable or os.path.lexists(place)):
                return True
            place = above
    return False


def _drop_program(line: str) -> str:
    """A line without the program that says it: its own path is not what it could not change."""
    first, colon, rest = line.partition(": ")
    return rest if colon and os.path.isfile(first) and os.access(first, os.X_OK) else line


def _is_socket(line: str) -> bool:
    """Whether a connection failed to a socket in the file system, which is not the network."""
    if re.search(_LOOKUP, line, re.IGNORECASE) or re.search(_REMOTE, line, re.IGNORECASE):
        return False
    return bool(re.search(_SOCKET, line, re.IGNORECASE))


def _fails_silently(command: str) -> bool:
    """Whether it may fail without a word where there is no network, as `curl -s` does."""
    from planck.workspace.sandbox.needs import find_needs

    return Right.NETWORK in find_needs(command)


def _explain_other(output: str, rights: Confinement, command: str) -> str:
    if not rights.network and (line := _last(rf"{_LOOKUP}|{_NETWORK}", output)):
        if _is_socket(line):
            return "the sockets of other programs are not available here"
        return "there is no network here"
    for line in _matching(rf"{_DENIED}|{_TAKEN}", output):
        if found := _find_protected(line, rights.roots):
            return f"{found} is read-only here"
    for line in _matching(rf"{_DENIED}|{_MISSING}", output):
        if found := _find_hidden(line, rights):
            return found
    if found := _find_hidden_program(output, rights):
        return found
    if rights.hidden and (found := _find_hidden_mention(f"{_spell_home(command)}\n{output}", rights)):
        return found
    if _last(r"operation not permitted|\bEPERM\b", output):
        return "Unix sockets and some system calls are blocked here"
    if (line := _last(_DENIED, output)) and (place := _find_outside(line, rights.roots)):
        return f"{place} is outside the workspace"
    return ""


def _explain_read_only(line: str, rights: Confinement) -> str:
    if found := _find_protected(line, rights.roots):
        return f"{found} is read-only here"
    if not rights.writable:
        return "everything is read-only here"
    if bound := [place for place in rights.writable if place not in rights.roots]:
        names = (_name(os.path.relpath(place, rights.roots[0])) for place in bound)
        return f"you can write only to {', '.join(names)} here"
    if place := _find_outside(line, rights.roots):
        return f"{place} is outside the workspace, and only the workspace is writable here"
    for path in _paths(line):
        if os.path.isabs(path) or "/" in path or "." in path:
            return f"{_name(path)} is read-only here"
    *others, last = PROTECTED
    return f"you can write only to the workspace here, and not to {', '.join(others)} or {last} in it"


def _find_protected(line: str, roots: tuple[str, ...]) -> str:
    for path in _paths(line):
        parts = path.split("/")
        for number, part in enumerate(parts, 1):
            if part in PROTECTED:
                place = "/".join(parts[:number])
                inside = [root for root in roots if is_inside(place, (root,))]
                return _name(os.path.relpath(place, max(inside, key=len)) if inside else place)
    return ""


def _find_own(line: str, roots: tuple[str, ...]) -> str:
    own = list_own(roots)
    for path in _paths(line) if own else ():
        real = os.path.realpath(os.path.join(roots[0], path))
        if is_inside(real, own):
            return _name(os.path.relpath(real, roots[0]))
    return ""


def _find_outside(line: str, roots: tuple[str, ...]) -> str:
    for path in _paths(line):
        if path.startswith("../") or (os.path.isabs(path) and not is_inside(path, roots)):
            return _name(path)
    return ""


def _find_hidden(line: str, rights: Confinement) -> str:
    """A place that is there for the user, and not for the command."""
    for path in _paths(line):
        path = os.path.normpath(
            os.path.join(rights.roots[0] if rights.roots else "/", os.path.expanduser(path))
        )
        real = os.path.realpath(path)
        if is_inside(real, (*rights.roots, *rights.shown, *rights.seen)):
            continue
        masked = [place for place in rights.masked if is_inside(real, (place,))]
        if masked:
            return f"{_name(masked[0])} is hidden here"
        if _is_missed(real, rights):
            return f"{_name(path)} is hidden here ({_HOW_TO_SHOW})"
        if not is_inside(real, PRIVATE):
            continue
        try:
            found = os.lstat(real)
        except OSError:
            continue
        if stat.S_ISSOCK(found.st_mode):
            return "the sockets of other programs are not available here"
        top = next(folder for folder in PRIVATE if is_inside(real, (folder,)))
        return f"{top} is a private, empty folder here"
    return ""


def _find_hidden_program(output: str, rights: Confinement) -> str:
    """A program that the user has, and the command has not."""
    for name in re.findall(_NO_PROGRAM, output, re.MULTILINE | re.IGNORECASE):
        found = shutil.which(next(filter(None, name)), path=user_path().get("PATH"))
        if found and _is_in_hidden_home(os.path.realpath(found), rights):
            return f"{_name(found)} is hidden here ({_HOW_TO_SHOW})"
    return ""


def _find_hidden_mention(said: str, rights: Confinement) -> str:
    """A place that is there for the user, in the words of whatever misses it: a full path, or one that
    leads out of the workspace."""
    homes = [home for home in rights.hidden if home not in rights.roots]
    caches = [f"{home}/{name}" for home in homes for name in CACHES]
    start = rights.roots[0] if rights.roots else "/"
    for line in said.splitlines()[-_MAX_LINES:]:
        if "/" not in line:
            continue
        for path in _paths(line):
            path = os.path.normpath(os.path.join(start, path.rpartition("=")[2]))
            # Empty folders stand for caches, and those above the workspace are there.
            above = any(is_inside(root, (path,)) for root in (*rights.roots, *homes))
            if is_inside(path, homes) and not above and not is_inside(path, caches):
                real = os.path.realpath(path)
                if _is_missed(real, rights):
                    return f"{_name(path)} is hidden here ({_HOW_TO_SHOW})"
    return ""


def _spell_home(command: str) -> str:
    home = os.path.expanduser("~")
    return re.sub(r"(?<![\w.~/])~(?=/)|\$HOME\b|\$\{HOME\}", lambda _: home, command)


def _is_missed(real: str, rights: Confinement) -> bool:
    """Whether it is hidden and there for the user, or would be made in a folder that is."""
    folder = os.path.dirname(real)
    holds = any(is_inside(root, (folder,)) for root in (*rights.roots, *rights.hidden))
    there = os.path.lexists(real) or (not holds and os.path.isdir(folder))
    return there and _is_in_hidden_home(real, rights)


def _is_in_hidden_home(real: str, rights: Confinement) -> bool:
    homes = tuple(home for home in rights.hidden if home not in rights.roots)
    return is_inside(real, homes) and not is_inside(real, (*rights.roots, *rights.shown, *rights.seen))


def _paths(line: str) -> Iterator[str]:
    """Whatever in a line may be a path: what is quoted first, then words."""
    line = re.sub(_SHELL, "", line)
    for groups in re.findall(_QUOTED, line):
        yield from filter(None, groups)
    for word in re.findall(_BARE, re.sub(_QUOTED, " ", line)):
        if "/" in word or word in PROTECTED:
            yield word.removeprefix("unix//") if word.startswith("unix//") else word


def _last(pattern: str, output: str) -> str:
    return next(iter(reversed(list(_matching(pattern, output)))), "")


def _matching(pattern: str, output: str) -> Iterable[str]:
    known = re.compile(pattern, re.IGNORECASE)
    return (line for line in output.splitlines() if known.search(line))


def _name(path: str) -> str:
    home = os.path.expanduser("~")
    if home != "/" and is_inside(path, (home,)):
        path = f"~{path[len(home) :]}"
    return fit_line(path, _MAX_NAME)
