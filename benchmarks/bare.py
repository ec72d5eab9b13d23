"""The limit: a hand-written loop on asyncio, httptools and msgspec, without a log and without care."""

import asyncio
from typing import Any

import httptools
import msgspec


class Function(msgspec.Struct):
    name: str = ""
    arguments: str = ""


class Call(msgspec.Struct):
    index: int = 0
    id: str = ""
    function: Function = msgspec.field(default_factory=Function)


class Delta(msgspec.Struct):
    content: str | None = None
    tool_calls: list[Call] = []


class Choice(msgspec.Struct):
    delta: Delta
    finish_reason: str | None = None


class Chunk(msgspec.Struct):
    choices: list[Choice]


_decode = msgspec.json.Decoder(Chunk).decode


class Connection(asyncio.Protocol):
    """Feeds every chunk of the stream to `on_chunk`; one request at a time."""

    def __init__(self) -> None:
        self.chunks: list[Chunk] = []
        self.done: asyncio.Future[None] | None = None
        self._buffer = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport: Any = transport

    def data_received(self, data: bytes) -> None:
        self._parser.feed_data(data)

    def on_body(self, body: bytes) -> None:
        self._buffer += body
        *events, self._buffer = self._buffer.split(b"\n\n")
        for event in events:
            if event != b"data: [DONE]":
                self.chunks.append(_decode(event[6:]))

    def on_message_complete(self) -> None:
        if self.done:
            self.done.set_result(None)

    async def post(self, path: str, body: bytes) -> list[Chunk]:
        self._parser = httptools.HttpResponseParser(self)
        self.chunks, self._buffer = [], b""
        self.done = asyncio.get_running_loop().create_future()
        self.transport.write(
            b"POST %s HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n"
            % (path.encode(), len(body))
            + body
        )
        await self.done
        return self.chunks


async def connect(port: int) -> Connection:
    _, protocol = await asyncio.get_running_loop().create_connection(Connection, "127.0.0.1", port)
    return protocol


_TOOLS = (
    b',"tools":[{"type":"function","function":'
    b'{"name":"noop","description":"","parameters":{"type":"object"}}}]'
)


async def run_turns(port: int, turns: int) -> None:
    connection = await connect(port)
    messages = [b'{"role":"user","content":"go"}']
    while True:
        body = b'{"model":"m","stream":true,"messages":[' + b",".join(messages) + b"]" + _TOOLS + b"}"
        chunks = await connection.post(f"/t{turns}/v1/chat/completions", body)
        calls = [call for chunk in chunks for choice in chunk.choices for call in choice.delta.tool_calls]
        if not calls:
            break
        call = calls[0]
        arguments = msgspec.json.decode(call.function.arguments)
        messages.append(
            msgspec.json.encode(
                {
                    "role": "assistant",
                    "tool_calls": [
                        {
                            "id": call.id,
                            "type": "function",
                            "function": {"name": "noop", "arguments": call.function.arguments},
                        }
                    ],
                }
            )
        )
        messages.append(
            msgspec.json.encode({"role": "tool", "tool_call_id": call.id, "content": f"ok {arguments['n']}"})
        )
    connection.transport.close()


async def stream(port: int, deltas: int, kind: str = "d") -> None:
    connection = await connect(port)
    chunks = await connection.post(f"/{kind}{deltas}/v1/chat/completions", b'{"messages":[]}')
    assert len(chunks) > deltas
    connection.transport.close()
