"""Three nodes on links that are cut, a PostgreSQL that crashes: nothing is lost, and nothing done twice."""

import dataclasses
import json
from pathlib import Path

import pytest

from tests.pool.links import have_namespaces
from tests.pool.ring import BEAT, KINDS, LEASE, Round, play

needs_namespaces = pytest.mark.skipif(not have_namespaces(), reason="network namespaces take root")


def tell(done: Round) -> None:
    print(json.dumps(dataclasses.asdict(done)))


@pytest.mark.heavy
@needs_namespaces
async def test_a_cut_link_a_gap_and_a_new_primary_lose_nothing_and_repeat_nothing(tmp_path: Path) -> None:
    rounds = await play(tmp_path, ("cut", "long gap", "failover"), 7, tell)
    assert [(done.kind, done.wrong) for done in rounds] == [(done.kind, []) for done in rounds]
    assert rounds[0].at_risk
    assert rounds[0].moved == rounds[0].at_risk, "others went on with what was cut off"
    assert not rounds[1].moved, "after a gap each takes up its own"
    assert all(done.copies for done in rounds)


@pytest.mark.soak
@needs_namespaces
async def test_fifty_rounds_with_a_hundred_sessions(tmp_path: Path) -> None:
    kinds = tuple(KINDS[number % len(KINDS)] for number in range(50))
    rounds = await play(tmp_path, kinds, 100, tell, delay=4.0)
    assert [done.wrong for done in rounds if done.wrong] == []
    taken = [done.takeover_s for done in rounds if done.kind in ("kill", "cut", "stop")]
    assert max(taken) <= LEASE + BEAT
