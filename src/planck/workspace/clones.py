"""A checkout of its own for work that was handed in: cloned, put on record, and found again elsewhere.

What is on record is a commit under `refs/planck/<id>` of the repository it came from: its parent is what the
checkout was at, its tree all that lay in the folder. Branches, index and working files are left alone by it.
"""

import asyncio
import re
import shlex
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from planck.records.outcome import ErrorKind, PlanckError
from planck.workspace.containment import system_program
from planck.workspace.process import Command, Completed, run

_PATIENCE = 600.0
_KEEP = 4096
_REF = re.compile(r"[A-Za-z0-9][A-Za-z0-9_./+-]{0,200}")
_SCHEMES = re.compile(
    r"(https?|ssh|git|file)://[^\s\x00-\x1f]+|[A-Za-z0-9_.-]+@[A-Za-z0-9_.-]+:[^\s\x00-\x1f]+"
)

_QUIET = (
    *("-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "protocol.ext.allow=never"),
    *("-c", "user.name=Planck", "-c", "user.email=planck@localhost", "-c", "commit.gpgSign=false"),
    *("-c", "advice.detachedHead=false", "-c", "gc.auto=0"),
)
"""No hook of the repository's runs with our rights, and no transport that is a command."""
_AT_HOME = (
    *("-c", "core.hooksPath=/dev/null", "-c", "core.alternateRefsCommand=true", "-c", "core.fsmonitor=false"),
    *("-c", "receive.autogc=false", "-c", "gc.auto=0", "-c", "protocol.ext.allow=never"),
)
"""The same for the other end: git serves a repository on this machine itself, by that one's own settings, and
hands none of ours on. It must not run what whoever named the repository left in it."""
_SERVED = {"clone": "upload-pack", "fetch": "upload-pack", "ls-remote": "upload-pack", "push": "receive-pack"}
_PROTOCOLS = "file:git:http:https:ssh"


class CloneError(PlanckError):
    """The repository can't be had, or nothing can be put on record in it."""


class Snapshot(msgspec.Struct, frozen=True):
    ref: str
    commit: str


def check_source(repo: str, ref: str = "") -> None:
    """Raises for what is no address or absolute path of a repository, or no name of something in it."""
    if not (_SCHEMES.fullmatch(repo) or (repo.startswith("/") and "\0" not in repo and "\n" not in repo)):
        raise CloneError(
            ErrorKind.INVALID_ARGS,
            f"{repo[:200]!r} is no repository: give a URL (https, ssh, file), or an absolute path that "
            "every node sees",
        )
    if ref and not (_REF.fullmatch(ref) and ".." not in ref):
        raise CloneError(ErrorKind.INVALID_ARGS, f"{ref[:200]!r} is no branch, tag or commit")


class Clone:
    """One folder, the repository that it comes from, and the ref that it is put on record under."""

    def __init__(self, folder: Path, repo: str, id: str, environment: Mapping[str, str]) -> None:
        self.folder = folder
        self.ref = f"refs/planck/{id}"
        self._repo = repo
        self._environment = {
            **environment,
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_ALLOW_PROTOCOL": _PROTOCOLS,
            "LC_ALL": "C",
        }

    async def prepare(self, at: str = "") -> str:
        """Makes the folder, as it was on record last, else at a branch, tag or commit; returns the commit.

        A folder that is there is this node's own from before, and is taken as it is, unless another node has
        put something on record since: then it is moved aside, because nobody's files are thrown away.
        """
        check_source(self._repo, at)
        if (self.folder / ".git").exists():
            known, newest = await self._find_record(), await self._ask_record(self.folder)
            if newest in ("", known):
                return known
            self.folder.rename(self.folder.with_name(f"{self.folder.name}.before-{newest[:12]}"))
        self.folder.parent.mkdir(parents=True, exist_ok=True)
        unfinished = self.folder.with_name(f"{self.folder.name}.part")
        await asyncio.to_thread(shutil.rmtree, unfinished, ignore_errors=True)
        await self._git(
            "clone", "--quiet", "--no-tags", "--", self._repo, str(unfinished), cwd=self.folder.parent
        )
        if at:
            await self._check_out(unfinished, at)
        found = await self._fetch_record(unfinished)
        if found:
            await self._git("reset", "--quiet", "--hard", found, cwd=unfinished)
            await self._git("reset", "--quiet", f"{found}^", cwd=unfinished)
        unfinished.rename(self.folder)
        return found

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
        await self._git("push", "--quiet", "--force", "origin", f"{made}:{self.ref}")
        await self._git("update-ref", self.ref, made)
        return Snapshot(self.ref, made)

    async def _check_out(self, folder: Path, at: str) -> None:
        try:
            await self._git("checkout", "--quiet", at, "--", cwd=folder)
        except CloneError:  # a commit that no branch reaches, or a ref that a clone does not bring along
            await self._git("fetch", "--quiet", "origin", at, cwd=folder)
            await self._git("checkout", "--quiet", "FETCH_HEAD", "--", cwd=folder)

    async def _ask_record(self, folder: Path) -> str:
        """Returns the commit that the repository it came from has on record; empty: none."""
        listed = await self._git("ls-remote", "--quiet", "origin", self.ref, cwd=folder)
        return listed.output.split()[0] if self.ref in listed.output else ""

    async def _fetch_record(self, folder: Path) -> str:
        if not await self._ask_record(folder):
            return ""
        await self._git("fetch", "--quiet", "origin", f"+{self.ref}:{self.ref}", cwd=folder)
        return _last_line(await self._git("rev-parse", self.ref, cwd=folder))

    async def _find_record(self) -> str:
        found = await self._run("rev-parse", "--verify", "--quiet", self.ref)
        return _last_line(found) if found.exit_code == 0 else ""

    async def _git(
        self, *words: str, cwd: Path | None = None, environment: Mapping[str, str] | None = None
    ) -> Completed:
        done = await self._run(*words, cwd=cwd, environment=environment)
        if done.exit_code:
            why = _hide_password(f"of {self._repo} failed: {_last_line(done) or done.exit_code}")
            raise CloneError(
                ErrorKind.COMMAND_FAILED,
                f"git {words[0]} {why}; check the address, and that this node may reach it",
            )
        if done.exit_code is None:
            raise CloneError(ErrorKind.TIMEOUT, f"git {words[0]} took longer than {_PATIENCE:.0f} s")
        return done

    async def _run(
        self, *words: str, cwd: Path | None = None, environment: Mapping[str, str] | None = None
    ) -> Completed:
        program = system_program("git")
        if program is None:
            raise CloneError(ErrorKind.NOT_FOUND, "this node has no git; install it")
        verb, *rest = words
        if (end := _SERVED.get(verb)) and self._repo.startswith(("/", "file://")):
            rest.insert(0, f"--{end}={shlex.join((program, *_AT_HOME, end))}")
        argv: Sequence[str] = (program, *_QUIET, verb, *rest)
        command = Command(argv, cwd or self.folder, environment or self._environment, keep=_KEEP)
        return await run(command, _PATIENCE)


def _last_line(done: Completed) -> str:
    lines = done.output.strip().splitlines()
    return lines[-1].strip() if lines else ""


def _hide_password(text: str) -> str:
    return re.sub(r"//[^/@\s]+@", "//…@", text)
