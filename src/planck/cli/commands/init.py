"""`planck init`: a first AGENTS.md, and what is taken of the files that other agents left here."""

from __future__ import annotations

import argparse

from planck import headless
from planck.cli.output import print_json
from planck.cli.parser import add_shared
from planck.cli.place import open_project, say_place
from planck.records.visible import make_plain

EXAMPLE = "planck init"


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--dry-run", action="store_true", help="write nothing, only say what there is")
    add_shared(parser, json="for programs")


def run(options: argparse.Namespace) -> int:
    project = open_project(options)
    say_place(project)
    written = None if options.dry_run else headless.write_agents_md(project)
    found = headless.survey_files(project)
    if options.json:
        print_json({"written": str(written) if written else None, "files": found})
        return 0
    if written:
        print(make_plain(f"wrote {written}; read it, and say in it what an agent must know"))
    elif (project.workspace / "AGENTS.md").exists():
        print(make_plain(f"{project.workspace / 'AGENTS.md'} is there already: it stays as it is"))
    for row in found:
        print(make_plain(f"{'taken ' if row.taken else 'not   '} {row.path}: {row.what}; {row.why}"))
    if not found:
        print("No files of other agents here.")
    return 0
