"""What a server asks during a call reaches the person of that call's session, and nobody else."""

import asyncio
import json
import os
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from planck import Planck
from planck.cli.ask.approver import TerminalApprover
from planck.cli.ask.typed_line import TypedLine
from planck.cli.tell.terminal import Terminal
from planck.client import ClientError
from planck.headless import Inbox
from planck.mcp.elicitation import read_form, read_page
from planck.permissions.question import ask_for_input
from planck.records.approval import Answer, Asked, Question
from planck.records.events import PermissionDecision, PermissionRequest, ToolEnd, view
from planck.records.outcome import Err, ErrorKind
from planck.testing import ScriptedProvider
from tests.api.bench import serving
from tests.api.test_approvals import wait_for

SERVER = Path(__file__).parent / "asking_server.py"
WAIT = 30
FORM = {
    "message": "Who are you?\x1b[2J",
    "requestedSchema": {
        "type": "object",
        "properties": {
            "name": {"type": "string", "title": "Your \u202ename", "minLength": 2},
            "age": {"type": "integer", "minimum": 0, "maximum": 150},
            "size": {"type": "string", "enum": ["s", "m"], "enumNames": ["Small", "Medium"], "default": "m"},
            "news": {"type": "boolean", "default": True},
            "tags": {"type": "array", "items": {"anyOf": [{"const": "a", "title": "A"}]}},
        },
        "required": ["name"],
    },
}
PAGE = {"mode": "url", "message": "Sign in.", "url": "https://a.example/x?y=1", "elicitationId": "e"}
ERAS = pytest.mark.parametrize("era", ["old", "new"])


class Room:
    """A session that calls the server once with these questions, and whoever answers."""

    def __init__(self, folder: Path, era: str, approver: Inbox | None, *, timeout: int = 30_000) -> None:
        self.inbox = approver
        self._folder = folder
        entry = {"command": sys.executable, "args": ["-S", "-E", str(SERVER), era], "timeout": timeout}
        config = {"default_model": "local/m", "mcpServers": {"asks": entry}, "peers_wait_ms": 30_000}
        config["permissions"] = {"mode": "full"}
        for name in ("home", "work"):
            (folder / name).mkdir(exist_ok=True)
        (folder / "home/config.json").write_text(json.dumps(config))

    @asynccontextmanager
    async def calling(self, *questions: Any, **more: Any) -> "AsyncGenerator[asyncio.Task[Any], None]":
        """Yields the task that ends with what the tool returned."""
        args = {"questions": [*questions], **more}
        model = ScriptedProvider([[("mcp__asks__ask", args)], "done"])
        environ = {"PATH": os.environ["PATH"], "HOME": str(self._folder)}
        planck = Planck(
            self._folder / "home",
            self._folder / "work",
            environ=environ,
            providers={"local": model},
            approver=self.inbox,
        )
        async with planck:
            session = await planck.start()
            self.session = session
            running = asyncio.ensure_future(self._run(session))
            try:
                yield running
            finally:
                running.cancel()
                await asyncio.gather(running, return_exceptions=True)

    async def _run(self, session: Any) -> ToolEnd:
        await session.run("go")
        (ended,) = [fact for fact in self.facts() if isinstance(fact, ToolEnd)]
        return ended

    def facts(self) -> list[Any]:
        return [view(event) for event in self.session.recorded()]

    async def question(self) -> Question:
        assert self.inbox is not None
        async with asyncio.timeout(WAIT):
            while not (pending := self.inbox.pending()):
                await self.inbox.wait_for_change(self.inbox.changes)
        return pending[0]


def accept(inbox: Inbox | None, question: Question, **content: Any) -> Err | None:
    assert inbox is not None
    return inbox.answer(question.id, question.digest, True, content=content)


@ERAS
async def test_a_form_reaches_the_person_and_only_values_that_fit_reach_the_server(
    tmp_path: Path, era: str
) -> None:
    room = Room(tmp_path, era, Inbox())
    async with room.calling(FORM) as call:
        asked = await room.question()
        assert (asked.asks, asked.session_id) == ("form", room.session.id)
        assert asked.text == "Who are you?\\x1b[2J"
        assert asked.fields[0].label == "Your \\u202ename"
        assert [field.kind for field in asked.fields] == ["text", "integer", "choice", "boolean", "choices"]
        assert asked.deadline > asked.asked
        for wrong in ({}, {"name": "A"}, {"name": "Ada", "age": 1.5}, {"name": "Ada", "key": 1}):
            refused = accept(room.inbox, asked, **wrong)
            assert refused is not None
            assert refused.kind is ErrorKind.INVALID_ARGS
        assert accept(room.inbox, asked, name="Ada", age=36, size="s", news=False, tags=["a"]) is None
        ended = await call
    given = {"name": "Ada", "age": 36, "size": "s", "news": False, "tags": ["a"]}
    assert json.loads(ended.output) == {"q0": {"action": "accept", "content": given}}


@ERAS
async def test_a_page_is_shown_whole_and_an_answer_is_no_permission(tmp_path: Path, era: str) -> None:
    room = Room(tmp_path, era, Inbox())
    async with room.calling(PAGE) as call:
        asked = await room.question()
        assert (asked.asks, asked.url, asked.rule) == ("page", PAGE["url"], "")
        assert "a.example" in asked.adds
        assert accept(room.inbox, asked) is None
        ended = await call
        facts = room.facts()
    assert json.loads(ended.output) == {"q0": {"action": "accept"}}
    assert [fact for fact in facts if isinstance(fact, PermissionRequest | PermissionDecision)] == []


@ERAS
async def test_a_no_is_declined_and_the_call_goes_on(tmp_path: Path, era: str) -> None:
    room = Room(tmp_path, era, Inbox())
    async with room.calling(FORM) as call:
        asked = await room.question()
        assert room.inbox is not None
        assert room.inbox.answer(asked.id, asked.digest, False) is None
        ended = await call
    assert json.loads(ended.output) == {"q0": {"action": "decline"}}


@ERAS
async def test_where_nobody_can_be_asked_it_is_declined_at_once(tmp_path: Path, era: str) -> None:
    room = Room(tmp_path, era, None)
    async with room.calling(FORM, PAGE) as call:
        ended = await call
    assert json.loads(ended.output) == {"q0": {"action": "decline"}, "q1": {"action": "decline"}}


MANY = {f"f{number}": {"type": "string"} for number in range(21)}


def form(message: str, **properties: Any) -> dict[str, Any]:
    return {"message": message, "requestedSchema": {"type": "object", "properties": properties}}


BAD: list[dict[str, Any]] = [
    form("?", **MANY),
    form("x" * 5_000),
    form("?", choice={"type": "string", "enum": [str(number) for number in range(60)]}),
    *(
        {**PAGE, "url": url}
        for url in (
            "file:///etc/passwd",
            "javascript:alert(1)",
            "https://bank.example@evil.example/",
            "https://a.example/\u202etxt",
            "https://\u0430pple.example/",
        )
    ),
]


@ERAS
async def test_what_could_not_be_shown_as_it_is_is_declined_and_not_shown(tmp_path: Path, era: str) -> None:
    room = Room(tmp_path, era, Inbox())
    async with room.calling(*BAD) as call:
        ended = await call
    assert [one["action"] for one in json.loads(ended.output).values()] == ["decline"] * len(BAD)
    assert room.inbox is not None
    assert room.inbox.pending() == ()


async def test_one_question_is_shown_at_a_time_and_ten_in_a_call(tmp_path: Path) -> None:
    room = Room(tmp_path, "old", Inbox())
    async with room.calling(*[FORM] * 14) as call:
        for _ in range(10):
            asked = await room.question()
            assert room.inbox is not None
            assert len(room.inbox.pending()) == 1
            assert accept(room.inbox, asked, name="Ada") is None
        ended = await call
    actions = [one["action"] for one in json.loads(ended.output).values()]
    assert sorted(actions) == ["accept"] * 10 + ["decline"] * 4


async def test_a_server_that_dies_while_it_asks_takes_its_question_along(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    os.mkfifo(mark)
    room = Room(tmp_path, "old", Inbox())
    async with room.calling(FORM, then="die", mark=str(mark)) as call:
        asked = await room.question()
        await asyncio.to_thread(mark.write_text, "seen")
        ended = await call
        assert room.inbox is not None
        assert room.inbox.pending() == ()
        late = accept(room.inbox, asked, name="Ada")
    assert not ended.ok
    assert late is not None
    assert late.kind is ErrorKind.WRITER_CONFLICT


@pytest.mark.parametrize("how", ["result", "interrupt", "deadline"])
async def test_a_question_goes_with_its_call(tmp_path: Path, how: str) -> None:
    room = Room(tmp_path, "old", Inbox(), timeout=800 if how == "deadline" else 30_000)
    async with room.calling(FORM, then="go on" if how == "result" else "") as call:
        if how != "result":
            await room.question()
        if how == "interrupt":
            room.session.interrupt()
        await call
        assert room.inbox is not None
        async with asyncio.timeout(WAIT):
            while room.inbox.pending():
                await room.inbox.wait_for_change(room.inbox.changes)


def ask_lines(question: Question, *lines: str) -> "asyncio.Task[Answer]":
    """Answers by typed lines, as on a terminal that is not painted."""
    approver = TerminalApprover(reads=False)
    approver.attach(Terminal(), lambda quiet: 0)

    async def answer() -> Answer:
        deciding = asyncio.ensure_future(approver.decide(question))
        await asyncio.sleep(0)
        for line in lines:
            approver.take(TypedLine(line, by_hand=True))
        async with asyncio.timeout(WAIT):
            return await deciding

    return asyncio.ensure_future(answer())


@pytest.mark.parametrize(
    ("question", "lines", "allow", "content"),
    [
        (
            FORM,
            ["y", "A", "Ada", "36", "", "no", "-"],
            True,
            {"name": "Ada", "age": 36, "size": "m", "news": False},
        ),
        (FORM, ["", "what", "n"], False, {}),
        (PAGE, ["y"], True, {}),
        (PAGE, ["n"], False, {}),
    ],
)
async def test_lines_answer_a_server_and_show_nothing_that_acts_on_the_terminal(
    question: dict[str, Any], lines: list[str], allow: bool, content: dict[str, Any], capfd: Any
) -> None:
    asked = read_form(question["message"], question.get("requestedSchema", {}))
    if "url" in question:
        asked = read_page(question["message"], question["url"])
    assert isinstance(asked, Asked)
    made = ask_for_input("q", "a\x1b[2Jb", asked, "agent", "call")
    answer = await ask_lines(made, *lines)
    assert (answer.allow, answer.content) == (allow, content)
    shown = capfd.readouterr().err
    assert question.get("url", "your") in shown.replace("Your", "your")
    assert "\x1b[2J" not in shown
    assert "\u202e" not in shown


async def test_a_form_is_answered_over_http_and_a_wrong_value_is_refused(tmp_path: Path) -> None:
    entry = {"command": sys.executable, "args": ["-S", "-E", str(SERVER), "new"]}
    config = {"mcpServers": {"asks": entry}, "peers_wait_ms": 30_000, "permissions": {"mode": "full"}}
    script: Any = [[("mcp__asks__ask", {"questions": [FORM]})], "done"]
    async with serving(tmp_path, script, config=config) as server, server.client() as client:
        session = await client.start()
        accepted = await session.prompt("go")
        (asked,) = await wait_for(client, 1)
        assert (asked["asks"], asked["fields"][0]["name"], asked["rule"]) == ("form", "name", "")
        with pytest.raises(ClientError) as refused:
            await client.answer(asked, True, content={"name": 5})
        assert refused.value.err.kind is ErrorKind.INVALID_ARGS
        await client.answer(asked, True, content={"name": "Ada"})
        result = await session.ask("GET", "/result", after=accepted["seq"])
        assert result["status"] == "completed"
    assert server.model is not None
    assert '"content": {"name": "Ada"}' in str(server.model.asked[-1].messages)
