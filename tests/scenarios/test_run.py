"""`planck run` against a wire server on a real socket."""

import asyncio
import itertools
import json
import signal
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from planck import Planck
from tests.command import FULL, Bench, finish, until
from tests.wire import chat
from tests.wire.server import Asked, Reply, WireServer


async def test_a_prompt_two_parallel_tools_and_an_answer(tmp_path: Path) -> None:
    script = [
        chat.calls(
            ("write", {"path": "a.txt", "content": "alpha\n"}), ("bash", {"command": "echo from bash"})
        ),
        chat.text("Both ", "done."),
    ]
    async with WireServer(script) as server:
        bench = Bench(tmp_path, server.url)
        done = await bench.run("run", "do both", *FULL, "--output-format", "stream-json")
    assert (done.code, done.err) == (0, "")
    recorded = [line["type"] for line in done.lines if line["seq"] is not None]
    # The two calls run at once: either may be recorded first.
    recorded.remove("command_recorded")
    assert recorded == [
        "session_started",
        "agent_started",
        "message",
        "turn_start",
        "delivery",
        "assistant_message",
        "usage",
        "tool_start",
        "tool_start",
        "file_changed",
        "tool_end",
        "tool_end",
        "assistant_message",
        "usage",
        "turn_end",
    ]
    seqs = [line["seq"] for line in done.lines if line["seq"] is not None]
    assert seqs == list(range(seqs[0], seqs[0] + len(seqs)))
    assert done.lines[0]["type"] == "init"
    assert [line["data"]["name"] for line in done.lines if line["type"] == "tool_end"] == ["write", "bash"]
    assert [line["data"]["text"] for line in done.lines if line["type"] == "text_delta"] == ["Both ", "done."]
    assert (bench.work / "a.txt").read_text() == "alpha\n"
    assert done.result["text"] == "Both done."
    assert done.result["status"] == "completed"
    assert done.result["steps"] == 2
    tool_messages = [m for m in server.asked[1].json["messages"] if m["role"] == "tool"]
    assert [m["tool_call_id"] for m in tool_messages] == ["call_write_0", "call_bash_1"]
    assert "from bash" in tool_messages[1]["content"]


async def test_a_model_that_goes_in_circles_is_told_so_and_parallel_calls_are_no_circle(
    tmp_path: Path,
) -> None:
    echo = ("bash", {"command": "echo hi"})
    async with WireServer([chat.calls(*[echo] * 4), *[chat.calls(echo)] * 2, chat.text("ok")]) as server:
        bench = Bench(tmp_path, server.url)
        done = await bench.run("run", "go", *FULL, "--output-format", "stream-json")
    ends = [line["data"] for line in done.lines if line["type"] == "tool_end"]
    assert [end["output"] for end in ends] == ["hi\n"] * 6
    assert [end.get("notice", "")[:23] for end in ends] == [*[""] * 5, "[notice: this call gave"]
    shown = [m["content"] for m in server.asked[-1].json["messages"] if m["role"] == "tool"]
    assert shown == [*["hi\n"] * 5, f"hi\n\n{ends[-1]['notice']}"]


async def test_killed_inside_a_tool_the_session_resumes_and_runs_nothing_twice(tmp_path: Path) -> None:
    command = "echo once >> ran.txt; touch started; sleep 600"
    async with WireServer([chat.calls(("bash", {"command": command})), chat.text("Going on.")]) as server:
        bench = Bench(tmp_path, server.url)
        process = await bench.start("run", "start it", "--name", "killed", *FULL)
        assert process.stdin
        process.stdin.close()
        await until(bench.work / "started")
        process.kill()
        await process.wait()
        done = await bench.run("run", "and now?", "-r", "killed", *FULL, "--output-format", "stream-json")
    assert done.code == 0
    assert done.result["text"] == "Going on."
    assert (bench.work / "ran.txt").read_text() == "once\n"
    ends = _events(bench, "tool_end")
    assert [(end["ok"], end["error"]["kind"]) for end in ends] == [(False, "interrupted")]
    assert [end["status"] for end in _events(bench, "turn_end")] == ["interrupted", "completed"]
    resumed = _events(bench, "session_resumed")
    assert resumed[0]["interrupted"] == [ends[0]["id"]]
    shown = server.asked[1].json["messages"]
    assert [m["role"] for m in shown if m["role"] != "system"] == ["user", "assistant", "tool", "user"]
    assert shown[-2]["content"].startswith("interrupted: ")


async def test_the_answer_goes_to_stdout_and_all_else_to_stderr(tmp_path: Path) -> None:
    async with WireServer([chat.text("Just this.")]) as server:
        done = await Bench(tmp_path, server.url).run("run", "hello", "--name", "mine")
    assert (done.code, done.out) == (0, "Just this.\n")
    assert "planck run -r mine" in done.err


async def test_standard_input_follows_the_prompt_after_a_blank_line(tmp_path: Path) -> None:
    async with WireServer([chat.text("ok")]) as server:
        await Bench(tmp_path, server.url).run("run", "explain", stdin=b"some code\n")
    assert server.asked[0].json["messages"][-1]["content"] == "explain\n\nsome code"


@pytest.mark.parametrize("stdin", [b"", b"  \n"])
async def test_no_prompt_at_all_is_a_usage_error(tmp_path: Path, stdin: bytes) -> None:
    done = await Bench(tmp_path, "http://127.0.0.1:9").run("run", "--output-format", "json", stdin=stdin)
    assert done.code == 2
    assert done.result["errors"][0]["kind"] == "no_prompt"
    assert done.error_kind == "no_prompt"


@pytest.mark.parametrize(
    ("args", "stdin"),
    [
        (("run", "explain"), b"caf\xe9\n"),
        (("explain",), b"caf\xe9\n"),
        (("run", "caf\udce9"), b""),
        (("run", "explain", "--input-format", "stream-json"), b'{"type": "user", "text": "caf\xe9"}\n'),
    ],
    ids=["run", "conversation", "argument", "stream-json"],
)
async def test_input_that_is_no_utf_8_is_repaired_and_said(
    tmp_path: Path, args: tuple[str, ...], stdin: bytes
) -> None:
    async with WireServer([chat.text("ok")]) as server:
        done = await Bench(tmp_path, server.url).run(*args, stdin=stdin)
    assert done.code == 0
    assert " is not valid UTF-8 at byte " in done.err
    assert "caf\ufffd" in server.asked[-1].json["messages"][-1]["content"]


async def test_effects_are_denied_where_nobody_can_be_asked_and_the_turn_goes_on(tmp_path: Path) -> None:
    script = [chat.calls(("bash", {"command": "touch x"})), chat.text("I may not.")]
    async with WireServer(script) as server:
        bench = Bench(tmp_path, server.url)
        done = await bench.run("run", "try", "--output-format", "json")
    assert done.code == 0
    (denial,) = done.result["denials"]
    assert (denial["tool"], denial["by"], denial["words"]) == ("bash", "nobody", "")
    assert denial["way_out"] == "To allow it, choose another --permission-mode or add a rule."
    assert not (bench.work / "x").exists()
    assert server.asked[1].json["messages"][-1]["content"].startswith("permission_denied: ")


async def test_max_steps_is_exactly_that_many_requests(tmp_path: Path) -> None:
    async with WireServer([chat.calls(("bash", {"command": "true"}))]) as server:
        bench = Bench(tmp_path, server.url)
        done = await bench.run("run", "loop", *FULL, "--max-steps", "3", "--output-format", "json")
    assert (done.code, done.result["status"], len(server.asked)) == (4, "capped", 3)
    assert done.result["errors"][-1]["kind"] == "iteration_cap"


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 143)]
)
async def test_a_signal_ends_the_turn_and_the_result_still_comes(
    tmp_path: Path, number: signal.Signals, code: int
) -> None:
    command = "touch started; sleep 600"
    async with WireServer([chat.calls(("bash", {"command": command}))]) as server:
        bench = Bench(tmp_path, server.url)
        process = await bench.start("run", "wait", *FULL, "--output-format", "json", "--name", "s")
        assert process.stdin
        process.stdin.close()
        await until(bench.work / "started")
        process.send_signal(number)
        done = await finish(process)
    assert (done.code, done.result["exit_code"], done.result["status"]) == (code, code, "interrupted")
    assert [end["error"]["kind"] for end in _events(bench, "tool_end")] == ["interrupted"]


async def test_a_timeout_says_124(tmp_path: Path) -> None:
    async with WireServer([chat.calls(("bash", {"command": "sleep 600"}))]) as server:
        bench = Bench(tmp_path, server.url)
        done = await bench.run("run", "wait", *FULL, "--timeout", "1", "--output-format", "json")
    assert (done.code, done.result["status"]) == (124, "timed_out")


async def test_of_many_that_want_a_name_at_once_one_gets_it(tmp_path: Path) -> None:
    async with WireServer([chat.text("mine")]) as server:
        bench = Bench(tmp_path, server.url)
        done = await asyncio.gather(*(bench.run("run", "go", "--name", "same") for _ in range(4)))
    assert sorted(each.code for each in done) == [0, 2, 2, 2]


async def test_a_name_is_the_whole_name_and_a_workspace_is_the_same_by_any_link(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "work")
    async with WireServer([chat.text("yes")]) as server:
        bench = Bench(tmp_path, server.url)
        assert (await bench.run("run", "go", "--name", "a_b")).code == 0
        assert (await bench.run("run", "go", "-r", "b")).code == 2
        for args in (("-c",), ("-r", "a_b")):
            linked = await bench.run("run", "go", *args, "-C", str(tmp_path / "link"))
            assert (linked.code, linked.err.split()[2]) == (0, "a_b")
        listed = await bench.run("sessions", "list", "--json", "-C", str(tmp_path / "link"))
        assert [row["name"] for row in json.loads(listed.out)] == ["a_b"]
        assert (await bench.run("run", "go", "--name", "b")).code == 0


async def test_a_fork_goes_on_from_what_was_said_and_leaves_the_original_alone(tmp_path: Path) -> None:
    async with WireServer([chat.text("one"), chat.text("two")]) as server:
        bench = Bench(tmp_path, server.url)
        first = (await bench.run("run", "first", "--output-format", "json")).result
        fork = await bench.run("run", "more", "-c", "--fork", "--name", "twig", "--output-format", "json")
        listed = json.loads((await bench.run("sessions", "list", "--json")).out)
        said = [message["content"] for message in server.asked[1].json["messages"][-3:]]
    assert fork.code == 0, fork.err
    assert (fork.result["text"], fork.result["session_name"]) == ("two", "twig")
    assert fork.result["session_id"] != first["session_id"]
    assert said == ["first", "one", "more"]
    events = {row["id"]: row["events"] for row in listed}
    assert events[fork.result["session_id"]] > events[first["session_id"]]


async def test_a_fork_that_can_not_be_leaves_no_copy(tmp_path: Path) -> None:
    async with WireServer([chat.text("yes")]) as server:
        bench = Bench(tmp_path, server.url)
        await bench.run("run", "go", "--name", "one")
        for wrong in (("-m", "nowhere/m"), ("--name", "one")):
            assert (await bench.run("run", "more", "-c", "--fork", *wrong)).code == 2
        listed = await bench.run("sessions", "list", "--json")
    assert [row["name"] for row in json.loads(listed.out)] == ["one"]


@pytest.mark.parametrize("option", ["-r", "--name"])
async def test_an_empty_name_is_no_new_session(tmp_path: Path, option: str) -> None:
    bench = Bench(tmp_path, "http://127.0.0.1:9")
    assert (await bench.run("run", "go", option, "")).code == 2
    assert not (bench.home / "sessions").exists()


async def test_sessions_that_can_not_be_kept_say_so(tmp_path: Path) -> None:
    bench = Bench(tmp_path, "http://127.0.0.1:9", sessions_dir=str(tmp_path / "home" / "config.json" / "x"))
    done = await bench.run("run", "go")
    assert (done.code, done.error_kind) == (1, "log_write_failed")


async def test_a_taken_name_and_an_unknown_session_are_usage_errors(tmp_path: Path) -> None:
    async with WireServer([chat.text("ok")]) as server:
        bench = Bench(tmp_path, server.url)
        assert (await bench.run("run", "one", "--name", "same")).code == 0
        taken = await bench.run("run", "two", "--name", "same")
        unknown = await bench.run("run", "three", "-r", "nobody")
    assert (taken.code, unknown.code) == (2, 2)
    assert "not_unique" in taken.err
    assert "not_found" in unknown.err


async def test_an_answer_without_text_says_6(tmp_path: Path) -> None:
    async with WireServer([chat.text("")]) as server:
        done = await Bench(tmp_path, server.url).run("run", "hush")
    assert done.code == 6


async def test_a_second_process_on_one_session_is_told_who_has_it(tmp_path: Path) -> None:
    command = "touch started; sleep 600"
    async with WireServer([chat.calls(("bash", {"command": command}))]) as server:
        bench = Bench(tmp_path, server.url)
        first = await bench.start("run", "hold", *FULL, "--name", "held")
        assert first.stdin
        first.stdin.close()
        await until(bench.work / "started")
        second = await bench.run("run", "mine?", "-r", "held", "--output-format", "json")
        first.kill()
        await first.wait()
    assert second.code == 5
    assert f"rocess {first.pid}" in second.err


async def test_calls_that_cannot_run_get_one_result_each(tmp_path: Path) -> None:
    script = [
        chat.calls(("nonsense", {}), ("read", "{broken"), ("read", {"wrong": 1})),
        chat.text("I see."),
    ]
    async with WireServer(script) as server:
        bench = Bench(tmp_path, server.url)
        done = await bench.run("run", "try", "--output-format", "json")
    assert done.code == 0
    kinds = [end["error"]["kind"] for end in _events(bench, "tool_end")]
    assert kinds == ["unknown_tool", "invalid_args", "invalid_args"]


async def test_each_request_repeats_the_one_before_byte_for_byte(tmp_path: Path) -> None:
    def script(asked: Asked) -> Reply:
        done = sum(m["role"] == "tool" for m in asked.json["messages"])
        return chat.calls(("bash", {"command": f"echo {done}"})) if done < 4 else chat.text("end")

    async with WireServer(script) as server:
        await Bench(tmp_path, server.url).run("run", "count", *FULL)
    prefixes = [asked.body[: asked.body.index(b"count") + 7] for asked in server.asked]
    assert len(set(prefixes)) == 1
    messages = [json.dumps(asked.json["messages"])[:-1] for asked in server.asked]
    for earlier, later in itertools.pairwise(messages):
        assert later.startswith(earlier)


def _events(bench: Bench, type: str) -> list[dict[str, Any]]:
    (path,) = (bench.home / "sessions").glob("*.db")
    with closing(sqlite3.connect(path)) as db, db:
        rows = db.execute("SELECT bytes FROM events ORDER BY seq").fetchall()
    db.close()
    events = [json.loads(row[0]) for row in rows]
    return [event["data"] for event in events if event["type"] == type]


async def test_a_budget_without_a_known_price_refuses_before_any_request(tmp_path: Path) -> None:
    async with WireServer([chat.text("expensive")]) as server:
        bench = Bench(tmp_path, server.url)
        done = await bench.run("run", "hello", "--max-budget-usd", "1", "--output-format", "json")
    assert (done.code, done.result["status"], server.asked) == (4, "capped", [])
    assert done.result["errors"][-1]["kind"] == "budget_exceeded"


async def test_a_passing_failure_is_tried_again_and_seen(tmp_path: Path) -> None:
    script = [chat.error(429, "slow down", headers={"retry-after": "0"}), chat.text("at last")]
    async with WireServer(script) as server:
        done = await Bench(tmp_path, server.url).run("run", "hello", "--output-format", "stream-json")
    assert (done.code, done.result["text"], len(server.asked)) == (0, "at last", 2)
    states = [line["data"]["state"] for line in done.lines if line["type"] == "status"]
    assert "retrying" in states


@pytest.mark.parametrize(("status", "kind", "code"), [(401, "not_authenticated", 1), (404, "", 1)])
async def test_a_lasting_failure_ends_the_run_at_once(
    tmp_path: Path, status: int, kind: str, code: int
) -> None:
    async with WireServer([chat.error(status, "no")]) as server:
        done = await Bench(tmp_path, server.url).run("run", "hello", "--output-format", "json")
    assert (done.code, done.result["status"], len(server.asked)) == (code, "failed", 1)
    assert done.result["errors"][-1]["kind"].startswith(kind)


async def test_a_known_key_never_reaches_the_log_or_an_output(tmp_path: Path) -> None:
    key = "sk-canary-0123456789abcdef"
    script = [
        chat.calls(("bash", {"command": f"echo {key}; echo $LOCAL_API_KEY; env"})),
        chat.text("The key is ", key[:9], key[9:], "."),
    ]
    async with WireServer(script) as server:
        bench = Bench(tmp_path, server.url)
        config = json.loads((bench.home / "config.json").read_text())
        config["providers"]["local"]["identifier"] = "LOCAL"
        (bench.home / "config.json").write_text(json.dumps(config))
        env = {"LOCAL_API_KEY": key}
        done = await bench.run("run", "leak", *FULL, "--output-format", "stream-json", env=env)
    assert key not in done.out + done.err
    deltas = [line["data"]["text"] for line in done.lines if line["type"] == "text_delta"]
    assert "".join(deltas) == done.result["text"] == "The key is [redacted]."
    assert server.asked[0].headers["authorization"] == f"Bearer {key}"
    for path in (bench.home / "sessions").rglob("*"):
        if path.is_file():
            assert key.encode() not in path.read_bytes(), path


async def test_a_resumed_session_goes_on_with_the_model_that_is_named(tmp_path: Path) -> None:
    async with WireServer([chat.text("ok")]) as server:
        bench = Bench(tmp_path, server.url)
        await bench.run("run", "one", "--name", "s")
        await bench.run("run", "two", "-r", "s", "-m", "local/other")
        await bench.run("run", "three", "-r", "s")
    assert [asked.json["model"] for asked in server.asked] == ["m", "other", "other"]


async def test_a_vendor_without_a_key_is_not_even_asked(tmp_path: Path) -> None:
    bench = Bench(tmp_path, "http://127.0.0.1:9")
    done = await bench.run("run", "hello", "-m", "openai/gpt-4o", "--output-format", "json")
    assert done.code == 1
    (error,) = done.result["errors"]
    assert error["kind"] == "not_authenticated"
    assert "OPENAI_API_KEY" in error["message"]


async def test_a_prompt_given_to_planck_alone_in_a_script_says_how_it_went(tmp_path: Path) -> None:
    async with WireServer([chat.error(401, "no")]) as server:
        done = await Bench(tmp_path, server.url).run("do something")
    assert done.code == 1


@pytest.mark.parametrize("used", [12_000, 10_000_000], ids=["as much", "more than the window"])
async def test_a_spent_budget_stops_the_run_before_the_next_request(tmp_path: Path, used: int) -> None:
    usage = {"prompt_tokens": used, "completion_tokens": 5}
    reply = chat.calls(("bash", {"command": "true"}))
    reply = Reply([*reply.pieces[:-2], chat.sse(chat.chunk(usage=usage)), reply.pieces[-1]])
    async with WireServer([reply]) as server:
        model = {"id": "short", "model": "gpt-5", "provider": "local", "max_output": 10}
        bench = Bench(tmp_path, server.url, models=[model])
        budget = ("-m", "short", "--max-budget-usd", "0.016")
        done = await bench.run("run", "loop", *FULL, *budget, "--output-format", "stream-json")
    assert (done.code, done.result["status"], len(server.asked)) == (4, "capped", 1)
    assert done.result["errors"][-1]["kind"] == "budget_exceeded"
    told = [line["data"] for line in done.lines if line["type"] == "budget"]
    (spent,) = [data for data in told if data["why"] == "spent"]
    assert (spent["limit_usd"], spent["spent_usd"]) == (0.016, done.result["cost_usd"])


async def test_a_new_session_of_a_conversation_has_its_budget_too(tmp_path: Path) -> None:
    async with WireServer([chat.text("expensive")]) as server:
        bench = Bench(tmp_path, server.url)
        done = await bench.run("--max-budget-usd", "1", stdin=b"/new\nhello\n")
    assert (done.code, server.asked) == (4, [])
    assert "budget_exceeded" in done.err


async def test_a_session_that_timed_out_goes_on_with_the_next_prompt(tmp_path: Path) -> None:
    late = asyncio.Event()

    def answer(asked: Asked) -> Reply:
        hangs = asked.json["messages"][-1]["content"] == "one"
        return Reply([late, *chat.text("late").pieces]) if hangs else chat.text("at last")

    async with WireServer(answer) as server:
        bench = Bench(tmp_path, server.url)
        async with Planck(home=bench.home, workspace=bench.work) as planck:
            session = await planck.start()
            first = await session.run("one", timeout=0.2)
            late.set()
            second = await session.run("two")
    assert (first.status, first.exit_code) == ("timed_out", 124)
    assert (second.status, second.text) == ("completed", "at last")
