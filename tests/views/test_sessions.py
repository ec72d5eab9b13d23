"""An agent with a workspace of its own: what its tools see and change, what the log says, and a resume."""

import os
import shutil
from pathlib import Path

from planck.headless import OpenSession
from planck.records.events import FileChanged, ViewDropped, ViewOpened
from tests.library.program import results
from tests.views.place import ASK_BEN, Place, facts, make_team, read_tree


async def test_the_tools_of_an_agent_with_a_view_see_and_change_it_alone(tmp_path: Path) -> None:
    place = Place(tmp_path)
    before = read_tree(place.work)
    ben = [
        [("write", {"path": "src/new.txt", "content": "ben's\n"})],
        [("read", {"path": "src/file0.txt"})],
        [("edit", {"path": "src/file0.txt", "old_string": "old", "new_string": "changed"})],
        [
            (
                "bash",
                {
                    "command": "pwd; cat .env node_modules/pack/index.js src/new.txt src/file0.txt;"
                    "rm src/file1.txt"
                },
            )
        ],
        [("grep", {"pattern": "ben's|changed"})],
        [("glob", {"pattern": "src/*.txt"})],
        "done",
    ]
    async with place.open(
        [ASK_BEN, [("bash", {"command": "cat src/file0.txt; ls src"})], "over"], ben
    ) as planck:
        session = await planck.start(make_team(), mode="full")
        result = await session.run("go")
        assert result.text == "over", result
        said = results(session)
        assert f"{place.work}\nKEY=ours\nours\nben's\nchanged 0\n" in said[3]
        assert "src/new.txt:1:ben's" in said[4]
        assert "src/file0.txt:1:changed 0" in said[4]
        assert said[5].split() == ["src/file0.txt", "src/file2.txt", "src/new.txt"]
        assert said[-1].split() == ["old", "0", "deep", "empty", "file0.txt", "file1.txt", "file2.txt"]
        assert read_tree(place.work) == before
        [opened] = facts(session, ViewOpened)
        assert (opened.backend, opened.exact, opened.layers) == ("overlay", True, ("layers/1",))
        assert {change.view for change in facts(session, FileChanged)} == {opened.view}
        upper = place.views / session.id / opened.view / "upper"
        assert read_tree(upper) == {
            "src": None,
            "src/file0.txt": "changed 0\n",
            "src/file1.txt": None,
            "src/new.txt": "ben's\n",
        }


async def test_a_resumed_agent_has_its_view_again(tmp_path: Path) -> None:
    place = Place(tmp_path)
    async with place.open(
        [ASK_BEN, "over"], [[("write", {"path": "new.txt", "content": "1"})], "done"]
    ) as planck:
        session = await planck.start(make_team(), mode="full")
        await session.run("go")
    assert not (place.work / "new.txt").exists()
    (place.work / "src/file0.txt").write_text("changed meanwhile\n")
    script = [[("bash", {"command": "cat new.txt src/file0.txt"})], "done"]
    async with place.open([ASK_BEN, "over"], script) as planck:
        session = await planck.resume(session.id)
        await session.run("again")
        assert results(session)[-2] == "1old 0\n"
        assert len(facts(session, ViewOpened)) == 1


async def test_a_view_in_which_nothing_was_changed_goes_with_the_session(tmp_path: Path) -> None:
    place = Place(tmp_path)
    script = [[("bash", {"command": "touch src/x; rm src/x; cat .env"})], "done"]
    async with place.open([ASK_BEN, "over"], script, permissions={"mode": "workspace"}) as planck:
        session = await planck.start(make_team(), mode="workspace")
        await session.run("go")
        id = session.id
    assert not (place.views / id).exists()
    async with place.open([ASK_BEN, "over"], ["done"]) as planck:
        session = await planck.resume(id)
        assert [fact.why for fact in facts(session, ViewDropped)] == ["unchanged"]
        assert len(facts(session, ViewOpened)) == 2


async def test_an_agent_whose_view_is_gone_is_told_and_gets_another(tmp_path: Path) -> None:
    place = Place(tmp_path)
    async with place.open(
        [ASK_BEN, "over"], [[("write", {"path": "new.txt", "content": "1"})], "done"]
    ) as planck:
        session = await planck.start(make_team(), mode="full")
        await session.run("go")
    shutil.rmtree(
        place.views / session.id / facts_view(place, session), onerror=lambda f, p, i: os.chmod(p, 0o700)
    )
    shutil.rmtree(place.views / session.id, ignore_errors=True)
    async with place.open([ASK_BEN, "over"], [[("bash", {"command": "ls"})], "done"]) as planck:
        session = await planck.resume(session.id)
        await session.run("again")
        assert results(session)[-2].split() == ["node_modules", "src"]
        assert [fact.why for fact in facts(session, ViewDropped)] == ["lost"]


def facts_view(place: Place, session: OpenSession) -> str:
    return next(name for name in os.listdir(place.views / session.id) if name != "layers")


async def test_a_command_in_the_background_runs_in_the_view_and_ends_with_the_session(tmp_path: Path) -> None:
    place = Place(tmp_path)
    ben = [
        [("bash", {"command": "echo begun > begun; exec sleep 1000", "background": True})],
        [("bash", {"command": "until [ -s begun ]; do sleep 0.01; done; cat begun"})],
        "done",
    ]
    async with place.open([ASK_BEN, "over"], ben) as planck:
        session = await planck.start(make_team(), mode="workspace")
        await session.run("go")
        assert results(session)[1] == "begun\n"
    assert not (place.work / "begun").exists()
