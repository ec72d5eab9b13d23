"""`planck init`: a first AGENTS.md, and what is taken of the files that other agents left here."""

from __future__ import annotations

import argparse

from planck import headless
from planck.cli.output import print_json
from planck.cli.parser import JSON, add_shared
from planck.cli.place import open_project, say_place
from planck.cli.streams import format_sentence
from planck.records.visible import make_plain

EXAMPLE = "planck init"


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--dry-run", action="store_true", help="Report only, write nothing")
    add_shared(parser, json=JSON)


def run(options: argparse.Namespace) -> int:
    project = open_project(options)
    say_place(project)
    written = None if options.dry_run else headless.write_agents_md(project)
    found = headless.survey_files(project)
    if options.json:
        print_json({"written": str(written) if written else None, "files": found})
        return 0
    if written:
        print(make_plain(f"Wrote {written}. Edit it to add what agents must know."))
    elif (project.workspace / "AGENTS.md").exists():
        print(make_plain(f"{project.workspace / 'AGENTS.md'} already exists and was not changed."))
    for row in found:
        used = "used    " if row.taken else "not used"
        print(make_plain(f"{used}  {row.path}: {row.what}. {format_sentence(row.why)}"))
    if not found:
        print("No files from other agents were found.")
    return 0
