"""`planck mcp`: servers whose tools agents may use, and our tools for other agents."""

import argparse
import asyncio
import os
import shlex
from importlib import import_module

from planck.cli.errors import UsageError
from planck.cli.options import EXAMPLES
from planck.cli.output import print_json
from planck.cli.place import open_project, say_place
from planck.cli.streams import complain
from planck.headless import PeerReport, Planck, Project, add_server, find_tokens, list_servers, remove_server
from planck.records.outcome import ErrorKind
from planck.records.visible import fit_line, make_plain


def run(options: argparse.Namespace) -> int:
    match options.action:
        case "list":
            return _list(open_with_notices(options), options.json)
        case "add":
            return _add(options)
        case "remove":
            file = remove_server(Project().home, options.name)
            print(f"removed {options.name!r} from {file}")
            return 0
        case "test":
            return _test(open_with_notices(options), options)
        case "login":
            return _login(open_with_notices(options), options.name)
        case "logout":
            return _logout(open_with_notices(options), options.name)
        case _:
            return _serve(options)


def open_with_notices(options: argparse.Namespace) -> Planck:
    planck = Planck.of(open_project(options))
    for notice in planck.notices:
        complain(make_plain(notice))
    return planck


def _list(planck: Planck, as_json: bool) -> int:
    rows = list_servers(planck.peers.plan)
    if as_json:
        print_json({"servers": rows})
        return 0
    for row in rows:
        note = "  (disabled)" if row.get("disabled") else ""
        how = fit_line(str(row.get("how") or row.get("problem")), 100)
        print(make_plain(f"{row['name']}  {row.get('transport', '?')}  {how}{note}"))
    if not rows:
        print(f"No MCP servers. Add one: {EXAMPLES['mcp']}")
    return 0


def _add(options: argparse.Namespace) -> int:
    command, url = list(options.command), options.url
    match options.words:
        case []:
            pass
        case [address] if address.startswith(("http://", "https://")) and not (command or url):
            url = address
        case words:
            behind = f"planck mcp add {options.name} -- {shlex.join([*words, *command])}"
            raise UsageError(ErrorKind.INVALID_ARGS, f"a server's command stands behind `--`: {behind}")
    entry = {
        "command": command[0] if command else "",
        "args": command[1:],
        "url": url,
        "env": _pairs(options.env, "--env"),
        "headers": _pairs(options.header, "--header"),
    }
    project = Project()
    file = add_server(project.home, options.name, entry, project.environ)
    print(f"added {options.name!r} to {file}; try it: planck mcp test {options.name}")
    for word in command[1:]:
        if not os.path.isabs(word) and os.path.isfile(word):
            where = f"{str(project.home)!r}, where your own servers start"
            complain(f"{word!r} is looked for in {where}; its whole path is {os.path.abspath(word)!r}")
    return 0


def _pairs(texts: list[str], option: str) -> dict[str, str]:
    pairs = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not name or not equals:
            raise UsageError(ErrorKind.INVALID_ARGS, f"{option} {text!r} must be NAME=VALUE")
        pairs[name] = value
    return pairs


def _test(planck: Planck, options: argparse.Namespace) -> int:
    reports = asyncio.run(try_peers(planck, "mcp", options.name))
    if options.name and not reports:
        raise UsageError(ErrorKind.NOT_FOUND, f"no MCP server {options.name!r}; `planck mcp list` shows them")
    return show_reports(reports, options.json)


def _login(planck: Planck, name: str) -> int:
    tokens = find_tokens(planck.project, planck.peers.plan, name)
    from planck.cli.ask.browser import Browser
    from planck.headless import sign_in  # loads the SDK

    asyncio.run(sign_in(name, tokens, Browser()))
    print(f"signed in to {name!r}; try it: planck mcp test {name}")
    return 0


def _logout(planck: Planck, name: str) -> int:
    if not find_tokens(planck.project, planck.peers.plan, name).forget():
        raise UsageError(
            ErrorKind.NOT_FOUND, f"nobody is signed in to {name!r}; `planck mcp list` shows servers"
        )
    print(f"signed out of {name!r}")
    return 0


async def try_peers(planck: Planck, component: str, name: str = "") -> list[PeerReport]:
    """Starts them, waits until each is connected or has failed, and ends them."""
    async with planck:
        planck.peers.start(component, name)
        await planck.peers.settle()
        return planck.report_peers()


def show_reports(reports: list[PeerReport], as_json: bool) -> int:
    """What came of starting them; 1 if one did not connect."""
    if as_json:
        fields = ("name", "state", "detail", "tools", "compactors", "left_out")
        print_json({"peers": [{name: getattr(report, name) for name in fields} for report in reports]})
    else:
        for report in reports:
            count = "1 tool" if len(report.tools) == 1 else f"{len(report.tools)} tools"
            print(make_plain(f"{report.name}  {report.state}  {count}"))
            for tool in report.tools:
                print(f"    {make_plain(tool)}")
            for compactor in report.compactors:
                print(f"    compactor {make_plain(compactor)}")
            for tool in report.left_out:
                text = f"{report.name}: its tool {tool!r} is left out: the name is taken; rename it"
                complain(make_plain(text))
            if report.detail:
                complain(make_plain(f"{report.name}: {report.detail}"))
    return 0 if all(report.state in ("connected", "disabled") for report in reports) else 1


def check_extra() -> None:
    """Raises where MCP can't be spoken here."""
    from planck.headless import find_missing_extra

    if missing := find_missing_extra():
        raise UsageError(ErrorKind.NOT_FOUND, missing)


def _serve(options: argparse.Namespace) -> int:
    from planck.headless import Workbench

    check_extra()
    project = open_project(options)
    say_place(project)
    bench = Workbench(project, options.permission_mode)
    # By name, as the dispatcher does: a frontend of its own, of which this one knows nothing.
    frontend = import_module("planck.mcp_server.serve")
    return int(asyncio.run(frontend.run(bench, options.http, options.token)))
