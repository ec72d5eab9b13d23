"""`planck run`: its options. They are read before the runtime is loaded, so that `--help` costs no more."""

import argparse

EXAMPLE = 'planck run "fix the failing test" -m local/qwen3 --permission-mode full'


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("prompt", nargs="?", help="the task; text on standard input follows it")
    session_arguments(parser)
    parser.add_argument("--output-format", choices=("text", "json", "stream-json"), default="text")
    parser.add_argument("--dry-run", action="store_true", help="plan every tool call, run none")
    parser.add_argument("--timeout", type=_seconds, default=None, metavar="SECONDS")
    parser.add_argument("--no-session", action="store_true", help="keep nothing on disk")


def session_arguments(parser: argparse.ArgumentParser) -> None:
    """What decides which session a prompt goes to, and what that session may do."""
    parser.add_argument("-m", "--model", default="", help="an alias of the config, or PROVIDER/MODEL")
    parser.add_argument("--team", default="", metavar="ALIAS|PATH", help="a team of `planck teams list`")
    parser.add_argument("-C", dest="directory", default=".", metavar="DIR", help="the workspace")
    which = parser.add_mutually_exclusive_group()
    which.add_argument(
        "-c", "--continue", dest="newest", action="store_true", help="resume the newest session"
    )
    which.add_argument(
        "-r", "--resume", type=_given, default=None, metavar="ID|NAME", help="resume this session"
    )
    parser.add_argument("--fork", action="store_true", help="with -c or -r: go on in a copy")
    parser.add_argument("--name", type=_given, default=None, help="a name for the new session")
    parser.add_argument("--permission-mode", choices=("read-only", "ask", "workspace", "full"), default=None)
    parser.add_argument("--max-steps", type=_positive, default=None, metavar="N")
    parser.add_argument("--max-budget-usd", type=_amount, default=None, metavar="X")
    parser.add_argument("--trust", action="store_true", help="trust this folder's own files in this run")


def run(options: argparse.Namespace) -> int:
    from planck.cli.late_ssl import import_asyncio

    import_asyncio()
    from planck.cli.answer import answer

    return answer(options)


def _given(text: str) -> str:
    """An empty variable of a script must not become another session without a word."""
    if not text:
        raise argparse.ArgumentTypeError("must not be empty")
    return text


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return value


def _seconds(text: str) -> float:
    value = float(text)
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError("must be a number of seconds above 0")
    return value


def _amount(text: str) -> float:
    value = float(text)
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError("must be an amount above 0")
    return value
