"""Attacks P1-P23 of security.md §2.3 on the process runner: real processes, found again by scanning /proc."""

import asyncio
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path
from random import Random

import pytest

from planck.records.outcome import ErrorKind
from planck.workspace.process.containment import Containment, containment, sandbox_program
from planck.workspace.process.environment import allowed
from planck.workspace.process.jobs import Jobs
from planck.workspace.process.process import Command, Completed, ProcessError, run, shell, start
from tests.memory import growth
from tests.tools.room import open_folder, processes, until

ENV = allowed({"PATH": os.environ["PATH"]})

ESCAPES = {
    "plain child": "sleep {tag} & wait",
    "ignores TERM": "trap '' TERM INT HUP; sleep {tag} & while :; do sleep 0.05; done",
    "nohup and disown": "nohup sleep {tag} >/dev/null 2>&1 & disown; sleep {tag}",
    "setsid": "setsid sleep {tag} & setsid -f sleep {tag}; sleep {tag}",
    "double fork": (
        "python3 -c 'import os,sys\n"
        'if os.fork() == 0:\n os.setsid()\n if os.fork() == 0: os.execvp("sleep", ["sleep", sys.argv[1]])\n'
        "' {tag}; sleep {tag}"
    ),
    "own group": (
        "python3 -c 'import os,sys\n"
        'if os.fork() == 0:\n os.setpgid(0, 0); os.execvp("sleep", ["sleep", sys.argv[1]])\n'
        "' {tag}; sleep {tag}"
    ),
}
SLEEPERS = {
    "plain child": 1,
    "ignores TERM": 1,
    "nohup and disown": 2,
    "setsid": 3,
    "double fork": 2,
    "own group": 2,
}


def a_tag() -> str:
    """A number of seconds that no other process sleeps for."""
    return f"{3000 + int.from_bytes(os.urandom(3), 'big')}.{int.from_bytes(os.urandom(4), 'big')}"


async def bash(script: str, tmp_path: Path, timeout: float = 20.0, **options: object) -> Completed:
    return await run(Command(shell(script), tmp_path, ENV, **options), timeout=timeout)  # type: ignore[arg-type]


async def gone(tag: str) -> list[int]:
    """What is left after a moment: a killed process may still be on its way out."""
    for _ in range(100):
        if not processes(tag):
            return []
        await asyncio.sleep(0.02)
    return processes(tag)


def test_commands_are_contained_here() -> None:
    assert containment() is Containment.PID_NAMESPACE


@pytest.mark.parametrize("name", ESCAPES)
async def test_ten_timeouts_of_an_escaping_command_leave_no_process(name: str, tmp_path: Path) -> None:
    """P1, P2, P3: 60 timeouts over six payloads, four at a time, each once all its sleepers are away."""
    slots = asyncio.Semaphore(4)

    async def once() -> None:
        tag = a_tag()
        async with slots:
            script = shell(ESCAPES[name].format(tag=tag))
            job = start(Command(script, tmp_path, ENV))
            try:
                await until(lambda: len(_sleeping(tag)) == SLEEPERS[name])
                ended = await job.wait(0.05)
            finally:
                await job.kill()
        assert (ended, await gone(tag)) == (False, [])

    await asyncio.gather(*(once() for _ in range(10)))


async def test_a_command_that_ran_out_of_time_is_told_and_leaves_no_process(tmp_path: Path) -> None:
    tag = a_tag()
    done = await bash(ESCAPES["ignores TERM"].format(tag=tag), tmp_path, timeout=0.2)
    assert (done.timed_out, done.exit_code) == (True, None)
    assert await gone(tag) == []


@pytest.mark.soak
@pytest.mark.parametrize("name", ESCAPES)
async def test_a_thousand_timeouts_of_an_escaping_command_leave_no_process(name: str, tmp_path: Path) -> None:
    tag = a_tag()
    slots = asyncio.Semaphore(4)

    async def once(number: int) -> None:
        async with slots:  # from before the command exists to long after
            await bash(ESCAPES[name].format(tag=tag), tmp_path, timeout=(number % 50) / 250)

    await asyncio.gather(*(once(number) for number in range(1000)))
    assert await gone(tag) == []


async def test_a_command_that_ends_takes_what_it_left_in_the_background_along(tmp_path: Path) -> None:
    """P4: the escaped child holds stdout; the result comes when the command ends, not at the pipe's end."""
    tag = a_tag()
    done = await bash(f"setsid sleep {tag} & echo started; exit 3", tmp_path)
    assert (done.exit_code, done.output, done.timed_out) == (3, "started\n", False)
    assert await gone(tag) == []


async def test_without_a_namespace_the_group_is_killed_and_a_held_pipe_is_not_waited_for(
    tmp_path: Path,
) -> None:
    """The last rung says that it does not contain; it returns though an escaped child holds the pipe."""
    tag = a_tag()
    away = f"setsid sh -c 'echo > away; exec sleep {tag}'"
    script = f"sleep {tag} & {away} & until [ -s away ]; do :; done; echo out; exit 0"
    done = await bash(script, tmp_path, level=Containment.PROCESS_GROUP)
    try:
        assert (done.exit_code, done.output, done.containment) == (0, "out\n", Containment.PROCESS_GROUP)
        await until(lambda: len(processes(tag)) == 1)  # the one that left the group
    finally:
        for pid in processes(tag):
            os.kill(pid, signal.SIGKILL)


async def test_without_a_namespace_a_timeout_kills_the_group(tmp_path: Path) -> None:
    tag = a_tag()
    done = await bash(
        f"trap '' TERM; sleep {tag} & sleep {tag}", tmp_path, 0.2, level=Containment.PROCESS_GROUP
    )
    assert done.timed_out
    assert await gone(tag) == []


async def test_cancelling_kills_before_the_cancellation_goes_on(tmp_path: Path) -> None:
    tag = a_tag()
    task = asyncio.ensure_future(bash(f"setsid sleep {tag} & sleep {tag}", tmp_path))
    await until(lambda: _sleeping(tag))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await gone(tag) == []


async def test_the_children_die_when_the_runtime_is_killed(tmp_path: Path) -> None:
    """P22: kill -9 on the runtime while a contained command and its escaped children run."""
    tag = a_tag()
    program = textwrap.dedent(
        """
        import asyncio, sys
        from pathlib import Path
        from planck.workspace.process.environment import allowed
        from planck.workspace.process.process import Command, run, shell
        script = f"setsid sleep {sys.argv[1]} & nohup sleep {sys.argv[1]} & sleep {sys.argv[1]}"
        asyncio.run(run(Command(shell(script), Path("."), allowed({})), timeout=600))
        """
    )
    runtime = subprocess.Popen([sys.executable, "-c", program, tag], cwd=tmp_path)
    try:
        await until(lambda: len(_sleeping(tag)) == 3)
    finally:
        runtime.kill()
        runtime.wait()
    assert await gone(tag) == []


STORM = """
import asyncio, os, sys
from pathlib import Path
from planck.records.authority import Confinement, Mode
from planck.workspace.process.environment import allowed
from planck.workspace.process.process import Command, run, shell
here = os.path.realpath(".")
rights = Confinement(Mode.WORKSPACE, (here,), (here,)) if sys.argv[2] == "sandbox" else None
async def command(timeout):
    script = shell(f"sleep {sys.argv[1]}")
    await run(Command(script, Path(here), allowed({}), confinement=rights), timeout=timeout)
async def storm():
    while True:
        await command(0.006)
async def main():
    await command(0.1)
    print("up", flush=True)
    await asyncio.gather(*(storm() for _ in range(4)))
asyncio.run(main())
"""
NEEDS_BUBBLEWRAP = pytest.mark.skipif(sandbox_program() is None, reason="bubblewrap is not installed")


@pytest.mark.serial
@pytest.mark.parametrize("kills", [10, pytest.param(300, marks=pytest.mark.soak)])
@pytest.mark.parametrize("where", ["namespace", pytest.param("sandbox", marks=NEEDS_BUBBLEWRAP)])
async def test_a_runtime_killed_while_it_spawns_leaves_nobody(
    kills: int, where: str, seed: int, tmp_path: Path
) -> None:
    """P22 at its worst: killed at a random moment between fork, exec and the setting of the death signals.

    Without the look at the runtime from inside, 24 of 60 such kills left a process (bubblewrap: 6 of 30).
    """
    print(f"seed {seed}")
    random = Random(seed)
    slots = asyncio.Semaphore(2)

    survivors: list[int] = []
    storms = 0

    async def once() -> None:
        nonlocal storms
        tag = a_tag()
        async with slots:
            runtime = await asyncio.create_subprocess_exec(
                *(sys.executable, "-c", STORM, tag, where), cwd=tmp_path, stdout=subprocess.PIPE
            )
            assert runtime.stdout is not None
            try:
                said = await runtime.stdout.readline()
                storms += said == b"up\n"
                await asyncio.sleep(random.random() / 10)
            finally:
                if runtime.returncode is None:
                    runtime.kill()
                await runtime.communicate()
            survivors.extend(await gone(tag))

    async with asyncio.TaskGroup() as group:
        for _ in range(kills):
            group.create_task(once())
    assert survivors == []
    assert storms > kills / 2, "a runtime may find no sandbox on a busy machine; most must"


def _sleeping(tag: str) -> list[int]:
    return [pid for pid in processes(tag) if _name(pid) == "sleep"]


def _name(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""


async def test_a_background_job_runs_on_until_its_owner_closes(tmp_path: Path) -> None:
    """P5."""
    tag = a_tag()
    jobs = Jobs()
    await jobs.add("one", start(Command(shell(f"sleep {tag} & sleep {tag}"), tmp_path, ENV)))
    await jobs.add("two", start(Command(shell("exit 4"), tmp_path, ENV)))
    await until(lambda: len(_sleeping(tag)) == 2 and len(jobs.running) == 1)
    assert list(jobs.running) == ["one"]
    two = jobs.get("two")
    assert two is not None
    assert two.completed().exit_code == 4
    await jobs.aclose()
    assert await gone(tag) == []


async def test_a_file_can_not_grow_past_its_limit(tmp_path: Path) -> None:
    """P8: a sparse one, so that the disk does not notice."""
    done = await bash("dd if=/dev/zero of=big bs=1M count=2 seek=1023 2>&1", tmp_path)
    assert done.exit_code != 0
    assert (tmp_path / "big").stat().st_size <= 1 << 30
    assert (await bash("ulimit -c; ulimit -f", tmp_path)).output.split() == ["0", str((1 << 30) // 1024)]


async def test_a_command_that_runs_out_of_memory_is_a_result(tmp_path: Path) -> None:
    """P7, under a limit of the command's own: by default only a delegated cgroup could set one."""
    done = await bash("ulimit -v 400000; python3 -c 'x = b\"x\" * 10**10'", tmp_path)
    assert done.exit_code == 1
    assert "MemoryError" in done.output
    assert (await bash("echo alive", tmp_path)).output == "alive\n"


async def test_a_spinning_command_ends_at_its_deadline(tmp_path: Path) -> None:
    """P9."""
    assert (await bash("while :; do :; done", tmp_path, 0.3)).timed_out


@pytest.mark.serial
async def test_a_slow_drip_does_not_extend_the_deadline(tmp_path: Path) -> None:
    """P11."""
    done = await bash("while :; do printf x; sleep 0.05; done", tmp_path, 1.0)
    assert done.timed_out
    assert set(done.output) == {"x"}


@pytest.mark.serial
async def test_an_output_flood_is_kept_in_fixed_memory(tmp_path: Path) -> None:
    """P10: five seconds of `yes`, gigabytes; the loop stays responsive and the file bounded."""
    spill = tmp_path / "spill" / "call.txt"
    grown = growth()
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            await asyncio.sleep(0.01)
            ticks += 1

    ticking = asyncio.ensure_future(tick())
    done = await bash("yes", tmp_path, 5.0, spill=spill)
    ticking.cancel()
    kib = grown()
    assert done.timed_out
    assert done.total_bytes > 8 << 20
    assert len(done.output.encode()) < 16_200
    assert kib < 8 << 10, f"{kib} KiB"
    assert spill.stat().st_size == 8 << 20
    assert ticks > 5


async def test_binary_output_becomes_text_that_can_be_stored(tmp_path: Path) -> None:
    """P12."""
    done = await bash("head -c 1000000 /dev/urandom; printf '\\xff\\xfe\\x00end'", tmp_path)
    assert done.output.encode().decode() == done.output
    assert done.output.endswith("end")
    assert done.total_bytes == 1_000_006


async def test_nobody_answers_a_question(tmp_path: Path) -> None:
    """P15: stdin is empty, and there is no terminal to ask on."""
    done = await bash(
        "read x; echo got $?; cat; tty; (: < /dev/tty) 2>/dev/null || echo no tty", tmp_path, 10.0
    )
    assert done.output == "got 1\nnot a tty\nno tty\n"


async def test_git_does_not_open_an_editor_or_ask_for_a_password(tmp_path: Path) -> None:
    script = (
        "git init -q . && git -c user.name=a -c user.email=a@b commit --allow-empty; echo $?; "
        "git ls-remote http://127.0.0.1:9/x; echo end"
    )
    done = await bash(script, tmp_path, 10.0)
    assert (done.timed_out, done.output.splitlines()[-1]) == (False, "end")


async def test_nothing_can_be_pushed_back_into_the_users_terminal(tmp_path: Path) -> None:
    """P16: a session of its own without a controlling terminal."""
    script = (
        'python3 -c "import fcntl,termios\nfor fd in (0,1,2):\n'
        " try: fcntl.ioctl(fd, termios.TIOCSTI, b'x'); print('pushed')\n"
        ' except OSError as e: print(e.errno)"'
    )
    done = await bash(script, tmp_path)
    assert "pushed" not in done.output
    assert len(done.output.split()) == 3
    # 0 in its own namespace means: the session is led by somebody outside, that is, by us
    assert (await bash("ps -o sid= -p $$", tmp_path)).output.strip() in {"0", "1"}


async def test_a_command_sees_no_secret_of_the_runtime(tmp_path: Path) -> None:
    """P17: neither in its environment nor, by /proc, in the runtime's."""
    canary = "canary-" + a_tag()
    env = allowed({"PATH": os.environ["PATH"], "FOO_API_KEY": canary, "AWS_SECRET_ACCESS_KEY": canary})
    program = textwrap.dedent(
        f"""
        import asyncio
        from pathlib import Path
        from planck.workspace.process.process import Command, run, shell
        script = "env; cat /proc/self/environ /proc/*/environ | tr '\\\\0' '\\\\n'"
        done = asyncio.run(run(Command(shell(script), Path("."), {env!r}), timeout=10))
        print(done.output)
        """
    )
    runtime = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "FOO_API_KEY": canary},
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=True,
    )
    assert canary not in runtime.stdout
    assert "PAGER=cat" in runtime.stdout


def test_only_listed_names_pass_into_a_command() -> None:
    """P19: what steers loaders, shells, interpreters and git is dropped."""
    hostile = dict.fromkeys(
        [
            "LD_PRELOAD",
            "LD_LIBRARY_PATH",
            "BASH_ENV",
            "ENV",
            "PYTHONSTARTUP",
            "PYTHONPATH",
            "NODE_OPTIONS",
            "PERL5OPT",
            "RUBYOPT",
            "GIT_DIR",
            "GIT_SSH_COMMAND",
            "GIT_CONFIG_COUNT",
            "GIT_EXTERNAL_DIFF",
            "PROMPT_COMMAND",
            "IFS",
            "SSH_AUTH_SOCK",
            "OPENAI_API_KEY",
            "FOO_API_KEY",
            "ANTHROPIC_API_KEY",
            "BASH_FUNC_ls%%",
        ],
        "evil",
    )
    env = allowed({**hostile, "PATH": "/bin", "HOME": "/h", "LC_ALL": "C", "EDITOR": "evil", "PAGER": "evil"})
    assert "evil" not in env.values()
    assert (env["PATH"], env["HOME"], env["LC_ALL"]) == ("/bin", "/h", "C")


async def test_no_startup_file_is_read(tmp_path: Path) -> None:
    for name in (".bashrc", ".bash_profile", ".profile"):
        (tmp_path / name).write_text("echo evil\n")
    done = await run(Command(shell("echo fine"), tmp_path, {**ENV, "HOME": str(tmp_path)}), timeout=10)
    assert done.output == "fine\n"


async def test_a_command_inherits_no_descriptor(tmp_path: Path) -> None:
    """P18: also one that somebody made inheritable."""
    secret = tmp_path / "secret"
    secret.write_text("x")
    held = os.open(secret, os.O_RDONLY)
    os.set_inheritable(held, True)
    try:
        done = await bash("ls -l /proc/self/fd", tmp_path)
        first = await bash("ls -l /proc/1/fd", tmp_path)
    finally:
        os.close(held)
    fds = [line.split(" ")[-3] for line in done.output.splitlines() if "->" in line]
    assert fds == ["0", "1", "2", "3"], done.output  # 3 is ls's own look at the directory
    assert "secret" not in done.output
    assert [line.split(" ")[-3] for line in first.output.splitlines() if "->" in line] == ["0", "1", "2"]
    assert "/proc" not in first.output


@pytest.mark.parametrize(
    ("argv", "kind"),
    [
        (shell("true #" + "x" * 200_000), ErrorKind.INVALID_ARGS),
        (["true", *("x" * 100_000 for _ in range(40))], ErrorKind.INVALID_ARGS),
        (shell("echo a\0b"), ErrorKind.INVALID_ARGS),
    ],
    ids=["one long argument", "many long arguments", "NUL"],
)
async def test_what_the_system_can_not_start_is_refused(
    argv: list[str], kind: ErrorKind, tmp_path: Path
) -> None:
    """P20."""
    with pytest.raises(ProcessError) as refusal:
        await run(Command(argv, tmp_path, ENV), timeout=5)
    assert refusal.value.err.kind is kind


async def test_ten_thousand_arguments_pass(tmp_path: Path) -> None:
    done = await run(Command(["echo", *map(str, range(10_000))], tmp_path, ENV), timeout=10)
    assert (done.exit_code, done.total_bytes) == (0, len(" ".join(map(str, range(10_000)))) + 1)


async def test_a_folder_given_by_descriptor_can_not_be_swapped(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    fd = os.open(tmp_path / "real", os.O_RDONLY | os.O_DIRECTORY)
    (tmp_path / "real").rename(tmp_path / "moved")
    (tmp_path / "real").symlink_to("/etc")
    try:
        done = await run(Command(shell("pwd -P"), fd, ENV), timeout=10)
    finally:
        os.close(fd)
    assert done.output == f"{tmp_path / 'moved'}\n"


@pytest.mark.parametrize(
    ("script", "code"), [("exit 0", 0), ("exit 77", 77), ("(kill -9 $BASHPID)", 137), ("nonsense", 127)]
)
async def test_the_exit_code_is_the_commands(script: str, code: int, tmp_path: Path) -> None:
    for level in (Containment.PID_NAMESPACE, Containment.PROCESS_GROUP):
        assert (await bash(script, tmp_path, level=level)).exit_code == code


async def test_a_finished_job_is_never_signalled_again(tmp_path: Path) -> None:
    """P23: after the reaping the number may be another's; nothing is sent to a bare number then."""
    sent: list[object] = []
    sys.addaudithook(
        lambda event, args: sent.append((event, args)) if event in _SIGNALS and watching else None
    )
    watching = False
    for level in (Containment.PID_NAMESPACE, Containment.PROCESS_GROUP):
        job = start(Command(shell("true"), tmp_path, ENV, level=level))
        await job.wait(10)
        watching = True
        job.end()
        await job.kill()
        await job.kill()
        watching = False
    assert sent == []


_SIGNALS = {"os.kill", "os.killpg", "signal.pidfd_send_signal"}


async def test_nothing_is_left_open_behind_two_hundred_commands(tmp_path: Path) -> None:
    await bash("true", tmp_path)
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(10):
        await asyncio.gather(*(bash("true", tmp_path) for _ in range(20)))
    assert len(os.listdir("/proc/self/fd")) == before


async def test_a_fork_bomb_is_contained_and_cleaned(tmp_path: Path) -> None:
    """P6, on a leash of its own: at most 60 processes, by a counter in the bomb itself.

    That the number is bounded too is in test_sandbox.py.
    """
    tag = a_tag()
    script = f"bomb() {{ [ $1 -gt 5 ] || {{ bomb $(($1 + 1)) & bomb $(($1 + 1)) & }}; sleep {tag}; }}; bomb 1"
    done = await bash(script, tmp_path, 1.0)
    assert done.timed_out
    assert await gone(tag) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="becomes nobody; without root the other tests are this one")
async def test_an_ordinary_user_gets_the_same_containment() -> None:
    """The ladder's second form, a user namespace; the runtime is killed, and its children die with it."""
    tag = a_tag()
    program = textwrap.dedent(
        """
        import asyncio, os, shutil, sys  # what is loaded later may lie where nobody can read
        from pathlib import Path
        from planck.workspace.process.containment import containment
        from planck.workspace.process.environment import allowed
        from planck.workspace.process.process import Command, run, shell
        os.setgroups([]); os.setresgid(65534, 65534, 65534); os.setresuid(65534, 65534, 65534)
        script = f"id -u; setsid sleep {sys.argv[1]} & sleep {sys.argv[1]}"
        def command(timeout):
            return run(Command(shell(script), Path("."), allowed({})), timeout=timeout)
        done = asyncio.run(command(2))
        print(containment(), done.output, done.timed_out, flush=True)
        asyncio.run(command(600))
        """
    )
    command = [sys.executable, "-c", program, tag]
    with open_folder() as folder, subprocess.Popen(command, stdout=subprocess.PIPE, cwd=folder) as runtime:
        assert runtime.stdout is not None
        try:
            said = [runtime.stdout.readline().decode() for _ in range(2)]
            assert "".join(said).split() == ["pid_namespace", "65534", "True"]
            await until(lambda: len(_sleeping(tag)) == 2)
        finally:
            runtime.kill()
    assert await gone(tag) == []
