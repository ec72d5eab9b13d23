"""What an editor shows of a team's work: a card that is open as long as its task, a plan and a count once."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.acp.editor import editing
from tests.acp.test_agent import make_team
from tests.command import Bench
from tests.wire import chat
from tests.wire.server import Asked, Reply, WireServer

TASK = {"identifier": "tester", "identifier_type": "name", "task": "run the tests"}


def work(asked: Asked) -> Reply:
    """The orchestrator delegates and ends its turn; the tester says something, runs a command and reports."""
    messages = asked.json["messages"]
    said = [message for message in messages if message["role"] in ("assistant", "tool")]
    if "You test." in json.dumps(messages[0]):
        if said:
            return chat.text("3 passed")
        pieces = chat.text("I look first.").pieces[:-3]
        return Reply([*pieces, *chat.calls(("bash", {"command": "echo 3 passed"})).pieces])
    if not said:
        return chat.calls(("delegate_task", TASK))
    return chat.text("waiting") if len(said) == 2 else chat.text("all green")


def updates_of(editor: Any, call: str) -> list[tuple[str, list[str]]]:
    shown = [one for one in editor.of("tool_call_update") if one["toolCallId"] == call]
    return [
        (one.get("status", ""), [part["content"]["text"] for part in one.get("content") or ()])
        for one in shown
    ]


async def test_the_card_of_a_task_is_open_until_its_report_and_shows_what_the_worker_says(
    tmp_path: Path,
) -> None:
    async with WireServer(work) as server:
        bench = Bench(tmp_path, server.url)
        make_team(bench)
        async with editing(bench, "--team", "pair", "--permission-mode", "full") as editor:
            session = (await editor.agent.new_session(cwd=str(bench.work))).session_id
            assert await editor.say(session, "test it") == "end_turn"
        task, command = editor.of("tool_call")
        assert (task["title"], command["title"]) == ("delegate_task tester", "tester · echo 3 passed")
        shown = updates_of(editor, task["toolCallId"])
        assert [status for status, _ in shown].index("completed") == len(shown) - 1
        assert shown[-1] == ("completed", ["I look first.", "3 passed"])
        assert ("in_progress", ["I look first."]) in shown
        ids = [one["toolCallId"] for one in editor.of("tool_call_update") if one.get("status") == "completed"]
        assert ids == [command["toolCallId"], task["toolCallId"]]
        assert editor.text() == "waitingall green"
        async with editing(bench) as other:
            await other.agent.load_session(cwd=str(bench.work), session_id=session)
            assert updates_of(other, task["toolCallId"])[-1] == shown[-1]


async def test_a_plan_is_shown_once_and_a_plan_that_is_refused_as_a_call(tmp_path: Path) -> None:
    good = {"steps": [{"text": "look", "status": "doing"}]}
    bad = {"steps": [{"text": "look", "status": "soon"}]}
    async with WireServer(
        [chat.calls(("update_plan", good), ("update_plan", bad)), chat.text("ok")]
    ) as server:
        bench = Bench(tmp_path, server.url)
        async with editing(bench, "--permission-mode", "full") as editor:
            session = (await editor.agent.new_session(cwd=str(bench.work))).session_id
            assert await editor.say(session, "plan it") == "end_turn"
        (plan,) = editor.of("plan")
        assert [step["content"] for step in plan["entries"]] == ["look"]
        (refused,) = editor.of("tool_call")
        assert refused["rawInput"] == bad
        assert updates_of(editor, refused["toolCallId"])[-1][0] == "failed"


@pytest.mark.parametrize("limited", [True, False], ids=["with a budget", "without"])
async def test_each_answer_is_counted_once(tmp_path: Path, limited: bool) -> None:
    async with WireServer([chat.bash("echo 1"), chat.bash("echo 2"), chat.text("ok")]) as server:
        price = {"input": 1, "output": 1, "cache_read": 1, "cache_write": 1}
        models = [{"id": "m", "model": "m", "provider": "local", "price": price}]
        more: dict[str, Any] = {"budget": {"usd": 2.0}} if limited else {}
        bench = Bench(tmp_path, server.url, models=models, default_model="m", **more)
        async with editing(bench, "--permission-mode", "full") as editor:
            session = (await editor.agent.new_session(cwd=str(bench.work))).session_id
            assert await editor.say(session, "go") == "end_turn"
        told = editor.of("usage_update")
        assert len(told) == 3, told
        for update in told if limited else ():
            spent = update["_meta"]["planck"]["budget"]["spent_usd"]
            assert spent == pytest.approx(update["cost"]["amount"])


async def test_the_card_of_a_command_shows_the_files_that_it_changed(tmp_path: Path) -> None:
    command = (
        "echo two > a.txt; echo new > b.txt; head -c 100 /dev/zero > zeros; rm gone; echo SECRET=2 > .env"
    )
    async with WireServer([chat.calls(("bash", {"command": command})), chat.text("ok")]) as server:
        bench = Bench(tmp_path, server.url)
        (bench.work / ".git").mkdir()
        (bench.work / ".gitignore").write_text(".env\n")
        for name, content in {"a.txt": "one\n", "gone": "gone\n", ".env": "SECRET=1\n"}.items():
            (bench.work / name).write_text(content)
        async with editing(bench, "--permission-mode", "full") as editor:
            session = (await editor.agent.new_session(cwd=str(bench.work))).session_id
            assert await editor.say(session, "go") == "end_turn"
        (*_, last) = (one for one in editor.of("tool_call_update") if one.get("status") == "completed")
        diffs = [part for part in last["content"] if part["type"] == "diff"]
        assert [(Path(one["path"]).name, one.get("oldText"), one["newText"]) for one in diffs] == [
            ("a.txt", "one\n", "two\n"),
            ("b.txt", None, "new\n"),
            ("gone", "gone\n", ""),
        ]
