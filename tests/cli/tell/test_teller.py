"""Events in, lines out."""

import base64
import re
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planck.cli.tell.blocks import FOLDED, Answer, Block, Said, Told
from planck.cli.tell.diffs import compare, count_changes, draw_diff
from planck.cli.tell.styled import as_text, cut
from planck.cli.tell.teller import Teller
from planck.headless import SessionEvent
from planck.records import codec
from planck.records.diffs import cut_middle, diff_texts
from planck.records.events import Event
from planck.records.specs import AgentSpec, ModelSpec

MODEL = ModelSpec("local", "m")
LEAD = AgentSpec("a1", "orchestrator", "orchestrator", "orchestrator", MODEL)
BUILDER = AgentSpec("a2", "builder", "builder", "worker", MODEL)
_FILES = st.lists(st.sampled_from(["", "a", "b", "-- c", "++ d", "@@ -1 +1 @@", "12", " 7 "]), max_size=30)
_count = iter(range(1, 10_000_000))


def event(type: str, data: dict[str, Any], agent: str | None = "a1", *, delta: bool = False) -> SessionEvent:
    seq = None if delta else next(_count)
    raw = msgspec.Raw(codec.encode(data))
    return SessionEvent(Event(seq, "2026-11-16T10:00:00.000Z", agent, 1, type, raw), "s1")


def rows(blocks: list[Block]) -> list[str]:
    told = [block.as_told() if isinstance(block, Said) else block for block in blocks]
    return [as_text(line) for block in told if isinstance(block, Told) for line in block.lines]


def call(teller: Teller, name: str, args: Any, output: str = "", ok: bool = True, **more: Any) -> list[Block]:
    teller.tell(event("tool_start", {"id": "c1", "name": name, "args": args}))
    for kind, data in more.pop("before", ()):
        teller.tell(event(kind, data))
    ended = {"id": "c1", "name": name, "ok": ok, "output": output, "duration_ms": 0, **more}
    return teller.tell(event("tool_end", ended))


def changed(before: str) -> tuple[str, dict[str, Any]]:
    encoded = base64.b64encode(before.encode()).decode()
    data = {"call_id": "c1", "path": "a.py", "before": encoded, "mode": 420, "after_sha256": "x"}
    return "file_changed", data


def said(text: str, *, calls: bool = False, thinking: str = "") -> SessionEvent:
    parts: list[dict[str, Any]] = [{"type": "thinking", "text": thinking}] if thinking else []
    parts += [{"type": "text", "text": text}] if text else []
    parts += (
        [{"type": "tool_call", "id": "c", "provider_id": "c", "name": "x", "arguments": "{}"}]
        if calls
        else []
    )
    message = {"parts": parts, "dialect": "d", "model": "m", "stop": "end"}
    return event("assistant_message", {"message": message})


def test_an_edit_shows_its_diff_with_the_lines_of_the_whole_file() -> None:
    before = "".join(f"line {n}\n" for n in range(1, 41))
    args = {"path": "a.py", "old_string": "line 20\n", "new_string": "line twenty\n"}
    assert rows(call(Teller([LEAD]), "edit", args, "done", before=[changed(before)])) == [
        "  ✓ edit a.py  +1 -1",
        "    18  line 18",
        "    19  line 19",
        "    20 -line 20",
        "    20 +line twenty",
        "    21  line 21",
        "    22  line 22",
    ]


def test_a_new_file_of_many_lines_is_folded_and_can_be_shown_whole() -> None:
    teller = Teller([LEAD])
    text = "".join(f"line {n}\n" for n in range(500))
    shown = rows(call(teller, "write", {"path": "a.py", "content": text}, "written"))
    assert shown[0] == "  ✓ write a.py  +500 -0"
    assert shown[-1] == "    … 488 more lines"
    assert len(shown) == 14
    assert [row.split("+")[0].strip() for row in teller.folded[-1].rest.split("\n")] == [
        str(number) for number in range(1, 501)
    ]


@given(before=_FILES, after=_FILES)
def test_each_line_of_a_diff_has_its_number_in_the_file(before: list[str], after: list[str]) -> None:
    old, new = ("".join(f"{line}\n" for line in lines) for lines in (before, after))
    shown: dict[str, dict[int, str]] = {"-": {}, "+": {}}
    for line in draw_diff(compare(old, new, "a.py"), 10_000, ""):
        number, row = re.fullmatch(r" *(\d*) (.*)", as_text(line)).groups()  # type: ignore[union-attr]
        if number:
            shown["-" if row[0] == "-" else "+"][int(number)] = row[1:]
        else:
            assert row == "⋮"
    assert all(before[number - 1] == text for number, text in shown["-"].items())
    assert all(after[number - 1] == text for number, text in shown["+"].items())


def test_a_diff_with_a_part_left_out_is_numbered_again_behind_it() -> None:
    diff = "\n".join(diff_texts("", "".join(f"line {n}\n" for n in range(1, 901)), "a.py"))
    cut_diff, _ = cut_middle(diff, 400)
    drawn = [as_text(line).split() for line in draw_diff(cut_diff, 10_000, "")]
    assert drawn[0] == ["1", "+line", "1"]
    assert drawn[-1] == ["900", "+line", "900"]
    assert ["⋮"] not in drawn  # the note says it
    assert all(words[0] == words[-1] for words in drawn if words[0].isdigit() and "…" not in words[-1])
    assert sum("lines are not shown" in " ".join(words) for words in drawn) == 1


_NOISE = "".join(f"note: expanded from macro {n}\n" for n in range(40))


@pytest.mark.parametrize(
    ("head", "shown"),
    [
        (
            "cc -Werror -c x.c\nx.c:3:5: error: expected ';'\n    3 | x\n",
            ["x.c:3:5: error: expected ';'", "    3 | x"],
        ),
        (
            "E0425: ok\nerror[E0425]: cannot find value\n --> src/main.rs:3\n",
            ["error[E0425]: cannot find value", " --> src/main.rs:3"],
        ),
        (
            "ModuleNotFoundError: No module named 'x'\n",
            ["ModuleNotFoundError: No module named 'x'", "note: expanded from macro 0"],
        ),
        (
            "ld: undefined reference to `f'\n",
            ["ld: undefined reference to `f'", "note: expanded from macro 0"],
        ),
        ("Found 0 errors.\n", []),
        ("", []),
    ],
)
def test_of_a_failed_command_the_lines_that_name_the_error_are_shown(head: str, shown: list[str]) -> None:
    output = f"{head}{_NOISE}make: stop\n[exit code 2]"
    told = rows(call(Teller([LEAD]), "bash", {"command": "make"}, output, ok=False))
    left = head.count("\n") + 41 - len(shown) - 2
    assert told == [
        "  ✗ bash make",
        *(f"    {row}" for row in shown),
        f"    … {left} more lines",
        "    note: expanded from macro 39",
        "    make: stop",
        "    [exit code 2]",
    ]
    well = rows(call(Teller([LEAD]), "bash", {"command": "make"}, output.rpartition("\n")[0]))
    assert len(well) == 2 + FOLDED


@pytest.mark.parametrize(("count", "words"), [(1, "1 line"), (2, "2 lines"), (1_500, "1,500 lines")])
@pytest.mark.parametrize("blank", ["", "\n"])
@pytest.mark.parametrize("end", ["", "\n"])
def test_a_count_of_lines_counts_blank_ones_too(count: int, words: str, blank: str, end: str) -> None:
    text = "\n".join(["x", *([blank.strip()] * (count - 2)), *(["y"] if count > 1 else [])]) + end
    assert rows(call(Teller([LEAD]), "read", {"path": "a"}, text)) == [f"  ✓ read a  {words}"]


def test_what_is_left_out_is_counted_in_lines() -> None:
    output = "".join(f"line {n}\n\n" for n in range(1, 11))
    told = rows(call(Teller([LEAD]), "bash", {"command": "x"}, output))
    assert told[1:] == ["    … 17 more lines", "    line 8", "    line 9", "    line 10"]
    teller = Teller([LEAD, BUILDER])
    spoken = rows([Said((("builder ", ""),), output)])
    assert spoken[-1] == "    … 14 more lines"
    assert Said((), output).cut()[1] == 9  # of 20, of which it shows eleven, six of them full
    assert teller.folded.maxlen


def test_a_huge_output_is_folded_to_its_last_lines() -> None:
    teller = Teller([LEAD])
    output = "".join(f"line {n}\n" for n in range(100_000))
    shown = rows(call(teller, "bash", {"command": "seq 100000"}, output))
    assert shown == [
        "  ✓ bash seq 100000",
        "    … 99,997 more lines",
        *(f"    line {n}" for n in range(100_000 - FOLDED, 100_000)),
    ]
    assert teller.folded[-1].rest == output


def test_what_went_well_and_says_enough_in_one_line_has_one() -> None:
    assert rows(call(Teller([LEAD]), "read", {"path": "a.py"}, "1\n2\n3\n")) == ["  ✓ read a.py  3 lines"]
    part = "1\n2\n[lines 1-2 of 900; continue with offset 3]"
    assert rows(call(Teller([LEAD]), "read", {"path": "a.py"}, part)) == ["  ✓ read a.py  lines 1-2 of 900"]
    none = call(Teller([LEAD]), "grep", {"pattern": "x"}, "[no lines match]")
    assert rows(none) == ["  ✓ grep x  no lines match"]
    read = call(Teller([LEAD]), "read", {"path": "a.py"}, "1\n2\n[some words]", summary="lines 1-2 of 900")
    assert rows(read) == ["  ✓ read a.py  lines 1-2 of 900"]


def test_what_failed_shows_the_end_of_it() -> None:
    shown = rows(call(Teller([LEAD]), "read", {"path": "b.py"}, "not_found: no b.py", ok=False))
    assert shown == ["  ✗ read b.py", "    not_found: no b.py"]


def test_an_error_is_wrapped_and_has_no_json_below_it() -> None:
    text = "not_unique: '100' occurs 2 times, at lines 2; include more context"
    error = {"kind": "not_unique", "message": text}
    (told,) = call(
        Teller([LEAD]), "edit", {"path": "a.py"}, text + '\n{"count":2,"lines":[2]}', ok=False, error=error
    )
    assert isinstance(told, Told)
    assert told.wraps
    assert rows([told]) == ["  ✗ edit a.py", f"    {text}"]


def test_hostile_text_can_be_seen_and_does_nothing() -> None:
    teller = Teller([LEAD, BUILDER])
    blocks = call(teller, "bash", {"command": "x\x1b[2J\u202ey"}, "a\x1b]0;t\x07b\u200bc\x9b2Jd\n")
    blocks += teller.tell(
        event("message", {"kind": "task", "from": "a1", "to": "a2", "text": "\x1b[H\x08\u2066"})
    )
    blocks += teller.tell(event("agent_ended", {"status": "failed", "reason": "\x1b[31mred"}, "a2"))
    assert not any(ord(one) < 32 or one in "\x9b\u202e\u200b\u2066" for row in rows(blocks) for one in row)
    assert rows(blocks)[0] == "orchestrator ✓ bash x\\u202ey"


def test_agents_have_their_name_and_a_colour_once_there_is_more_than_one() -> None:
    teller = Teller([LEAD])
    assert rows(call(teller, "glob", {"pattern": "*"}, "a\n")) == ["  ✓ glob *  1 line"]
    spec = {"id": "a2", "type": "builder", "name": "builder", "role": "worker"}
    assert rows(teller.tell(event("agent_started", {"agent": spec}))) == ["builder joined"]
    assert rows(call(teller, "glob", {"pattern": "*"}, "a\n")) == ["orchestrator ✓ glob *  1 line"]
    assert teller.style("a1") != teller.style("a2")


def test_thinking_comes_before_what_was_thought_about_and_is_told_once() -> None:
    teller = Teller([LEAD])
    for piece in ("I should ", "look.\nThen mend."):
        assert teller.tell(event("thinking_delta", {"text": piece}, delta=True)) == []
    blocks = teller.tell(event("text_delta", {"text": "It is **this**.\n\nAnd"}, delta=True))
    blocks += teller.tell(said("It is **this**.\n\nAnd", thinking="I should look.\nThen mend."))
    assert rows(blocks) == ["  ✻ I should look.", "    Then mend."]
    assert [b.markdown for b in blocks if isinstance(b, Answer)] == ["It is **this**.", "And"]
    assert isinstance(blocks[0], Told)


def test_a_past_without_deltas_tells_the_same() -> None:
    teller = Teller([LEAD], echoes=True)
    blocks = teller.tell(
        event(
            "message",
            {"kind": "prompt", "from": "user", "to": "a1", "text": "mend it", "origin": "user"},
            None,
        )
    )
    blocks += teller.tell(said("Done.\n\nReally.", thinking="hm"))
    assert rows(blocks) == ["", "> mend it", "  ✻ hm"]
    assert blocks[-1] == Answer("Done.\n\nReally.")


def _end(status: str) -> SessionEvent:
    return event("turn_end", {"status": status, "text": "", "usage": {}})


def test_a_past_tells_how_turns_ended_and_the_present_what_ends_when_it_is_opened() -> None:
    past, now = Teller([LEAD], echoes=True, ends=True), Teller([LEAD], echoes=True)
    start = event("turn_start", {})
    failed = event("error", {"kind": "network", "message": "no way there", "details": {}})
    told = [block for one in (start, failed, _end("failed"), start) for block in past.tell(one)]
    assert rows(told) == ["  error: No way there. [network]", "  failed"]
    past.tell(event("tool_start", {"id": "c1", "name": "bash", "args": {"command": "make"}}))
    now.go_on_from(past)
    ended = {"id": "c1", "name": "bash", "ok": False, "output": "interrupted: stopped", "duration_ms": 0}
    told = [block for one in (event("tool_end", ended), _end("interrupted")) for block in now.tell(one)]
    assert rows(told) == ["  ✗ bash make", "    interrupted: stopped", "  interrupted"]
    now.tell(_message("go on"))
    assert rows([block for one in (start, _end("interrupted")) for block in now.tell(one)]) == []


@pytest.mark.parametrize(
    ("by", "reason", "told", "advice"),
    [
        ("user", 'the user said no: "not now"', " by you: not now", ""),
        ("user", "the user said no", " by you", ""),
        (
            "mode",
            "mode 'plan' allows no changes",
            ": mode 'plan' allows no changes",
            ". To allow it, choose another --permission-mode or add a rule.",
        ),
    ],
)
def test_a_person_is_told_once_what_they_can_change_about_a_denial(
    by: str, reason: str, told: str, advice: str
) -> None:
    words = "not now" if "not now" in reason else ""
    data = {"call_id": "c1", "tool": "bash", "decision": "deny", "reason": reason, "by": by, "words": words}
    data["way_out"] = advice.removeprefix(". ")
    teller = Teller([LEAD])
    assert rows(teller.tell(event("permission_decision", data))) == [f"  bash denied{told}{advice}"]
    assert rows(teller.tell(event("permission_decision", data))) == [f"  bash denied{told}"]


@pytest.mark.parametrize(
    ("why", "told"),
    [
        ("the user said no: not now", " by you: not now"),
        ("the user said no", " by you"),
        ("mode 'plan' allows no effects", ": mode 'plan' allows no effects; choose another mode"),
    ],
)
def test_a_denial_of_an_older_log_is_shown_without_the_advice_to_the_model(why: str, told: str) -> None:
    reason = f"'bash' is not permitted: {why}; go on without it, or tell the user to choose another mode"
    data = {"call_id": "c1", "tool": "bash", "decision": "deny", "reason": reason}
    assert rows(Teller([LEAD]).tell(event("permission_decision", data))) == [f"  bash denied{told}"]


def test_a_response_that_was_just_said_is_not_told_twice() -> None:
    teller = Teller([LEAD, BUILDER])
    message = {"kind": "response", "from": "a2", "to": "a1", "text": "All 2 pass."}
    spoken = said("All 2 pass.").recorded
    told = teller.tell(SessionEvent(msgspec.structs.replace(spoken, agent_id="a2"), "s1"))
    told += teller.tell(event("message", message, "a2"))
    told += teller.tell(event("message", {**message, "text": "Two of them."}, "a2"))
    assert rows(told) == [
        "builder All 2 pass.",
        "builder → orchestrator response: same as the message above",
        "builder → orchestrator response: Two of them.",
    ]


def test_of_a_long_error_the_line_that_says_what_is_wrong_is_shown() -> None:
    error = {"kind": "edit_conflict", "message": "", "details": {}}
    text = "edit_conflict: 'a.py' changed since you read it\n" + "\n".join(f"line {n}" for n in range(9))
    told = call(Teller([LEAD]), "edit", {"path": "a.py"}, text, ok=False, error=error)
    assert [row.strip() for row in rows(told)[1:]] == [
        "edit_conflict: 'a.py' changed since you read it",
        "… 7 more lines",
        "line 7",
        "line 8",
    ]


def test_a_call_that_does_not_fit_keeps_how_long_it_took() -> None:
    (told,) = call(Teller([LEAD]), "bash", {"command": "x" * 60}, duration_ms=12_000)
    assert isinstance(told, Told)
    assert as_text(cut(told.lines[0], 40)) == f"  ✓ bash {'x' * 24}…  12 s"


def test_a_cut_attempt_is_void() -> None:
    teller = Teller([LEAD])
    teller.tell(event("text_delta", {"text": "Half an ans"}, delta=True))
    told = teller.tell(
        event("status", {"component": "model", "state": "discarded", "detail": "cut"}, delta=True)
    )
    assert rows(told) == ["  model: cut"]
    assert teller.tell(said("Whole.")) == [Answer("Whole.")]


def test_a_reason_that_several_servers_have_is_told_once_and_each_server_is_named() -> None:
    teller, told = Teller([LEAD]), list[str]()
    for name, detail in [("one", "no SDK"), ("two", "no SDK"), ("one", "no SDK"), ("four", "four is off")]:
        status = {"component": "mcp", "name": name, "state": "error", "detail": detail}
        told += rows(teller.tell(event("status", status, delta=True)))
    assert told == [
        '  one: no SDK. Its tools are missing. To check it, run "planck mcp test one".',
        "  two: not started either, for the same reason as one.",
        '  four is off. Its tools are missing. To check it, run "planck mcp test four".',
    ]


def _message(text: str) -> SessionEvent:
    return event("message", {"from": "user", "to": "a1", "kind": "prompt", "text": text})


def test_of_a_long_message_of_the_user_both_ends_are_shown() -> None:
    """A question stands behind a stack trace that was pasted as often as before it."""
    trace = [f"  frame {number}" for number in range(40)]
    (told,) = Teller([LEAD], echoes=True).tell(_message("\n".join(["Traceback:", *trace, "why is that?"])))
    assert rows([told]) == [
        "",
        "> Traceback:",
        "      frame 0",
        "      frame 1",
        "    … 36 more lines",
        "      frame 38",
        "      frame 39",
        "    why is that?",
    ]
    assert isinstance(told, Told)
    assert "frame 20" in told.rest


def test_a_turn_that_was_stopped_for_what_was_said_in_it_is_told() -> None:
    teller = Teller([LEAD], echoes=True)
    stopped = {"status": "interrupted"}
    teller.tell(_message("steer"))
    assert teller.tell(event("turn_end", stopped)) == []
    assert rows(teller.tell(event("turn_start", {}))) == [
        "  interrupted; continuing with the messages sent since"
    ]
    assert teller.tell(event("turn_end", stopped)) == []
    teller.tell(_message("another thing"))
    assert teller.tell(event("turn_start", {})) == []
    assert teller.tell(event("turn_end", stopped)) == []
    teller.tell(event("control", {"action": "interrupt", "target": "a1", "status": "interrupted"}, None))
    assert teller.tell(event("turn_start", {})) == []  # it does not go on: it is stopped, too


def _mode(before: str, mode: str) -> SessionEvent:
    return event("mode_changed", {"before": before, "mode": mode}, None)


def test_whoever_tries_several_modes_is_told_of_one_once_something_happens() -> None:
    teller = Teller([LEAD], echoes=True)
    told = {"from": "user", "to": "a1", "kind": "response", "origin": "planck"}
    for before, mode in (("ask", "workspace"), ("workspace", "read-only"), ("read-only", "plan")):
        assert teller.tell(_mode(before, mode)) == []
        news = event("message", {**told, "text": "[planck: The user changed it: Permission mode]"})
        assert teller.tell(news) == []
    news = event("message", {**told, "text": "[planck: the user took back changes of 'a.py': read it again]"})
    assert teller.tell(news) == []
    assert teller.tell(event("message", {**told, "text": "[planck: any words]", "user_knows": True})) == []
    assert rows(teller.tell(_message("hello"))) == ["  Mode: ask → plan", "", "> hello"]
    joined = event("message", {**told, "text": "[planck: builder joined the team]"})
    assert rows(teller.tell(joined)) == ["  Message to the agents: builder joined the team"]
    assert teller.tell(_mode("plan", "ask")) == teller.tell(_mode("ask", "plan")) == []
    assert rows(teller.tell(_message("again"))) == ["", "> again"]


def test_a_long_message_of_the_user_s_is_wrapped_and_not_cut() -> None:
    (told,) = Teller([LEAD], echoes=True).tell(_message("word " * 60))
    assert isinstance(told, Told)
    assert told.wraps


def test_equal_texts_and_texts_that_are_too_long_have_no_diff() -> None:
    assert compare("a\n", "a\n", "x") == ""
    assert compare("a\n" * 300_000, "b\n" * 300_000, "x") == ""


def test_a_comparison_of_two_large_files_looks_at_what_differs() -> None:
    one = [f"line {n}" for n in range(20_000)]
    other = [*one[:10_000], "new", *one[10_001:]]
    assert compare("\n".join(one), "\n".join(other), "x").split("\n")[2:] == [
        "@@ -9999,5 +9999,5 @@",
        " line 9998",
        " line 9999",
        "-line 10000",
        "+new",
        " line 10001",
        " line 10002",
    ]


def test_a_budget_is_told_once_it_becomes_scarce() -> None:
    teller = Teller([LEAD, BUILDER])
    fact = {"account": "a2", "parent": "a1", "limit": {"usd": 0.6}, "spent": {"usd": 0.481, "tokens": 9}}
    assert teller.tell(event("budget", {**fact, "why": "spent"}, "a2")) == []
    told = rows(teller.tell(event("budget", {**fact, "why": "notice", "stops_in_s": 240.0}, "a2")))
    assert told == ["  ! budget: builder has used 80% of $0.60 ($0.48); at this rate it stops in about 4 min"]
    whole = {**fact, "account": "run", "why": "notice"}
    assert rows(teller.tell(event("budget", whole, "a2"))) == [
        "  ! budget: the run has used 80% of $0.60 ($0.48)"
    ]
    assert "one last response" in rows(teller.tell(event("budget", {**fact, "why": "last_step"}, "a2")))[0]
    (wide,) = teller.tell(event("budget", whole, "a2"))
    assert isinstance(wide, Told)
    assert wide.wraps  # when it stops is at its end
    odd: list[dict[str, Any]] = [{"limit": {"usd": 0}, "spent": {}}, {"limit": {}}, {}]
    for strange in odd:
        teller.tell(event("budget", {**strange, "account": "run", "why": "notice"}, "a2"))


def test_a_sign_of_life_is_a_line_only_where_no_row_moves() -> None:
    alive = event("status", {"component": "model", "state": "working", "detail": "still writing"}, delta=True)
    assert rows(Teller([LEAD, BUILDER], echoes=True).tell(alive)) == []
    assert rows(Teller([LEAD, BUILDER]).tell(alive)) == ["orchestrator model: still writing"]


def test_a_file_that_is_written_is_told_by_lines_each_time_it_has_doubled() -> None:
    teller, told = Teller([LEAD]), []
    for size in range(100, 3_300, 100):
        data = {"component": "model", "state": "working", "detail": "still writing", "name": "write"}
        alive = event("status", {**data, "subject": "src/x.py", "size": size}, delta=True)
        told += rows(teller.tell(alive))
    assert told == [f"  writing src/x.py · {size}" for size in ("100", "200", "400", "800", "1.6k", "3.2k")]


@pytest.mark.parametrize("after", ["++ y\n", "-- y\n", "x\n++ y\n\n", ""])
@pytest.mark.parametrize("before", ["-- x\n", "++ x\n", "-- x\n" + "same\n" * 30 + "-- z\n", "\n-- x\n"])
def test_a_line_that_looks_like_the_name_of_a_file_is_shown_and_counted(before: str, after: str) -> None:
    diff = compare(before, after, "a.sql")
    drawn = [as_text(line).strip().lstrip("0123456789").lstrip() for line in draw_diff(diff, 100)]
    removed = [f"-{row}" for row in before.splitlines() if row.startswith(("--", "++"))]
    added = [f"+{row}" for row in after.splitlines() if row.startswith(("--", "++"))]
    assert sorted(row for row in drawn if row[1:3] in ("--", "++")) == sorted([*removed, *added])
    assert not any("a.sql" in row for row in drawn)
    plus, minus = (sum(row.startswith(sign) for row in drawn) for sign in "+-")
    assert count_changes(diff) == f"+{plus} -{minus}"


def test_a_member_that_joined_is_not_told_again_as_json() -> None:
    """The event `agent_spawned` says it; the output is for the model."""
    told = call(Teller([LEAD, BUILDER]), "spawn_agent", {"name": "ann"}, '{"id":"1f8e","tools":["bash"]}')
    assert rows(told) == ["orchestrator ✓ spawn_agent ann"]
