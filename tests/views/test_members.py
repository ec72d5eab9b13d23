"""`workspace` of members and of `spawn_agent`: what it means, what it never gives, and what can't have it."""

import json
import os
import time
from pathlib import Path

import pytest

from planck import PlanckError
from planck.headless.services.doctor import _check_views
from planck.records.authority import Mode
from planck.records.events import ViewOpened
from planck.records.outcome import ErrorKind
from planck.records.specs import RunOptions
from planck.workspace.views.housekeeping import clean_up, survey
from tests.library.program import results
from tests.views.place import ASK_BEN, Place, facts, make_team, opened, read_tree

SPAWN = {"type": "b", "name": "ben", "description": "d", "system_prompt": "p", "tools": ["write", "bash"]}


async def test_a_team_file_gives_a_member_its_own_workspace(tmp_path: Path) -> None:
    place = Place(tmp_path)
    team = tmp_path / "TEAM.json"
    members = [{"type": "orchestrator"}, {"type": "b", "name": "ben", "workspace": "own", "tools": ["write"]}]
    team.write_text(json.dumps({"name": "pair", "members": members}))
    ben = [[("write", {"path": "x.txt", "content": "1"})], "done"]
    async with place.open([ASK_BEN, "over"], ben) as planck:
        session = await planck.start(str(team), mode="full")
        await session.run("go")
        assert [fact.agent_id for fact in facts(session, ViewOpened)] == [session.members[1].id]
        assert not (place.work / "x.txt").exists()
        base = session.members[1].base
        assert "This is your own view of the workspace" in base
        assert "Others work in the same folder" not in base


async def test_a_spawned_agent_can_have_its_own_workspace(tmp_path: Path) -> None:
    place = Place(tmp_path)
    ben = [[("bash", {"command": "echo 1 > x.txt; cat x.txt"})], "done"]
    lead = [[("spawn_agent", {**SPAWN, "workspace": "own"})], ASK_BEN, "over"]
    async with place.open(lead, ben) as planck:
        session = await planck.start(mode="full")
        await session.run("go")
        assert json.loads(results(session)[0])["workspace"] == "own"
        assert results(session)[1] == "1\n"
        assert session.members[1].workspace == "own"
        assert len(facts(session, ViewOpened)) == 1
    assert not (place.work / "x.txt").exists()


async def test_another_word_for_the_workspace_is_refused(tmp_path: Path) -> None:
    place = Place(tmp_path)
    async with place.open([[("spawn_agent", {**SPAWN, "workspace": "mine"})], "over"], []) as planck:
        with pytest.raises(PlanckError, match="workspace of 'ben' must be 'shared' or 'own', not 'mine'"):
            await planck.start(make_team(workspace="mine"))
        session = await planck.start(mode="full")
        await session.run("go")
        assert results(session)[0].startswith("invalid_args")
        assert len(session.members) == 1


async def test_a_view_gives_no_permission_that_the_workspace_does_not_give(tmp_path: Path) -> None:
    place = Place(tmp_path)
    ben = [
        [
            ("write", {"path": ".git/hooks/x", "content": "1"}),
            ("write", {"path": ".planck/x", "content": "1"}),
        ],
        [("write", {"path": "../outside", "content": "1"}), ("write", {"path": "src/x", "content": "1"})],
        [("write", {"path": "top", "content": "1"})],
        "done",
    ]
    async with place.open([ASK_BEN, "over"], ben) as planck:
        session = await planck.start(make_team(roots=["src"]), mode="workspace")
        await session.run("go")
        kinds = [said.partition(":")[0] for said in results(session)]
        assert kinds[:3] == ["protected_path", "protected_path", "outside_workspace"]
        assert kinds[4] == "permission_denied"
        authority = session.members[1].authority
        assert authority is not None
        assert authority.mode is Mode.WORKSPACE
        assert authority.roots == (str(place.work),)
        [view] = facts(session, ViewOpened)
        assert read_tree(place.views / session.id / view.view / "upper") == {"src": None, "src/x": "1"}


async def test_a_dry_run_opens_no_view(tmp_path: Path) -> None:
    place = Place(tmp_path)
    async with place.open([ASK_BEN, "over"], ["done"]) as planck:
        session = await planck.start(make_team(), dry_run=True)
        await session.run("go")
        assert facts(session, ViewOpened) == []
    assert not place.views.exists()


async def test_an_isolated_session_works_in_one_view_and_a_resume_has_it_again(tmp_path: Path) -> None:
    place = Place(tmp_path)
    before = read_tree(place.work)
    ben = [[("write", {"path": "ben.txt", "content": "ben\n"})], "done"]
    lead = [ASK_BEN, [("bash", {"command": "cat ben.txt; echo lead > lead.txt"})], "over"]
    async with place.open(lead, ben) as planck:
        session = await planck.start(make_team(), mode="full", settings=RunOptions(isolated=True))
        await session.run("go")
        assert results(session)[-1] == "ben\n"
        assert [fact.agent_id for fact in facts(session, ViewOpened)] == [session.orchestrator.id]
    assert read_tree(place.work) == before
    async with place.open([[("bash", {"command": "cat ben.txt lead.txt"})], "over"], []) as planck:
        session = await planck.resume(session.id)
        await session.run("again")
        assert results(session)[-1] == "ben\nlead\n"
        assert len(facts(session, ViewOpened)) == 1
    assert read_tree(place.work) == before


async def test_a_team_that_cannot_start_leaves_no_view_behind(tmp_path: Path) -> None:
    place = Place(tmp_path)
    acp = {"type": "x", "name": "x", "workspace": "own", "acp": {"command": ["/bin/true"]}}
    ben = {"type": "b", "name": "ben", "workspace": "own"}
    async with place.open([], []) as planck:
        with pytest.raises(
            PlanckError, match="'x' is an external program, which cannot have a view"
        ) as refused:
            await planck.start({"members": [{"type": "orchestrator"}, ben, acp]})
        assert refused.value.err.kind is ErrorKind.INVALID_ARGS
    assert not place.views.exists() or not os.listdir(place.views)


async def test_views_lie_in_the_folder_of_the_user_configuration(tmp_path: Path) -> None:
    place = Place(tmp_path)
    ben = [[("write", {"path": "x.txt", "content": "1"})], "done"]
    async with place.open([ASK_BEN, "over"], ben, views={"folder": str(tmp_path / "volume")}) as planck:
        session = await planck.start(make_team(), mode="full")
        await session.run("go")
        [view] = facts(session, ViewOpened)
        assert (tmp_path / "volume" / session.id / view.view / "upper/x.txt").read_text() == "1"
    assert not place.views.exists()


def test_only_what_holds_no_work_is_cleaned_up_and_only_once_it_is_old(folder: Path) -> None:
    home = folder / "views"
    with opened(folder / "one") as tree:
        tree.home.rename(home := folder / "all")
        home.rename(folder / "kept")
    views = folder / "views"
    views.mkdir()
    (folder / "kept").rename(views / "idle")
    for name in ("busy", "young"):
        (views / name / "v1/upper").mkdir(parents=True)
        (views / name / "layers").mkdir()
    (views / "busy/v1/upper/work.txt").write_text("mine")
    old = time.time_ns() - 3 * 86_400 * 10**9
    for name in ("idle", "busy"):
        for path in (views / name, *(views / name).rglob("*")):
            os.utime(path, ns=(old, old), follow_symlinks=False)
    assert {held.session: held.changed for held in survey(str(views))} == {
        "idle": False,
        "busy": True,
        "young": False,
    }
    clean_up(str(views))
    assert sorted(os.listdir(views)) == ["busy", "young"]
    checks = [*_check_views(str(views))]
    assert [check.state for check in checks] == ["ok", "ok"]
    assert "session busy has changes that have not landed" in checks[1].detail
