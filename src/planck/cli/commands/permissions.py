"""`planck permissions`: why a call is allowed or not, and whether this folder is trusted."""

import argparse
import sys

from planck.cli.ask.typed import ask
from planck.cli.errors import UsageError
from planck.cli.output import print_json
from planck.cli.place import open_project, say_place
from planck.headless import Planck
from planck.records.outcome import ErrorKind
from planck.records.visible import make_plain


def run(options: argparse.Namespace) -> int:
    project = open_project(options)
    say_place(project)
    planck = Planck.of(project)
    match options.action:
        case "explain":
            return _explain(planck, options)
        case "trust":
            return _trust(planck, options.yes)
        case _:
            had = planck.trust.take_back()
            print("no longer trusted" if had else "it was not trusted")
            return 0


def _explain(planck: Planck, options: argparse.Namespace) -> int:
    from planck.headless import explain_call

    found = explain_call(
        planck, options.agent, options.tool, options.what, team=options.team, mode=options.permission_mode
    )
    if options.json:
        print_json(found)
        return 0
    authority, rights = found.authority, found.runs_under
    tools = "every tool" if authority.tools is None else ", ".join(authority.tools) or "no tool"
    print(f"{found.decision}: {make_plain(found.why)}")
    print(make_plain(f"  agent    {found.agent}: {tools}"))
    print(make_plain(f"  mode     {found.mode} (from {found.mode_from})"))
    if found.tried:
        print("  it asks  only if it fails where nothing can be written and there is no network")
    if found.decision != "deny" and rights.mode == "full":
        print("  it runs  outside the sandbox: any file of yours, and the network")
    elif found.decision != "deny":
        network = "yes" if rights.network else "no"
        print(f"  it runs  writing {', '.join(rights.writable) or 'nothing'}; network {network}")
    print(make_plain(f"  sandbox  {found.sandbox}"))
    return 0


def _trust(planck: Planck, yes: bool) -> int:
    state = planck.trust.examine()
    if state.trusted:
        print("this folder is trusted as it is")
        return 0
    if not state.content.runs:
        print("this folder has nothing of its own that would run")
        return 0
    print("if you trust this folder, it may use:")
    for line in state.content.runs:
        print(f"  {make_plain(line)}")
    if not yes:
        if not sys.stdin.isatty():
            raise UsageError(ErrorKind.INVALID_ARGS, "nobody is there to ask; look at them, then add --yes")
        if ask("trust it? type yes: ").lower() != "yes":
            print("not trusted")
            return 1
    planck.trust.give(state.content)
    print("trusted, until one of these files changes")
    return 0
