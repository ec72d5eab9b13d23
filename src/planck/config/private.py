"""Places that no agent may see: secrets in the user's home, homes of programs like ours, Planck's own.

A command in the sandbox sees nothing of a home but what is `shown`. The lists of secrets hold where a home is
not hidden as a whole: in the file tools, in a workspace that is a home, and in what the user makes readable.
"""

import os
import pwd
import stat
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from planck.own_code import follow
from planck.workspace.paths.paths import is_inside

SECRETS = (
    *(".ssh", ".gnupg", ".password-store", ".local/share/keyrings", ".config/op", ".vault-token"),
    *(".aws", ".azure", ".config/gcloud", ".kube", ".docker", ".terraform.d"),
    *(".netrc", ".npmrc", ".pypirc", ".cargo/credentials.toml", ".gem/credentials", ".pgpass", ".my.cnf"),
    *(".git-credentials", ".config/git/credentials", ".config/gh"),
    *(".mozilla", ".config/google-chrome", ".config/chromium"),
    *(".claude.json", ".config/io.datasette.llm", ".cache/huggingface/token", ".aider.conf.yml"),
    *(".config/github-copilot", ".local/share/opencode", ".local/share/goose", ".local/share/crush"),
    *(".local/share/amp", ".config/anthropic", ".config/openai"),
)
"""In the user's home: no agent reads them, whatever else of the home it sees."""
_AGENTS = (
    *(".claude", ".codex", ".gemini", ".qwen", ".kimi", ".vibe", ".grok", ".pi", ".copilot", ".cursor"),
    *(".continue", ".codeium", ".windsurf", ".factory", ".kiro", ".amazonq", ".augment", ".iflow", ".roo"),
    *(".config/opencode", ".config/goose", ".config/crush", ".config/amp", ".opencode", ".goose", ".amp"),
)
"""Homes of programs like ours: keys and conversations, beside what agents may use."""
_READABLE_OF_AGENTS = ("skills", "agents", "commands")
_SHARED_BY_AGENTS = ".agents"
"""Holds the same, and no keys."""
_READABLE = ("tools", "skills", "teams", "sidecar", "cache")
"""In Planck's own home: what agents may use. All else is ours: keys, sessions, approvals."""
CLONES = "work"
"""In Planck's own home: one folder for each session that a pool works on in a clone."""


_OTHER_HOMES = ("/root", "/home", "/mnt/c/Users")
_FIRST_USER = 1000
"""Numbers from there on are people's."""
_SYSTEM = (
    *(
        "/usr",
        "/etc",
        "/bin",
        "/sbin",
        "/lib",
        "/lib32",
        "/lib64",
        "/libx32",
        "/dev",
        "/proc",
        "/sys",
        "/run",
    ),
    *("/boot", "/nix", "/snap"),
)
_WIDE = ("/var", "/opt", "/srv", "/tmp", "/var/tmp", "/var/lib", "/mnt", "/media")
"""Services have their homes below them."""


class Private(msgspec.Struct, frozen=True):
    """Paths, there or not: what comes in the middle of a session is private from then on."""

    masked: tuple[str, ...]
    """Canonical."""
    shown: tuple[str, ...]
    """Canonical files and folders in masked or hidden ones that stay readable, and links that lead there."""
    hidden: tuple[str, ...] = ()
    """Canonical homes, of which a command sees only what is shown."""


def list_user_homes(environ: Mapping[str, str]) -> tuple[str, ...]:
    """Returns the user's homes: `HOME` where it is a full path, and what the system says.

    They differ under sudo and in services, and both may hold keys.
    """
    homes = [environ.get("HOME", "")]
    with suppress(KeyError):  # a container's user may not be listed
        homes.append(pwd.getpwuid(os.geteuid()).pw_dir)
    return tuple(dict.fromkeys(filter(os.path.isabs, homes))) or ("/",)


def private_places(
    home: Path,
    environ: Mapping[str, str],
    sessions_dir: str = "",
    readable: Iterable[str | Path] = (),
    roots: Sequence[str] = (),
    *,
    programs: bool = True,
) -> Private:
    """`readable` is what the user names; in the `roots` agents write, so that nothing there opens a place.

    Without `programs` it is for file tools, which need none of them, and takes no look at `PATH`.
    """
    users = [*map(Path, list_user_homes(environ))]
    places = [home, *(user / name for user in users for name in (*SECRETS, *_AGENTS))]
    if sessions_dir:
        places.append(Path(sessions_dir).expanduser())
    if agent := environ.get("SSH_AUTH_SOCK"):
        places.append(Path(agent).parent)
    hidden = _list_hidden(environ)
    masked = _resolve(places)
    named = [_expand(str(place), users[0]) for place in readable]
    ours = _resolve([home, *([Path(sessions_dir).expanduser()] if sessions_dir else ())])
    opened = {*map(os.path.realpath, named)}.difference(ours)
    masked = tuple(place for place in masked if place not in opened)
    kept = [home / name for name in _READABLE]
    folders = (*_AGENTS, _SHARED_BY_AGENTS)
    kept += [user / folder / name for user in users for folder in folders for name in _READABLE_OF_AGENTS]
    shown = {os.path.realpath(place) for place in kept} | opened
    if hidden and programs:
        from planck.config.toolchains import find_keys, find_toolchains  # only commands need it
        from planck.workspace.git.checkout import list_outside

        own = _find_users(environ)
        # Commands need the rest to run at all: programs, and the links by which they are found.
        there = [place for place in map(str, kept) if os.path.lexists(place)]
        ways = [*map(str, users), *there, *named, *find_toolchains(own, hidden, environ, masked, roots)]
        ways += [sys.prefix, sys.base_prefix, os.path.dirname(os.path.dirname(os.path.dirname(__file__)))]
        ways += [link for place in there for link in _list_links(place)]
        ways += [git for root in roots for git in list_outside(root) if os.path.dirname(git) not in hidden]
        for way in ways:
            *links, end = follow(way)
            shown.update(link for link in links if is_inside(link, hidden))
            if is_inside(end, hidden) and not any(is_inside(place, (end,)) for place in (*hidden, *ours)):
                shown.add(end)
        keys = {*map(os.path.realpath, find_keys(own, hidden, environ))}.difference(opened)
        masked = tuple(sorted({*masked, *keys}))
        shown = _outermost(shown, masked, home)
    return Private(masked, tuple(sorted(shown)), hidden)


def _outermost(places: Iterable[str], masked: Sequence[str], home: Path) -> set[str]:
    """Without what is shown with the folder that it lies in, or is not there; ours may be made later."""
    kept: list[str] = []
    for place in sorted(places):
        if is_inside(place, kept) and not is_inside(place, masked):
            continue
        if os.path.lexists(place) or is_inside(place, (str(home),)):
            kept.append(place)
    return {*kept}


def _expand(name: str, user: Path) -> str:
    return str(user / name[2:]) if name == "~" or name.startswith("~/") else os.path.expanduser(name)


def _list_links(folder: str) -> Iterator[str]:
    """Skills are often links to where another program keeps them."""
    try:
        with os.scandir(folder) as entries:
            yield from (entry.path for entry in entries if entry.is_symlink())
    except OSError:
        return


def _list_hidden(environ: Mapping[str, str]) -> tuple[str, ...]:
    """Returns every home that can be hidden: the user's, those of people, and where they usually are."""
    own = [*map(os.path.realpath, list_user_homes(environ))]
    others = [*_OTHER_HOMES, *_read_homes()]
    found = [place for place in dict.fromkeys(map(os.path.realpath, (*own, *others))) if _can_hide(place)]
    return tuple(
        place
        for place in found
        if place in own or not any(is_inside(place, (other,)) for other in found if other != place)
    )


def _read_homes() -> list[str]:
    """By the file and not by `pwd`, which asks a directory service for everybody."""
    homes = []
    with suppress(OSError), open("/etc/passwd", errors="replace") as file:
        for line in file:
            fields = line.split(":")
            if len(fields) > 5 and fields[2].isdecimal() and int(fields[2]) >= _FIRST_USER:
                homes.append(fields[5])
    return [home for home in homes if os.path.isabs(home) and os.path.isdir(home)]


def _can_hide(place: str) -> bool:
    """Whether the system runs without it: a service's home may be `/` or `/usr/sbin`."""
    return not is_inside(place, _SYSTEM) and not any(is_inside(one, (place,)) for one in (*_SYSTEM, *_WIDE))


def find_homes(home: Path, environ: Mapping[str, str]) -> tuple[str, ...]:
    """Returns the user's homes and Planck's own, canonical."""
    return _resolve((*map(Path, list_user_homes(environ)), home))


def find_private(
    folder: Path | str,
    home: Path,
    environ: Mapping[str, str],
    sessions_dir: str = "",
    *,
    strict: bool = False,
) -> str:
    """Returns the private place that a folder is or lies in; empty if none.

    Folders are compared by identity and by text: a link, a mount or another spelling names the same folder.
    Folders that agents may read, and Planck's clones, are not private unless `strict`: nobody submits those.
    """
    real = os.path.realpath(folder)
    above = {mark for path in (real, *map(str, Path(real).parents)) if (mark := _mark(path))}
    closed = _list_closed(real, home, environ, sessions_dir)
    found = next((place for place in closed if _holds(place, real, above)), "")
    if not found or strict:
        return found
    if any(os.path.relpath(found, user) in _AGENTS for user in _find_users(environ)):
        shown = (os.path.join(found, name) for name in _READABLE_OF_AGENTS)
        return "" if any(_holds(place, real, above) for place in shown) else found
    clones = os.path.join(home, CLONES)
    return "" if _holds(clones, real, above) and not _is_same(clones, real) else found


def _list_closed(real: str, home: Path, environ: Mapping[str, str], sessions_dir: str) -> Iterator[str]:
    """Yields the places that a folder may lie in, but none that holds a home with its projects."""
    users = _find_users(environ)
    for user in users:
        names: Iterable[str] = (*SECRETS, *_AGENTS)
        with suppress(OSError):  # most are not there: one look at the home saves one at each of them
            first = os.path.relpath(real, user).split("/")[0]
            there = {name.casefold() for name in (*os.listdir(user), first)}
            names = [name for name in names if name.partition("/")[0] in there]
        yield from (os.path.join(user, name) for name in names)
    wide = [str(home), os.path.join(home, "sessions")]
    if sessions_dir:
        wide.append(os.path.expanduser(sessions_dir))
    if agent := environ.get("SSH_AUTH_SOCK"):
        folder = os.path.dirname(os.path.abspath(agent))
        if not _is_shared(folder):
            wide.append(folder)
    for place in map(os.path.realpath, wide):
        if not any(is_inside(user, (place,)) for user in users):
            yield place


def _find_users(environ: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(map(os.path.realpath, list_user_homes(environ))))


def _holds(place: str, real: str, above: set[tuple[int, int]]) -> bool:
    return is_inside(real, (place,)) or _mark(place) in above


def _is_same(place: str, real: str) -> bool:
    return real == os.path.realpath(place) or (_mark(place) is not None and _mark(place) == _mark(real))


def _mark(path: str) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return None
    return found.st_dev, found.st_ino


def _is_shared(folder: str) -> bool:
    """Whether everybody keeps files there, as in /tmp: an agent's socket does not make it private."""
    try:
        return bool(os.stat(folder).st_mode & stat.S_ISVTX)
    except OSError:
        return False


def _resolve(places: Iterable[Path]) -> tuple[str, ...]:
    return tuple(sorted({os.path.realpath(place) for place in places}))
