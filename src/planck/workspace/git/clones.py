"""A checkout of its own for work that was handed in: cloned, put on record, and found again elsewhere.

What is on record is a commit under `refs/planck/<id>` of the repository it came from: its parent is what the
checkout was at, its tree all that lay in the folder. Branches, index and working files are left alone by it.
"""

import asyncio
import os
import shlex
import shutil
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from itertools import count
from pathlib import Path

import msgspec

from planck.own_code import outside_path
from planck.records.outcome import ErrorKind, PlanckError
from planck.workspace.git.sources import find_git_folder, hide_password, read_path
from planck.workspace.process.containment import system_program
from planck.workspace.process.process import Command, Completed, run

_PATIENCE = 600.0
_KEEP = 4096
_KEEP_REFS = 16 << 20
"""Bytes of a list of refs: a repository with 100,000 of them has one of about 8 MB."""

_QUIET = (
    *("-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "protocol.ext.allow=never"),
    *("-c", "user.name=Planck", "-c", "user.email=planck@localhost", "-c", "commit.gpgSign=false"),
    *("-c", "advice.detachedHead=false", "-c", "gc.auto=0", "-c", "submodule.recurse=false"),
    *("-c", "http.followRedirects=false"),
)
"""No hook of the repository's runs with our rights, no transport is a command, and no server sends us to an
address that nobody compared with a list: without redirects git ignores a server's alternates, too."""
_AT_HOME = (
    *("-c", "core.hooksPath=/dev/null", "-c", "core.alternateRefsCommand=true", "-c", "core.fsmonitor=false"),
    *("-c", "receive.autogc=false", "-c", "gc.auto=0", "-c", "protocol.ext.allow=never"),
)
"""The same for the other end: git serves a repository on this machine itself, by that one's own settings, and
hands none of ours on. It must not run what whoever named the repository left in it."""
_STRICT = {"upload-pack": ("--strict",)}
"""It serves the very folder that it is given. `receive-pack` has no such option."""
_SERVED = {"clone": "upload-pack", "fetch": "upload-pack", "ls-remote": "upload-pack", "push": "receive-pack"}
_PROTOCOLS = "file:git:http:https:ssh"


class CloneError(PlanckError):
    """The repository can't be had, or nothing can be put on record in it."""


class Snapshot(msgspec.Struct, frozen=True):
    ref: str
    commit: str


class Checkout(msgspec.Struct, frozen=True):
    """A clone in which nobody has worked yet."""

    folder: Path
    refs: frozenset[str]
    """The refs of the repository that name this very commit."""


class Clone:
    """One folder, the repository that it comes from, and the ref that it is put on record under."""

    def __init__(
        self,
        folder: Path,
        repo: str,
        id: str,
        environment: Mapping[str, str],
        origins: Sequence[str] = (),
    ) -> None:
        """`origins`: the ids of what this session was forked from, the nearest first."""
        self.folder = folder
        self.ref: str = f"refs/planck/{id}"
        self._origins = [f"refs/planck/{origin}" for origin in origins]
        self._repo = repo
        self._address = _find_address(repo)
        self._environment = {
            **environment,
            "PATH": outside_path(environment.get("PATH", os.defpath), (os.path.realpath(folder),)),
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_ALLOW_PROTOCOL": _PROTOCOLS,
            "LC_ALL": "C",
        }

    async def prepare(self, at: str = "", on_checkout: "Callable[[Checkout], None] | None" = None) -> str:
        """Makes the folder, as it was on record last, else at a branch, tag or commit; returns the commit.

        A fork that has nothing on record yet begins with what the session has that it was forked from.

        A folder that is there is this node's own from before, and is taken as it is, unless it is of another
        repository or ref, or another node has put something on record since: then it is moved aside, because
        nobody's files are thrown away.

        `on_checkout` is shown a new clone as the repository has it, before any agent's files are in it.
        """
        # Beside the folder, where agents can't write. A digest: the address may have a password.
        record = self.folder.with_name(f"{self.folder.name}.source")
        source = sha256(f"{self._address}\n{at}".encode(errors="surrogateescape")).hexdigest()
        if (self.folder / ".git").exists():
            names = (self.folder.with_name(f"{self.folder.name}.other-{number}") for number in count(1))
            aside = next(name for name in names if not os.path.lexists(name))
            if await self._is_of(record, source):
                known, newest = await self._find_record(), await self._ask_record(self.folder)
                if newest in ("", known):
                    record.write_text(source)
                    return known
                aside = self.folder.with_name(f"{self.folder.name}.before-{newest[:12]}")
            self.folder.rename(aside)
        self.folder.parent.mkdir(parents=True, exist_ok=True)
        unfinished = self.folder.with_name(f"{self.folder.name}.part")
        await asyncio.to_thread(shutil.rmtree, unfinished, ignore_errors=True)
        await self._git(
            "clone", "--quiet", "--no-tags", "--", self._address, str(unfinished), cwd=self.folder.parent
        )
        if at:
            await self._check_out(unfinished, at)
        if on_checkout:
            on_checkout(Checkout(unfinished, await self._list_refs(unfinished)))
        found = await self._fetch_record(unfinished) or await self._fetch_origin(unfinished)
        if found:
            await self._git("reset", "--quiet", "--hard", found, cwd=unfinished)
            await self._git("reset", "--quiet", f"{found}^", cwd=unfinished)
        record.write_text(source)
        unfinished.rename(self.folder)
        return found

    async def _is_of(self, record: Path, source: str) -> bool:
        """Whether the folder was cloned from this source; an older clone has only its origin to tell."""
        try:
            return record.read_text() == source
        except FileNotFoundError:
            origin = _last_line(await self._run("config", "--local", "--get", "remote.origin.url"))
            return _find_address(origin) == self._address

    async def put_on_record(self) -> Snapshot | None:
        """Commits all that lies in the folder, and sends it home; None where nothing has changed since."""
        index = self.folder / ".git" / "planck-index"
        own = {**self._environment, "GIT_INDEX_FILE": str(index)}
        await self._git("read-tree", "HEAD", environment=own)
        await self._git("add", "--all", environment=own)
        tree = _last_line(await self._git("write-tree", environment=own))
        known = await self._find_record()
        if known and _last_line(await self._git("rev-parse", f"{known}^{{tree}}")) == tree:
            head = _last_line(await self._git("rev-parse", "HEAD"))
            if _last_line(await self._git("rev-parse", f"{known}^")) == head:
                return None
        made = _last_line(await self._git("commit-tree", tree, "-p", "HEAD", "-m", f"planck: {self.ref}"))
        await self._git("push", "--quiet", "--force", self._address, f"{made}:{self.ref}")
        await self._git("update-ref", self.ref, made)
        return Snapshot(self.ref, made)

    async def _check_out(self, folder: Path, at: str) -> None:
        try:
            await self._git("checkout", "--quiet", at, "--", cwd=folder)
        except CloneError:  # a commit that no branch reaches, or a ref that a clone does not bring along
            await self._git("fetch", "--quiet", self._address, at, cwd=folder)
            await self._git("checkout", "--quiet", "FETCH_HEAD", "--", cwd=folder)

    async def _list_refs(self, folder: Path) -> frozenset[str]:
        """Returns the refs whose newest commit is checked out; `HEAD` is the repository's default branch.

        A commit that was on a branch once is on none of them: its files may have been replaced for a reason.
        """
        head = _last_line(await self._git("rev-parse", "HEAD", cwd=folder))
        listed = await self._git("ls-remote", "--quiet", self._address, cwd=folder, keep=_KEEP_REFS)
        pairs = [line.split() for line in listed.output.splitlines()]
        return frozenset(pair[1].removesuffix("^{}") for pair in pairs if len(pair) == 2 and pair[0] == head)

    async def _ask_record(self, folder: Path) -> str:
        """Returns the commit that the repository it came from has on record; empty: none."""
        listed = await self._git("ls-remote", "--quiet", self._address, self.ref, cwd=folder)
        return listed.output.split()[0] if self.ref in listed.output else ""

    async def _fetch_record(self, folder: Path) -> str:
        if not await self._ask_record(folder):
            return ""
        await self._git("fetch", "--quiet", self._address, f"+{self.ref}:{self.ref}", cwd=folder)
        return _last_line(await self._git("rev-parse", self.ref, cwd=folder))

    async def _fetch_origin(self, folder: Path) -> str:
        """Returns the commit of the nearest origin that has one on record, fetched but under no ref."""
        if not self._origins:
            return ""
        listed = await self._git("ls-remote", "--quiet", self._address, *self._origins, cwd=folder)
        there = {line.split()[-1] for line in listed.output.splitlines() if line}
        for ref in self._origins:
            if ref in there:
                await self._git("fetch", "--quiet", self._address, ref, cwd=folder)
                return _last_line(await self._git("rev-parse", "FETCH_HEAD", cwd=folder))
        return ""

    async def _find_record(self) -> str:
        found = await self._run("rev-parse", "--verify", "--quiet", self.ref)
        return _last_line(found) if found.exit_code == 0 else ""

    async def _git(
        self,
        *words: str,
        cwd: Path | None = None,
        environment: Mapping[str, str] | None = None,
        keep: int = _KEEP,
    ) -> Completed:
        done = await self._run(*words, cwd=cwd, environment=environment, keep=keep)
        if done.exit_code:
            why = hide_password(f"for {self._repo}: {_last_line(done) or f'exit code {done.exit_code}'}")
            way_out = (
                "check that the address is correct and that this node can reach it (redirects are not "
                "followed, so use the address that they lead to)"
                if words[0] in _SERVED
                else "check the disk space and the permissions on this node, then try again"
            )
            raise CloneError(ErrorKind.COMMAND_FAILED, f"git {words[0]} failed {why}; {way_out}")
        if done.exit_code is None:
            raise CloneError(
                ErrorKind.TIMEOUT, f"git {words[0]} took longer than {_PATIENCE:.0f} s; try again"
            )
        return done

    async def _run(
        self,
        *words: str,
        cwd: Path | None = None,
        environment: Mapping[str, str] | None = None,
        keep: int = _KEEP,
    ) -> Completed:
        program = system_program("git")
        if program is None:
            raise CloneError(ErrorKind.NOT_FOUND, "git is not installed on this node; install it")
        verb, *rest = words
        if (end := _SERVED.get(verb)) and self._address.startswith("/"):
            served = shlex.join((program, *_AT_HOME, end, *_STRICT.get(end, ())))
            rest.insert(0, f"--{end}={served}")
        argv: Sequence[str] = (program, *_QUIET, verb, *rest)
        command = Command(argv, cwd or self.folder, environment or self._environment, keep=keep)
        return await run(command, _PATIENCE)


def _find_address(repo: str) -> str:
    """Returns what git is given for a repository: an address, or the git folder of one on this machine.

    Given a name, git guesses: NAME/.git, NAME.git/.git and NAME.git, too. With `/.` at the end its guesses
    stay within the folder.
    """
    if not (path := read_path(repo)):
        return repo
    found = find_git_folder(path)
    return f"{found.own if found else path}/."


def _last_line(done: Completed) -> str:
    lines = done.output.strip().splitlines()
    return lines[-1].strip() if lines else ""
