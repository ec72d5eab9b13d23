"""The two ways to a peer: a process of ours, contained, or an address."""

import asyncio
import os
import shutil
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from planck.mcp.framing import MAX_LINE
from planck.records.outcome import ErrorKind, PlanckError
from planck.workspace.process import Job, start

if TYPE_CHECKING:
    import httpx2
    from mcp.client._transport import TransportStreams

    from planck.mcp.wire import Wire

_GRACE = 2.0
"""Seconds a peer may take to leave after its input ended."""
_LAST_WORDS = 2_000
_DRAIN = 0.2


class PeerError(PlanckError):
    """A peer that can't be started, reached or understood."""


class FinalError(PeerError):
    """One that starting it again would not mend."""


class Link(Protocol):
    """An open way to a peer. Leaving its context ends a peer that is a process, with all that it started."""

    @property
    def transport(self) -> "AbstractAsyncContextManager[TransportStreams]":
        """For the SDK's client, once."""

    @property
    def over(self) -> bool: ...

    async def ended(self) -> tuple[ErrorKind, str]:
        """Waits; then why the way is closed, as the end of a sentence."""


@asynccontextmanager
async def process_link(
    argv: Sequence[str], *, cwd: Path, environment: Mapping[str, str]
) -> AsyncGenerator[Link, None]:
    """Start a program that speaks MCP on its standard input and output."""
    import anyio

    from planck.mcp.wire import Wire

    if shutil.which(argv[0], path=environment.get("PATH")) is None and not (cwd / argv[0]).is_file():
        raise FinalError(
            ErrorKind.NOT_FOUND, f"there is no program {argv[0]!r}; install it, or give its path as `command`"
        )
    their_input, our_output = os.pipe2(os.O_CLOEXEC)
    our_input, their_output = os.pipe2(os.O_CLOEXEC)
    try:
        job = start(
            argv, cwd=cwd, environment=environment, stdin=their_input, stdout=their_output, keep=16_000
        )
    except PlanckError as failure:
        os.close(our_input)
        os.close(our_output)
        raise FinalError(failure.err.kind, failure.err.message) from failure
    finally:
        os.close(their_input)
        os.close(their_output)
    wire = Wire(our_input, our_output)
    try:
        yield _ProcessLink(job, wire)
    finally:
        with anyio.CancelScope(shield=True):
            wire.end("closed")
            wire.close_output()
            await job.wait(_GRACE)
            await job.kill()


class _ProcessLink:
    def __init__(self, job: Job, wire: "Wire") -> None:
        self._job = job
        self._wire = wire

    @property
    def transport(self) -> "AbstractAsyncContextManager[TransportStreams]":
        return _streams(self._wire)

    @property
    def over(self) -> bool:
        return self._wire.ended.is_set() or not self._job.running

    async def ended(self) -> tuple[ErrorKind, str]:
        exit = asyncio.ensure_future(self._job.wait())
        silence = asyncio.ensure_future(self._wire.ended.wait())
        try:
            await asyncio.wait({exit, silence}, return_when=asyncio.FIRST_COMPLETED)
            # Whichever came first, the other tells the rest: the exit code, or the last messages.
            await asyncio.wait({exit, silence}, timeout=_DRAIN)
        finally:
            exit.cancel()
            silence.cancel()
        self._wire.end("its process ended")
        kind, reason = self._wire.why
        if not self._job.running and kind is ErrorKind.PEER_FAILED:
            code = self._job.completed().exit_code
            reason = f"its process ended with exit code {code}"
        words = self._job.completed().output.strip()[-_LAST_WORDS:]
        return kind, f"{reason}; it last said:\n{words}" if words else reason


@asynccontextmanager
async def _streams(wire: "Wire") -> AsyncGenerator["TransportStreams", None]:
    yield wire.incoming, wire.outgoing


@asynccontextmanager
async def http_link(url: str, headers: Mapping[str, str]) -> AsyncGenerator[Link, None]:
    """Streamable HTTP; a body is bounded like a line."""
    import httpx2

    from planck.mcp.bounded_http import BoundedTransport

    timeout = httpx2.Timeout(30.0, read=3600.0)  # a call's own deadline is the caller's
    # Identity: what is counted is what will be in memory.
    all_headers = {"Accept-Encoding": "identity", **headers}
    async with httpx2.AsyncClient(
        headers=all_headers, timeout=timeout, transport=BoundedTransport()
    ) as client:
        yield _HttpLink(url, client)


class _HttpLink:
    over = False

    def __init__(self, url: str, client: "httpx2.AsyncClient") -> None:
        self._url = url
        self._client = client

    @property
    def transport(self) -> "AbstractAsyncContextManager[TransportStreams]":
        from mcp.client.streamable_http import streamable_http_client

        return streamable_http_client(self._url, http_client=self._client, max_sse_event_size=MAX_LINE)

    async def ended(self) -> tuple[ErrorKind, str]:
        """Never by itself: an address is found gone by the call that fails."""
        await asyncio.Event().wait()
        raise AssertionError
