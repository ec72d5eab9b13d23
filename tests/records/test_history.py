"""Any prefix of any log folds to a history that every dialect can send."""

import asyncio
import sys
import tracemalloc
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planck.context.compaction import fits
from planck.llm.provider import Request
from planck.records import codec
from planck.records.events import (
    USER,
    AssistantSaid,
    Compacted,
    Delivery,
    Envelope,
    Event,
    Kind,
    Rewound,
    ToolEnd,
    ToolStart,
    TurnEnd,
    TurnStart,
    TurnStatus,
    View,
    view,
)
from planck.records.history import BYTES_PER_TOKEN, INTERRUPTED, History
from planck.records.messages import (
    AssistantMessage,
    Image,
    Message,
    Part,
    StopReason,
    Text,
    Thinking,
    ToolCall,
    ToolMessage,
    ToolResult,
    UserMessage,
    user_text,
)
from planck.records.specs import ToolSpec
from planck.records.usage import Usage
from tests.wire.known import KNOWN, Known
from tests.wire.memory import MemoryTransport
from tests.wire.script import Answer, play

NO_USAGE = Usage()
TOOLS = (ToolSpec("read", "Reads.", {"type": "object", "properties": {"path": {"type": "string"}}}),)

TEXT = st.sampled_from(["", " ", "x", "ä\n'\"\\", "\x00", "more words"])
ID = st.sampled_from(["", "t1", "t2", "t3", "t 1", "t.1", "call_1"])
CALL = st.builds(
    ToolCall,
    ID,
    ID,
    st.sampled_from(["read", "gone", "a b"]),
    st.sampled_from(["{}", "", "{", "[]", '{"path":1}']),
)
PART: st.SearchStrategy[Part] = st.one_of(
    st.builds(Text, TEXT), st.builds(Thinking, TEXT, TEXT, st.sampled_from(["", "ZGF0YQ=="])), CALL
)
ASSISTANT = st.builds(
    AssistantMessage,
    st.lists(PART, max_size=5).map(tuple),
    st.sampled_from(["anthropic", "google", "openai_chat", "openai_responses", "ollama", "x"]),
    st.sampled_from(["m-1", "other"]),
    st.sampled_from(StopReason),
    st.sampled_from([Usage(), Usage(100, 20)]),
)
RESULT = st.builds(
    ToolResult, ID, ID, st.just("read"), st.booleans(), TEXT, st.just((Image("image/png", "aGk="),))
)
MESSAGE: st.SearchStrategy[Message] = st.one_of(
    st.builds(
        UserMessage, st.lists(st.builds(Text, TEXT), max_size=2).map(tuple), st.sampled_from(["", "b"])
    ),
    ASSISTANT,
    st.builds(ToolMessage, st.lists(RESULT, max_size=3).map(tuple)),
)
MESSAGES = st.lists(MESSAGE, max_size=5).map(tuple)
ENVELOPE_ID = st.sampled_from(["e1", "e2", "e3"])
FACT: st.SearchStrategy[View] = st.one_of(
    st.builds(
        Envelope,
        id=ENVELOPE_ID,
        kind=st.sampled_from(Kind),
        sender=st.sampled_from([USER, "b"]),
        receiver=st.just("a"),
        text=TEXT,
    ),
    st.builds(
        Delivery,
        ids=st.lists(ENVELOPE_ID, max_size=3).map(tuple),
        state=st.sampled_from(["delivered", "dead"]),
    ),
    st.builds(TurnStart, kind=st.sampled_from(Kind), message_id=ENVELOPE_ID),
    st.builds(AssistantSaid, message=ASSISTANT),
    st.builds(ToolStart, id=ID, name=st.just("read"), args=st.just({})),
    st.builds(ToolEnd, id=ID, name=st.just("read"), ok=st.booleans(), output=TEXT, duration_ms=st.just(1)),
    st.builds(TurnEnd, status=st.sampled_from(TurnStatus), text=TEXT, usage=st.just(Usage())),
    st.builds(
        Compacted,
        messages=MESSAGES,
        tokens_before=st.just(9),
        tokens_after=st.just(1),
        turn_at=st.integers(-1, 9),
        how=st.just("digest"),
    ),
    st.builds(Rewound, to=st.just(1), messages=MESSAGES),
)


@pytest.mark.parametrize("known", KNOWN, ids=lambda known: known.name)
@given(facts=st.lists(FACT, max_size=14))
def test_any_prefix_of_any_log_can_be_sent(known: Known, facts: list[View]) -> None:
    told = History()
    for fact in facts:
        told.apply(_stored(fact))
        _assert_balanced(told.balanced)
    if told.messages:
        _assert_accepted(known, told)


def _stored(fact: View) -> View:
    """As it comes back out of a log."""
    read = view(Event(1, "", "a", 1, fact.type, msgspec.Raw(codec.encode(fact))))
    assert read == fact
    return read


def _assert_balanced(messages: list[Message]) -> None:
    seen: set[str] = set()
    for number, message in enumerate(messages):
        if isinstance(message, AssistantMessage) and (calls := message.tool_calls):
            ids = [call.provider_id for call in calls]
            assert seen.isdisjoint(ids)
            assert len(set(ids)) == len(ids)
            assert "" not in ids
            seen.update(ids)
            after = messages[number + 1]
            assert isinstance(after, ToolMessage)
            assert [(r.provider_id, r.name) for r in after.results] == [
                (c.provider_id, c.name) for c in calls
            ]
        if isinstance(message, ToolMessage):
            before = messages[number - 1]
            assert isinstance(before, AssistantMessage)
            assert before.tool_calls


def _assert_accepted(known: Known, told: History) -> None:
    transport = MemoryTransport(play(known.server, [Answer((Text("ok"),))]))
    provider = known.provider("http://here", transport)

    async def send() -> Any:
        return [item async for item in provider.stream(Request("a1", "", told, TOOLS))][-1]

    answer = asyncio.run(send())
    assert isinstance(answer, AssistantMessage)
    assert answer.text == "ok"


def _prompt(told: History, text: str, sender: str = USER) -> None:
    told.apply(Envelope(id=text, kind=Kind.PROMPT, sender=sender, receiver="a", text=text))
    told.apply(TurnStart(kind=Kind.PROMPT, message_id=text))
    told.apply(Delivery(ids=(text,), state="delivered"))


def _said(*parts: Part, usage: Usage = NO_USAGE) -> AssistantSaid:
    return AssistantSaid(message=AssistantMessage(parts, "x", "m", StopReason.END, usage))


def _end(id: str, output: str = "out") -> ToolEnd:
    return ToolEnd(id=id, name="read", ok=True, output=output, duration_ms=1)


CALLS = (ToolCall("t1", "c1", "read", "{}"), ToolCall("t2", "c2", "read", "{}"))


def test_a_call_left_open_is_shown_as_interrupted_and_stays_open_in_the_log() -> None:
    told = History()
    _prompt(told, "go")
    told.apply(_said(*CALLS))
    told.apply(_end("t2"))
    results = told.balanced[-1]
    assert isinstance(results, ToolMessage)
    assert [(r.id, r.ok, r.output) for r in results.results] == [
        ("t1", False, str(INTERRUPTED)),
        ("t2", True, "out"),
    ]
    assert list(told.open_calls) == [CALLS[0]]
    told.apply(_end("t1", "late but true"))
    assert not told.open_calls
    assert isinstance(last := told.messages[-1], ToolMessage)
    assert [r.output for r in last.results] == ["late but true", "out"]


def test_the_first_result_of_a_call_counts() -> None:
    told = History()
    told.apply(_said(*CALLS))
    for end in (
        _end("t1", "first"),
        _end("t1", "second"),
        _end("unknown"),
        _end("t2", "other"),
        _end("t2", "x"),
    ):
        told.apply(end)
    assert len(told.messages) == 2
    assert isinstance(last := told.messages[-1], ToolMessage)
    assert [r.output for r in last.results] == ["first", "other"]


def test_a_checkpoint_stands_for_everything_before_it() -> None:
    told, later = History(), History()
    _prompt(told, "go")
    told.apply(_said(*CALLS, usage=Usage(5000, 5)))
    kept = (user_text("go"), user_text("what happened", "summary"))
    for fact in (
        Compacted(messages=kept, tokens_before=5005, tokens_after=20, turn_at=1, how="digest"),
        _said(Text("done")),
    ):
        told.apply(fact)
        later.apply(fact)
    assert told.messages == later.messages == [*kept, _said(Text("done")).message]
    assert told.tokens() == later.tokens() < 100


CHECKPOINT = Compacted(messages=(user_text("go"),), tokens_before=9, tokens_after=1, turn_at=1, how="digest")


@given(before=st.lists(FACT, max_size=14), after=st.lists(FACT, max_size=6))
def test_what_stands_before_a_checkpoint_can_be_skipped(before: list[View], after: list[View]) -> None:
    applied, skipped = History(), History()
    for fact in before:
        applied.apply(fact)
        skipped.skip(fact)
    for fact in [CHECKPOINT, *after]:
        applied.apply(fact)
        skipped.apply(fact)
        assert _describe(applied) == _describe(skipped)


def _describe(told: History) -> tuple[object, ...]:
    return told.messages, told.unread, told.turn_at, told.in_turn, told.open_calls, told.tokens()


def test_a_rewind_shows_what_was_there_then() -> None:
    told = History()
    _prompt(told, "one")
    told.apply(_said(Text("1")))
    then = tuple(told.messages)
    _prompt(told, "two")
    told.apply(_said(Text("2")))
    told.apply(Rewound(to=4, messages=then))
    assert told.messages == list(then)


def test_tokens_are_the_last_real_count_and_the_bytes_since() -> None:
    told = History()
    _prompt(told, "x" * 300)
    assert 100 <= told.tokens() < 120
    told.apply(_said(*CALLS, usage=Usage(1000, 50, cache_read_tokens=200)))
    assert told.tokens() == 1250
    assert told.tokens(fixed=900) == 1250
    told.apply(_end("t1", "y" * 3000))
    told.apply(_end("t2", "y" * 3000))
    assert 1250 + 2000 <= told.tokens() < 1250 + 2000 + 200 // BYTES_PER_TOKEN


@pytest.mark.parametrize("counted", [Usage(100), Usage(40, 50, 10), Usage(1)], ids=str)
def test_a_count_too_small_to_be_true_does_not_hide_how_long_a_history_is(counted: Usage) -> None:
    """100 tokens for 300 KB: a server that counts what its cache did not have, or that can't count."""
    told = History()
    _prompt(told, "word " * 60_000)
    told.apply(_said(Text("hm"), usage=counted))
    assert told.tokens() >= 300_000 // 6
    assert not fits(told, 32_768)
    _prompt(told, "more " * 6_000)
    assert told.tokens() >= 330_000 // 6


def test_a_count_too_large_to_be_true_does_not_make_a_history_too_long() -> None:
    told = History()
    _prompt(told, "hello")
    told.apply(_said(Text("hm"), usage=Usage(10_000_000)))
    assert fits(told, 32_768, fixed=1_000)


def test_messages_of_other_agents_say_who_sent_them() -> None:
    told = History()
    _prompt(told, "from the user")
    _prompt(told, "from a worker", sender="b")
    users = [m for m in told.messages if isinstance(m, UserMessage)]
    assert [m.sender for m in users] == ["", "b"]
    assert users[0] == user_text("from the user")
    assert "id b" in users[1].parts[0].text  # type: ignore[union-attr]  # a text by construction


def test_a_step_costs_the_same_however_long_the_history_is() -> None:
    encoded = 0
    work = []

    def encode(message: Message) -> bytes:
        nonlocal encoded
        encoded += 1
        return b"x"

    told = History()
    for step in range(2000):
        before = encoded
        calls = tuple(ToolCall(f"t{step}{c}", f"p{step}{c}", "read", "{}") for c in "ab")
        lines = 0

        def count(frame: Any, event: str, arg: Any) -> Any:
            nonlocal lines
            lines += event == "line" and frame.f_code.co_filename.endswith("history.py")
            return count

        sys.settrace(count)
        told.apply(_said(*calls))
        for call in calls:
            told.apply(_end(call.id))
        told.wire("x", encode)
        sys.settrace(None)
        work.append((lines, encoded - before))
    assert set(work[1:]) == {work[1]}


def test_the_bytes_of_messages_take_no_more_room_than_they_are_long() -> None:
    history = History([user_text(f"{number} " + "x" * 2_000) for number in range(100)])
    tracemalloc.start()
    try:
        wire = history.wire("x", codec.encode)
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert held < 1.1 * sum(map(len, wire))
