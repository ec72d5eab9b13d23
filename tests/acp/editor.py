"""An editor: the client of PyPI's `agent-client-protocol`, which we did not write, around a real process."""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any

import acp
from acp import schema
from acp.connection import StreamDirection, StreamEvent

from tests.acp.published import UPDATE, Judge
from tests.command import WAIT, Bench

Choice = Callable[[dict[str, Any]], str]
"""Of a permission request: the option's id; empty: cancelled."""


class Editor:
    """Answers questions by `choose`, offers files and terminals, and has every message judged."""

    def __init__(self, choose: Choice, judge: Judge) -> None:
        self.judge = judge
        self.updates: list[dict[str, Any]] = []
        """What the agent told, as it came over the wire."""
        self.questions: list[dict[str, Any]] = []
        self.problems: list[Exception] = []
        """What the judge found: the SDK swallows what is raised where it is observed."""
        self.agent: acp.Agent
        self.process: asyncio.subprocess.Process
        self._choose = choose
        self._moved = asyncio.Event()

    def observe(self, event: StreamEvent) -> None:
        try:
            self.judge.see(event.message, by_agent=event.direction is StreamDirection.INCOMING)
        except (AssertionError, LookupError) as problem:
            self.problems.append(problem)
        if event.message.get("method") == UPDATE:
            self.updates.append(event.message["params"]["update"])
        if event.message.get("method") == "session/request_permission":
            self.questions.append(event.message["params"])
        self._moved.set()

    async def request_permission(self, session_id: str, tool_call: Any, options: Any, **kwargs: Any) -> Any:
        asked = self.questions[-1]
        chosen = self._choose(asked)
        if chosen == "never":
            await asyncio.get_running_loop().create_future()
        if not chosen:
            return schema.RequestPermissionResponse(outcome=schema.DeniedOutcome(outcome="cancelled"))
        outcome = schema.AllowedOutcome(outcome="selected", option_id=chosen)
        return schema.RequestPermissionResponse(outcome=outcome)

    async def session_update(self, session_id: str, update: Any, **kwargs: Any) -> None:
        pass

    def on_connect(self, conn: Any) -> None:
        pass

    async def until(self, found: Callable[["Editor"], bool]) -> None:
        async with asyncio.timeout(WAIT):
            while not found(self):
                self._moved.clear()
                await self._moved.wait()

    async def say(self, session: str, text: str) -> str:
        async with asyncio.timeout(WAIT):
            done = await self.agent.prompt(session_id=session, prompt=[acp.text_block(text)])
        return str(done.stop_reason)

    def of(self, kind: str) -> list[dict[str, Any]]:
        return [update for update in self.updates if update["sessionUpdate"] == kind]

    def text(self, kind: str = "agent_message_chunk") -> str:
        return "".join(update["content"]["text"] for update in self.of(kind))


@asynccontextmanager
async def editing(
    bench: Bench,
    *options: str,
    choose: Choice = lambda asked: "once",
    offers: Any = None,
    unstable: bool = False,
) -> AsyncGenerator[Editor, None]:
    """Starts `planck acp`, connected and initialized; it must have ended by itself once the editor leaves."""
    process = await bench.start("acp", *options)
    assert process.stdin is not None
    assert process.stdout is not None
    editor = Editor(choose, Judge(unstable=unstable))
    editor.process = process
    setattr(process.stdout, "_limit", 1 << 24)  # noqa: B010 - the default is for short lines
    connection: Any = acp.connect_to_agent(
        editor,  # type: ignore[arg-type]  # what is offered and never used is not there
        process.stdin,
        process.stdout,
        observers=[editor.observe],
        use_unstable_protocol=True,
    )
    editor.agent = connection
    try:
        async with asyncio.timeout(WAIT):
            await connection.initialize(
                protocol_version=1,
                client_capabilities=offers
                or schema.ClientCapabilities(
                    fs=schema.FileSystemCapabilities(read_text_file=True, write_text_file=True), terminal=True
                ),
            )
        yield editor
    finally:
        process.stdin.close()
        try:
            async with asyncio.timeout(WAIT):
                await process.wait()
        finally:
            if process.returncode is None:
                process.kill()
        await connection.close()
    assert editor.problems == []
    allowed = {UPDATE, "session/request_permission", "$/cancel_request"}
    assert editor.judge.methods <= allowed  # the client's files and terminals are not ours to use


class Line:
    """A client that keeps to nothing: bytes to a `planck acp` and lines from it."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.judge = Judge()

    async def send(self, *messages: dict[str, Any] | bytes) -> None:
        assert self.process.stdin is not None
        for message in messages:
            if isinstance(message, dict) and "id" in message and "method" in message:
                self.judge.expect(message["id"], message["method"])
            line = (
                message if isinstance(message, bytes) else json.dumps({"jsonrpc": "2.0", **message}).encode()
            )
            self.process.stdin.write(line + b"\n")
            await self.process.stdin.drain()

    async def next(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        async with asyncio.timeout(WAIT):
            line = await self.process.stdout.readline()
        assert line, (await self.process.stderr.read()) if self.process.stderr else ""
        message: dict[str, Any] = json.loads(line)
        self.judge.see(message, by_agent=True)
        return message

    async def ask(self, id: int, method: str, **params: Any) -> dict[str, Any]:
        await self.send({"id": id, "method": method, "params": params})
        return await self.answer(id)

    async def answer(self, id: int | None) -> dict[str, Any]:
        while (message := await self.next()).get("id", "") != id or "method" in message:
            pass
        return message


@asynccontextmanager
async def talking(bench: Bench, *options: str) -> AsyncGenerator[Line, None]:
    process = await bench.start("acp", *options)
    line = Line(process)
    try:
        yield line
    finally:
        assert process.stdin is not None
        process.stdin.close()
        try:
            async with asyncio.timeout(WAIT):
                await process.wait()
        finally:
            if process.returncode is None:
                process.kill()
