import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planck.context.compaction import ModelSummariser, TooBig, WindowCompactor, compact, fits
from planck.llm.provider import Request
from planck.records.events import (
    USER,
    AssistantSaid,
    Compacted,
    Delivery,
    Envelope,
    Kind,
    ToolEnd,
    TurnEnd,
    TurnStart,
    TurnStatus,
    View,
)
from planck.records.history import History
from planck.records.messages import (
    SUMMARY,
    AssistantMessage,
    Message,
    StopReason,
    Text,
    ToolCall,
    ToolMessage,
    UserMessage,
    user_text,
)
from planck.records.outcome import Err, ErrorKind
from planck.records.usage import Usage
from planck.testing.scripted import Say, Script, ScriptedProvider
from planck.toolkit.journal import Unrecorded
from planck.toolkit.scribe import Scribe

WINDOW = 10_000
SILENT = Scribe(Unrecorded(), "a1")


class Standing:
    def brief(self, agent_id: str) -> str:
        return f"how things stand for {agent_id}"


def turn(
    number: int, *, output: int = 3000, steps: int = 3, sender: str = USER, ended: bool = True
) -> list[View]:
    id = f"e{number}"
    kind = Kind.PROMPT if sender == USER else Kind.TASK
    facts: list[View] = [
        Envelope(id=id, kind=kind, sender=sender, receiver="a", text=f"request {number} from {sender}"),
        TurnStart(kind=kind, message_id=id),
        Delivery(ids=(id,), state="delivered"),
    ]
    for step in range(steps):
        call = ToolCall(f"t{number}.{step}", f"p{number}.{step}", "read", f'{{"path":"file{number}.{step}"}}')
        facts.append(_said(Text(f"I look at file{number}.{step}"), call))
        facts.append(ToolEnd(id=call.id, name="read", ok=True, output="x" * output, duration_ms=1))
    if ended:
        facts.append(_said(Text(f"answer {number}")))
        facts.append(TurnEnd(status=TurnStatus.COMPLETED, text="", usage=Usage()))
    return facts


def _said(*parts: Any, usage: Usage | None = None) -> AssistantSaid:
    return AssistantSaid(message=AssistantMessage(parts, "x", "m", StopReason.END, usage or Usage()))


def told(*facts: View) -> History:
    history = History()
    for fact in facts:
        history.apply(fact)
    return history


def run(history: History, script: Script = (), window: int = WINDOW, **options: Any) -> Compacted | TooBig:
    return asyncio.run(compact(history, window, ModelSummariser(ScriptedProvider(script)), **options))[0]


def texts(messages: Any) -> list[str]:
    return [str(m.parts[0]) for m in messages if isinstance(m, UserMessage)]


def after(history: History, fact: Compacted) -> History:
    history.apply(fact)
    return history


def test_old_tool_output_goes_first_and_needs_no_model() -> None:
    history = told(*turn(1, output=9000), *turn(2, output=200, ended=False))
    assert not fits(history, WINDOW)
    done = run(history)
    assert isinstance(done, Compacted)
    assert done.how == "pruned"
    assert done.tokens_after < done.tokens_before
    assert "left out; call read again" in done.messages[2].results[0].output  # type: ignore[union-attr]
    newest = done.messages[-1]
    assert isinstance(newest, ToolMessage)
    assert newest.results[0].output == "x" * 200
    assert fits(after(history, done), WINDOW)


def _call(number: int, name: str, output: str, *, spilled: bool = False) -> list[View]:
    call = ToolCall(f"c{number}", f"q{number}", name, "{}")
    end = ToolEnd(id=call.id, name=name, ok=True, output=output, duration_ms=1, spilled=spilled)
    return [_said(call), end]


@pytest.mark.parametrize(
    ("name", "spilled", "way_out"),
    [
        ("grep", False, "call grep again if it matters"),
        ("bash", False, "the call has already run: repeat it only if that does no harm"),
        ("ask_agent", False, "the call has already run: repeat it only if that does no harm"),
        ("a_tool_of_the_user", False, "the call has already run: repeat it only if that does no harm"),
        ("bash", True, "for all of it, read path output:c1"),
    ],
)
def test_old_output_of_what_has_effects_is_not_offered_again(name: str, spilled: bool, way_out: str) -> None:
    history = told(*turn(1)[:3], *_call(1, name, "x" * 9000, spilled=spilled), *turn(2, output=9000))
    done = run(history)
    assert isinstance(done, Compacted)
    shown = done.messages[2].results[0].output  # type: ignore[union-attr]
    assert shown.endswith(f"\n[9000 bytes of old output left out; {way_out}]")


def test_the_plan_outlives_compactions_and_a_resume() -> None:
    """The first takes the call out of the messages; the second, in another process, still knows it."""
    plan = "[x] look\n[>] fix\n[ ] test"
    history = told(*turn(1)[:3], *_call(1, "update_plan", plan), *turn(2, steps=40, output=900))
    compactor = WindowCompactor(ModelSummariser(ScriptedProvider(lambda request: "s")), WINDOW)
    for number in (3, 4):
        done = asyncio.run(compactor.make_room(Request("a1", "", history), SILENT))
        assert done is not None
        assert (done.how, done.plan) == ("summarised", plan)
        assert plan not in str(done.messages)
        history = told(done, *turn(number, steps=40, output=900))
    assert history.plan == plan
    assert told(*_call(1, "update_plan", plan), *_call(2, "update_plan", "[x] look")).plan == "[x] look"


def test_what_pruning_can_not_do_a_summary_does_and_the_users_words_stay() -> None:
    facts = [fact for n in range(1, 60) for fact in turn(n, output=550)]
    history = told(*facts, *turn(60, output=100, ended=False))
    done = run(history, lambda request: "they read many files", notes="roster: b, c")
    assert isinstance(done, Compacted)
    assert done.how == "summarised"
    users = [m for m in done.messages if isinstance(m, UserMessage)]
    assert [m for m in users if not m.sender] == [user_text(f"request {n} from user") for n in range(1, 61)]
    (summary,) = texts(m for m in users if m.sender == SUMMARY)
    assert "they read many files" in summary
    assert "roster: b, c" in summary
    assert fits(after(history, done), WINDOW)


def test_the_summary_is_made_in_chunks_that_fit_the_model() -> None:
    facts = [fact for n in range(1, 60) for fact in turn(n, output=550)]
    sizes: list[int] = []

    def answer(request: Request) -> str:
        sizes.append(request.history.tokens())
        return f"summary {len(sizes)}"

    done = run(told(*facts), answer)
    assert isinstance(done, Compacted)
    assert len(sizes) > 2
    assert max(sizes) < WINDOW
    assert f"summary {len(sizes)}" in str(done.messages)


@pytest.mark.parametrize(
    "script",
    [
        [Err(ErrorKind.OVERLOADED, "busy")],
        lambda request: "",
        lambda request: "much too long " * 5000,
        lambda request: Say(error=Err(ErrorKind.CONTEXT_OVERFLOW, "too long")),
    ],
    ids=["fails", "empty", "too long", "overflows"],
)
def test_when_the_model_does_not_deliver_a_digest_takes_its_place(script: Any) -> None:
    facts = [fact for n in range(1, 60) for fact in turn(n, output=550)]
    history = told(*facts)
    done = run(history, script)
    assert isinstance(done, Compacted)
    assert done.how == "digest"
    assert "file59.2" in str(done.messages)
    assert fits(after(history, done), WINDOW)


def test_the_task_at_hand_outlives_many_compactions_in_one_turn() -> None:
    history = told(*turn(1, sender="boss"), *turn(2, sender="boss", ended=False))
    for n in range(100, 160):
        step = turn(n, steps=2, output=2500, ended=False)[3:]
        for fact in step:
            history.apply(fact)
        if not fits(history, WINDOW):
            done = run(history, lambda request: "more was read")
            assert isinstance(done, Compacted)
            history.apply(done)
            assert fits(history, WINDOW)
            kept = [text for text in texts(history.messages) if "request 2 from boss" in text]
            assert len(kept) == 1
    assert "request 1 from boss" not in str(texts(history.messages))
    assert sum(m.sender == SUMMARY for m in history.messages if isinstance(m, UserMessage)) == 1


def test_a_message_that_can_not_be_taken_out_is_named() -> None:
    done = run(
        told(
            *turn(1, ended=False),
            Envelope(id="big", kind=Kind.PROMPT, sender=USER, receiver="a", text="big story " * 9000),
            Delivery(ids=("big",), state="delivered"),
        ),
        lambda r: "s",
    )
    assert isinstance(done, TooBig)
    assert "one message from the user takes" in done.what
    assert "big story" in done.what
    assert done.err.kind is ErrorKind.CONTEXT_OVERFLOW


def test_a_system_prompt_that_fills_the_window_is_named() -> None:
    done = run(told(*turn(1)), lambda r: "s", fixed=WINDOW)
    assert isinstance(done, TooBig)
    assert f"the system prompt and the tools take {WINDOW}" in done.what


def test_one_huge_call_in_the_last_step_does_not_stop_the_agent() -> None:
    call = ToolCall("t", "p", "write", '{"content":"' + "y" * 100_000 + '"}')
    history = told(
        *turn(1, ended=False), _said(call), ToolEnd(id="t", name="write", ok=True, output="ok", duration_ms=1)
    )
    done = run(history, [Err(ErrorKind.NETWORK, "down")])
    assert isinstance(done, Compacted)
    assert fits(after(history, done), WINDOW)


def test_a_last_step_with_too_much_output_is_cut_and_stays() -> None:
    calls = [ToolCall(f"c{n}", f"c{n}", "read", "{}") for n in range(12)]
    ends = [ToolEnd(id=call.id, name="read", ok=True, output="z" * 16_000, duration_ms=1) for call in calls]
    history = told(*turn(1, ended=False), _said(*calls), *ends)
    done = run(history, [Err(ErrorKind.NETWORK, "down")])
    assert isinstance(done, Compacted)
    assert isinstance(last := done.messages[-1], ToolMessage)
    assert len(last.results) == 12
    assert fits(after(history, done), WINDOW)


def test_a_last_step_too_big_even_for_that_is_told_in_the_digest() -> None:
    call = ToolCall("t", "p", "write", '{"content":"' + "y" * 100_000 + '"}')
    end = ToolEnd(id="t", name="write", ok=True, output="z" * 20_000, duration_ms=1)
    history = told(*turn(1, ended=False), _said(call), end)
    done = run(history, [Err(ErrorKind.NETWORK, "down")])
    assert isinstance(done, Compacted)
    assert "calls write(" in str(done.messages[-1])
    assert fits(after(history, done), WINDOW)


STEP = st.tuples(st.integers(0, 4000), st.integers(0, 3), st.sampled_from([USER, "b"]), st.booleans())


@given(
    steps=st.lists(STEP, min_size=1, max_size=25),
    window=st.sampled_from([1000, 4000, 16_000]),
    good=st.booleans(),
    cut=st.integers(0, 8),
)
def test_it_shrinks_and_fits_and_keeps_what_it_must_or_says_what_is_too_big(
    steps: list[tuple[int, int, str, bool]], window: int, good: bool, cut: int
) -> None:
    facts = [
        fact
        for number, (output, count, sender, ended) in enumerate(steps)
        for fact in turn(number, output=output, steps=count, sender=sender, ended=ended)
    ]
    history = told(*facts[: len(facts) - cut])
    before = history.tokens(fixed=200)
    if fits(history, window, fixed=200):
        return
    users = [m for m in history.messages if isinstance(m, UserMessage) and not m.sender]
    opening = [m for m in history.messages[history.turn_at :] if isinstance(m, UserMessage)]
    script: Script = (lambda request: "a summary") if good else [Err(ErrorKind.NETWORK, "down")]
    done = run(history, script, window, fixed=200)
    if isinstance(done, TooBig):
        assert window == 1000
        return
    history.apply(done)
    assert done.tokens_after < before
    assert fits(history, window, fixed=200)
    kept: list[Message] = list(done.messages)
    assert [m for m in kept if isinstance(m, UserMessage) and not m.sender] == users
    assert [m for m in opening if m not in kept] == []
    assert History(kept).messages == kept  # balanced already


def test_tokens_come_from_the_last_real_count() -> None:
    history = told(*turn(1, output=100))
    assert fits(history, WINDOW)
    history.apply(_said(Text("so"), usage=Usage(9000, 100)))
    assert not fits(history, WINDOW)
    assert fits(told(AssistantSaid(message=AssistantMessage((Text("x"),), "x", "m", StopReason.END))), WINDOW)
    assert user_text("x").sender == ""


def test_without_a_provider_no_model_is_asked() -> None:
    history = told(*(fact for n in range(1, 60) for fact in turn(n, output=550)))
    done = asyncio.run(WindowCompactor(None, WINDOW).make_room(Request("a1", "be brief", history), SILENT))
    assert done is not None
    assert done.how == "digest"


def test_what_must_outlive_the_summary_is_asked_for_when_it_is_made() -> None:
    facts = [fact for n in range(1, 60) for fact in turn(n, output=550)]
    compactor = WindowCompactor(ModelSummariser(ScriptedProvider(lambda request: "s")), WINDOW, Standing())
    done = asyncio.run(compactor.make_room(Request("a1", "be brief", told(*facts)), SILENT))
    assert done is not None
    assert "how things stand for a1" in str(done.messages)
    assert asyncio.run(compactor.make_room(Request("a1", "be brief", told(*turn(1))), SILENT)) is None


@pytest.mark.parametrize("counted", [0, 14_000])
def test_a_history_shortened_by_request_counts_with_prompt_and_tools(counted: int) -> None:
    """A share of the window that leaves them out would jump with the next answer."""
    said = _said(Text("so far"), usage=Usage(input_tokens=counted))
    history = told(*turn(1, output=9000), *turn(2, output=200), said)
    compactor = WindowCompactor(None, 128_000)
    done = asyncio.run(compactor.shorten(Request("a1", "s" * 28_000, history), SILENT))
    assert done is not None
    assert 7_000 < done.tokens_after < done.tokens_before
    assert done.tokens_after >= after(history, done).tokens(7_000)
