"""Budgets as a tree, seen from outside: what a lead, a worker and the user are told, and what is logged."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from planck import Planck
from planck.records.events import TurnStatus
from planck.records.outcome import PlanckError
from planck.session.result import RunResult
from planck.testing import Say, ScriptedProvider
from tests.command import WAIT, Bench
from tests.teams import Brains, delegate, facts, open_planck, spawned, target, write_team
from tests.wire import chat
from tests.wire.server import Asked, Reply, WireServer

LEAD = {"type": "orchestrator", "name": "lead", "tools": ["list_dir"]}
BOB = {"type": "bob", "name": "bob", "tools": ["list_dir"]}
DIME = {"id": "dear", "model": "m", "provider": "local", "max_output": 5}
DIME["price"] = {"input": 0.0, "output": 20_000.0}
"""Ten cents for the five tokens of an answer, and nothing for what it reads."""
MODEL = {"models": [DIME], "default_model": "dear"}

Facts = list[tuple[str, dict[str, Any]]]


def look() -> Reply:
    return chat.calls(("list_dir", {}))


class Watched(Brains):
    """Also keeps which requests had tools."""

    def __init__(self, brains: Any) -> None:
        super().__init__(brains)
        self.armed: list[tuple[str, bool]] = []

    def __call__(self, asked: Asked) -> Reply:
        reply = super().__call__(asked)
        self.armed.append((self.seen[-1][0], bool(asked.json.get("tools"))))
        return reply


async def play(
    folder: Path, brains: Brains, *members: dict[str, Any], prompt: str = "go", **options: Any
) -> tuple[RunResult, Facts]:
    flags = {**MODEL, **options.pop("flags", {})}
    async with WireServer(brains) as server, open_planck(folder, server.url, **flags) as planck:
        session = await planck.start(team=write_team(folder / "team", *members), **options)
        async with asyncio.timeout(WAIT):
            result = await session.run(prompt)
        return result, await facts(session)


def outputs(recorded: Facts, name: str) -> list[dict[str, Any]]:
    return [data for type, data in recorded if type == "tool_end" and data["name"] == name]


def budgets(recorded: Facts, why: str) -> list[dict[str, Any]]:
    return [data for type, data in recorded if type == "budget" and data.get("why") == why]


def told(messages: list[dict[str, Any]]) -> str:
    return "\n".join(str(message["content"]) for message in messages if message["role"] == "user")


async def test_the_last_request_goes_without_tools_and_what_is_said_then_is_the_report(
    tmp_path: Path,
) -> None:
    brains = Watched({"lead": [look()] * 3 + [chat.text("half of it is done")]})
    result, recorded = await play(tmp_path, brains, LEAD, max_budget_usd=0.4)
    assert (result.status, result.exit_code, result.text) == ("capped", 4, "half of it is done")
    assert brains.armed == [("lead", True)] * 3 + [("lead", False)]
    assert "[planck: The budget allows one more answer, without tools." in told(brains.last("lead"))
    assert result.errors[-1]["kind"] == "budget_exceeded"
    assert result.cost_usd == pytest.approx(0.4)
    (last,) = budgets(recorded, "last_step")
    assert (last["account"], last["limit_usd"]) == (result.agents[0].id, 0.4)


async def test_a_last_answer_that_calls_tools_all_the_same_runs_none_of_them(tmp_path: Path) -> None:
    brains = Watched({"lead": [look()] * 9})
    result, recorded = await play(tmp_path, brains, LEAD, max_budget_usd=0.3)
    ends = outputs(recorded, "list_dir")
    assert [end["ok"] for end in ends] == [True, True, False]
    assert (ends[-1]["error"]["kind"], result.status, len(brains.seen)) == ("budget_exceeded", "capped", 3)


async def test_a_team_that_runs_out_in_the_middle_ends_with_words(tmp_path: Path) -> None:
    """The worker's loan runs out, it reports with its last request, and the lead has what it needs to end."""
    brains = Watched(
        {
            "lead": [
                chat.calls(spawned("bob", tools=["list_dir"], budget={"usd": 9.0})),
                chat.calls(spawned("bob", tools=["list_dir"], budget={"usd": 1.0})),
                chat.calls(delegate("bob", "port the parser")),
                chat.text("waiting"),
                chat.text("bob did half of it; the rest is open"),
            ],
            "bob": [look()] * 9 + [chat.text("the lexer is ported, the parser is not")],
        }
    )
    result, recorded = await play(tmp_path, brains, LEAD, max_budget_usd=1.8)
    refused, made = outputs(recorded, "spawn_agent")
    assert refused["output"].startswith("budget_exceeded: $9.00 is more than the $1.60 left in your budget; ")
    assert {key: refused["error"]["details"][key] for key in ("asked", "yours_to_lend")} == {
        "asked": 9.0,
        "yours_to_lend": 1.6,
    }
    assert json.loads(made["output"])["budget"] == {"usd": 1.0}
    worker = told(brains.last("bob"))
    assert "[planck: 80% of the budget is used ($0.80 of $1.00); at this rate it runs out in about" in worker
    assert "[planck: The budget allows one more answer, without tools." in worker
    assert [armed for who, armed in brains.armed if who == "bob"] == [True] * 9 + [False]
    lead = told(brains.last("lead"))
    assert (
        "The task was not finished: bob stopped with budget_exceeded: "
        "The request was not sent: it may take $0.10" in lead
    )
    assert "Last message: the lexer is ported, the parser is not" in lead
    assert (result.status, result.text) == ("completed", "bob did half of it; the rest is open")
    assert [(agent.name, round(agent.cost_usd or 0, 6)) for agent in result.agents] == [
        ("lead", 0.5),
        ("bob", 1.0),
    ]
    assert result.budget
    assert (result.budget.limit_usd, round(result.budget.spent_usd, 6), result.budget.held_usd) == (
        1.8,
        1.5,
        0.0,
    )
    (notice,) = budgets(recorded, "notice")
    assert (notice["limit"], notice["spent"]["usd"]) == ({"usd": 1.0}, 0.8)


@pytest.mark.parametrize("name", ["dear", "local/m"])
async def test_nothing_is_held_once_nobody_works_also_where_nobody_waited(tmp_path: Path, name: str) -> None:
    double = ScriptedProvider([Say(calls=[("list_dir", {})]), Say(text="done")])
    environ: dict[str, str] = {}
    flags = {**MODEL, "providers": {"local": {"type": "openai", "base_url": "http://127.0.0.1:9"}}}
    async with Planck(
        tmp_path / "home", tmp_path, environ=environ, flags=flags, providers={"local": double}
    ) as planck:
        session = await planck.start(max_budget_usd=1.0, mode="full", model=name)
        await session.prompt("go")
        async with asyncio.timeout(WAIT):
            await session.settled()
        result = session.result(0)
    assert (result.status, result.text, result.steps) == ("completed", "done", 2)
    assert result.budget
    assert result.budget.held_usd == 0.0


async def test_a_worker_that_draws_on_the_run_can_t_take_the_lead_s_last_words(tmp_path: Path) -> None:
    brains = Watched(
        {
            "lead": [chat.calls(delegate("bob")), chat.text("waiting"), chat.text("it was not enough")],
            "bob": [look()] * 99,
        }
    )
    result, _ = await play(tmp_path, brains, LEAD, BOB, max_budget_usd=1.0)
    assert (result.status, result.text) == ("capped", "it was not enough")
    assert result.cost_usd == pytest.approx(1.0)
    assert brains.armed[-1] == ("lead", False)


async def test_what_is_lent_for_a_task_pays_for_it_and_comes_back_with_its_end(tmp_path: Path) -> None:
    loan = ("delegate_task", {**delegate("bob")[1], "budget": {"usd": 0.3}})
    brains = Watched(
        {
            "lead": [
                chat.calls(loan),
                chat.calls(("list_team", {})),
                chat.text("waiting"),
                chat.text("good"),
            ],
            "bob": [look(), chat.text("done")],
        }
    )
    result, recorded = await play(tmp_path, brains, LEAD, BOB, max_budget_usd=2.0)
    assert result.status is TurnStatus.COMPLETED
    (task,) = [data for type, data in recorded if type == "message" and data["kind"] == "task"]
    assert task["budget"] == {"usd": 0.3}
    (lent,), (returned,) = budgets(recorded, "lent"), budgets(recorded, "returned")
    assert (lent["account"], lent["limit"], lent["parent"]) == (task["id"], {"usd": 0.3}, result.agents[0].id)
    assert (returned["account"], returned["spent"]["usd"]) == (task["id"], 0.2)
    paid = [data.get("account") for type, data in recorded if type == "usage"]
    assert sorted(str(account) for account in paid) == sorted(["None"] * 4 + [task["id"]] * 2)
    types = [(type, data.get("why") or data.get("kind")) for type, data in recorded]
    report = next(at for at, one in enumerate(types) if one == ("message", "response"))
    assert types[report + 1] == ("budget", "returned")  # one commit: the report, and the rest of the loan


async def test_whoever_is_destroyed_gives_back_what_it_did_not_need(tmp_path: Path) -> None:
    brains = Watched(
        {
            "lead": [
                chat.calls(spawned("bob", budget={"usd": 0.6})),
                chat.calls(("list_team", {})),
                chat.calls(target("destroy_agent", "bob")),
                chat.calls(spawned("eve", budget={"usd": 0.6})),
                chat.text("good"),
            ]
        }
    )
    result, recorded = await play(tmp_path, brains, LEAD, max_budget_usd=1.3)
    assert [end["ok"] for end in outputs(recorded, "spawn_agent")] == [True, True]
    rows = json.loads(outputs(recorded, "list_team")[0]["output"])
    assert [round(row["budget_left"]["usd"], 6) for row in rows] == [0.4, 0.6]
    assert result.status is TurnStatus.COMPLETED


async def test_members_have_the_budget_of_their_team_file(tmp_path: Path) -> None:
    brains = Watched(
        {
            "lead": [chat.calls(delegate("bob")), chat.text("waiting"), chat.text("so be it")],
            "bob": [look(), look(), chat.text("that was all")],
        }
    )
    bob = {**BOB, "budget": {"steps": 3, "usd": 5}}
    result, _ = await play(tmp_path, brains, LEAD, bob)
    assert [armed for who, armed in brains.armed if who == "bob"] == [True, True, False]
    assert (
        "The task was not finished: bob stopped with budget_exceeded: "
        "The request was not sent: it may take 1 step" in told(brains.last("lead"))
    )
    assert (result.status, "budget" in json.loads(_encode(result))) == ("completed", False)


def _encode(result: RunResult) -> str:
    from planck.records import codec

    return codec.encode_str(result)


@pytest.mark.parametrize(
    "budget",
    [
        {"usd": 0},
        {"usd": -1},
        {"usd": 1e30},
        {"tokens": 0},
        {"tokens": 1.5},
        {"usd": "1"},
        {},
        {"dollars": 1},
    ],
)
async def test_a_budget_that_is_none_is_refused_with_how_to_write_it(tmp_path: Path, budget: Any) -> None:
    loan = ("delegate_task", {**delegate("bob")[1], "budget": budget})
    brains = Watched({"lead": [chat.calls(loan, spawned("eve", budget=budget)), chat.text("well")]})
    _, recorded = await play(tmp_path, brains, LEAD, BOB, max_budget_usd=1.0)
    ends = [data for type, data in recorded if type == "tool_end"]
    assert [end["error"]["kind"] for end in ends] == ["invalid_args"] * 2
    assert all('{"usd": 0.5}' in end["output"] for end in ends)
    with pytest.raises(PlanckError, match="budget") as refused:
        await play(tmp_path, brains, LEAD, {**BOB, "budget": budget})
    assert refused.value.err.kind == "invalid_args"


@pytest.mark.parametrize(("flag", "value"), [("--max-budget-usd", v) for v in ("0", "-1", "nan", "inf", "x")])
async def test_a_flag_that_is_no_amount_is_refused_before_anything_begins(
    tmp_path: Path, flag: str, value: str
) -> None:
    done = await Bench(tmp_path, "http://127.0.0.1:9").run("run", "go", flag, value)
    assert (done.code, "max-budget-usd must be an amount above 0" in done.err) == (2, True)


@pytest.mark.parametrize("amount", [0, -1.0, float("nan"), float("inf"), 1e30])
async def test_an_amount_of_a_program_that_is_none_is_refused(tmp_path: Path, amount: float) -> None:
    async with open_planck(tmp_path, "http://127.0.0.1:9", **MODEL) as planck:
        with pytest.raises(PlanckError) as refused:
            await planck.start(max_budget_usd=amount)
    assert refused.value.err.kind == "invalid_args"


async def test_a_limit_of_tokens_needs_no_price(tmp_path: Path) -> None:
    unpriced = {"id": "unpriced", "model": "m", "provider": "local", "max_output": 5}
    flags = {"models": [unpriced], "default_model": "unpriced"}
    brains = Watched({"lead": [look()] * 9})
    result, _ = await play(tmp_path, brains, LEAD, max_tokens=1, flags=flags)
    assert (result.status, result.exit_code, brains.seen) == ("capped", 4, [])
    assert result.errors[-1]["details"]["unit"] == "tokens"
    (tmp_path / "2").mkdir()
    again, _ = await play(
        tmp_path / "2", Watched({"lead": [chat.text("hi")]}), LEAD, max_tokens=10**9, flags=flags
    )
    assert (again.status, again.cost_usd) == ("completed", None)


async def test_the_budget_of_a_session_outlives_its_runs_and_goes_along_with_a_fork(tmp_path: Path) -> None:
    flags = {**MODEL, "budget": {"usd": 0.5}}
    brains = Watched({"lead": [chat.text("one"), chat.text("two"), look(), look(), chat.text("enough")]})
    async with WireServer(brains) as server, open_planck(tmp_path, server.url, **flags) as planck:
        session = await planck.start(team=write_team(tmp_path / "team", LEAD))
        async with asyncio.timeout(WAIT):
            first = await session.run("go")
            second = await session.run("go")
            name = session.name
            await session.aclose()
            fork = (await planck.archive.fork(name)).id
            again = await planck.resume(name, max_budget_usd=5.0)
            third = await again.run("go")
            copy = await planck.resume(fork)
            fourth = await copy.run("go")
    ends = ["completed", "completed", "capped", "completed"]
    assert [run.status for run in (first, second, third, fourth)] == ends
    assert third.text == "enough"
    assert third.budget
    assert (third.budget.limit_usd, round(third.budget.spent_usd, 6)) == (0.5, 0.5)
    assert "Raise `budget.usd` in your config.json" in third.errors[-1]["message"]
    assert fourth.budget
    assert round(fourth.budget.spent_usd, 6) == 0.3  # two answers of the original, one of its own


@pytest.mark.parametrize("price", [{"input": 0.0, "output": 0.0}, {"input": 0, "output": 0, "cache_read": 0}])
async def test_a_price_of_zero_is_a_price(tmp_path: Path, price: Any) -> None:
    free = {**DIME, "price": price}
    flags = {"models": [free], "default_model": "dear"}
    brains = Watched({"lead": [look(), chat.text("fine")]})
    result, _ = await play(tmp_path, brains, LEAD, max_budget_usd=0.000001, flags=flags)
    assert (result.status, result.cost_usd) == ("completed", 0.0)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("budget", {"usd": -1}),
        ("budget", {"usd": 0}),
        ("budget", {}),
        ("budget", 5),
        ("budget", {"tokens": 10**30}),
        ("quotas", {"local": {"usd_per_day": -1}}),
        ("quotas", {"local": {"usd": 1}}),
        ("quotas", 7),
    ],
)
async def test_a_configuration_that_is_no_budget_is_refused_by_name(
    tmp_path: Path, key: str, value: Any
) -> None:
    done = await Bench(tmp_path, "http://127.0.0.1:9", **{key: value}).run("run", "go")
    assert (done.code, key in done.err) == (2, True)
    assert "invalid_args" in done.err


async def test_a_project_can_t_change_what_the_user_spends(tmp_path: Path) -> None:
    async with WireServer([chat.text("fine")]) as server:
        bench = Bench(tmp_path, server.url, models=[DIME], default_model="dear", budget={"usd": 0.05})
        (bench.work / ".planck").mkdir()
        theirs = json.dumps({"budget": {"usd": 100}, "quotas": {"local": {"usd_per_day": 100}}})
        (bench.work / ".planck" / "config.json").write_text(theirs)
        env = {"PLANCK_BUDGET": '{"usd": 100}'}
        done = await bench.run("run", "go", "--trust", "--output-format", "json", env=env)
    assert (done.code, server.asked) == (4, [])
    assert done.err.count("can only be set in") == 3


async def test_a_model_without_a_price_says_what_to_configure_before_anything_is_sent(tmp_path: Path) -> None:
    unpriced = {"id": "unpriced", "model": "m", "provider": "local", "max_output": 5}
    flags = {"models": [DIME, unpriced], "default_model": "dear"}
    brains = Watched(
        {
            "lead": [
                chat.calls(spawned("bob", model_id="unpriced", budget={"usd": 0.5})),
                chat.calls(("ask_agent", {"identifier": "bob", "identifier_type": "name", "question": "?"})),
                chat.text("no"),
            ],
            "bob": [chat.text("never")],
        }
    )
    _, recorded = await play(tmp_path, brains, {**LEAD, "model_id": "dear"}, flags=flags)
    (answer,) = outputs(recorded, "ask_agent")
    assert answer["error"]["kind"] == "budget_exceeded"
    assert 'Set its `price` in `models` ({"input": USD, "output": USD}, per' in answer["output"]
    assert {name for name, _ in brains.seen} == {"lead"}
