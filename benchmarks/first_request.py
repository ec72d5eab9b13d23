"""Bytes of a first request, per dialect: what every session pays before anything was said.

Whoever adds a parameter or a sentence sees here what it costs.
"""

import asyncio
import tempfile
from pathlib import Path

from planck.headless.planck import Planck
from planck.records import codec

DIALECTS = {
    "chat": {"type": "openai", "api": "chat"},
    "responses": {"type": "openai", "api": "responses"},
    "messages": {"type": "anthropic"},
    "gemini": {"type": "google"},
}
AIMS = {"solo": 11_000, "worker": 5_000}
_MEMBER = {"provider": "here", "model_id": "m"}
_TEAM = {
    "name": "pair",
    "members": [
        {"type": "orchestrator", "name": "lead", "description": "Leads.", **_MEMBER},
        {
            "type": "builder",
            "name": "bob",
            "description": "Changes code.",
            "system_prompt": "Build.",
            **_MEMBER,
        },
    ],
}


def main() -> None:
    aims = f"(aims <= {AIMS['solo']}, <= {AIMS['worker']})"
    print(f"{'bytes':<10}{'all tools, alone':>18}{'team tools only':>18}  {aims}")
    for name in DIALECTS:
        solo, worker = asyncio.run(measure(name))
        print(f"{name:<10}{solo:>18}{worker:>18}")


async def measure(dialect: str) -> tuple[int, int]:
    """Returns the bytes of the first request of a solo agent, and of a member with the team tools alone."""
    listener = _Listener()
    server = await asyncio.start_server(listener.take, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    with tempfile.TemporaryDirectory() as folder:
        home, work = Path(folder, "home"), Path(folder, "work")
        (home / "teams" / "pair").mkdir(parents=True)
        work.mkdir()
        (home / "teams" / "pair" / "TEAM.json").write_bytes(codec.encode(_TEAM))
        providers = {"here": {**DIALECTS[dialect], "base_url": f"http://127.0.0.1:{port}"}}
        flags = {"default_model": "here/m", "providers": providers}
        environ = {
            "PATH": "/usr/bin:/bin",
            "OPENAI_API_KEY": "x",
            "ANTHROPIC_API_KEY": "x",
            "GEMINI_API_KEY": "x",
        }
        async with server, Planck(home, work, environ=environ, flags=flags) as planck:
            await (await planck.start(stored=False)).run("hi")
            session = await planck.start("pair", stored=False)
            team = session._team
            await team.mail.prompt(team.members[1], "hi")
            await session.settled()
    return listener.sizes[0], listener.sizes[-1]


class _Listener:
    """Takes requests and answers none of them well."""

    def __init__(self) -> None:
        self.sizes: list[int] = []

    async def take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
        length = next(line for line in head.splitlines() if line.startswith("content-length:"))
        self.sizes.append(len(await reader.readexactly(int(length.partition(":")[2]))))
        writer.write(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}")
        await writer.drain()
        writer.close()
