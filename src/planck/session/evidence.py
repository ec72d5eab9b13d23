"""Whether the tests ran after the last edit, and how they ended: by the log alone, whatever anybody says."""

import re
from collections.abc import Iterable

import msgspec

from planck.records.events import CommandRecorded, Event, FileChanged, ToolEnd, ToolStart, view
from planck.records.outcome import ErrorKind
from planck.records.tools import COMMAND_TOOLS


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """The newest run of tests among some events."""

    command: str
    exit_code: int | None
    """None: it did not end, or it is not known which part of the command it is of."""
    edited: bool
    """Whether a file was changed at all."""
    fresh: bool
    """Whether none was changed since it began, but by itself."""
    followed: bool
    """Whether a command ran since it began that may have changed files where nobody saw it."""


def find_evidence(events: Iterable[Event]) -> Evidence | None:
    """Returns None where no tests ran, or none are known by their command."""
    done: list[tuple[str, str | None]] = []  # by the call's id: a command, or (None) that a file was changed
    ended: dict[str, int | None] = {}
    not_run: set[str] = set()
    recorded: set[str] = set()
    for event in events:
        match view(event):
            case FileChanged(call_id=id):
                done.append((id, None))
            case CommandRecorded(call_id=id, partial=False):
                recorded.add(id)
            case ToolStart() as call if isinstance(command := _read_command(call), str):
                done.append((call.id, command))
            case ToolEnd() as end if end.name in COMMAND_TOOLS:
                ended[end.id] = end.exit_code
                if not has_run(end):
                    not_run.add(end.id)
            case _:
                pass
    newest: tuple[str, str] | None = None
    edited = stale = followed = False
    for id, command in done:
        if command is None:
            by_itself = newest is not None and newest[0] == id
            edited, stale = edited or not by_itself, stale or not by_itself
        elif id in not_run:
            pass
        elif is_test(command):
            newest, stale, followed = (id, command), False, False
        elif id not in recorded and not only_reads(command):
            followed = True
    if newest is None:
        return None
    id, command = newest
    code = ended.get(id) if has_own_exit_code(command) else None
    return Evidence(
        command=command, exit_code=code, edited=edited, fresh=not stale, followed=followed and edited
    )


_RAN = frozenset({ErrorKind.TIMEOUT, ErrorKind.INTERRUPTED, ErrorKind.INTERNAL_ERROR})
"""Errors of a command that ran, or may have; after any other it was not run."""


def has_run(end: ToolEnd) -> bool:
    """Whether a command ran, or may have: one that was denied did not."""
    return end.error is None or end.exit_code is not None or end.error.kind in _RAN


def _read_command(call: ToolStart) -> object:
    runs = call.name in COMMAND_TOOLS and isinstance(call.args, dict)
    return call.args.get("command") if runs else None


_RUNNERS = frozenset(
    {
        "pytest",
        "py.test",
        "tox",
        "nox",
        "nosetests",
        "nose2",
        "unittest",
        "doctest",
        "jest",
        "vitest",
        "mocha",
    }
    | {"ava", "karma", "rspec", "phpunit", "pest", "ctest", "gotestsum", "bats", "nextest", "minitest"}
)
_TOLD = frozenset(
    {
        "npm",
        "pnpm",
        "yarn",
        "bun",
        "deno",
        "cargo",
        "go",
        "make",
        "gmake",
        "just",
        "task",
        "gradle",
        "gradlew",
    }
    | {
        "mvn",
        "mvnw",
        "dotnet",
        "mix",
        "swift",
        "bazel",
        "rake",
        "rails",
        "zig",
        "sbt",
        "lein",
        "stack",
        "cabal",
    }
    | {"dune", "flutter", "dart", "meson", "hatch", "playwright", "manage.py", "node", "composer"}
)
"""Programs that run tests when they are told to."""
_VERB = re.compile(r"(?:.*:)?(?:--)?(?:test|tests|check|nextest|verify)(?:[:_-].*)?")
_NO_CHECK = frozenset({"cargo", "deno", "mix", "zig", "go", "npm", "bun"})
"""Programs whose `check` compiles, or looks at something else."""
_BEFORE = frozenset(
    {"env", "time", "nice", "timeout", "command", "exec", "xvfb-run", "uv", "poetry", "pipenv", "pdm", "rye"}
    | {"bundle", "npx", "bunx", "run", "sudo", "stdbuf", "coverage", "python", "python3", "sh", "bash"}
)
"""Words that stand before the program that is meant."""
_SKIPPED = re.compile(r"-.*|\d+[smh]?|[A-Za-z_]\w*=.*|python\d(\.\d+)?")
_FILE = re.compile(r"(?:.*[_-])?tests?(?:[._-].*)?")
_ASKS = frozenset({"--version", "--help", "-h", "--collect-only", "--co", "--list", "--listTests", "-n"})
_READERS = frozenset(
    {"cat", "ls", "head", "tail", "wc", "grep", "rg", "echo", "pwd", "true", "diff", "stat", "cd"}
)
_GIT_READERS = frozenset({"status", "diff", "log", "show", "blame"})


def is_test(command: str) -> bool:
    """Whether some part of a command runs tests; a part that is not a plain list of words does not count."""
    return any(_runs_tests(words) for words in _read_words(command))


def has_own_exit_code(command: str) -> bool:
    """Whether the command's exit code says how its tests ended: they come last, or all must go well."""
    bare = re.sub(r"\d*>&\d", "", command.strip())
    if "||" in bare or re.search(r"(?<!&)&(?!&)", bare):
        return False
    parts = _read_words(command)
    return bool(parts) and (_runs_tests(parts[-1]) or not re.search(r"[;|\n]", bare))


def only_reads(command: str) -> bool:
    """Whether all programs of a command are known to change nothing."""
    parts = _read_words(command)
    return bool(parts) and all(
        words[0] in _READERS or (words[0] == "git" and words[1:2] and words[1] in _GIT_READERS)
        for words in parts
    )


def _read_words(command: str) -> list[list[str]]:
    from planck.shell.plain import segments  # few runs have commands

    return [[word.text for word in part] for part in segments(command) or ()]


def _runs_tests(words: list[str]) -> bool:
    at = next(
        (
            n
            for n, word in enumerate(words)
            if _name(word) not in _BEFORE and not _SKIPPED.fullmatch(_name(word))
        ),
        len(words),
    )
    if at == len(words) or any(word in _ASKS for word in words[at:]):
        return False
    program, rest = _name(words[at]), words[at + 1 :]
    if program in _RUNNERS or program.removesuffix(".py") in _RUNNERS:
        return True
    if program in _TOLD:
        verbs = [word for word in rest if _VERB.fullmatch(word)]
        return any(word != "check" or program not in _NO_CHECK for word in verbs)
    # A file by that name, run as a program or by an interpreter: `./test.sh`, `python tests/test_a.py`.
    return (at > 0 or "/" in words[at]) and bool(_FILE.fullmatch(program))


def _name(word: str) -> str:
    return word.rpartition("/")[2]
