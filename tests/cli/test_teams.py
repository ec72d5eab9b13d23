"""`planck teams` as a user runs it: which model its members have, and what a model costs."""

import json
from pathlib import Path
from typing import Any

import pytest

from planck import Planck
from planck.records.outcome import PlanckError
from planck.testing import ScriptedProvider
from tests.command import Bench
from tests.wire import chat
from tests.wire.server import WireServer

NOWHERE = "http://127.0.0.1:9"
PRICED = {"id": "mine", "model": "big", "provider": "local", "max_output": 50}


def put_team(work: Path, *members: dict[str, Any]) -> None:
    folder = work / ".planck" / "teams" / "crew"
    folder.mkdir(parents=True)
    (folder / "TEAM.json").write_text(json.dumps({"members": members}))


@pytest.mark.parametrize("model", ["", "mine", "local/other", "local/a/b"])
async def test_a_new_team_takes_every_model_that_a_run_takes(tmp_path: Path, model: str) -> None:
    async with WireServer([chat.text("hello")]) as server:
        bench = Bench(tmp_path, server.url, models=[PRICED])
        made = await bench.run("teams", "new", "crew", *(["-m", model] if model else []))
        assert (made.code, made.err) == (0, "")
        checked = await bench.run("teams", "check", "crew")
        assert (checked.code, checked.out) == (0, "crew: OK\n")
        done = await bench.run("run", "hi", "--team", "crew")
    assert (done.code, done.out) == (0, "hello\n")
    wanted = {"": "m", "mine": "big"}.get(model, model.removeprefix("local/"))
    assert server.asked[0].json["model"] == wanted


async def test_a_new_team_says_what_is_wrong_with_its_model_or_its_name(tmp_path: Path) -> None:
    bench = Bench(tmp_path, NOWHERE, default_model="")
    none = await bench.run("teams", "new", "crew")
    assert (none.code, "No model is configured" in none.err) == (2, True)
    unknown = await bench.run("teams", "new", "crew", "-m", "nobody/x")
    assert (unknown.code, "Unknown provider: nobody." in unknown.err) == (2, True)
    outside = await bench.run("teams", "new", "../crew", "-m", "local/m")
    assert (outside.code, "is not a team alias." in outside.err) == (2, True)
    assert list(bench.work.iterdir()) == []


async def test_a_member_without_a_model_has_the_orchestrators(tmp_path: Path) -> None:
    home, work = tmp_path / "home", tmp_path / "work"
    work.mkdir()
    put_team(
        work,
        {"type": "builder", "opts": {"temperature": 0.5}},
        {"type": "orchestrator", "provider": "one", "model_id": "lead", "opts": {"temperature": 1}},
        {"type": "tester", "provider": "two", "model_id": "own"},
    )
    doubles = {name: ScriptedProvider([]) for name in ("one", "two")}
    flags = {"default_model": "two/other"}
    async with Planck(home, work, environ={}, providers=doubles, flags=flags) as planck:
        assert await planck.check_team("crew") == []
        found = [
            (spec.type, spec.model.label, spec.model.params) for spec in (await planck.start("crew")).members
        ]
        assert found == [
            ("orchestrator", "one/lead", {"temperature": 1}),
            ("builder", "one/lead", {"temperature": 0.5}),
            ("tester", "two/own", {}),
        ]
        named = await planck.start("crew", model="two/named")
        assert [spec.model.label for spec in named.members] == ["two/named", "two/named", "two/own"]


async def test_a_team_without_any_model_uses_the_default_and_says_so_where_there_is_none(
    tmp_path: Path,
) -> None:
    home, work = tmp_path / "home", tmp_path / "work"
    work.mkdir()
    put_team(work, {"type": "orchestrator"}, {"type": "builder"})
    double = {"one": ScriptedProvider([])}
    off = {"OLLAMA_HOST": "", "LLAMA_CPP_HOST": ""}
    async with Planck(home, work, environ=off, providers=double, flags={"default_model": "one/m"}) as planck:
        assert await planck.check_team("crew") == []
        assert [spec.model.label for spec in (await planck.start("crew")).members] == ["one/m"] * 2
    async with Planck(home, work, environ=off) as planck:
        (problem,) = await planck.check_team("crew")
        assert problem.startswith('orchestrator: No model is configured. Run "planck setup"')
        with pytest.raises(PlanckError, match="No model is configured"):
            await planck.start("crew")


@pytest.mark.parametrize(
    ("member", "problem"),
    [
        ({"provider": "local"}, "`provider` and `model_id` belong together. Set both or neither."),
        ({"model_id": "m"}, "`provider` and `model_id` belong together. Set both or neither."),
        ({"base_url": "http://127.0.0.1:9"}, "`base_url` needs `provider` and `model_id`. Set both."),
    ],
)
async def test_half_a_model_is_refused(tmp_path: Path, member: dict[str, str], problem: str) -> None:
    bench = Bench(tmp_path, NOWHERE)
    put_team(bench.work, {"type": "orchestrator"}, {"type": "builder", **member})
    checked = await bench.run("teams", "check", "crew")
    assert (checked.code, checked.out) == (1, f"builder: {problem}\n")
    put = await bench.run("run", "hi", "--team", "crew", "--trust")
    assert (put.code, problem in put.err) == (2, True)


async def test_a_price_of_the_configuration_makes_a_budget_possible(tmp_path: Path) -> None:
    answer = chat.text("hello", usage={"prompt_tokens": 1_000, "completion_tokens": 20})
    async with WireServer([answer]) as server:
        bench = Bench(tmp_path, server.url, models=[PRICED])
        run = ("run", "hi", "-m", "mine", "--max-budget-usd", "1", "--output-format", "json")
        refused = await bench.run(*run)
        assert (refused.code, "`price`" in refused.err, server.asked) == (4, True, [])
        price = {"input": 10, "output": 100, "cache_read": 1, "cache_write": 12.5}
        (bench.home / "config.json").write_text(
            json.dumps(
                {
                    "providers": {"local": {"type": "openai", "base_url": server.url}},
                    "models": [{**PRICED, "price": price}],
                }
            )
        )
        done = await bench.run(*run)
    assert (done.code, done.result["cost_usd"]) == (0, pytest.approx(0.012))
    assert server.asked[0].json["max_tokens"] == 50


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("price", {"input": -1, "output": 1}),
        ("price", {"input": 1e7, "output": 1}),
        ("price", {"input": float("nan"), "output": 1}),
        ("price", {"input": float("inf"), "output": 1}),
        ("price", {"input": 1}),
        ("price", {"input": "1", "output": 1}),
        ("max_output", -1),
        ("context_window", -1),
    ],
)
def test_a_price_that_is_none_is_refused(tmp_path: Path, field: str, value: object) -> None:
    with pytest.raises(PlanckError, match=rf"models.*{field}") as caught:
        Planck(tmp_path, tmp_path, environ={}, flags={"models": [{**PRICED, field: value}]})
    assert caught.value.err.kind == "invalid_args"
