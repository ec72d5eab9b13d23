"""A child that keeps to nothing, where a sidecar should be: each call has one outcome, by its deadline."""

import asyncio
import json
import random
import sys
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any
from unittest.mock import ANY

import pytest

from planck.mcp.peer import State
from planck.mcp.transport import Launch, Link, open_process
from planck.records.outcome import Err, ErrorKind, Ok
from planck.toolkit.tool import Outcome
from tests.mcp.bench import WAIT, FakeLaunch, Leaping, Watched, descendants, names, watched
from tests.memory import growth

CHILD = Path(__file__).parent / "hostile_child.py"


class HostileLaunch(Launch):
    ours = True
    kind = "sidecar"
    probe_timeout = 0.3

    def open(self) -> AbstractAsyncContextManager[Link]:
        argv = (sys.executable, "-S", "-E", str(CHILD))
        return open_process(argv, cwd=Path("/"), environment={"PATH": "/usr/bin:/bin"})


class OwnFake(FakeLaunch):
    """The hostile server of the attacks on the SDK's client, spoken to as a sidecar is."""

    ours = True
    kind = "sidecar"


def hostile(**options: Any) -> AbstractAsyncContextManager[Watched]:
    return watched("hostile", HostileLaunch(), clock=Leaping(), **options)


def fake(*behaviours: str, limit: float = 10.0, **options: Any) -> AbstractAsyncContextManager[Watched]:
    return watched("fake", OwnFake(*behaviours, start_timeout=limit), **options)


@pytest.mark.parametrize(
    ("does", "kind", "says"),
    [
        ("garbage", ErrorKind.PEER_PROTOCOL, "20 lines that are not JSON-RPC"),
        ("giant", ErrorKind.PEER_PROTOCOL, "a line longer than 8388608 bytes"),
        ("half", ErrorKind.PEER_FAILED, "exit code 3"),
        ("exit", ErrorKind.PEER_FAILED, "exit code 7"),
        ("close", ErrorKind.PEER_FAILED, "closed its output"),
        ("flood", ErrorKind.TIMEOUT, "within 0.5 s"),
        ("ask", ErrorKind.TIMEOUT, "within 0.5 s"),
        ("deaf", ErrorKind.TIMEOUT, "within 0.5 s"),
    ],
)
async def test_a_child_that_breaks_the_protocol_fails_its_calls_once_and_is_replaced(
    does: str, kind: ErrorKind, says: str
) -> None:
    before = descendants()
    async with hostile() as one:
        await one.until(State.CONNECTED)
        grown = growth()
        timeout = 0.5 if kind is ErrorKind.TIMEOUT else WAIT
        waits = asyncio.create_task(one.peer.call("late", {}, timeout=WAIT))
        outcome = await one.peer.call(does, {}, timeout=timeout)
        assert isinstance(outcome, Err)
        assert (outcome.kind, says in outcome.message) == (kind, True), outcome
        also = await waits
        assert isinstance(also, Err)
        assert also.kind in (ErrorKind.PEER_FAILED, ErrorKind.PEER_PROTOCOL)
        await one.until(State.CONNECTED, 2)
        assert await one.peer.call("echo", {"n": 1}, timeout=WAIT) == Ok({"output": '{"n": 1}'})
        assert one.peer.starts == 2
        assert grown() < 32 << 10
    assert descendants() - before == set()


@pytest.mark.parametrize(
    ("does", "outcome"),
    [
        ("odd", Ok({"output": "yours"})),
        ("shape", Err(ErrorKind.PEER_PROTOCOL, ANY)),
        ("nothing", Err(ErrorKind.PEER_PROTOCOL, ANY)),
        ("error", Err(ErrorKind.COMMAND_FAILED, "no", {"code": -32000})),
        ("kind", Err(ErrorKind.PEER_PROTOCOL, "a kind of its own")),
    ],
)
async def test_an_answer_out_of_form_is_one_calls_failure_and_others_are_dropped(
    does: str, outcome: Outcome
) -> None:
    async with hostile() as one:
        await one.until(State.CONNECTED)
        assert await one.peer.call(does, {}, timeout=WAIT) == outcome
        assert await one.peer.call("echo", {"n": 1}, timeout=WAIT) == Ok({"output": '{"n": 1}'})
        assert one.peer.starts == 1


async def test_a_call_past_its_deadline_is_cancelled_there_and_its_late_answer_is_dropped() -> None:
    async with hostile() as one:
        await one.until(State.CONNECTED)
        late = await one.peer.call("late", {}, timeout=0.2)
        assert late == Err(ErrorKind.TIMEOUT, ANY, {"timeout_ms": 200, "output": ""})
        assert await one.peer.call("echo", {"n": 2}, timeout=WAIT) == Ok({"output": '{"n": 2}'})
        heard = await _heard(one)
        assert heard["cancelled"] == heard["late"]
        assert one.peer.starts == 1


async def test_a_caller_that_stops_waiting_cancels_the_call_in_the_child() -> None:
    async with hostile() as one:
        await one.until(State.CONNECTED)
        call = asyncio.create_task(one.peer.call("late", {}, timeout=WAIT))
        async with asyncio.timeout(WAIT):
            while not (await _heard(one))["late"]:
                pass
            call.cancel()
            with pytest.raises(asyncio.CancelledError):
                await call
            while not (heard := await _heard(one))["cancelled"]:
                pass
        assert heard["cancelled"] == heard["late"]
        assert one.peer.starts == 1


async def test_tools_that_change_with_every_call_are_listed_again_and_not_once_for_each_notice() -> None:
    async with hostile() as one:
        await one.until(State.CONNECTED)
        for _ in range(100):
            await one.peer.call("changes", {}, timeout=WAIT)
        await one.until_listed(2)
        assert names(one.listings[-1])[-1] != names(one.listings[0])[-1]
        assert (await _heard(one))["listed"] < 50


async def test_many_calls_at_once_are_all_answered_in_their_own_place() -> None:
    async with hostile() as one:
        await one.until(State.CONNECTED)
        calls = [one.peer.call("echo", {"n": n, "pad": "x" * 1000}, timeout=WAIT) for n in range(1000)]
        outcomes = await asyncio.gather(*calls)
        told = [json.loads(one.value["output"])["n"] for one in outcomes if isinstance(one, Ok)]
        assert told == list(range(1000))


QUICK = {("exit", "list"), ("garbage", "start"), ("long", "initialize")}


@pytest.mark.parametrize(
    ("does", "phase"),
    [
        pytest.param(does, phase, marks=[] if (does, phase) in QUICK else [pytest.mark.heavy])
        for does in ("exit", "hang", "garbage", "long")
        for phase in ("start", "initialize", "list")
    ],
)
async def test_a_child_that_fails_at_any_step_of_its_start_is_given_up_with_the_reason(
    does: str, phase: str
) -> None:
    before = descendants()
    limit = 0.4 if does == "hang" else 10.0
    reasons = {"exit": "exit code 1", "hang": "did not start within 0.4 s", "garbage": "not JSON-RPC"}
    async with fake(f"{does}-at-{phase}", limit=limit) as one:
        await one.until(State.ERROR)
        assert one.states.count(State.STARTING) == 4
        assert reasons.get(does, "a line longer than") in one.peer.detail
        assert "gave up after 3 restarts" in one.peer.detail
    assert descendants() - before == set()


async def test_requests_of_a_child_are_refused_and_start_no_flood_of_work() -> None:
    async with fake("ask-us", "flood-asks", "flood-changes") as one:
        await one.until(State.CONNECTED)
        idle = len(asyncio.all_tasks())
        call = asyncio.create_task(one.peer.call("count", {}, timeout=WAIT))
        most = 0
        while not call.done():
            most = max(most, len(asyncio.all_tasks()))
            await asyncio.sleep(0)
        assert isinstance(await call, Ok)
        assert most - idle < 40
        assert await one.peer.call("echo", {"n": 1}, timeout=WAIT) == Ok({"output": '{"n": 1}'})
        answers: Sequence[Any] = []
        while not answers:
            outcome = await one.peer.call("heard", {}, timeout=WAIT)
            assert isinstance(outcome, Ok)
            answers = [m for m in json.loads(outcome.value["output"]) if "error" in m]
        assert {answer["error"]["code"] for answer in answers} <= {-32601, -32603}


FAULTS = ("exit", "kill", "garbage", "long", "close", "hang", "noise", "error", "shape", "silent")


async def test_calls_under_a_seeded_fault_script_have_one_outcome_each(seed: int) -> None:
    print("seed", seed)
    script = random.Random(seed)
    before = descendants()
    plan = [script.choice(FAULTS) if script.random() < 0.12 else "" for _ in range(100)]
    waiting = iter(enumerate(plan))
    outcomes: dict[int, Outcome] = {}
    async with fake(clock=Leaping()) as one:
        await one.until(State.CONNECTED)

        async def work() -> None:
            for number, fault in waiting:
                timeout = 0.3 if fault in ("hang", "silent", "close") else WAIT
                outcomes[number] = await one.peer.call("echo", {"n": number, "fault": fault}, timeout=timeout)

        async with asyncio.timeout(120):
            await asyncio.gather(*(work() for _ in range(8)))
        assert await one.peer.call("echo", {}, timeout=WAIT) == Ok({"output": "{}"})
    assert len(outcomes) == len(plan)
    expected = {
        number: Ok({"output": f'{{"n": {number}, "fault": "{plan[number]}"}}'})
        for number, outcome in outcomes.items()
        if isinstance(outcome, Ok)
    }
    assert {number: outcomes[number] for number in expected} == expected
    assert len(expected) > len(plan) // 3
    assert descendants() - before == set()


async def _heard(one: Watched) -> dict[str, Any]:
    outcome = await one.peer.call("heard", {}, timeout=WAIT)
    assert isinstance(outcome, Ok)
    return dict(json.loads(outcome.value["output"]))
