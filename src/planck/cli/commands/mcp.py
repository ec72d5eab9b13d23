"""`planck mcp`: servers whose tools agents may use, and our tools for other agents."""

from __future__ import annotations

import argparse
import os
import shlex
from importlib import import_module

from planck import headless
from planck.cli.errors import UsageError
from planck.cli.output import print_json
from planck.cli.parser import JSON, MODE, MODES, TRUST, Parser, add_shared, port, subcommand
from planck.cli.place import open_project, say_place
from planck.cli.streams import complain, fit_rows
from planck.cli.tell.session_rows import make_table
from planck.records.outcome import ErrorKind
from planck.records.visible import fit_line, make_plain

EXAMPLE = "planck mcp add time -- uvx mcp-server-time"


def add_options(parser: argparse.ArgumentParser) -> None:
    commands = parser.add_subparsers(
        dest="action",
        required=True,
        metavar="list|add|remove|test|login|logout|serve",
        parser_class=_BeforeDashes,
    )
    listing = subcommand(
        commands, "list", "List the servers that a session here would start", "planck mcp list"
    )
    adding = subcommand(commands, "add", "Add a server to your configuration", EXAMPLE)
    adding.add_argument("name", metavar="NAME")
    adding.usage = (
        "planck mcp add [--project] NAME [--env NAME=VALUE] -- COMMAND [ARGS] | "
        "NAME URL [--header NAME=VALUE]"
    )
    adding.add_argument("--project", action="store_true", help=_PROJECT)
    adding.add_argument("words", nargs="*", metavar="URL", help="Same as --url")
    adding.add_argument("--url", default="", help="Streamable HTTP address, instead of a command")
    for option, what in (("--env", "Environment variable"), ("--header", "HTTP header")):
        text = f"{what} for the server (repeatable)"
        adding.add_argument(option, action="append", default=[], metavar="NAME=VALUE", help=text)
    removing = subcommand(
        commands, "remove", "Remove a server from your configuration", "planck mcp remove time"
    )
    removing.add_argument("name", metavar="NAME")
    removing.add_argument("--project", action="store_true", help=_PROJECT)
    testing = subcommand(
        commands,
        "test",
        "Start one server or all of them, list their tools, and stop them",
        "planck mcp test time",
    )
    testing.add_argument("name", nargs="?", default="", metavar="NAME")
    entering = subcommand(
        commands,
        "login",
        "Sign in to a server, with a browser on this or another machine",
        "planck mcp login docs",
    )
    leaving = subcommand(commands, "logout", "Sign out of a server", "planck mcp logout docs")
    for command in (entering, leaving):
        command.add_argument("name", metavar="NAME")
        add_shared(command, trust=TRUST)
    serving = subcommand(
        commands,
        "serve",
        "Serve a workspace's tools to another agent",
        "planck mcp serve -C ~/project --permission-mode workspace",
    )
    serving.add_argument("--permission-mode", choices=MODES, default=None, help=MODE)
    add_address(serving)
    for command in (listing, testing):
        add_shared(command, trust=TRUST, json=JSON)
    add_shared(serving, trust=TRUST)


def add_address(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--http", type=port, metavar="PORT", help="Serve over HTTP on this machine (0: any free port)"
    )
    parser.add_argument(
        "--token", default="", help="With --http: access token (default: a new one, printed on stderr)"
    )


class _BeforeDashes(Parser):
    """Reads up to `--`: what follows is somebody else's command line, options and all."""

    def parse_known_args(self, args=None, namespace=None):  # type: ignore[no-untyped-def]
        words = list(args or [])
        cut = words.index("--") if "--" in words else len(words)
        parsed, rest = super().parse_known_args(words[:cut], namespace)
        parsed.command = words[cut + 1 :]
        return parsed, rest


def run(options: argparse.Namespace) -> int:
    match options.action:
        case "list":
            return _list(open_with_notices(options), options.json)
        case "add":
            return _add(options)
        case "remove":
            project = headless.Project()
            workspace = project.workspace if options.project else None
            file = headless.remove_server(project.home, options.name, workspace=workspace)
            print(f"Removed {options.name!r} from {file}.")
            return 0
        case "test":
            return _test(open_with_notices(options), options)
        case "login":
            return _login(open_with_notices(options), options.name)
        case "logout":
            return _logout(open_with_notices(options), options.name)
        case _:
            return _serve(options)


def open_with_notices(options: argparse.Namespace) -> headless.Planck:
    planck = headless.Planck.of(open_project(options))
    for notice in planck.notices:
        complain(make_plain(notice))
    return planck


def _list(planck: headless.Planck, as_json: bool) -> int:
    rows = headless.list_servers(planck.peers.plan)
    if as_json:
        print_json({"servers": rows})
        return 0
    cells = [
        (
            make_plain(str(row["name"])),
            str(row.get("transport", "?")),
            fit_line(str(row.get("how") or row.get("problem")), 100)
            + "  (disabled)" * bool(row.get("disabled")),
        )
        for row in rows
    ]
    for line in make_table(("NAME", "TRANSPORT", "COMMAND OR ADDRESS"), cells):
        print(line)
    if not rows:
        other = "other " if "MCP servers" in " ".join(planck.notices) else ""
        print(fit_rows(f"No {other}MCP servers. Add one with: {EXAMPLE}", ""))
    return 0


def _add(options: argparse.Namespace) -> int:
    command, url = list(options.command), options.url
    match options.words:
        case []:
            pass
        case [address] if address.startswith(("http://", "https://")) and not (command or url):
            url = address
        case [first, *_] if first.startswith(("http://", "https://")):
            raise UsageError(ErrorKind.INVALID_ARGS, _EITHER)
        case words:
            right = f"planck mcp add {options.name} -- {shlex.join([*words, *command])}"
            raise UsageError(ErrorKind.INVALID_ARGS, f"Put the server's command after --. Run `{right}`.")
    if bool(command) == bool(url):
        raise UsageError(ErrorKind.INVALID_ARGS, _EITHER)
    entry = {
        "command": command[0] if command else "",
        "args": command[1:],
        "url": url,
        "env": _pairs(options.env, "--env"),
        "headers": _pairs(options.header, "--header"),
    }
    project = headless.Project()
    workspace = project.workspace if options.project else None
    file = headless.add_server(project.home, options.name, entry, project.environ, workspace=workspace)
    print(f"Added {options.name!r} to {file}. Test it with: planck mcp test {options.name}")
    if options.project:
        if options.env or options.header:
            complain(f"{file.name} is for everybody who works here: make sure that it holds no key.")
        if not project.trust.examine().trusted:
            complain("This folder's own servers start once you trust it. Run: planck permissions trust")
        return 0
    for word in command[1:]:
        if not os.path.isabs(word) and os.path.isfile(word):
            where = f"Your servers start in {str(project.home)!r}, where {word!r} may not exist."
            complain(f"{where} Use the full path {os.path.abspath(word)!r}.")
    return 0


_PROJECT = "Use the workspace's .mcp.json instead, which everybody who works there shares"
_EITHER = f"A server needs either one URL or a command after --. Example: `{EXAMPLE}`."


def _pairs(texts: list[str], option: str) -> dict[str, str]:
    pairs = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not name or not equals:
            raise UsageError(ErrorKind.INVALID_ARGS, f"Invalid {option}: {text!r}. Use NAME=VALUE.")
        pairs[name] = value
    return pairs


def _test(planck: headless.Planck, options: argparse.Namespace) -> int:
    import asyncio

    reports = asyncio.run(try_peers(planck, "mcp", options.name))
    if options.name and not reports:
        raise UsageError(
            ErrorKind.NOT_FOUND, f'MCP server not found: {options.name!r}. Run "planck mcp list".'
        )
    return show_reports(reports, options.json)


def _login(planck: headless.Planck, name: str) -> int:
    import asyncio

    tokens = headless.find_tokens(planck.project, planck.peers.plan, name)
    from planck.cli.ask.browser_sign_in import BrowserSignIn
    from planck.headless import sign_in  # loads the SDK

    asyncio.run(sign_in(name, tokens, BrowserSignIn()))
    print(f"Signed in to {name!r}. Test it with: planck mcp test {name}")
    return 0


def _logout(planck: headless.Planck, name: str) -> int:
    if not headless.find_tokens(planck.project, planck.peers.plan, name).forget():
        raise UsageError(
            ErrorKind.NOT_FOUND, f'Not signed in to {name!r}. Run "planck mcp list" to see the servers.'
        )
    print(f"Signed out of {name!r}.")
    return 0


async def try_peers(planck: headless.Planck, component: str, name: str = "") -> list[headless.PeerReport]:
    """Starts them, waits until each is connected or has failed, and ends them."""
    async with planck:
        planck.peers.start(component, name)
        await planck.peers.settle()
        return planck.report_peers()


def show_reports(reports: list[headless.PeerReport], as_json: bool) -> int:
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
                why = f"tool {tool!r} is left out, because another tool has the same name"
                complain(make_plain(f"{report.name}: {why}. Rename {tool!r} in {report.name}."))
            if report.detail:
                complain(make_plain(f"{report.name}: {report.detail}"))
    return 0 if all(report.state in ("connected", "disabled") for report in reports) else 1


def check_extra(what: str) -> None:
    """Raises where the MCP SDK is missing; `what` begins the sentence."""
    from planck.headless import find_missing_extra

    if missing := find_missing_extra(what):
        raise UsageError(ErrorKind.NOT_FOUND, missing)


def _serve(options: argparse.Namespace) -> int:
    import asyncio

    from planck.headless import Workbench

    check_extra("Serving tools over MCP needs")
    project = open_project(options)
    say_place(project)
    bench = Workbench(project, options.permission_mode)
    for notice in bench.guide.notices:
        complain(make_plain(notice))
    # By name, as the dispatcher does: a frontend of its own, of which this one knows nothing.
    frontend = import_module("planck.mcp_server.serve")
    return int(asyncio.run(frontend.run(bench, options.http, options.token)))
