"""Model calls: a delta, building a request, importing a dialect, a thousand calls at once."""

import asyncio
import random
import resource
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from typing import Any

from benchmarks import bare
from benchmarks.model_server import model_server
from planck.http.transport import HttpTransport, Transport
from planck.llm.dialects.table import open_provider
from planck.llm.endpoint import Endpoint
from planck.llm.provider import Provider, Request
from planck.llm.retry import Retrying
from planck.records.events import AssistantSaid, Delivery, Envelope, Kind, ToolEnd
from planck.records.history import History
from planck.records.messages import AssistantMessage, StopReason, Text, ToolCall
from planck.records.specs import ModelSpec, ToolSpec

DELTAS = 20_000
AT_ONCE = 1_000
TYPES = {
    "openai_chat": ("openai", "chat"),
    "openai_responses": ("openai", "responses"),
    "anthropic": ("anthropic", ""),
    "google": ("google", ""),
    "ollama": ("ollama", ""),
}
SPEC = ModelSpec(provider="bench", model="m")


def main() -> None:
    with model_server() as port:
        asyncio.run(_deltas(port))
        asyncio.run(_at_once(port))
    asyncio.run(_cancels())
    asyncio.run(_requests())
    _imports()


async def _deltas(port: int) -> None:
    """CPU of this process for each delta, the server being another process."""
    transport = HttpTransport()
    dialect = _provider(port, f"d{DELTAS}", transport)
    retrying = Retrying(dialect, random.Random(1).random)
    limit = await _cpu(lambda: bare.stream(port, DELTAS))
    ours = await _cpu(lambda: _drain(dialect))
    wrapped = await _cpu(lambda: _drain(retrying))
    await transport.aclose()
    print(f"a delta, bare loop             {limit:6.2f} us")
    print(f"a delta, our dialect           {ours:6.2f} us: {ours / limit:4.1f} x the bare loop")
    print(f"a delta, with retries around   {wrapped:6.2f} us: {wrapped / limit:4.1f} x  (aim <= 10 us)")
    sdk = await _cpu(lambda: _sdk_stream(port), rounds=1)
    print(f"a delta, openai SDK            {sdk:6.2f} us: {sdk / wrapped:4.1f} x ours  (aim >= 8 x)")
    await _messages(port)


async def _messages(port: int) -> None:
    transport = HttpTransport()
    endpoint = Endpoint("bench", "anthropic", base_url=f"http://127.0.0.1:{port}/a{DELTAS}", key="k")
    provider = Retrying(open_provider(endpoint, SPEC, transport), random.Random(1).random)
    ours = await _cpu(lambda: _drain(provider))
    await transport.aclose()
    sdk = await _cpu(lambda: _anthropic_sdk_stream(port), rounds=1)
    print(f"a delta, Messages with retries {ours:6.2f} us")
    print(f"a delta, anthropic SDK         {sdk:6.2f} us: {sdk / ours:4.1f} x ours  (aim >= 8 x)")


async def _cpu(measure: Callable[[], Awaitable[None]], rounds: int = 3) -> float:
    """The best of some rounds, in us a delta."""
    best = float("inf")
    for _ in range(rounds):
        began = time.process_time()
        await measure()
        best = min(best, time.process_time() - began)
    return best / DELTAS * 1e6


async def _drain(provider: Provider) -> None:
    count = 0
    async for _ in provider.stream(_asked(1)):
        count += 1
    assert count > DELTAS, count  # and what the server counted, and the message


async def _sdk_stream(port: int) -> None:
    import openai

    async with openai.AsyncOpenAI(api_key="k", base_url=f"http://127.0.0.1:{port}/d{DELTAS}/v1") as sdk:
        count = 0
        async for _ in await sdk.chat.completions.create(model="m", messages=[], stream=True):
            count += 1
        assert count > DELTAS


async def _anthropic_sdk_stream(port: int) -> None:
    import anthropic

    async with anthropic.AsyncAnthropic(api_key="k", base_url=f"http://127.0.0.1:{port}/a{DELTAS}") as sdk:
        count = 0
        hello: Any = [{"role": "user", "content": "hi"}]
        async for _ in await sdk.messages.create(model="m", messages=hello, max_tokens=9, stream=True):
            count += 1
        assert count > DELTAS


async def _at_once(port: int) -> None:
    transport = HttpTransport()
    provider = _provider(port, "d5", transport)
    asked = _asked(1)
    limit = await _both(lambda: bare.stream(port, 5))
    fresh = await _both(lambda: _count(provider, asked))
    again = await _both(lambda: _count(provider, asked))
    await transport.aclose()
    print(f"{AT_ONCE} calls at once, bare loop     {limit[0]:.3f} s, CPU {limit[1]:.3f} s")
    for name, (wall, cpu) in (("new connections", fresh), ("open connections", again)):
        ratios = f"{wall / limit[0]:.1f} x, CPU {cpu / limit[1]:.1f} x"
        print(f"{AT_ONCE} calls at once, {name:16} {wall:.3f} s, CPU {cpu:.3f} s: {ratios}")


async def _both(one: Callable[[], Awaitable[None]]) -> tuple[float, float]:
    wall, cpu = time.perf_counter(), time.process_time()
    await asyncio.gather(*(one() for _ in range(AT_ONCE)))
    return time.perf_counter() - wall, time.process_time() - cpu


async def _count(provider: Provider, asked: Request) -> None:
    assert len([item async for item in provider.stream(asked)]) == 7


async def _cancels(count: int = 200) -> None:
    """From the cancel of a call to the moment when its server sees the connection end."""
    seen: asyncio.Queue[float] = asyncio.Queue()
    begun: asyncio.Queue[None] = asyncio.Queue()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")
        begun.put_nowait(None)
        try:
            while await reader.read(65_536):
                pass
        except ConnectionError:
            pass
        seen.put_nowait(time.perf_counter())
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    transport = HttpTransport()
    provider = _provider(server.sockets[0].getsockname()[1], "x", transport)
    asked, waits = _asked(1), []
    for _ in range(count):
        call = asyncio.ensure_future(_count(provider, asked))
        await begun.get()
        cancelled = time.perf_counter()
        call.cancel()
        waits.append((await seen.get() - cancelled) * 1000)
    server.close()
    await transport.aclose()
    waits.sort()
    print(f"cancel to closed socket        {waits[count // 2]:.2f} ms, worst {waits[-1]:.2f} ms  (aim <= 50)")


class Discard:
    """A transport that keeps the size of a body and then fails: only the building is measured."""

    size = 0

    async def send(
        self, method: str, url: str, headers: object, body: object = b"", on_sent: object = None
    ) -> object:
        pieces = body if isinstance(body, list) else [body]
        self.size = sum(map(len, pieces))
        raise ConnectionAbortedError

    async def aclose(self) -> None: ...


async def _requests() -> None:
    for name, (type, api) in TYPES.items():
        if type == "ollama":
            continue  # asks for the context first
        figures = []
        for messages in (10, 100, 1_000):
            discard = Discard()
            provider = open_provider(Endpoint("b", type, api, "http://h", "k"), SPEC, discard)  # type: ignore[arg-type]  # fails before there is a response
            asked = _asked(messages)
            await _build(provider, asked)
            rounds = 200
            began = time.process_time()
            for _ in range(rounds):
                await _build(provider, asked)
            spent = (time.process_time() - began) / rounds * 1e6
            figures.append(f"{spent:6.1f} us ({discard.size / 1000:.0f} kB)")
        print(f"building a request, {name:17} @10 {figures[0]}, @100 {figures[1]}, @1000 {figures[2]}")


async def _build(provider: Provider, asked: Request) -> None:
    try:
        await anext(provider.stream(asked))
    except ConnectionAbortedError:
        return
    raise AssertionError


def _asked(messages: int) -> Request:
    """A session of that many messages: prompts, calls and results of a usual size."""
    history = History()
    while len(history.messages) < messages:
        n = len(history.messages)
        history.apply(Envelope(id=f"e{n}", kind=Kind.PROMPT, sender="user", receiver="a", text="go on " * 20))
        history.apply(Delivery(ids=(f"e{n}",), state="delivered"))
        call = ToolCall(f"t{n}", f"c{n}", "read", '{"path": "src/planck/records/history.py"}')
        parts = (Text("I look at it. " * 10), call)
        history.apply(AssistantSaid(message=AssistantMessage(parts, "x", "m", StopReason.TOOL_CALLS)))
        history.apply(ToolEnd(id=f"t{n}", name="read", ok=True, output="line\n" * 200, duration_ms=1))
    return Request("a", "be brief", history, TOOLS)


TOOLS = tuple(
    ToolSpec(
        f"tool_{n}", "Does something. " * 10, {"type": "object", "properties": {"path": {"type": "string"}}}
    )
    for n in range(15)
)


def _provider(port: int, path: str, transport: Transport) -> Provider:
    endpoint = Endpoint("bench", "openai", base_url=f"http://127.0.0.1:{port}/{path}/v1", key="k")
    return open_provider(endpoint, SPEC, transport)


def _imports() -> None:
    """A process that imports asyncio and the provider protocol, then with each dialect beside it."""
    without = _start("import asyncio, planck.llm.provider")
    for name in TYPES:
        spent = _start(f"import asyncio, planck.llm.provider, planck.llm.{name}") - without
        print(f"importing {name:17} {spent * 1000:5.1f} ms CPU more than asyncio and our records")
    sdk = _start("import asyncio, openai") - _start("import asyncio")
    print(f"importing the openai SDK    {sdk * 1000:5.1f} ms CPU more than asyncio")


def _start(code: str) -> float:
    """CPU of a whole process, the best of some: a busy machine tells nothing about an import."""

    def once() -> float:
        before = _children()
        subprocess.run([sys.executable, "-c", code], check=True)
        return _children() - before

    return min(once() for _ in range(8))


def _children() -> float:
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime
