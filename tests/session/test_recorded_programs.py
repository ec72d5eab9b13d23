"""Programs that people use, recorded: what they changed is undone exactly, or the result says what is not."""

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from planck import Planck
from planck.headless import Selection
from planck.testing import ScriptedProvider
from tests.session.trees import Tree, read_tree

pytestmark = pytest.mark.heavy

IGNORED = ("node_modules", ".venv", "target", "__pycache__")
MAKEFILE = "all: one two three\n%: %.c\n\tcc -O1 -o $@ $<\n"
C = '#include <stdio.h>\nint main(void) { puts("hello"); return 0; }\n'


class Case(NamedTuple):
    program: str
    files: dict[str, str]
    before: str
    """What the user did, before Planck."""
    command: str
    changed: int
    """At least that many names."""


CASES = {
    "npm": Case(
        "npm",
        {"package.json": '{"name": "a", "version": "1.0.0"}\n', ".gitignore": "node_modules/\n"},
        "git init -q",
        "npm install --no-audit --no-fund left-pad@1.3.0 is-odd@3.0.1",
        2,
    ),
    "npm, nothing ignored": Case(
        "npm",
        {"package.json": '{"name": "a", "version": "1.0.0"}\n'},
        "git init -q && echo > .gitignore",
        "npm install --no-audit --no-fund is-odd@3.0.1",
        10,
    ),
    "pip": Case(
        "python3",
        {"README": "a\n", ".gitignore": "__pycache__/\n"},
        "git init -q",
        "python3 -m pip install -q --target vendor six==1.16.0 iniconfig==2.0.0",
        5,
    ),
    "git rebase": Case(
        "git",
        {"a.txt": "1\n2\n3\n"},
        "git init -q -b main && git add . && git commit -qm one && git checkout -qb topic"
        " && echo t > topic.txt && git add . && git commit -qm topic && git checkout -q main"
        " && echo 4 >> a.txt && mkdir d && echo m > d/m.txt && git add . && git commit -qm two"
        " && git checkout -q topic",
        "git rebase -q main",
        2,
    ),
    "sqlite3": Case(
        "sqlite3",
        {},
        "sqlite3 data.db 'create table t(x); insert into t values(1)'",
        'for n in 1 2 3 4 5; do sqlite3 data.db "insert into t values($n)"; done;'
        " sqlite3 new.db 'create table u(y)'",
        2,
    ),
    "go": Case(
        "go",
        {
            "go.mod": "module hello\n\ngo 1.19\n",
            "main.go": 'package main\n\nfunc main() { println("hello") }\n',
        },
        "true",
        "go build -o hello . && ./hello",
        1,
    ),
    "rust": Case(
        "cargo",
        {
            "Cargo.toml": '[package]\nname = "hello"\nversion = "0.1.0"\nedition = "2021"\n',
            "src/main.rs": "fn main() {}\n",
        },
        "git init -q && echo target/ > .gitignore",
        "cargo build --offline -q && cp target/debug/hello .",
        2,
    ),
    "make": Case(
        "make", {"Makefile": MAKEFILE, "one.c": C, "two.c": C, "three.c": C}, "true", "make -j2 all", 3
    ),
}


@pytest.mark.parametrize("name", CASES)
async def test_a_program_is_undone_exactly(tmp_path: Path, name: str) -> None:
    case = CASES[name]
    if shutil.which(case.program) is None:
        pytest.skip(f"{case.program} is not installed")
    took = {}
    for recorded in (False, True):
        folder = tmp_path / str(recorded)
        took[recorded] = await run(folder, case, recorded=recorded)
    print(f"{name}: {took[False]} ms unrecorded, {took[True]} ms recorded")


async def run(folder: Path, case: Case, *, recorded: bool) -> int:
    """Returns the milliseconds that the command took."""
    work, home = folder / "work", folder / "home"
    work.mkdir(parents=True)
    for path, content in case.files.items():
        (work / path).parent.mkdir(parents=True, exist_ok=True)
        (work / path).write_text(content)
    home.mkdir()
    identity = {f"GIT_{who}_{what}": "a@b" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    caches = {"GOCACHE": f"{folder}/go", "npm_config_cache": f"{folder}/npm", "GOFLAGS": "-mod=mod"}
    environ = {**os.environ, **identity, **caches}
    subprocess.run(["sh", "-c", case.before], cwd=work, env=environ, check=True, capture_output=True)
    (home / "config.json").write_text(json.dumps({"undo": {"commands": recorded}}))
    before = read_tree_without(work)
    exports = " ".join(f"{key}={value}" for key, value in {**identity, **caches}.items())
    double = ScriptedProvider([[("bash", {"command": f"export {exports}; {case.command}"})], "done"])
    async with Planck(home, work, environ=environ, providers={"double": double}) as planck:
        session = await planck.start(model="double/m", mode="full")
        result = await session.run("go")
        (end,) = [json.loads(bytes(event.data)) for event in session.recorded() if event.type == "tool_end"]
        assert end["exit_code"] == 0, end["output"]
        if recorded:
            check_changes(result.changes, before, read_tree_without(work))
            plan = session.undo_plan(Selection())
            assert ([step.conflict for step in plan.steps if step.conflict], plan.commands) == ([], ())
            assert len(plan.steps) >= case.changed
            await session.undo(plan)
            assert read_tree_without(work) == before
        await session.aclose()
    return int(end["duration_ms"])


def check_changes(changes: Any, before: Tree, after: Tree) -> None:
    def files(tree: Tree) -> Tree:
        return {path: held for path, held in tree.items() if held[0] in ("file", "link")}

    old, new = files(before), files(after)
    assert {one.path for one in changes} == {
        path for path in {**old, **new} if old.get(path) != new.get(path)
    }


def read_tree_without(work: Path) -> Tree:
    """The tree, but for what git ignores as a whole: an undo leaves that alone."""
    ignored = IGNORED if (work / ".gitignore").exists() and (work / ".gitignore").read_text().strip() else ()
    return {path: held for path, held in read_tree(work).items() if not {*path.split("/")} & {*ignored}}
