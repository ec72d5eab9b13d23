"""`planck acp`: an editor starts this, and speaks with it over its standard input and output."""

import argparse
import asyncio
from importlib import import_module


def run(options: argparse.Namespace) -> int:
    # By name, as the dispatcher does: a frontend of its own, of which this one knows nothing.
    frontend = import_module("planck.acp_agent.serve")
    return int(asyncio.run(frontend.run(options.model, options.team, options.permission_mode)))
