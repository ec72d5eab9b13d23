"""The frontend that offers our tools to other agents, over standard input and output or HTTP."""

import sys

from planck.headless import Workbench, make_token, serve_http, serve_stdio


async def run(bench: Workbench, port: int | None, token: str = "") -> int:
    """`port` None: standard input and output, which from then on belong to the protocol alone."""
    if port is None:
        await serve_stdio(bench)
        return 0
    token = token or make_token()

    def ready(url: str) -> None:
        sys.stderr.write(f"planck: serving at {url} with the token {token}\n")
        sys.stderr.flush()

    await serve_http(bench, port, token, ready)
    return 0
