"""The dispatcher: finds the command, loads its module alone, and turns what it raises into one line."""

import gc
import sys

# Nothing else is imported here: `main` first says where modules may come from.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Sequence
    from types import ModuleType

NOT_BUILT = {
    "": ("hosts", "hand"),
    "sessions": ("replay", "--as-test", "--as-scenario"),
    "teams": ("test",),
}
"""By command: what the contract names and is not built yet. It says so, exit 2, and is in no --help."""


LISTS = {
    **dict.fromkeys(("sessions", "tools", "models", "teams", "skills", "mcp", "nodes"), "list"),
    **{"config": "show", "auth": "status", "sidecar": "status"},
}
"""What a noun alone does."""

ELSEWHERE = {
    **dict.fromkeys(("login", "signin", "setup-token"), "planck auth login PROVIDER"),
    **dict.fromkeys(("logout", "signout"), "planck auth logout PROVIDER"),
    "resume": "planck run -r",
    "continue": "planck run -c",
    **dict.fromkeys(("fork", "branch"), "planck sessions fork"),
    **dict.fromkeys(("rm", "delete", "remove"), "planck sessions delete"),
    "rename": "planck sessions rename",
    **dict.fromkeys(("search", "find", "grep"), "planck sessions search"),
    **dict.fromkeys(("show", "log", "logs"), "planck sessions show"),
    "share": "planck sessions export",
    "export": "planck sessions export",
    "import": "planck sessions import",
    **dict.fromkeys(("exec", "print", "prompt", "ask"), 'planck run "..."'),
    **dict.fromkeys(("ls", "list", "ps", "top", "history", "session", "threads"), "planck sessions list"),
    **dict.fromkeys(("projects", "project", "jobs", "tasks"), "planck sessions list"),
    **dict.fromkeys(("upgrade", "self-update"), "planck update"),
    **dict.fromkeys(("agents", "agent", "team"), "planck teams list"),
    **dict.fromkeys(("status", "info", "debug", "about", "whoami", "check"), "planck doctor"),
    **dict.fromkeys(("web", "server", "app-server", "ui", "start", "daemon"), "planck serve"),
    **dict.fromkeys(("configure", "onboard", "install"), "planck setup"),
    **dict.fromkeys(("attach", "tail"), "planck watch"),
    **dict.fromkeys(("stop", "kill", "cancel", "abort"), "planck interrupt"),
    **dict.fromkeys(("new", "tui", "repl", "shell", "term"), "planck"),
    "mcp-server": "planck mcp serve",
    "sandbox": "planck permissions explain",
    "rewind": "planck undo",
    "usage": "planck stats",
    "cost": "planck stats",
    **dict.fromkeys(("settings",), "planck config show"),
    **dict.fromkeys(("providers", "provider", "keys"), "planck auth status"),
    **dict.fromkeys(("review", "apply", "plan", "commit", "pr"), 'planck run "..."'),
    **dict.fromkeys(("uninstall", "plugin", "plugins", "extension", "extensions", "hooks", "features"), ""),
    **dict.fromkeys(("github", "cloud", "bench", "recipe", "schedule", "feedback", "bug", "db", "dirs"), ""),
    **dict.fromkeys(("memory", "clear", "compact", "quit", "exit", "prompts", "commands"), ""),
    **dict.fromkeys(("archive", "unarchive"), ""),
}
"""Verbs of other agents, and the command that does the same here; empty: there is none. None is a task."""

NO_ARCHIVE = 'Sessions are kept until you delete them, so there is no archive. Run "planck sessions list".'

COLLECTOR = (10_000, 10, 10)
"""Python's 700 lets the collector visit every live agent again and again: 0.8 of 2.8 s with 1,000 of them."""


def main(argv: "Sequence[str] | None" = None) -> int:
    if argv is not None:
        return _run_command(list(argv))
    from planck.own_code import start_command

    start_command(sys.argv)
    gc.disable()  # until the work begins: what is loaded is no garbage
    code = _run_guarded(sys.argv[1:])
    # The process ends: what is closed is closed, and a last look at every object for garbage costs 30 ms.
    gc.freeze()
    return code


def _run_guarded(args: list[str]) -> int:
    """Runs the command on the process's own streams, whatever state they are in."""
    from planck.cli import streams

    try:
        streams.guard()
        code = _run_command(args)
        streams.flush()
        return code
    except streams.OutputLost as lost:
        streams.drop_output()
        text = f"Cannot write to standard output: {lost}. "
        if isinstance(lost, streams.OutputClosed):
            text += "Redirect it to a file (> FILE), or run the command in a terminal. Nothing was run."
        else:
            text += "Redirect it to a file on a disk with free space (> FILE)."
            if _works(args):
                text += ' The session is saved: run "planck sessions list" to find it.'
        return _fail("write_failed", text, 1)
    except BrokenPipeError:
        streams.drop_output()
        return 1


def _commands() -> dict[str, str]:
    from planck.cli.commands import COMMANDS

    return COMMANDS


def _works(args: list[str]) -> bool:
    """Whether it is a command that has a session at work."""
    told = {"-h", "--help", "help", "--version", "version"}
    works = not args or args[0] in ("run", "chat", "demo") or args[0] not in _commands()
    return works and not told & {*_before_dashes(args)}


def _run_command(args: list[str]) -> int:
    if sys.platform == "win32":
        from planck import UNSUPPORTED

        return _fail("session_start_failed", UNSUPPORTED)
    if args in (["--version"], ["version"]):
        from planck import __version__

        print(f"planck {__version__}")
        return 0
    if args and args[0] in ("-h", "--help", "help"):
        return _help(args[1:])
    debug = "--debug" in _before_dashes(args)
    if debug:
        args.remove("--debug")
    name = args[0] if args else ""
    if name in _commands():
        return _dispatch(name, _complete(name, args[1:]), debug)
    if name in NOT_BUILT[""]:
        return _fail("not_found", f'"planck {name}" is not built yet. Run "planck --help" for the commands.')
    printing = [arg for arg in _before_dashes(args) if arg in ("-p", "--print")]
    if printing:
        args.remove(printing[0])
        return _dispatch("run", _complete("run", args), debug)
    if refused := _refuse_word(args):
        return _fail("invalid_args", refused)
    return _dispatch("chat", args, debug)


def _before_dashes(args: list[str]) -> list[str]:
    """Returns the words that may be flags of ours: what follows `--` belongs to the command."""
    return args[: args.index("--")] if "--" in args else args


def _complete(name: str, rest: list[str]) -> list[str]:
    """A noun alone, or with options only, lists what there is of it; a command's words are its arguments."""
    if name == "run" and rest[:1] and rest[0].startswith("/") and " " not in rest[0]:
        from shlex import quote

        end = _count_words(rest)
        return [" ".join([rest[0], *map(quote, rest[1:end])]), *rest[end:]]
    alone = all(arg.startswith("-") for arg in rest) and not {"-h", "--help"} & {*_before_dashes(rest)}
    return [LISTS[name], *rest] if alone and name in LISTS else rest


def _help(about: list[str]) -> int:
    if not about:
        print(_usage())
        return 0
    if about[0] in _commands():
        return _dispatch(about[0], [*about[1:2], "--help"])
    return _fail("invalid_args", f'Unknown command: {about[0]!r}. Run "planck --help" for the list.')


def _refuse_word(args: list[str]) -> str:
    """Why the first word cannot start a task; empty: it can."""
    words = args[: _count_words(args)]
    if not words or " " in words[0]:
        return ""
    word = words[0]
    unknown = f"Unknown command: {word!r}."
    task = 'To give the team a task, run `planck run "..."`.'
    if word in ("archive", "unarchive"):
        return f"{unknown} {NO_ARCHIVE}"
    if word in ELSEWHERE:
        here = ELSEWHERE[word]
        mark = "`" if '"' in here else '"'
        none = f'{unknown} Run "planck --help" for the list. {task}'
        return f"{unknown} Use {mark}{here}{mark}." if here else none
    if near := _find_near(word):
        return f'{unknown} Did you mean "planck {near}"? {task}'
    return f'{unknown} Put a task in quotes: `planck "{" ".join(words)[:200]}"`.' if len(words) > 1 else ""


def _count_words(args: list[str]) -> int:
    """How many arguments stand before the first option."""
    return next((at for at, arg in enumerate(args) if arg.startswith("-")), len(args))


def _find_near(word: str) -> str:
    """A command that was probably meant: one word of a task is no task."""
    from planck.records.nearest import nearest

    known = [*_commands(), *NOT_BUILT[""]]
    return next(iter(nearest(word, known, cutoff=0.7)), "")


def _dispatch(name: str, args: list[str], debug: bool = False) -> int:
    import argparse
    from importlib import import_module

    from planck.cli.parser import Mistake, Parser

    command = import_module(f"planck.cli.commands.{name}")
    parser = Parser(
        prog=f"planck {name}" if name != "chat" else "planck",
        description=_commands()[name],
        epilog=f"example: {command.EXAMPLE}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.add_options(parser)
    if unbuilt := _find_unbuilt(name, args):
        message = (
            f'"{parser.prog} {unbuilt}" is not built yet. Run "{parser.prog} --help" for what is available.'
        )
        return _refuse(name, args, message)
    try:
        options = parser.parse_args(args)
    except SystemExit as leaving:
        return int(leaving.code or 0)
    except Mistake as mistake:
        return _refuse(name, args, str(mistake))
    return _run(command, options, debug)


def _find_unbuilt(name: str, args: list[str]) -> str:
    """The first word or any option of a command that is promised and not there; a task may say anything."""
    promised = NOT_BUILT.get(name, ())
    words = _before_dashes(args)
    options = (word.partition("=")[0] for word in words if word.startswith("--"))
    return next((word for word in (*words[:1], *options) if word in promised), "")


def _refuse(name: str, args: list[str], message: str) -> int:
    if name != "run":
        return _fail("invalid_args", message)
    from planck.cli.work import refuse
    from planck.records.outcome import Err, ErrorKind

    return refuse(args, Err(ErrorKind.INVALID_ARGS, message))


def _run(command: "ModuleType", options: "Namespace", debug: bool) -> int:
    import logging

    from planck.cli.late_ssl import import_asyncio
    from planck.cli.streams import OutputLost
    from planck.records.outcome import PlanckError, name_exception

    import_asyncio()
    import asyncio

    logger = logging.getLogger("planck")
    logger.addHandler(logging.StreamHandler() if debug else logging.NullHandler())
    try:
        gc.set_threshold(*COLLECTOR)
        gc.freeze()
        gc.enable()
        done = command.run(options)
        return int(asyncio.run(done) if asyncio.iscoroutine(done) else done)
    except PlanckError as failure:
        if debug:
            raise
        from planck.cli.errors import exit_code

        return _fail(failure.err.kind, failure.err.full_message, exit_code(failure))
    except KeyboardInterrupt:
        return 130
    except (OutputLost, BrokenPipeError):
        raise  # no fault of the command's
    except Exception as failure:
        if debug:
            raise
        text = f"Unexpected {name_exception(failure).rstrip('.')}. Add --debug to see the traceback."
        return _fail("internal_error", text, 1)


def _usage() -> str:
    rows = "\n".join(f"  {name:<13}{summary}" for name, summary in _commands().items())
    return f"""\
usage: planck [PROMPT] [OPTIONS]       start a conversation
       planck run PROMPT [OPTIONS]     run one task (or: planck -p PROMPT)
       planck COMMAND [OPTIONS]
       planck --version | --help

A runtime for teams of coding agents.

commands:
{rows}

Run "planck COMMAND --help" for a command's options and an example.
Add --debug to any command to see the traceback of an error.
New to Planck? Run "planck demo": it needs no key and no server."""


def _fail(kind: str, message: str, code: int = 2) -> int:
    from planck.cli.streams import report_error

    report_error(kind, message)
    return code
