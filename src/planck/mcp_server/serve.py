"""The frontend that offers our tools to other agents, over standard input and output or HTTP."""

import fcntl
import os
import sys

from planck.headless.serving import Workbench, new_token, serve_http, serve_stdio


async def run(bench: Workbench, port: int | None, token: str = "") -> int:
    """`port` None: standard input and output, which from then on belong to the protocol alone."""
    if port is None:
        await serve_stdio(bench, *_claimed())
        return 0
    token = token or new_token()

    def ready(url: str) -> None:
        sys.stderr.write(f"planck: serving at {url} with the token {token}\n")
        sys.stderr.flush()

    await serve_http(bench, port, token, ready)
    return 0


def _claimed() -> tuple[int, int]:
    read_end, write_end = (fcntl.fcntl(number, fcntl.F_DUPFD_CLOEXEC, 3) for number in (0, 1))
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return read_end, write_end
