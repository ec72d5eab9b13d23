"""Small local models ramble, go in circles and write calls that nobody can read; they answer all the same."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from planck.headless import Planck
from tests.scenarios.test_peers import watched
from tests.wire import chat
from tests.wire.server import Reply, Script, WireServer

WINDOW = 4096
UNREAD = {
    "llama.cpp": chat.error(
        500, "The model produced output that does not match the expected peg-native format"
    ),
    "ollama": chat.error(500, "error parsing tool call: raw='{\"name', err=unexpected end of JSON input"),
    "groq": chat.error(400, "Failed to call a function. Please adjust your prompt.", "tool_use_failed"),
}


async def play(
    folder: Path, script: Script, *prompts: str, window: int = WINDOW
) -> tuple[list[Any], list[Any], list[str]]:
    """The results of a conversation, the requests that it took, and the states that were told meanwhile."""
    async with WireServer(script) as server:
        entry = {"id": "small", "model": "s", "provider": "box", "context_window": window}
        flags = {"providers": {"box": {"type": "llama_cpp", "base_url": server.url}}, "models": [entry]}
        async with Planck(folder / "home", folder, environ={}, flags=flags) as planck, asyncio.timeout(30):
            session = await planck.start(model="small", mode="read-only")

            async with watched(session) as statuses:
                results = [await session.run(prompt) for prompt in prompts or ("go",)]
        return results, [asked.json for asked in server.asked], [status["state"] for status in statuses]


async def test_an_answer_in_circles_is_ended_and_what_it_said_counts(tmp_path: Path) -> None:
    circle = ["Hello. ", *["I'm here to help you. "] * 2_000]
    hold = asyncio.Event()  # never set: the server would go on for ever
    endless = Reply([*chat.text(*circle).pieces[:-3], hold])
    (result,), requests, told = await play(tmp_path, [endless])
    assert (result.status, result.exit_code, len(requests)) == ("completed", 0, 1)
    assert result.text.startswith("Hello. I'm here to help you. ")
    assert "the answer was cut off here" in result.text
    assert len(result.text) < 2 * WINDOW
    assert result.usage.output_tokens > 100  # the server was not heard to count
    assert "repeats" in told


@pytest.mark.parametrize(
    ("words", "window"),
    [
        (["----------"] * 1_000, WINDOW),
        (["0, "] * 3_000, WINDOW),
        ([f"line {n} of the table\n" for n in range(400)], WINDOW),
        (["I will not talk in class.\n"] * 75, WINDOW),
        (["I will not talk in class.\n"] * 4_000, 200_000),
    ],
    ids=["rule", "zeros", "count", "lines", "large"],
)
async def test_what_is_drawn_or_wanted_so_is_whole(tmp_path: Path, words: list[str], window: int) -> None:
    (result,), _, _ = await play(tmp_path, [chat.text(*words)], window=window)
    assert (result.status, result.text) == ("completed", "".join(words))


async def test_a_text_cut_at_the_models_limit_is_an_answer_that_says_so(tmp_path: Path) -> None:
    (result,), (request,), told = await play(tmp_path, [chat.text("Half of", finish="length")])
    assert (result.status, result.exit_code, result.errors) == ("completed", 0, ())
    assert result.text.startswith("Half of\n\n[planck: the answer was cut off here")
    assert "cut" in told
    assert request["max_tokens"] == WINDOW // 4  # it leaves room for the work


async def test_a_cut_answer_without_a_word_is_none(tmp_path: Path) -> None:
    (result,), _, _ = await play(tmp_path, [chat.text(thinking=["hm, "], finish="length")])
    assert (result.status, result.exit_code, result.errors[-1]["kind"]) == ("failed", 1, "limit_exceeded")


@pytest.mark.parametrize("server", UNREAD)
async def test_a_model_whose_calls_its_server_cannot_read_is_asked_without_tools(
    tmp_path: Path, server: str
) -> None:
    script = [UNREAD[server], UNREAD[server], chat.text("Hello."), UNREAD[server], chat.text("Still here.")]
    results, requests, told = await play(tmp_path, script, "hi", "and now?")
    assert [(result.status, result.text) for result in results] == [
        ("completed", "Hello."),
        ("completed", "Still here."),
    ]
    assert [bool(request.get("tools")) for request in requests] == [True, True, False, True, False]
    assert told.count("without_tools") == 2


async def test_one_call_that_could_not_be_read_is_tried_again_with_the_tools(tmp_path: Path) -> None:
    call = chat.calls(("list_dir", {}))
    script = [UNREAD["ollama"], call, UNREAD["ollama"], call, chat.text("done")]
    (result,), requests, told = await play(tmp_path, script)
    assert (result.status, result.text) == ("completed", "done")
    assert all(request.get("tools") for request in requests)
    assert "without_tools" not in told
