"""Planck as an agent of an editor, over standard input and output, which belong to the protocol alone."""

import asyncio
import logging
import os
import signal
import sys

from planck.acp_agent.agent import AcpAgent
from planck.headless import Duplex, claim_standard_streams
from planck.records.outcome import ErrorKind

_LAST_WORDS = 2.0
"""Seconds for what was said last to leave."""


async def run(model: str, team: str, mode: str | None) -> int:
    """Serves until the client closes its side or a signal comes; then all work ends, and is recorded so.

    What is given is what new sessions begin with.
    """
    read_end, write_end = claim_standard_streams()
    logging.getLogger("planck").addHandler(_make_log())
    terminals = [os.dup(end) for end in (read_end, write_end) if os.isatty(end)]
    stream = Duplex(read_end, write_end)
    agent = AcpAgent(stream, model=model, team=team, mode=mode)
    ending = _Ending(stream)
    try:
        await agent.peer.run()
    finally:
        await agent.aclose()
        await stream.drain(_LAST_WORDS)
        stream.close_output()
        for end in terminals:  # the shell's own, which has to wait for its user again
            os.set_blocking(end, True)
    kind, reason = stream.why
    if kind is ErrorKind.PEER_PROTOCOL:
        sys.stderr.write(f'error: The client does not use ACP: {reason}. Run "planck acp --help". [{kind}]\n')
        return 1
    return 128 + ending.signal if ending.signal else 0


class _Ending:
    """Takes the signals that end a process: the stream ends, and everything behind it in its order."""

    def __init__(self, stream: Duplex) -> None:
        self.signal = 0
        self._stream = stream
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            asyncio.get_running_loop().add_signal_handler(number, self._end, number)

    def _end(self, number: int) -> None:
        self.signal = self.signal or number
        self._stream.end("Planck received a signal to stop")


def _make_log() -> logging.Handler:
    handler = logging.StreamHandler(sys.stderr)
    handler.setLevel(logging.WARNING)
    handler.setFormatter(logging.Formatter("planck: %(message)s"))
    return handler
