"""A session that begins with a conversation from elsewhere."""

from pathlib import Path
from typing import Any

import pytest

from planck import PlanckError
from planck.testing import ScriptedProvider
from tests.library.program import make_planck

CALL = {"id": "call_1", "type": "function", "function": {"name": "look", "arguments": '{"at": "x"}'}}
HISTORY: list[dict[str, Any]] = [
    {"role": "user", "content": "What is my name?"},
    {"role": "assistant", "content": "Ada."},
    {"role": "user", "content": [{"type": "text", "text": "And my dog's?"}]},
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "call_1", "content": "Rex"},
    {"role": "assistant", "content": "Rex."},
]


async def test_the_model_is_shown_the_history_before_the_prompt(tmp_path: Path) -> None:
    provider = ScriptedProvider(["done", "again"])
    async with make_planck(tmp_path, [], providers={"double": provider}) as p:
        session = await p.start(history=HISTORY, name="mine")
        result = await session.run("Thanks.")
        assert (result.text, result.steps) == ("done", 1)
        shown = [str(message) for message in provider.asked[0].messages]
        words = ["What is my name?", "Ada.", "And my dog's?", "look", "Rex", "Rex.", "Thanks."]
        assert len(shown) == len(words)
        assert all(word in one for word, one in zip(words, shown, strict=True))
        await session.aclose()
        session = await p.resume("mine")
        await session.run("More.")
        assert len(provider.asked[1].messages) == 9


async def test_an_imported_history_is_a_transcript_that_verifies(tmp_path: Path) -> None:
    async with make_planck(tmp_path, ["done"]) as p:
        session = await p.start(history=HISTORY)
        types = [event.type for event in session.recorded()]
        assert types.count("turn_start") == types.count("turn_end") == 2
        assert types.count("tool_start") == types.count("tool_end") == 1
        await session.run("Thanks.")
        turns = [event.turn for event in session.recorded() if event.type == "turn_start"]
        assert turns == [1, 2, 3]
        id = session.id
        await session.aclose()
        exported = tmp_path / "exported"
        exported.write_bytes(b"".join(p.archive.events(id)))
        p.archive.delete(id)
        await p.archive.import_session(exported)


@pytest.mark.parametrize(
    ("history", "said"),
    [
        ("hello", "list of messages"),
        ([3], r"history\[0\] must be a map"),
        ([{"role": "assistant", "content": "x"}], "begins with"),
        ([{"role": "system", "content": "x"}], "system_prompt"),
        ([{"role": "bot", "content": "x"}], "'bot' is not a role"),
        (HISTORY[:1], "Pass that message to run"),
        (HISTORY[:4], "has no result"),
        ([*HISTORY[:4], HISTORY[5]], "has no result"),
        ([*HISTORY[:2], HISTORY[4]], "no call of the assistant"),
        ([{"role": "user", "content": ""}], "no text"),
        ([{"role": "user", "content": [{"type": "image"}]}], "only text"),
        ([HISTORY[0], {"role": "assistant", "tool_calls": [{"id": "x"}]}], "a call needs"),
    ],
)
async def test_a_history_that_is_not_understood_is_an_error_before_there_is_a_session(
    tmp_path: Path, history: Any, said: str
) -> None:
    async with make_planck(tmp_path, []) as p:
        with pytest.raises(PlanckError, match=said):
            await p.start(history=history)
        assert list(p.archive.sessions()) == []
