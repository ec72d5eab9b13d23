"""`planck permissions`: why a call is allowed or not, and whether this folder is trusted."""

from __future__ import annotations

import argparse

from planck import headless
from planck.cli.output import print_json
from planck.cli.parser import AS_TRUSTED, JSON, MODE, MODES, add_shared, subcommand
from planck.cli.place import open_project, say_place
from planck.records.visible import make_plain

EXAMPLE = 'planck permissions explain --agent orchestrator bash "git push"'


def add_options(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="explain|trust|untrust")
    explain = subcommand(
        actions, "explain", "Show which rule decides a call, and where it comes from", EXAMPLE
    )
    explain.add_argument("tool", help="Tool name")
    explain.add_argument(
        "what",
        nargs="?",
        default="",
        help="First argument (bash: the command), or all arguments as JSON",
    )
    explain.add_argument("--agent", default="", help="Member name or type (default: the orchestrator)")
    explain.add_argument("--team", default="", help="Team (default: the configured one)")
    explain.add_argument("--permission-mode", choices=MODES, default="", help=MODE)
    trust = subcommand(
        actions,
        "trust",
        "Trust this folder's own files as they are now",
        "planck permissions trust --yes",
    )
    trust.add_argument("-y", "--yes", action="store_true", help="Do not ask for confirmation")
    untrust = subcommand(actions, "untrust", "Stop trusting this folder", "planck permissions untrust")
    for action in (trust, untrust):
        add_shared(action)
    add_shared(explain, trust=AS_TRUSTED, json=JSON)


def run(options: argparse.Namespace) -> int:
    project = open_project(options)
    say_place(project)
    planck = headless.Planck.of(project)
    match options.action:
        case "explain":
            return _explain(planck, options)
        case "trust":
            return _trust(planck, options.yes)
        case _:
            had = planck.trust.take_back()
            print("This folder is no longer trusted." if had else "This folder was not trusted.")
            return 0


def _explain(planck: headless.Planck, options: argparse.Namespace) -> int:
    from planck.cli.tell.settings import name_value_source
    from planck.headless import explain_call

    found = explain_call(
        planck, options.agent, options.tool, options.what, team=options.team, mode=options.permission_mode
    )
    if options.json:
        print_json(found)
        return 0
    authority, rights = found.authority, found.runs_under
    tools = "all tools" if authority.tools is None else ", ".join(authority.tools) or "no tools"
    print(f"{found.decision}: {make_plain(found.why)}")
    print(make_plain(f"  agent    {found.agent}: {tools}"))
    print(make_plain(f"  mode     {found.mode} (from {name_value_source(found.mode_from)})"))
    if found.tried:
        print("  asks     only if the call fails in the read-only sandbox without network")
        print("  access   read-only, without network; an approval adds what the sandbox refused")
    elif found.decision != "deny" and rights.mode == "full":
        print("  access   outside the sandbox: all your files, and the network")
    elif found.decision != "deny":
        network = "yes" if rights.network else "no"
        print(f"  access   writable: {', '.join(rights.writable) or 'nothing'}; network: {network}")
    print(make_plain(f"  sandbox  {found.sandbox}"))
    return 0


def _trust(planck: headless.Planck, yes: bool) -> int:
    from planck.cli.ask.typed_line import ask

    state = planck.trust.examine()
    if state.trusted:
        print("This folder is already trusted.")
        return 0
    if not state.content.runs:
        print("This folder has no files that need to be trusted.")
        return 0
    print("If you trust this folder, Planck will use:")
    for line in state.content.runs:
        print(f"  {make_plain(line)}")
    if not yes:
        answer = ask(
            "Trust this folder? Type yes: ",
            without_terminal="Trust must be confirmed in a terminal. "
            "Without one, review the list above, then pass --yes.",
        )
        if answer.lower() != "yes":
            print("Not trusted.")
            return 1
    planck.trust.give(state.content)
    print("Trusted, until one of these files changes.")
    return 0
