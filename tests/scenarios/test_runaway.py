"""Each pattern of running away has its limit and its words, until the user's next word."""

import asyncio
from itertools import takewhile
from pathlib import Path
from typing import Any

from planck.records.events import TurnStatus
from tests.command import WAIT
from tests.teams import Brains, delegate, facts, open_planck, write_team
from tests.wire import chat
from tests.wire.server import Reply, WireServer

LEAD = {"type": "orchestrator", "name": "lead", "tools": ["list_dir", "bash", "write"]}
BOB = {"type": "bob", "name": "bob", "tools": ["bash"]}
DEEP = {"hops": 10_000, "messages": 10_000}

Facts = list[tuple[str, dict[str, Any]]]


async def play(folder: Path, brains: Brains, *prompts: str, **flags: Any) -> tuple[list[Any], Facts]:
    async with WireServer(brains) as server, open_planck(folder, server.url, limits=DEEP, **flags) as planck:
        session = await planck.start(team=write_team(folder / "team", LEAD, BOB))
        async with asyncio.timeout(WAIT):
            results = [await session.run(prompt) for prompt in prompts]
        return results, await facts(session)


def ends(recorded: Facts, name: str) -> list[dict[str, Any]]:
    return [data for type, data in recorded if type == "tool_end" and data["name"] == name]


def look(*more: tuple[str, dict[str, Any]]) -> Reply:
    return chat.calls(("list_dir", {}), *more)


async def test_the_same_call_with_the_same_result_is_noticed_and_then_not_run(tmp_path: Path) -> None:
    brains = Brains({"lead": [look()] * 8 + [chat.text("done"), look(), chat.text("again")]})
    results, recorded = await play(tmp_path, brains, "go", "once more")
    found = ends(recorded, "list_dir")
    assert [bool(end.get("notice")) for end in found[:5]] == [False, False, True, True, True]
    assert [end["ok"] for end in found] == [True] * 5 + [False] * 3 + [True]  # the user's next word
    error = found[5]["error"]
    assert (error["kind"], error["details"]) == ("limit_exceeded", {"pattern": "repeat", "limit": 6})
    assert [result.status for result in results] == ["completed"] * 2


async def test_a_circle_is_seen_over_turns_too(tmp_path: Path) -> None:
    """Bob's reports wake the lead, which looks once for each of them: for one message of the user."""
    looks = iter(range(7))

    def lead(messages: list[dict[str, Any]]) -> Reply:
        if messages[-1]["role"] == "tool" or (number := next(looks, None)) is None:
            return chat.text("waiting")
        return look(delegate("bob", str(number)))

    brains = Brains({"lead": lead, "bob": [chat.text(f"done {number}") for number in range(9)]})
    _, recorded = await play(tmp_path, brains, "go")
    assert [end["ok"] for end in ends(recorded, "list_dir")] == [True] * 5 + [False] * 2


async def test_what_is_new_between_two_calls_makes_them_no_circle(tmp_path: Path) -> None:
    """As tests are run again after each change, with the same words as their result."""
    steps = [
        step
        for number in range(8)
        for step in (
            chat.calls(("write", {"path": f"file{number}", "content": "x"})),
            chat.calls(("bash", {"command": "echo all passed"})),
        )
    ]
    brains = Brains({"lead": [*steps, chat.text("done")]})
    _, recorded = await play(tmp_path, brains, "go")
    found = ends(recorded, "bash")
    assert [(end["ok"], end.get("notice", "")) for end in found] == [(True, "")] * 8


async def test_two_who_say_the_same_to_each_other_are_told_and_then_stopped(tmp_path: Path) -> None:
    said: list[str] = []

    def to_and_fro(other: str, text: str) -> Any:
        def brain(messages: list[dict[str, Any]]) -> Reply:
            new = [*takewhile(lambda one: one["role"] == "user", reversed(messages))]
            texts = [str(one["content"]) for one in new]
            said.extend(texts)
            if any(one == "go" or one.startswith("[task") for one in texts):
                return chat.calls(delegate(other, text))
            return chat.text("so be it")

        return brain

    pair = Brains({"lead": to_and_fro("bob", "you first"), "bob": to_and_fro("lead", "no, you first")})
    results, recorded = await play(tmp_path, pair, "go")
    assert results[0].status is TurnStatus.COMPLETED
    refused = [end["error"] for end in ends(recorded, "delegate_task") if not end["ok"]]
    assert refused
    assert refused[0]["kind"] == "limit_exceeded"
    assert refused[0]["details"] == {"pattern": "ping_pong", "limit": 10}
    assert any("[planck: 6 messages in a row between you and" in text for text in said)


async def test_an_answer_that_a_stop_hook_does_not_change_is_not_asked_for_a_fourth_time(
    tmp_path: Path,
) -> None:
    hooks = {"Stop": [{"command": "echo go on >&2; exit 2"}]}
    brains = Brains({"lead": [chat.text("that is all")] * 9})
    (result,), recorded = await play(tmp_path, brains, "go", hooks=hooks)
    assert (len(brains.seen), result.text) == (3, "that is all")
    (error,) = [data for type, data in recorded if type == "error"]
    assert (error["kind"], error["details"]["pattern"]) == ("limit_exceeded", "final_text")
