"""How a peer is launched and reached: here as a process of ours, contained; in `address`, over HTTP."""

import asyncio
import os
import shutil
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from copy import copy
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Self

from msgspec.structs import replace

from planck.records.authority import Confinement
from planck.records.outcome import ErrorKind, PlanckError
from planck.workspace.process.duplex import Duplex
from planck.workspace.process.process import Command, Job, start

if TYPE_CHECKING:
    from mcp.client._transport import TransportStreams

_GRACE = 2.0
"""Seconds a peer may take to leave after its input ended."""
_LAST_WORDS = 2_000
_OPEN_AND_FORGET = 'exec 3>"$0"; /bin/rm -f -- "$0" 2>/dev/null; exec "$@" >&3 3>&-'
"""The pipe has a name only until the peer has opened it: nobody else can then speak in its place. (In a
sandbox it stays, in a folder that no other sandbox shows.)"""
_DRAIN = 0.2


class PeerError(PlanckError):
    """A peer that can't be started, reached or understood."""


class FinalError(PeerError):
    """One that starting it again would not mend."""


class Link:
    """An open way to a peer. Leaving its context ends a peer that is a process, with all that it started."""

    polite = False
    """Leaving gives the peer a moment to end by itself."""
    refused = ""
    """Why nothing that is asked there is answered, where that is known: who we are is not."""
    apart = False
    """Whether each call has a connection of its own: one that is cut takes no other along."""

    @property
    def transport(self) -> "AbstractAsyncContextManager[TransportStreams]":
        """What the SDK's client speaks through, once."""
        raise NotImplementedError

    @property
    def lines(self) -> Duplex:
        """What a client without the SDK speaks through; only a process has it."""
        raise NotImplementedError

    @property
    def over(self) -> bool:
        raise NotImplementedError

    async def ended(self) -> tuple[ErrorKind, str]:
        """Waits until the link is closed; returns why, as the end of a sentence."""
        raise NotImplementedError


class Launch:
    """What a peer is, and how it is started or its address opened; each start of the peer uses it anew."""

    name: str
    kind = "MCP server"
    prefix = ""
    """Of its tools' names."""
    ours = False
    """A sidecar: its word on kinds and values is taken."""
    builds = False
    """Whether `prepare` has something to do: the peer is `building` until then."""
    digest = ""
    """Of the files or settings that it is started with: another one may list other tools."""
    confinable = True
    """Whether it can run in the sandbox; an address can't."""
    confinement: Confinement | None = None
    """None: with the user's own rights."""
    guarded: Confinement | None = None
    """The rights of the first instance where a confined command could replace what it runs; None: the
    user's own all the same."""
    held: Confinement | None = None
    """The rights that the first instance has, if they are not the user's own. Once held, it stays so at each
    start: a question about its calls said it."""
    address = ""
    """The origin that it is reached at; empty: it is a process of this machine."""
    start_timeout: float = 60.0
    probe_timeout: float = 10.0
    """Seconds for an answer about itself, after a call ran out of time."""

    @property
    def replaceable(self) -> str:
        """What of it a confined command could replace, where it has to be `guarded` from that."""
        return ""

    def hold(self) -> str:
        """Called before a start: has the first instance run with `guarded` where that is needed; says why."""
        replaceable = self.replaceable
        if replaceable:
            self.held = self.guarded
        return replaceable

    @property
    def label(self) -> str:
        return f"{self.kind} {self.name!r}"

    def confine(self, confinement: Confinement) -> Self:
        """Returns a launch of the same peer with these rights."""
        launch = copy(self)
        launch.confinement = confinement
        return launch

    async def prepare(self) -> None:
        """Before each start: a sidecar is built."""

    def open(self) -> AbstractAsyncContextManager[Link]:
        raise NotImplementedError

    async def wait_for_change(self) -> None:
        """Returns when the peer should be started afresh: its files are no longer those that were started."""
        await asyncio.get_running_loop().create_future()


@asynccontextmanager
async def open_process(
    argv: Sequence[str],
    *,
    cwd: Path,
    environment: Mapping[str, str],
    confinement: Confinement | None = None,
    made_of: Iterable[str | Path] = (),
) -> AsyncGenerator[Link, None]:
    """Starts a program that speaks MCP on its standard input and output.

    In a sandbox it sees what it is `made_of`, wherever that lies. Leaving this waits until the process has
    ended: a caller whose waits may be cancelled again and again, as anyio does, must shield that.
    """
    if shutil.which(argv[0], path=environment.get("PATH")) is None and not (cwd / argv[0]).is_file():
        raise FinalError(
            ErrorKind.NOT_FOUND, f"program not found: {argv[0]!r}; install it, or set its path as `command`"
        )
    with TemporaryDirectory(prefix="planck-peer-") as folder:
        # A pipe with a name, which the peer alone opens: the process that contains it holds all that it was
        # given itself, so that a peer that closes its output would go unnoticed.
        pipe = os.path.join(folder, "output")
        os.mkfifo(pipe, 0o600)
        their_input, our_output = os.pipe2(os.O_CLOEXEC)
        our_input = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        held_open = os.open(pipe, os.O_WRONLY | os.O_CLOEXEC)
        lines = Duplex(our_input, our_output, held=held_open, files=False)
        try:
            if confinement is not None:
                confinement = replace(confinement, seen=(pipe, *map(str, made_of)))
            opening = ("/bin/sh", "-c", _OPEN_AND_FORGET, pipe, *argv)
            job = start(Command(opening, cwd, environment, confinement, keep=16_000), stdin=their_input)
        except PlanckError as failure:
            lines.end("not started")
            lines.close_output()
            raise FinalError(failure.err.kind, failure.err.message) from failure
        finally:
            os.close(their_input)
        link = _ProcessLink(job, lines)
        following = asyncio.ensure_future(link.follow())
        try:
            yield link
        finally:
            following.cancel()
            lines.end("closed")
            lines.close_output()
            try:
                if link.polite:
                    await job.wait(_GRACE)
            finally:
                await job.kill()


class _ProcessLink(Link):
    def __init__(self, job: Job, lines: Duplex) -> None:
        self._job = job
        self._lines = lines

    @property
    def transport(self) -> "AbstractAsyncContextManager[TransportStreams]":
        from planck.mcp.wire import Wire  # loads the SDK

        wire = Wire(self._lines)
        return nullcontext((wire.incoming, wire.outgoing))

    @property
    def lines(self) -> Duplex:
        return self._lines

    @property
    def over(self) -> bool:
        return self._lines.ended.is_set() or not self._job.running

    async def follow(self) -> None:
        """Ends the wire with the process: whoever it left behind may hold its output open."""
        await self._job.wait()
        self._lines.release()
        try:
            async with asyncio.timeout(_DRAIN):
                await self._lines.ended.wait()
        except TimeoutError:
            self._lines.end("the process ended")

    async def ended(self) -> tuple[ErrorKind, str]:
        await self._lines.ended.wait()
        kind, reason = self._lines.why
        if kind is ErrorKind.PEER_FAILED and await self._job.wait(_DRAIN):
            reason = f"the process ended with exit code {self._job.completed().exit_code}"
        words = self._job.completed().output.strip()[-_LAST_WORDS:]
        return kind, f"{reason}; last output:\n{words}" if words else reason
