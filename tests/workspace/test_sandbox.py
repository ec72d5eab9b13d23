"""The enforcement table of security.md §3.1 on the real kernel: each row and mode, as root and as nobody."""

import asyncio
import fcntl
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from planck.records.authority import Confinement, Mode
from planck.records.outcome import ErrorKind
from planck.workspace.process.containment import sandbox_program
from planck.workspace.process.environment import allowed
from planck.workspace.process.process import MAX_PROCESSES, Command, ProcessError, run, shell, start
from planck.workspace.sandbox.bubblewrap import Bubblewrap
from planck.workspace.sandbox.landlock import Landlock
from planck.workspace.sandbox.sandbox import SandboxError, find, probe, wrap
from tests.workspace.place import NOBODY, Place

pytestmark = [
    pytest.mark.skipif(sandbox_program() is None, reason="bubblewrap is not installed"),
]

PROBE = Path(__file__).with_name("sandbox_probe.py")
ALLOWED = {
    Mode.READ_ONLY: {"private_temp", "read_outside", "a_pair"},
    Mode.WORKSPACE: {"private_temp", "read_outside", "a_pair", "write_inside"},
}


@pytest.fixture
def servers(place: Place) -> Iterator[dict[str, Any]]:
    """Listeners on every kind of socket; the datagram one answers."""
    tcp, udp = socket.create_server(("127.0.0.1", 0)), socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    udp.bind(("127.0.0.1", 0))
    abstract, path = socket.socket(socket.AF_UNIX), socket.socket(socket.AF_UNIX)
    name = f"planck-test-{os.getpid()}"
    abstract.bind(f"\0{name}")
    path.bind(str(place.out / "socket"))
    os.chmod(place.out / "socket", 0o777)
    abstract.listen()
    path.listen()
    renamed, datagrams = socket.socket(socket.AF_UNIX), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    renamed.bind(str(place.out / "first"))
    renamed.listen()
    os.rename(place.out / "first", place.out / "under-another-name")
    datagrams.bind(str(place.out / "datagrams"))
    for one in ("under-another-name", "datagrams"):
        os.chmod(place.out / one, 0o777)

    (place.out / "deep").mkdir()
    os.mkfifo(place.out / "deep/pipe")
    for one in ("deep", "deep/pipe"):
        os.chmod(place.out / one, 0o777)
    pipe = os.open(place.out / "deep/pipe", os.O_RDWR)
    os.write(pipe, b"waiting")

    def echo() -> None:
        while (found := udp.recvfrom(16))[0] == b"ping":
            udp.sendto(b"pong", found[1])

    thread = threading.Thread(target=echo)
    thread.start()
    yield {"tcp": tcp.getsockname()[1], "udp": udp.getsockname()[1], "abstract": name}
    udp.sendto(b"end", udp.getsockname())
    thread.join()
    os.close(pipe)
    for server in (tcp, udp, abstract, path, renamed, datagrams):
        server.close()


@pytest.fixture
def plan(place: Place, servers: dict[str, Any], tmp_path: Path) -> dict[str, Any]:
    (tmp_path / "temp").touch()
    paths = {"ws": place.ws, "out": place.out, "secrets": place.secrets, "netrc": place.netrc}
    named = {name: str(path) for name, path in paths.items()}
    return {**named, **servers, "pid": os.getpid(), "temp": str(tmp_path / "temp")}


@pytest.mark.parametrize("mode", [Mode.READ_ONLY, Mode.WORKSPACE])
async def test_only_what_the_mode_allows_succeeds(place: Place, plan: dict[str, Any], mode: Mode) -> None:
    before = place.digest(place.out), place.digest(place.ws / ".git")
    found = await _probe(place, plan, mode)
    assert {name for name, succeeded in found.items() if succeeded} == ALLOWED[mode]
    assert len(found) >= 60
    assert (place.digest(place.out), place.digest(place.ws / ".git")) == before
    left = {path.name for path in place.ws.iterdir()}
    made = {"inside", "made.json"} if mode is Mode.WORKSPACE else set()
    assert left == {".git", "vendor", "tree", "mine", "link-to-out"} | made


async def test_the_probe_would_notice(place: Place, plan: dict[str, Any]) -> None:
    """Without the sandbox the same actions succeed: the table is not empty by a mistake of the probe."""
    wanted = ["write_absolute", "write_through_a_link", "write_a_git_hook", "make_planck", "write_mcp_json"]
    wanted += ["chmod_outside", "touch_outside", "truncate_outside", "unlink_outside", "rename_out"]
    wanted += ["tcp", "udp", "an_abstract_socket", "a_socket_outside", "read_a_masked_folder"]
    wanted += ["empty_a_pipe_outside", "write_to_a_pipe_outside"]
    wanted += ["a_socket_under_another_name", "a_datagram_by_name", "a_datagram_from_a_pair", "add_key"]
    argv = [_python(place), str(_copied(place)), json.dumps({**plan, "only": wanted})]
    done = await run(Command(argv, place.ws, {"PATH": "/usr/bin:/bin"}), timeout=30)
    assert [name for name, succeeded in json.loads(done.output).items() if not succeeded] == []


async def test_a_rule_may_give_the_network_and_nothing_else(place: Place, plan: dict[str, Any]) -> None:
    found = await _probe(place, plan, Mode.WORKSPACE, network=True)
    network = {"tcp", "mptcp", "udp"}
    succeeded = {name for name, ok in found.items() if ok}
    assert succeeded - network == ALLOWED[Mode.WORKSPACE]
    assert {"tcp", "udp"} <= succeeded


async def test_landlock_runs_what_changes_nothing_and_refuses_the_rest(
    place: Place, plan: dict[str, Any], tmp_path: Path
) -> None:
    """The second backend: it hides by not granting, so that existence can be seen, and content can't."""
    try:
        landlock = Landlock()
    except SandboxError as missing:
        pytest.skip(missing.err.message)
    assert probe(landlock) == ""
    with pytest.raises(SandboxError):
        landlock.wrap(place.rights(Mode.WORKSPACE))
    before = place.digest(place.base / "out"), place.digest(place.ws)
    argv = [_python(place), str(_copied(place)), json.dumps(plan)]
    wrapped = landlock.wrap(place.rights(Mode.READ_ONLY))
    try:
        done = subprocess.run(
            [*wrapped.prefix, *argv],
            cwd=place.ws,
            env={"PATH": "/usr/bin:/bin"},
            capture_output=True,
            check=False,
            timeout=60,
        )
    finally:
        wrapped.release()
    assert done.returncode == 0, done.stderr
    succeeded = {name for name, ok in json.loads(done.stdout).items() if ok}
    assert succeeded <= {
        "read_outside",
        "see_the_real_temp",
        "a_pair",
        "an_unlimited_place",
        "fill_the_memory",
    }
    assert "read_outside" in succeeded
    assert (place.digest(place.base / "out"), place.digest(place.ws)) == before


ESCAPES = (
    "git stash", "git -C . commit --allow-empty -m x", "git init sub", "git config user.name x", "git gc",
    "git -c core.fsmonitor='touch fsmonitor' status", "git -c core.pager='touch pager' -p log",
    "git -c alias.x='!touch alias' x", "git diff --output=diff", "git format-patch -o . HEAD~1",
    "sort -o sorted mine",
    "rg --pre 'touch pre' x .", "find . -fprint found", "find . -exec touch executed ';'",
    "find . -name mine -delete", "env -S 'touch env'", "echo x > redirected", "echo x >> mine", ": > mine",
    "echo $(touch substituted)", "echo `touch backticks`", "cat <<E > here\nx\nE", "cat <<< x > string",
    "exec 3<>opened", "bash -c 'touch nested'", "sh -c \"touch nested2\"", "tee teed < mine",
    "sed -i s/m/n/ mine",
    "awk 'BEGIN{print 1 > \"awked\"}'",
    "perl -e 'open F, \">\", \"perled\"'", "python3 -c 'open(\"py\",\"w\")'",
    "dd if=mine of=dd", "cp mine copied", "mv mine moved", "rm -rf mine", "ln mine hard", "ln -s mine soft",
    "mkdir made", "touch touched", "truncate -s 0 mine", "install mine installed", "tar cf t.tar mine",
    "xargs touch <<< xargs", "printf 'x' | tee piped", "touch a & wait", "(touch subshell)",
    "{ touch braced; }",
    "if true; then touch iffed; fi", "f() { touch function; }; f", "eval touch evaluated", "chmod 777 mine",
    "touch $HOME/planck-home", "touch ../beside", "touch /var/tmp/../../opt/x", "mkfifo pipe",
    "patch -o p mine",
    "ed -s mine <<< w", "split mine", "csplit -f cs mine 1", "gzip mine", "unlink mine", "rmdir vendor",
    "script -c true typescript", "strings mine > s", "mount --bind /tmp .", "nsenter -t 1 -m touch ns",
    "unshare -Ur touch unshared", "chroot / touch rooted", "setpriv --reuid 0 touch priv", "sudo touch sudo",
)  # fmt: skip


async def test_read_only_holds_against_what_broke_others(place: Place) -> None:
    """All of them in one command line; none may leave a trace anywhere outside the private temp folders."""
    if shutil.which("git"):
        subprocess.run(["git", "init", "-q", str(place.ws / "repo")], check=True)
    before = place.digest(place.base)
    script = "\n".join(f"( {command}\n) > /dev/null 2>&1 || true" for command in ESCAPES)
    done = await place.run(Mode.READ_ONLY, f"{script}\ncd repo 2>/dev/null\n{script}\necho survived")
    assert done.output.strip() == "survived"
    assert place.digest(place.base) == before


async def test_absent_names_leave_no_trace_also_when_commands_overlap(place: Place) -> None:
    """Whichever begins or ends first: the protection stays until the last, and then nothing is left."""
    early, late = wrap(place.rights(Mode.WORKSPACE)), wrap(place.rights(Mode.WORKSPACE))
    subprocess.run([*early.prefix, "true"], check=True, cwd=place.ws, pass_fds=early.passed)
    early.release()
    assert (place.ws / ".planck").is_dir()
    joining = wrap(place.rights(Mode.WORKSPACE))
    late.release()
    assert (place.ws / ".planck").is_dir()
    joining.release()
    for fd in (*early.passed, *late.passed, *joining.passed):
        os.close(fd)
    assert {path.name for path in place.ws.glob(".*")} == {".git"}


async def test_one_command_can_not_end_the_protection_of_another(place: Place) -> None:
    entered = place.ws / "entered"
    rights = place.rights(Mode.WORKSPACE)
    environment = allowed({})
    slow = start(
        Command(
            shell(
                "touch entered; while [ ! -e go ]; do sleep 0.02; done; "
                "mkdir .planck/x .agents/y; : > .mcp.json"
            ),
            place.ws,
            environment,
            confinement=rights,
        )
    )
    try:
        async with asyncio.timeout(30):
            while not entered.exists():
                await asyncio.sleep(0.01)
        await place.run(Mode.WORKSPACE, "true")
        assert (place.ws / ".planck").is_dir()
        (place.ws / "go").touch()
        assert await slow.wait(30)
    finally:
        await slow.kill()
    assert "Read-only file system" in slow.completed().output
    assert {path.name for path in place.ws.glob(".*")} == {".git"}


async def test_who_has_no_lock_removes_nothing_and_neither_does_anybody_beside_it(place: Place) -> None:
    """An outside program holds the folder's lock when a command starts; the protection of that one stays."""
    rights = place.rights(Mode.WORKSPACE)
    holder = os.open(place.ws, os.O_RDONLY)
    fcntl.flock(holder, fcntl.LOCK_EX)
    wait = "touch entered; while [ ! -e go ]; do sleep 0.02; done; mkdir .planck/x .agents/y; : > .mcp.json"
    slow = start(Command(shell(wait), place.ws, allowed({}), confinement=rights))
    try:
        async with asyncio.timeout(30):
            while not (place.ws / "entered").exists():
                await asyncio.sleep(0.01)
        await place.run(Mode.WORKSPACE, "true")
        assert (place.ws / ".planck").is_dir()
        os.close(holder)
        await place.run(Mode.WORKSPACE, "true")
        assert (place.ws / ".planck").is_dir()
        (place.ws / "go").touch()
        assert await slow.wait(30)
    finally:
        await slow.kill()
    assert slow.completed().output.count("Read-only file system") == 2
    assert "line 1: .mcp.json: " in slow.completed().output
    await place.run(Mode.WORKSPACE, "true")
    assert {path.name for path in place.ws.glob(".*")} == {".git"}


async def test_what_is_shown_of_a_private_place_shows_no_secret(place: Place) -> None:
    """A peer sees what it is made of; `/tmp` as a whole and what is masked below stay away."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder, socket.socket(socket.AF_UNIX) as open_one:
        shown = Path(folder, "shown")
        shown.mkdir()
        for name in ("file", "secret"):
            (shown / name).write_text(f"{name}\n")
        open_one.bind(str(shown / "open"))
        open_one.listen()
        for path in (Path(folder), *shown.iterdir()):
            path.chmod(0o755)
        os.chmod(shown / "open", 0o777)
        rights = Confinement(
            Mode.READ_ONLY,
            (str(place.ws),),
            masked=(str(shown / "secret"),),
            seen=("/tmp", str(shown), str(shown / "open"), "/tmp/gone"),
        )
        look = "cat file; cat secret 2>&1; ls /tmp; touch new 2>&1"
        done = await run(Command(shell(f"cd {shown}; {look}"), place.ws, {}, confinement=rights), timeout=30)
    assert done.output.splitlines()[0] == "file"
    assert "secret\n" not in done.output.splitlines(keepends=True)
    assert done.output.splitlines().count(Path(folder).name) == 1
    assert len(done.output.splitlines()) == 4
    assert done.output.endswith("Read-only file system\n")


async def test_a_sandbox_that_can_not_be_set_up_is_an_error_and_no_exit_code(place: Place) -> None:
    gone = replace(place.rights(Mode.WORKSPACE), roots=(str(place.ws), str(place.base / "gone")))
    with pytest.raises(ProcessError) as refused:
        await run(Command(shell("touch ran"), place.ws, {}, confinement=gone), timeout=30)
    assert refused.value.err.kind is ErrorKind.SANDBOX_UNAVAILABLE
    assert str(place.base / "gone") in refused.value.err.message
    assert not (place.ws / "ran").exists()


async def test_a_folder_of_the_user_is_never_taken_for_a_stub(place: Place) -> None:
    (place.ws / ".agents").mkdir()
    await place.run(Mode.WORKSPACE, "true")
    assert (place.ws / ".agents").is_dir()


async def test_what_a_killed_runtime_left_in_the_workspace_goes_with_the_next_command(place: Place) -> None:
    script = f"""
import asyncio, os, sys
from planck.records.authority import Confinement, Mode
from planck.workspace.process.process import Command, shell, start
async def main():
    rights = Confinement(Mode.WORKSPACE, ({str(place.ws)!r},), ({str(place.ws)!r},))
    start(Command(shell("touch began; sleep 60"), {str(place.ws)!r}, {{}}, confinement=rights))
    while not os.path.exists({str(place.ws / "began")!r}):
        await asyncio.sleep(0.01)
    os.kill(os.getpid(), 9)
asyncio.run(main())
"""
    killed = await asyncio.create_subprocess_exec(sys.executable, "-c", script)
    assert await killed.wait() == -signal.SIGKILL
    left = {path.name for path in place.ws.glob(".*")}
    assert left == {".git", ".planck", ".agents", ".mcp.json"}
    (place.ws / ".agents" / "mine").touch()  # the user took it over
    assert (await place.run(Mode.WORKSPACE, "true")).exit_code == 0
    assert {path.name for path in place.ws.glob(".*")} == {".git", ".agents"}


async def test_a_protected_link_can_not_be_protected_so_nothing_runs(place: Place) -> None:
    (place.ws / ".planck").symlink_to("mine")
    with pytest.raises(SandboxError) as refused:
        await place.run(Mode.WORKSPACE, "touch ran")
    assert refused.value.err.kind is ErrorKind.SANDBOX_UNAVAILABLE
    assert not (place.ws / "ran").exists()
    assert (await place.run(Mode.READ_ONLY, "echo fine")).exit_code == 0


@pytest.mark.parametrize("root", ["/", "/proc/self/cwd"])
async def test_a_root_that_is_everything_or_a_link_is_refused(root: str) -> None:
    with pytest.raises(SandboxError):
        await run(
            Command(shell("true"), Path("/"), {}, confinement=Confinement(Mode.WORKSPACE, (root,), (root,))),
            timeout=5,
        )


def test_a_root_that_holds_the_program_which_confines_is_refused(tmp_path: Path) -> None:
    program = tmp_path / "bin" / "bwrap"
    program.parent.mkdir()
    shutil.copy(sandbox_program() or "", program)
    roots = (str(tmp_path),)
    with pytest.raises(SandboxError, match="could replace it"):
        Bubblewrap(str(program)).wrap(Confinement(Mode.WORKSPACE, roots, roots))


async def test_a_commands_processes_are_counted_and_bounded_for_itself(place: Place) -> None:
    """P6: the limit is set, it holds, and what other commands of the same user run does not count."""
    assert (await place.run(Mode.READ_ONLY, "ulimit -Hu; ulimit -Su")).output == f"{MAX_PROCESSES}\n" * 2
    if place.ws.stat().st_uid == 0:
        return  # the kernel exempts root
    begin = "ulimit -u 40; i=0; while [ $i -lt {} ]; do sleep 30 & i=$((i+1)); done; echo {} of them"
    both = await asyncio.gather(*(place.run(Mode.WORKSPACE, begin.format(30, 30)) for _ in range(3)))
    assert [done.output for done in both] == ["30 of them\n"] * 3
    bomb = await run(
        Command(
            shell(begin.format(100, 100)), place.ws, allowed({}), confinement=place.rights(Mode.WORKSPACE)
        ),
        timeout=1,
    )
    assert bomb.timed_out
    assert "Resource temporarily unavailable" in bomb.output


async def test_nothing_survives_the_command_or_its_time(place: Place) -> None:
    tag = f"31{os.getpid()}"
    payload = f"setsid sleep {tag} & (setsid nohup sleep {tag} >/dev/null 2>&1 &) ; "
    assert (await place.run(Mode.WORKSPACE, payload)).exit_code == 0
    done = await run(
        Command(
            shell(f"{payload} trap '' TERM; sleep {tag}"),
            place.ws,
            allowed({}),
            confinement=place.rights(Mode.WORKSPACE),
        ),
        timeout=0.5,
    )
    assert done.timed_out
    assert _alive(tag) == []


async def test_commands_die_with_the_runtime(place: Place) -> None:
    """kill -9 of the process that runs them: nobody is left to clean up, and nothing is left."""
    tag = f"32{os.getpid()}"
    code = f"""
import asyncio
from pathlib import Path
from planck.records.authority import Confinement, Mode
from planck.workspace.process.process import Command, run, shell
ws = {str(place.ws)!r}
asyncio.run(run(Command(shell("touch entered; setsid sleep {tag} & sleep {tag}"), Path(ws),
    {{"PATH": "/usr/bin:/bin"}}, Confinement(Mode.WORKSPACE, (ws,), (ws,))), timeout=60))
"""
    runtime = await asyncio.create_subprocess_exec(sys.executable, "-c", code)
    async with asyncio.timeout(30):
        while len(_alive(tag)) < 2:
            await asyncio.sleep(0.01)
        runtime.send_signal(signal.SIGKILL)
        await runtime.wait()
        while _alive(tag):
            await asyncio.sleep(0.01)


def test_the_backend_was_found_by_trying_it() -> None:
    found = find()
    assert found.sandbox is not None, found.problems
    assert (found.sandbox.level, found.problems) == ("bubblewrap", ())


async def _probe(place: Place, plan: dict[str, Any], mode: Mode, **more: Any) -> dict[str, bool]:
    done = await run(
        Command(
            [_python(place), str(_copied(place)), json.dumps(plan)],
            place.ws,
            allowed({"PATH": "/usr/bin:/bin", "FOO_API_KEY": "canary"}),
            confinement=place.rights(mode, **more),
        ),
        timeout=60,
    )
    assert done.exit_code == 0, done.output
    found: dict[str, bool] = json.loads(done.output)
    return found


def _copied(place: Place) -> Path:
    """Where the sandbox's user can read it, outside the workspace."""
    path = place.base / "probe.py"
    if not path.exists():
        shutil.copy(PROBE, path)
        path.chmod(0o644)
    return path


def _python(place: Place) -> str:
    """One that the owner of the place can start: root's own may lie in root's home.

    The real file, not the virtual environment's link: a clone under /tmp is hidden by the sandbox's own /tmp.
    """
    if place.ws.stat().st_uid == os.geteuid():
        return os.path.realpath(sys.executable)
    for python in ("/usr/bin/python3", "/usr/local/bin/python3", sys.executable):
        argv = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", python, "-c", ""]
        if Path(python).exists() and subprocess.run(argv, capture_output=True, check=False).returncode == 0:
            return python
    pytest.skip("no python that nobody can run")


def _alive(tag: str) -> list[str]:
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if b"sleep" in words and tag.encode() in words:
            found.append(folder.name)
    return found


@pytest.mark.parametrize("mode", [Mode.READ_ONLY, Mode.WORKSPACE])
async def test_roots_below_the_private_folders_are_seen_and_only_the_writable_written(
    tmp_path: Path, mode: Mode
) -> None:
    mine, other = tmp_path / "mine", tmp_path / "other"
    for folder in (mine, other):
        folder.mkdir()
        (folder / "file").write_text("seen\n")
    writable = (str(mine),) if mode is Mode.WORKSPACE else ()
    done = await run(
        Command(
            shell(f"cat {mine}/file {other}/file; echo x > {mine}/new; echo x > {other}/new"),
            mine,
            allowed({}),
            confinement=Confinement(mode, (str(mine), str(other)), writable),
        ),
        timeout=30,
    )
    assert done.output.startswith("seen\nseen\n")
    assert (mine / "new").exists() is (mode is Mode.WORKSPACE)
    assert not (other / "new").exists()
