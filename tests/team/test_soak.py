"""Many agents and many messages with random destroys: none lost, none doubled, order kept, nothing left."""

import asyncio
import random
from collections import Counter, defaultdict

import pytest

from planck.llm.provider import Request
from planck.records.events import Delivery, Envelope, Kind
from planck.records.specs import Limits
from tests.teams import Crew
from tests.virtual_time import run_virtual

_MANY = 1_000_000
PLENTY = Limits(live_agents=_MANY, total_agents=_MANY, inbox=_MANY, messages=_MANY, hops=_MANY, steps=_MANY)


def test_a_hundred_agents_and_two_thousand_messages() -> None:
    run_virtual(_storm(agents=100, messages=1_000, seed=11), seed=11)


@pytest.mark.soak
def test_two_hundred_agents_and_twenty_thousand_messages() -> None:
    run_virtual(_storm(agents=200, messages=10_000, seed=11), seed=11)


@pytest.mark.soak
def test_a_thousand_agents_and_two_hundred_thousand_messages() -> None:
    run_virtual(_storm(agents=1_000, messages=100_000, seed=12), seed=12)


async def _storm(agents: int, messages: int, seed: int) -> None:
    """Every message is a task, and every task has a response: twice as many envelopes as messages."""
    choose = random.Random(seed)
    print(f"seed {seed}")

    async def script(request: Request) -> str:
        await asyncio.sleep(choose.random())
        return "done"

    names = [f"w{n}" for n in range(agents)]
    crew = Crew(script, *names, limits=PLENTY)
    await crew.start()
    lead = crew.team.orchestrator
    sent: Counter[str] = Counter()
    for number in range(messages):
        live = crew.team.members[1:]
        target = choose.choice(live)
        assert isinstance(await crew.team.mail.delegate(lead, target, str(number)), str)
        sent[target.id] += 1
        if number % (messages // (agents // 2)) == 0 and len(live) > agents // 2:
            await crew.team.destroy(choose.choice(live), "was destroyed")
        if number % 50 == 0:
            await asyncio.sleep(choose.random())
    await crew.team.wait_until_settled()
    _none_lost_none_doubled(crew, messages)
    assert not crew.team.mail.asks
    assert not crew.team.mail.sent.tasks
    await crew.aclose()
    assert asyncio.all_tasks() == {asyncio.current_task()}


def _none_lost_none_doubled(crew: Crew, messages: int) -> None:
    tasks: dict[str, Envelope] = {}
    responses: Counter[str | None] = Counter()
    delivered: Counter[str] = Counter()
    order: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
    for fact in crew.recorded():
        match fact:
            case Envelope(kind=Kind.TASK):
                tasks[fact.id] = fact
            case Envelope(kind=Kind.RESPONSE, correlation_id=str()):  # the others tell who came and went
                responses[fact.correlation_id] += 1
            case Delivery(state="delivered"):
                delivered.update(fact.ids)
                for id in fact.ids:
                    if id in tasks:
                        task = tasks[id]
                        order[task.sender, task.receiver].append(int(task.text))
    assert len(tasks) == messages
    assert responses == Counter(dict.fromkeys(tasks, 1)), "each task reports exactly once"
    assert set(delivered.values()) == {1}, "nothing is consumed twice"
    for pair, numbers in order.items():
        assert numbers == sorted(numbers), f"order of {pair}"
