"""What a program that embeds Planck gets without asking: rights, resumes and context variables."""

from contextvars import ContextVar
from pathlib import Path
from typing import Any

import pytest

from planck import Member, OpenSession, PlanckError, Team, Tool, orchestrator_tools, tool
from planck.records.events import SessionResumed, SessionStarted, view
from planck.records.specs import ModelSpec, RunOptions, SessionOptions
from tests.library.program import make_planck, results, started


def options_of(session: OpenSession) -> SessionOptions:
    """What holds since the process opened it, as the log has it."""
    said = [view(event) for event in session.recorded()]
    options = [one.options for one in said if isinstance(one, SessionStarted | SessionResumed)][-1]
    assert options is not None
    return options


VALUE: ContextVar[str] = ContextVar("VALUE", default="unset")


@tool
def change() -> str:
    """Change something."""
    return "changed"


@tool(effect="none")
def look() -> str:
    """Look at something."""
    return "seen"


@pytest.mark.parametrize("mode", ["ask", "workspace", "full"])
async def test_a_tool_of_the_program_runs_without_a_question(tmp_path: Path, mode: str) -> None:
    async with started(tmp_path, [[("change", {})], "done"], tools=[change], mode=mode) as session:
        await session.run("go")
        assert results(session) == ["changed"]


@pytest.mark.parametrize("mode", ["read-only", "plan"])
async def test_where_nothing_may_change_only_a_tool_without_effects_runs(tmp_path: Path, mode: str) -> None:
    script: Any = [[("change", {}), ("look", {})], "done"]
    async with started(tmp_path, script, tools=[change, look], mode=mode) as session:
        await session.run("go")
        denied, seen = results(session)
        assert denied.startswith("permission_denied")
        assert seen == "seen"


async def test_a_rule_of_the_user_still_denies_a_tool_of_the_program(tmp_path: Path) -> None:
    rules = {"permissions": {"rules": [{"tool": "change", "decision": "deny"}]}}
    async with make_planck(tmp_path, [[("change", {})], "done"], flags=rules) as p:
        session = await p.start(tools=[change], mode="full")
        await session.run("go")
        assert results(session)[0].startswith("permission_denied")


async def test_a_tool_that_is_added_later_runs_without_a_question(tmp_path: Path) -> None:
    async with started(tmp_path, [[("change", {})], "done"], mode="ask") as session:
        await session.add_tool(change)
        await session.run("go")
        assert results(session) == ["changed"]


@pytest.mark.parametrize("way", ["held", "granted"])
async def test_a_worker_runs_a_tool_of_the_program_without_a_question(tmp_path: Path, way: str) -> None:
    worker = {"type": "w", "name": "w", "description": "", "system_prompt": "Work.", "tools": ["change"]}
    ask = {"identifier": "w", "identifier_type": "name", "question": "?"}
    lead: Any = iter([[("spawn_agent", worker)], [("ask_agent", ask)], "done"])
    work: Any = iter([[("change", {})], "worked"])
    model = ModelSpec("double", "m")

    def script(request: Any) -> Any:
        return next(lead) if "spawn_agent" in {one.name for one in request.tools} else next(work)

    tools: list[Tool] = [change] if way == "held" else orchestrator_tools("s", "t", [model], [change])
    async with started(tmp_path, script, tools=tools, mode="ask") as session:
        await session.run("go")
        assert "changed" in results(session)


async def test_a_command_of_a_file_asks_as_before(tmp_path: Path) -> None:
    from planck import load_all

    (tmp_path / "tools/touch").mkdir(parents=True)
    (tmp_path / "tools/touch/TOOL.json").write_text(
        '{"name": "touch", "description": "", "command": "touch x", "parameters": {"type": "object"}}'
    )
    loaded = load_all([tmp_path / "tools"])
    async with started(tmp_path, [[("touch", {})], "done"], tools=loaded, mode="ask") as session:
        await session.run("go")
        assert not (tmp_path / "work/x").exists()


async def test_a_resumed_session_keeps_what_it_was_started_with(tmp_path: Path) -> None:
    async with make_planck(tmp_path, ["one", "two", "three"]) as p:
        session = await p.start(name="mine", mode="read-only", max_steps=3, dry_run=True, max_budget_usd=1.0)
        await session.run("go")
        await session.aclose()
        session = await p.resume("mine")
        said = session.costs()
        assert session.mode == "read-only"
        assert said is not None
        result = await session.run("again")
        assert result.budget
        assert result.budget.limit_usd <= 1.0
        await session.aclose()
        session = await p.resume("mine", mode="ask", dry_run=False)
        assert session.mode == "ask"


async def test_a_dry_session_stays_dry_when_it_is_resumed(tmp_path: Path) -> None:
    write = [("write", {"path": "a.txt", "content": "a"})]
    async with make_planck(tmp_path, ["one", write, "two", write, "three"]) as p:
        session = await p.start(name="mine", mode="full", dry_run=True)
        await session.run("go")
        await session.aclose()
        session = await p.resume("mine")
        await session.run("go")
        assert not (tmp_path / "work/a.txt").exists()
        await session.aclose()
        session = await p.resume("mine", dry_run=False)
        await session.run("go")
        assert (tmp_path / "work/a.txt").exists()


async def test_an_imported_session_widens_nothing_by_what_its_log_says(tmp_path: Path) -> None:
    async with make_planck(tmp_path, ["one"]) as p:
        session = await p.start(name="mine", mode="full")
        await session.run("go")
        await session.aclose()
        exported = tmp_path / "exported"
        exported.write_bytes(b"".join(p.archive.events(session.id)))
        p.archive.delete(session.id)
        await p.archive.import_session(exported)
        assert (await p.resume(session.id)).mode == "ask"


async def test_a_tool_sees_the_context_variables_of_its_run(tmp_path: Path) -> None:
    @tool(effect="none")
    def in_a_thread() -> str:
        return VALUE.get()

    @tool(effect="none")
    async def in_the_loop() -> str:
        return VALUE.get()

    calls: Any = [("in_a_thread", {}), ("in_the_loop", {})]
    async with started(
        tmp_path, [calls, "a", calls, "b", calls, "c"], tools=[in_a_thread, in_the_loop]
    ) as session:
        VALUE.set("run")
        await session.run("go")
        VALUE.set("stream")
        assert [event async for event in session.stream("go")]
        VALUE.set("prompt")
        await session.prompt("go")
        VALUE.set("later")
        await session.settled()
        assert results(session) == ["run"] * 2 + ["stream"] * 2 + ["prompt"] * 2


async def test_a_worker_sees_the_context_variables_of_the_run(tmp_path: Path) -> None:
    @tool(effect="none")
    def value() -> str:
        return VALUE.get()

    worker = {"type": "w", "name": "w", "description": "", "system_prompt": "Work.", "tools": ["value"]}
    ask = {"identifier": "w", "identifier_type": "name", "question": "?"}
    lead: Any = iter([[("spawn_agent", worker)], [("ask_agent", ask)], "done"])
    work: Any = iter([[("value", {})], "worked"])

    def script(request: Any) -> Any:
        return next(lead) if "spawn_agent" in {one.name for one in request.tools} else next(work)

    async with started(tmp_path, script, tools=[value]) as session:
        VALUE.set("mine")
        await session.run("go")
        assert "mine" in results(session)


async def test_what_a_tool_sets_stays_in_its_turn(tmp_path: Path) -> None:
    @tool(effect="none")
    async def set_it() -> str:
        VALUE.set("leaked")
        return ""

    async with started(tmp_path, [[("set_it", {})], "done"], tools=[set_it]) as session:
        VALUE.set("mine")
        await session.run("go")
        assert VALUE.get() == "mine"


async def test_a_resumed_session_keeps_the_tools_away_that_it_was_started_without(tmp_path: Path) -> None:
    settings = RunOptions(disallowed_tools=("write", "bash(rm:*)", "look"))
    script: Any = [[("write", {"path": "a.txt", "content": "a"}), ("bash", {"command": "rm b"})], "done"]
    async with make_planck(tmp_path, script) as p:
        session = await p.start(name="mine", mode="workspace", settings=settings, tools=[look])
        await session.aclose()
        session = await p.resume("mine", mode="full")
        assert not {"write", "look"}.intersection(session.tools)
        await session.run("go")
        unknown, denied = results(session)
        assert unknown.startswith("unknown_tool")
        assert denied.startswith("permission_denied")


def test_trust_is_given_by_true_alone(tmp_path: Path) -> None:
    for trust in ("no", "false", 1):
        with pytest.raises(PlanckError, match="trust must be True or False"):
            make_planck(tmp_path, [], trust=trust)


class Broken:
    def __init__(self, problem: Exception) -> None:
        self.problem = problem

    async def decide(self, question: Any) -> Any:
        raise self.problem


@pytest.mark.parametrize("problem", [ValueError("db is down"), KeyError("x"), TimeoutError("their timeout")])
async def test_an_approver_that_raises_allows_nothing_and_is_an_error_of_the_result(
    tmp_path: Path, problem: Exception
) -> None:
    write = [("write", {"path": "a.txt", "content": "a"})]
    async with make_planck(tmp_path, [write, "done"], approver=Broken(problem)) as p:
        session = await p.start(mode="ask")
        result = await session.run("go")
        assert results(session)[0].startswith("permission_denied: write was not run: the approver failed")
        [error] = result.errors
        assert error["kind"] == "internal_error"
        assert f"{type(problem).__name__}: {problem}" in error["message"]
        assert error["message"] in repr(result)
        [denial] = result.denials
        assert denial["by"] == "nobody"
    assert not (tmp_path / "work/a.txt").exists()


async def test_a_resume_keeps_what_its_settings_do_not_say(tmp_path: Path) -> None:
    async with make_planck(tmp_path, ["one", "two"]) as p:
        session = await p.start(name="mine", mode="read-only", max_steps=3, dry_run=True, max_budget_usd=1.0)
        await session.aclose()
        settings = RunOptions(effort="high", disallowed_tools=("bash",))
        session = await p.resume("mine", settings=settings)
        options = options_of(session)
        assert (options.mode, options.max_steps, options.dry_run, options.budget) == (
            "read-only",
            3,
            True,
            1.0,
        )
        assert options.disallowed_tools == ("bash",)
        assert session.orchestrator.model.params["effort"] == "high"
        await session.aclose()
        settings = RunOptions(mode="ask", max_steps=9, max_budget_usd=0.5)
        session = await p.resume("mine", settings=settings, max_steps=5)
        options = options_of(session)
        assert (options.mode, options.max_steps, options.dry_run, options.budget) == ("ask", 5, True, 0.5)


LIMITS = {"live_agents": 3, "total_agents": 5, "inbox": 7, "calls": 4, "steps": 6, "hops": 2}


async def test_a_resume_keeps_the_limits_of_the_session_whatever_the_configuration_says(
    tmp_path: Path,
) -> None:
    """An argument may say otherwise: the flags of `Planck` are one."""
    async with make_planck(tmp_path, [], flags={"limits": LIMITS}) as p:
        await (await p.start(name="mine")).aclose()
    async with make_planck(tmp_path, []) as p:  # the defaults are wider
        session = await p.resume("mine")
        limits = options_of(session).limits
        assert {name: limits[name] for name in LIMITS} == LIMITS
        assert session._team.limits.live_agents == 3
        assert options_of(session).max_steps == 6
        await session.aclose()
    (tmp_path / "home/config.json").write_text('{"limits": {"live_agents": 2, "inbox": 50}}')
    async with make_planck(tmp_path, []) as p:  # what the user made narrower since, is narrower
        session = await p.resume("mine")
        limits = options_of(session).limits
        assert (limits["live_agents"], limits["inbox"], limits["calls"]) == (2, 7, 4)
        await session.aclose()
    async with make_planck(tmp_path, [], flags={"limits": {"inbox": 9}}) as p:
        session = await p.resume("mine")
        limits = options_of(session).limits
        assert (limits["live_agents"], limits["inbox"]) == (2, 9)
        await session.aclose()
    async with make_planck(tmp_path, []) as p:
        session = await p.resume("mine", max_steps=11)
        assert options_of(session).max_steps == 11


async def test_a_resume_without_the_tools_of_the_program_is_an_error_that_names_them(tmp_path: Path) -> None:
    team = Team(members=[Member(type="orchestrator"), Member(type="helper", tools=[look])])
    async with make_planck(tmp_path, [[("change", {})], "done"]) as p:
        session = await p.start(team=team, name="mine", mode="full", tools=[change])
        await session.aclose()
        with pytest.raises(PlanckError, match=r"not passed: change, look\. Pass tools=\[\.\.\.\]") as refused:
            await p.resume("mine")
        assert refused.value.err.kind == "invalid_args"
        session = await p.resume("mine", tools=[change, look])  # the error left the session as it was
        await session.run("go")
        assert results(session) == ["changed"]
        await session.aclose()
        session = await p.resume("mine", tools=[])  # says that there are none any more
        assert "change" not in session.tools
        await session.aclose()
        await p.resume("mine")


async def test_a_resume_asks_for_no_tool_that_its_agents_were_not_given(tmp_path: Path) -> None:
    async with make_planck(tmp_path, []) as p:
        settings = RunOptions(disallowed_tools=("change",))
        await (await p.start(name="mine", tools=[change], settings=settings)).aclose()
        assert "change" not in (await p.resume("mine")).tools
