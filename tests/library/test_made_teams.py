"""Teams and members that a program makes of objects."""

from pathlib import Path
from typing import Any

import pytest

from planck import Member, PlanckError, Team, tool, worker_tools
from planck.testing import ScriptedProvider
from tests.library.program import make_planck, results

SHAPE = {
    "name": "pair",
    "members": [
        {"type": "orchestrator", "system_prompt": "Lead."},
        {"type": "tester", "name": "tess", "system_prompt": "Test.", "tools": ["read"]},
    ],
}


@tool
def measure() -> str:
    """Measure."""
    return "the lead's"


def make_worker_measure() -> Any:
    @tool(name="measure")
    def worker_measure() -> str:
        return "the worker's"

    return worker_measure


def talk(request: Any, *, lead: Any, worker: Any) -> Any:
    return next(lead) if "spawn_agent" in {one.name for one in request.tools} else next(worker)


ASK = [("ask_agent", {"identifier": "tess", "identifier_type": "name", "question": "?"})]


async def test_a_team_of_objects_works_with_the_tools_of_each_member(tmp_path: Path) -> None:
    lead: Any
    worker: Any
    lead, worker = iter([[("measure", {})], ASK, "done"]), iter([[("measure", {})], "worked"])
    team = Team(
        name="pair",
        members=[
            Member(type="orchestrator", name="ada", tools=[measure, *worker_tools("any", None)]),
            Member(
                type="tester",
                name="tess",
                description="Tests.",
                system_prompt="Test.",
                tools=[make_worker_measure(), "read"],
            ),
        ],
    )
    async with make_planck(tmp_path, lambda r: talk(r, lead=lead, worker=worker)) as p:
        session = await p.start(team, mode="ask")
        result = await session.run("go")
        assert (result.text, session.orchestrator.name) == ("done", "ada")
        assert results(session)[:2] == ["the lead's", "the worker's"]
        tess = session.members[1]
        assert (tess.team, tess.system_prompt, tess.tools) == ("pair", "Test.", ("measure", "read"))


async def test_a_member_has_the_model_that_it_names(tmp_path: Path) -> None:
    other = ScriptedProvider(["worked"])
    members = [
        Member(type="orchestrator"),
        Member(type="tester", name="tess", model="other/large", opts={"temperature": 0}),
        Member(type="builder"),
    ]
    async with make_planck(tmp_path, [ASK, "done"], providers={"other": other}) as p:
        session = await p.start(Team(members=members))
        await session.run("go")
        assert [one.model.label for one in session.members] == ["double/m", "other/large", "double/m"]
        assert session.members[1].model.params == {"temperature": 0}
        assert len(other.asked) == 1


async def test_an_orchestrator_of_objects_names_its_model(tmp_path: Path) -> None:
    members = [Member(type="orchestrator", model="double/big"), Member(type="tester")]
    async with make_planck(tmp_path, []) as p:
        session = await p.start(Team(members=members))
        assert [one.model.label for one in session.members] == ["double/big"] * 2
        session = await p.start(Team(members=members), model="double/said")
        assert session.orchestrator.model.label == "double/said"


async def test_a_dict_in_the_shape_of_a_team_file_is_a_team(tmp_path: Path) -> None:
    async with make_planck(tmp_path, ["done"]) as p:
        session = await p.start(SHAPE)
        assert [(one.name, one.system_prompt) for one in session.members] == [
            ("orchestrator", "Lead."),
            ("tess", "Test."),
        ]
        assert (await session.run("go")).ok


async def test_the_path_of_a_team_file_is_a_team(tmp_path: Path) -> None:
    import json

    (tmp_path / "TEAM.json").write_text(json.dumps(SHAPE))
    async with make_planck(tmp_path, []) as p:
        for path in (tmp_path / "TEAM.json", str(tmp_path / "TEAM.json")):
            assert len((await p.start(path)).members) == 2


@pytest.mark.parametrize(
    ("team", "said"),
    [
        (Team(members=[Member(type="tester")]), "Exactly one member"),
        (Team(members=[Member(type="orchestrator"), "tester"]), "not a Member"),  # type: ignore[list-item]
        (Team(members=[Member(type="orchestrator"), Member(type="orchestrator")]), "Exactly one member"),
        (Team(members=[Member(type="orchestrator", tools=[len])]), "not a Tool"),  # type: ignore[list-item]
        (Team(members=[Member(type="orchestrator", tools="bash")]), "must be a list"),
        (Team(members=[Member(type="orchestrator", tools=None)]), "tools of .* must be a list"),  # type: ignore[arg-type]
        (Team(members=[Member(type="orchestrator", skills="review")]), "skills of .* must be a list"),
        (Team(members=[Member(type="orchestrator", opts=3)]), "must be a mapping"),  # type: ignore[arg-type]
        (Team(members=[Member(type="orchestrator"), Member(type="t", tools=["raed"])]), "'read'"),
        (Team(members=[Member(type="orchestrator"), Member(type="t", budget={"usd": -1})]), "not valid"),
        (Team(members=[Member(type="orchestrator"), Member(type="t", workspace="mine")]), "'shared'"),
        (Team(members=[Member(type="orchestrator"), Member(type="t", model="x/y")]), "Unknown provider"),
        ({"members": [{"type": "orchestrator", "tool": []}]}, "'tools'"),
        ({"members": [{"type": "orchestrator"}], "nme": "x"}, "'name'"),
        ({"members": 3}, "not valid"),
        ({}, "not valid"),
        (3, "team must be"),
    ],
)
async def test_a_team_that_cannot_start_is_an_error_at_once(tmp_path: Path, team: Any, said: str) -> None:
    async with make_planck(tmp_path, []) as p:
        with pytest.raises(PlanckError, match=said):
            await p.start(team)
        assert list(p.archive.sessions()) == []


async def test_a_tool_of_a_member_may_not_hide_a_built_in_one(tmp_path: Path) -> None:
    @tool(name="bash")
    def mine() -> str:
        return ""

    members = [Member(type="orchestrator"), Member(type="t", tools=[mine])]
    async with make_planck(tmp_path, []) as p:
        with pytest.raises(PlanckError) as refused:
            await p.start(Team(members=members))
        assert refused.value.err.kind == "not_unique"


async def test_a_spawned_member_joins_the_team_and_works(tmp_path: Path) -> None:
    lead: Any
    worker: Any
    lead, worker = iter(["first", ASK, "done"]), iter([[("measure", {})], "worked", "alone"])
    async with make_planck(tmp_path, lambda r: talk(r, lead=lead, worker=worker)) as p:
        session = await p.start(mode="ask")
        await session.run("go")
        tess = await session.spawn(
            Member(type="tester", name="tess", system_prompt="Test.", tools=[make_worker_measure()])
        )
        assert tess in session.members
        assert tess.delegator_id == session.orchestrator.id
        result = await session.run("go")
        assert result.text == "done"
        assert results(session)[0] == "the worker's"
        await session.prompt("by yourself", agent="tess")
        await session.settled()
        assert [agent.name for agent in session.result(0).agents] == ["orchestrator", "tess"]


async def test_a_spawned_member_is_there_after_a_resume(tmp_path: Path) -> None:
    async with make_planck(tmp_path, ["one", "two"]) as p:
        session = await p.start(name="mine")
        await session.spawn(Member(type="tester", name="tess"))
        await session.aclose()
        session = await p.resume("mine")
        assert [one.name for one in session.members] == ["orchestrator", "tess"]


@pytest.mark.parametrize(
    ("member", "kind"),
    [
        (Member(type="tester", name="tess"), "not_unique"),
        (Member(type="other", name="TESS"), "not_unique"),
        (Member(type="orchestrator"), "invalid_args"),
        (Member(type="user"), "invalid_args"),
        (Member(type="x" * 65), "invalid_args"),
        (Member(type="x", tools=["raed"]), "not_found"),
        ("x", "invalid_args"),
    ],
)
async def test_a_member_that_cannot_join_is_an_error(tmp_path: Path, member: Any, kind: str) -> None:
    async with make_planck(tmp_path, []) as p:
        session = await p.start()
        await session.spawn(Member(type="tester", name="tess"))
        before = session.head
        with pytest.raises(PlanckError) as refused:
            await session.spawn(member)
        assert refused.value.err.kind == kind
        assert (session.head, len(session.members)) == (before, 2)


async def test_no_more_members_can_be_spawned_than_the_limits_allow(tmp_path: Path) -> None:
    async with make_planck(tmp_path, [], flags={"limits": {"live_agents": 2}}) as p:
        session = await p.start()
        await session.spawn(Member(type="a"))
        with pytest.raises(PlanckError) as refused:
            await session.spawn(Member(type="b"))
        assert refused.value.err.kind == "limit_exceeded"


async def test_a_spawned_member_has_the_budget_that_it_is_given(tmp_path: Path) -> None:
    lead: Any
    worker: Any
    lead, worker = iter([ASK, "done"]), iter([[("list_dir", {})], [("list_dir", {"path": "."})], "worked"])
    async with make_planck(tmp_path, lambda r: talk(r, lead=lead, worker=worker)) as p:
        session = await p.start()
        await session.spawn(
            Member(type="tester", name="tess", tools=["list_dir"], budget={"steps": 2}, compactor="off")
        )
        await session.run("go")
        assert results(session)[-1].startswith("budget_exceeded") or "budget" in results(session)[-1]


def test_a_team_is_taken_by_run(tmp_path: Path) -> None:
    import planck

    (tmp_path / "work").mkdir()
    result = planck.run(
        "go",
        home=tmp_path / "home",
        workspace=tmp_path / "work",
        environ={},
        providers={"double": ScriptedProvider(["done"])},
        team=Team(members=[Member(type="orchestrator", model="double/m")]),
    )
    assert result.ok
