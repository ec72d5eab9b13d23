"""Bytes of a first request beside peers, in one run: `python -m benchmarks.peers_first_request FOLDER`.

FOLDER holds the peers: `npm install --prefix FOLDER @openai/codex @mariozechner/pi-coding-agent
@anthropic-ai/claude-code opencode-ai`. By hand only: each is run in an empty home with a server on loopback
as its vendor, which keeps the first request that shows tools and answers none of them well.
"""

import asyncio
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from benchmarks import first_request

PROMPT = "hi from the bench"
SECONDS = 60


@dataclass(frozen=True)
class Peer:
    name: str
    dialect: str
    command: tuple[str, ...]
    files: tuple[tuple[str, str], ...] = ()
    """Below its home; `{url}` is the server."""
    environ: tuple[tuple[str, str], ...] = ()


_PI = '{"providers": {"here": {"baseUrl": "{url}/v1", "api": "openai-completions", "apiKey": "x", "models": [{"id": "m"}]}}}'  # noqa: E501
_OPENCODE = '{"provider": {"here": {"npm": "@ai-sdk/openai-compatible", "options": {"baseURL": "{url}/v1", "apiKey": "x"}, "models": {"m": {}}}}}'  # noqa: E501
_CODEX = 'model_providers.here={{name="here",base_url="{url}/v1",wire_api="responses",request_max_retries=0}}'
PEERS = (
    Peer(
        "pi",
        "chat",
        ("pi", "-p", "--provider", "here", "--model", "m", PROMPT),
        ((".pi/agent/models.json", _PI),),
    ),
    Peer(
        "codex",
        "responses",
        (
            *("codex", "exec", "--skip-git-repo-check", "-c", "model_provider=here"),
            *("-c", _CODEX.replace("{{", "{").replace("}}", "}"), "-m", "m", PROMPT),
        ),
    ),
    Peer(
        "claude",
        "messages",
        ("claude", "-p", PROMPT),
        environ=(("ANTHROPIC_BASE_URL", "{url}"), ("ANTHROPIC_API_KEY", "sk-ant-x")),
    ),
    Peer(
        "opencode",
        "chat",
        ("opencode", "run", "-m", "here/m", PROMPT),
        ((".config/opencode/opencode.json", _OPENCODE),),
    ),
)


def main(folder: str) -> None:
    rows = [("planck", name, *asyncio.run(first_request.measure(name))) for name in first_request.DIALECTS]
    print(f"{'agent':<10}{'version':<12}{'dialect':<11}{'bytes':>8}  tools")
    for who, dialect, solo, worker in rows:
        print(f"{who:<10}{'this':<12}{dialect:<11}{solo:>8}  all; {worker} for a member of a team")
    for peer in PEERS:
        asked = asyncio.run(_listen(peer, Path(folder).resolve()))
        size, tools = (str(len(asked)), len(json.loads(asked)["tools"])) if asked else ("none", 0)
        print(f"{peer.name:<10}{_version(peer, folder):<12}{peer.dialect:<11}{size:>8}  {tools}")


def _version(peer: Peer, folder: str) -> str:
    for manifest in (
        *Path(folder, "node_modules").glob("*/package.json"),
        *Path(folder, "node_modules").glob("@*/*/package.json"),
    ):
        found = json.loads(manifest.read_text())
        bins = found.get("bin")
        if isinstance(bins, dict) and peer.command[0] in bins:
            return str(found["version"])
    return "?"


async def _listen(peer: Peer, folder: Path) -> bytes:
    """Runs one peer until it has sent what we want, or has given up."""
    listener = _Listener()
    server = await asyncio.start_server(listener.take, "127.0.0.1", 0, limit=1 << 24)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    with tempfile.TemporaryDirectory() as place:
        home, work = Path(place, "home"), Path(place, "work")
        work.mkdir()
        for name, text in peer.files:
            (home / name).parent.mkdir(parents=True, exist_ok=True)
            (home / name).write_text(text.replace("{url}", url))
        home.mkdir(exist_ok=True)
        path = f"{folder / 'node_modules/.bin'}:{os.environ['PATH']}"
        environ = {"PATH": path, "HOME": str(home), "http_proxy": "http://127.0.0.1:9"}
        environ |= {"https_proxy": "http://127.0.0.1:9", "no_proxy": "127.0.0.1"}
        environ |= {name: value.replace("{url}", url) for name, value in peer.environ}
        command = [word.replace("{url}", url) for word in peer.command]
        async with server:
            process = await asyncio.create_subprocess_exec(
                *command,
                cwd=work,
                env=environ,
                stdin=subprocess.DEVNULL,
                stdout=sys.stderr if "-v" in sys.argv else subprocess.DEVNULL,
                stderr=None if "-v" in sys.argv else subprocess.DEVNULL,
                start_new_session=True,
            )
            ended = asyncio.ensure_future(process.wait())
            heard = asyncio.ensure_future(listener.heard.wait())
            await asyncio.wait({ended, heard}, timeout=SECONDS, return_when=asyncio.FIRST_COMPLETED)
            if process.returncode is None:
                os.killpg(process.pid, 9)
            await ended
            heard.cancel()
    return listener.first


class _Listener:
    """Refuses every request; keeps the first that has our prompt and tools."""

    def __init__(self) -> None:
        self.first = b""
        self.heard = asyncio.Event()

    async def take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
            sizes = [line for line in head.splitlines() if line.startswith("content-length:")]
            body = await reader.readexactly(int(sizes[0].partition(":")[2])) if sizes else b""
            if not self.first and PROMPT.encode() in body and json.loads(body).get("tools"):
                self.first = body
                self.heard.set()
            writer.write(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}")
            await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


if __name__ == "__main__":
    main(sys.argv[1])
