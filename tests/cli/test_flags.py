"""The flags of one run, each through the command line and a model on a real socket: contract.md §5."""

import asyncio
import base64
import json
import signal
from pathlib import Path
from typing import Any

import pytest

from planck.headless import AnswerSchema
from planck.records.outcome import PlanckError
from tests.command import Bench, finish
from tests.wire import chat
from tests.wire.server import Asked, Reply, WireServer

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "size": {"type": "integer"}},
    "required": ["name", "size"],
    "additionalProperties": False,
}


def system_of(asked: Asked) -> str:
    return str(asked.json["messages"][0]["content"])


def tools_of(asked: Asked) -> set[str]:
    return {tool["function"]["name"] for tool in asked.json.get("tools", ())}


async def test_a_prompt_of_the_run_stands_in_the_place_of_the_base_and_another_behind_it(
    tmp_path: Path,
) -> None:
    async with WireServer([chat.text("ok")]) as server:
        bench = Bench(tmp_path, server.url)
        (bench.work / "AGENTS.md").write_text("Use tabs.")
        await bench.run("run", "hi", "--append-system-prompt", "Speak like a pirate.")
        done = await bench.run("run", "hi", "--system-prompt", "You are Bob.")
        both = await bench.run("run", "hi", "--system-prompt", "", "--append-system-prompt", "Only this.")
    appended, replaced, empty = map(system_of, server.asked)
    assert (done.code, both.code) == (0, 0)
    assert "# How to work" in appended
    assert appended.endswith("Speak like a pirate.")
    assert "# How to work" not in replaced
    assert replaced.endswith("You are Bob.")
    assert "Use tabs." in replaced
    assert empty.endswith("Only this.")
    assert "# You" not in empty


async def test_a_resumed_session_takes_a_prompt_once(tmp_path: Path) -> None:
    async with WireServer([chat.text("ok")]) as server:
        bench = Bench(tmp_path, server.url)
        await bench.run("run", "hi", "--append-system-prompt", "Be brief.")
        await bench.run("run", "-c", "again", "--append-system-prompt", "Be brief.")
    assert [system_of(asked).count("Be brief.") for asked in server.asked] == [1, 1]


@pytest.mark.parametrize(
    ("flags", "ran"),
    [
        (("--allowed-tools", "Bash(touch:*)"), True),
        (("--allowed-tools", "read, bash(touch *)"), True),
        (("--allowed-tools", "Bash(touch other)"), False),
        (("--allowed-tools", "Bash", "--disallowed-tools", "Bash(touch:*)"), False),
    ],
)
async def test_what_a_run_allows_is_done_without_a_question(
    tmp_path: Path, flags: tuple[str, ...], ran: bool
) -> None:
    replies = [chat.calls(("bash", {"command": "touch made"})), chat.text("done")]
    async with WireServer(replies) as server:
        bench = Bench(tmp_path, server.url)
        done = await bench.run("run", "go", "--output-format", "json", *flags)
    assert done.code == 0
    assert (bench.work / "made").exists() is ran
    assert bool(done.result["denials"]) is not ran


async def test_a_tool_that_a_run_forbids_is_shown_to_nobody_and_can_be_granted_to_nobody(
    tmp_path: Path,
) -> None:
    def answer(asked: Asked) -> Reply:
        messages = asked.json["messages"]
        if "works for" in messages[0]["content"] or "You are helper" in messages[0]["content"]:
            return chat.text("I help.")
        if len(messages) == 2:
            spawn = {
                **{"type": "helper", "name": "helper", "description": "d", "system_prompt": "s"},
                **{"provider": "local", "model_id": "m", "base_url": "", "tools": ["bash", "read"]},
            }
            ask = {"identifier": "helper", "identifier_type": "name", "question": "?"}
            return chat.calls(("bash", {"command": "touch made"}), ("spawn_agent", spawn), ("ask_agent", ask))
        return chat.text("done")

    async with WireServer(answer) as server:
        bench = Bench(tmp_path, server.url)
        done = await bench.run(
            *("run", "go", "--permission-mode", "full", "--output-format", "stream-json"),
            *("--disallowed-tools", "Bash,WebFetch WebSearch", "--disallowed-tools", "mcp__x"),
        )
    assert not any({"bash", "web_fetch"} & tools_of(asked) for asked in server.asked)
    assert all("read" in tools_of(asked) for asked in server.asked[:1])
    ends = {line["data"]["name"]: line["data"] for line in done.lines if line["type"] == "tool_end"}
    assert ends["bash"]["error"]["kind"] == "unknown_tool"
    assert json.loads(ends["spawn_agent"]["output"])["ignored"] == ["bash"]
    assert not (bench.work / "made").exists()


@pytest.mark.parametrize(
    "flags",
    [
        ("--disallowed-tools", "bahs"),
        ("--disallowed-tools", "Read(.env)"),
        ("--allowed-tools", "Bash($(rm):*)"),
    ],
)
async def test_a_tool_flag_that_nobody_understands_ends_the_run_before_it_begins(
    tmp_path: Path, flags: tuple[str, ...]
) -> None:
    async with WireServer([chat.text("ok")]) as server:
        done = await Bench(tmp_path, server.url).run("run", "go", *flags)
    assert done.code == 2
    assert "invalid_args" in done.err
    assert server.asked == []


async def test_the_effort_goes_with_every_request(tmp_path: Path) -> None:
    async with WireServer([chat.text("ok")]) as server:
        bench = Bench(tmp_path, server.url)
        await bench.run("run", "hi", "--effort", "high")
        wrong = await bench.run("run", "hi", "--effort", "enormous")
    assert [asked.json["reasoning_effort"] for asked in server.asked] == ["high"]
    assert wrong.code == 2


async def test_another_model_goes_on_where_the_first_is_overloaded(tmp_path: Path) -> None:
    def answer(asked: Asked) -> Reply:
        return chat.text("I am here.") if asked.json["model"] == "spare" else chat.error(529, "overloaded")

    async with WireServer(answer) as server:
        bench = Bench(tmp_path, server.url)
        done = await bench.run(
            "run", "hi", "--fallback-model", "local/spare", "--output-format", "stream-json"
        )
    assert (done.code, done.result["text"]) == (0, "I am here.")
    assert [asked.json["model"] for asked in server.asked] == ["m", "m", "spare"]
    changed = [line["data"]["model"]["model"] for line in done.lines if line["type"] == "model_changed"]
    assert changed == ["spare"]
    (agent,) = done.result["agents"]
    assert list(agent["by_model"]) == ["local/spare"]


async def test_a_key_that_is_refused_is_said_and_no_other_model_asked(tmp_path: Path) -> None:
    async with WireServer([chat.error(401, "no")]) as server:
        done = await Bench(tmp_path, server.url).run("run", "hi", "--fallback-model", "local/spare")
    assert "not_authenticated" in done.err
    assert {asked.json["model"] for asked in server.asked} == {"m"}


async def test_an_answer_is_asked_for_once_more_where_it_does_not_fit_the_schema(tmp_path: Path) -> None:
    replies = [chat.text("Here it is: 5"), chat.text('```json\n{"name": "a", "size": 5}\n```')]
    async with WireServer(replies) as server:
        bench = Bench(tmp_path, server.url)
        (bench.work / "s.json").write_text(json.dumps(SCHEMA))
        done = await bench.run("run", "hi", "--output-schema", "s.json", "-o", "answer.json")
    assert done.code == 0, done.err
    assert json.loads(done.out) == {"name": "a", "size": 5}
    assert json.loads((bench.work / "answer.json").read_text()) == {"name": "a", "size": 5}
    first, second = server.asked
    assert '"additionalProperties":false' in system_of(first)
    assert "The answer is not valid JSON: " in second.json["messages"][-1]["content"]


async def test_an_answer_that_never_fits_is_a_failure_with_a_kind_of_its_own(tmp_path: Path) -> None:
    async with WireServer([chat.text('{"name": "a"}')]) as server:
        bench = Bench(tmp_path, server.url)
        (bench.work / "s.json").write_text(json.dumps(SCHEMA))
        flags = ("--output-schema", "s.json", "--output-format", "json", "-o", "answer.json")
        done = await bench.run("run", "hi", *flags)
    assert len(server.asked) == 2
    assert not (bench.work / "answer.json").exists()
    assert (done.code, done.result["status"], done.result["exit_code"]) == (1, "failed", 1)
    assert done.result["errors"][-1]["kind"] == "invalid_response"
    assert "size" in done.result["errors"][-1]["message"]
    assert done.result["usage"]["output_tokens"] == 10


@pytest.mark.parametrize(
    "content",
    [
        "{",
        "[]",
        '"text"',
        '{"type": "strin"}',
        '{"$ref": "http://127.0.0.1:1/x"}',
        '{"properties": 5}',
        '{"pattern": "("}',
        "[" * 100_000,
        None,
    ],
)
def test_a_schema_that_is_none_is_refused(tmp_path: Path, content: str | None) -> None:
    file = tmp_path / "s.json"
    if content is not None:
        file.write_text(content)
    with pytest.raises(PlanckError, match=r"s\.json"):
        AnswerSchema.read(file)


@pytest.mark.parametrize("name", ["s.json", "./sub/../s.json", "sub/deep/keys.json", "{work}/s.json"])
async def test_a_schema_in_the_workspace_is_not_read_through_a_link_to_a_file_elsewhere(
    tmp_path: Path, name: str
) -> None:
    """A file with keys is a JSON object, too, and a model is told all of a schema."""
    async with WireServer([chat.text("{}")]) as server:
        bench = Bench(tmp_path, server.url)
        outside = tmp_path / "outside"
        outside.mkdir()
        (outside / "keys.json").write_text('{"refresh_token": "canary"}')
        (bench.work / "sub").mkdir()
        (bench.work / "s.json").symlink_to(outside / "keys.json")
        (bench.work / "sub/deep").symlink_to(outside)
        done = await bench.run("run", "hi", "--output-schema", name.format(work=bench.work))
        assert server.asked == []
        assert (done.code, "[outside_workspace]" in done.err) == (2, True), done.err
        assert "canary" not in done.err + done.out
        done = await bench.run("run", "hi", "--output-schema", str(outside / "keys.json"))
    assert "canary" in system_of(server.asked[0])


async def test_a_schema_that_is_none_costs_nothing(tmp_path: Path) -> None:
    async with WireServer([chat.text("{}")]) as server:
        bench = Bench(tmp_path, server.url)
        (bench.work / "s.json").write_text('{"type": "strin"}')
        done = await bench.run("run", "hi", "--output-schema", "s.json")
    assert done.code == 2, done.err
    assert server.asked == []


async def test_images_are_shown_by_flag_and_by_name(tmp_path: Path) -> None:
    async with WireServer([chat.text("I see.")]) as server:
        bench = Bench(tmp_path, server.url)
        for name in ("a.png", "b.png"):
            (bench.work / name).write_bytes(PNG)
        done = await bench.run("run", "compare with @b.png", "-i", "a.png")
    assert done.code == 0, done.err
    (asked,) = server.asked
    content = asked.json["messages"][-1]["content"]
    assert [part["type"] for part in content].count("image_url") == 2


@pytest.mark.parametrize("content", [b"\x89PNG", None])
async def test_an_image_that_is_none_ends_the_run_before_it_begins(
    tmp_path: Path, content: bytes | None
) -> None:
    async with WireServer([chat.text("ok")]) as server:
        bench = Bench(tmp_path, server.url)
        if content is not None:
            (bench.work / "a.png").write_bytes(content)
        for args in (("hi", "-i", "a.png"), ("see @a.png",)):
            done = await bench.run("run", *args)
            assert done.code == 2, done.err
            assert "a.png" in done.err
    assert server.asked == []


async def test_messages_come_line_by_line_and_the_run_ends_with_the_input(tmp_path: Path) -> None:
    said: list[Any] = [
        {"type": "user", "message": {"role": "user", "content": "one"}},
        {"type": "user", "message": {"role": "user", "content": [{"type": "text", "text": "two"}]}},
        {"type": "user", "text": "three"},
    ]
    async with WireServer([chat.text("first"), chat.text("second"), chat.text("third")]) as server:
        bench = Bench(tmp_path, server.url)
        lines = "\n".join(map(json.dumps, said)).encode()
        done = await bench.run(
            *("run", "--input-format", "stream-json", "--output-format", "stream-json"), stdin=lines
        )
    assert done.code == 0, done.err
    assert [line["type"] for line in done.lines].count("result") == 1
    assert [line["data"]["text"] for line in done.lines if line["type"] == "turn_end"] == [
        *("first", "second", "third")
    ]
    assert (done.result["text"], done.result["steps"]) == ("third", 3)
    assert [m["content"] for m in server.asked[-1].json["messages"] if m["role"] == "user"] == [
        *("one", "two", "three")
    ]


@pytest.mark.parametrize(
    ("line", "asked"),
    [
        (b"no json\n", 0),
        (b'{"type": "nonsense"}\n', 0),
        (
            b'{"type":"user","message":{"content":[{"type":"image","source":{"type":"base64","data":"eA=="}}]}}\n',
            0,
        ),
        (b'{"type": "user", "text": "hi"}\n{"type": ', 1),
        (b"", 0),
    ],
)
async def test_a_line_that_is_no_message_ends_the_run_with_a_result(
    tmp_path: Path, line: bytes, asked: int
) -> None:
    async with WireServer([chat.text("ok")]) as server:
        bench = Bench(tmp_path, server.url)
        done = await bench.run(
            *("run", "--input-format", "stream-json", "--output-format", "json"), stdin=line
        )
    assert done.code == 2, done.err
    assert done.result["errors"][-1]["kind"] in ("invalid_args", "no_prompt")
    assert len(server.asked) == asked
    assert bool(done.result["session_id"]) is bool(asked)


async def test_a_signal_ends_a_run_whose_input_stays_open(tmp_path: Path) -> None:
    async with WireServer([chat.text("ok")]) as server:
        bench = Bench(tmp_path, server.url)
        process = await bench.start("run", "--input-format", "stream-json", "--output-format", "stream-json")
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b'{"type": "user", "text": "hi"}\n')
        while json.loads(await process.stdout.readline())["type"] != "turn_end":
            pass
        process.send_signal(signal.SIGTERM)
        async with asyncio.timeout(30):
            out = await process.stdout.read()
            await process.wait()
        process.stdin.close()
    last = json.loads(out.splitlines()[-1])
    assert last["type"] == "result"
    assert last["data"]["session_id"]


async def test_verbose_tells_on_standard_error_what_is_done(tmp_path: Path) -> None:
    replies = [chat.calls(("bash", {"command": "echo hi; exit 3"})), chat.text("done")]
    async with WireServer(replies) as server:
        bench = Bench(tmp_path, server.url)
        done = await bench.run("run", "go", "--verbose", "--permission-mode", "full")
    assert done.out == "done\n"
    lines = [line.strip() for line in done.err.splitlines()]
    ended = [line.startswith("✗ bash echo hi; exit 3") for line in lines]  # a slow call also says how long
    assert lines.index("● bash echo hi; exit 3") < ended.index(True)
    assert "hi" in lines
    assert "done" not in lines, "the answer is on standard output"


async def test_the_first_frame_names_servers_and_what_was_left_out(tmp_path: Path) -> None:
    async with WireServer([chat.text("ok")]) as server:
        bench = Bench(tmp_path, server.url, nonsense=1)
        servers = {"lost": {"command": "/nowhere/at/all"}, "off": {"command": "x", "enabled": False}}
        more = {"mcpServers": servers}
        done = await bench.run(
            *("run", "hi", "--output-format", "stream-json", "--mcp-config", json.dumps(more))
        )
    first = done.lines[0]["data"]
    assert [one["name"] for one in first["mcp_servers"]] == ["lost", "off"]
    assert first["mcp_servers"][1]["state"] == "disabled"
    assert any("nonsense" in error for error in first["errors"])


@pytest.mark.parametrize("text", ["nowhere.json", '{"a": 5}'])
async def test_servers_that_are_none_end_the_run_before_it_begins(tmp_path: Path, text: str) -> None:
    async with WireServer([chat.text("ok")]) as server:
        done = await Bench(tmp_path, server.url).run("run", "hi", "--mcp-config", text)
    assert done.code == 2, done.err
    assert server.asked == []


async def test_the_aliases_of_other_agents_mean_the_same_here(tmp_path: Path) -> None:
    async with WireServer([chat.calls(("bash", {"command": "touch made"})), chat.text("done")]) as server:
        bench = Bench(tmp_path, server.url)
        other = tmp_path / "other"
        other.mkdir()
        process = await bench.start(
            *("run", "go", "--yolo", "--max-turns", "2", "--ephemeral", "--cd", str(other))
        )
        done = await finish(process)
    assert done.code == 0, done.err
    assert (other / "made").exists()
    assert not list((bench.home / "sessions").glob("*.db")) if (bench.home / "sessions").exists() else True
