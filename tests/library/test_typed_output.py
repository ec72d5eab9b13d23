"""`run(output_type=T)`: the answer as an object of a Python type."""

import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypedDict

import msgspec
import pydantic
import pytest

import planck
from planck import PlanckError
from planck.headless import OpenSession
from planck.testing import ScriptedProvider
from tests.library.program import make_planck, started


@dataclass
class Price:
    amount: int
    currency: Literal["EUR", "USD"] = "EUR"


@dataclass
class Basket:
    prices: list[Price]
    where: Path
    nested: "list[Basket]" = field(default_factory=list)


class Weather(TypedDict):
    city: str
    rain: bool


class Point(msgspec.Struct):
    x: int
    y: int = 0


class Even(pydantic.BaseModel):
    n: int

    @pydantic.field_validator("n")
    @classmethod
    def check(cls, value: int) -> int:
        if value % 2:
            raise ValueError("n must be even")
        return value


CASES: dict[str, tuple[Any, str, Any]] = {
    "dataclass": (Price, '{"amount": 3}', Price(3)),
    "map with numbers as keys": (dict[int, str], '{"1": "a"}', {1: "a"}),
    "nested dataclass": (
        Basket,
        '{"prices": [{"amount": 1, "currency": "USD"}], "where": "a/b"}',
        Basket([Price(1, "USD")], Path("a/b")),
    ),
    "TypedDict": (Weather, '{"city": "Bonn", "rain": true}', {"city": "Bonn", "rain": True}),
    "struct": (Point, '{"x": 1}', Point(1)),
    "pydantic": (Even, '{"n": 4}', Even(n=4)),
    "list of pydantic": (list[Even], '[{"n": 4}]', [Even(n=4)]),
    "list": (list[Price], '```json\n[{"amount": 1}]\n```', [Price(1)]),
    "int": (int, "7", 7),
    "literal": (Literal["yes", "no"], '"yes"', "yes"),
}


@pytest.mark.parametrize("name", CASES)
async def test_an_answer_is_an_object_of_its_type(tmp_path: Path, name: str) -> None:
    kind, answer, expected = CASES[name]
    async with started(tmp_path, [answer]) as session:
        result = await session.run("go", output_type=kind)
        assert result.ok
        assert result.data == expected
        assert result.require_data() == expected


@pytest.mark.parametrize(
    ("kind", "wrong", "right"),
    [(Price, '{"amount": "much"}', '{"amount": 1}'), (Even, '{"n": 3}', '{"n": 4}'), (int, "many", "7")],
)
async def test_an_answer_that_does_not_fit_is_asked_for_once_more(
    tmp_path: Path, kind: Any, wrong: str, right: str
) -> None:
    provider = ScriptedProvider([wrong, right, wrong, wrong])
    async with make_planck(tmp_path, [], providers={"double": provider}) as p:
        session = await p.start()
        assert (await session.run("go", output_type=kind)).ok
        assert "does not" in str(provider.asked[1].messages[-1]) or "not valid" in str(
            provider.asked[1].messages[-1]
        )
        failed = await session.run("go", output_type=kind)
        assert (failed.status, failed.data) == ("failed", None)
        assert failed.errors[-1]["kind"] == "invalid_response"
        with pytest.raises(PlanckError):
            failed.require_data()


async def test_the_schema_is_told_with_the_prompt_and_not_shown_to_the_user(tmp_path: Path) -> None:
    provider = ScriptedProvider(['{"amount": 3}'])
    async with make_planck(tmp_path, [], providers={"double": provider}) as p:
        session = await p.start()
        await session.run("How much?", output_type=Price)
        assert '"currency"' in str(provider.asked[0].messages[0])
        assert [event.data["typed"] async for event in first(session, "message")] == ["How much?"]


async def first(session: OpenSession, type: str) -> Any:
    async for event in session.events():
        if event.type == type:
            yield event
            return


class Odd:
    pass


@pytest.mark.parametrize("kind", [Odd, len, dict[int, Odd]])
async def test_a_type_that_json_cannot_have_is_an_error_before_anything_is_sent(
    tmp_path: Path, kind: Any
) -> None:
    provider = ScriptedProvider(["never"])
    async with make_planck(tmp_path, [], providers={"double": provider}) as p:
        session = await p.start()
        with pytest.raises(PlanckError) as refused:
            await session.run("go", output_type=kind)
        assert refused.value.err.kind == "invalid_args"
        with pytest.raises(PlanckError):
            await session.run("  ", output_type=Price)
        assert provider.asked == []


def test_a_script_gets_an_object(tmp_path: Path) -> None:
    result = planck.run(
        "go",
        output_type=Price,
        home=tmp_path / "home",
        workspace=tmp_path,
        environ={},
        model="double/m",
        providers={"double": ScriptedProvider(['{"amount": 3}'])},
    )
    assert result.data == Price(3)


async def test_a_type_that_nobody_can_read_whole_is_refused(tmp_path: Path) -> None:
    async with started(tmp_path, []) as session:
        with pytest.raises(PlanckError, match="output_type cannot be"):
            await session.run("go", output_type=dict[str, Even | Point])


async def test_a_run_without_an_answer_has_no_data_to_require(tmp_path: Path) -> None:
    async with started(tmp_path, [""]) as session:
        result = await session.run("go", output_type=Price)
        assert result.data is None
        with pytest.raises(PlanckError, match="invalid_response"):
            result.require_data()


CHECKED = """
from dataclasses import dataclass
import planck
from planck import OpenSession, Planck, ToolContext, tool

@dataclass
class Price:
    amount: int

@tool(effect="none")
def double(n: int, ctx: ToolContext[Price]) -> int:
    return n * ctx.deps.amount

@tool
def plain(n: int, ctx: ToolContext) -> str:
    return str(n)

class Shop:
    @tool
    def find(self, name: str) -> str:
        return name

async def main(session: OpenSession) -> int:
    reveal_type(plain(1, ToolContext("", "", "", __import__("pathlib").Path())))
    result = await session.run("go", output_type=Price)
    reveal_type(result.require_data())
    untyped = await session.run("go")
    reveal_type(untyped.text)
    async with Planck() as p:
        made = [double, plain, Shop().find]
        reveal_type(await p.start(tools=made))
    reveal_type(planck.run("go", output_type=Price).data)
    return 0
"""


def test_a_checker_knows_the_types(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(CHECKED)
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", str(program)], capture_output=True, text=True, check=False
    )
    told = [
        line.rpartition("Revealed type is ")[2] for line in done.stdout.splitlines() if "Revealed" in line
    ]
    assert told == [
        '"str"',
        '"program.Price"',
        '"str"',
        '"planck.headless.open_session.OpenSession"',
        '"program.Price | None"',
    ], done.stdout
    assert "error" not in done.stdout
