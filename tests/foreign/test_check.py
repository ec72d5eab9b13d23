"""Before a team starts: `teams check` tries its foreign members, `doctor` says which there could be."""

import sys
from pathlib import Path
from typing import Any

import pytest

from planck.records.outcome import PlanckError
from tests.command import Bench
from tests.foreign.crew import AGENT, crew, foreign, open_place, outputs, plain
from tests.teams import Brains, ask, write_team
from tests.wire import chat
from tests.wire.server import WireServer

pytestmark = pytest.mark.heavy

LEAD = {"type": "orchestrator", "name": "lead"}


async def _check(folder: Path, *members: dict[str, Any], **options: Any) -> list[str]:
    async with open_place(folder, "http://127.0.0.1:9", **options) as planck:
        return await planck.check_team(write_team(folder / "team", LEAD, *members))


async def test_a_member_that_answers_has_nothing_wrong_with_it(tmp_path: Path) -> None:
    assert await _check(tmp_path, plain()) == []


async def test_each_member_that_does_not_answer_says_why(tmp_path: Path) -> None:
    silent, wrong = foreign("no-such-program", name="a"), foreign("/bin/echo", "hi", name="b")
    found = await _check(tmp_path, silent, wrong, plain("version=7", name="c"), plain(name="d"))
    assert [one.partition(":")[0] for one in found] == ["a", "b", "c"]
    assert "program not found: 'no-such-program'" in found[0]
    assert "not JSON-RPC" in found[1]
    assert "ACP version 7" in found[2]


async def test_an_entry_that_makes_no_sense_is_told_and_nothing_is_started(tmp_path: Path) -> None:
    wrong = {**plain(env=["A=B"]), "tools": ["read"]}
    orchestrator = {**plain(), "type": "orchestrator"}
    async with open_place(tmp_path, "http://127.0.0.1:9") as planck:
        with pytest.raises(PlanckError) as refused:
            await planck.start(team=write_team(tmp_path / "team", LEAD, wrong))
        assert "an `acp` member has its own model and tools. Remove tools." in refused.value.err.message
        assert "'A=B' in acp.env is not a variable name." in refused.value.err.message
        with pytest.raises(PlanckError, match="cannot be an external program"):
            await planck.start(team=write_team(tmp_path / "team", orchestrator))
        with pytest.raises(PlanckError, match="mode"):
            await planck.start(team=write_team(tmp_path / "team", LEAD, plain(mode="reckless")))


async def test_an_untrusted_team_is_not_even_tried(tmp_path: Path) -> None:
    async with open_place(tmp_path, "http://127.0.0.1:9") as planck:
        write_team(tmp_path / "work" / ".planck" / "teams" / "crew", LEAD, plain())
        [found] = await planck.check_team("crew")
        assert "not trusted" in found


async def test_doctor_names_the_agents_that_are_installed(tmp_path: Path) -> None:
    bench = Bench(tmp_path, "http://127.0.0.1:9")
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "goose").write_text("#!/bin/sh\n")
    (folder / "goose").chmod(0o755)
    done = await bench.run("doctor", env={"PATH": f"{folder}:/usr/bin:/bin"})
    assert "goose (`goose acp`)" in done.out


async def test_its_model_is_its_own(tmp_path: Path) -> None:
    lead = [chat.calls(ask("guest", "!say hi")), chat.text("done")]
    async with crew(tmp_path, {"lead": lead}, plain("usage=1")) as session:
        with pytest.raises(PlanckError, match="is an external program with its own model"):
            await session.change_model("local/m", agent="guest")
        result = await session.run("go")
        assert result.cost_usd is None
        assert await outputs(session) == ["hi"]
        guest = next(one for one in result.agents if one.name == "guest")
        assert (guest.usage.input_tokens, guest.usage.output_tokens, guest.cost_usd) == (12, 5, None)


async def test_what_it_says_that_it_cost_is_its_cost(tmp_path: Path) -> None:
    lead = [chat.calls(ask("guest", "!cost 0.25")), chat.calls(ask("guest", "!cost 0.75")), chat.text("done")]
    async with crew(tmp_path, {"lead": lead}, plain()) as session:
        result = await session.run("go")
        guest = next(one for one in result.agents if one.name == "guest")
        assert guest.cost_usd == 0.75


async def test_an_imported_session_starts_no_program_that_only_its_author_named(tmp_path: Path) -> None:
    lead = [chat.calls(ask("guest", "!say hi")), chat.text("done")]
    async with WireServer(Brains({"lead": lead})) as server:
        async with open_place(tmp_path, server.url) as planck:
            team = write_team(tmp_path / "team", LEAD, plain())
            session = await planck.start(team=team, name="one")
            await session.run("go")
        file = tmp_path / "session.ndjson"
        file.write_bytes(b"".join(planck.archive.events(session.id)))
        planck.archive.delete(session.id)
        await planck.archive.import_session(file)
        async with open_place(tmp_path, server.url) as planck:
            with pytest.raises(PlanckError) as refused:
                await planck.resume(session.id)
            assert refused.value.err.kind == "permission_denied"
            assert "which none of your teams uses" in refused.value.err.message


FILE = """---
name: {name}
description: Another program.
acp:
  command: {command}
  env: GUEST
  mode: read-only
---
Do what you are told.
"""


@pytest.mark.parametrize("folder", [".planck", ".agents", ".claude", "by a link", "to a link"])
async def test_a_file_that_agents_may_write_names_no_program(tmp_path: Path, folder: str) -> None:
    """A program gets the network and variables that its file names: an agent could write itself one."""
    work = tmp_path / "work"
    here = {"by a link": ".agents/agents", "to a link": "agents"}.get(folder, f"{folder}/agents")
    (work / here).mkdir(parents=True)
    (work / here / "evil.md").write_text(FILE.format(name="evil", command="/bin/true"))
    if folder == "by a link":
        (work / ".claude").mkdir()
        (work / ".agents").rename(work / "elsewhere")
        (work / ".claude" / "agents").symlink_to(work / "elsewhere" / "agents")
    if folder == "to a link":
        (work / ".planck").mkdir()
        (work / ".planck" / "agents").symlink_to(work / "agents")
    async with open_place(tmp_path, "http://127.0.0.1:1", trust=True) as planck:
        found = planck.project.resources.agents()
    if folder in (".planck", ".agents"):
        assert [*found.agents] == ["evil"]
        assert found.problems == {}
    else:
        assert not found.agents
        (problem,) = found.problems.values()
        assert "cannot name a program; move the file to .planck/agents" in problem


async def test_an_agents_file_can_name_a_program_that_is_spawned_or_a_member(tmp_path: Path) -> None:
    folder = tmp_path / "home" / "agents"
    folder.mkdir(parents=True)
    for name in ("guest", "helper"):
        command = f"{sys.executable} -I {AGENT}"
        (folder / f"{name}.md").write_text(FILE.format(name=name, command=command))
    spawn = ("spawn_agent", {"type": "helper", "name": "helper"})
    lead = [
        chat.calls(spawn),
        chat.calls(ask("helper", "!env GUEST\n!touch x")),
        chat.calls(ask("guest", "!say hi")),
    ]
    member = {"type": "guest", "provider": "", "model_id": ""}
    brains = {"lead": [*lead, chat.text("done")]}
    async with crew(tmp_path, brains, member, environ={"GUEST": "value"}) as session:
        await session.run("go")
        helper, guest = await outputs(session)
        assert helper.startswith('{"GUEST": "value"}x: ')
        assert guest == "hi"
    assert list((tmp_path / "work").iterdir()) == []


async def test_a_projects_own_file_starts_no_program_until_the_folder_is_trusted(tmp_path: Path) -> None:
    folder = tmp_path / "work" / ".planck" / "agents"
    folder.mkdir(parents=True)
    command = f"{sys.executable} -I {AGENT}"
    (folder / "guest.md").write_text(FILE.format(name="guest", command=command))
    lead = [
        chat.calls(("spawn_agent", {"type": "guest", "name": "guest"})),
        chat.calls(ask("guest", "!say hi")),
    ]
    async with crew(tmp_path, {"lead": [*lead, chat.text("done")]}) as session:
        await session.run("go")
        [said] = await outputs(session)
        assert said.startswith("permission_denied: guest (")
        assert "this folder is not trusted" in said


@pytest.mark.parametrize(
    "how", ["its path", "PATH", "its script", "npx", "npx there", "no more than a command"]
)
async def test_a_program_that_an_agent_could_replace_gets_no_network_and_no_variables(
    tmp_path: Path, how: str
) -> None:
    work, bin = tmp_path / "work", tmp_path / "bin"
    for folder in (work / "bin", bin):
        folder.mkdir(parents=True)
    script = "#!/bin/sh\nexit 9\n"
    for place in (work / "agent", work / "bin" / "agent", bin / "npx"):
        place.write_text(script)
        place.chmod(0o755)
    if how == "npx there":
        (work / "server").touch()
    command = {"its path": [f"{work}/agent"], "PATH": ["agent"], "its script": ["sh", "agent"]}.get(
        how, ["./agent"] if how.startswith("no") else ["npx", "-y", "server"]
    )
    more: dict[str, Any] = {"network": False} if how.startswith("no") else {"env": ["KEY"]}
    environ = {"PATH": f"{work}/bin:{bin}:/usr/bin:/bin", "KEY": "x"}
    found = await _check(tmp_path, foreign(*command, **more), environ=environ)
    expected = {"PATH": "agent: not found", "npx": "exit code 9"}
    expected["no more than a command"] = "exit code 9"
    assert expected.get(how, "an agent could replace") in found[0]
