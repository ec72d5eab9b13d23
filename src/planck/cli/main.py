"""The dispatcher: finds the command, loads its module alone, and turns what it raises into one line."""

import sys
from collections.abc import Sequence

COMMANDS: dict[str, tuple[str, str]] = {
    "run": ("planck.cli.run", "give a task to a team and print its answer"),
    "demo": ("planck.cli.demo", "watch real tools at work with a built-in offline model; no key needed"),
    "tools": ("planck.cli.tools", "list the tools of a workspace, look at one, call one"),
    "config": ("planck.cli.config", "show the configuration in force, and where each value comes from"),
    "models": ("planck.cli.models", "list the models that can be used, or try one"),
    "auth": ("planck.cli.auth", "sign in to a provider, out of it, or see where keys come from"),
    "skills": ("planck.cli.skills", "list the skills of this folder and of yours, or show one"),
}
"""Each module has `arguments(parser)`, `run(options) -> int` and `EXAMPLE`."""

NOT_BUILT = [
    "sessions",
    "undo",
    "teams",
    "permissions",
    "sidecar",
    "mcp",
    "doctor",
    "serve",
    "acp",
]


def main(argv: Sequence[str] | None = None) -> int:
    args = list(sys.argv[1:] if argv is None else argv)
    if args == ["--version"]:
        from planck import __version__

        print(f"planck {__version__}")
        return 0
    if not args or args[0] in ("-h", "--help"):
        print(_usage())
        return 0 if args else 2
    name, rest = args[0], args[1:]
    if name in ("-p", "--print"):
        name = "run"
    if name in COMMANDS:
        return _dispatch(name, rest)
    if name in NOT_BUILT:
        return _fail(f"not_found: `planck {name}` is not built yet; `planck --help` lists what is")
    return _fail(f"invalid_args: {name!r} is no command; `planck --help` lists them")


def _dispatch(name: str, args: list[str]) -> int:
    import argparse
    from importlib import import_module

    from planck.records.outcome import PlanckError

    module = import_module(COMMANDS[name][0])
    parser = argparse.ArgumentParser(
        prog=f"planck {name}",
        description=COMMANDS[name][1],
        epilog=f"example: {module.EXAMPLE}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    module.arguments(parser)
    try:
        options = parser.parse_args(args)
    except SystemExit as leaving:
        return int(leaving.code or 0)
    try:
        return int(module.run(options))
    except PlanckError as failure:
        from planck.cli.errors import exit_code

        return _fail(str(failure.err), exit_code(failure))
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        sys.stderr.close()
        return 1


def _usage() -> str:
    rows = "\n".join(f"  {name:<10}{summary}" for name, (_, summary) in COMMANDS.items())
    return f"""\
usage: planck COMMAND [OPTIONS]
       planck --version | --help

A runtime for teams of coding agents.

{rows}

`planck COMMAND --help` shows a command's options and an example."""


def _fail(line: str, code: int = 2) -> int:
    print(f"planck: {line}", file=sys.stderr)
    return code
