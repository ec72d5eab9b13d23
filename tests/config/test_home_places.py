"""A workspace below Planck's home is like any other: only named places of the home are the user's own.

The clones of a pool lie there, with files that others wrote.
"""

import json
import os
from pathlib import Path

import pytest

from planck.config.project import Project
from planck.config.trust import Trust
from planck.headless.services.toolbox import ToolBox
from planck.peers.plan import plan_peers
from tests.teams import write_team

MEMBER = {"type": "w", "provider": "", "model_id": "", "acp": {"command": ["/bin/true"]}}
GUEST = "---\nname: guest\ndescription: x\nacp: /bin/true\n---\nx"
TOOL = json.dumps({"name": "lint", "description": "x", "command": "true", "parameters": {}})
HOOK = {"Stop": [{"hooks": [{"type": "command", "command": "true"}]}]}
FILES = {
    ".planck/config.json": json.dumps({"hooks": HOOK, "tools_dirs": ["more", ".planck/tools"]}),
    ".mcp.json": '{"mcpServers": {"files": {"command": "true"}}}',
    ".planck/tools/lint/TOOL.json": TOOL,
    "more/deploy/TOOL.json": TOOL.replace("lint", "deploy"),
    ".planck/sidecar/sidecar.py": "import evil",
    ".planck/hooks/stop.sh": "true",
    ".planck/agents/guest.md": GUEST,
    ".agents/agents/guest.md": GUEST,
    ".planck/teams/evil/TEAM.json": "",
    "evil/TEAM.json": "",
}
"""Every kind of file with which a folder runs, or speaks to, something."""
PLACES = ("outside", "home/work/s1", "home/projects/shop", "home/teams/t", "home/tools", "home", "link")


def make_workspace(folder: Path) -> Path:
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
        if name.endswith("TEAM.json"):
            write_team((folder / name).parent, {"provider": "ollama", "model_id": "m"}, MEMBER)
    return folder


def place_workspace(tmp_path: Path, place: str) -> Path:
    if place == "link":
        make_workspace(tmp_path / "home/work/s1")
        (tmp_path / "link").symlink_to(tmp_path / "home/work/s1")
        return tmp_path / "link"
    return make_workspace(tmp_path / place)


def show(home: Path, work: Path) -> dict[str, object]:
    """Returns all that a folder's own files may do, by the doors that would do it."""
    project = Project(home, work, environ={"HOME": str(home.parent)})
    plan = plan_peers(project.resources)
    rows = ToolBox(project).inventory().entries
    return {
        "doubtful": [name for name in FILES if project.doubt(work / name)],
        "tools": sorted(row.tool.name for row in rows if row.trusted and row.tool.name in ("lint", "deploy")),
        "hooks": project.config.hooks != {},
        "sidecars": [sidecar.name for sidecar in plan.sidecars],
        "servers": [server.name for server in plan.servers],
        "told": project.trust.state.content.runs,
    }


@pytest.mark.parametrize("place", PLACES)
def test_a_workspace_below_the_home_runs_what_any_other_runs(tmp_path: Path, place: str) -> None:
    home, work = tmp_path / "home", place_workspace(tmp_path, place)
    home.mkdir(exist_ok=True)
    other = make_workspace(tmp_path / "any")
    for given in (False, True):
        if given:
            for folder in (work, other):
                trust = Trust(home, folder)
                trust.give(trust.examine().content)
        shown = show(home, work)
        assert shown == show(home, other)
        assert shown["doubtful"] == (["evil/TEAM.json"] if given else [*FILES])
        assert bool(shown["tools"]) is given
    trusted = [name for name in FILES if name != "evil/TEAM.json"]
    for name in trusted:
        before = (work / name).read_text()
        (work / name).write_text(before + " ")
        assert not Trust(home, work).holds, name
        (work / name).write_text(before)
    assert Trust(home, work).holds


STANDPOINTS = ("outside", "home/work/s2", "home/projects/shop", ".", "home")


@pytest.mark.parametrize("where", STANDPOINTS)
@pytest.mark.parametrize("way", ["by its path", "by a link to it", "by a link in it"])
def test_the_clone_of_another_session_is_nobodys_word(tmp_path: Path, where: str, way: str) -> None:
    home, clone, work = tmp_path / "home", make_workspace(tmp_path / "home/work/s1"), tmp_path / where
    work.mkdir(parents=True, exist_ok=True)
    (home / "config.json").write_text("{}")
    seen = clone
    if way == "by a link to it":
        seen = tmp_path / "seen"
        seen.symlink_to(clone)
    elif way == "by a link in it":
        clone.rename(tmp_path / "moved")
        clone.symlink_to(tmp_path / "moved")
    flags = {"tools_dirs": [str(seen / "more")], "sidecar": str(seen / ".planck/sidecar")}
    project = Project(home, work, environ={"HOME": str(tmp_path)}, flags=flags, trust=True)
    assert [name for name in FILES if "in another session's clone" not in project.doubt(seen / name)] == []
    rows = {row.tool.name: row.trusted for row in ToolBox(project).inventory().entries}
    assert not rows.get("deploy")
    assert [sidecar.path for sidecar in plan_peers(project.resources).sidecars] == []


@pytest.mark.parametrize("where", ["outside", "home/work/s2", "."])
def test_the_users_own_places_of_the_home_are_his_word_from_everywhere(tmp_path: Path, where: str) -> None:
    home, work = tmp_path / "home", tmp_path / where
    work.mkdir(parents=True, exist_ok=True)
    write_team(home / "teams/mine", {"provider": "ollama", "model_id": "m"}, MEMBER)
    for name, text in {"tools/lint/TOOL.json": TOOL, "agents/guest.md": GUEST}.items():
        (home / name).parent.mkdir(parents=True)
        (home / name).write_text(text)
    project = Project(home, work, environ={"HOME": os.devnull})
    for name in ("teams/mine/TEAM.json", "tools/lint/TOOL.json", "agents/guest.md"):
        assert project.doubt(home / name) == ""
    assert "lint" in {row.tool.name for row in ToolBox(project).inventory().entries if row.trusted}
    assert project.trust.state.content.runs == ()
    for name in ("projects/shop", "sessions/s1", "cache", "copies"):  # in a workspace, they are its files
        write_team(home / name, {"provider": "ollama", "model_id": "m"}, MEMBER)
        inside = where in (".", f"home/{name}")
        assert bool(project.doubt(home / name / "TEAM.json")) is inside, name
