"""`planck acp` in an editor that we did not write; every message is judged by the published schema."""

import asyncio
import json
from pathlib import Path
from typing import Any

import acp
import pytest

from tests.acp.editor import editing, talking
from tests.acp.published import Judge
from tests.command import Bench
from tests.foreign.crew import plain
from tests.teams import ask, write_team
from tests.wire import chat
from tests.wire.server import Asked, Reply, WireServer

PLAN = {"steps": [{"text": "look", "status": "done"}, {"text": "mend", "status": "doing"}]}
EDIT = {"path": "prices.py", "old_string": "price - discount", "new_string": "price * (100 - discount) / 100"}
BEFORE = "def total(price, discount):\n    return price - discount\n"
AFTER = "def total(price, discount):\n    return price * (100 - discount) / 100\n"


def kinds(updates: list[dict[str, Any]]) -> list[str]:
    return [update["sessionUpdate"] for update in updates]


async def test_a_prompt_is_answered_with_a_plan_calls_a_diff_and_a_question_and_can_be_loaded_again(
    tmp_path: Path,
) -> None:
    script = [
        chat.calls(("update_plan", PLAN), ("edit", EDIT), ("bash", {"command": "echo hello"})),
        chat.text("It is ", "mended.", thinking=["a percentage"]),
        chat.text("As I said."),
    ]
    async with WireServer(script) as server:
        bench = Bench(tmp_path, server.url)
        (bench.work / "prices.py").write_text(BEFORE)
        file = str(bench.work / "prices.py")
        async with editing(bench) as editor:
            new = await editor.agent.new_session(cwd=str(bench.work))
            assert await editor.say(new.session_id, "mend the discount") == "end_turn"
            first = list(editor.updates)
        edit, bash = editor.of("tool_call")
        assert [call["status"] for call in (edit, bash)] == ["pending"] * 2
        assert [(call["title"], call["kind"], call["name"]) for call in (edit, bash)] == [
            ("edit prices.py", "edit", "edit"),
            ("echo hello", "execute", "bash"),
        ]
        assert edit["locations"] == [{"path": file}]
        assert edit["rawInput"] == EDIT
        diff = {"type": "diff", "path": file, "oldText": BEFORE, "newText": AFTER}
        (question,) = editor.questions
        assert question["toolCall"]["toolCallId"] == edit["toolCallId"]
        assert question["toolCall"]["content"][0] == diff
        assert [(one["kind"], one["optionId"]) for one in question["options"]] == [
            ("allow_once", "once"),
            ("allow_always", "session"),
            ("allow_always", "rule"),
            ("reject_once", "no"),
        ]
        ends = {
            update["toolCallId"]: update
            for update in editor.of("tool_call_update")
            if update.get("status") == "completed"
        }
        assert ends[edit["toolCallId"]]["content"] == [diff]
        assert ends[bash["toolCallId"]]["rawOutput"]["exit_code"] == 0
        assert ends[bash["toolCallId"]]["content"][0]["content"]["text"] == "hello\n"
        (shown,) = editor.of("plan")
        assert [(one["content"], one["status"]) for one in shown["entries"]] == [
            ("look", "completed"),
            ("mend", "in_progress"),
        ]
        assert editor.text() == "It is mended."
        assert editor.text("agent_thought_chunk") == "a percentage"
        assert {update["messageId"] for update in editor.of("agent_message_chunk")} != {None}
        assert editor.of("usage_update")[-1]["size"] == 128_000
        assert (bench.work / "prices.py").read_text() == AFTER

        async with editing(bench) as other:
            await other.agent.load_session(cwd=str(bench.work), session_id=new.session_id)
            assert other.text("user_message_chunk") == "mend the discount"
            assert other.text() == "It is mended."
            assert other.of("plan") == editor.of("plan")
            assert [call["toolCallId"] for call in other.of("tool_call")] == [
                call["toolCallId"] for call in editor.of("tool_call")
            ]
            assert other.questions == []
            assert await other.say(new.session_id, "again") == "end_turn"
            assert other.text() == "It is mended.As I said."
            listed = await other.agent.list_sessions(cwd=str(bench.work))
            assert [(row.session_id, row.title) for row in listed.sessions] == [
                (new.session_id, "mend the discount")
            ]
    assert "available_commands_update" in kinds(first)


def hold(text: str, gate: asyncio.Event) -> Reply:
    """An answer that stops in its middle until the gate opens."""
    whole = chat.text(text, "the rest")
    return Reply([*whole.pieces[:2], gate, *whole.pieces[2:]])


async def test_a_turn_is_cancelled_in_mid_stream_and_the_next_prompt_is_answered(tmp_path: Path) -> None:
    gate = asyncio.Event()
    async with WireServer([hold("begun ", gate), chat.text("here again")]) as server:
        bench = Bench(tmp_path, server.url)
        async with editing(bench) as editor:
            session = (await editor.agent.new_session(cwd=str(bench.work))).session_id
            prompting = asyncio.ensure_future(editor.say(session, "go"))
            await editor.until(lambda it: it.text() == "begun ")
            await editor.agent.cancel(session_id=session)
            assert await prompting == "cancelled"
            assert await editor.say(session, "go on") == "end_turn"
            assert editor.text() == "begun here again"
            ids = [update["messageId"] for update in editor.of("agent_message_chunk")]
            assert ids[0] != ids[-1]


async def test_a_question_that_is_cancelled_or_refused_is_a_no_and_so_is_one_that_never_ends(
    tmp_path: Path,
) -> None:
    answers = iter(["", "no", "nonsense", "never"])
    write = ("write", {"path": "a.txt", "content": "a"})
    script = [*[chat.calls(write)] * 3, chat.text("I may not."), chat.calls(write), chat.text("over")]
    async with WireServer(script) as server:
        bench = Bench(tmp_path, server.url)
        async with editing(bench, choose=lambda asked: next(answers)) as editor:
            session = (await editor.agent.new_session(cwd=str(bench.work))).session_id
            assert await editor.say(session, "write") == "end_turn"
            assert len(editor.questions) == 3
            kinds_of_errors = [
                update["rawOutput"]["error"]["kind"]
                for update in editor.of("tool_call_update")
                if update.get("status") == "failed"
            ]
            assert kinds_of_errors == ["permission_denied"] * 3
            shown = [
                update["content"][0]["content"]["text"]
                for update in editor.of("tool_call_update")
                if update.get("status") == "failed"
            ]
            way_out = "To allow it, choose another --permission-mode or add a rule."
            assert shown == [
                f"write was not run: the client closed the question without an answer. {way_out}",
                "write was not run: the user said no.",
                f"write was not run: the client chose an answer that was not offered. {way_out}",
            ], "what a person can do about it, and not what the model is told"
            prompting = asyncio.ensure_future(editor.say(session, "write again"))
            await editor.until(lambda it: len(it.questions) == 4)
            await editor.agent.cancel(session_id=session)
            assert await prompting == "cancelled"
            await editor.until(lambda it: "$/cancel_request" in it.judge.methods)
        assert not (bench.work / "a.txt").exists()


async def test_modes_models_effort_and_team_are_options_and_every_change_is_told(tmp_path: Path) -> None:
    team = {
        "name": "Two",
        "members": [
            {"type": "orchestrator"},
            {"type": "tester", "system_prompt": "Test.", "description": "runs tests"},
        ],
    }
    models = [
        {"id": "small", "model": "s", "provider": "local"},
        {"id": "big", "model": "b", "provider": "local"},
    ]
    async with WireServer([chat.calls(("write", {"path": "a", "content": "a"})), chat.text("ok")]) as server:
        bench = Bench(tmp_path, server.url, models=models, default_model="small")
        place = bench.home / "teams" / "two"
        place.mkdir(parents=True)
        (place / "TEAM.json").write_text(json.dumps(team))
        async with editing(bench) as editor:
            new = await editor.agent.new_session(cwd=str(bench.work))
            assert new.modes is not None
            assert new.modes.current_mode_id == "ask"
            assert [mode.id for mode in new.modes.available_modes] == [
                "read-only",
                "plan",
                "ask",
                "workspace",
                "full",
            ]
            assert [option.id for option in new.config_options or ()] == ["mode", "model", "effort", "team"]

            async def choose(option: str, value: str) -> dict[str, Any]:
                answer = await editor.agent.set_config_option(
                    config_id=option, session_id=new.session_id, value=value
                )
                told = editor.of("config_option_update")[-1]["configOptions"]
                current: dict[str, Any] = {one["id"]: one["currentValue"] for one in told}
                assert answer is not None
                assert {one.id: one.current_value for one in answer.config_options} == current
                return current

            assert (await choose("team", "two"))["team"] == "two"
            assert (await choose("model", "big"))["model"] == "big"
            assert (await choose("effort", "high")) == {
                "mode": "ask",
                "model": "big",
                "effort": "high",
                "team": "two",
            }
            await editor.agent.set_session_mode(session_id=new.session_id, mode_id="full")
            assert editor.of("current_mode_update")[-1]["currentModeId"] == "full"
            assert editor.of("config_option_update")[-1]["configOptions"][0]["currentValue"] == "full"
            assert await editor.say(new.session_id, "write it") == "end_turn"
            assert editor.questions == []
            assert server.asked[0].json["model"] == "b"
            assert server.asked[0].json["reasoning_effort"] == "high"
            assert "tester" in json.dumps(server.asked[0].json["messages"][0])
            teams = {one["id"]: one for one in editor.of("config_option_update")[-1]["configOptions"]}["team"]
            assert [one["value"] for one in teams["options"]] == ["two"]
            for option, value in (("team", "default"), ("mode", "nonsense"), ("colour", "red")):
                with pytest.raises(acp.RequestError) as refused:
                    await choose(option, value)
                assert refused.value.code == -32602


async def test_a_second_prompt_while_it_works_steers_it(tmp_path: Path) -> None:
    gate = asyncio.Event()
    held = chat.calls(("list_dir", {}))
    script = [Reply([*held.pieces[:1], gate, *held.pieces[1:]]), chat.text("both done")]
    async with WireServer(script) as server:
        bench = Bench(tmp_path, server.url)
        async with editing(bench) as editor:
            session = (await editor.agent.new_session(cwd=str(bench.work))).session_id
            first = asyncio.ensure_future(editor.say(session, "begin"))
            async with asyncio.timeout(30):
                while not server.asked:
                    await asyncio.sleep(0.01)
            second = asyncio.ensure_future(editor.say(session, "and in blue"))
            async with asyncio.timeout(30):  # the model goes on once the log has what was said
                while "and in blue" not in (await bench.run("sessions", "export", session)).out:
                    pass
            gate.set()
            assert [await first, await second] == ["end_turn", "end_turn"]
            assert len(server.asked) == 2
            assert "and in blue" in json.dumps(server.asked[1].json["messages"])


async def test_a_turn_that_fails_is_an_error_with_its_kind_and_one_that_is_capped_says_so(
    tmp_path: Path,
) -> None:
    def answer(asked: Asked) -> Reply:
        return (
            chat.error(401, "no key")
            if "without a key" in json.dumps(asked.json)
            else chat.calls(("list_dir", {}))
        )

    async with WireServer(answer) as server:
        bench = Bench(tmp_path, server.url, limits={"steps": 2})
        async with editing(bench) as editor:
            session = (await editor.agent.new_session(cwd=str(bench.work))).session_id
            assert await editor.say(session, "list") == "max_turn_requests"
            with pytest.raises(acp.RequestError) as failed:
                await editor.say(session, "without a key")
            assert failed.value.code == -32000
            assert (failed.value.data or {})["kind"] == "not_authenticated"
            with pytest.raises(acp.RequestError) as refused:
                await editor.say(session, "   ")
            assert refused.value.code == -32602
            with pytest.raises(acp.RequestError) as unknown:
                await editor.say("nobody", "hi")
            assert unknown.value.code == -32002


def delegate(asked: Asked) -> Reply:
    """The orchestrator asks the tester, who runs a command; each says what it was told."""
    messages = asked.json["messages"]
    said = [message for message in messages if message["role"] in ("assistant", "tool")]
    if "You test." in json.dumps(messages[0]):
        return chat.text("3 passed") if said else chat.calls(("bash", {"command": "echo 3 passed"}))
    ask = {"identifier": "tester", "identifier_type": "name", "question": "run the tests"}
    return chat.text("all green") if said else chat.calls(("ask_agent", ask))


def make_team(bench: Bench) -> None:
    place = bench.home / "teams" / "pair"
    place.mkdir(parents=True)
    tester = {"type": "tester", "system_prompt": "You test.", "tools": ["bash"]}
    team = {"name": "Pair", "members": [{"type": "orchestrator"}, tester]}
    (place / "TEAM.json").write_text(json.dumps(team))


async def test_workers_are_nested_with_their_names_for_a_client_that_knows_none(tmp_path: Path) -> None:
    async with WireServer(delegate) as server:
        price = {"input": 1, "output": 1, "cache_read": 1, "cache_write": 1}
        models = [{"id": "m", "model": "m", "provider": "local", "price": price}]
        bench = Bench(tmp_path, server.url, models=models, default_model="m", budget={"usd": 2.0})
        make_team(bench)
        async with editing(bench, "--team", "pair", "--permission-mode", "full") as editor:
            session = (await editor.agent.new_session(cwd=str(bench.work))).session_id
            assert await editor.say(session, "test it") == "end_turn"
        ask, command = editor.of("tool_call")
        assert (ask["title"], "_meta" in ask) == ("ask_agent tester", False)
        assert command["title"] == "tester · echo 3 passed"
        assert command["_meta"]["planck"]["agent"] == "tester"
        assert command["_meta"]["planck"]["parent_call_id"] == ask["toolCallId"]
        assert editor.text() == "all green"
        async with editing(bench) as other:
            loaded = await other.agent.load_session(cwd=str(bench.work), session_id=session)
            assert loaded is not None
            options = {one.id: one.current_value for one in loaded.config_options or ()}
            assert options["team"] == "pair"
        costs = [update["cost"]["amount"] for update in editor.of("usage_update")]
        assert len(set(costs)) == 4  # the worker's are told when they are spent, not with the next answer
        budget = editor.of("usage_update")[-1]["_meta"]["planck"]["budget"]
        assert budget == {"limit_usd": 2.0, "spent_usd": pytest.approx(costs[-1])}
        assert {message["params"]["sessionId"] for message in editor.judge.said if "params" in message} == {
            session
        }


async def test_a_member_that_is_another_program_is_shown_like_any_other(tmp_path: Path) -> None:
    script = "!run echo hi\n!permit a.txt new"
    async with WireServer([chat.calls(ask("guest", script)), chat.text("done")]) as server:
        bench = Bench(tmp_path, server.url)
        write_team(bench.home / "teams" / "crew", {"type": "orchestrator", "name": "lead"}, plain())
        async with editing(bench, "--team", "crew") as editor:
            session = (await editor.agent.new_session(cwd=str(bench.work))).session_id
            assert await editor.say(session, "go") == "end_turn"
        assert (bench.work / "a.txt").read_text() == "new"
        start, edit = editor.questions
        assert start["toolCall"]["name"] == "acp"
        assert (edit["toolCall"]["title"], edit["toolCall"]["kind"]) == ("guest: edit a.txt", "edit")
        assert "+new" in edit["toolCall"]["content"][-1]["content"]["text"]
        _, _, command, _ = editor.of("tool_call")
        assert (command["title"], command["kind"]) == ("guest · echo hi", "execute")


async def test_workers_are_sessions_of_their_own_for_a_client_that_offers_subagents(tmp_path: Path) -> None:
    """The SDK does not know them yet: a plain line, and the unstable schema."""
    async with WireServer(delegate) as server:
        bench = Bench(tmp_path, server.url)
        make_team(bench)
        async with talking(bench, "--team", "pair", "--permission-mode", "full") as line:
            line.judge = Judge(unstable=True)
            offers: dict[str, Any] = {"subagents": {}, "session": {"notices": {}, "compaction": {}}}
            await line.ask(0, "initialize", protocolVersion=1, clientCapabilities=offers)
            new = await line.ask(1, "session/new", cwd=str(bench.work), mcpServers=[])
            session = new["result"]["sessionId"]
            words = [{"type": "text", "text": "test it"}]
            done = await line.ask(2, "session/prompt", sessionId=session, prompt=words)
            assert done["result"]["stopReason"] == "end_turn"
        told = [message["params"] for message in line.judge.said if message.get("method") == "session/update"]
        first = next(n for n, one in enumerate(told) if one["update"]["sessionUpdate"] == "subagent_update")
        child = told[first]["update"]["sessionId"]
        assert child.startswith(f"{session}:")
        assert all(one["sessionId"] == session for one in told[:first])
        of_child = [one["update"] for one in told if one["sessionId"] == child]
        assert [one["title"] for one in of_child if one["sessionUpdate"] == "tool_call"] == ["echo 3 passed"]
        said = [one["content"]["text"] for one in of_child if one["sessionUpdate"] == "agent_message_chunk"]
        assert "".join(said) == "3 passed"
        letters = [one for one in of_child if one["sessionUpdate"] == "session_message"]
        assert letters[0]["senderSessionId"] == session
        assert letters[0]["content"] == [{"type": "text", "text": "run the tests"}]
        states = [one["update"]["state"]["state"] for one in told if one["update"].get("sessionId") == child]
        assert states == ["idle", "running", "idle"]
