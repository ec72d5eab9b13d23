"""`planck init`, `completion` and `update`; notebooks as cells."""

import asyncio
import json
import shutil
from pathlib import Path

import pytest

from planck.cli.commands.update import find_way
from tests.command import Bench

CODEX = '[mcp_servers.docs]\ncommand = "npx"\n'
SETTINGS = {
    "hooks": {
        "PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "true"}]}],
        "Setup": [],
    },
    "permissions": {"allow": ["Bash"]},
    "model": "opus",
}


def write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


async def test_a_first_agents_md_is_written_once_with_what_can_be_seen(tmp_path: Path) -> None:
    bench = Bench(tmp_path, "http://127.0.0.1:9")
    write(bench.work / "package.json", '{"scripts": {"test": "jest"}}')
    write(bench.work / "Makefile", "test:\n\ttrue\n")
    write(bench.work / "src/a.py", "")
    done = await bench.run("init")
    text = (bench.work / "AGENTS.md").read_text()
    assert done.code == 0, done.err
    assert "npm run test" in text
    assert "make test" in text
    assert "`src/`" in text
    (bench.work / "AGENTS.md").write_text("mine")
    again = await bench.run("init")
    assert (again.code, (bench.work / "AGENTS.md").read_text()) == (0, "mine")


async def test_files_of_other_agents_are_told_with_what_is_taken_and_why_not(tmp_path: Path) -> None:
    bench = Bench(tmp_path, "http://127.0.0.1:9")
    work = bench.work
    write(work / "CLAUDE.md", "Use tabs.")
    write(work / ".claude/agents/a.md", "---\nname: a\ndescription: d\n---\nDo.")
    write(work / ".claude/agents/README.md", "# no agent")
    write(work / ".claude/commands/b.md", "Fix it.")
    write(work / ".claude/settings.json", json.dumps(SETTINGS))
    write(work / ".mcp.json", '{"time": {"command": "uvx"}}')
    write(work / ".codex/config.toml", CODEX)
    write(work / ".cursorrules", "x")
    done = await bench.run("init", "--json", "--dry-run")
    rows = {(row["path"], row["what"]): row for row in json.loads(done.out)["files"]}
    assert not (work / "AGENTS.md").exists()
    taken = {key for key, row in rows.items() if row["taken"]}
    assert {
        ("CLAUDE.md", "instructions"),
        (".claude/agents", "1 agent"),
        (".claude/commands", "1 command"),
    } == taken
    assert "no front matter" in rows[(".claude/agents/README.md", "agent")]["why"]
    assert "trust" in rows[(".mcp.json", "1 MCP server: time")]["why"]
    assert (
        "Setup is not supported, so its hooks do not run" in rows[(".claude/settings.json", "1 hook")]["why"]
    )
    assert all(row["why"] for row in rows.values())
    assert {path for path, _ in rows} >= {".codex/config.toml", ".cursorrules", ".claude/settings.json"}


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
async def test_a_shell_completes_commands_and_options(tmp_path: Path, shell: str) -> None:
    done = await Bench(tmp_path, "http://127.0.0.1:9").run("completion", shell)
    assert done.code == 0, done.err
    for word in ("sessions", "output-schema", "permission-mode"):
        assert word in done.out
    if shell == "bash":
        script = (
            f'{done.out}\nCOMP_WORDS=(planck run --perm); COMP_CWORD=2; _planck; echo "${{COMPREPLY[*]}}"'
        )
        process = await asyncio.create_subprocess_exec(
            "bash", "--norc", "-c", script, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
        )
        out, err = await process.communicate()
        assert (out.decode().strip(), err) == ("--permission-mode", b"")
    elif program := shutil.which(shell):
        (tmp_path / "script").write_text(done.out)
        ask = {"fish": "complete -C 'planck run --perm'", "zsh": "print $_comps[planck]"}[shell]
        process = await asyncio.create_subprocess_exec(
            *(program, "-c", f"source {tmp_path}/script; {ask}"),
            env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)},
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        out, err = await process.communicate()
        wanted = {"fish": "--permission-mode", "zsh": "_planck"}[shell]
        assert (out.decode().split()[:1], err) == ([wanted], b"")


async def test_update_says_who_installed_it(tmp_path: Path) -> None:
    done = await Bench(tmp_path, "http://127.0.0.1:9").run("update", "--json")
    assert json.loads(done.out)["installed_by"] == "a checkout"


def test_a_tool_is_updated_by_whoever_installed_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed = tmp_path / "lib/python3.11/site-packages/planck/__init__.py"
    monkeypatch.setattr("planck.__file__", str(installed))
    uv, pipx = tmp_path / "uv/tools/planck-agents", tmp_path / "pipx/venvs/planck-agents"
    for folder, receipt in ((uv, "uv-receipt.toml"), (pipx, "pipx_metadata.json")):
        write(folder / receipt, "")
    assert find_way(uv)[1] == "uv tool upgrade planck-agents"
    assert find_way(pipx)[1] == "pipx upgrade planck-agents"
    assert find_way(tmp_path / "venv")[1].endswith("-m pip install -U planck-agents")
    clone = tmp_path / "my clone"
    clone.mkdir()
    record = installed.parents[1] / "planck_agents-0.1.0.dist-info/direct_url.json"
    write(record, json.dumps({"url": clone.as_uri(), "dir_info": {}}))
    command = find_way(tmp_path / "venv")[1]
    assert command.startswith(f"git -C '{clone}' pull && ")
    assert command.endswith(f"-m pip install '{clone}'")


async def test_a_notebook_is_read_as_cells(tmp_path: Path) -> None:
    bench = Bench(tmp_path, "http://127.0.0.1:9")
    notebook = {
        "cells": [
            {"cell_type": "markdown", "source": ["# Title\n", "Text"]},
            {
                "cell_type": "code",
                "execution_count": 3,
                "source": "print(1)",
                "outputs": [
                    {"output_type": "stream", "text": ["1\n"]},
                    {"output_type": "display_data", "data": {"image/png": "AAAA" * 10_000}},
                    {"output_type": "error", "ename": "ValueError", "evalue": "no"},
                ],
            },
        ]
    }
    write(bench.work / "a.ipynb", json.dumps(notebook))
    write(bench.work / "b.ipynb", '{"no": "notebook"}')
    done = await bench.run("tools", "call", "read", "--args", '{"path": "a.ipynb"}')
    for part in (
        "[cell 1: markdown]\n# Title\nText",
        "[cell 2: code, run 3]\nprint(1)",
        "1\n",
        "ValueError: no",
    ):
        assert part in done.out
    assert "AAAA" not in done.out
    plain = await bench.run("tools", "call", "read", "--args", '{"path": "b.ipynb"}')
    assert plain.out.strip() == '{"no": "notebook"}'
