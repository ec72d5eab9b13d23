"""`-o FILE` and `/export FILE`: the user names the file, and nothing that an agent leaves there moves it."""

import os
import stat
import subprocess
import threading
from contextlib import closing
from pathlib import Path

import pytest

from planck.headless import OutputFile, Project
from planck.records.outcome import PlanckError
from tests.command import Bench
from tests.wire import chat
from tests.wire.server import WireServer


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A workspace beside a user's file that no agent may write; the current folder."""
    (tmp_path / "user").mkdir()
    (tmp_path / "user" / ".bashrc").write_text("ORIG\n")
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    return work


def write(target: OutputFile, text: str) -> None:
    try:
        target.write(text.encode())
    finally:
        target.close()


def check(name: str, work: Path) -> None:
    with closing(OutputFile(name)) as target:
        target.check(Project(work.parent / "home", work, {}).open_root())


def refuse(name: str, work: Path) -> str:
    """Returns the kind of the refusal before the run."""
    with pytest.raises(PlanckError) as refused:
        check(name, work)
    return refused.value.err.kind


async def test_the_answer_of_a_run_does_not_follow_a_link_that_its_agent_made(tmp_path: Path) -> None:
    script = [chat.calls(("bash", {"command": "ln -sf ../mine out.txt"})), chat.text("pwned")]
    async with WireServer(script) as server:
        bench = Bench(tmp_path, server.url)
        (bench.work.parent / "mine").write_text("ORIG")
        done = await bench.run("run", "go", "--permission-mode", "full", "-o", "out.txt")
        assert done.code == 0, done.err
        assert (bench.work.parent / "mine").read_text() == "ORIG"
        out = bench.work / "out.txt"
        assert (out.is_symlink(), out.read_text()) == (False, "pwned\n")


async def test_a_protected_file_is_refused_before_the_run(tmp_path: Path) -> None:
    async with WireServer([chat.text("never said")]) as server:
        bench = Bench(tmp_path, server.url)
        (bench.work / ".git").mkdir(exist_ok=True)
        done = await bench.run("run", "go", "--permission-mode", "workspace", "-o", ".git/config")
    assert (done.code, "protected_path" in done.err, server.asked) == (2, True, []), done.err
    assert ("Choose another file name" in done.err, "leave it as it is" in done.err) == (True, False), (
        done.err
    )


@pytest.mark.parametrize("before", ["nothing", "a file"])
def test_a_link_at_the_name_is_replaced(work: Path, before: str) -> None:
    out = work / "out.txt"
    if before == "a file":
        out.write_text("old")
    target = OutputFile("out.txt")
    out.unlink(missing_ok=True)
    out.symlink_to("../user/.bashrc")
    write(target, "answer")
    assert (work / "../user/.bashrc").read_text() == "ORIG\n"
    assert (out.is_symlink(), out.read_text()) == (False, "answer")
    assert os.listdir(work) == ["out.txt"]


@pytest.mark.parametrize("depth", ["out", "out/deep"])
def test_a_folder_that_was_replaced_by_a_link_gets_nothing(work: Path, depth: str) -> None:
    (work / depth).mkdir(parents=True)
    target = OutputFile(f"{depth}/.bashrc")
    (work / "out").rename("moved")
    (work / "user").mkdir()
    (work / "out").symlink_to("../user" if depth == "out" else "..")
    with pytest.raises(PlanckError, match="moved or replaced"):
        write(target, "answer")
    assert (work / "../user/.bashrc").read_text() == "ORIG\n"
    assert not [*work.rglob(".bashrc")]


def test_a_hard_link_keeps_its_content(work: Path) -> None:
    target = OutputFile("out.txt")
    os.link("../user/.bashrc", "out.txt")
    write(target, "answer")
    assert ((work / "../user/.bashrc").read_text(), Path("out.txt").read_text()) == ("ORIG\n", "answer")


def test_a_link_that_is_there_before_the_run_is_followed_as_it_was_then(work: Path, tmp_path: Path) -> None:
    """In a folder of the agents it may lead to another file there; elsewhere anywhere."""
    Path("real.txt").write_text("old")
    Path("link.txt").symlink_to("real.txt")
    (tmp_path / "mine").symlink_to("user/.bashrc")
    for name, place in (("link.txt", "real.txt"), ("../mine", "../user/.bashrc")):
        target = OutputFile(name)
        target.check(Project(work.parent / "home", work, {}).open_root())
        Path(name).unlink()
        Path(name).symlink_to("/dev/null")
        write(target, "answer")
        assert (Path(place).read_text(), os.readlink(name)) == ("answer", "/dev/null")


def test_what_an_earlier_run_may_have_left_is_refused(work: Path) -> None:
    Path("out.txt").symlink_to("../user/.bashrc")
    Path("out").symlink_to("../user")
    Path("null").symlink_to("/dev/null")
    for name in ("out.txt", "out/.bashrc", "out/new", f"{work}/out/../.bashrc", "null"):
        assert refuse(name, work) == "outside_workspace", name


def test_protected_files_are_refused_by_every_name(work: Path) -> None:
    subprocess.run(["git", "init", "-q"], check=True)
    Path(".planck").mkdir()
    Path("link").symlink_to(".git/config")
    Path("folder").symlink_to(".git")
    for name in (
        ".git/config",
        ".git/new",
        ".planck/config.json",
        "link",
        "folder/new",
        f"{work}/x/../.git/a",
    ):
        assert refuse(name, work) == "protected_path", name


def test_the_mode_of_a_file_is_kept_without_set_user_id(work: Path) -> None:
    out = Path("out.txt")
    out.touch()
    out.chmod(0o4751)
    write(OutputFile("out.txt"), "answer")
    assert stat.S_IMODE(out.stat().st_mode) == 0o751


def test_what_is_not_a_regular_file_is_written_through(work: Path) -> None:
    write(OutputFile("/dev/null"), "answer")
    read_end, write_end = os.pipe()
    write(OutputFile(f"/dev/fd/{write_end}"), "answer")
    assert os.read(read_end, 99) == b"answer"
    os.close(read_end)
    os.close(write_end)
    shell = os.open("shell", os.O_RDWR | os.O_CREAT)  # as `-o /dev/stdout > shell`
    os.write(shell, b"a longer text")
    write(OutputFile(f"/dev/fd/{shell}"), "answer")
    assert os.pread(shell, 99, 0) == b"answer"
    os.close(shell)
    os.mkfifo("fifo")
    target = OutputFile("fifo")
    Path("fifo").rename("elsewhere")
    Path("fifo").symlink_to("../user/.bashrc")
    said: list[str] = []
    reader = threading.Thread(target=lambda: said.append(Path("elsewhere").read_text()))
    reader.start()
    write(target, "answer")
    reader.join()
    assert said == ["answer"]


def test_what_cannot_be_written_is_told_before_the_run(work: Path) -> None:
    Path("folder").mkdir()
    Path("loop").symlink_to("loop")
    for name in ("folder", "missing/out.txt", "loop", "../user/.bashrc/x", "a\0b", "x" * 300):
        assert refuse(name, work) == "write_failed", name


def test_an_export_makes_a_new_file_only(work: Path) -> None:
    Path("out.md").write_text("old")
    for name in ("out.md", "/dev/null"):
        target = OutputFile(name)
        with pytest.raises(PlanckError, match="exists"):
            target.create(b"new")
        target.close()
    target = OutputFile("new.md")
    target.create(b"new")
    target.close()
    assert [Path(name).read_text() for name in ("out.md", "new.md")] == ["old", "new"]
