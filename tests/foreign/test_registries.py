"""Agents that we did not write, from the registry, in a team with ours: offline, on a scripted model."""

import asyncio
import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from planck.workspace.sandbox import sandbox
from tests.foreign.crew import open_place, outputs, recorded
from tests.published import install_npm
from tests.teams import ask, write_team
from tests.wire import chat
from tests.wire.server import Asked, Reply, WireServer, json_reply

PACKAGES = ("@aaif/goose-binary-linux-x64@0.20.1", "opencode-ai@1.18.33")
LONG = 240.0

pytestmark = [
    pytest.mark.heavy,
    pytest.mark.skipif(sandbox.find().sandbox is None, reason="bubblewrap is not installed"),
]


@pytest.fixture(scope="module")
def programs() -> Path:
    """The folder with `goose` and `opencode`, installed once on a machine."""
    return install_npm("agents", PACKAGES) / ".bin"


class Minds:
    """What each model says: those of the two guests by their names, ours by who asks."""

    def __init__(self) -> None:
        self.stalled = asyncio.Event()
        self._lead = [
            chat.calls(ask("goose", "Do the tests pass? Ask the tester.")),
            chat.calls(ask("opencode", "Who leads here? Ask lead.")),
            chat.calls(ask("goose", "STALL")),
            chat.calls(ask("goose", "Are you there? Ask the tester.")),
            chat.text("All heard."),
        ]

    def __call__(self, asked: Asked) -> Reply:
        if asked.method == "GET":
            return json_reply({"object": "list", "data": [{"id": "goose-m", "object": "model"}]})
        body = asked.json
        model, messages = body["model"], body["messages"]
        if model == "m":
            name = "lead" if "You are lead," in str(messages[0]["content"]) else "tester"
            return self._lead.pop(0) if name == "lead" else chat.text("2 tests, OK")
        if not body.get("stream"):
            return json_reply(_whole("a title"))
        return self._answer(model, messages, body.get("tools") or [])

    def _answer(self, model: str, messages: list[dict[str, Any]], tools: list[dict[str, Any]]) -> Reply:
        """A guest asks whom it was told to ask, then says what it heard."""
        names = [tool["function"]["name"] for tool in tools]
        tool = next((name for name in names if name.endswith("ask_agent")), "")
        if not tool:  # a side request of the agent's own, for a title
            return chat.text("a title")
        last = max(at for at, message in enumerate(messages) if message["role"] == "user")
        heard = [_text(message) for message in messages[last:] if message["role"] == "tool"]
        if heard:
            return chat.text(f"I heard: {heard[-1]}")
        told = _text(messages[last])
        if "STALL" in told and not self.stalled.is_set():  # one that goes on repeats what was not answered
            self.stalled.set()
            return Reply([chat.sse(chat.chunk({"index": 0, "delta": {"content": "hm"}})), asyncio.Event()])
        return chat.calls((tool, ask("lead" if "Ask lead" in told else "tester")[1]))


def _text(message: dict[str, Any]) -> str:
    content = message["content"]
    return content if isinstance(content, str) else " ".join(part.get("text", "") for part in content)


def _whole(text: str) -> dict[str, Any]:
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    return {
        "id": "x",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [choice],
        "usage": usage,
    }


def _members(programs: Path, mode: str) -> list[dict[str, Any]]:
    goose = ["GOOSE_PROVIDER", "GOOSE_MODEL", "GOOSE_DISABLE_KEYRING", "OPENAI_HOST", "OPENAI_API_KEY"]
    opencode = ["OPENCODE_CONFIG_CONTENT", "OPENCODE_DISABLE_AUTOUPDATE", "OPENCODE_DISABLE_MODELS_FETCH"]
    none = {"provider": "", "model_id": ""}
    return [
        {"type": "orchestrator", "name": "lead"},
        {"type": "tester", "description": "Runs the tests."},
        {
            "type": "goose",
            **none,
            "acp": {"command": [str(programs / "goose"), "acp"], "env": goose, "mode": mode},
        },
        {
            "type": "opencode",
            **none,
            "acp": {"command": [str(programs / "opencode"), "acp"], "env": opencode, "mode": mode},
        },
    ]


def _environ(url: str) -> dict[str, str]:
    options = {"baseURL": f"{url}/v1", "apiKey": "k"}
    provider = {"npm": "@ai-sdk/openai-compatible", "options": options, "models": {"open-m": {"name": "m"}}}
    settings = {"model": "own/open-m", "small_model": "own/open-m", "autoupdate": False, "share": "disabled"}
    return {
        "GOOSE_PROVIDER": "openai",
        "GOOSE_MODEL": "goose-m",
        "GOOSE_DISABLE_KEYRING": "1",
        "OPENAI_HOST": url,
        "OPENAI_API_KEY": "k",
        "OPENCODE_CONFIG_CONTENT": json.dumps({**settings, "provider": {"own": provider}}),
        "OPENCODE_DISABLE_AUTOUPDATE": "1",
        "OPENCODE_DISABLE_MODELS_FETCH": "1",
    }


async def test_goose_and_opencode_work_in_a_team_of_ours(programs: Path, tmp_path: Path) -> None:
    """goose asks our tester; opencode would close a ring; goose is killed in a turn, and comes back."""
    minds = Minds()
    async with (
        asyncio.timeout(LONG),
        WireServer(minds) as server,
        open_place(tmp_path, server.url, environ=_environ(server.url)) as planck,
    ):
        team = write_team(tmp_path / "team", *_members(programs, "read-only"))
        session = await planck.start(team=team)
        run = asyncio.ensure_future(session.run("go"))
        stall = asyncio.ensure_future(minds.stalled.wait())
        await asyncio.wait({run, stall}, return_when=asyncio.FIRST_COMPLETED)
        assert not run.done(), run.result().text
        _kill("goose", str(tmp_path))
        result = await run
        assert result.text == "All heard."
        asked = [one for one in await recorded(session, "tool_start") if one["name"] == "ask_agent"]
        assert [one.get("foreign", False) for one in asked] == [False, True, False, True, False, False, True]
        tests, first, ring, second, gone, again, third = await outputs(session)
        assert (tests, again) == ("2 tests, OK", "2 tests, OK")
        assert first == third == "I heard: 2 tests, OK"
        assert ring.startswith("deadlock: ")
        assert "deadlock" in second
        assert gone.startswith("target_gone: goose (goose): the process was killed by signal 9")
    assert os.listdir(tmp_path / "work") == []


def _kill(program: str, folder: str) -> None:
    """Kills the process of that program that runs in a folder below this one."""
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            name = os.path.basename(os.readlink(f"/proc/{entry}/exe"))
            below = os.readlink(f"/proc/{entry}/cwd").startswith(folder)
        except OSError:
            continue
        if below and name == program:
            os.kill(int(entry), signal.SIGKILL)
            return
    raise AssertionError(f"no process {program} in {folder}")


async def test_both_answer_to_teams_check(programs: Path, tmp_path: Path) -> None:
    async with open_place(tmp_path, "http://127.0.0.1:9", environ=_environ("http://127.0.0.1:9")) as planck:
        assert await planck.check_team(write_team(tmp_path / "team", *_members(programs, "read-only"))) == []
