"""Commands in a view: the sandbox as anywhere, by what is in the view, with nothing put in the workspace."""

import asyncio
import os
import re
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from planck.records.authority import Confinement, Mode
from planck.workspace.process.containment import Containment, containment
from planck.workspace.process.process import Command, Completed, begin, run, shell
from planck.workspace.sandbox import sandbox
from planck.workspace.views import planner
from tests.views.place import Tree, opened, read_tree

bubblewrap = pytest.mark.skipif(
    getattr(sandbox.find().sandbox, "level", None) is not Containment.BUBBLEWRAP, reason="needs bubblewrap"
)


async def command(tree: Tree, script: str, mode: Mode = Mode.WORKSPACE, cwd: str = ".") -> Completed:
    base = str(tree.base)
    writable = (base,) if mode is Mode.WORKSPACE else ()
    held = os.open(cwd, os.O_RDONLY | os.O_DIRECTORY, dir_fd=tree.view.root)
    try:
        rights = Confinement(mode, (base,), writable)
        return await run(
            Command(shell(script), held, {"PATH": "/usr/bin:/bin"}, rights, view=tree.view), timeout=30
        )
    finally:
        os.close(held)


@pytest.fixture
async def tree(folder: Path, owner: int) -> AsyncIterator[Tree]:
    with opened(folder, owner) as tree:
        yield tree


@bubblewrap
async def test_protected_names_are_read_only_in_a_view_and_absent_ones_cannot_be_made(tree: Tree) -> None:
    before = read_tree(tree.base)
    done = await command(
        tree,
        "touch .git/hooks/pre-commit; mkdir .planck/tools; touch .planck/x; echo x > .mcp.json;"
        "mkdir .agents/x; mv .git gone; touch /opt/outside; echo made > made; echo over",
    )
    assert done.output.rstrip().endswith("over"), done.output
    assert done.output.count("Read-only file system") + done.output.count("No such device") >= 6
    names = os.listdir(tree.view.root)
    assert "made" in names
    assert not {".planck", ".agents", ".mcp.json", "gone"} & set(names)  # no stub is left
    assert os.listdir(tree.view.upper) == ["made"]
    assert read_tree(tree.base) == before


@bubblewrap
async def test_a_repository_that_a_command_made_in_a_view_is_protected_from_the_next(tree: Tree) -> None:
    await command(tree, "mkdir sub; cd sub; git init -q")
    done = await command(tree, "echo evil > sub/.git/hooks/post-checkout; echo evil >> sub/.git/config")
    assert done.output.count("Read-only file system") == 2


@bubblewrap
async def test_a_command_has_the_path_and_the_ignored_files_of_the_workspace(tree: Tree, owner: int) -> None:
    done = await command(tree, "pwd; id -u; cat ../.env ../node_modules/pack/index.js file0.txt", cwd="src")
    assert done.output == f"{tree.base}/src\n{owner}\nKEY=ours\nours\nold 0\n"
    done = await command(tree, "cat ../.env; touch x", Mode.READ_ONLY, cwd="src")
    assert "KEY=ours" in done.output
    assert "Read-only file system" in done.output


@pytest.mark.parametrize("mode", [Mode.WORKSPACE, Mode.FULL])
async def test_a_command_does_not_hold_the_namespaces_of_its_view(folder: Path, mode: Mode) -> None:
    with opened(folder) as tree:
        done = await command(tree, "for fd in /proc/self/fd/*; do readlink $fd; done", mode)
        assert "pipe:" in done.output
        assert not re.search(r"(mnt|user|net|pid):\[", done.output)


async def test_an_unconfined_command_runs_in_the_view_too(tree: Tree, owner: int) -> None:
    done = await command(
        tree, "pwd; id -u; echo x > out; cat <(echo pipe); ls -d /proc/[0-9]* | wc -l", Mode.FULL
    )
    assert done.output.split()[:3] == [str(tree.base), str(owner), "pipe"]
    if containment() is Containment.PID_NAMESPACE:
        assert int(done.output.split()[3]) < 10
    assert not (tree.base / "out").exists()
    assert "out" in os.listdir(tree.view.root)


@bubblewrap
async def test_the_program_that_sets_up_the_sandbox_ends_with_the_view_and_is_started_again(
    tree: Tree,
) -> None:
    await command(tree, "true")
    first = tree.view._find_planner()._process
    assert first is not None
    first.kill()
    first.wait()
    assert (await command(tree, "echo again")).output == "again\n"
    second = tree.view._find_planner()._process
    tree.let_go()
    assert second is not None
    assert second.poll() is not None


@bubblewrap
async def test_the_program_that_sets_up_the_sandbox_ends_when_nothing_runs(
    tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(planner, "_BOOT", planner._BOOT.replace("import main;", "import main; idle();"))
    monkeypatch.setattr(
        planner,
        "_BOOT",
        "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
        "from planck.workspace.views import planner; planner._IDLE_S = 0.01; planner.main()",
    )
    assert (await command(tree, "echo 1")).output == "1\n"
    process = tree.view._find_planner()._process
    assert process is not None
    process.wait(10)
    assert (await command(tree, "echo 2")).output == "2\n"


def confined(tree: Tree, script: str) -> Command:
    base = str(tree.base)
    rights = Confinement(Mode.WORKSPACE, (base,), (base,))
    return Command(shell(script), tree.view.root, {"PATH": "/usr/bin:/bin"}, rights, view=tree.view)


@bubblewrap
async def test_nothing_else_waits_for_a_view_whose_program_hangs(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(planner, "_PATIENCE", 2.0)
    with opened(folder) as tree:
        job = await begin(confined(tree, "read line < /dev/null; sleep 0.2"))
        process = tree.view._find_planner()._process
        assert process is not None
        process.send_signal(signal.SIGSTOP)
        try:
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.5):
                    await begin(confined(tree, "true"))
            assert not await job.wait(0.1)  # it is over, and what it held is not released yet
        finally:
            process.send_signal(signal.SIGCONT)
        assert await job.wait(30)
        await job.kill()
        assert job.completed().exit_code == 0
        assert (await command(tree, "echo again")).output == "again\n"


@bubblewrap
async def test_a_command_runs_though_its_user_cannot_reach_what_is_shown_of_our_home(
    tree: Tree, folder: Path
) -> None:
    tools = folder / "closed" / "tools"
    tools.mkdir(parents=True)
    tools.parent.chmod(0o700)
    base = str(tree.base)
    rights = Confinement(Mode.WORKSPACE, (base,), (base,), hidden=(str(tools.parent),), shown=(str(tools),))
    wanted = Command(shell("echo runs"), tree.view.root, {"PATH": "/usr/bin:/bin"}, rights, view=tree.view)
    assert (await run(wanted, timeout=30)).output == "runs\n"


@bubblewrap
async def test_a_command_in_a_view_has_three_descriptors(tree: Tree) -> None:
    for mode in (Mode.WORKSPACE, Mode.FULL):
        # Not by a list of the folder, which takes a descriptor itself.
        script = "for fd in {0..999}; do if [ -e /proc/$$/fd/$fd ]; then echo $fd; fi; done"
        assert (await command(tree, script, mode)).output.split() == ["0", "1", "2"], mode


@bubblewrap
async def test_a_stub_that_a_killed_runtime_held_goes_with_it(tree: Tree) -> None:
    wrapped = tree.view.wrap(Confinement(Mode.WORKSPACE, (str(tree.base),), (str(tree.base),)))
    assert ".planck" in os.listdir(tree.view.root)
    for fd in wrapped.passed:
        os.close(fd)
    tree.view._find_planner().close()  # as the end of the process does
    assert ".planck" not in os.listdir(tree.view.root)
