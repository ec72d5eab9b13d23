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
    "": ("blame", "land", "hosts", "hand"),
    "run": ("--check", "--require-proof", "--isolated", "--land"),
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
    **dict.fromkeys(("rm", "delete", "remove", "archive", "unarchive"), "planck sessions delete"),
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
}
"""Verbs of other agents, and what does the same here; empty: nothing. None of them is a task."""

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
        return _fail(
            f"write_failed: standard output can't be written: {lost}; send it to where there is room (> FILE)"
            + (", and find the session that was at work with: planck sessions list" if _works(args) else ""),
            1,
        )
    except BrokenPipeError:
        streams.drop_output()
        return 1


def _commands() -> dict[str, str]:
    from planck.cli.commands import COMMANDS

    return COMMANDS


def _works(args: list[str]) -> bool:
    """Whether it is a command that has a session at work."""
    told = {"-h", "--help", "help", "--version", "version"}
    return (not args or args[0] in ("run", "chat", "demo") or args[0] not in _commands()) and not told & {
        *args
    }


def _run_command(args: list[str]) -> int:
    if sys.platform == "win32":
        from planck import UNSUPPORTED

        print(f"planck: {UNSUPPORTED}", file=sys.stderr)
        return 2
    if args in (["--version"], ["version"]):
        from planck import __version__

        print(f"planck {__version__}")
        return 0
    if args and args[0] in ("-h", "--help", "help"):
        return _help(args[1:])
    debug = "--debug" in args
    if debug:
        args.remove("--debug")
    name = args[0] if args else ""
    if name in _commands():
        return _dispatch(name, _complete(name, args[1:]), debug)
    if name in NOT_BUILT[""]:
        return _fail(f"not_found: `planck {name}` is not built yet; `planck --help` lists what is")
    printing = [arg for arg in args if arg in ("-p", "--print")]
    if printing:
        args.remove(printing[0])
        return _dispatch("run", _complete("run", args), debug)
    if refused := _refuse_word(args):
        return _fail(f"invalid_args: {refused}")
    return _dispatch("chat", args, debug)


def _complete(name: str, rest: list[str]) -> list[str]:
    """A noun alone, or with options only, lists what there is of it; a command's words are its arguments."""
    if name == "run" and rest[:1] and rest[0].startswith("/") and " " not in rest[0]:
        from shlex import quote

        end = _count_words(rest)
        return [" ".join([rest[0], *map(quote, rest[1:end])]), *rest[end:]]
    alone = all(arg.startswith("-") for arg in rest) and not {"-h", "--help"} & set(rest)
    return [LISTS[name], *rest] if alone and name in LISTS else rest


def _help(about: list[str]) -> int:
    if not about:
        print(_usage())
        return 0
    if about[0] in _commands():
        return _dispatch(about[0], [*about[1:2], "--help"])
    return _fail(f"invalid_args: no such command: {about[0]!r}; `planck --help` lists what there is")


def _refuse_word(args: list[str]) -> str:
    """Why the first word is no beginning of a task; empty: it may be one."""
    words = args[: _count_words(args)]
    if not words or " " in words[0]:
        return ""
    word = words[0]
    task = 'a task is `planck run "..."`'
    if word in ELSEWHERE:
        here = ELSEWHERE[word]
        return f"no such command: {word!r}; " + (f"here it is `{here}`" if here else f"there is none; {task}")
    if near := _find_near(word):
        return f"no such command: {word!r}; did you mean `planck {near}`? {task[0].upper()}{task[1:]}"
    return f'put a task in quotes: planck "{" ".join(words)[:200]}"' if len(words) > 1 else ""


def _count_words(args: list[str]) -> int:
    """How many arguments stand before the first option."""
    return next((at for at, arg in enumerate(args) if arg.startswith("-")), len(args))


def _find_near(word: str) -> str:
    """A command that was probably meant: one word of a task is no task."""
    from planck.records.nearest import nearest

    known = [*_commands(), *NOT_BUILT[""]]
    swapped = [name for name in known if len(name) == len(word) and sorted(name) == sorted(word)]
    return next(iter([*swapped, *nearest(word, known, cutoff=0.7)]), "")


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
        message = f"`{parser.prog} {unbuilt}` is not built yet; `{parser.prog} --help` shows what is"
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
    words = args[: args.index("--")] if "--" in args else args
    options = (word.partition("=")[0] for word in words if word.startswith("--"))
    return next((word for word in (*words[:1], *options) if word in promised), "")


def _refuse(name: str, args: list[str], message: str) -> int:
    from planck.records.outcome import Err, ErrorKind

    err = Err(ErrorKind.INVALID_ARGS, message)
    if name != "run":
        return _fail(str(err))
    from planck.cli.work import refuse

    return refuse(args, err)


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
        gc.enable()
        done = command.run(options)
        return int(asyncio.run(done) if asyncio.iscoroutine(done) else done)
    except PlanckError as failure:
        if debug:
            raise
        from planck.cli.errors import exit_code

        return _fail(str(failure.err), exit_code(failure))
    except KeyboardInterrupt:
        return 130
    except (OutputLost, BrokenPipeError):
        raise  # no fault of the command's
    except Exception as failure:
        if debug:
            raise
        return _fail(f"internal_error: {name_exception(failure)}; --debug shows where", 1)


def _usage() -> str:
    rows = "\n".join(f"  {name:<12}{summary}" for name, summary in _commands().items())
    return f"""\
usage: planck [PROMPT] [OPTIONS]          talk to a team
       planck run PROMPT [OPTIONS]        one task, one answer (also: planck -p PROMPT)
       planck COMMAND [OPTIONS]
       planck --version | --help

A runtime for teams of coding agents.

{rows}

`planck COMMAND --help` shows a command's options and an example; --debug adds a traceback to an error.
New here? `planck demo` needs no key and no server."""


def _fail(line: str, code: int = 2) -> int:
    from planck.cli.streams import complain
    from planck.records.visible import fit_line

    complain(fit_line(line))
    return code
