"""The peer attacks E1-E12 of the security page: each call resolves by its deadline, the runtime goes on."""

import asyncio
import json
import re
import tempfile
from pathlib import Path
from typing import Any
from unittest.mock import ANY

import pytest
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCRequest, JSONRPCResponse

from planck.mcp.guard import MAX_OPEN, PeerLimits
from planck.mcp.listing import MAX_DESCRIPTION, MAX_NAME, MAX_TOOLS, MAX_TOTAL
from planck.mcp.peer import State
from planck.records import codec
from planck.records.messages import Image
from planck.records.outcome import Err, ErrorKind, Ok
from tests.command import until
from tests.mcp.bench import Leaping, Watched, descendants, fake, names
from tests.memory import growth

ECHO = Ok({"output": '{"n": 1}'})


async def test_e1_a_banner_on_stdout_is_counted_and_skipped() -> None:
    async with fake("banner") as one:
        await one.until(State.CONNECTED)
        assert await one.peer.call("echo", {"n": 1}, timeout=5) == ECHO


async def test_e1_twenty_bad_lines_end_the_connection_as_a_protocol_error() -> None:
    async with fake("garbage-at-call") as one:
        await one.until(State.CONNECTED)
        outcome = await one.peer.call("echo", {}, timeout=5)
        assert outcome == Err(ErrorKind.PEER_PROTOCOL, ANY)
        assert "20 lines that are not JSON-RPC" in outcome.message


@pytest.mark.parametrize("behaviour", ["endless-at-call", "long-at-call"])
async def test_e2_a_line_without_end_closes_the_connection_in_bounded_memory(behaviour: str) -> None:
    async with fake(behaviour) as one:
        await one.until(State.CONNECTED)
        grown = growth()
        outcome = await one.peer.call("echo", {}, timeout=20)
        assert outcome == Err(ErrorKind.PEER_PROTOCOL, ANY)
        assert grown() < 32 << 10


@pytest.mark.parametrize("phase", ["start", "initialize", "list"])
async def test_e3_a_start_that_hangs_has_a_deadline(phase: str) -> None:
    async with fake(f"hang-at-{phase}", start_timeout=0.4, clock=Leaping()) as one:
        call = asyncio.create_task(one.peer.call("echo", {}, timeout=0.2))
        assert await call == Err(ErrorKind.TIMEOUT, ANY, ANY)
        await one.until(State.DISCONNECTED)
        assert "did not start within 0.4 s" in one.details[one.states.index(State.DISCONNECTED)]


@pytest.mark.parametrize("behaviour", ["hang-at-call", "stop-at-call"])
async def test_e3_a_call_that_hangs_resolves_by_its_deadline_and_the_peer_is_replaced(behaviour: str) -> None:
    async with fake(behaviour) as one:
        await one.until(State.CONNECTED)
        outcome = await one.peer.call("echo", {}, timeout=0.2)
        assert outcome == Err(ErrorKind.TIMEOUT, ANY, {"timeout_ms": 200, "output": ""})
        await one.until(State.DISCONNECTED)
        assert "did not respond within" in one.details[one.states.index(State.DISCONNECTED)]
        await one.until(State.CONNECTED, 2)


async def test_e3_a_peer_that_reads_nothing_does_not_block_the_loop() -> None:
    async with fake("stop-reading") as one:
        await one.until(State.CONNECTED)
        assert await one.peer.call("echo", {"n": 1}, timeout=5) == ECHO
        big = {"text": "x" * (1 << 20)}  # more than a pipe holds
        outcomes = await asyncio.gather(*(one.peer.call("echo", big, timeout=0.3) for _ in range(5)))
        assert outcomes == [Err(ErrorKind.TIMEOUT, ANY, ANY)] * 5


@pytest.mark.parametrize("behaviour", ["exit-at-call", "exit0-at-call", "close-at-call"])
async def test_e4_a_crash_fails_each_call_in_flight_once_and_the_tools_return(behaviour: str) -> None:
    async with fake(behaviour, clock=Leaping()) as one:
        await one.until(State.CONNECTED)
        calls = [one.peer.call(name, {}, timeout=20) for name in ("quiet", "echo")]
        assert await asyncio.gather(*calls) == [Err(ErrorKind.PEER_FAILED, ANY)] * 2
        await one.until(State.CONNECTED, 2)
        assert [len(listing.tools) for listing in one.listings] == [2, 0, 2]


@pytest.mark.parametrize("phase", ["start", "initialize", "list"])
async def test_e4_a_peer_that_dies_at_each_step_is_started_three_times_more_then_given_up(phase: str) -> None:
    async with fake(f"exit-at-{phase}") as one:
        await one.until(State.ERROR)
        assert one.states.count(State.STARTING) == 4
        assert "exit code 1" in one.peer.detail
        assert "gave up after 3 restarts" in one.peer.detail
        assert await one.peer.call("echo", {}, timeout=5) == Err(ErrorKind.PEER_FAILED, one.peer.detail)


async def test_e5_answers_with_a_wrong_late_doubled_or_mistyped_id_are_dropped() -> None:
    async with fake("wrong-id", "twice") as one:
        await one.until(State.CONNECTED)
        for n in range(5):
            assert await one.peer.call("echo", {"n": n}, timeout=5) == Ok({"output": f'{{"n": {n}}}'})


async def test_e5_a_result_of_a_wrong_shape_is_a_protocol_error() -> None:
    async with fake("no-result") as one:
        await one.until(State.CONNECTED)
        assert await one.peer.call("echo", {}, timeout=5) == Err(ErrorKind.PEER_PROTOCOL, ANY)


async def test_e5_the_general_error_of_a_server_is_no_closed_connection() -> None:
    async with fake() as one:
        await one.until(State.CONNECTED)
        refused = await one.peer.call("echo", {"fault": "error"}, timeout=5)
        assert refused == Err(ErrorKind.COMMAND_FAILED, "no", {"code": -32000})
        assert await one.peer.call("echo", {"n": 1}, timeout=5) == ECHO
        assert one.peer.starts == 1


async def test_e6_sampling_and_roots_are_refused_a_question_is_declined_and_the_call_goes_on() -> None:
    async with fake("ask-us") as one:
        await one.until(State.CONNECTED)
        assert await one.peer.call("echo", {"n": 1}, timeout=5) == ECHO
        answers: dict[str, Any] = {}
        while len(answers) < 3:
            answers |= {message["id"]: message for message in await heard(one) if "id" in message}
        assert answers.pop("s1")["result"] == {"action": "decline"}
        # -32600: understood, and refused; a question of a wrong shape would be told so, with -32602.
        assert {id: answer["error"]["code"] for id, answer in answers.items()} == dict.fromkeys(
            ("s0", "s2"), -32600
        )
        assert all("result" not in answer for answer in answers.values())


def test_e6_of_many_questions_in_one_answer_the_first_few_are_heard() -> None:
    guard = PeerLimits(asyncio.Event())
    guard.note_sent(SessionMessage(JSONRPCRequest(jsonrpc="2.0", id=1, method="tools/call", params={})))
    question = {"method": "elicitation/create", "params": {"message": "?", "requestedSchema": {}}}
    result = {"resultType": "input_required", "inputRequests": {str(n): question for n in range(50_000)}}
    answer = JSONRPCResponse(jsonrpc="2.0", id=1, result=result)
    guard.admit(SessionMessage(answer))
    assert list(answer.result["inputRequests"]) == [str(n) for n in range(MAX_OPEN)]


async def test_e7_ten_thousand_tools_are_cut_at_the_limit() -> None:
    async with fake("many") as one:
        await one.until(State.CONNECTED)
        assert len(one.listings[0].tools) == MAX_TOOLS
        assert f"only the first {MAX_TOOLS} tools" in one.peer.detail


async def test_e7_names_and_descriptions_are_made_safe() -> None:
    async with fake("strange-names") as one:
        await one.until(State.CONNECTED)
        listing = one.listings[0]
        assert all(re.fullmatch(r"mcp__fake__[A-Za-z0-9_-]+", name) for name in names(listing))
        assert all(len(name) <= MAX_NAME for name in names(listing))
        assert len(set(names(listing))) == len(listing.tools) == 7
        described = {listed.name: listed.spec.description for listed in listing.tools}
        assert len(described["big"]) == MAX_DESCRIPTION
        assert described["hidden"] == "visible text"
        assert len(listing.problems) == 2  # `a_b` clashes with `a b`; `heavy` is too large


async def test_e7_what_is_no_tool_is_left_out_and_the_rest_is_taken() -> None:
    async with fake("odd-tools") as one:
        await one.until(State.CONNECTED)
        assert names(one.listings[0]) == ["mcp__fake__echo", "mcp__fake__untyped", "mcp__fake__ref"]
        assert one.listings[0].tools[1].spec.parameters == {"type": "object", "properties": {"x": True}}
        told = [problem.split(":")[0] for problem in one.listings[0].problems]
        assert told == [
            "tool 1 is omitted",
            "'bare' is omitted",
            "tool 3 is omitted",
            "'text' is omitted",
            "'remote' is omitted",  # nothing is fetched, so what it means can't be known
            "'list' is omitted",
            "'nonsense' is omitted",
        ]
        assert await one.peer.call("echo", {"n": 1}, timeout=5) == ECHO


async def test_e7_all_tools_of_a_server_together_are_bounded() -> None:
    async with fake("heavy") as one:
        await one.until(State.CONNECTED)
        assert sum(len(codec.encode(listed.spec)) for listed in one.listings[0].tools) <= MAX_TOTAL
        assert "bytes of tool definitions" in one.peer.detail


@pytest.mark.parametrize("flood", ["flood-changes", "flood-asks"])
async def test_e7_a_flood_of_notices_or_requests_starts_no_flood_of_work(flood: str) -> None:
    async with fake(flood) as one:
        await one.until(State.CONNECTED)
        idle = len(asyncio.all_tasks())
        call = asyncio.create_task(one.peer.call("count", {}, timeout=20))
        most = 0
        while not call.done():
            most = max(most, len(asyncio.all_tasks()))
            await asyncio.sleep(0)
        outcome = await call
        assert isinstance(outcome, Ok)
        assert int(outcome.value["output"]) <= 5  # lists that it was asked for
        assert most - idle < 40
        assert await one.peer.call("echo", {"n": 1}, timeout=5) == ECHO


async def test_e5_too_many_parts_are_cut_and_odd_ones_named() -> None:
    async with fake("many-parts") as one:
        await one.until(State.CONNECTED)
        outcome = await one.peer.call("echo", {}, timeout=20)
        assert isinstance(outcome, Ok)
        assert outcome.value["output"] == "p\n" * 1000 + "[49000 more parts omitted]"
    async with fake("odd-parts") as one:
        await one.until(State.CONNECTED)
        outcome = await one.peer.call("echo", {}, timeout=20)
        assert isinstance(outcome, Ok)
        # An image that is none would make a vendor refuse every later request.
        assert outcome.value["images"] == (Image("image/png", "iVBORw0KGgo="),)
        assert outcome.value["output"].split("\n") == [
            "[image/png, 11 bytes as base64, not shown]",
            "[image/png, 8 bytes as base64, not shown]",
            "[unsupported content of type 'hologram']",
            "[unsupported content]",
            "and a text",
        ]


async def test_e9_what_a_server_starts_in_the_background_dies_with_it(tmp_path: Path) -> None:
    before = descendants()
    async with fake() as one:
        await one.until(State.CONNECTED)
        await one.peer.call("daemon", {"mark": str(tmp_path / "alive")}, timeout=5)
        await until(tmp_path / "alive")
        assert len(descendants() - before) >= 3
    assert descendants() - before == set()


async def test_e10_a_restart_storm_ends_in_bounds_and_leaves_no_process() -> None:
    before = descendants()
    async with fake("exit-at-call") as one:
        failed = 0
        while one.peer.state is not State.ERROR:
            outcome = await one.peer.call("echo", {}, timeout=20)
            assert outcome == Err(ErrorKind.PEER_FAILED, ANY)
            failed += 1
            if failed == 4:
                await one.until(State.ERROR)
        assert failed == 4
    assert descendants() - before == set()


async def test_e11_nobody_else_can_speak_in_a_peer_s_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There is no socket, and the pipe has no name any more once the peer has opened it."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    async with fake() as one:
        await one.until(State.CONNECTED)
        (mine,) = tmp_path.glob("planck-peer-*")
        assert mine.stat().st_mode & 0o777 == 0o700
        assert list(mine.iterdir()) == []
    assert list(tmp_path.iterdir()) == []


def test_e12_nothing_of_ours_unpickles_or_evaluates() -> None:
    source = Path(__file__).parents[2] / "src" / "planck"
    banned = re.compile(r"\bimport (pickle|marshal|shelve|dill)\b|\byaml\.load\b|(?<![\w.-])(eval|exec)\(")
    found = [
        f"{path.relative_to(source)}:{number}"
        for path in sorted(source.rglob("*.py"))
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if banned.search(line)
    ]
    assert found == []


async def test_cancelling_a_call_tells_the_peer_and_the_next_call_works(tmp_path: Path) -> None:
    async with fake() as one:
        await one.until(State.CONNECTED)
        arguments = {"mark": str(tmp_path / "asked")}
        call = asyncio.create_task(one.peer.call("quiet", arguments, timeout=20))
        await until(tmp_path / "asked")
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        assert await one.peer.call("echo", {"n": 1}, timeout=5) == ECHO
        (cancelled,) = [m for m in await heard(one) if m["method"] == "notifications/cancelled"]
        assert cancelled["params"]["requestId"] == int((tmp_path / "asked").read_text())


async def test_progress_reaches_the_caller_and_the_partial_output_of_a_timeout() -> None:
    said: list[str] = []
    async with fake() as one:
        await one.until(State.CONNECTED)
        await one.peer.call("progress", {}, timeout=5, progress=said.append)
        assert said == ["0", "1", "2"]
        outcome = await one.peer.call("progress", {"then": "nothing"}, timeout=1, progress=said.append)
    assert outcome == Err(ErrorKind.TIMEOUT, ANY, {"timeout_ms": 1000, "output": "012"})
    assert said == ["0", "1", "2"] * 2


async def heard(one: Watched) -> list[dict[str, Any]]:
    """What the fake got from us beside its calls, in order."""
    outcome = await one.peer.call("heard", {}, timeout=5)
    assert isinstance(outcome, Ok)
    messages: list[dict[str, Any]] = json.loads(outcome.value["output"])
    return messages
