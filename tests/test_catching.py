"""Who may catch everything: the rules of AGENTS.md, held by a walk over src."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

SRC = Path(__file__).parent.parent / "src" / "planck"

ALLOWED = {
    "tools/executor.py": "the executor: a call's failure is its result",
    "tools/results.py": "the executor: the text of a failure may fail too",
    "team/team.py": "the agent turn",
    "workspace/process/rpc.py": "a peer's request and notification",
    "workspace/recording/recorder.py": "the recorder's program: a call, and a child before it is the command",
    "mcp/connection.py": "what the SDK raises of a peer",
    "mcp/peer.py": "the one task that owns a peer",
    "peers/changes.py": "a task of its own, and an approver is anybody's code",
    "sidecar/child.py": "the user's module, in its own process",
    "sidecar/discovery.py": "the user's tools, in their own process",
    "store/postgres/commit_queue.py": "the one task that writes for every session of a process",
    "store/postgres/store.py": "the same task: a listener's fault is its own caller's",
    "store/threads.py": "a thread's entry: its failure is handed to whoever waits",
    "closing.py": "the first failure is raised once every other part is closed",
    "api/pool/node_worker.py": "the task of one session that a node works on",
    "api/app.py": "a frontend's top",
    "cli/main.py": "a frontend's top",
    "cli/chat/talk.py": "a frontend's top: the end of a conversation",
}
"""Files in which a failure of any type may end; to clean up and raise again is anybody's right."""

EVERYTHING = {"Exception", "BaseException"}


@cache
def list_handlers(path: Path) -> tuple[tuple[int, set[str], bool], ...]:
    """Returns the line of each handler, the names that it catches, and whether a failure ends there."""
    return tuple(_find_handlers(path))


def _find_handlers(path: Path) -> Iterator[tuple[int, set[str], bool]]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ExceptHandler):
            ends = not isinstance(node.body[-1], ast.Raise)
            yield node.lineno, _names(node.type) if node.type else {"BaseException"}, ends
        elif isinstance(node, ast.With):
            for item in node.items:
                call = item.context_expr
                if isinstance(call, ast.Call) and _names(call.func) == {"suppress"}:
                    names = {name for argument in call.args for name in _names(argument)}
                    waits = any(isinstance(inner, ast.Await) for one in node.body for inner in ast.walk(one))
                    yield node.lineno, names - (set() if waits else {"CancelledError"}), True


def _names(node: ast.expr) -> set[str]:
    if isinstance(node, ast.Tuple):
        return {name for element in node.elts for name in _names(element)}
    return {node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")}


def list_swallowed(src: Path, what: set[str]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for path in sorted(src.rglob("*.py")):
        lines = [line for line, names, ends in list_handlers(path) if ends and names & what]
        if lines:
            found[str(path.relative_to(src))] = lines
    return found


def test_a_failure_of_any_type_ends_only_where_that_is_somebodys_task() -> None:
    assert list_swallowed(SRC, EVERYTHING).keys() == ALLOWED.keys()


def test_a_cancellation_is_never_swallowed() -> None:
    # Raised again once it is known what was written, or that the rest is closed.
    later = {"store/threads.py", "store/postgres/store.py", "closing.py"}
    assert list_swallowed(SRC, {"CancelledError"}).keys() == later


@pytest.mark.parametrize(
    "text",
    [
        "try:\n    f()\nexcept Exception:\n    pass",
        "try:\n    f()\nexcept:\n    pass",
        "try:\n    f()\nexcept (ValueError, BaseException) as e:\n    if e:\n        raise",
        "with contextlib.suppress(Exception):\n    f()",
        "async def f():\n    with suppress(asyncio.CancelledError):\n        await task",
        "try:\n    f()\nexcept asyncio.CancelledError:\n    return",
    ],
)
def test_what_swallows_is_found(tmp_path: Path, text: str) -> None:
    (tmp_path / "bad.py").write_text(text)
    assert list_swallowed(tmp_path, {*EVERYTHING, "CancelledError"})


def test_to_clean_up_and_raise_again_is_allowed(tmp_path: Path) -> None:
    (tmp_path / "good.py").write_text("try:\n    f()\nexcept BaseException:\n    close()\n    raise")
    assert list_swallowed(tmp_path, EVERYTHING) == {}
