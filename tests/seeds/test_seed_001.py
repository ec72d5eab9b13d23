"""Seed 001 (the tools of a team as factories, and what a spawned agent is given), in our words."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

import planck
from planck import Err, ErrorKind, Ok, Planck, Tool, ToolContext, load_all, tool
from planck.headless import OpenSession
from planck.llm.provider import Request
from planck.records.messages import AssistantMessage
from planck.records.outcome import PlanckError
from planck.testing import Say, ScriptedProvider
from planck.toolkit.tool import find_schema_problem
from tests.teams import ask, facts, spawned
from tests.tools.external_bench import write_tool

EMPTY = {"type": "object"}


class Stage:
    """A Planck whose model is a script: the lead says `steps` in order, each worker its one call, then ok."""

    def __init__(self, folder: Path, *steps: list[tuple[str, Any]], calls: Any = ()) -> None:
        (folder / "work").mkdir(exist_ok=True)
        self.provider = ScriptedProvider(self.answer)
        self.planck = Planck(
            folder / "home",
            folder / "work",
            environ={"PATH": "/usr/bin:/bin"},
            flags={"default_model": "local/m", "permissions": {"mode": "full"}},
            providers={"local": self.provider},
        )
        self.steps = list(steps)
        self.calls = list(calls)

    def answer(self, request: Request) -> Say | str:
        said = sum(isinstance(message, AssistantMessage) for message in request.history.messages)
        mine = [self.calls] if "be bob" in request.system else self.steps
        return Say(calls=mine[said]) if said < len(mine) and mine[said] else "ok"

    def tools_of(self, name: str) -> tuple[str, ...]:
        """What the worker's model was shown in its newest request."""
        return next(asked.tools for asked in reversed(self.provider.asked) if f"be {name}" in asked.system)


async def ends(session: OpenSession, name: str) -> list[dict[str, Any]]:
    return [data for type, data in await facts(session) if type == "tool_end" and data["name"] == name]


async def spawn_answer(session: OpenSession) -> dict[str, Any]:
    [end] = await ends(session, "spawn_agent")
    answer: dict[str, Any] = json.loads(end["output"])
    return answer


def probe(name: str = "probe", says: str = "probed") -> Tool:
    return Tool(name, "A tool of the program.", EMPTY, lambda agent, call, args, *, says=says: says)


async def call(one: Tool, ctx: ToolContext, args: dict[str, Any]) -> Any:
    found = one.execute(args, ctx)
    return await found if isinstance(found, Awaitable) else found


def test_every_factory_and_prepend_agents_md_is_public_and_every_schema_of_ours_is_sound() -> None:
    everyone = planck.worker_tools("t", None)
    lead = planck.orchestrator_tools("s", "t", [])
    alone = [
        planck.ask_agent("t"),
        planck.delegate_task("t"),
        planck.send_response(None),
        planck.list_team("t"),
        planck.spawn_agent("s", "t"),
        planck.destroy_agent("t"),
        planck.interrupt_agent("t"),
        planck.list_models([]),
    ]
    made = [*everyone, *lead]
    assert [one.name for one in alone] == [one.name for one in made if one.name in planck.__all__]
    assert {find_schema_problem(one.parameters) for one in (*alone, *made)} == {""}


def test_spawn_agent_says_what_can_be_granted_and_where_that_is_nothing() -> None:
    nothing = planck.spawn_agent("s", "t").description
    assert "No built-in tools available to grant." in nothing
    assert "No skills available to grant." in nothing
    greet = Tool("greet", "Greet.", {}, lambda agent, call, args: "hello")
    some = planck.spawn_agent("s", "t", [greet], ["pdf", "notes"]).description
    assert "Available built-in tools to grant: greet." in some
    assert "Available skills to grant: pdf, notes." in some


async def test_every_schema_of_our_built_in_tools_is_sound(tmp_path: Path) -> None:
    async with Stage(tmp_path).planck as app:
        session = await app.start()
        await session.run("hi")
        tools = session._team.orchestrator.actor.agent.tools
        assert {one.name: find_schema_problem(one.parameters) for one in tools} == dict.fromkeys(
            tools.names(), ""
        )


@pytest.mark.parametrize("way", ["start", "add_tool", "team", "load_all"])
async def test_a_tool_object_of_the_program_that_is_granted_runs_in_the_worker(
    tmp_path: Path, way: str
) -> None:
    (tmp_path / "tools").mkdir()
    write_tool(tmp_path / "tools", "echo probed")
    own = load_all([tmp_path / "tools"]) if way == "load_all" else [probe()]
    stage = Stage(tmp_path, [spawned("bob", tools=["probe", "nope"])], [ask("bob")], calls=[("probe", {})])
    async with stage.planck as app, asyncio.timeout(30):
        team = None
        if way == "team":
            members = [{"type": "orchestrator", "provider": "local", "model_id": "m", "tools": ["read"]}]
            (tmp_path / "TEAM.json").write_text(json.dumps({"name": "t", "members": members}))
            team = str(tmp_path / "TEAM.json")
        session = await app.start(team, tools=() if way == "add_tool" else own)
        if way == "add_tool":
            await session.add_tool(own[0])
        assert "probe" in session.tools
        await session.run("go")
        answer = await spawn_answer(session)
        assert ("probe" in answer["tools"], answer["ignored"]) == (True, ["nope"])
        assert set(answer["tools"]) == set(stage.tools_of("bob"))
        [end] = await ends(session, "probe")
        assert (end["ok"], end["output"].strip()) == (True, "probed")


async def test_the_lead_itself_calls_what_start_was_given(tmp_path: Path) -> None:
    stage = Stage(tmp_path, [("probe", {})])
    async with stage.planck as app:
        session = await app.start(tools=[probe()])
        await session.run("go")
        assert [end["output"] for end in await ends(session, "probe")] == ["probed"]


async def test_a_worker_keeps_its_object_after_a_crash_and_a_resume_takes_the_tools_again(
    tmp_path: Path,
) -> None:
    stage = Stage(tmp_path, [spawned("bob", tools=["probe"])], [ask("bob")], calls=[("probe", {})])
    async with stage.planck as app, asyncio.timeout(30):
        session = await app.start(tools=[probe()])
        await session.run("go")
        team = session._team
        bob = next(member for member in team.members if member.name == "bob")
        await team._restore(bob)
        assert "probe" in bob.actor.agent.tools.names()
        id = session.id
    again = Stage(tmp_path)
    async with again.planck as app:
        with_tools = await app.resume(id, tools=[probe()])
        assert ["probe" in member.actor.agent.tools.names() for member in with_tools._team.members] == [
            True,
            True,
        ]


async def test_a_session_starts_with_the_list_of_tools_that_the_seed_begins_with(tmp_path: Path) -> None:
    """The ids are those of no session: the program chose them before there was one."""
    script = [spawned("bob", tools=["probe", "read"])], [ask("bob")]
    stage = Stage(tmp_path, *script, calls=[("probe", {})])
    async with stage.planck as app, asyncio.timeout(30):
        model = await app.model()
        lead = planck.orchestrator_tools("s1", "t1", [model], grantable_tools=[probe()])
        session = await app.start(tools=[*lead, *planck.worker_tools("t1", None), probe("mine")])
        assert session.tools.count("spawn_agent") == session.tools.count("ask_agent") == 1
        assert "mine" in session.tools
        await session.run("go")
        [made] = await ends(session, "spawn_agent")
        said = json.loads(made["output"])
        assert ("probe" in said["tools"], said["ignored"]) == (True, ["read"])
        [end] = await ends(session, "probe")
        assert (end["ok"], end["output"].strip()) == (True, "probed")


async def test_an_address_that_the_user_did_not_configure_is_still_a_question(tmp_path: Path) -> None:
    worker = spawned("bob", provider="ollama", model_id="m", base_url="http://127.0.0.1:9/elsewhere")
    async with Stage(tmp_path, [worker]).planck as app, asyncio.timeout(30):
        session = await app.start(tools=planck.orchestrator_tools("s1", "t1", []), mode="full")
        await session.run("go")
        [made] = await ends(session, "spawn_agent")
        assert made["error"]["message"].startswith("spawn_agent was not run: nobody can be asked")


@pytest.mark.parametrize("name", ["read", "spawn_agent", "ask_agent"])
async def test_a_built_in_tool_is_never_shadowed_by_one_of_the_program(tmp_path: Path, name: str) -> None:
    async with Stage(tmp_path).planck as app:
        for tools in ([probe(name)], [probe(), probe()]):
            with pytest.raises(PlanckError) as refused:
                await app.start(tools=tools)
            assert refused.value.err.kind is ErrorKind.NOT_UNIQUE
        session = await app.start()
        with pytest.raises(PlanckError) as taken:
            await session.add_tool(probe(name))
        assert taken.value.err.kind is ErrorKind.NOT_UNIQUE
        with pytest.raises(PlanckError, match="is not a Tool"):
            await app.start(tools=[len])  # type: ignore[list-item]


async def factories(session: OpenSession, **more: Any) -> dict[str, Tool]:
    own = planck.orchestrator_tools(session.id, session.id, [session.orchestrator.model], **more)
    return {one.name: one for one in own}


async def use(session: OpenSession, one: Tool) -> None:
    await session.remove_tool(one.name)
    await session.add_tool(one)


async def test_a_factorys_grantable_objects_run_in_the_worker_and_nothing_else_is_answered(
    tmp_path: Path,
) -> None:
    stage = Stage(tmp_path, [spawned("bob", tools=["probe", "other", "nope"], skills=["nope"])], [ask("bob")])
    stage.calls = [("probe", {})]
    ran: list[str] = []

    @tool
    def other() -> str:
        """Another one."""
        return "other"

    def note(args: dict[str, Any], ctx: ToolContext) -> str:
        ran.append(ctx.agent_id)
        return "noted"

    async with stage.planck as app, asyncio.timeout(30):
        session = await app.start()
        made = await factories(
            session, grantable_tools=[Tool("probe", "", EMPTY, note), other], grantable_skills=["nope"]
        )
        assert "probe, other" in made["spawn_agent"].description
        await use(session, made["spawn_agent"])
        await session.run("go")
        answer = await spawn_answer(session)
        assert answer["tools"][-2:] == ["probe", "other"]
        assert (answer["skills"], answer["ignored"]) == ([], ["nope", "nope"])
        assert set(answer["tools"]) == set(stage.tools_of("bob"))
        assert ran == [answer["id"]]
        spawn = session._team
        bob = next(member for member in spawn.members if member.name == "bob")
        await spawn._restore(bob)
        assert "probe" in bob.actor.agent.tools.names()


async def test_a_worker_starts_in_cwd_and_its_agents_md_is_looked_for_there(tmp_path: Path) -> None:
    inner = tmp_path / "work" / "part" / "deep"
    inner.mkdir(parents=True)
    (tmp_path / "work" / "AGENTS.md").write_text("Rules of the whole.")
    (inner.parent / "AGENTS.md").write_text("Rules of the part.")
    stage = Stage(tmp_path, [spawned("bob", tools=["bash", "where"])], [ask("bob")])
    stage.calls = [("bash", {"command": "pwd"}), ("where", {}), ("bash", {"command": "pwd", "cwd": "."})]
    where = Tool("where", "", EMPTY, lambda args, ctx: ctx.cwd)
    (tmp_path / "tools").mkdir()
    write_tool(tmp_path / "tools", "pwd")
    from_file = load_all([tmp_path / "tools"])
    async with stage.planck as app, asyncio.timeout(30):
        session = await app.start(tools=[where, *from_file])
        bash = [one for one in session._team.orchestrator.actor.agent.tools if one.name == "bash"]
        made = await factories(session, grantable_tools=[where, *bash, *from_file], cwd=str(inner))
        await use(session, made["spawn_agent"])
        await session.run("go")
        real = str(inner.resolve())
        outputs = [end["output"].strip() for end in await ends(session, "bash")]
        assert outputs == [real, str((tmp_path / "work").resolve())]
        assert [end["output"] for end in await ends(session, "where")] == ["part/deep"]
        shown = next(asked.system for asked in stage.provider.asked if "be bob" in asked.system)
        parts = [part for part in shown.split("\n\n") if part.startswith("Rules") or part == "be bob"]
        assert parts == ["Rules of the whole.", "Rules of the part.", "be bob"]
        assert stage.provider.asked[0].system.endswith("Rules of the whole.")


@pytest.mark.parametrize(
    ("cwd", "kind"),
    [
        ("/", "outside_workspace"),
        ("..", "outside_workspace"),
        ("~", "outside_workspace"),
        ("link", "outside_workspace"),
        ("nowhere", "not_found"),
        ("a.txt", "not_found"),
    ],
)
async def test_a_cwd_that_is_no_folder_of_the_workspace_is_refused(
    tmp_path: Path, cwd: str, kind: str
) -> None:
    stage = Stage(tmp_path, [spawned("bob")])
    (tmp_path / "work" / "link").symlink_to("/")
    (tmp_path / "work" / "a.txt").write_text("")
    async with stage.planck as app:
        session = await app.start()
        await use(session, (await factories(session, cwd=cwd))["spawn_agent"])
        await session.run("go")
        [end] = await ends(session, "spawn_agent")
        assert not end["ok"]
        assert end["error"]["kind"] in (kind, "read_failed")
        assert len(session.members) == 1


async def test_a_spawn_agent_of_another_session_reaches_nobody(tmp_path: Path) -> None:
    async with Stage(tmp_path).planck as app:
        session = await app.start()
        ctx = ToolContext(session.id, session.orchestrator.id, "c", tmp_path)
        _, args = spawned("bob")
        other = planck.spawn_agent("another", session.id)
        assert await call(other, ctx, args) == Err(ErrorKind.NOT_FOUND, "Agent not found.")
        assert isinstance(await call(planck.spawn_agent(session.id, session.id), ctx, args), Ok)
        assert [member.name for member in session.members] == ["orchestrator", "bob"]


async def test_a_sender_is_the_one_agent_that_may_use_the_tool(tmp_path: Path) -> None:
    async with Stage(tmp_path, [spawned("bob")]).planck as app:
        session = await app.start()
        await session.run("go")
        lead, bob = session.members
        ctx = ToolContext(session.id, bob.id, "c", tmp_path)
        own = planck.worker_tools(session.id, lead.id, {"id": bob.id, "name": bob.name})[2]
        assert await call(own, ctx, {"response": "done"}) == Ok({"output": "Response sent."})
        for sender in ({"id": lead.id, "name": lead.name}, {"id": bob.id, "name": "eve"}):
            forged = await call(planck.send_response(lead.id, sender), ctx, {"response": "x"})
            assert isinstance(forged, Err)
            assert forged.kind is ErrorKind.PERMISSION_DENIED
        [sent] = [data for type, data in await facts(session) if type == "message" and data["text"] == "done"]
        assert (sent["from"], sent["to"]) == (bob.id, lead.id)


@pytest.mark.parametrize("sender", [{}, {"id": "x"}, {"id": "", "name": "n"}, {"id": 1, "name": "n"}, "bob"])
def test_a_sender_that_says_not_who_is_refused_when_the_tool_is_made(sender: Any) -> None:
    with pytest.raises(PlanckError) as refused:
        planck.worker_tools("t", None, sender)
    assert refused.value.err.kind is ErrorKind.INVALID_ARGS


Prepare = Callable[[Path], None]


@pytest.mark.parametrize(
    ("files", "cwd", "prompt", "whole"),
    [
        ({"AGENTS.md": "Be terse.\n"}, "", "Build.", "Build."),
        ({"AGENTS.md": "Be terse.\n"}, "a/b", "Build.", "Be terse.\n\nBuild."),
        ({"AGENTS.md": "Be terse.\n"}, "a/b", None, "Be terse."),
        ({"AGENTS.md": "outer", "a/AGENTS.md": "inner"}, "a/b", "Build.", "inner\n\nBuild."),
        ({"AGENTS.md": "outer", "a/.git/HEAD": ""}, "a/b", "Build.", "Build."),
        ({".git/HEAD": "", "AGENTS.md": "root"}, "a/b", "Build.", "root\n\nBuild."),
        ({}, "a/b", None, ""),
    ],
)
def test_prepend_agents_md_walks_up_to_the_git_root(
    tmp_path: Path, files: dict[str, str], cwd: str, prompt: str | None, whole: str
) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert planck.prepend_agents_md(prompt, str(tmp_path / cwd) if cwd else "") == whole


def test_prepend_agents_md_prefers_an_agents_md_to_a_nearer_claude_md(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "part").mkdir()
    (tmp_path / "part" / "CLAUDE.md").write_text("nearer")
    assert planck.prepend_agents_md("You.", tmp_path / "part") == "nearer\n\nYou."
    (tmp_path / "AGENTS.md").write_text("further")
    assert planck.prepend_agents_md("You.", tmp_path / "part") == "further\n\nYou."


def test_prepend_agents_md_follows_no_link_out_of_the_project(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "AGENTS.md").symlink_to(tmp_path / "secret")
    assert planck.prepend_agents_md("Build.", tmp_path / "work") == "Build."


async def test_a_grant_of_a_file_that_went_meanwhile_is_answered_as_ignored(tmp_path: Path) -> None:
    file = write_tool(tmp_path / "home" / "tools", "echo probed")
    stage = Stage(tmp_path, [("drop", {})], [spawned("bob", tools=["probe"])], [ask("bob")])

    def remove(args: dict[str, Any], ctx: ToolContext) -> str:
        file.unlink()
        return "gone"

    drop = Tool("drop", "", EMPTY, remove)
    async with stage.planck as app, asyncio.timeout(30):
        session = await app.start(tools=[drop])
        assert "probe" in session.tools
        await session.run("go")
        answer = await spawn_answer(session)
        assert answer["ignored"] == ["probe"]
        assert set(answer["tools"]) == set(stage.tools_of("bob"))
