"""`planck skills`: which skills there are, from where, and what they say."""

from __future__ import annotations

import argparse

from planck import headless
from planck.cli.errors import UsageError, refuse_words
from planck.cli.output import print_json
from planck.cli.parser import JSON, add_shared
from planck.cli.place import open_project
from planck.cli.streams import complain, fit_rows
from planck.cli.tell.session_rows import make_table
from planck.records.outcome import ErrorKind
from planck.records.visible import fit_line, make_plain

EXAMPLE = "planck skills show pdf-forms"


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", choices=("list", "show"), help="What to do")
    parser.add_argument("name", nargs="?", default="", help="show: Skill name")
    parser.add_argument("resource", nargs="?", default="", help="show: File in that skill")
    add_shared(parser, json=JSON)


def run(options: argparse.Namespace) -> int:
    catalog = open_project(options).resources.skills()
    if options.action == "list":
        refuse_words(options.name, step='It lists all skills. To see one, run "planck skills show NAME".')
    if options.action == "show":
        if not options.name:
            raise UsageError(ErrorKind.INVALID_ARGS, f'Missing skill. Example: "{EXAMPLE}".')
        if options.name not in catalog.skills:
            raise UsageError(
                ErrorKind.NOT_FOUND, f'Skill not found: {options.name!r}. Run "planck skills list".'
            )
        print(make_plain(headless.read_skill(catalog.skills[options.name], options.resource)))
        return 0
    rows = catalog.describe()
    if options.json:
        print_json({"skills": rows, "problems": catalog.problems})
        return 0
    cells = [
        (
            make_plain(str(row["name"])),
            f"{row['scope']}{' (shadowed)' if row['shadowed'] else ''}",
            make_plain(str(row["path"])),
        )
        for row in rows
    ]
    notes = [fit_line(str(row["description"]), 100) for row in rows]
    for line in make_table(("SKILL", "SCOPE", "PATH"), cells, notes):
        print(line)
    if not rows:
        how = "Create .planck/skills/NAME/SKILL.md. See docs/guides/skills.md for an example."
        print(fit_rows(f"No skills. {how}", ""))
    for problem in catalog.problems:
        complain(make_plain(problem))
    return 0
