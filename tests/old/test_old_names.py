"""No recorded or public name of 67eafc8 is gone or means another thing; what came since is not compared."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.old import make

NAMES = Path(__file__).parent / "names"
PROSE = {"description", "summary", "title", "info"}
_NO_DOTS = "generators of clients leave out what refers to a component with a dot in its name"
EXCEPTIONS: dict[str, str] = dict.fromkeys(
    (
        "components.schemas.planck.api.shapes.Problem",
        "components.schemas.planck.records.rows.Problem",
        "components.schemas.AgentRow.properties.error.anyOf.planck.records.rows.Problem",
        "components.schemas.Board.properties.error.anyOf.planck.records.rows.Problem",
        "components.schemas.Failure.properties.error.$ref",
        "components.schemas.Output.properties.missing.anyOf.planck.api.shapes.Problem",
        "components.schemas.SetUpResult.properties.error.anyOf.planck.api.shapes.Problem",
    ),
    _NO_DOTS,
)
"""What differs on purpose, by where it stands: why."""


@pytest.fixture(scope="module")
def now() -> dict[str, Any]:
    return make.list_names(Path(__file__).parents[2])


def read(kind: str) -> Any:
    return json.loads((NAMES / f"{kind}.json").read_text())


def list_changes(changes: Iterator[str]) -> list[str]:
    return [change for change in changes if change.partition(": ")[0] not in EXCEPTIONS]


class Schemas:
    """Compares two JSON documents that hold schemas."""

    def __init__(self, old: Any, new: Any, *, named: bool) -> None:
        """`named`: the names of components are public, too; else they stand for what they refer to."""
        self._documents = old, new
        self._named = named
        self._inputs = set(_find_inputs(new)) if named else set[str]()
        self._seen: set[tuple[str, str]] = set()

    def compare(self, old: Any, new: Any, path: str = "") -> Iterator[str]:
        if isinstance(old, dict) and isinstance(new, dict):
            if not self._named and {"$ref"} == {*old} & {"$ref"} == {*new} & {"$ref"}:
                pair = old["$ref"], new["$ref"]
                if pair in self._seen:
                    return
                self._seen.add(pair)
                old, new = (_follow(*one) for one in zip(self._documents, pair, strict=True))
            yield from self._compare_maps(old, new, path)
        elif old != new:
            yield f"{path}: {json.dumps(old)} is {json.dumps(new)} now"

    def _compare_maps(self, old: dict[str, Any], new: dict[str, Any], path: str) -> Iterator[str]:
        for key, value in old.items():
            where = f"{path}.{key}".lstrip(".")
            if key in PROSE and isinstance(value, str | dict) and not path.endswith(("properties", "$defs")):
                continue
            if key not in new:
                yield f"{where}: gone"
            elif key == "required" and isinstance(value, list):
                yield from self._compare_required(old, new, where)
            elif key == "enum":
                yield from (f"{where}: {word!r} is gone" for word in value if word not in new[key])
            elif isinstance(value, list) and all(isinstance(one, dict) for one in value):
                yield from self._compare_lists(value, new[key], where)
            else:
                yield from self.compare(value, new[key], where)
        if "required" not in old and "properties" in old:
            yield from self._compare_required(old, new, f"{path}.required")

    def _compare_required(self, old: dict[str, Any], new: dict[str, Any], path: str) -> Iterator[str]:
        before, after = set(old.get("required", ())), set(new.get("required", ()))
        yield from (f"{path}: {name!r} may be absent now" for name in sorted(before - after))
        answers = self._named and path.split(".")[-2] not in self._inputs
        known = old.get("properties", {})
        for name in sorted(after - before):
            if name in known or not answers:
                yield f"{path}: {name!r} must be there now"

    def _compare_lists(self, old: list[Any], new: list[Any], path: str) -> Iterator[str]:
        """Choices of types, or parameters of a request: each must still be among them."""
        for one in old:
            name = one.get("name", "") or one.get("$ref", "").rpartition("/")[2] or one.get("type", "")
            if "name" in one:
                others = [other for other in new if (other["name"], other["in"]) == (one["name"], one["in"])]
            else:
                seen = {*self._seen}
                others = [other for other in new if not self._differs(one, other, seen)]
            if not others:
                yield f"{path}.{name}: gone"
            elif "name" in one:
                yield from self.compare(one, others[0], f"{path}.{name}")

    def _differs(self, old: Any, new: Any, seen: set[tuple[str, str]]) -> bool:
        self._seen = {*seen}
        return next(self.compare(old, new), "") != ""


def _follow(document: Any, reference: str) -> Any:
    for part in reference.removeprefix("#/").split("/"):
        document = document[part]
    return document


def _find_inputs(document: Any) -> Iterator[str]:
    """Yields the names of the components that a client sends."""
    bodies = [
        operation["requestBody"]
        for methods in document["paths"].values()
        for operation in methods.values()
        if isinstance(operation, dict) and "requestBody" in operation
    ]
    waiting, known = [bodies], set[str]()
    while waiting:
        value = waiting.pop()
        if isinstance(value, list):
            waiting += value
        elif isinstance(value, dict):
            waiting += value.values()
            if (name := str(value.get("$ref", "")).rpartition("/")[2]) and name not in known:
                known.add(name)
                yield name
                waiting.append(_follow(document, value["$ref"]))


def test_every_event_and_each_of_its_fields_is_what_it_was(now: dict[str, Any]) -> None:
    old, new = read("events"), now["events"]
    changes = Schemas(old, new, named=False).compare(old["events"], new["events"])
    assert list_changes(changes) == []


def test_every_key_of_the_configuration_is_what_it_was(now: dict[str, Any]) -> None:
    old, new = read("config"), now["config"]
    changes = Schemas(old, new, named=False).compare(old["properties"], new["properties"])
    assert list_changes(changes) == []


def test_every_route_and_component_of_the_server_is_what_it_was(now: dict[str, Any]) -> None:
    old, new = read("openapi"), now["openapi"]
    assert list_changes(Schemas(old, new, named=True).compare(old, new)) == []


def test_every_command_takes_the_options_that_it_took(now: dict[str, Any]) -> None:
    new = now["commands"]
    gone = (
        f"{command} {option}: gone"
        for command, options in read("commands").items()
        for option in options
        if option not in new.get(command, ())
    )
    assert list_changes(gone) == []


def test_every_name_of_the_package_is_called_as_it_was(now: dict[str, Any]) -> None:
    assert list_changes(_compare_exports(read("exports"), now["exports"])) == []


def _compare_exports(old: dict[str, Any], new: dict[str, Any]) -> Iterator[str]:
    for name, export in old.items():
        if name not in new:
            yield f"{name}: gone"
            continue
        yield from _compare_parameters(name, export["parameters"], new[name]["parameters"])
        for member, parameters in export["members"].items():
            if member not in new[name]["members"]:
                yield f"{name}.{member}: gone"
            else:
                yield from _compare_parameters(f"{name}.{member}", parameters, new[name]["members"][member])


def _compare_parameters(path: str, old: list[Any] | None, new: list[Any] | None) -> Iterator[str]:
    if (old is None) is not (new is None):
        yield f"{path}: {'can' if old is None else 'can not'} be called now"
        return
    places = {name: (at, *rest) for at, (name, *rest) in enumerate(new or ())}
    for at, (name, by_position, _) in enumerate(old or ()):
        if name not in places:
            yield f"{path}({name}): gone"
        elif by_position and places[name][:2] != (at, True):
            yield f"{path}({name}): no longer argument {at + 1}"
    optional = {name for name, _, must in old or () if not must}
    known = {name for name, *_ in old or ()}
    for name, (_, _, must) in places.items():
        if must and (name in optional or name not in known):
            yield f"{path}({name}): must be given now"
