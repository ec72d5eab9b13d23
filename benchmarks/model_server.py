"""For measuring: `/t<N>/v1` asks for N tool turns, `/d<N>/v1` streams N deltas, `/a<N>` those as Messages.

`/p<N>/v1` streams N deltas one by one, as a model does: each comes in a read of its own.
"""

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager


def _event(body: str) -> bytes:
    return b"data: " + body.encode() + b"\n\n"


def _delta(content: str) -> str:
    return '{"id":"c","object":"chat.completion.chunk","choices":[{"index":0,"delta":' + content + "}]}"


_STOP = (
    '{"id":"c","object":"chat.completion.chunk","choices":[{"index":0,"delta":{},"finish_reason":"%s"}],'
    '"usage":{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15}}'
)
_CALL = _delta(
    '{"role":"assistant","tool_calls":[{"index":0,"id":"call_%d","type":"function",'
    '"function":{"name":"noop","arguments":"{\\"n\\": %d}"}}]}'
)
_DONE = b"data: [DONE]\n\n"
_PACE = 0.0005
"""Seconds between two deltas of `/p<N>`."""


def _messages(count: int) -> bytes:
    """The same in the shape of Anthropic Messages."""
    start = (
        '{"type":"message_start","message":{"id":"m","type":"message","role":"assistant","model":"m",'
        '"content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":1,"output_tokens":1}}}'
    )
    block = '{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}'
    delta = '{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"word "}}'
    last = '{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":5}}'
    named = [start, block, *[delta] * count, '{"type":"content_block_stop","index":0}', last]
    return b"".join(
        b"event: %s\n" % body.split('"')[3].encode() + _event(body)
        for body in [*named, '{"type":"message_stop"}']
    )


def _answer(path: str, body: bytes) -> bytes:
    kind, count = path[1], int(path[2:].partition("/")[0])
    if kind == "a":
        return _messages(count)
    if kind in "dp":
        return _event(_delta('{"content":"word "}')) * count + _event(_STOP % "stop") + _DONE
    done = body.count(b'"role":"tool"')
    if done < count:
        return _event(_CALL % (done, done)) + _event(_STOP % "tool_calls") + _DONE
    return _event(_delta('{"content":"done"}')) + _event(_STOP % "stop") + _DONE


async def _serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while True:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            path = head.split(" ", 2)[1]
            length = next(
                int(line.split(":")[1])
                for line in head.split("\r\n")
                if line.lower().startswith("content-length")
            )
            payload = _answer(path, await reader.readexactly(length))
            begin = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: %d\r\n\r\n"
            writer.write(begin % len(payload) + (b"" if path[1] == "p" else payload))
            if path[1] == "p":
                for event in payload.split(b"\n\n")[:-1]:
                    await asyncio.sleep(_PACE)
                    writer.write(event + b"\n\n")
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()


async def _main() -> None:
    server = await asyncio.start_server(_serve, "127.0.0.1", 0, limit=64 << 20, backlog=2048)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


@contextmanager
def model_server() -> Iterator[int]:
    """The port of a server in a process of its own: its work is not in our figures."""
    with subprocess.Popen(
        [sys.executable, "-m", "benchmarks.model_server"], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout
        try:
            yield int(process.stdout.readline())
        finally:
            process.kill()


if __name__ == "__main__":
    asyncio.run(_main())
