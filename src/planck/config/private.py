"""Places that no agent may see: secrets in the user's home, homes of programs like ours, Planck's own."""

import os
import pwd
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

import msgspec

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
"""In the user's home: no command of an agent reads them."""
_AGENTS = (
    *(".claude", ".codex", ".gemini", ".qwen", ".kimi", ".vibe", ".grok", ".pi", ".copilot", ".cursor"),
    *(".continue", ".codeium", ".windsurf", ".factory", ".kiro", ".amazonq", ".augment", ".iflow", ".roo"),
    *(".config/opencode", ".config/goose", ".config/crush", ".config/amp", ".opencode", ".goose", ".amp"),
)
"""Homes of programs like ours: keys and conversations, beside what agents may use."""
_READABLE_OF_AGENTS = ("skills", "agents", "commands")
_READABLE = ("tools", "skills", "teams", "sidecar", "cache")
"""In Planck's own home: what agents may use. All else is ours: keys, sessions, approvals."""
CLONES = "work"
"""In Planck's own home: one folder for each session that a pool works on in a clone."""


class Private(msgspec.Struct, frozen=True):
    """Canonical paths, there or not: what comes in the middle of a session is private from then on."""

    masked: tuple[str, ...]
    shown: tuple[str, ...]
    """Folders below masked ones that stay readable."""


def list_user_homes(environ: Mapping[str, str]) -> tuple[str, ...]:
    """Returns the user's homes: `HOME` where it is a full path, and what the system says.

    They differ under sudo and in services, and both may hold keys.
    """
    homes = [environ.get("HOME", "")]
    with suppress(KeyError):  # a container's user may not be listed
        homes.append(pwd.getpwuid(os.geteuid()).pw_dir)
    return tuple(dict.fromkeys(filter(os.path.isabs, homes))) or ("/",)


def private_places(home: Path, environ: Mapping[str, str], sessions_dir: str = "") -> Private:
    users = [*map(Path, list_user_homes(environ))]
    places = [home, *(user / name for user in users for name in (*SECRETS, *_AGENTS))]
    if sessions_dir:
        places.append(Path(sessions_dir).expanduser())
    if agent := environ.get("SSH_AUTH_SOCK"):
        places.append(Path(agent).parent)
    shown = [home / name for name in _READABLE]
    shown += [user / folder / name for user in users for folder in _AGENTS for name in _READABLE_OF_AGENTS]
    return Private(_resolve(places), _resolve(shown))


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
