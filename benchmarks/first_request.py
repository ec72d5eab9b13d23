"""Bytes of a first request, per mode and dialect: what every session pays before anything was said.

Then what each section of the system prompt and each tool takes of them, so that a sentence shows its price.
"""

import asyncio
import re
import tempfile
from collections.abc import AsyncGenerator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

import msgspec

from planck.headless.planck import Planck
from planck.llm.dialects.dialect import Dialect
from planck.llm.dialects.table import open_provider
from planck.llm.endpoint import Endpoint
from planck.llm.provider import Item, Request
from planck.records import codec
from planck.records.approval import Answer, Question
from planck.records.authority import Mode
from planck.records.messages import AssistantMessage, StopReason, Text
from planck.records.specs import ModelSpec, ToolSpec

DIALECTS = {
    "chat": {"type": "openai", "api": "chat"},
    "responses": {"type": "openai", "api": "responses"},
    "messages": {"type": "anthropic"},
    "gemini": {"type": "google"},
}
AIMS = {"solo": 11_000, "worker": 5_000}
KINDS = ("solo", "orchestrator", "worker with tools", "worker", "small window")
"""`worker` has the team tools alone."""
WINDOW = 8_192
_MEMBER = {"provider": "here", "model_id": "m"}
_FILES = ["read", "write", "edit", "bash"]
_TEAM = {
    "name": "trio",
    "members": [
        {"type": "orchestrator", "name": "lead", "description": "Leads.", "tools": _FILES, **_MEMBER},
        {
            "type": "builder",
            "name": "bob",
            "description": "Changes code.",
            "system_prompt": "Build.",
            "tools": _FILES,
            **_MEMBER,
        },
        {
            "type": "critic",
            "name": "eve",
            "description": "Finds faults.",
            "system_prompt": "Find.",
            **_MEMBER,
        },
    ],
}


class FirstRequest(msgspec.Struct, frozen=True):
    system: str
    tools: tuple[ToolSpec, ...]
    bodies: dict[str, bytes]
    """By dialect."""


def main() -> None:
    requests = {
        (mode, person): asyncio.run(compose(mode, person=person)) for mode in Mode for person in (False, True)
    }
    for kind, aim in AIMS.items():
        what = "all built-in tools, alone" if kind == "solo" else "a worker with the team tools alone"
        print(f"{f'{what}: bytes, at most {aim}':<46}" + "".join(f"{name:>11}" for name in DIALECTS))
        for (mode, person), found in requests.items():
            sizes = "".join(f"{len(found[kind].bodies[name]):>11}" for name in DIALECTS)
            print(f"  {mode.value:<12}{'a person answers' if person else 'nobody answers':<32}{sizes}")
    print(f"\nbytes of each section and tool of the first, mode {Mode.ASK.value}, nobody answers, chat")
    for name, size in list_prices(requests[Mode.ASK, False]["solo"]):
        print(f"  {name:<20}{size:>6}")


def list_prices(request: FirstRequest) -> Iterator[tuple[str, int]]:
    """Returns the sections of the system prompt and the tools with the bytes that they take as JSON."""
    for section in re.split(r"\n\n(?=# )", request.system):
        yield section.partition("\n")[0], len(codec.encode(section)) - 2
    for tool in request.tools:
        yield tool.name, len(codec.encode(tool))


async def compose(mode: Mode, *, person: bool) -> dict[str, FirstRequest]:
    """Returns the first request of an agent of each kind, made by a session whose model is a double."""
    listener = Double()
    with _make_folders() as (home, work):
        small = {"id": "small", "provider": "here", "model": "s", "context_window": WINDOW}
        flags = {**FLAGS, "models": [small]}
        planck = Planck(
            home,
            work,
            environ=_ENVIRON,
            flags=flags,
            providers={"here": listener},
            approver=_Refuser() if person else None,
        )
        async with planck:
            await (await planck.start(mode=mode, stored=False)).run("hi")
            session = await planck.start("trio", mode=mode, stored=False)
            for member in session._team.members:
                await session._team.mail.prompt(member, "hi")
                await session.settled()
            await (await planck.start(model="small", mode=mode, stored=False)).run("hi")
    return dict(zip(KINDS, listener.requests, strict=True))


async def measure(dialect: str) -> tuple[int, int]:
    """Returns the bytes on the wire: of a solo agent's first request, and of a worker's."""
    listener = _Listener()
    server = await asyncio.start_server(listener.take, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    with _make_folders() as (home, work):
        providers = {"here": {**DIALECTS[dialect], "base_url": f"http://127.0.0.1:{port}"}}
        flags = {"default_model": "here/m", "providers": providers}
        async with server, Planck(home, work, environ=_ENVIRON, flags=flags) as planck:
            await (await planck.start(stored=False)).run("hi")
            session = await planck.start("trio", stored=False)
            team = session._team
            await team.mail.prompt(team.members[2], "hi")
            await session.settled()
    return listener.sizes[0], listener.sizes[-1]


FLAGS = {
    "default_model": "here/m",
    "providers": {"here": {"type": "openai", "base_url": "http://127.0.0.1:1"}},
}
_ENVIRON = {"PATH": "/usr/bin:/bin", "OPENAI_API_KEY": "x", "ANTHROPIC_API_KEY": "x", "GEMINI_API_KEY": "x"}


@contextmanager
def _make_folders() -> Iterator[tuple[Path, Path]]:
    """Yields a home with a team of three, and a workspace; their paths have the same length each time."""
    with tempfile.TemporaryDirectory() as folder:
        home, work = Path(folder, "home"), Path(folder, "work")
        (home / "teams" / "trio").mkdir(parents=True)
        work.mkdir()
        (home / "teams" / "trio" / "TEAM.json").write_bytes(codec.encode(_TEAM))
        yield home, work


class _Refuser:
    """A person who is never asked."""

    async def decide(self, question: Question) -> Answer:
        return Answer(question.id, question.digest, allow=False)


class _Unused:
    """Where a dialect would send its requests."""

    async def send(self, *request: Any) -> NoReturn:
        raise AssertionError("nothing is sent")

    async def aclose(self) -> None: ...


class Double:
    """Keeps every request in the bytes of all dialects, and answers."""

    def __init__(self) -> None:
        self.requests: list[FirstRequest] = []
        self.dialects: dict[str, Dialect] = {}
        for name, entry in DIALECTS.items():
            endpoint = Endpoint("here", entry["type"], entry.get("api", ""), "http://127.0.0.1:1", "x")
            provider = open_provider(endpoint, ModelSpec("here", "m"), _Unused())
            assert isinstance(provider, Dialect)
            self.dialects[name] = provider

    async def stream(self, request: Request) -> AsyncGenerator[Item, None]:
        bodies = {name: b"".join(one.encode_body(request)) for name, one in self.dialects.items()}
        self.requests.append(FirstRequest(request.system, tuple(request.tools), bodies))
        yield AssistantMessage((Text("hello"),), "double", "m", StopReason.END)


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
