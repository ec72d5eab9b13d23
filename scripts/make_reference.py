"""The reference pages, made from the code: `make reference` writes them, a test holds them current."""

import argparse
import inspect
import json
import sys
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

import msgspec

import planck
from planck.api.openapi import list_common_statuses, list_error_statuses, make_document
from planck.api.operations import OPERATIONS, PREFIX
from planck.cli.commands import COMMANDS
from planck.cli.main import NOT_BUILT
from planck.config.schema import config_schema
from planck.records.events import DELTAS, View
from planck.records.outcome import ErrorKind
from planck.session.result import Exit

_MADE = "Made from the code by `make reference`; a test holds it current."


def pages() -> dict[str, str]:
    """File names below docs/reference, and what must stand in them."""
    return {
        "config.schema.json": json.dumps(config_schema(), indent=2) + "\n",
        "cli.md": "\n".join(_cli()) + "\n",
        "config.md": "\n".join(_config()) + "\n",
        "events.md": "\n".join(_events()) + "\n",
        "kinds.md": "\n".join(_kinds()) + "\n",
        "python.md": "\n".join(_python()) + "\n",
        "api.md": "\n".join(_api()) + "\n",
        "openapi.json": json.dumps(make_document(), indent=1, ensure_ascii=False) + "\n",
    }


def main(folder: Path) -> None:
    for name, text in pages().items():
        (folder / name).write_text(text)


def _cli() -> Iterator[str]:
    yield f"# The command line\n\n{_MADE}\n"
    yield "`planck PROMPT` talks, `planck run PROMPT` and `planck -p PROMPT` answer once. Exit codes: "
    yield ", ".join(f"{code.value} {code.name.lower().replace('_', ' ')}" for code in Exit) + "."
    for name, summary in COMMANDS.items():
        parser = argparse.ArgumentParser(prog=f"planck {name}", add_help=False)
        command = import_module(f"planck.cli.commands.{name}")
        command.add_options(parser)
        yield f"\n## planck {name}\n\n{summary[0].upper()}{summary[1:]}.\n\n```\n{command.EXAMPLE}\n```\n"
        yield from _options(parser)
    promised = [
        " ".join(filter(None, ("planck", name, word))) for name in NOT_BUILT for word in NOT_BUILT[name]
    ]
    yield f"\n## Not built yet\n\n{', '.join(f'`{words}`' for words in promised)}."


def _api() -> Iterator[str]:
    yield f"# HTTP\n\n{_MADE} As OpenAPI: [openapi.json](openapi.json). All paths are below `{PREFIX}`.\n"
    yield "Roles are those of [a pool](../guides/pool.md); a server that works alone has one token for all.\n"
    yield "| request | what it does | role | takes | answers |\n|---|---|---|---|---|"
    for operation in OPERATIONS:
        query = ", ".join(f"`?{field.name}`" for field in _list_fields(operation.query))
        body = ", ".join(
            f"`{field.name}`{'' if field.required else '?'}" for field in _list_fields(operation.body)
        )
        key = "`Idempotency-Key`" if operation.keyed else ""
        statuses = ", ".join(map(str, sorted(list_error_statuses(operation) - list_common_statuses())))
        takes = "; ".join(filter(None, (query, body, key)))
        answers = f"{operation.status}{', 204' * operation.empty}; else {statuses or 'as any'}"
        request = f"`{operation.method} {operation.path}`"
        yield f"| {request} | {operation.about} | {operation.role} | {takes} | {answers} |"
    common = ", ".join(map(str, sorted(list_common_statuses())))
    yield f"\nAny request may also be answered with {common}."


def _list_fields(kind: type[msgspec.Struct] | None) -> Sequence[msgspec.structs.FieldInfo]:
    return sorted(msgspec.structs.fields(kind) if kind else (), key=lambda field: not field.required)


def _options(parser: argparse.ArgumentParser, prefix: str = "") -> Iterator[str]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, sub in action.choices.items():
                yield f"- **{prefix}{name}**"
                yield from (f"  {row}" for row in _options(sub) if "`-h, --help`" not in row)
        elif action.help != argparse.SUPPRESS:
            names = ", ".join(action.option_strings) or action.metavar or action.dest
            takes = "" if not action.option_strings or action.nargs == 0 else f" {_value(action)}"
            values = f" {'|'.join(map(str, action.choices))}" if action.choices and not takes else ""
            yield f"- `{names}{takes}{values}`" + (f" {action.help}" if action.help else "")


def _value(action: argparse.Action) -> str:
    if action.choices:
        return "|".join(map(str, action.choices))
    return str(action.metavar or action.dest.upper())


def _config() -> Iterator[str]:
    yield f"# Configuration\n\n{_MADE} The same as a JSON Schema: [config.schema.json](config.schema.json).\n"
    yield "| key | variable | type | default | |\n|---|---|---|---|---|"
    whole = config_schema()
    for key, entry in whole["properties"].items():
        if key == "$schema":
            continue
        default = json.dumps(entry.get("default"), ensure_ascii=False) if "$ref" not in entry else "see below"
        text = entry.get("description", "")
        yield f"| `{key}` | `PLANCK_{key.upper()}` | {_type(entry)} | `{default}` | {text} |"
    for name, part in whole["$defs"].items():
        if "properties" not in part:
            continue
        yield f"\n## {name}\n\n| key | type | default | |\n|---|---|---|---|"
        for key, entry in part["properties"].items():
            default = (
                "required" if key in part.get("required", ()) else f"`{json.dumps(entry.get('default'))}`"
            )
            yield f"| `{key}` | {_type(entry)} | {default} | {entry.get('description', '')} |"


def _type(entry: dict[str, Any]) -> str:
    if "$ref" in entry:
        return str(entry["$ref"].rsplit("/", 1)[1])
    if "enum" in entry:
        return " or ".join(f"`{value}`" for value in entry["enum"])
    if "anyOf" in entry:
        return " or ".join(_type(option) for option in entry["anyOf"])
    kind = str(entry.get("type", "any"))
    if kind == "array":
        return f"list of {_type(entry.get('items', {}))}"
    inner = entry.get("additionalProperties")
    return f"map to {_type(inner)}" if kind == "object" and isinstance(inner, dict) else kind


def _events() -> Iterator[str]:
    yield f"# Events\n\n{_MADE}\n"
    yield 'Each is `{"seq", "ts", "session_id", "agent_id", "turn", "type", "data"}`; deltas have no `seq`'
    yield "and are never stored. Readers skip types and fields that they do not know."
    views = sorted(View.__subclasses__(), key=lambda view: (view.type in DELTAS, view.type))
    for view in views:
        kind = "delta" if view.type in DELTAS else "recorded"
        yield f"\n## {view.type}\n\n{kind}" + (f": {_first(view.__doc__)}" if view.__doc__ else "")
        yield from _fields(view)
    yield "\n# What stands in them"
    for shape in sorted(_shapes(views), key=lambda shape: shape.__name__):
        yield f"\n## {shape.__name__}\n" + (f"\n{_first(shape.__doc__)}\n" if shape.__doc__ else "")
        yield from _fields(shape)


def _fields(shape: type[msgspec.Struct]) -> Iterator[str]:
    hints = get_type_hints(shape)
    for field, wire in zip(shape.__struct_fields__, shape.__struct_encode_fields__, strict=True):
        yield f"- `{wire}` {_hint(hints[field])}"


def _shapes(roots: Sequence[type[msgspec.Struct]]) -> set[type[msgspec.Struct]]:
    """Returns the structs that the fields of these are made of, at any depth."""
    found: set[type[msgspec.Struct]] = set()
    waiting: list[Any] = [hint for root in roots for hint in get_type_hints(root).values()]
    while waiting:
        hint = waiting.pop()
        waiting += get_args(hint)
        if isinstance(hint, type) and issubclass(hint, msgspec.Struct) and hint not in found:
            found.add(hint)
            waiting += get_type_hints(hint).values()
    return found


def _first(text: str) -> str:
    return " ".join(text.split("\n\n")[0].split())


def _hint(hint: Any) -> str:
    origin, args = get_origin(hint), get_args(hint)
    if hint is type(None):
        return "null"
    if hint is msgspec.UnsetType:
        return "absent"
    if origin is tuple:
        return f"list of {_hint(args[0])}"
    if origin is dict:
        return "object"
    if str(origin) == "typing.Literal":
        return " or ".join(f"`{value}`" for value in args)
    if args:
        return " or ".join(_hint(arg) for arg in args)
    return {
        "str": "text",
        "int": "number",
        "float": "number",
        "bool": "true or false",
        "bytes": "base64",
    }.get(getattr(hint, "__name__", ""), getattr(hint, "__name__", "any"))


def _python() -> Iterator[str]:
    yield f"# The library\n\n{_MADE} Each name is importable from `planck`."
    yield "[Embedding](../guides/embedding.md) has complete programs. In the examples, `p` is an open"
    yield "`Planck`, `session` an `OpenSession` and `question` a `Question`. Each example runs as a test.\n"
    names = sorted(planck.__all__, key=lambda name: (name.islower(), name))
    yield " · ".join(f"[{name}](#{name.lower()})" for name in names)
    for name in names:
        thing = getattr(planck, name)
        yield f"\n## {name}\n\n{_docstring(thing)}"
        if inspect.isclass(thing):
            for own, member in vars(thing).items():
                if not own.startswith("_") and inspect.isfunction(member) and member.__doc__:
                    yield f"\n### {name}.{own}{_parameters(member)}\n\n{_docstring(member)}"
        else:
            yield f"\n`{name}{_parameters(thing)}`"


def _parameters(function: Any) -> str:
    """Returns the names of its parameters; the types are in the code, for whoever's editor shows them."""
    names = [name for name in inspect.signature(function).parameters if name != "self"]
    return f"({', '.join(names)})"


def _docstring(thing: Any) -> str:
    """Returns it as Markdown: what is indented in it is an example."""
    return inspect.getdoc(thing) or ""


def _kinds() -> Iterator[str]:
    yield f"# Kinds of errors\n\n{_MADE}\n\nAn error is `{{kind, message, details}}`; the list is closed.\n"
    yield from (f"- `{kind}`" for kind in ErrorKind)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
