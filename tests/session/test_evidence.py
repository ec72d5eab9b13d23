"""Whether tests ran after the last edit, by what the log says of commands and files."""

from typing import Any

import msgspec
import pytest

from planck.records import codec
from planck.records.events import Event
from planck.records.outcome import ErrorKind
from planck.session.evidence import Evidence, find_evidence, has_own_exit_code, is_test


def tell(*facts: tuple[str, dict[str, Any]]) -> Evidence | None:
    return find_evidence(
        Event(seq, "2026-11-16T10:00:00.000Z", "a", 1, type, msgspec.Raw(codec.encode(data)))
        for seq, (type, data) in enumerate(facts, 1)
    )


def edit(path: str = "a.py") -> tuple[str, dict[str, Any]]:
    data = {"call_id": "e", "path": path, "before": None, "mode": None, "after_sha256": "0"}
    return "file_changed", data


def ran(command: str, code: int | None = 0) -> list[tuple[str, dict[str, Any]]]:
    end = {"id": command, "name": "bash", "ok": code == 0, "output": "", "duration_ms": 1, "exit_code": code}
    return [("tool_start", {"id": command, "name": "bash", "args": {"command": command}}), ("tool_end", end)]


def refused(command: str, kind: str) -> list[tuple[str, dict[str, Any]]]:
    start, (type, end) = ran(command, None)
    return [start, (type, {**end, "error": {"kind": kind, "message": "no", "details": {}}})]


NOT_RUN = [kind for kind in ErrorKind if kind not in ("timeout", "interrupted", "internal_error")]


@pytest.mark.parametrize("kind", NOT_RUN)
def test_a_command_that_was_not_run_is_no_run_of_tests(kind: str) -> None:
    """Nor has it changed a file that tests were run on."""
    assert tell(edit(), *refused("pytest", kind)) is None
    before = tell(edit(), *ran("make test", 1))
    assert tell(edit(), *ran("make test", 1), *refused("pytest", kind), *refused("rm x", kind)) == before
    assert before is not None
    stale = tell(edit(), *ran("make test", 1), edit(), *refused("pytest", kind))
    assert stale == msgspec.structs.replace(before, fresh=False)


@pytest.mark.parametrize("kind", ["timeout", "interrupted", "internal_error"])
def test_the_exit_code_of_tests_that_did_not_end_is_unknown(kind: str) -> None:
    found = tell(edit(), *refused("pytest", kind))
    assert found is not None
    assert (found.command, found.exit_code) == ("pytest", None)


@pytest.mark.parametrize(
    "command",
    [
        "pytest",
        "pytest -q tests/test_a.py 2>&1",
        "python -m pytest -x",
        ".venv/bin/python -m pytest -q",
        "python3.11 -m unittest discover",
        "uv run pytest",
        "cd src && timeout 60 pytest",
        "CI=1 npm test",
        "npm run test:unit",
        "yarn test --watch=false",
        "cargo test --release",
        "cargo nextest run",
        "go test ./...",
        "make check",
        "make test-fast",
        "./gradlew :app:test",
        "mvn -q verify",
        "node --test",
        "python manage.py test",
        "bash scripts/run_tests.sh",
        "./test.sh",
        "python tests/test_prices.py",
    ],
)
def test_a_run_of_tests_is_known_by_its_command(command: str) -> None:
    assert is_test(command)
    assert has_own_exit_code(command)


@pytest.mark.parametrize(
    "command",
    [
        "pip install pytest",
        "grep -r pytest .",
        "cat tests/test_a.py",
        "git commit -m 'test it'",
        "pytest --version",
        "pytest --collect-only",
        "cargo check",
        "npm install",
        "echo make test",
        "ls tests",
        "vim test.py",
        "python -c 'import pytest'",
        "test -f a.py",
        "mkdir tests",
    ],
)
def test_what_only_names_tests_is_no_run(command: str) -> None:
    assert not is_test(command)


@pytest.mark.parametrize(
    "command",
    ["pytest | tail -5", "pytest; echo done", "pytest || true", "true || pytest", "pytest &", "pytest\ntrue"],
)
def test_the_exit_code_of_something_else_is_none_of_the_tests(command: str) -> None:
    assert is_test(command)
    assert not has_own_exit_code(command)
    assert tell(edit(), *ran(command)) == Evidence(
        command=command, exit_code=None, edited=True, fresh=True, followed=False
    )


@pytest.mark.parametrize("command", ["pytest && echo ok", "cd x; pytest", "ls | pytest"])
def test_tests_that_come_last_or_must_all_go_well_have_their_own(command: str) -> None:
    assert has_own_exit_code(command)


@pytest.mark.parametrize("code", [0, 1, None])
def test_tests_after_the_last_edit_are_fresh(code: int | None) -> None:
    found = tell(edit(), *ran("pytest", code), *ran("git diff"))
    assert found == Evidence(command="pytest", exit_code=code, edited=True, fresh=True, followed=False)


def test_an_edit_after_the_tests_began_makes_them_stale() -> None:
    begun, ended = ran("pytest")
    for facts in ([begun, ended, edit()], [begun, edit(), ended]):
        found = tell(edit(), *facts)
        assert found is not None
        assert not found.fresh


def test_a_command_that_may_write_is_not_passed_over() -> None:
    found = tell(edit(), *ran("pytest"), *ran("sed -i s/a/b/ a.py"))
    assert found is not None
    assert (found.fresh, found.followed) == (True, True)
    found = tell(edit(), *ran("pytest"), *ran("git diff > out"))
    assert found is not None
    assert found.followed


def test_where_no_tests_ran_nothing_is_said() -> None:
    assert tell(edit(), *ran("git status")) is None
    assert tell() is None
