"""`Client`: what `Planck` does in this process, done by a server that has it."""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self
from urllib.parse import quote, urlencode

from planck.client.messages import Message, Messages
from planck.http.errors import ProviderError
from planck.http.transport import HttpTransport, Response, read_all
from planck.records import codec
from planck.records.outcome import ErrorKind, PlanckError

_PREFIX = "/api/v1"
_MAX_ANSWER = 64 << 20
_SILENCE = 40.0
"""Seconds: the server pings every 15, so one that says nothing for longer is gone."""
_PAUSE = 0.5
"""Seconds before a stream that broke is asked for again; it doubles up to ten of them."""
_LONGEST_PAUSE = 5.0


class ClientError(PlanckError):
    """What the server answered that is no success: its kind, message and details."""

    def __init__(self, status: int, kind: ErrorKind, message: str, details: dict[str, Any]) -> None:
        super().__init__(kind, message, details)
        self.status = status


class Answer(NamedTuple):
    status: int
    headers: Mapping[str, str]
    data: Any


class Client:
    """One server, for as long as the block lasts."""

    def __init__(self, url: str, token: str) -> None:
        self._url = url.rstrip("/") + _PREFIX
        self._token = token
        self._transport = HttpTransport()

    @classmethod
    def from_ready(cls, line: str | bytes) -> "Client":
        """Takes the first line of `planck serve --json`."""
        ready = codec.decode(line)
        return cls(ready["url"], Path(ready["token_file"]).read_text())

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, type: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._transport.aclose()

    async def start(self, team: str = "", *, key: str = "", **options: Any) -> "RemoteSession":
        """Starts a session; `options` are the body's other fields. With a key it is safe to do it again."""
        body = {"team": team, **options} if team else options
        answer = await self.ask("POST", "/sessions", body, key=key)
        return RemoteSession(self, answer.data["id"])

    def session(self, id: str) -> "RemoteSession":
        return RemoteSession(self, id)

    async def sessions(self, **query: Any) -> AsyncGenerator[dict[str, Any], None]:
        """Yields every session of the workspace, page by page."""
        while True:
            page = (await self.ask("GET", "/sessions", **query)).data
            for row in page["items"]:
                yield row
            if page["next"] is None:
                return
            query["cursor"] = page["next"]

    async def approvals(self, session: str = "") -> list[dict[str, Any]]:
        """Returns the questions that wait for an answer, of one session or of all."""
        query = {"session": session} if session else {}
        items: list[dict[str, Any]] = (await self.ask("GET", "/approvals", **query)).data["items"]
        return items

    async def answer(
        self,
        approval: Mapping[str, Any],
        allow: bool,
        *,
        scope: str = "once",
        reason: str = "",
        key: str = "",
        content: Mapping[str, Any] | None = None,
    ) -> None:
        """Settles a question as it was seen; `writer_conflict` where somebody was first.

        `content` has the values of a server's form, by the names of its fields.
        """
        body = {"digest": approval["digest"], "allow": allow, "scope": scope, "reason": reason}
        body |= {} if content is None else {"content": content}
        await self.ask("POST", f"/approvals/{quote(approval['id'], safe='')}", body, key=key)

    async def ask(
        self, method: str, path: str, body: Any = None, /, *, key: str = "", **query: Any
    ) -> Answer:
        """One request; the answer's JSON, or its bytes where it is none. Raises what the server refuses."""
        response = await self.open(method, path, body, key=key, **query)
        content = await self.read(response)
        is_json = response.headers.get("content-type", "").startswith("application/json")
        data = codec.decode(content) if is_json and content else content or None
        if response.status >= 400:
            raise _read_failure(response.status, data)
        return Answer(response.status, response.headers, data)

    async def open(
        self,
        method: str,
        path: str,
        body: Any = None,
        /,
        *,
        key: str = "",
        last_id: int | None = None,
        **query: Any,
    ) -> Response:
        headers: dict[str, str] = {}
        if body is not None:
            headers["content-type"] = "application/json"
        if key:
            headers["idempotency-key"] = key
        if last_id is not None:
            headers |= {"accept": "text/event-stream", "last-event-id": str(last_id)}
        return await self.send(
            method, path, headers, b"" if body is None else codec.encode(body), urlencode(query)
        )

    async def send(
        self, method: str, path: str, headers: Mapping[str, str], body: bytes = b"", query: str = ""
    ) -> Response:
        """A request as it is, with the token; its answer is whatever comes."""
        url = f"{self._url}{path}" + (f"?{query}" if query else "")
        own = {"authorization": f"Bearer {self._token}"}
        return await self._transport.send(method, url, {**headers, **own}, body)

    async def read(self, response: Response) -> bytes:
        content = await read_all(response, _MAX_ANSWER)
        await response.aclose()
        return content


class RemoteSession:
    """One session of the server; it goes on whether or not anybody looks."""

    def __init__(self, client: Client, id: str) -> None:
        self.id = id
        self._client = client
        self._path = f"/sessions/{quote(id, safe='')}"

    async def ask(
        self, method: str, path: str = "", body: Any = None, /, *, key: str = "", **query: Any
    ) -> Any:
        return (await self._client.ask(method, self._path + path, body, key=key, **query)).data

    async def prompt(
        self, text: str, *, steer: bool = False, agent: str = "", key: str = ""
    ) -> dict[str, Any]:
        """Returns `{message_id, seq}` once it is durable; with a key it is safe to send it again."""
        body = {"text": text, "steer": steer, "agent": agent}
        accepted: dict[str, Any] = await self.ask("POST", "/prompts", body, key=key)
        return accepted

    async def run(self, prompt: str, *, timeout: float | None = None) -> dict[str, Any]:
        """Prompts, and returns the result once nothing works on it any more."""
        async with asyncio.timeout(timeout):
            accepted = await self.prompt(prompt)
            while True:
                result: dict[str, Any] | None = await self.ask("GET", "/result", after=accepted["seq"])
                if result is not None:
                    return result

    async def board(self, **query: Any) -> dict[str, Any]:
        board: dict[str, Any] = await self.ask("GET", "/board", **query)
        return board

    async def interrupt(self, agent: str = "") -> None:
        await self.ask("POST", "/interrupt", {"agent": agent})

    async def close(self) -> None:
        await self.ask("POST", "/close", {})

    async def delete(self) -> None:
        await self.ask("DELETE")

    async def events(self, after: int = 0, **query: Any) -> AsyncGenerator[dict[str, Any], None]:
        """Yields recorded events and deltas; a stream that breaks is taken up again after the last fact.

        It ends when the session is closed or deleted.
        """
        async with aclosing(self.messages(after, **query)) as messages:
            async for message in messages:
                if message.event == "message":
                    yield codec.decode(message.data)

    async def messages(self, after: int = 0, **query: Any) -> AsyncGenerator[Message, None]:
        """The stream as it comes: `live`, `ping` and `reset` too."""
        pause = _PAUSE
        while True:
            try:
                async with aclosing(self._connect(after, query)) as messages:
                    async for message in messages:
                        pause = _PAUSE
                        if message.id:
                            after = int(message.id)
                        elif message.event == "reset":
                            after = 0
                        yield message
                        if message.event == "end":
                            return
            except _Over:
                return
            except (ProviderError, TimeoutError) as failure:
                if isinstance(failure, ProviderError) and failure.err.kind not in _BROKEN:
                    raise
            except ClientError as refusal:
                if refusal.status not in (429, 503):
                    raise
            await asyncio.sleep(pause)
            pause = min(pause * 2, _LONGEST_PAUSE)

    async def _connect(self, after: int, query: Mapping[str, Any]) -> AsyncGenerator[Message, None]:
        response = await self._client.open("GET", f"{self._path}/events", last_id=after, **query)
        try:
            if response.status == 204:
                raise _Over
            if response.status != 200:
                content = await read_all(response)
                raise _read_failure(response.status, codec.decode(content) if content else None)
            feed, chunks = Messages(), aiter(response.chunks())
            while True:
                async with asyncio.timeout(_SILENCE):
                    chunk = await anext(chunks, None)
                if chunk is None:
                    return
                for message in feed.feed(chunk):
                    yield message
        finally:
            await response.aclose()


_BROKEN = (ErrorKind.NETWORK, ErrorKind.STREAM_CUT)


class _Over(Exception):
    """The server says that nothing more will come."""


def _read_failure(status: int, data: Any) -> ClientError:
    found = data.get("error", {}) if isinstance(data, dict) else {}
    kind = found.get("kind", "") if isinstance(found, dict) else ""
    if kind not in list(ErrorKind):
        return ClientError(
            status,
            ErrorKind.INVALID_RESPONSE,
            f"The server returned HTTP {status} without a reason. Check its address and its log.",
            {},
        )
    return ClientError(status, ErrorKind(kind), str(found.get("message", "")), found.get("details") or {})
