"""`run_async` and `stream`: one prompt in the event loop of the program."""

import asyncio
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import planck
from planck import PlanckError, RunResult, tool
from planck.testing import Say, ScriptedProvider


def offline(folder: Path, script: Any) -> dict[str, Any]:
    """Arguments of `run` for a model that follows a script."""
    (folder / "work").mkdir(exist_ok=True)
    double = {"double": ScriptedProvider(script)}
    return {
        "home": folder / "home",
        "workspace": folder / "work",
        "environ": {},
        "providers": double,
        "model": "double/m",
    }


@dataclass
class Price:
    amount: int


async def test_run_async_runs_in_the_loop_of_the_program(tmp_path: Path) -> None:
    loops = [asyncio.get_running_loop()]

    @tool(effect="none")
    async def look() -> None:
        loops.append(asyncio.get_running_loop())

    result = await planck.run_async("go", tools=[look], **offline(tmp_path, [[("look", {})], "done"]))
    assert (result.ok, result.text) == (True, "done")
    assert len(loops) == 2
    assert loops[0] is loops[1]


async def test_run_async_gives_a_typed_answer(tmp_path: Path) -> None:
    result = await planck.run_async("go", output_type=Price, **offline(tmp_path, ['{"amount": 3}']))
    assert result.require_data().amount == 3


async def test_many_at_once_have_each_their_own_result(tmp_path: Path) -> None:
    async def ask(text: str) -> RunResult:
        result: RunResult = await planck.run_async("go", **offline(tmp_path, [text]))
        return result

    texts = [f"answer {number}" for number in range(8)]
    results = await asyncio.gather(*map(ask, texts))
    assert [result.text for result in results] == texts
    assert len({result.session_id for result in results}) == 8


async def test_run_async_resumes_a_session(tmp_path: Path) -> None:
    await planck.run_async("one", name="mine", **offline(tmp_path, ["first"]))
    result = await planck.run_async("two", resume="mine", **offline(tmp_path, ["second"]))
    assert (result.session_name, result.text) == ("mine", "second")


async def test_a_stream_yields_the_events_of_one_run_and_ends(tmp_path: Path) -> None:
    types = [event.type async for event in planck.stream("go", **offline(tmp_path, ["one two"]))]
    assert types.count("text_delta") == 2
    assert types[-1] == "turn_end"


async def test_leaving_a_stream_early_closes_its_session(tmp_path: Path) -> None:
    options = offline(tmp_path, [Say(text="one", wait=asyncio.Event())])
    async with aclosing(planck.stream("go", name="mine", **options)) as events:
        async for event in events:
            if event.type == "text_delta":
                break
    result = await planck.run_async("again", resume="mine", **offline(tmp_path, ["done"]))
    assert result.text == "done"


async def test_a_mistake_is_told_before_there_is_a_session(tmp_path: Path) -> None:
    options = offline(tmp_path, [])
    with pytest.raises(PlanckError, match="does not take name"):
        await planck.run_async("go", resume="mine", name="other", **options)
    with pytest.raises(PlanckError, match="does not take name"):
        await anext(planck.stream("go", resume="mine", name="other", **options))
    assert not (tmp_path / "home/sessions").exists()
