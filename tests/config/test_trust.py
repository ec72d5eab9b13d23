"""A folder's own files run nothing until the user trusts exactly them."""

import asyncio
import json
import os
from pathlib import Path
from typing import Any

import pytest

from planck.config.trust import MAX_FILES, Trust, TrustError
from planck.headless.planck import Planck
from planck.headless.services.toolbox import ToolBox
from planck.records.outcome import PlanckError
from tests.teams import write_team


def folder(tmp_path: Path) -> Path:
    """A workspace that would like to run things, and a home beside it."""
    work = tmp_path / "work"
    for name in (".planck/tools/lint", ".planck/sidecar", "more/deploy"):
        (work / name).mkdir(parents=True)
    (work / ".planck/config.json").write_text(
        json.dumps({"hooks": {"Stop": []}, "tools_dirs": ["more"], "permissions": {"mode": "full"}})
    )
    (work / ".planck/tools/lint/TOOL.json").write_text('{"name": "lint", "command": "evil \\u202e x"}')
    (work / "more/deploy/TOOL.json").write_text('{"name": "deploy", "command": "evil"}')
    (work / ".planck/sidecar/sidecar.py").write_text("import evil")
    (work / ".mcp.json").write_text('{"mcpServers": {"files": {"command": "evil"}}}')
    return work


def trust(tmp_path: Path, **more: Any) -> Trust:
    return Trust(tmp_path / "home", tmp_path / "work", **more)


def test_what_would_run_is_listed_with_nothing_invisible(tmp_path: Path) -> None:
    folder(tmp_path)
    standing = trust(tmp_path).examine()
    assert not standing.trusted
    assert standing.content.runs == (
        ".planck/config.json (hooks, tools_dirs)",
        ".mcp.json (MCP servers: files)",
        "tool lint (.planck/tools/lint/TOOL.json): evil \\u202e x",
        "sidecar (.planck/sidecar/sidecar.py)",
        "tool deploy (more/deploy/TOOL.json): evil",
    )
    assert "\n" not in standing.notice
    assert "trust=True" in standing.notice


@pytest.mark.parametrize(
    "change",
    [
        lambda work: (work / ".planck/tools/lint/TOOL.json").write_text(
            '{"name": "lint", "command": "worse"}'
        ),
        lambda work: (work / ".planck/tools/lint/run.sh").write_text("new"),
        lambda work: (work / ".planck/sidecar/sidecar.py").unlink(),
        lambda work: (work / ".mcp.json").unlink(),
        lambda work: (work / ".planck/config.json").write_text("{}"),
        lambda work: (work / "more/deploy/TOOL.json").write_text("{}"),
        lambda work: (work / ".planck/hooks").mkdir() or (work / ".planck/hooks/x").touch(),
        lambda work: (work / ".planck/sidecar/link").symlink_to("/etc"),
    ],
)
@pytest.mark.parametrize("this_run", [True, False])
def test_a_changed_file_asks_again(tmp_path: Path, change: Any, this_run: bool) -> None:
    work = folder(tmp_path)
    mine = trust(tmp_path, this_run=this_run)
    if not this_run:
        mine.give(mine.examine().content)
    assert mine.examine().trusted
    assert mine.examine().notice == ""
    change(work)
    after = mine.examine()
    assert not after.trusted
    assert after.changed
    assert trust(tmp_path).examine().trusted is False


@pytest.mark.parametrize("content", [b'{"\xff": {}}', b"[" * 99_999, b"[]", b"{"])
def test_a_list_of_trusted_folders_that_is_broken_trusts_nothing(tmp_path: Path, content: bytes) -> None:
    folder(tmp_path)
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "trust.json").write_bytes(content)
    with pytest.raises(TrustError, match=r"Rename it, then trust your folders again\."):
        trust(tmp_path).examine()


def test_trust_is_for_one_folder_and_can_be_taken_back(tmp_path: Path) -> None:
    work = folder(tmp_path)
    mine = trust(tmp_path)
    mine.give(mine.examine().content)
    other = tmp_path / "copy"
    os.rename(work, other)
    assert not Trust(tmp_path / "home", other).holds
    os.rename(other, work)
    assert mine.holds
    assert (mine.take_back(), mine.take_back(), mine.holds) == (True, False, False)
    assert (tmp_path / "home/trust.json").stat().st_mode & 0o777 == 0o600


def test_what_nobody_can_have_read_is_trusted_for_one_run_only(tmp_path: Path) -> None:
    work = folder(tmp_path)
    for number in range(MAX_FILES):
        (work / ".planck/sidecar" / str(number)).touch()
    mine = trust(tmp_path)
    with pytest.raises(TrustError, match="trust=True"):
        mine.give(mine.examine().content)
    assert trust(tmp_path, this_run=True).holds


def test_a_pipe_or_a_link_among_the_files_neither_blocks_nor_is_followed(tmp_path: Path) -> None:
    work = folder(tmp_path)
    os.mkfifo(work / ".planck/tools/lint/pipe")
    (work / ".planck/tools/lint/zero").symlink_to("/dev/zero")
    with pytest.raises(TrustError):
        trust(tmp_path).give(trust(tmp_path).examine().content)


def test_the_home_inside_the_workspace_is_the_users_own(tmp_path: Path) -> None:
    folder(tmp_path)
    assert "lint" not in str(Trust(tmp_path / "work/.planck", tmp_path / "work").examine().content.runs)


def test_stored_trust_opens_the_folder_and_still_not_mode_full(tmp_path: Path) -> None:
    work = folder(tmp_path)
    (tmp_path / "home").mkdir()
    closed = Planck(tmp_path / "home", work, environ={})
    assert (closed.config.hooks, closed.config.permissions.mode) == ({}, "ask")
    closed.trust.give(closed.trust.examine().content)
    open_ = Planck(tmp_path / "home", work, environ={})
    assert (open_.config.tools_dirs, open_.config.permissions.mode) == (["more"], "ask")
    assert any("Only you can choose that mode" in notice for notice in open_.notices)


RULES = [
    {"tool": "bash", "decision": "allow", "unconfined": True},
    {"tool": "bash", "command": "git push", "decision": "deny"},
]


def test_rules_of_an_untrusted_folder_only_narrow_and_replace_none(tmp_path: Path) -> None:
    from planck.config.rules import rules_in_force

    (tmp_path / "work/.planck").mkdir(parents=True)
    (tmp_path / "home").mkdir()
    (tmp_path / "work/.planck/config.json").write_text(json.dumps({"permissions": {"rules": RULES}}))
    mine = [{"tool": "write", "decision": "ask"}]
    (tmp_path / "home/config.json").write_text(json.dumps({"permissions": {"rules": mine}}))
    for trusted, expected in ((False, ["ask", "deny"]), (True, ["ask", "allow", "deny"])):
        app = Planck(tmp_path / "home", tmp_path / "work", environ={}, trust=trusted)
        rules = rules_in_force(app.resources.loaded, app.workspace)
        assert [rule.rule.decision for rule in rules] == expected
        assert "home/config.json, rule 1" in rules[0].source
        assert "work/.planck/config.json" in rules[-1].source


@pytest.mark.parametrize("where", ["comment", "home", "link", "user", "variable", "flag", "workspace"])
def test_a_folder_of_tools_is_trusted_by_its_content_however_it_is_named(tmp_path: Path, where: str) -> None:
    """A name that trust does not understand as the configuration does would leave its files unwatched."""
    work, home = tmp_path / "work", tmp_path / "home"
    (work / ".planck").mkdir(parents=True)
    home.mkdir()
    (tmp_path / "other").symlink_to(work)
    name = {"home": "~/work/more", "link": str(tmp_path / "other/more"), "workspace": "."}.get(where, "more")
    (work / "more/x").mkdir(parents=True)
    tool = (work if where == "workspace" else work / "more") / "x" / "TOOL.json"
    tool.parent.mkdir(exist_ok=True)
    named = json.dumps({"tools_dirs": [name]})
    environ, flags = {"HOME": str(tmp_path)}, {}
    if where in ("user", "workspace"):
        (home / "config.json").write_text(named)
    elif where == "variable":
        environ["PLANCK_TOOLS_DIRS"] = name
    elif where == "flag":
        flags["tools_dirs"] = [name]
    else:
        (work / ".planck/config.json").write_text(named + ("// mine" if where == "comment" else ""))

    def callable_tools() -> list[str]:
        app = Planck(home, work, environ=environ, flags=flags)
        return [row.tool.name for row in ToolBox(app.project).inventory().entries if row.trusted]

    for command, expected in (("echo seen", where != "workspace"), ("echo evil", False)):
        tool.write_text(json.dumps({"name": "x", "description": "x", "command": command, "parameters": {}}))
        assert "x" not in callable_tools()
        if command == "echo seen":
            Trust(home, work, environ=environ, flags=flags).give(
                Trust(home, work, environ=environ, flags=flags).examine().content
            )
            assert ("x" in callable_tools()) is expected


PROGRAM = "---\nname: guest\ndescription: x\nacp: /bin/{}\n---\nx"


@pytest.mark.parametrize("folder", [".planck/agents", ".agents/agents"])
def test_an_agents_file_that_names_a_program_is_trusted_by_its_content(tmp_path: Path, folder: str) -> None:
    (tmp_path / "work" / folder).mkdir(parents=True)
    prompt, program = (tmp_path / "work" / folder / name for name in ("prompt.md", "program.md"))
    program.write_text(PROGRAM.format("true"))
    mine = trust(tmp_path)
    assert mine.examine().content.runs == (f"{folder}/program.md",)
    mine.give(mine.examine().content)
    prompt.write_text("only text")
    assert mine.holds
    assert mine.doubt(program) == ""
    program.write_text(PROGRAM.format("false"))
    assert "not trusted" in mine.doubt(program)


@pytest.mark.parametrize("says", [{"acp": {"command": ["/bin/true"]}}, {"base_url": "http://10.0.0.1"}])
@pytest.mark.parametrize("where", ["a folder", "a nested name", "by a link", "to a link", "beside", "alias"])
async def test_a_team_that_agents_may_write_names_no_program_and_no_address(
    tmp_path: Path, where: str, says: dict[str, Any]
) -> None:
    """Whatever the user trusted: as it is now, it is none of what was there to be looked at."""
    work, added, out = tmp_path / "work", tmp_path / "added", tmp_path / "out"
    for place in (work / ".planck/teams", added, out):
        place.mkdir(parents=True)
    real = {"a nested name": work / "sub/.planck/teams/t", "beside": added / "t", "alias": work / "teams/t"}
    lead = {"type": "orchestrator", "provider": "ollama", "model_id": "m"}
    model = {} if "acp" in says else {"provider": "ollama", "model_id": "m"}
    write_team(
        real.get(where, work / "t"), lead, {"provider": "", "model_id": "", "type": "w", **model, **says}
    )
    team = str(real.get(where, work / "t"))
    if where == "by a link":
        (out / "t").symlink_to(team)
        team = str(out / "t")
    elif where == "to a link":
        (work / "t").rename(out / "t")
        (work / "t").symlink_to(out / "t")
    flags = {"teams_dirs": ["./teams/../teams"]} if where == "alias" else {}
    options: dict[str, Any] = {"environ": {}, "flags": flags, "trust": True, "add_dirs": [added]}
    async with Planck(tmp_path / "home", work, **options) as planck:
        if where == "alias":  # what the user's own configuration names is looked at, as it is now
            team = "t"
        await asyncio.sleep(0.02)  # a file's time is that of the kernel's last tick
        if where == "to a link":
            (work / "t").rename(work / "u")
        elif where != "beside":
            file = real.get(where, work / "t") / "TEAM.json"
            file.write_text(file.read_text() + " ")
        if where == "to a link":
            (work / "u").rename(work / "t")
        with pytest.raises(PlanckError) as refused:
            await planck.start(team=team, stored=False)
        assert refused.value.err.kind == "permission_denied"
        assert (
            "not trusted" if where == "alias" else "agents can change this file"
        ) in refused.value.err.message


async def test_a_team_of_the_folder_names_a_program_for_a_run_that_trusts_it_as_it_was(
    tmp_path: Path,
) -> None:
    """Trust for good is for what was looked at, and that is not every file of the folder."""
    work, home = tmp_path / "work", tmp_path / "home"
    lead = {"type": "orchestrator", "provider": "ollama", "model_id": "m", "base_url": "http://127.0.0.1:1"}
    write_team(work / "t", lead)
    stored = Trust(home, work)
    stored.give(stored.examine().content)
    async with Planck(home, work, environ={}) as planck:
        with pytest.raises(PlanckError, match=", or review it and pass trust=True"):
            await planck.start(team=str(work / "t"), stored=False)
    async with Planck(home, work, environ={}, trust=True) as planck:
        assert await planck.start(team=str(work / "t"), stored=False)
        with pytest.raises(PlanckError) as missing:
            await planck.start(team=str(work / "none/TEAM.json"), stored=False)
    assert missing.value.err.kind == "not_found"
