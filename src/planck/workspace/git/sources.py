"""One spelling for each repository: what is compared with a list of repositories is exactly what is cloned.

SourceError     not a repository, or not a ref
"""

import os
import re
from contextlib import suppress
from fnmatch import fnmatchcase
from urllib.parse import quote, unquote

import msgspec

from planck.own_code import follow
from planck.records.outcome import ErrorKind, PlanckError
from planck.workspace.paths.regular import read_regular

_REF = re.compile(r"[A-Za-z0-9][A-Za-z0-9_./+-]{0,200}")
_REF_PATTERN = re.compile(r"[A-Za-z0-9*][A-Za-z0-9_./+*-]{0,200}")
_URL = re.compile(r"(?P<scheme>[A-Za-z+*]+)://(?:(?P<user>[^/@]*)@)?(?P<rest>[^/]*)(?P<path>/.*)?", re.DOTALL)
_PORT = re.compile(r"(?P<host>.*?)(?::(?P<port>[0-9*]*))?", re.DOTALL)
_SCP = re.compile(r"(?P<user>[A-Za-z0-9_.*-]+)@(?P<host>[A-Za-z0-9_.*-]+):(?P<path>.+)", re.DOTALL)
_HOST = re.compile(r"[a-z0-9_]([a-z0-9_.-]*[a-z0-9_-])?|\[[0-9a-f:.]+\]")
_USER = re.compile(r"[A-Za-z0-9_.~!$&'()*+,;=:%][A-Za-z0-9_.~!$&'()*+,;=:%-]*")
_SCP_LIKE = "@"
"""The scheme of user@host:path, which no URL has."""
_PORTS = {"http": "80", "https": "443", "ssh": "22", "git": "9418"}
_SAFE = "/~+,=@:!$&'()*"


class SourceError(PlanckError):
    """Not a repository that can be cloned, or not a ref of one."""


class Source(msgspec.Struct, frozen=True):
    """A repository in its canonical form; without a scheme it is a folder of this machine."""

    scheme: str
    user: str
    host: str
    port: str
    path: str

    @property
    def address(self) -> str:
        """What git is given."""
        if not self.scheme:
            return self.path
        if self.scheme == _SCP_LIKE:
            return f"{self.user}@{self.host}:{self.path}"
        user, port = self.user and f"{self.user}@", self.port and f":{self.port}"
        return f"{self.scheme}://{user}{self.host}{port}{quote(self.path, safe=_SAFE)}"

    @property
    def shown(self) -> str:
        """The address without a user or password, for messages."""
        return msgspec.structs.replace(self, user="").address if self.scheme in _PORTS else self.address

    def matches(self, wanted: "str | Source") -> bool:
        """Whether a list's entry names it. A `*` stays in its part of an address: host, path and so on."""
        if isinstance(wanted, str):
            found = read_pattern(wanted)
            return found is not None and self.matches(found)
        mine, theirs = msgspec.structs.astuple(self), msgspec.structs.astuple(wanted)
        return all(
            value == part or fnmatchcase(value, part) for value, part in zip(mine, theirs, strict=True)
        )


def read_pattern(entry: str) -> Source | None:
    """Returns what an entry of a list names, with the links of a path resolved as they are now.

    None: it has no scheme and is not a path, so it would match a path on any host.
    """
    if entry == "*":
        return Source("*", "*", "*", "*", "*")
    if path := _pattern_path(entry):
        return Source("", "", "", "", _resolve_pattern(path))
    if found := _split(entry):
        with suppress(SourceError):  # a pattern that no path matches is left as it is
            found = msgspec.structs.replace(found, path=_normalise(found, entry))
    return found


def list_link_folders(entry: str) -> list[str]:
    """Returns the canonical folders of the links that an entry leads through, before its first `*`."""
    path = re.split(r"/(?=[^/]*[*?[])", _pattern_path(entry), maxsplit=1)[0]
    return [os.path.dirname(link) for link in follow(path)][:-1] if path else []


def _pattern_path(entry: str) -> str:
    return unquote(entry[7:]) if entry.startswith("file:///") else entry if entry.startswith("/") else ""


def read_source(repo: str, ref: str = "") -> Source:
    """Returns the canonical form of an address or an absolute path; raises for anything else.

    A path is resolved on this machine: its links and `..` are followed here, not by git later.
    """
    if ref and not (_REF.fullmatch(ref) and ".." not in ref):
        raise SourceError(
            ErrorKind.INVALID_ARGS, f"{ref[:200]!r} is not a valid branch, tag or commit; correct it"
        )
    path = read_path(repo)
    if path:
        return Source("", "", "", "", os.path.realpath(path))
    found = None if re.search(r"[\s\x00-\x1f\x7f]", repo) else _split(repo)
    if found is None or found.scheme not in (*_PORTS, _SCP_LIKE):
        raise _refuse(repo, "use a URL (https, ssh, file), or an absolute path that every node can read")
    if not _HOST.fullmatch(found.host) or (found.user and not _USER.fullmatch(found.user)):
        raise _refuse(repo, "its host or user contains characters that are not allowed; remove them")
    if not re.fullmatch(r"[0-9]{0,5}", found.port):
        raise _refuse(repo, "its port is not a number; correct it")
    return msgspec.structs.replace(found, path=_normalise(found, repo))


def read_path(repo: str) -> str:
    """Returns the path of a folder of this machine, as it was given; empty if it is an address elsewhere."""
    if repo[:7].lower() == "file://":
        path = unquote(repo[7:], errors="surrogateescape")
        if not path.startswith("/"):
            raise _refuse(repo, "a file URL cannot name a host; use file:///PATH")
    else:
        path = repo if repo.startswith("/") else ""
    if "\0" in path or "\n" in path:
        raise _refuse(repo, "a path cannot contain line breaks or NUL characters; remove them")
    return path


def split_entry(entry: str) -> tuple[str, str]:
    """Returns the repository and the ref of an entry of `node.trust`: REPO means its default branch.

    REPO#NAME is a branch, REPO#refs/tags/NAME any other ref; `*` stands for any part.
    """
    repo, sign, ref = entry.rpartition("#")
    if not sign or (ref and not _REF_PATTERN.fullmatch(ref)):
        return entry, "HEAD"
    return repo, ref if ref.startswith("refs/") or ref == "HEAD" else f"refs/heads/{ref}" if ref else "HEAD"


class GitFolder(msgspec.Struct, frozen=True):
    """Where git finds a repository on this machine; both paths are canonical."""

    own: str
    """What git is given."""
    common: str
    """Where refs and objects are: in a linked worktree the folder of the repository that it belongs to."""


def find_git_folder(folder: str) -> GitFolder | None:
    """Returns the git folder of a folder that git itself takes for a repository, else None.

    `.git` may be a link, or a file that names another folder. Names with a suffix are not tried, as git does.
    """
    for place in (os.path.join(folder, ".git"), folder):
        place = os.path.realpath(place)
        if os.path.isfile(place):
            named = _read_line(place)
            if not named.startswith("gitdir: "):
                continue
            place = os.path.realpath(os.path.join(os.path.dirname(place), named[8:]))
        common = place
        if os.path.lexists(named := os.path.join(place, "commondir")):
            if not (line := _read_line(named)):
                continue
            common = os.path.realpath(os.path.join(place, line))
        parts = (os.path.join(common, name) for name in ("objects", "refs"))
        if _HEAD.match(_read_line(os.path.join(place, "HEAD"))) and all(map(os.path.isdir, parts)):
            return GitFolder(place, common)
    return None


def check_git_folder(folder: str) -> str:
    """Returns why git might read files elsewhere if it serves this git folder; empty if it reads only here.

    The repository's author chose its links and alternates, and git follows both to any depth.
    """
    if os.path.lexists(os.path.join(folder, "objects", "info", "alternates")):
        return (
            "it borrows objects from another repository. Run `git repack -a -d` in it and delete "
            "objects/info/alternates, or clone it again without --shared and --reference"
        )
    left, count = [folder], 0
    while left:
        try:
            with os.scandir(left.pop()) as entries:
                for entry in entries:
                    count += 1
                    if entry.is_symlink():
                        return (
                            f"{entry.path!r} is a link. Replace it with its target, or clone the repository "
                            "again"
                        )
                    top = entry.path == os.path.join(folder, entry.name)
                    if top and entry.name in (".git", "..git"):
                        return (
                            f"its git folder contains {entry.path!r}, so git could read another repository. "
                            f"Delete {entry.path!r}"
                        )
                    if entry.is_dir(follow_symlinks=False) and not (top and entry.name in _UNREAD):
                        left.append(entry.path)
        except OSError as failure:
            return f"its git folder cannot be read ({failure}). Fix its permissions"
        if count > _MAX_FILES:
            return f"its git folder has more than {_MAX_FILES:,} files. Run `git gc` in it"
    return ""


_HEAD = re.compile(r"ref:\s*refs/|[0-9a-f]{40}")
_UNREAD = ("hooks", "modules", "lfs", "annex")
"""In a git folder: what is not read to serve it. Links to hooks are common."""
_MAX_FILES = 500_000
"""Looking at so many takes about a second."""


def _read_line(path: str) -> str:
    """Returns the path or ref that a file of git's holds; empty where git might read it differently."""
    try:
        text = read_regular(path, 65_536).decode(errors="surrogateescape").rstrip("\r\n")
    except OSError:
        return ""
    return "" if "\0" in text or text != text.strip() else text


def _split(text: str) -> Source | None:
    """Returns the parts of an address or of a pattern of some, without looking into the path."""
    if found := _URL.fullmatch(text):
        at = _PORT.fullmatch(found["rest"])
        assert at, "matches everything"
        scheme = found["scheme"].lower()
        host, port = at["host"].lower().removesuffix("."), (at["port"] or "").lstrip("0")
        if host == "*" and not found["path"]:  # a pattern: everything by that scheme
            return Source(scheme, "*", "*", "*", "*")
        path = found["path"] or ("*" if text.endswith("*") else "/")
        return Source(scheme, found["user"] or "", host, "" if port == _PORTS.get(scheme) else port, path)
    if found := _SCP.fullmatch(text):
        return Source(_SCP_LIKE, found["user"], found["host"].lower().removesuffix("."), "", found["path"])
    return None


def _normalise(found: Source, repo: str) -> str:
    """Returns a path of another machine without `.`, `..`, doubled slashes and escapes."""
    # git decodes the path of a URL once, and sends the path of user@host:path unchanged.
    plain = found.path if found.scheme == _SCP_LIKE else unquote(found.path, errors="surrogateescape")
    unclear = re.search(r"[?#]", found.path) or re.search(r"\\|%[0-9A-Fa-f]{2}", plain)
    if unclear or not plain.isprintable():
        raise _refuse(
            repo,
            "its path contains escapes or characters that servers interpret differently; remove them",
        )
    kept: list[str] = []
    for name in plain.split("/"):
        if name == "..":
            if not kept:
                raise _refuse(repo, 'its path goes above the server\'s root; remove the ".."')
            kept.pop()
        elif name.startswith(".."):
            raise _refuse(repo, "a name in its path begins with two dots; use another path")
        elif name not in ("", "."):
            kept.append(name)
    if not kept:
        raise _refuse(repo, "its path is empty; add the repository's path")
    return ("/" if plain.startswith("/") else "") + "/".join(kept)


def _resolve_pattern(pattern: str) -> str:
    """Returns a pattern of paths with the links before its first `*` resolved, as those of a path are."""
    names = pattern.rstrip("/").split("/")
    first = next((at for at, name in enumerate(names) if re.search(r"[*?[]", name)), len(names))
    return os.path.join(os.path.realpath("/".join(names[:first]) or "/"), *names[first:])


def _refuse(repo: str, why: str) -> SourceError:
    return SourceError(
        ErrorKind.INVALID_ARGS, f"{hide_password(repo[:200])!r} is not a valid repository address: {why}"
    )


def hide_password(text: str) -> str:
    return re.sub(r"//[^/@\s]+@", "//…@", text)
