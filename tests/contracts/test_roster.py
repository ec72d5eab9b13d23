"""One suite for every `Roster`: PostgreSQL and its twin in memory."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from typing import Any

import pytest

from planck.records.outcome import PlanckError
from planck.store.postgres.roster import PostgresRoster
from planck.store.roster import Command, NodeRow, Roster, SessionRow, TokenRow
from tests.memory_roster import MemoryRoster
from tests.postgres import run_sql

LEASE = 60.0


class Bench:
    """A roster, and a way to let time pass for it."""

    def __init__(self, roster: Roster, age: Callable[[float], None]) -> None:
        self.roster = roster
        self.age = age
        """Everything that was is so many seconds older."""

    async def join(self, name: str, instance: str = "1", **more: Any) -> NodeRow:
        node = NodeRow(name=name, instance=instance, version="1", capacity=8, **more)
        await self.roster.join(node)
        return node

    async def claim(self, node: NodeRow, *held: str, limit: int = 64, only: str = "") -> list[SessionRow]:
        return await self.roster.claim(node, held=held, limit=limit, lease_s=LEASE, version=1, only=only)

    async def submit(self, id: str, **more: Any) -> bool:
        row = SessionRow(id=id, name=f"name-{id}", project="repo", workspace={"kind": "git"}, **more)
        return await self.roster.submit(
            row, Command(id=f"c-{id}", session=id, kind="prompt", data={"text": "x"})
        )


@pytest.fixture(params=["postgres", "memory"])
async def bench(request: pytest.FixtureRequest) -> AsyncGenerator[Bench, None]:
    if request.param == "postgres":
        url = request.getfixturevalue("database")
        roster = PostgresRoster(url, lease=LEASE)
        yield Bench(roster, lambda seconds: _age(url, seconds))
        await roster.aclose()
        return
    clock = [0.0]

    def advance(seconds: float) -> None:
        clock[0] += seconds

    yield Bench(MemoryRoster(lambda: clock[0], lease=LEASE), advance)


def _age(url: str, seconds: float) -> None:
    past = f"- make_interval(secs => {seconds})"
    run_sql(url, f"UPDATE nodes SET seen = seen {past}, joined = joined {past}")


async def test_a_queued_session_is_taken_once_in_a_new_epoch(bench: Bench) -> None:
    one, other = await bench.join("one"), await bench.join("other")
    assert await bench.submit("a")
    assert not await bench.submit("a")
    taken = await asyncio.gather(bench.claim(one), bench.claim(other))
    (row,) = [row for rows in taken for row in rows]
    assert (row.id, row.epoch, row.attempts, row.state, row.workspace) == (
        "a",
        1,
        1,
        "running",
        {"kind": "git"},
    )
    assert await bench.claim(one, "a") == await bench.claim(other, "a") == []


async def test_many_nodes_share_a_queue_and_none_is_taken_twice(bench: Bench) -> None:
    nodes = [await bench.join(f"n{number}") for number in range(4)]
    for number in range(20):
        await bench.submit(f"s{number:02}")
    taken = await asyncio.gather(*(bench.claim(node, limit=5) for node in nodes))
    ids = [row.id for rows in taken for row in rows]
    assert (len(ids), len(set(ids))) == (20, 20)


async def test_a_session_needs_its_labels_and_a_node_that_knows_its_version(bench: Bench) -> None:
    plain, strong = await bench.join("plain"), await bench.join("strong", labels=("gpu", "big"))
    await bench.submit("a", needs=("gpu",))
    await bench.submit("b", version=2)
    assert await bench.claim(plain) == []
    assert [row.id for row in await bench.claim(strong)] == ["a"]


async def test_a_silent_node_loses_its_sessions_after_a_lease_and_not_before(bench: Bench) -> None:
    one, other = await bench.join("one"), await bench.join("other")
    await bench.submit("a")
    assert len(await bench.claim(one)) == 1
    assert await bench.claim(other) == []
    for _ in range(3):
        bench.age(LEASE * 0.4)
        assert await bench.roster.beat("other", "1") == "alive"
    (row,) = await bench.claim(other)
    assert (row.id, row.owner, row.epoch, row.attempts) == ("a", "other", 2, 2)


async def test_a_heartbeat_that_comes_too_late_is_told_so_once(bench: Bench) -> None:
    await bench.join("one")
    for seconds, answers in ((LEASE * 0.6, ["alive"] * 2), (LEASE * 0.7, ["lapsed", "alive"])):
        bench.age(seconds)
        assert [await bench.roster.beat("one", "1") for _ in range(2)] == answers
    await bench.roster.drain("one")
    bench.age(LEASE * 10)
    assert [await bench.roster.beat("one", "1") for _ in range(2)] == ["lapsed", "draining"]
    assert await bench.roster.beat("one", "another") == "gone"


async def test_after_a_gap_nobody_takes_over_before_it_was_heard_for_a_lease(database: str) -> None:
    roster = PostgresRoster(database, lease=LEASE)
    bench = Bench(roster, lambda seconds: _age(database, seconds))
    one, other = await bench.join("one"), await bench.join("other")
    await bench.submit("a")
    await bench.claim(one)
    bench.age(LEASE * 10)  # the database was gone; `other` is back first
    await roster.beat("other", "1")
    assert await bench.claim(other) == []
    await roster.beat("one", "1")
    for _ in range(3):
        bench.age(LEASE * 0.4)
        await roster.beat("other", "1")
        await roster.beat("one", "1")
    assert await bench.claim(other) == []
    assert [row.id for row in await bench.claim(one)] == ["a"]  # which reclaims its own
    await roster.aclose()


async def test_a_node_that_has_just_come_takes_over_nothing(bench: Bench) -> None:
    one = await bench.join("one")
    await bench.submit("a")
    await bench.claim(one)
    bench.age(LEASE * 2)
    newcomer = await bench.join("newcomer")
    assert await bench.claim(newcomer) == []


async def test_a_node_that_leaves_or_is_forgotten_leaves_its_sessions_at_once(bench: Bench) -> None:
    one, other = await bench.join("one"), await bench.join("other")
    await bench.submit("a")
    await bench.claim(one)
    await bench.roster.leave("one", "0")  # another instance's word
    assert await bench.claim(other) == []
    await bench.roster.leave("one", "1")
    assert [row.id for row in await bench.claim(other)] == ["a"]
    assert await bench.roster.forget("other")
    assert not await bench.roster.forget("other")
    assert [row.id for row in await bench.claim(await bench.join("third"))] == ["a"]


async def test_a_new_instance_has_the_name_and_takes_its_own_at_once(bench: Bench) -> None:
    old = await bench.join("one", "1")
    await bench.submit("a")
    await bench.claim(old)
    new = await bench.join("one", "2")
    assert await bench.roster.beat("one", "1") == "gone"
    assert await bench.claim(old) == []
    (row,) = await bench.claim(new)
    assert (row.id, row.epoch) == ("a", 2)
    assert not await bench.roster.release("a", 1, "idle")  # the old one's word


async def test_a_draining_node_takes_nothing_new(bench: Bench) -> None:
    one = await bench.join("one")
    await bench.submit("a")
    assert await bench.roster.drain("one")
    assert not await bench.roster.drain("nobody")
    assert await bench.roster.beat("one", "1") == "draining"
    assert await bench.claim(one) == []


async def test_a_session_at_rest_is_queued_by_a_command_and_taken_by_its_name(bench: Bench) -> None:
    one, roster = await bench.join("one"), bench.roster
    await bench.submit("a")
    (row,) = await bench.claim(one)
    await roster.drop(await roster.commands(["a"]))
    assert await roster.release("a", row.epoch, "idle")
    assert await bench.claim(one) == []
    (again,) = await bench.claim(one, only="a")
    assert again.epoch == row.epoch + 1
    await roster.release("a", again.epoch, "idle")
    command = Command(id="c2", session="a", kind="prompt", data={"text": "more"}, by="me")
    assert await roster.post(command)
    assert not await roster.post(command)
    assert not await roster.post(Command(id="c3", session="nobody", kind="stop"))
    assert [row.id for row in await bench.claim(one)] == ["a"]
    assert await roster.commands(["a", "b"]) == [command]


async def test_a_command_s_id_is_its_session_s_own(bench: Bench) -> None:
    roster = bench.roster
    for id in ("a", "b"):
        await bench.submit(id)
        assert await roster.post(Command(id="k", session=id, kind="prompt", data={"text": f"to {id}"}))
    (_, kept), (_, other) = await roster.commands(["a"]), await roster.commands(["b"])
    await roster.drop([kept])
    assert [command.id for command in await roster.commands(["a"])] == ["c-a"]
    assert other in await roster.commands(["b"])


async def test_a_command_that_came_meanwhile_queues_what_is_released(bench: Bench) -> None:
    one, roster = await bench.join("one"), bench.roster
    await bench.submit("a")
    (row,) = await bench.claim(one)
    await roster.drop(await roster.commands(["a"]))
    posts = [roster.post(Command(id=f"p{number}", session="a", kind="prompt")) for number in range(5)]
    await asyncio.gather(*posts, roster.release("a", row.epoch, "idle"))
    found = await roster.find("a")
    assert (found and found.state, found and found.owner) == ("queued", None)
    await roster.drop(await roster.commands(["a"]))
    assert await roster.commands(["a"]) == []


async def test_attempts_count_until_a_turn_ends(bench: Bench) -> None:
    await bench.submit("a")
    for attempt in (1, 2, 3):
        (row,) = await bench.claim(await bench.join("one", str(attempt)))
        assert row.attempts == attempt
    await bench.roster.reset_attempts("a", row.epoch - 1)
    await bench.roster.reset_attempts("a", row.epoch)
    (row,) = await bench.claim(await bench.join("one", "4"))
    assert row.attempts == 1


async def test_nodes_say_what_they_have(bench: Bench) -> None:
    one = await bench.join("one", labels=("gpu",), url="http://one")
    await bench.submit("a")
    await bench.claim(one)
    (row,) = await bench.roster.nodes()
    assert (row.name, row.labels, row.url, row.sessions, row.draining) == (
        "one",
        ("gpu",),
        "http://one",
        ("a",),
        False,
    )


async def test_sessions_are_listed_in_pages_and_found_by_name(bench: Bench) -> None:
    for number in range(5):
        await bench.submit(f"s{number}")
    first = await bench.roster.list_sessions(limit=3)
    rest = await bench.roster.list_sessions(limit=3, before=f"{first[-1].updated} {first[-1].id}")
    assert sorted(row.id for row in first + rest) == [f"s{number}" for number in range(5)]
    found = await bench.roster.find("name-s2")
    assert found is not None
    assert (found.id, await bench.roster.find("none")) == ("s2", None)


async def test_tokens_have_roles_until_they_are_revoked(bench: Bench) -> None:
    token = TokenRow(digest="ab" * 32, who="ci", role="submit")
    await bench.roster.add_token(token)
    assert await bench.roster.tokens() == [token]
    assert await bench.roster.revoke_token("ab" * 32)
    assert not await bench.roster.revoke_token("ab" * 32)
    assert await bench.roster.tokens() == []


async def test_whoever_waits_is_woken_by_work(bench: Bench) -> None:
    await bench.roster.wait(0)  # it listens from here on
    async with asyncio.timeout(30), asyncio.TaskGroup() as tasks:
        waiting = tasks.create_task(bench.roster.wait(3600))
        await asyncio.sleep(0)
        await bench.submit("a")
        await waiting


async def test_two_sessions_of_a_project_have_two_names(database: str) -> None:
    roster = PostgresRoster(database)
    await roster.submit(SessionRow(id="a", name="calm-fox", project="repo"), None)
    with pytest.raises(PlanckError):
        await roster.submit(SessionRow(id="b", name="calm-fox", project="repo"), None)
    await roster.aclose()


async def test_a_session_that_a_living_node_has_is_not_taken_by_its_name(bench: Bench) -> None:
    one, other = await bench.join("one"), await bench.join("other")
    await bench.submit("a")
    (row,) = await bench.claim(one)
    assert await bench.claim(other, only="a") == []
    assert await bench.claim(one, only="a") == [], "it is about to be opened there"
    found = await bench.roster.find("a")
    assert found
    assert (found.owner, found.epoch) == ("one", row.epoch)


async def test_all_nodes_know_how_many_ask_and_which_models_rest(bench: Bench) -> None:
    roster = bench.roster
    one = await bench.join("one")
    await bench.join("other")
    await roster.join(NodeRow(name="gate", instance="1", version="1", capacity=0))
    await roster.back_off("local/m", 30.0)
    await roster.back_off("local/m", 5.0)
    common = await roster.read_common(LEASE)
    assert common.nodes == 2, "a gateway asks nobody"
    assert 25.0 < common.cold["local/m"] <= 30.0, "the longest counts"
    bench.age(LEASE + 1)
    await roster.beat(one.name, one.instance)
    assert (await roster.read_common(LEASE)).nodes == 1


async def test_what_never_began_leaves_nothing_if_it_is_one_s_own(bench: Bench) -> None:
    one, two = await bench.join("one"), await bench.join("two")
    await bench.submit("a")
    assert not await bench.roster.discard("a", "one"), "nobody has it"
    await bench.claim(one)
    assert not await bench.roster.discard("a", two.name)
    assert await bench.roster.discard("a", one.name)
    assert (await bench.roster.find("a"), await bench.roster.commands(["a"])) == (None, [])
    assert not await bench.roster.discard("a", one.name)


@pytest.mark.parametrize("name", ["/../../made/x", "..", "-x", "a/b", "a\nb", "\x1b[31m", "*", "", "x" * 65])
async def test_a_session_is_not_entered_under_a_name_that_no_session_may_have(
    bench: Bench, name: str
) -> None:
    with pytest.raises(PlanckError) as refused:
        await bench.roster.submit(SessionRow(id="a", name=name, project="repo"), None)
    assert refused.value.err.kind == "invalid_args"
    assert await bench.roster.list_sessions() == []


async def test_a_name_of_several_projects_is_not_unique(bench: Bench) -> None:
    for id in ("a", "b"):
        await bench.roster.submit(SessionRow(id=id, name="deploy", project=f"repo-{id}"), None)
    with pytest.raises(PlanckError) as refused:
        await bench.roster.find("deploy")
    assert (refused.value.err.kind, sorted(refused.value.err.details["candidates"])) == (
        "not_unique",
        ["a", "b"],
    )
    assert [(row.id if (row := await bench.roster.find(id)) else "") for id in ("a", "b", "c")] == [
        "a",
        "b",
        "",
    ]
