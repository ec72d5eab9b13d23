"""Bash is the oracle: what an allow rule vouches for is what runs, and what runs a denying rule has seen.

Each random command is run by bash in an empty folder, as nobody and with few processes, where the programs on
the PATH only write down how they were called.
"""

import os
import random
import resource
import shutil
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path
from tempfile import mkdtemp

import pytest

from planck.permissions.rules import Decision, SourcedRule, apply_rules, load

NOBODY = 65534
FAKES = ["git", "ls", "make", "evil", "rm", "pytest"]
REAL = ["env", "nice", "timeout", "xargs", "find", "setsid", "nohup", "sh", "bash", "stdbuf", "cat", "true"]
RECORD = """#!/bin/sh
case $0 in /*) ;; *) exit;; esac  # `bash git` reads a file of that name, which no rule of ours is about
line=${0##*/}
for word; do line=$line$(printf '\\037')$word; done
printf '%s\\036' "$line" >> "$PLANCK_ORACLE"  # at once: others write too
"""
ALLOWED = [
    *["git status", "git log", "ls", "make", "pytest", "echo", "printf", "test", "[", "cat", "true", ":"],
    *["env", "nice", "timeout", "xargs", "find", "setsid", "nohup", "stdbuf", "sh", "bash", "command"],
    *["builtin", "exec", "trap", "hash", "compgen", "complete", "read", "mapfile", "unset", "declare", "let"],
    *["export", "wait", "cd", "set", "shopt", "alias", "jobs", "local", "readonly", "enable", "eval", "type"],
    *["source", ".", "kill", "getopts", "return", "shift", "pwd", "umask", "ulimit", "history", "fc", "bind"],
]
WORDS = [
    *[
        "git",
        "status",
        "log",
        "ls",
        "make",
        "pytest",
        "evil",
        "evil",
        "rm",
        "-v",
        "-C",
        "-p",
        "-c",
        "-a",
        "--",
    ],
    *["'a[$(evil)]'", '"a[\\$(evil)]"', "'evil'", "evil' '", '"ls; evil"', "'ls; evil'", "x", "-n", "1", "5"],
    *["$x", '"$x"', "*", "{}", "{evil,x}", "$(evil)", "`evil`", "$'evil'", "~", "x=~", "a=evil", "'$(evil)'"],
    *["%s", "'%n'", "PATH", "EXIT", "DEBUG", "\\;", "-exec", "-I{}", "=", "-eq", "]", "-S", "'git status'"],
    *["$?", "$@", "${x}", "${x:-evil}", "$((1))", "$[1]", "\\", "\\\n", "!", "#", "# evil", "\\#", "e\\vil"],
]
NAMES = ["CI", "X", "PATH", "BASH_ENV", "LC_ALL", "GIT_PAGER", "PS4", "IFS", "LD_PRELOAD", "NO_COLOR", "a[0]"]
VALUES = ["1", ".", "evil", "'evil'", "$(evil)", "cat", "'a b'", "", "~", "*", "`evil`"]
REDIRECTIONS = [
    *["2>&1", ">/dev/null", "> /dev/null", "</dev/null", "&>/dev/null", "2>/dev/null", ">&2", "2>&-"],
    *[">out", "2>>out", "<in", ">&out", "{fd}>out", "<<<evil", "<<E\nevil\nE\n", ">|out", "<>out", "> $x"],
    *[">/dev/null2", "9>&1", "2> &1", "1\\\n>out", "<(evil)", ">(evil)", "&>out"],
]
JOINTS = [
    " ; ",
    " && ",
    " || ",
    " | ",
    "\n",
    " & ",
    ";",
    "|",
    "&",
    " |& ",
    "&\\\n&",
    " ;\\\n",
    "\n\n",
    " ;; ",
]
WRAPS = [
    "({})",
    "{{ {}; }}",
    "if {}; then {}; fi",
    "! {}",
    "time {}",
    "f() {{ {}; }}; f",
    "coproc {}",
    "$({})",
]
WRAPS += ["`{}`", 'echo "$({})"', "for x in 1; do {}; done", "bash -c '{}'", 'sh -c "{}"', "eval '{}'"]
WRAPS += [
    "case x in x) {};; esac",
    "env {}",
    "timeout 5 {}",
    "xargs {}",
    "nice -n 1 {}",
    "command {}",
    "X=1 {}",
]
WRAPS += [
    "find . -exec {} \\;",
    "cat <<E\n$({})\nE",
    "bash <<'E'\n{}\nE",
    "setsid -w {}",
    "exec {}",
    "{} # x",
]
WRAPS += ["env -i PATH=$PATH {}", "env -S '{}'", "stdbuf -oL {}", "trap '{}' EXIT", "${{x:-{}}}", "$nope {}"]
HIDDEN = [
    "\\rm",
    "r''m",
    '"rm"',
    "$'\\x72m'",
    "{rm,-f,y}",
    "r$@m",
    "${nope:-rm}",
    "BIN/rm",
    "BIN/r?",
    "BIN/../bin/rm",
]
HIDDEN += [
    "r\\m",
    "$nope rm",
    "rm",
    "rm",
    "rm x",
    "x=rm; $x",
    "command rm",
    "builtin rm",
    "echo rm | xargs",
    "r\\\nm",
]
PREFIXES = ["git status", "git log -1", "ls", "echo", "make all", "CI=1 pytest", "printf %s", "ls 2>&1 |"]


TRICKS = [
    *[
        "printf -v 'a[$(evil)]' x",
        "[ -v 'a[$(evil)]' ]",
        "test -v 'a[$(evil)]'",
        "trap evil EXIT",
        "eval evil",
    ],
    *["hash -p BIN/evil ls; ls", "unset 'a[$(evil)]'", "let 'a[$(evil)]'", "compgen -C evil", "xargs evil"],
    *["printf %n PATH; ls", "env evil", "timeout 5 evil", "find . -exec evil ;", "bash -c evil", "nice evil"],
    *["export PATH=/; ls", "declare 'a[$(evil)]=1'", "wait -p 'a[$(evil)]' %1", "command evil", "exec evil"],
    *[
        "source BIN/evil",
        "mapfile -C evil -c 1 a",
        "echo evil | bash",
        "env -S evil",
        "jobs -x evil",
        "setsid evil",
    ],
]
"""Commands that start more than their first word says."""


def random_command(source: random.Random) -> str:
    parts = [random_simple(source)]
    while source.random() < 0.35:
        parts += [source.choice(JOINTS), random_simple(source)]
    text = "".join(parts)
    return source.choice(WRAPS).format(text, text) if source.random() < 0.1 else text


def random_simple(source: random.Random) -> str:
    parts = []
    if source.random() < 0.15:
        parts += [f"{source.choice(NAMES)}={source.choice(VALUES)}"]
    if source.random() < 0.08:
        parts += [source.choice(TRICKS)]
    elif source.random() < 0.5:
        parts += [source.choice(PREFIXES)]
    else:
        parts += [source.choice(ALLOWED)]
    parts += source.choices(WORDS, k=source.randrange(4))
    if source.random() < 0.2:
        parts += [source.choice(REDIRECTIONS)]
    if source.random() < 0.1:
        source.shuffle(parts)
    return " ".join(parts)


def random_hiding(source: random.Random) -> str:
    """A command that starts rm by some way, or does not, as it turns out."""
    text = source.choice(HIDDEN)
    for _ in range(source.randrange(4)):
        wrap = source.choice(WRAPS)
        if "'" in wrap:
            text = text.replace("'", "'\\''")
        elif '"{}"' in wrap:
            text = text.replace("\\", "\\\\").replace('"', '\\"').replace("$", "\\$").replace("`", "\\`")
        text = wrap.format(text, text)
    return f"{random_simple(source)} ; {text}" if source.random() < 0.2 else text


class Oracle:
    """Runs commands by bash, and tells which programs were called, with which words."""

    def __init__(self, folder: Path) -> None:
        self.bin, self.log, self.work = folder / "bin", folder / "log", folder / "work"
        self.bin.mkdir()
        self.work.mkdir()
        for name in FAKES:
            (self.bin / name).write_text(RECORD)
            (self.bin / name).chmod(0o755)
        for name in REAL:
            (self.bin / name).symlink_to(shutil.which(name) or "/bin/false")
        folder.chmod(0o777)
        self.work.chmod(0o777)

    def run(self, command: str) -> list[list[str]]:
        self.log.write_bytes(b"")
        self.log.chmod(0o666)
        other = NOBODY if os.geteuid() == 0 else None
        with subprocess.Popen(
            ["bash", "--noprofile", "--norc", "-c", command],
            cwd=self.work,
            env={"PATH": str(self.bin), "PLANCK_ORACLE": str(self.log), "HOME": str(self.work)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            executable=shutil.which("bash"),
            preexec_fn=_limit,
            start_new_session=True,
            user=other,
            group=other,
            extra_groups=None if other is None else [],
        ) as process:
            try:
                process.wait(3)
            except subprocess.TimeoutExpired:
                pass
            finally:
                _end_all(process.pid)
        calls = self.log.read_text(errors="replace").split("\036")[:-1]
        return [call.split("\037") for call in calls]

    def left_behind(self) -> list[str]:
        """Names of files that were made, which are removed again."""
        names = sorted(os.listdir(self.work))
        for name in names:
            path = self.work / name
            shutil.rmtree(path) if stat.S_ISDIR(path.lstat().st_mode) else path.unlink()
        return names


def _limit() -> None:
    resource.setrlimit(resource.RLIMIT_NPROC, (60, 60))
    resource.setrlimit(resource.RLIMIT_CPU, (5, 5))
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))


def _end_all(group: int) -> None:
    try:
        os.killpg(group, 9)
    except ProcessLookupError:
        pass


@pytest.fixture
def oracle() -> Iterator[Oracle]:
    folder = Path(mkdtemp(prefix="planck-oracle-"))  # pytest's own folders are closed to nobody
    yield Oracle(folder)
    shutil.rmtree(folder, ignore_errors=True)


def vouched(call: list[str]) -> bool:
    return any(call[: len(words)] == words for words in (text.split() for text in ALLOWED))


def check_allowing(oracle: Oracle, count: int, seed: int) -> int:
    rules = load([{"tool": "bash", "command": text, "decision": "allow"} for text in ALLOWED], "test")
    source = random.Random(seed)
    allowed = 0
    for number in range(count):
        command = random_command(source).replace("BIN", str(oracle.bin))
        if apply_rules(rules, "bash", {"command": command}).decision is not Decision.ALLOW:
            continue
        allowed += 1
        strange = [call for call in oracle.run(command) if not vouched(call)]
        assert not strange, f"seed {seed}, command {number}: {command!r} was allowed and ran {strange}"
        assert oracle.left_behind() == [], (
            f"seed {seed}, command {number}: {command!r} was allowed, and wrote"
        )
    return allowed


def check_denying(oracle: Oracle, count: int, seed: int) -> tuple[int, int]:
    rules: tuple[SourcedRule, ...] = load([{"tool": "bash", "command": "rm", "decision": "deny"}], "test")
    source = random.Random(seed)
    ran = denied = 0
    for number in range(count):
        command = random_hiding(source).replace("BIN", str(oracle.bin))
        decision = apply_rules(rules, "bash", {"command": command}).decision
        called = any(call[0] == "rm" for call in oracle.run(command))
        oracle.left_behind()
        ran += called
        denied += called and decision is Decision.DENY
        assert not called or decision, f"seed {seed}, command {number}: {command!r} ran rm unseen"
    return ran, denied


def test_what_an_allow_rule_vouches_for_is_what_runs(oracle: Oracle, seed: int) -> None:
    assert check_allowing(oracle, 200, seed) > 25


def test_a_denying_rule_sees_whatever_runs(oracle: Oracle, seed: int) -> None:
    ran, denied = check_denying(oracle, 50, seed)
    assert ran > 12
    assert denied > ran * 0.8


@pytest.mark.soak
def test_what_an_allow_rule_vouches_for_is_what_runs_at_length(oracle: Oracle, seed: int) -> None:
    assert check_allowing(oracle, 30_000, seed) > 5_000


@pytest.mark.soak
def test_a_denying_rule_sees_whatever_runs_at_length(oracle: Oracle, seed: int) -> None:
    ran, denied = check_denying(oracle, 6_000, seed)
    assert denied > ran * 0.8
