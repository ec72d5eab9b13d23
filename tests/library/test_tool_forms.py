"""What can be made a tool: functions, methods, classes of the shape of Pixir, types of pydantic, paths."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import pydantic
import pytest
from pydantic import BaseModel, Field

from planck import Err, ErrorKind, Ok, PlanckError, Tool, ToolContext, error, tool
from planck.toolkit.tool import InvalidTool
from tests.library.program import make_planck, results, started


def context(**given: Any) -> ToolContext[Any]:
    return ToolContext("s", "a", "c", Path.cwd(), **given)


def call(made: Tool, **args: Any) -> Any:
    return made.execute(args, context())


# Functions and methods


def test_a_decorated_function_can_still_be_called() -> None:
    @tool
    def double(n: int, times: int = 2) -> int:
        """Multiply."""
        return n * times

    assert (double(2), double(2, times=3)) == (4, 6)
    assert (double.name, double.__doc__) == ("double", "Multiply.")
    assert call(double, n=4) == Ok({"output": "8"})


async def test_a_decorated_coroutine_function_can_still_be_awaited() -> None:
    @tool(effect="none")
    async def double(n: int) -> int:
        await asyncio.sleep(0)
        return n * 2

    assert await double(2) == 4
    assert await call(double, n=4) == Ok({"output": "8"})


class Shop:
    def __init__(self, price: int) -> None:
        self.price = price

    @tool(effect="none")
    def find(self, name: str, ctx: ToolContext) -> str:
        """Find a product.

        Args:
            name: Its name.
        """
        return f"{name} costs {self.price} in {ctx.session_id}"

    @tool
    async def buy(self, count: int = 1) -> str:
        return f"{count * self.price}"

    @staticmethod
    @tool
    def close() -> str:
        return "closed"


async def test_a_method_is_a_tool_of_its_object() -> None:
    cheap, dear = Shop(1), Shop(9)
    assert cheap.find.parameters["properties"] == {"name": {"type": "string", "description": "Its name."}}
    assert call(cheap.find, name="tea") == Ok({"output": "tea costs 1 in s"})
    assert call(dear.find, name="tea") == Ok({"output": "tea costs 9 in s"})
    assert await call(dear.buy, count=2) == Ok({"output": "18"})
    assert await dear.buy(3) == "27"
    assert dear.find.effect == "none"
    assert call(Shop.close) == Ok({"output": "closed"})


async def test_a_method_without_its_object_is_refused_when_it_is_passed(tmp_path: Path) -> None:
    async with make_planck(tmp_path, []) as p:
        with pytest.raises(PlanckError, match="method without its object"):
            await p.start(tools=[Shop.find])
    refused = call(Shop.find, name="tea")
    assert isinstance(refused, Err)
    assert refused.kind is ErrorKind.INVALID_ARGS


async def test_methods_of_two_objects_work_in_a_session(tmp_path: Path) -> None:
    script = [[("find", {"name": "tea"}), ("buy", {})], "done"]
    shop = Shop(4)
    async with started(tmp_path, script, tools=[shop.find, shop.buy]) as session:
        await session.run("go")
        assert results(session) == [f"tea costs 4 in {session.id}", "4"]


# Dependencies


@dataclass
class Deps:
    user: str


@tool(effect="none")
def greet(ctx: ToolContext[Deps]) -> str:
    """Greet."""
    return f"Hello {ctx.deps.user}."


async def test_a_tool_finds_the_dependencies_of_its_session(tmp_path: Path) -> None:
    assert greet.parameters["properties"] == {}
    script: Any = [[("greet", {})], "done"]
    async with make_planck(tmp_path, [*script, *script, *script]) as p:
        for user in ("ada", "ben"):
            session = await p.start(tools=[greet], deps=Deps(user), name=user)
            await session.run("go")
            assert results(session) == [f"Hello {user}."]
            await session.aclose()
        session = await p.resume("ben", tools=[greet], deps=Deps("cleo"))
        await session.run("go")
        assert results(session)[-1] == "Hello cleo."


# Types


class Item(BaseModel):
    """A thing in an order."""

    name: str
    count: int = Field(default=1, ge=1, description="How many.")
    parts: list["Item"] = []


@tool
def order(
    items: list[Item],
    place: Path,
    note: Annotated[str, Field(description="For the cook.", max_length=5)] = "",
    seat: int = Field(ge=1, description="Where to bring it."),
    tip: float = Field(default=0.5, description="In euros."),
) -> str:
    """Order something."""
    names = [f"{one.count} {one.name}" for one in items]
    return f"{names} {place.name} {note} {seat} {tip} {type(place).__name__}"


def test_types_of_pydantic_and_paths_are_in_the_schema() -> None:
    properties = order.parameters["properties"]
    assert set(order.parameters["required"]) == {"items", "place", "seat"}
    assert properties["place"] == {"type": "string"}
    assert properties["seat"] == {"type": "integer", "minimum": 1, "description": "Where to bring it."}
    assert properties["tip"]["default"] == 0.5
    assert properties["note"]["description"] == "For the cook."
    assert "How many." in str(order.parameters)


def test_types_of_pydantic_and_paths_are_what_the_function_gets() -> None:
    done = call(order, items=[{"name": "tea", "count": 2}], place="a/b", seat=3)
    assert done.value["output"].startswith("['2 tea'] b  3 0.5 Po")


@pytest.mark.parametrize(
    "wrong",
    [
        {"items": [{"name": "tea", "count": 0}]},
        {"items": [{}]},
        {"seat": 0},
        {"note": "much too long"},
        {"place": 3},
    ],
)
async def test_arguments_that_do_not_fit_are_refused_before_the_function_runs(
    tmp_path: Path, wrong: dict[str, Any]
) -> None:
    args = {"items": [], "place": "x", "seat": 1, **wrong}
    refused = call(order, **args)
    assert isinstance(refused, Err)
    assert refused.kind is ErrorKind.INVALID_ARGS
    async with started(tmp_path, [[("order", args)], "done"], tools=[order], mode="full") as session:
        await session.run("go")
        assert results(session)[0].startswith("invalid_args")


def test_a_validator_of_a_model_has_its_say() -> None:
    class Even(BaseModel):
        n: int

        @pydantic.field_validator("n")
        @classmethod
        def check(cls, value: int) -> int:
            if value % 2:
                raise ValueError("n must be even")
            return value

    def halve(value: Even) -> int:
        return value.n // 2

    halve.__annotations__["value"] = Even
    made = tool(halve)
    assert call(made, value={"n": 4}) == Ok({"output": "2"})
    refused = call(made, value={"n": 3})
    assert isinstance(refused, Err)
    assert "n must be even" in refused.message


def test_an_annotated_text_describes_its_parameter() -> None:
    @tool
    def look(where: Annotated[str, "A place."], deep: Annotated[Path | None, "A path."] = None) -> str:
        return f"{where} {deep}"

    assert look.parameters["properties"]["where"]["description"] == "A place."
    assert call(look, where="here", deep="x/y") == Ok({"output": "here x/y"})


def test_a_tool_without_pydantic_does_not_load_it() -> None:
    import subprocess
    import sys

    program = (
        "import sys\nfrom pathlib import Path\nfrom planck import tool\n"
        "@tool\ndef f(x: int, y: Path) -> int:\n    return x\nprint('pydantic' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


# Classes of the shape of Pixir


class Read:
    """The example of seed 004, in Python."""

    def __tool__(self) -> Mapping[str, Any]:
        return {
            "name": "read_text",
            "description": "Read a file from the workspace",
            "parameters": {
                "type": "object",
                "properties": {"path": {"type": "string"}},
                "required": ["path"],
            },
        }

    def execute(self, args: dict[str, Any], context: Any) -> Any:
        path = Path(context["workspace"]) / args["path"]
        if not path.exists():
            return "error", error("not_found", f"{args['path']} is not there").envelope()
        return "ok", {"output": path.read_text(), "call": context["call_id"], "dry": context.get("dry_run")}


class Write(Read):
    def __tool__(self) -> Mapping[str, Any]:
        return {**super().__tool__(), "name": "write_text"}

    def execute(self, args: dict[str, Any], context: Any) -> Any:
        (Path(context["workspace"]) / args["path"]).write_text("x")
        return "ok", {"output": "written"}

    def dry_run(self, args: dict[str, Any], context: Any) -> Any:
        return "ok", {"output": f"would write {args['path']}"}


async def test_a_class_of_the_shape_of_pixir_works_in_a_session(tmp_path: Path) -> None:
    calls = [("read_text", {"path": "a"}), ("read_text", {"path": "b"}), ("write_text", {"path": "c"})]
    wrong: Any = [("read_text", {})]
    tools = [tool(effect="none")(Read), tool(Write())]
    async with started(tmp_path, [calls, wrong, "done"], tools=tools) as session:
        (tmp_path / "work/a").write_text("content")
        await session.run("go")
        found, missing, written, invalid = results(session)
        assert (found, missing, written) == ("content", "not_found: b is not there", "written")
        assert invalid.startswith("invalid_args")
        assert (tmp_path / "work/c").exists()


async def test_the_dry_run_of_such_a_class_is_its_own_or_the_default(tmp_path: Path) -> None:
    calls = [("read_text", {"path": "a"}), ("write_text", {"path": "c"})]
    async with started(tmp_path, [calls, "done"], tools=[tool(Read), tool(Write)], dry_run=True) as session:
        await session.run("go")
        plan, own = results(session)
        assert "read_text" in plan
        assert own == "would write c"
        assert not (tmp_path / "work/c").exists()


def test_a_class_that_is_not_of_that_shape_is_refused() -> None:
    class Nameless:
        def __tool__(self) -> Mapping[str, Any]:
            return {"description": ""}

        def execute(self, args: dict[str, Any], context: Any) -> str:
            return ""

    class Idle:
        def __tool__(self) -> Mapping[str, Any]:
            return {"name": "idle", "description": "", "parameters": {}}

    class Needy(Read):
        def __init__(self, value: int) -> None: ...

    for shape in (Nameless, Idle, Needy):
        with pytest.raises(PlanckError):
            tool(shape)
    assert tool(Needy(1)).name == "read_text"


# Effects


def test_an_effect_or_a_timeout_that_there_is_not_is_refused() -> None:
    wrongs: list[dict[str, Any]] = [
        {"effect": "nothing"},
        {"timeout": 0},
        {"timeout": "3"},
        {"timeout": True},
    ]
    for wrong in wrongs:
        with pytest.raises(PlanckError):
            Tool("x", "", {}, lambda args, ctx: "", **wrong)


def test_the_keys_of_a_map_are_read_as_what_they_are_annotated_with() -> None:
    @tool(effect="none")
    def name(names: dict[int, str]) -> str:
        return names[1]

    assert call(name, names={"1": "a"}) == Ok({"output": "a"})


async def test_a_class_method_without_its_class_is_refused(tmp_path: Path) -> None:
    class Shop:
        @tool(effect="none")
        def close(cls) -> str:
            return "closed"

    assert "cls" not in Shop.close.parameters["properties"]
    async with started(tmp_path, []) as session:
        with pytest.raises(InvalidTool, match="without its object"):
            await session.add_tool(Shop.close)


def test_a_parameter_that_pydantic_cannot_represent_is_refused() -> None:
    def weigh(it: Annotated[asyncio.Event, Field(description="an event")]) -> str:
        return ""

    with pytest.raises(InvalidTool, match="change its type"):
        tool(weigh)
