"""Which files our own process writes, and why an agent can't choose where they are."""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

SRC = Path(__file__).parent.parent / "src" / "planck"

HOME = "below Planck's home, which no agent may write"
FRESH = "in a temporary folder that the same code made"
PIPE = "a pipe or a terminal, not a file"

ALLOWED = {
    "acp/external_member.py": (1, HOME),
    "acp/shim.py": (1, PIPE),
    "api/access_log.py": (1, HOME),
    "api/presence.py": (2, HOME),
    "cli/screen/console.py": (1, PIPE),
    "cli/screen/history.py": (2, HOME),
    "cli/screen/unsent.py": (1, f"{HOME}; no link is followed at its name"),
    "cli/ask/editor.py": (1, FRESH),
    "cli/commands/serve.py": (1, f"{HOME}; a new file only"),
    "cli/streams.py": (2, "/dev/null"),
    "config/files.py": (1, HOME),
    "config/load.py": (1, HOME),
    "headless/services/demo.py": (2, FRESH),
    "headless/members/team_service.py": (3, f"{FRESH}: the program of a pipe, and its ends"),
    "mcp/transport.py": (1, PIPE),
    "own_files.py": (1, "a copy beside a file of Planck's own installation, which no agent may write"),
    "peers/tokens.py": (1, HOME),
    "session/outputs.py": (1, HOME),
    "sidecar/build.py": (2, HOME),
    "sidecar/host.py": (1, PIPE),
    "store/sqlite/index.py": (1, HOME),
    "store/sqlite/lock.py": (3, HOME),
    "store/sqlite/migrations.py": (1, HOME),
    "store/postgres/dev.py": (3, HOME),
    "store/sqlite/quotas.py": (1, HOME),
    "store/sqlite/template.py": (2, HOME),
    "workspace/paths/gitignore.py": (1, "read only: the caller's flags are those of `open` without a mode"),
    "workspace/paths/beneath.py": (1, "below a descriptor, without a link: the helper of `workspace/paths`"),
    "workspace/sandbox/bubblewrap.py": (1, PIPE),
    "workspace/git/clones.py": (2, HOME),
    "workspace/sandbox/landlock.py": (2, FRESH),
    "workspace/process/output.py": (1, f"{HOME}; no link is followed at its name"),
    "workspace/paths/output_file.py": (2, "the helper for what a user names"),
    "workspace/paths/paths.py": (1, "the helper for what an agent names"),
    "workspace/recording/client.py": (1, f"{HOME}; no link is followed at its name"),
    "workspace/recording/ignored.py": (1, "read only: the caller's flags are those of `open` without a mode"),
    "workspace/recording/local_images.py": (1, f"{HOME}; a new file only"),
    "workspace/recording/spool.py": (1, f"{HOME}: a spool that the recorder has made"),
    "workspace/recording/states.py": (1, "below a descriptor, a new file only"),
    "workspace/sandbox/programs.py": (1, "read only"),
    "workspace/views/layers.py": (2, f"{HOME}: what it holds, and new files of a layer"),
    "workspace/views/opener.py": (1, "the maps of a namespace, in /proc"),
    "workspace/views/overlay.py": (2, f"{HOME}: the lock of a view"),
    "workspace/views/worktree.py": (1, f"{HOME}: the lock of a view"),
}
"""How many calls of a file write, and why that is safe. What a user names after agents could run goes through
`workspace/output_file`, what an agent names through `workspace/paths`: neither needs an entry."""


def find_writes(source: str) -> Iterator[int]:
    """Yields the line of each call that opens a file for writing by its path."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and (name := name_of(node.func)) in CALLS and writes(name, node):
            yield node.lineno


CALLS = {"write_text", "write_bytes", "copyfile", "copy", "copy2", "open"}
LIKELY = re.compile(r"write_(text|bytes)|shutil\.copy|os\.open\(|open\([^)]*[\"'][rbt]*[wax+]", re.DOTALL)


def writes(name: str, call: ast.Call) -> bool:
    if name != "open":
        return name.startswith("write") or ast.unparse(call.func) == f"shutil.{name}"
    if ast.unparse(call.func) == "os.open":
        said = ast.unparse(call)
        return any(flag in said for flag in ("O_WRONLY", "O_RDWR", "O_CREAT", "O_TRUNC", "flags"))
    given = (*call.args, *(word.value for word in call.keywords))
    modes = [one.value for one in given if isinstance(one, ast.Constant) and isinstance(one.value, str)]
    opened = any(isinstance(one, ast.Call | ast.Lambda) for one in given)  # by `os.open`, which counts
    return not opened and any(mode and {*mode} <= {*"rwaxbt+"} and {*mode} & {*"wax+"} for mode in modes)


def name_of(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def test_every_file_that_is_written_is_listed_with_its_reason() -> None:
    found: Counter[str] = Counter()
    for path in SRC.rglob("*.py"):
        if LIKELY.search(source := path.read_text()):  # to parse all of them takes seconds
            found[str(path.relative_to(SRC))] += len([*find_writes(source)])
    assert {name: count for name, count in found.items() if count} == {
        name: count for name, (count, _) in ALLOWED.items()
    }


def test_a_write_is_found() -> None:
    for line in (
        "Path(x).write_text(y)",
        "open(x, 'w')",
        "x.open('ab')",
        "open(x, mode='x')",
        "os.open(x, os.O_WRONLY)",
        "os.open(x, flags, 0o600)",
    ):
        assert [*find_writes(line)] == [1], line
    assert [*find_writes("open(x); open(x, 'rb'); os.open(x, os.O_RDONLY)")] == []
