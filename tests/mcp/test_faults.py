"""Two hundred calls while a seeded script breaks the peer in every way it can; and a missing extra."""

import asyncio
import random
import subprocess
import sys
from collections import Counter

import pytest

from planck.mcp.peer import State
from planck.records.outcome import Err, ErrorKind, Ok
from planck.toolkit.tool import Outcome
from tests.mcp.bench import WAIT, Leaping, descendants, fake

DEADLY = ("exit", "kill", "garbage", "long", "close", "hang")
HARMLESS = ("noise", "error", "shape", "silent")
ANSWERS: dict[str, set[ErrorKind | str]] = {
    "noise": {"ok"},
    "error": {ErrorKind.COMMAND_FAILED},
    "shape": {ErrorKind.PEER_PROTOCOL},
    "silent": {ErrorKind.TIMEOUT},
    "": {"ok"},
}
ALWAYS: set[ErrorKind | str] = {ErrorKind.PEER_FAILED, ErrorKind.PEER_PROTOCOL, ErrorKind.TIMEOUT}
"""What may come of any call while another one kills the peer."""


@pytest.mark.parametrize("calls", [200])
async def test_calls_under_a_seeded_fault_script_have_one_outcome_each(seed: int, calls: int) -> None:
    print("seed", seed)
    script = random.Random(seed)
    before = descendants()
    plan = [_fault(script) for _ in range(calls)]
    waiting = iter(enumerate(plan))
    outcomes: dict[int, Outcome] = {}

    async with fake(clock=Leaping(), probe_timeout=0.2) as one:
        await one.until(State.CONNECTED)

        async def worker() -> None:
            for number, fault in waiting:
                timeout = 0.3 if fault in ("hang", "silent", "close") else WAIT
                assert number not in outcomes
                outcomes[number] = await one.peer.call("echo", {"n": number, "fault": fault}, timeout=timeout)

        async with asyncio.timeout(120):
            await asyncio.gather(*(worker() for _ in range(8)))
        assert await one.peer.call("echo", {}, timeout=WAIT) == Ok({"output": "{}"})
        assert one.peer.state is State.CONNECTED
        assert one.peer.starts > 2

    assert len(outcomes) == calls
    wrong = {
        number: outcome
        for number, outcome in outcomes.items()
        if _kind(outcome) not in ALWAYS | ANSWERS.get(plan[number], set())
    }
    assert wrong == {}
    told = Counter(str(_kind(outcome)) for outcome in outcomes.values())
    assert told["ok"] > calls // 3, told
    assert all(
        outcome == Ok({"output": f'{{"n": {number}, "fault": "{plan[number]}"}}'})
        for number, outcome in outcomes.items()
        if isinstance(outcome, Ok)
    )
    assert descendants() - before == set()


def _fault(script: random.Random) -> str:
    roll = script.random()
    if roll < 0.06:
        return script.choice(DEADLY)
    return script.choice(HARMLESS) if roll < 0.2 else ""


def _kind(outcome: Outcome) -> ErrorKind | str:
    return outcome.kind if isinstance(outcome, Err) else "ok"


def test_without_the_extra_the_error_names_it() -> None:
    script = """
import asyncio, sys
sys.modules["mcp"] = None
from tests.mcp.bench import fake
from planck.mcp.peer import State
async def main():
    async with fake() as one:
        await one.until(State.ERROR)
        print(one.peer.detail)
asyncio.run(main())
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=WAIT, check=False
    )
    assert "pip install '.[mcp]'" in done.stdout, done.stderr
