"""`planck teams`: the team templates there are, what is in them, and what is wrong with them."""

import argparse
import asyncio

from planck.cli.errors import UsageError
from planck.cli.output import print_json
from planck.cli.place import open_project
from planck.headless import Planck, create_team, find_team, list_teams, read_team, read_team_text
from planck.records.outcome import ErrorKind
from planck.records.visible import fit_line, make_plain


def run(options: argparse.Namespace) -> int:
    planck = Planck.of(open_project(options))
    if options.action == "list":
        return _list(planck, options.json)
    if not options.team:
        raise UsageError(ErrorKind.INVALID_ARGS, f"which team? planck teams {options.action} ALIAS")
    match options.action:
        case "show":
            return _show(planck, options.team, options.json)
        case "check":
            return _check(planck, options.team, options.json)
    return asyncio.run(_new(planck, options.team, options.model))


def _list(planck: Planck, as_json: bool) -> int:
    rows = list_teams(planck.resources.team_dirs())
    if as_json:
        print_json(rows)
        return 0
    for row in rows:
        print(make_plain(f"{row.alias}  {', '.join(row.members)}"))
        print(f"    {fit_line(row.problem or row.description or row.path, 100)}")
    if not rows:
        print("No teams. `planck teams new ALIAS` makes one.")
    return 0


def _show(planck: Planck, team: str, as_json: bool) -> int:
    path = find_team(team, planck.resources.team_dirs())
    if as_json:
        print_json(read_team(path))
    else:
        print(make_plain(f"{path}\n{read_team_text(path)}"))
    return 0


def _check(planck: Planck, team: str, as_json: bool) -> int:
    async def check() -> list[str]:
        async with planck:
            return await planck.check_team(team)

    problems = asyncio.run(check())
    if as_json:
        print_json({"ok": not problems, "problems": problems})
    else:
        print("\n".join(make_plain(problem) for problem in problems) or f"{team}: nothing is wrong with it")
    return 1 if problems else 0


async def _new(planck: Planck, alias: str, model: str) -> int:
    """Without a model its members have the default, whichever that is when they start."""
    planck.project.check_place()
    async with planck:
        found = await planck.model(model)
    path = create_team(planck.workspace / ".planck" / "teams", alias, found if model else None)
    print(f'{path}\nTry it: planck run --team {alias} "..."')
    return 0
