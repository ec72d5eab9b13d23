"""The words of a command line -> options: the parser, and what several commands take."""

import argparse
import os
import re
import sys

TYPE_CHECKING = False  # `typing` itself takes 3 ms
if TYPE_CHECKING:
    from typing import Any, NoReturn

MODES = ("read-only", "plan", "ask", "workspace", "full")
PICK = "?"
"""What `-r` without a name asks for: no session has this name."""
AS_TRUSTED = "Act as if this folder were trusted"
JSON = "Print JSON"
MAX_BUDGET = "Maximum cost of this run in USD"
MAX_STEPS = "Maximum number of model requests per agent turn"
MODE = "What agents may do without asking"
TRUST = "Trust this folder's own files for this run"


class Mistake(Exception):
    """Says what is wrong with a command line. No `PlanckError`: to read one, the runtime isn't loaded."""


class Parser(argparse.ArgumentParser):
    """Raises `Mistake` where argparse would print its usage and exit; so do the parsers of subcommands.

    An option is what it is called in full: a short or misspelt one is never silently another.
    """

    def __init__(self, **settings: "Any") -> None:
        made = settings.pop("formatter_class", argparse.HelpFormatter)

        def make_formatter(*, prog: str) -> argparse.HelpFormatter:
            # Else argparse loads what compresses files, to ask for the width at each option: 1 ms.
            formatter: argparse.HelpFormatter = made(prog=prog, width=_find_width() - 2)
            return formatter

        super().__init__(**settings, add_help=False, allow_abbrev=False, formatter_class=make_formatter)
        self.add_argument("-h", "--help", action="help", help="Show this help and exit")

    def error(self, message: str) -> "NoReturn":
        text = _explain_unknown(message, self._list_options()) or _explain(message)
        end = "" if text.endswith("?") else "."
        raise Mistake(f'{text.removesuffix(".")}{end} Run "{self.prog} --help".')

    def _list_options(self) -> "list[str]":
        """Those of its subcommands too: which one was meant, argparse does not say."""
        found: list[str] = []
        for action in self._actions:
            found += [name for name in action.option_strings if name.startswith("--")]
            if isinstance(action.choices, dict):
                for parser in action.choices.values():
                    found += parser._list_options()
        return list(dict.fromkeys(found))


def _find_width() -> int:
    """Returns what `shutil.get_terminal_size` does."""
    columns = os.environ.get("COLUMNS", "")  # noqa: TID251 - what a shell says of its window
    if columns.isdecimal() and int(columns):
        return int(columns)
    try:
        return os.get_terminal_size(sys.__stdout__.fileno()).columns or 80  # type: ignore[union-attr]
    except (AttributeError, ValueError, OSError):
        return 80


def _explain_unknown(message: str, known: "list[str]") -> str:
    """Names the options that may be meant by one that there is not; empty: that is not what is wrong."""
    head, _, rest = message.partition("unrecognized arguments: ")
    word = rest.split(" ")[0].partition("=")[0]
    if head or not word.startswith("-"):
        return ""
    from planck.records.nearest import nearest

    parts = [name for name in known if word.strip("-") in name.split("-")]
    longer = [name for name in known if len(word) > 3 and name.startswith(word)]
    meant = list(dict.fromkeys((*parts, *longer)))[:3] or nearest(word, known)
    return f"Unknown option: {word}." + (f" Did you mean {' or '.join(meant)}?" if meant else "")


def _explain(message: str) -> str:
    """Names the closest choice for an invalid one; joins an argument and what it must be to a sentence."""
    found = re.fullmatch(_CHOICE, message, re.DOTALL)
    if not found:
        return re.sub(r"^argument ([^:/]+)[^:]*: (must )", r"\1 \2", message)
    from planck.records.nearest import nearest

    where, word, choices = found[1], found[2].strip("'"), [one.strip("'") for one in found[3].split(", ")]
    what = f"Invalid value for {where}" if where.startswith("-") else "Unknown argument"
    meant = "".join(f" Did you mean {one!r}?" for one in nearest(word, choices))
    return f"{what}: {word!r}.{meant} Choose from {', '.join(choices)}"


_CHOICE = r"argument ([^:/]+)[^:]*: invalid choice: (.+) \(choose from (.+)\)"


def subcommand(commands: "Any", name: str, help: str, example: str) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(name, help=help, epilog=f"example: {example}")
    return parser


def add_shared(parser: argparse.ArgumentParser, *, trust: str = "", json: str = "") -> None:
    """Adds what many commands take, each with its help."""
    add_place(parser)
    for name, text in (("--trust", trust), ("--json", json)):
        if text:
            parser.add_argument(name, action="store_true", help=text)


def add_place(parser: argparse.ArgumentParser) -> None:
    """Adds what says where the work is done; `cli/place` reads it."""
    where = parser.add_mutually_exclusive_group()
    where.add_argument(
        "-C",
        "--cd",
        dest="directory",
        type=given,
        default=None,
        metavar="DIR",
        help="Workspace (default: the git root above the current folder, else the current folder)",
    )
    where.add_argument("--here", action="store_true", help="Use the current folder as the workspace")


def add_folders(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--add-dir",
        action="append",
        default=[],
        metavar="DIR",
        help="Let agents also work in this folder (repeatable)",
    )


def add_session(parser: argparse.ArgumentParser) -> None:
    """Adds what decides which session a prompt goes to, and what that session may do."""
    parser.add_argument("-m", "--model", default="", help="Model alias, or PROVIDER/MODEL")
    parser.add_argument("--team", default="", metavar="ALIAS|PATH", help='Team (see "planck teams list")')
    add_place(parser)
    add_folders(parser)
    which = parser.add_mutually_exclusive_group()
    which.add_argument("-c", "--continue", dest="newest", action="store_true", help="Resume the last session")
    which.add_argument(
        "-r",
        "--resume",
        nargs="?",
        const=PICK,
        type=given,
        default=None,
        metavar="ID|NAME",
        help="Resume a session; without a name, choose one",
    )
    parser.add_argument("--fork", action="store_true", help="With -c or -r: continue in a copy")
    parser.add_argument("--name", type=given, default=None, help="Name of the new session")
    rights = parser.add_mutually_exclusive_group()
    rights.add_argument("--permission-mode", "--mode", choices=MODES, default=None, help=MODE)
    rights.add_argument(
        "--yolo",
        dest="permission_mode",
        action="store_const",
        const="full",
        help="Same as --permission-mode full: no questions, no sandbox",
    )
    _add_run_options(parser)
    parser.add_argument(
        "--max-steps", "--max-turns", type=positive, default=None, metavar="N", help=MAX_STEPS
    )
    parser.add_argument("--max-budget-usd", type=amount, default=None, metavar="X", help=MAX_BUDGET)
    add_shared_options(parser)
    parser.add_argument("--trust", action="store_true", help=TRUST)


def add_shared_options(parser: argparse.ArgumentParser) -> None:
    """Adds options of `records/specs.SharedOptions` that `run`, `chat` and `submit` word alike."""
    parser.add_argument(
        "--max-tokens",
        type=positive,
        default=None,
        metavar="N",
        help="Maximum number of tokens, input plus output",
    )


def add_checks(parser: argparse.ArgumentParser) -> None:
    """Adds the options that say what a run has to prove."""
    parser.add_argument(
        "--check",
        dest="checks",
        action="append",
        default=[],
        type=given,
        metavar="CMD",
        help="Command that must exit 0 before the run counts as done (repeatable)",
    )
    parser.add_argument(
        "--require-proof",
        action="store_true",
        help="Fail if files changed and no check or test passed since, or if a claim is not proven",
    )


def _add_run_options(parser: argparse.ArgumentParser) -> None:
    """Adds options of `records/specs.RunOptions` that say which agent, tools and models a run has."""
    parser.add_argument(
        "--agent",
        type=given,
        default=None,
        metavar="NAME",
        help="Agent to talk to: the name of an agent file",
    )
    for flag, other, text in (
        ("--allowed-tools", "--allowedTools", "Run these tools without asking: edit,Bash(git log:*)"),
        ("--disallowed-tools", "--disallowedTools", "Remove tools, or deny matching calls: bash, Bash(rm:*)"),
    ):
        parser.add_argument(
            flag,
            other,
            action="append",
            default=[],
            type=given,
            metavar="L",
            help=f"{text} (repeatable)",
        )
    parser.add_argument(
        "--mcp-config",
        action="append",
        default=[],
        type=given,
        metavar="FILE|JSON",
        help="Additional MCP servers (repeatable)",
    )
    parser.add_argument(
        "--system-prompt",
        type=readable,
        default=None,
        metavar="TEXT",
        help="Replace Planck's system prompt",
    )
    parser.add_argument(
        "--append-system-prompt",
        type=readable,
        default="",
        metavar="TEXT",
        help="Append text to the system prompt",
    )
    parser.add_argument("--effort", choices=("low", "medium", "high"), default="", help="Reasoning effort")
    parser.add_argument(
        "--fallback-model",
        type=given,
        default=None,
        metavar="MODEL",
        help="Model to use when the first one cannot answer",
    )


def add_server(parser: argparse.ArgumentParser, *, json: str = JSON) -> None:
    parser.add_argument(
        "--server",
        default="",
        metavar="URL",
        help="Server (default: PLANCK_SERVER, or the one on this machine)",
    )
    parser.add_argument(
        "--token-file",
        default="",
        metavar="FILE",
        help="File with the server's token (default: PLANCK_TOKEN_FILE)",
    )
    parser.add_argument("--json", action="store_true", help=json)


def readable(text: str) -> str:
    """What a model will read: bytes that are no UTF-8 are repaired, as those of standard input are."""
    try:
        text.encode()
    except UnicodeEncodeError:
        from os import fsencode

        from planck.cli.streams import decode_input

        return decode_input(fsencode(text), "An argument")
    return text


def given(text: str) -> str:
    """An empty variable of a script must not become another session without a word."""
    if not text:
        raise argparse.ArgumentTypeError("must not be empty")
    return text


def positive(text: str) -> int:
    try:
        value = int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number") from None
    if value < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return value


def seconds(text: str) -> float:
    return _above_zero(text, "a number of seconds")


def amount(text: str) -> float:
    return _above_zero(text, "an amount")


def _above_zero(text: str, what: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"must be {what} above 0")
    return value


def port(text: str) -> int:
    if not text.isdecimal() or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is not a port. Use a number from 0 to 65535")
    return int(text)
