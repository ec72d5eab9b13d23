"""`planck teams`: the team templates there are, what is in them, and what is wrong with them."""

from __future__ import annotations

import argparse

from planck import headless
from planck.cli.errors import UsageError, refuse_words
from planck.cli.output import print_json
from planck.cli.parser import JSON, TRUST, add_shared
from planck.cli.place import open_project
from planck.cli.tell.session_rows import make_table
from planck.records.outcome import ErrorKind
from planck.records.visible import fit_line, make_plain

EXAMPLE = "planck teams new crew -m local/qwen3 && planck teams check crew"


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", choices=("list", "show", "check", "new"), help="What to do")
    parser.add_argument("team", nargs="?", default="", help="Team alias or path")
    parser.add_argument(
        "-m", "--model", default="", help="new: Model for the team's members (default: your default model)"
    )
    add_shared(parser, trust=TRUST, json=JSON)


def run(options: argparse.Namespace) -> int:
    import asyncio

    planck = headless.Planck.of(open_project(options))
    if options.action == "list":
        refuse_words(options.team, step='It lists all teams. To see one, run "planck teams show ALIAS".')
        return _list(planck, options.json)
    if not options.team:
        raise UsageError(ErrorKind.INVALID_ARGS, f'Missing team. Run "planck teams {options.action} ALIAS".')
    match options.action:
        case "show":
            return _show(planck, options.team, options.json)
        case "check":
            return _check(planck, options.team, options.json)
    return asyncio.run(_new(planck, options.team, options.model))


def _list(planck: headless.Planck, as_json: bool) -> int:
    rows = headless.list_teams(planck.resources.team_dirs())
    if as_json:
        print_json(rows)
        return 0
    cells = [(make_plain(row.alias), make_plain(", ".join(row.members))) for row in rows]
    notes = [fit_line(row.problem or row.description or row.path, 100) for row in rows]
    for line in make_table(("TEAM", "MEMBERS"), cells, notes):
        print(line)
    if not rows:
        print('No teams. Create one with "planck teams new ALIAS".')
    return 0


def _show(planck: headless.Planck, team: str, as_json: bool) -> int:
    path = headless.find_team(team, planck.resources.team_dirs())
    if as_json:
        print_json(headless.read_team(path))
    else:
        print(make_plain(f"{path}\n{headless.read_team_text(path)}"))
    return 0


def _check(planck: headless.Planck, team: str, as_json: bool) -> int:
    import asyncio

    async def check() -> list[str]:
        async with planck:
            return await planck.check_team(team)

    problems = asyncio.run(check())
    if as_json:
        print_json({"ok": not problems, "problems": problems})
    else:
        print("\n".join(make_plain(problem) for problem in problems) or f"{team}: OK")
    return 1 if problems else 0


async def _new(planck: headless.Planck, alias: str, model: str) -> int:
    """Without a model its members have the default, whichever that is when they start."""
    planck.project.check_place()
    async with planck:
        found = await planck.model(model)
    path = headless.create_team(planck.workspace / ".planck" / "teams", alias, found if model else None)
    print(f'{path}\nTry it: planck run --team {alias} "..."')
    return 0
