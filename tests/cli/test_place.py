"""Where a command works: the project around the current folder, or what -C, --here and --add-dir say."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from planck import Planck
from planck.headless import Project
from planck.records.outcome import PlanckError
from tests.command import Bench
from tests.wire import chat
from tests.wire.server import WireServer

NOWHERE = "http://127.0.0.1:9"


def make_repository(folder: Path) -> Path:
    """A git root with a folder two levels down, which it returns."""
    (folder / ".git").mkdir()
    deep = folder / "src" / "deep"
    deep.mkdir(parents=True)
    return deep


Stand = Callable[..., Path]


@pytest.fixture
def stand(monkeypatch: pytest.MonkeyPatch) -> Stand:
    """Gives the workspace of a user who stands in a folder."""

    def find(folder: Path, home: Path = Path("/nowhere")) -> Path:
        monkeypatch.chdir(folder)
        return Project("/nowhere", environ={"HOME": str(home)}).workspace

    return find


async def where(bench: Bench, *args: str, cwd: Path, env: dict[str, str] | None = None) -> str:
    """The workspace that a command without a session names."""
    done = await bench.run("run", *args, "--output-format", "stream-json", cwd=cwd, env=env)
    assert done.code == 2  # no prompt
    return str(done.lines[0]["data"]["workspace"])


async def test_a_folder_of_a_repository_works_in_its_root_and_finds_its_sessions(tmp_path: Path) -> None:
    async with WireServer([chat.text("one"), chat.text("two"), chat.text("three")]) as server:
        bench = Bench(tmp_path, server.url)
        deep = make_repository(bench.work)
        (bench.work / "src" / "AGENTS.md").write_text("Written for src.")
        first = await bench.run("run", "hello", "--name", "first", cwd=deep)
        assert (first.code, first.out) == (0, "one\n")
        assert f"Working in {str(bench.work)!r}, the git root above this folder. Use --here" in first.err
        assert "the user is in `src/deep`" in str(server.asked[0].json["messages"][0])
        assert "Written for src." in str(server.asked[0].json["messages"][0])  # for who stands below it
        again = await bench.run("run", "again", "-c")
        assert (again.out, "Working in" in again.err) == ("two\n", False)
        (row,) = json.loads((await bench.run("sessions", "list", "--json", cwd=deep)).out)
        assert (row["name"], row["workspace"]) == ("first", str(bench.work))
        alone = await bench.run("run", "alone", "--here", cwd=deep)
        assert (alone.out, "Working in" in alone.err) == ("three\n", False)
        (row,) = json.loads((await bench.run("sessions", "list", "--json", "--here", cwd=deep)).out)
        assert row["workspace"] == str(deep)


async def test_who_stands_in_the_home_or_above_it_is_told(tmp_path: Path) -> None:
    async with WireServer([chat.text("hello")] * 4) as server:
        bench, other = Bench(tmp_path, server.url), tmp_path / "other"
        other.mkdir()
        for cwd, args, told in (
            (bench.work, (), True),
            (tmp_path, (), True),
            (bench.work, ("--here",), False),
            (other, (), False),
        ):
            done = await bench.run("run", "hi", *args, cwd=cwd, env={"HOME": str(bench.work)})
            assert (done.code, "your home folder or a folder above it. Use -C DIR" in done.err) == (0, told)


async def test_what_is_named_is_taken_exactly(tmp_path: Path) -> None:
    bench = Bench(tmp_path, NOWHERE)
    deep = make_repository(bench.work)
    assert await where(bench, "-C", "src", cwd=bench.work) == str(bench.work / "src")
    assert await where(bench, "-C", str(deep), cwd=tmp_path) == str(deep)
    assert await where(bench, "-C", "..", cwd=deep) == str(deep.parent)
    assert await where(bench, "--here", cwd=deep) == str(deep)
    assert await where(bench, cwd=deep) == str(bench.work)
    assert Planck(bench.home, deep, environ={}).workspace == deep
    assert Planck(bench.home, deep / "..", environ={}).workspace == deep.parent
    both = await bench.run("run", "x", "-C", ".", "--here")
    assert (both.code, "not allowed with" in both.err) == (2, True)
    for missing in ("", "nowhere"):
        done = await bench.run("sessions", "list", "-C", missing)
        assert (done.code, done.err.count("\n")) == (2, 1)


def _git_file(root: Path) -> None:
    (root / ".git").write_text("gitdir: /elsewhere\n")


def _git_link(root: Path) -> None:
    (root.parent / "real").mkdir()
    (root / ".git").symlink_to(root.parent / "real")


def _broken_link(root: Path) -> None:
    (root / ".git").symlink_to(root / "nowhere")


def _looping_link(root: Path) -> None:
    (root / ".git").symlink_to(root / ".git")


def _pipe(root: Path) -> None:
    os.mkfifo(root / ".git")


@pytest.mark.parametrize(
    ("make", "counts"),
    [(_git_file, True), (_git_link, True), (_broken_link, False), (_looping_link, False), (_pipe, False)],
)
def test_a_git_root_has_a_folder_or_a_file_of_that_name(
    tmp_path: Path, stand: Stand, make: Callable[[Path], None], counts: bool
) -> None:
    below = tmp_path / "work" / "below"
    below.mkdir(parents=True)
    make(below.parent)
    assert stand(below) == (below.parent if counts else below)


def test_neither_the_home_nor_a_folder_above_it_becomes_the_workspace(tmp_path: Path, stand: Stand) -> None:
    work = tmp_path / "work"
    work.mkdir()
    deep = make_repository(work)
    (tmp_path / "link").symlink_to(work)
    for home in (work, work / "src", tmp_path / "link"):
        assert stand(deep, home) == deep
    inner = make_repository(deep)
    assert stand(inner, work) == deep  # a project in the home
    assert stand(work, work) == work  # where the user says so by being there
    assert stand(tmp_path / "link" / "src") == work


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_a_git_root_that_somebody_else_made_is_not_used(tmp_path: Path, stand: Stand) -> None:
    deep = make_repository(tmp_path)
    os.chown(tmp_path / ".git", 65534, 65534)
    assert stand(deep) == deep
    os.chown(deep, 65534, 65534)  # the user's own, seen by root
    assert stand(deep) == tmp_path


IN_A_CLOSED_PLACE = """
import os, sys
from planck.headless import Project
from planck.records.outcome import PlanckError
folder, closed, mode = sys.argv[1], sys.argv[2], int(sys.argv[3], 8)
for place in (folder, closed):
    os.chmod(place, 0o755)
os.chdir(folder)
os.chmod(closed, mode)
if os.geteuid() == 0:
    os.setgroups([]); os.setgid(65534); os.setuid(65534)
print(Project("/nowhere", environ={"HOME": "/nowhere"}).workspace)
"""


@pytest.mark.parametrize("mode", ["0", "0311"])
def test_a_root_that_is_closed_to_the_user_is_not_used(tmp_path: Path, mode: str) -> None:
    work = tmp_path / "work"
    work.mkdir()
    deep = make_repository(work)
    try:
        said = subprocess.run(
            [sys.executable, "-c", IN_A_CLOSED_PLACE, deep, work, mode], capture_output=True, text=True
        )
    finally:
        work.chmod(0o700)
    assert (said.stdout.strip(), said.stderr) == (str(deep), "")


async def test_a_folder_that_is_gone_is_named_as_such(tmp_path: Path) -> None:
    bench = Bench(tmp_path, NOWHERE)
    gone = tmp_path / "gone"
    gone.mkdir()
    before = ("sh", "-c", 'rmdir "$PWD" && exec "$@"', "sh")
    for args in (("run", "x"), ("run", "x", "--here"), ("sessions", "list")):
        gone.mkdir(exist_ok=True)
        done = await bench.run(*args, cwd=gone, before=before)
        assert (done.code, done.out) == (2, "")
        said = "The current folder no longer exists. Change to another folder"
        assert (done.error_kind, said in done.err) == ("not_found", True)
    gone.mkdir()
    listed = await bench.run("sessions", "list", "-C", str(bench.work), cwd=gone, before=before)
    assert listed.code == 0


async def test_a_folder_whose_path_is_no_utf_8_is_named_as_such(tmp_path: Path) -> None:
    odd = tmp_path / "odd\udce9"
    odd.mkdir()
    done = await Bench(tmp_path, NOWHERE).run("run", "x", cwd=odd)
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert (done.error_kind, done.err[:16]) == ("invalid_args", "error: The path ")


async def test_a_new_sidecar_and_a_new_team_go_where_the_project_finds_them(tmp_path: Path) -> None:
    bench = Bench(tmp_path, NOWHERE)
    deep = make_repository(bench.work)
    assert (await bench.run("sidecar", "new", cwd=deep)).code == 0
    assert (bench.work / ".planck" / "sidecar").is_dir()
    assert (await bench.run("teams", "new", "crew", cwd=deep)).code == 0
    assert (await bench.run("teams", "check", "crew", cwd=deep)).code == 0


async def test_agents_work_in_an_added_folder_as_in_the_workspace(tmp_path: Path) -> None:
    other = tmp_path / "other"
    (other / ".git").mkdir(parents=True)
    (other / "AGENTS.md").write_text("Nobody reads this.")
    (other / "old.txt").write_text("old words\n")
    wanted = [
        ("read", {"path": f"{other}/old.txt"}),
        ("write", {"path": f"{other}/new.txt", "content": "new words\n"}),
        ("write", {"path": f"{other}/.git/config", "content": "x"}),
        ("bash", {"command": f"echo made > {other}/made.txt; echo x > {other}/.git/config"}),
        ("grep", {"pattern": "old", "path": str(other)}),
        ("write", {"path": f"{tmp_path}/beside.txt", "content": "x"}),
        ("read", {"path": f"{other}/../home/config.json"}),
    ]
    async with WireServer([chat.calls(*wanted), chat.text("done")]) as server:
        bench = Bench(tmp_path, server.url)
        run = ("run", "go", "--name", "first", "--permission-mode", "workspace")
        done = await bench.run(*run, "--add-dir", str(other), "--output-format", "stream-json")
        ends = [line["data"] for line in done.lines if line["type"] == "tool_end"]
        told = str(server.asked[0].json["messages"][0])
        again = await bench.run("run", "-c", "again")
    kinds = [end.get("error", {}).get("kind") for end in ends]
    outside = "outside_workspace"
    assert kinds == [None, None, "protected_path", None, None, outside, outside]
    assert ends[0]["output"] == "old words\n"
    assert ends[4]["output"] == f"{other}/old.txt:1:old words"
    assert (other / "new.txt").read_text() == "new words\n"
    assert not (other / ".git" / "config").exists()
    assert f"You may also work in these folders, by absolute paths: `{other}`" in told
    assert "Nobody reads this." not in told
    started = next(line["data"] for line in done.lines if line["type"] == "session_started")
    assert started["options"]["added"] == [str(other)]
    assert f"used --add-dir {other}. Pass the option again to keep using the folder." in again.err
    undone = await bench.run("undo", "--turn", "1", "--yes", "--add-dir", str(other))
    assert (undone.code, (other / "new.txt").exists()) == (0, False)


async def test_a_folder_that_can_not_be_added_is_refused_with_the_reason(tmp_path: Path) -> None:
    bench = Bench(tmp_path, NOWHERE)
    inside = bench.work / "inside"
    inside.mkdir()
    (tmp_path / "file").write_text("")
    user = tmp_path / "user"
    user.mkdir()
    for folder, why in [
        ("/", "it contains"),
        (str(tmp_path), "it contains"),
        (str(user), "it is a user's home folder"),
        (str(bench.home), "it is Planck's home folder"),
        ("nowhere", "is not a folder"),
        (str(tmp_path / "file"), "is not a folder"),
        ("", "is not a folder"),
    ]:
        with pytest.raises(PlanckError, match=why):
            Planck(bench.home, bench.work, environ={"HOME": str(user)}, add_dirs=[folder])
    added = Planck(bench.home, bench.work, environ={}, add_dirs=[inside, bench.work]).project.added
    assert added == ()  # it is there anyway
    refused = await bench.run("run", "x", "--add-dir", "nowhere")
    assert (refused.code, "'nowhere' is not a folder. Name an existing folder." in refused.err) == (2, True)


async def test_full_reads_anywhere_and_writes_in_the_workspace(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "a.txt").write_text("elsewhere\n")
    wanted = [
        ("read", {"path": f"{other}/a.txt"}),
        ("read", {"path": "link/a.txt"}),
        ("list_dir", {"path": str(other)}),
        ("glob", {"pattern": "*.txt", "path": str(other)}),
        ("grep", {"pattern": "else", "path": f"{other}/a.txt"}),
        ("read", {"path": "~/a.txt"}),
        ("write", {"path": f"{other}/b.txt", "content": "x"}),
    ]
    no = "outside_workspace"
    async with WireServer([chat.calls(*wanted), chat.text("done")] * 2) as server:
        bench = Bench(tmp_path, server.url)
        (bench.work / "link").symlink_to(other)
        for mode, kinds in (("full", [None] * 5 + [no, no]), ("workspace", [no] * 7)):
            done = await bench.run("run", "go", "--permission-mode", mode, "--output-format", "stream-json")
            ends = [line["data"] for line in done.lines if line["type"] == "tool_end"]
            assert [end.get("error", {}).get("kind") for end in ends] == kinds
            if mode == "full":
                assert [end["output"] for end in ends[:2]] == ["elsewhere\n"] * 2
                assert ends[3]["output"] == f"{other}/a.txt"
    assert not (other / "b.txt").exists()
