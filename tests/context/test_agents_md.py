"""Which AGENTS.md a prompt carries, and in which state."""

import os
from pathlib import Path

import msgspec
import pytest

from planck.context import agents_md


def find_instructions(cwd: Path, workspace: Path, *, nearest: bool = False) -> agents_md.Instructions:
    """As an agent finds them, without the headings where there is one text alone."""
    found = agents_md.find_instructions(cwd, workspace, nearest=nearest)
    if len(found.paths) != 1 or not found.text:
        return found
    heading = f"# Project instructions ({found.paths[0]})\n\n"
    assert found.text.startswith(heading)
    return msgspec.structs.replace(found, text=found.text.removeprefix(heading))


def put(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


@pytest.mark.parametrize("git_is_a_file", [False, True])
def test_the_nearest_counts_up_to_the_first_folder_with_git(tmp_path: Path, git_is_a_file: bool) -> None:
    repo = tmp_path / "outer" / "repo"
    put(tmp_path / "outer" / "AGENTS.md", "planted above")
    cwd = repo / "a" / "b"
    cwd.mkdir(parents=True)
    put(repo / ".git", "gitdir: x") if git_is_a_file else (repo / ".git").mkdir()
    assert find_instructions(cwd, cwd).text == ""
    put(repo / "AGENTS.md", "of the repository")
    assert find_instructions(cwd, cwd).text == "of the repository"
    put(repo / "a" / "AGENTS.md", "nearer")
    assert find_instructions(cwd, cwd, nearest=True).text == "nearer"


def test_without_git_none_above_the_workspace_counts(tmp_path: Path) -> None:
    put(tmp_path / "AGENTS.md", "planted above")
    workspace = tmp_path / "work"
    cwd = workspace / "deep" / "er"
    cwd.mkdir(parents=True)
    assert find_instructions(cwd, workspace).text == ""
    assert find_instructions(workspace, workspace).text == ""
    put(workspace / "AGENTS.md", "mine")
    assert find_instructions(cwd, workspace).text == "mine"


def test_a_chain_goes_from_the_root_to_here(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    first, last = put(tmp_path / "AGENTS.md", "root rule"), put(tmp_path / "a" / "AGENTS.md", "own rule")
    found = find_instructions(tmp_path / "a", tmp_path)
    assert found.paths == (first, last)
    assert found.text.index("root rule") < found.text.index("own rule")


def test_claude_md_counts_where_there_is_no_agents_md(tmp_path: Path) -> None:
    put(tmp_path / "CLAUDE.md", "fallback")
    assert find_instructions(tmp_path, tmp_path).text == "fallback"
    put(tmp_path / "AGENTS.md", "first")
    assert find_instructions(tmp_path, tmp_path).text == "first"


def test_a_long_file_is_cut_at_64_kib_and_says_so(tmp_path: Path) -> None:
    put(tmp_path / "AGENTS.md", "é" * 50_000)
    text = find_instructions(tmp_path, tmp_path).text
    assert len(text.encode()) < 65_536 + 100
    assert text.endswith("…[truncated, showing up to 65536 of 100000 bytes]")


def test_a_chain_keeps_to_64_kib_and_the_nearest_is_whole(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    put(tmp_path / "AGENTS.md", "far " * 20_000)
    put(tmp_path / "a" / "AGENTS.md", "near " * 10_000)
    text = find_instructions(tmp_path / "a", tmp_path).text
    assert len(text.encode()) < 65_536 + 500
    assert text.count("near ") == 9_999


def test_control_and_invisible_characters_are_made_visible(tmp_path: Path) -> None:
    hidden = "a\x1b[2Jb\u202ec\u200bd\U000e0041e\x00f\rg"
    put(tmp_path / "AGENTS.md", hidden)
    text = find_instructions(tmp_path, tmp_path).text
    assert text == "a\\x1b[2Jb\\u202ec\\u200bd\\U000e0041e\\x00f\\x0dg"


def test_a_fifo_and_a_link_out_of_the_project_are_left_out_with_a_notice(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    secret = put(tmp_path / "secret.txt", "outside")
    (work / "AGENTS.md").symlink_to(secret)
    os.mkfifo(work / "CLAUDE.md")
    found = find_instructions(work, work)
    assert found.text == ""
    assert ["link" in found.notices[0], "regular" in found.notices[1]] == [True, True]


def test_a_link_inside_the_project_counts(tmp_path: Path) -> None:
    put(tmp_path / "docs" / "rules.md", "inside")
    (tmp_path / "AGENTS.md").symlink_to("docs/rules.md")
    assert find_instructions(tmp_path, tmp_path).text == "inside"


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to make a file of another user")
def test_a_file_of_another_user_is_left_out_with_a_notice(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    work = tmp_path / "work"
    work.mkdir()
    os.chown(put(tmp_path / "AGENTS.md", "planted"), 65534, 65534)
    found = find_instructions(work, work)
    assert found.text == ""
    assert "another user" in found.notices[0]
    os.chown(work, 65534, 65534)
    assert find_instructions(work, work).text == "planted"
