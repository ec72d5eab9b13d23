"""The doubles that ship: scripted, faulty, cassette."""

import asyncio
import random
from typing import Any

import pytest

from planck.llm.provider import Item, Provider, ProviderError, Request
from planck.llm.retry import Retrying
from planck.records.events import AssistantSaid, Delivery, Envelope, Kind, TextDelta, ThinkingDelta
from planck.records.history import History
from planck.records.messages import AssistantMessage, StopReason, Text, Thinking, ToolCall
from planck.records.outcome import Err, ErrorKind
from planck.testing.cassette import Playback, Recording
from planck.testing.faulty import Faulty
from planck.testing.scripted import Say, ScriptedProvider
from tests.virtual_time import run_virtual
from tests.wire.known import request


async def collect(provider: Provider, asked: Request) -> list[Item]:
    return [item async for item in provider.stream(asked)]


async def test_a_script_is_followed_in_order_and_its_end_is_an_error() -> None:
    model = ScriptedProvider(["two words", [("read", {"path": "x"}), ("bash", "{bro")]])
    first = await collect(model, request())
    second = await collect(model, request())
    assert [item.text for item in first if isinstance(item, TextDelta)] == ["two ", "words"]
    assert isinstance(second[-1], AssistantMessage)
    assert second[-1].tool_calls == (
        ToolCall("", "call_1_0", "read", '{"path":"x"}'),
        ToolCall("", "call_1_1", "bash", "{bro"),
    )
    with pytest.raises(ProviderError, match="has only 2"):
        await collect(model, request())
    assert [asked.agent_id for asked in model.asked] == ["a1"] * 3


async def test_each_agent_has_its_own_script_and_a_function_may_answer() -> None:
    async def answer(asked: Request) -> str:
        return f"{asked.agent_id} has {len(asked.history.messages)}"

    model = ScriptedProvider({"a1": ["mine"], "": answer})
    texts = []
    for agent in ("a1", "a2"):
        *_, message = await collect(model, Request(agent, "", request("x", "y").history))
        assert isinstance(message, AssistantMessage)
        texts.append(message.text)
    assert texts == ["mine", "a2 has 2"]


async def test_a_scripted_answer_may_think_stop_early_stall_or_break() -> None:
    gate = asyncio.Event()
    model = ScriptedProvider(
        [
            Say(text="hm", thinking="well", stop=StopReason.LENGTH),
            Say(text="half", error=Err(ErrorKind.STREAM_CUT, "gone")),
            Say(text="slow", wait=gate),
        ]
    )
    items = await collect(model, request())
    assert items[:2] == [ThinkingDelta(text="well"), TextDelta(text="hm")]
    assert isinstance(items[2], AssistantMessage)
    assert (items[2].parts, items[2].stop) == ((Thinking("well"), Text("hm")), StopReason.LENGTH)
    with pytest.raises(ProviderError) as caught:
        await collect(model, request())
    assert caught.value.err.kind is ErrorKind.STREAM_CUT
    stream = model.stream(request())
    assert await anext(stream) == TextDelta(text="slow")
    assert model.open_streams == 1
    await stream.aclose()
    assert model.open_streams == 0


def test_a_storm_is_weathered_and_the_same_seed_gives_the_same_storm() -> None:
    async def storm(seed: int) -> tuple[list[str], list[str]]:
        source = random.Random(seed)
        faulty = Faulty(ScriptedProvider(lambda asked: "all is well"), source.random, rate=0.4)
        retrying = Retrying(faulty, source.random, retries=40, idle_timeout=60)
        said = []
        for _ in range(100):
            messages = [
                item for item in await collect(retrying, request()) if isinstance(item, AssistantMessage)
            ]
            assert len(messages) == 1
            said.append(messages[0].text)
        return said, faulty.faults

    said, faults = run_virtual(storm(7))
    assert said == ["all is well"] * 100
    assert set(faults) == {
        "rate_limited",
        "overloaded",
        "provider_http_error",
        "network",
        "cut",
        "garbled",
        "stalled",
    }
    assert run_virtual(storm(7)) == (said, faults)
    assert run_virtual(storm(8)) != (said, faults)


def told(history: History, id: str, text: str) -> None:
    history.apply(Envelope(id=id, kind=Kind.PROMPT, sender="user", receiver="a", text=text))
    history.apply(Delivery(ids=(id,), state="delivered"))


async def converse(model: Provider, *prompts: str, **fields: Any) -> list[Any]:
    """A conversation of one agent: what came out of each call, an error as its kind."""
    history = History()
    out: list[Any] = []
    for number, prompt in enumerate(prompts):
        told(history, f"e{number}", prompt)
        try:
            items = await collect(model, Request("a1", "be brief", history, **fields))
        except ProviderError as error:
            out.append((error.err.kind, error.retry_after, error.err.details.get("drift", "")))
            continue
        out.append(items)
        assert isinstance(items[-1], AssistantMessage)
        history.apply(AssistantSaid(message=items[-1]))
    return out


async def test_a_tape_plays_what_was_recorded_errors_too() -> None:
    script: list[Any] = [
        Say(text="hello you", thinking="hm"),
        ProviderError(ErrorKind.RATE_LIMITED, "slow down", {"status": 429}, retry_after=3.5),
        "after that",
    ]
    recording = Recording(ScriptedProvider(script))
    live = await converse(recording, "one", "two", "three")
    playback = Playback(recording.dump())
    assert await converse(playback, "one", "two", "three") == live
    assert playback.left == 0


async def test_a_tape_grows_by_what_is_new_only() -> None:
    recording = Recording(ScriptedProvider(lambda asked: "x" * 100))
    await converse(recording, *("y" * 100 for _ in range(50)))
    lines = recording.dump().splitlines()
    assert max(map(len, lines[1:])) < len(lines[0]) * 2


@pytest.mark.parametrize(
    ("prompts", "fields", "drift"),
    [
        (["one", "2"], {}, "messages[1].parts[0].text is 'two' on the tape and '2' now"),
        (["one", "two"], {"params": {"n": 1}}, "params is None on the tape and {'n': 1} now"),
        (["one", "two", "three"], {}, "the tape has no more calls from this agent"),
    ],
)
async def test_the_first_drift_is_shown(prompts: list[str], fields: dict[str, Any], drift: str) -> None:
    recording = Recording(ScriptedProvider(["a", "b"]))
    await converse(recording, "one", "two")
    out = await converse(Playback(recording.dump()), *prompts, **fields)
    shown = [entry for entry in out if isinstance(entry, tuple)]
    assert shown[0] == (ErrorKind.INVALID_RESPONSE, None, drift)


async def test_an_abandoned_call_is_on_the_tape_as_far_as_it_went() -> None:
    recording = Recording(ScriptedProvider(["one two three"]))
    stream = recording.stream(request())
    assert await anext(stream) == TextDelta(text="one ")
    await stream.aclose()
    assert await collect(Playback(recording.dump()), request()) == [TextDelta(text="one ")]


def team_tape(boss: str, worker: str, envelope: str) -> tuple[list[tuple[str, str, str]], ScriptedProvider]:
    """What two agents are told in a run with these ids, and a model that answers with them."""
    task = f"[task {envelope} from agent boss (id {boss})]"
    told = [(boss, "you lead", f"go, with {worker}"), (worker, "you work", task)]
    return told, ScriptedProvider({boss: [[("ask_agent", {"identifier": worker})]], worker: [f"to {boss}"]})


async def play_team(model: Provider, told: list[tuple[str, str, str]]) -> list[Item]:
    return [
        (await collect(model, Request(id, system, request(text).history)))[-1] for id, system, text in told
    ]


async def test_a_tape_of_a_team_plays_with_the_ids_of_this_run() -> None:
    old, script = team_tape("a" * 16, "b" * 16, "c" * 16)
    recording = Recording(script)
    await play_team(recording, old)
    new, script = team_tape("1" * 16, "2" * 16, "3" * 16)
    expected = await play_team(script, new)
    assert await play_team(Playback(recording.dump()), new) == expected
    with pytest.raises(ProviderError, match="is 'you work' on the tape and 'you rest' now"):
        await play_team(Playback(recording.dump()), [new[0], ("2" * 16, "you rest", new[1][2])])


async def test_an_id_that_stands_for_two_is_a_drift() -> None:
    recording = Recording(ScriptedProvider(["ok"]))
    await collect(recording, request(f"{'a' * 16} and {'b' * 16} and {'a' * 16}"))
    playback = Playback(recording.dump())
    with pytest.raises(ProviderError, match="differs from its tape"):
        await collect(playback, request(f"{'1' * 16} and {'2' * 16} and {'3' * 16}"))
