"""`planck models`: which models there are, and whether one answers."""

from __future__ import annotations

import argparse
import sys

from planck import headless
from planck.cli.errors import refuse_words
from planck.cli.output import print_json
from planck.cli.parser import JSON, add_shared
from planck.cli.place import find_place
from planck.cli.streams import fit_rows, report_error
from planck.cli.tell.session_rows import make_table
from planck.records.visible import fit_line, make_plain

EXAMPLE = "planck models test sonnet"


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", choices=("list", "test"), help="What to do")
    parser.add_argument(
        "model", nargs="?", default="", help="test: Alias or PROVIDER/MODEL (default: your default model)"
    )
    parser.add_argument("--all", action="store_true", help="list: Include vendors without a key")
    add_shared(parser, json=JSON)


async def run(options: argparse.Namespace) -> int:
    if options.action == "list":
        refuse_words(options.model, step='It lists all models. To try one, run "planck models test MODEL".')
    return await (_test(options) if options.action == "test" else _list(options))


async def _list(options: argparse.Namespace) -> int:
    async with headless.Planck(workspace=find_place(options)) as planck:
        rows = await planck.list_models(everything=options.all)
        date = planck.catalog_date
    if options.json:
        print_json({"models": rows, "catalog_date": date}, indent=None)
        return 0
    for line in make_table(("  MODEL", "CONTEXT", "PRICE", "SOURCE"), [*map(_cells, rows)]):
        print(line)
    if not rows:
        print(
            fit_rows(
                'No models. Set a key such as ANTHROPIC_API_KEY, run "planck auth login PROVIDER", start a '
                'local server, or run "planck models list --all" to see all vendors.',
                "",
            )
        )
    dated = f"Limits and prices as of {date}. The `models` entries in your configuration take precedence."
    print(fit_rows(dated, "", sys.stderr), file=sys.stderr)
    return 0


def _cells(row: headless.ModelRow) -> tuple[str, str, str, str]:
    price = (
        "" if row.input_usd is None else f"${row.input_usd:g} in, ${row.output_usd:g} out per million tokens"
    )
    key = "" if row.has_key else "  (no key)"
    mark = "*" if row.current else " "
    window = f"{row.context_window:,} tokens"
    return f"{mark} {fit_line(row.label, 100)}", window, price, f"{row.source}{key}"


async def _test(options: argparse.Namespace) -> int:
    async with headless.Planck(workspace=find_place(options)) as planck:
        tested = await planck.try_model(options.model)
    if options.json:
        print_json(tested, indent=None)
    elif tested.error:
        error = tested.error
        report_error(error["kind"], f"{tested.model}: {error['message']}")
    else:
        print(f"{make_plain(tested.model)} answered in {tested.duration_ms} ms: {fit_line(tested.text, 100)}")
    return 0 if tested.ok else 1
