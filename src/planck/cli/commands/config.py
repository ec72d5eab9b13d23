"""`planck config`: the values in force, and where each comes from."""

from __future__ import annotations

import argparse
import json
import sys

from planck import headless
from planck.cli.errors import UsageError, refuse_words
from planck.cli.output import print_json
from planck.cli.parser import AS_TRUSTED, JSON, add_shared
from planck.cli.place import open_project
from planck.cli.streams import complain
from planck.cli.tell.settings import name_value_source
from planck.records.outcome import ErrorKind
from planck.records.visible import make_plain

EXAMPLE = "planck config explain limits.steps"


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "action",
        choices=("show", "explain", "set"),
        help="Show values, explain where they come from, or set one",
    )
    parser.add_argument("key", nargs="?", default="", help="Configuration key, for example permissions.mode")
    parser.add_argument("value", nargs="?", default=None, help="set: New value, plain text or JSON")
    add_shared(parser, trust=AS_TRUSTED, json=JSON)


def run(options: argparse.Namespace) -> int:
    if options.action == "set":
        return _set(options)
    if options.action == "show":
        refuse_words(options.key, step='It shows everything. For one key, run "planck config explain KEY".')
    refuse_words(options.value, step='To change it, run "planck config set KEY VALUE".')
    loaded = open_project(options).resources.loaded
    for notice in loaded.notices:
        complain(make_plain(notice))
    if options.action == "show":
        print_json(headless.show_config(loaded.config))
        return 0
    origins = headless.explain_config(loaded, options.key, defaults=options.json)
    if options.json:
        print_json(origins)
        return 0
    print(make_plain("\n".join(_lines(origin) for origin in origins)))
    return 0


def _set(options: argparse.Namespace) -> int:
    if not options.key or options.value is None:
        raise UsageError(
            ErrorKind.INVALID_ARGS, 'Missing key or value. Example: "planck config set default_model sonnet".'
        )
    path = headless.set_user_value(open_project(options).home, options.key, options.value)
    print(f"Set {make_plain(options.key)} in {make_plain(str(path))}.", file=sys.stderr)
    return 0


def _lines(origin: headless.Origin) -> str:
    value = json.dumps(origin.value, ensure_ascii=False)
    lines = [f"{origin.key} = {value}", f"    from {name_value_source(origin.source)}: {origin.description}"]
    if origin.overruled:
        lines.append(f"    overrides {', '.join(reversed(origin.overruled))}")
    return "\n".join(lines)
