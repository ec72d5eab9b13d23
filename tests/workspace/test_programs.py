"""What runs with the user's rights must not lie where a confined command can write."""

import os
from pathlib import Path

import pytest

from planck.workspace.programs import find_replaceable, find_replaceable_in_script, outside_path


@pytest.fixture
def work(tmp_path: Path) -> Path:
    work, out = tmp_path / "work", tmp_path / "out"
    for folder in (work / "bin", work / ".planck/hooks", work / "sub", out):
        folder.mkdir(parents=True)
    scripts = [work / "hook.py", work / "bin/tool", work / "run.sh", out / "fine", work / ".planck/hooks/own"]
    for path in scripts:
        path.write_text("#!/bin/sh\n")
        path.chmod(0o755)
    (work / "data.txt").write_text("data")
    (out / "link").symlink_to(work / "run.sh")
    (out / "again").symlink_to("link")
    (out / "folder").symlink_to(work / "bin")
    (work / "to-out").symlink_to(out / "fine")
    (out / "by-path").write_text("#!/usr/bin/env -S tool\n")
    (out / "by-line").write_text(f"#!{work}/bin/tool\n")
    for name in ("by-path", "by-line"):
        (out / name).chmod(0o755)
    return work


REPLACEABLE = [
    *(
        "./run.sh",
        "run.sh; ./run.sh",
        "bash run.sh",
        "sh -e ./run.sh",
        "python3 hook.py",
        "python3 -u hook.py a",
    ),
    *(
        '"$CLAUDE_PROJECT_DIR"/run.sh',
        "${CLAUDE_PROJECT_DIR}/run.sh",
        "cd sub && ../run.sh",
        "cd bin; ./tool",
    ),
    *(
        "tool",
        "env A=b tool x",
        "timeout 5 ./run.sh",
        "find . -exec ./run.sh ;",
        "true | ./run.sh",
        "$(./run.sh)",
    ),
    *("../out/link", "../out/again", "../out/folder/tool", "./to-out", "../out/by-path", "../out/by-line"),
    *("node server.js.d/x.js", "node ./not-there.js", ". ./run.sh", "source run.sh", "python3 -m json.tool"),
    *(
        "python3 -c 'import json'",
        "echo x | python3 -",
        "npx server",
        "npm run lint",
        "make check",
        "uv run x",
    ),
    *("if true; then ./run.sh; fi", "echo 'unbalanced", "A=1 B=2 ./run.sh", "python3 --flag=x hook.py"),
    *("\n./run.sh\n", "true && (./run.sh)", "exec ./run.sh", "../work/run.sh", "perl ./x.pl"),
]
FINE = [
    *(
        "true",
        "cat > seen.json",
        "cat data.txt",
        "../out/fine",
        "../out/fine data.txt",
        "/bin/sh ../out/fine",
    ),
    *(
        ".planck/hooks/own",
        "sh .planck/hooks/own",
        "jq -r .tool | tee -a log",
        "echo ./run",
        "python3 -I -c 1",
    ),
    *(
        "python3 -Pc 'import json'",
        "ls sub",
        "exit 2",
        "echo no >&2; exit 2",
        "/no/such/program",
        "git status",
    ),
]


def _environment(work: Path) -> dict[str, str]:
    return {"PATH": f"{work}/bin:/usr/bin:/bin", "CLAUDE_PROJECT_DIR": str(work), "HOME": str(work.parent)}


@pytest.mark.parametrize("script", REPLACEABLE)
def test_a_script_that_runs_something_of_the_workspace_is_found(work: Path, script: str) -> None:
    assert find_replaceable_in_script(script, str(work), _environment(work), (str(work),)), script


@pytest.mark.parametrize("script", FINE)
def test_one_that_runs_nothing_of_it_is_not(work: Path, script: str) -> None:
    assert find_replaceable_in_script(script, str(work), _environment(work), (str(work),)) == ""


def test_an_argv_is_looked_at_in_the_folder_that_it_runs_in(work: Path) -> None:
    environment, roots = _environment(work), (str(work),)
    assert find_replaceable(("npx", "-y", "server"), str(work), environment, roots)
    assert not find_replaceable(("npx", "-y", "server"), str(work.parent / "out"), environment, roots)
    assert find_replaceable(("node", str(work / "server.js")), str(work.parent / "out"), environment, roots)


def test_no_program_is_looked_for_where_one_could_be_put(work: Path) -> None:
    path = f"{work}/bin::.:bin:/usr/bin:{work.parent}/out/folder:/bin"
    assert outside_path(path, (str(work),)) == "/usr/bin:/bin"
    assert os.path.isabs(outside_path(path, (str(work),)))
