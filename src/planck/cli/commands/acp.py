"""`planck acp`: an editor starts this, and speaks with it over its standard input and output."""

import argparse
from importlib import import_module

from planck.cli.parser import MODES

EXAMPLE = "planck acp --permission-mode workspace    (run by an editor: docs/guides/editors.md)"


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-m", "--model", default="", help="Model for new sessions: alias, or PROVIDER/MODEL")
    parser.add_argument("--team", default="", metavar="ALIAS|PATH", help="Team for new sessions")
    parser.add_argument(
        "--permission-mode", choices=MODES, default=None, help="Permission mode for new sessions"
    )


async def run(options: argparse.Namespace) -> int:
    # By name, as the dispatcher does: a frontend of its own, of which this one knows nothing.
    frontend = import_module("planck.acp_agent.serve")
    return int(await frontend.run(options.model, options.team, options.permission_mode))
