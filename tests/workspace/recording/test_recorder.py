"""What the recorder keeps of a command, and what it leaves alone."""

import asyncio
import errno
import os
import select
import signal
import stat
import struct
import sys
from pathlib import Path

import pytest

from planck.records.authority import Confinement, Mode
from planck.records.outcome import ErrorKind
from planck.workspace.process.containment import Containment, sandbox_program
from planck.workspace.process.process import Command, ProcessError, begin, run, shell
from planck.workspace.recording import images
from planck.workspace.recording.client import SeccompRecording, explain
from planck.workspace.recording.notify import make_filter
from planck.workspace.recording.recording import Record
from planck.workspace.recording.spool import append_baseline, differences, read_spool
from planck.workspace.recording.states import NOTHING, State
from tests.tools.room import processes, until
from tests.workspace.recording.conftest import Place

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="seccomp is Linux's")


async def test_a_command_runs_as_without_a_recorder(place: Place) -> None:
    done = await place.run("echo out; echo err >&2; pwd; ulimit -f; exit 3")
    plain = await run(Command(shell("echo out; echo err >&2; pwd; ulimit -f; exit 3"), place.ws, {}), 30)
    assert (done.exit_code, done.output, done.containment) == (3, plain.output, plain.containment)
    assert (await place.run("kill -9 $$")).exit_code == 137


async def test_a_command_inherits_no_descriptor_of_the_recorder(place: Place) -> None:
    """Not its own spool, and no listener or socket of a command that runs beside it."""
    other = asyncio.ensure_future(place.run("while [ ! -e end ]; do sleep 0.02; done", spool="other"))
    await until(place.spool.with_name("other").exists)
    done = await place.python("import os; print(sorted(map(int, os.listdir('/proc/self/fd'))))")
    (place.ws / "end").touch()
    await other
    assert done.output.strip() == "[0, 1, 2, 3]"  # the last one reads the folder


async def test_changes_are_compared_with_what_was_there_first(place: Place) -> None:
    (place.ws / "a").write_text("old\n")
    os.chmod(place.ws / "a", 0o640)
    await place.run("echo new > a; echo newer > a; mkdir d; echo x > d/f; ln -s a l; rm -f none")
    assert place.changes() == {
        "a": place.changes()["a"],
        "d": place.changes()["d"],
        "d/f": place.changes()["d/f"],
        "l": place.changes()["l"],
    }
    changed = place.changes()["a"]
    assert (changed.before, changed.after.content) == (State("file", b"old\n", 0o640), b"newer\n")
    assert place.changes()["d/f"].before == NOTHING
    assert place.changes()["l"].after == State("link", target="a")
    assert place.read().ended
    assert stat.S_IMODE(place.spool.stat().st_mode) == 0o600


async def test_git_and_ignored_folders_are_left_out_and_ignored_files_stay_local(place: Place) -> None:
    (place.ws / ".git/info").mkdir(parents=True)
    (place.ws / ".gitignore").write_text("build/\n*.env\n/dist\n")
    (place.ws / "a.env").write_text("KEY=1\n")
    (place.ws / ".git/index").write_bytes(b"...dist/kept\0...")  # git has it all the same
    (place.ws / "dist").mkdir()
    await place.run("echo 2 > a.env; mkdir build; echo x > build/x; echo y > .git/y; echo z > dist/kept; >n")
    assert {path: one.local for path, one in place.changes().items()} == {
        "a.env": True,
        "dist/kept": False,
        "n": False,
    }


@pytest.mark.parametrize("where", ["default", "user", "included", "repository"])
async def test_what_git_ignores_in_all_repositories_of_the_user_stays_local(
    place: Place, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    home = place.base / "home"
    excludes = home / (".config/git/ignore" if where == "default" else "mine")
    excludes.parent.mkdir(parents=True)
    excludes.write_text("*.secret\n/keys/\n!shown.secret\n")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.delenv("GIT_CONFIG_GLOBAL", raising=False)
    await run(Command(shell("git init -q ."), place.ws, {"PATH": "/usr/bin:/bin"}), 30)
    named = "[core]\n\texcludesFile = ~/mine\n"
    if where == "included":
        (home / ".gitconfig").write_text("[include]\n\tpath = more\n")
        (home / "more").write_text(named)
    elif where != "default":
        file = home / ".gitconfig" if where == "user" else place.ws / ".git/config"
        file.write_text(f"{file.read_text() if file.exists() else ''}{named}")
    (place.ws / "a.secret").write_text("KEY=1")
    os.link(place.ws / "a.secret", place.ws / "b.secret")
    await place.run("echo 2 > a.secret; echo 3 > shown.secret; mkdir keys; echo 4 > keys/one; echo 5 > n")
    assert {path: one.local for path, one in place.changes().items()} == {
        "a.secret": True,
        "b.secret": True,
        "n": False,
        "shown.secret": False,
    }


async def test_without_git_caches_are_left_out_by_their_names(tmp_path: Path) -> None:
    place = Place(tmp_path)
    await place.run("mkdir -p node_modules/x src; echo 1 > node_modules/x/y; echo 2 > src/z")
    assert list(place.changes()) == ["src", "src/z"]
    await place.recording.aclose()


async def test_large_files_and_many_names_are_counted(place: Place) -> None:
    await place.run(f"truncate -s {images.MAX_IMAGE + 1} large; : > small", spool="before")
    script = f"""
import os
os.truncate("large", 5)
for number in range({images.MAX_NAMES} + 203):
    os.close(os.open(f"n{{number}}", os.O_CREAT | os.O_WRONLY))
"""
    assert (await place.python(script)).exit_code == 0
    spool = place.read()
    assert spool.skipped == {"large": 1, "many": 204}
    large = place.changes()["large"]
    assert (large.before.content, large.after.content) == (None, b"\0" * 5)
    assert len(spool.images) == images.MAX_NAMES


async def test_a_large_folder_that_is_renamed_to_and_fro_is_counted_once(place: Place) -> None:
    script = f"""
import os
os.mkdir("a")
for number in range({images.MAX_NAMES} + 99):
    os.close(os.open(f"a/{{number}}", os.O_CREAT | os.O_WRONLY))
for _ in range(2):
    os.rename("a", "b")
    os.rename("b", "a")
"""
    assert (await place.python(script)).exit_code == 0
    names = 2 * (images.MAX_NAMES + 100)
    assert place.read().skipped["many"] <= names + 4 * 2  # the two ends of each rename


async def test_the_total_of_all_images_is_bounded(place: Place) -> None:
    for number in range(3):
        (place.ws / f"f{number}").write_bytes(b"x" * (images.MAX_TOTAL // 2))
    await place.run("for f in f0 f1 f2; do : > $f; done")
    assert place.read().skipped == {"large": 1}
    assert place.spool.stat().st_size < images.MAX_TOTAL + 10_000
    assert sorted(place.changes()) == ["f0", "f1", "f2"]


async def test_two_commands_at_once_have_a_spool_each(place: Place) -> None:
    script = "for i in $(seq 50); do echo {0} >> shared; echo $i > own{0}_$i; done"
    both = [place.run(script.format(n), spool=f"call{n}") for n in (1, 2)]
    assert [done.exit_code for done in await asyncio.gather(*both)] == [0, 0]
    for one in (1, 2):
        assert {path for path in place.changes(f"call{one}") if path != "shared"} == {
            f"own{one}_{i}" for i in range(1, 51)
        }


async def test_a_command_that_runs_on_is_compared_again_from_where_the_last_facts_end(place: Place) -> None:
    await place.run("echo 1 > a; echo 1 > b")
    with place.root() as root:
        first = differences(read_spool(place.spool), {str(place.ws): root})
        append_baseline(place.spool, first, 1)
        (place.ws / "a").write_text("2\n")
        again = differences(read_spool(place.spool, 1), {str(place.ws): root})
        lost = differences(read_spool(place.spool, 0), {str(place.ws): root})
    assert [(one.path, one.before.content, one.after.content) for one in again] == [("a", b"1\n", b"2\n")]
    assert [(one.path, one.before.kind) for one in lost] == [("a", "nothing"), ("b", "nothing")]


async def test_a_torn_last_record_belongs_to_a_change_that_never_happened(place: Place) -> None:
    (place.ws / "a").write_text("old\n")
    await place.run("echo new > a; echo new > b")
    whole = place.spool.read_bytes()
    images_of = [*place.read().images.items()]
    for size in range(len(whole)):
        place.spool.write_bytes(whole[:size])
        assert [*place.read().images.items()] == images_of[: len(place.read().images)]
        assert not place.read().ended


async def test_time_that_is_up_ends_a_command_that_waits_for_the_recorder(place: Place) -> None:
    done = await place.run("while :; do : > x; done", timeout=0.5)
    assert done.timed_out
    assert place.read().images


async def test_a_cancelled_command_leaves_no_process(place: Place) -> None:
    tag = str(7000 + os.getpid() / 1e9)
    task = asyncio.ensure_future(place.run(f"setsid sleep {tag} & sleep {tag}"))
    await until(lambda: len(processes(tag)) > 1)
    task.cancel()
    await asyncio.wait({task})
    await until(lambda: not processes(tag))


async def test_commands_die_with_the_recorder_and_the_next_one_gets_another(place: Place) -> None:
    tag = str(8000 + os.getpid() / 1e9)
    record = Record(place.recording, place.spool, (str(place.ws),))
    job = await begin(
        Command(shell(f"echo 1 > b; mv b a; sleep {tag}"), place.ws, {"PATH": "/bin"}, record=record)
    )
    await until((place.ws / "a").exists)
    recorder = place.recording._process
    assert recorder is not None
    os.kill(recorder.pid, signal.SIGKILL)
    await job.wait(10)
    await until(lambda: not processes(tag))
    await job.kill()
    assert job.completed().exit_code == 137
    assert list(place.changes()) == ["a"]
    assert not place.read().ended
    assert (await place.run("echo 2 > b", spool="next")).exit_code == 0
    assert list(place.changes("next")) == ["b"]


async def test_a_command_that_nothing_contains_dies_with_the_recorder(place: Place) -> None:
    """No first process looks whether the recorder lives: the kernel's death signal ends what the recorder
    started, and we end its children."""
    tag = str(8500 + os.getpid() / 1e9)
    record = Record(place.recording, place.spool, (str(place.ws),))
    level = Containment.PROCESS_GROUP
    words = ["/usr/bin/sleep", tag]
    job = await begin(Command(words, place.ws, {"PATH": "/bin"}, level=level, record=record))
    await until(lambda: processes(tag))
    recorder = place.recording._process
    assert recorder is not None
    leader = os.pidfd_open(job.pid)
    os.kill(recorder.pid, signal.SIGKILL)
    try:
        poll = select.poll()
        poll.register(leader, select.POLLIN)
        assert poll.poll(20_000)  # the loop is held up: this one was not killed by us
        await until(lambda: not processes(tag))
    finally:
        for pid in processes(tag):
            os.kill(pid, signal.SIGKILL)
        os.close(leader)
        await job.kill()


async def test_a_command_that_is_cancelled_before_the_recorder_answers_is_ended(place: Place) -> None:
    tag = str(8600 + os.getpid() / 1e9)
    recorder = place.recording._process
    assert recorder is not None
    os.kill(recorder.pid, signal.SIGSTOP)
    try:
        task = asyncio.ensure_future(place.run(f"sleep {tag}", spool="cut"))
        await until(place.spool.with_name("cut").exists)
        task.cancel()
        await asyncio.wait({task})
    finally:
        os.kill(recorder.pid, signal.SIGCONT)
    # The recorder takes one request after the other: the first one was started by now, and let go of.
    assert (await place.run("true")).exit_code == 0
    try:
        await until(lambda: not processes(tag))
    finally:
        for pid in processes(tag):
            os.kill(pid, signal.SIGKILL)


@pytest.mark.parametrize(
    "header",
    [
        b"[1]",
        b"7",
        b'{"path": "%s", "kind": []}',
        b'{"path": "%s", "mode": "y"}',
        b'{"path": "%s\\u0000"}',
        b"[" * 100_000,
    ],
)
async def test_a_record_that_nobody_wrote_so_ends_the_spool(place: Place, header: bytes) -> None:
    """A command without a sandbox can write there; a session that has such a file is opened all the same."""
    await place.run("echo new > a")
    header = header.replace(b"%s", os.fsencode(place.ws / "forged"))
    with place.spool.open("ab") as file:
        file.write(struct.pack("!IQ", len(header), 0) + header)
    assert list(place.changes()) == ["a"]


async def test_the_end_of_the_session_ends_its_commands(place: Place) -> None:
    tag = str(9000 + os.getpid() / 1e9)
    record = Record(place.recording, place.spool, (str(place.ws),))
    job = await begin(Command(shell(f"sleep {tag}"), place.ws, {"PATH": "/bin"}, record=record))
    await place.recording.aclose()
    await until(lambda: not processes(tag))
    await job.kill()


async def test_what_can_not_be_started_is_an_error_as_without_a_recorder(place: Place) -> None:
    record = Record(place.recording, place.spool, (str(place.ws),))
    with pytest.raises(ProcessError) as refused:
        await run(Command(shell("x" * 200_000), place.ws, {"PATH": "/bin"}, record=record), 5)
    assert refused.value.err.kind is ErrorKind.INVALID_ARGS


@pytest.mark.skipif(sandbox_program() is None, reason="bubblewrap is not installed")
async def test_the_sandbox_holds_for_a_recorded_command(place: Place) -> None:
    ws = (str(place.ws),)
    rights = Confinement(Mode.WORKSPACE, ws, ws)
    done = await place.run(f"echo 1 > in; echo 2 > {place.out}/x; mkdir .planck; id -u", rights)
    assert "Read-only file system" in done.output
    assert list(place.changes()) == ["in"]
    assert [path.name for path in place.ws.iterdir()] == ["in"]
    assert list(place.out.iterdir()) == []


async def test_a_second_listener_is_refused_and_the_reason_is_told(place: Place) -> None:
    """A command that is recorded starts a recorder of its own, as a Planck in a command of Planck does."""
    source = str(Path(__file__).parents[3] / "src")
    script = (
        "import asyncio, sys; sys.path[:0] = sys.argv[1:]\n"
        "from planck.workspace.recording.client import SeccompRecording\n"
        "print(asyncio.run(SeccompRecording().prepare()))\n"
    )
    packages = [path for path in sys.path if "site-packages" in path]
    record = Record(place.recording, place.spool, (str(place.ws),))
    argv = [sys.executable, "-c", script, source, *packages]
    done = await run(Command(argv, place.ws, {"PATH": "/bin"}, record=record), 30)
    assert done.output.strip() == explain(errno.EBUSY)


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (errno.EBUSY, "listener is in force here already"),
        (errno.EINVAL, "needs Linux 5.5 or later"),
        (errno.ENOSYS, "needs Linux 5.5 or later"),
        (errno.EACCES, "ptrace_scope must be 0 or 1"),
        (errno.EPERM, "ptrace_scope must be 0 or 1"),
    ],
)
def test_each_reason_has_its_words(number: int, words: str) -> None:
    assert words in explain(number)


async def test_a_machine_with_unknown_system_calls_is_told() -> None:
    assert make_filter("sparc") is None


@pytest.mark.parametrize("machine", ["x86_64", "aarch64", "riscv64"])
def test_the_filter_of_each_machine_is_a_sound_program(machine: str) -> None:
    """Every jump stays in the program, and every way ends in an answer."""
    found = make_filter(machine)
    assert found is not None
    steps = [found.program[at : at + 8] for at in range(0, len(found.program), 8)]
    assert len(steps) < 4096
    for at, one in enumerate(steps):
        code, yes, no, k = struct.unpack("<HBBI", one)
        if code == 0x05:
            assert at + 1 + k < len(steps)
        elif code & 0x07 == 0x05:
            assert at + 1 + max(yes, no) < len(steps)
    assert steps[-1][:2] == b"\x06\0"


async def test_a_recorder_that_can_not_start_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/nonexistent/python")
    recording = SeccompRecording()
    assert "the recorder did not start" in await recording.prepare()
    await recording.aclose()
