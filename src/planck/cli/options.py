"""What each command takes: read before anything else is loaded, so that `--help` costs no more than this."""

import argparse
from collections.abc import Callable
from importlib import import_module

from planck.cli.parser import Parser

TYPE_CHECKING = False  # `typing` itself takes 3 ms
if TYPE_CHECKING:
    from typing import Any

SIDECAR = ".planck/sidecar"
_SESSIONS = ("list", "show", "export", "verify", "import", "rename", "delete", "fork", "tree", "search")

PICK = "?"
"""What `-r` without a name asks for: no session has this name."""

_TRUST = "trust this folder's own files in this run"
MODES = ("read-only", "plan", "ask", "workspace", "full")
_Add = Callable[[argparse.ArgumentParser], None]

EXAMPLES: dict[str, str] = {}
OPTIONS: dict[str, _Add] = {}
"""Both by the command's name, which is that of its function below without the underscore."""


def load_pool() -> None:
    """Adds the commands of a pool, which few starts need."""
    import_module("planck.cli.pool.options")


def _command(example: str) -> Callable[[_Add], _Add]:
    def register(add: _Add) -> _Add:
        name = add.__name__.removeprefix("_")
        EXAMPLES[name], OPTIONS[name] = example, add
        return add

    return register


def _shared(parser: argparse.ArgumentParser, *, trust: str = "", json: str = "") -> None:
    """Adds what many commands take, each with its help."""
    _place(parser)
    for name, text in (("--trust", trust), ("--json", json)):
        if text:
            parser.add_argument(name, action="store_true", help=text)


def _place(parser: argparse.ArgumentParser) -> None:
    """Adds what says where the work is done; `cli/place` reads it."""
    where = parser.add_mutually_exclusive_group()
    where.add_argument(
        "-C",
        "--cd",
        dest="directory",
        type=_given,
        default=None,
        metavar="DIR",
        help="the workspace; default: the git root above the current folder, else the folder",
    )
    where.add_argument("--here", action="store_true", help="the current folder is the workspace")


def _added(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--add-dir",
        action="append",
        default=[],
        metavar="DIR",
        help="agents may also work in this folder; can be repeated",
    )


def _subcommand(commands: "Any", name: str, help: str, example: str) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(name, help=help, epilog=f"example: {example}")
    return parser


@_command('planck "what does this project do?" -m local/qwen3')
def _chat(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("prompt", nargs="?", type=_text, default="", help="the first thing to say")
    _session(parser)


@_command('planck run "fix the failing test" -m local/qwen3 --permission-mode full')
def _run(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("prompt", nargs="?", type=_text, help="the task; text on standard input follows it")
    _session(parser)
    parser.add_argument("--output-format", choices=("text", "json", "stream-json"), default="text")
    parser.add_argument(
        "--input-format",
        choices=("text", "stream-json"),
        default="text",
        help="stream-json: messages on standard input, one JSON object a line",
    )
    parser.add_argument(
        "--output-schema",
        type=_given,
        default=None,
        metavar="FILE",
        help="the answer is JSON that fits this JSON Schema; asked for once more where it is not",
    )
    parser.add_argument(
        "-o", "--output", type=_given, default=None, metavar="FILE", help="also write the answer to a file"
    )
    parser.add_argument(
        "-i",
        "--image",
        action="append",
        default=[],
        type=_given,
        metavar="IMAGE",
        help="show it to the model; can be repeated (so does @IMAGE in the prompt)",
    )
    parser.add_argument("--verbose", action="store_true", help="tell on standard error what is done")
    parser.add_argument("--dry-run", action="store_true", help="plan every tool call, run none")
    parser.add_argument("--timeout", type=_seconds, default=None, metavar="SECONDS")
    parser.add_argument("--no-session", "--ephemeral", action="store_true", help="keep nothing on disk")


def _session(parser: argparse.ArgumentParser) -> None:
    """Adds what decides which session a prompt goes to, and what that session may do."""
    parser.add_argument("-m", "--model", default="", help="an alias of the config, or PROVIDER/MODEL")
    parser.add_argument("--team", default="", metavar="ALIAS|PATH", help="a team of `planck teams list`")
    _place(parser)
    _added(parser)
    which = parser.add_mutually_exclusive_group()
    which.add_argument(
        "-c", "--continue", dest="newest", action="store_true", help="resume the session used last"
    )
    which.add_argument(
        "-r",
        "--resume",
        nargs="?",
        const=PICK,
        type=_given,
        default=None,
        metavar="ID|NAME",
        help="resume this session; without a name, choose one",
    )
    parser.add_argument("--fork", action="store_true", help="with -c or -r: go on in a copy")
    parser.add_argument("--name", type=_given, default=None, help="a name for the new session")
    rights = parser.add_mutually_exclusive_group()
    rights.add_argument("--permission-mode", choices=MODES, default=None)
    rights.add_argument(
        "--yolo",
        dest="permission_mode",
        action="store_const",
        const="full",
        help="the same as --permission-mode full: nothing is asked and nothing is confined",
    )
    _run_options(parser)
    parser.add_argument("--max-steps", "--max-turns", type=_positive, default=None, metavar="N")
    parser.add_argument(
        "--max-budget-usd", type=_amount, default=None, metavar="X", help="what this run may cost at most"
    )
    _shared_options(parser)
    parser.add_argument("--trust", action="store_true", help=_TRUST)


def _shared_options(parser: argparse.ArgumentParser) -> None:
    """Adds options of `records/specs.SharedOptions` that `run`, `chat` and `submit` word alike."""
    parser.add_argument(
        "--max-tokens", type=_positive, default=None, metavar="N", help="what it may read and write at most"
    )


def _run_options(parser: argparse.ArgumentParser) -> None:
    """Adds options of `records/specs.RunOptions` that say which agent, tools and models a run has."""
    parser.add_argument("--agent", type=_given, default=None, metavar="NAME", help="talk to this agent file")
    for flag, other, text in (
        ("--allowed-tools", "--allowedTools", "run these without a question: edit,Bash(git log:*)"),
        ("--disallowed-tools", "--disallowedTools", "nobody has these: bash, or runs: Bash(rm:*)"),
    ):
        parser.add_argument(
            flag,
            other,
            action="append",
            default=[],
            type=_given,
            metavar="L",
            help=f"{text}; can be repeated",
        )
    parser.add_argument(
        "--mcp-config",
        action="append",
        default=[],
        type=_given,
        metavar="FILE|JSON",
        help="MCP servers beside those of the configuration; can be repeated",
    )
    parser.add_argument(
        "--system-prompt",
        type=_text,
        default=None,
        metavar="TEXT",
        help="in the place of what Planck tells its agents",
    )
    parser.add_argument(
        "--append-system-prompt",
        type=_text,
        default="",
        metavar="TEXT",
        help="behind what the agent is told anyway",
    )
    parser.add_argument("--effort", choices=("low", "medium", "high"), default="", help="how much it thinks")
    parser.add_argument(
        "--fallback-model",
        type=_given,
        default=None,
        metavar="MODEL",
        help="goes on where a model can't answer",
    )


def _text(text: str) -> str:
    """What a model will read: bytes that are no UTF-8 are repaired, as those of standard input are."""
    try:
        text.encode()
    except UnicodeEncodeError:
        from os import fsencode

        from planck.cli.streams import decode_input

        return decode_input(fsencode(text), "an argument")
    return text


def _given(text: str) -> str:
    """An empty variable of a script must not become another session without a word."""
    if not text:
        raise argparse.ArgumentTypeError("must not be empty")
    return text


def _positive(text: str) -> int:
    try:
        value = int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number") from None
    if value < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return value


def _seconds(text: str) -> float:
    return _above_zero(text, "a number of seconds")


def _amount(text: str) -> float:
    return _above_zero(text, "an amount")


def _above_zero(text: str, what: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"must be {what} above 0")
    return value


@_command("planck demo --web")
def _demo(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--web", action="store_true", help="slowly, and in the page, until Ctrl+C")
    parser.add_argument("--json", action="store_true", help="with --web: print where it is, open no browser")


@_command("planck setup")
def _setup(parser: argparse.ArgumentParser) -> None:
    """It asks for all that it needs."""


@_command("""planck tools call read --args '{"path": "README.md"}'""")
def _tools(parser: argparse.ArgumentParser) -> None:
    commands = parser.add_subparsers(dest="action", required=True, metavar="list|show|call")
    listing = _subcommand(
        commands,
        "list",
        "every tool, its source, and what could not be loaded; starts sidecars and MCP servers",
        "planck tools list",
    )
    showing = _subcommand(
        commands, "show", "description and parameters of one tool", "planck tools show bash"
    )
    calling = _subcommand(commands, "call", "run one tool here, without a question", EXAMPLES["tools"])
    for command in (showing, calling):
        command.add_argument("name", metavar="NAME")
    calling.add_argument("--args", default="{}", metavar="JSON", help="the arguments, default {}")
    calling.add_argument("--dry-run", action="store_true", help="print the plan, do nothing")
    for command in (listing, showing, calling):
        command.add_argument("--json", action="store_true", help="print JSON")
        _shared(command, trust=_TRUST)


@_command("planck sessions export calm-fox > calm-fox.ndjson")
def _sessions(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", choices=_SESSIONS, metavar="|".join(_SESSIONS))
    parser.add_argument(
        "what", nargs="?", default="", metavar="ID|NAME|FILE|TEXT", help="which session, file or text"
    )
    parser.add_argument("new", nargs="?", default="", metavar="NEW", help="rename: the new name")
    parser.add_argument(
        "--all", action="store_true", help="sessions of every workspace, not only of this one"
    )
    parser.add_argument("--at", type=int, metavar="SEQ", help="fork: after this event (default: the last)")
    parser.add_argument("--name", default="", help="fork: the new session's name")
    parser.add_argument(
        "--format", choices=("ndjson", "md", "markdown", "html"), default="ndjson", help="export: as what"
    )
    parser.add_argument(
        "--redact", default="", metavar="L", help="export html: hide any of outputs,args,diffs,paths"
    )
    parser.add_argument(
        "--max-mb",
        type=_amount,
        default=10.0,
        metavar="N",
        help="export html: at most so large, default 10",
    )
    parser.add_argument("--with-log", action="store_true", help="export html: with the log that proves it")
    parser.add_argument(
        "--limit", type=_positive, default=50, metavar="N", help="at most so many, the newest"
    )
    parser.add_argument("--cost", action="store_true", help="show: what each agent used of each model")
    parser.add_argument("-y", "--yes", action="store_true", help="delete: do not ask")
    parser.add_argument("--why-blocked", action="store_true", help="show: who waits for whom, and since when")
    _shared(parser, json="for programs")


@_command("planck teams new crew -m local/qwen3 && planck teams check crew")
def _teams(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", choices=("list", "show", "check", "new"))
    parser.add_argument("team", nargs="?", default="", help="an alias, or a path")
    parser.add_argument(
        "-m", "--model", default="", help="new: its members' model, as for run; default: yours"
    )
    _shared(parser, trust=_TRUST, json="for programs")


@_command("planck undo --agent builder")
def _undo(parser: argparse.ArgumentParser) -> None:
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--agent", default="", metavar="NAME", help="all that this agent wrote")
    which.add_argument("--turn", type=int, default=0, metavar="N", help="all that was written in turn N")
    which.add_argument("--call", default="", metavar="ID", help="one tool call, or an undo")
    parser.add_argument(
        "-r", "--resume", default="", metavar="ID|NAME", help="of this session, not the one used last"
    )
    _place(parser)
    _added(parser)
    parser.add_argument("--dry-run", action="store_true", help="only show what would be done")
    parser.add_argument("-y", "--yes", action="store_true", help="do not ask")


@_command("planck stats --days 7")
def _stats(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--days", type=_positive, default=None, metavar="N", help="only today and the days before; in UTC"
    )
    _shared(parser, json="for programs")


@_command("planck config explain limits.steps")
def _config(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "action",
        choices=("show", "explain", "set"),
        help="the values, or where they come from, or change yours",
    )
    parser.add_argument("key", nargs="?", default="", help="this key only, e.g. permissions.mode")
    parser.add_argument("value", nargs="?", default=None, help="set: a word, or JSON")
    _shared(parser, trust="as if this folder were trusted", json="for programs")


@_command("planck models test sonnet")
def _models(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", choices=("list", "test"))
    parser.add_argument(
        "model", nargs="?", default="", help="test: an alias or PROVIDER/MODEL; default: yours"
    )
    parser.add_argument("--all", action="store_true", help="list: the vendors' models without a key too")
    _shared(parser, json="for programs")


@_command("planck auth login anthropic")
def _auth(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", choices=("login", "logout", "status"))
    parser.add_argument("provider", nargs="?", default="", help="a key of `providers`, or a vendor")
    parser.add_argument("--device", action="store_true", help="login: in a browser, by device code")
    _shared(parser, json="status: for programs")


@_command("planck sidecar new && planck sidecar status --trust")
def _sidecar(parser: argparse.ArgumentParser) -> None:
    commands = parser.add_subparsers(dest="action", required=True, metavar="status|new|run")
    status = _subcommand(
        commands,
        "status",
        "build and start what a session here would, list the tools, stop",
        "planck sidecar status --trust",
    )
    _shared(status, trust=_TRUST, json="for programs")
    new = _subcommand(commands, "new", "a working sidecar with a test", "planck sidecar new tools/sidecar")
    running = _subcommand(
        commands,
        "run",
        "serve a sidecar to any MCP client, on standard input and output or HTTP",
        "planck sidecar run .planck/sidecar --http 8080",
    )
    for command in (new, running):
        command.add_argument("path", nargs="?", default=SIDECAR, metavar="PATH", help=f"default {SIDECAR}")
    _address(running)


@_command("planck mcp add time -- uvx mcp-server-time")
def _mcp(parser: argparse.ArgumentParser) -> None:
    commands = parser.add_subparsers(
        dest="action",
        required=True,
        metavar="list|add|remove|test|login|logout|serve",
        parser_class=_BeforeDashes,
    )
    listing = _subcommand(commands, "list", "the servers that a session here would start", "planck mcp list")
    adding = _subcommand(commands, "add", "add one to your configuration", EXAMPLES["mcp"])
    adding.add_argument("name", metavar="NAME")
    adding.usage = "planck mcp add NAME [--env NAME=VALUE] -- COMMAND [ARGS] | NAME URL [--header NAME=VALUE]"
    adding.add_argument("words", nargs="*", metavar="URL", help="the same as --url")
    adding.add_argument("--url", default="", help="a streamable HTTP address instead of a command")
    adding.add_argument("--env", action="append", default=[], metavar="NAME=VALUE", help="for the program")
    adding.add_argument("--header", action="append", default=[], metavar="NAME=VALUE", help="for the address")
    removing = _subcommand(commands, "remove", "take one out of your configuration", "planck mcp remove time")
    removing.add_argument("name", metavar="NAME")
    testing = _subcommand(commands, "test", "start, list the tools, stop; all or one", "planck mcp test time")
    testing.add_argument("name", nargs="?", default="", metavar="NAME")
    entering = _subcommand(
        commands, "login", "sign in to a server in a browser, here or elsewhere", "planck mcp login docs"
    )
    leaving = _subcommand(commands, "logout", "forget what you signed in with", "planck mcp logout docs")
    for command in (entering, leaving):
        command.add_argument("name", metavar="NAME")
        _shared(command, trust=_TRUST)
    serving = _subcommand(
        commands,
        "serve",
        "offer the tools of a workspace to another agent",
        "planck mcp serve -C ~/project --permission-mode workspace",
    )
    serving.add_argument("--permission-mode", choices=MODES, default=None)
    _address(serving)
    for command in (listing, testing):
        _shared(command, trust=_TRUST, json="for programs")
    _shared(serving, trust=_TRUST)


def _address(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--http", type=_port, metavar="PORT", help="on this machine; 0: a free one")
    parser.add_argument("--token", default="", help="for --http; default: a new one, printed on stderr")


def _port(text: str) -> int:
    if not text.isdecimal() or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is no port; give one from 0 to 65535")
    return int(text)


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) > 10_000:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of sessions; give one from 0 to 10000")
    return int(text)


class _BeforeDashes(Parser):
    """Reads up to `--`: what follows is somebody else's command line, options and all."""

    def parse_known_args(self, args=None, namespace=None):  # type: ignore[no-untyped-def]
        words = list(args or [])
        cut = words.index("--") if "--" in words else len(words)
        parsed, rest = super().parse_known_args(words[:cut], namespace)
        parsed.command = words[cut + 1 :]
        return parsed, rest


@_command('planck permissions explain --agent orchestrator bash "git push"')
def _permissions(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="explain|trust|untrust")
    explain = _subcommand(
        actions, "explain", "the deciding rule for one call, and where it comes from", EXAMPLES["permissions"]
    )
    explain.add_argument("tool", help="a tool's name")
    explain.add_argument(
        "what",
        nargs="?",
        default="",
        help="a command for bash; for others a path or the like, or their arguments as JSON",
    )
    explain.add_argument("--agent", default="", help="a member's name or type; default: the orchestrator")
    explain.add_argument("--team", default="", help="its team; default: the configured one")
    explain.add_argument("--permission-mode", choices=MODES, default="")
    trust = _subcommand(
        actions,
        "trust",
        "let this folder's files run things, exactly as they are",
        "planck permissions trust --yes",
    )
    trust.add_argument("--yes", action="store_true", help="without a question")
    untrust = _subcommand(actions, "untrust", "take the trust back", "planck permissions untrust")
    for action in (trust, untrust):
        _shared(action)
    _shared(explain, trust="as if this folder were trusted", json="for programs")


@_command("planck serve --port 0 --json")
def _serve(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--host", type=_given, default="127.0.0.1", help="the address to listen on")
    parser.add_argument("--port", type=_port, default=4040, help="0: a free one; default 4040")
    parser.add_argument("--open", action="store_true", help="open the page in a browser")
    parser.add_argument(
        "--qr", action="store_true", help="draw a code of the page's address for a phone (--allow-host)"
    )
    parser.add_argument(
        "--allow-host",
        action="append",
        default=[],
        metavar="NAME",
        help="also answer to this name; can be repeated",
    )
    parser.add_argument(
        "--behind-proxy", action="store_true", help="a proxy in front of it speaks TLS to the clients"
    )
    parser.add_argument(
        "--store", default="", metavar="URL|dev", help="sessions in PostgreSQL, which other servers share"
    )
    parser.add_argument("--work", type=_count, default=None, metavar="N", help="sessions at a time; 0: none")
    parser.add_argument("--name", default="", help="of this node; default: the host's")
    parser.add_argument(
        "--label", action="append", default=[], metavar="L", help="what this node has; can be repeated"
    )
    _added(parser)
    _shared(parser, trust=_TRUST, json="the first line says where it is, as JSON")


@_command("planck acp --permission-mode workspace    (started by an editor: docs/guides/editors.md)")
def _acp(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-m", "--model", default="", help="of new sessions; an alias, or PROVIDER/MODEL")
    parser.add_argument("--team", default="", metavar="ALIAS|PATH", help="of new sessions")
    parser.add_argument("--permission-mode", choices=MODES, default=None, help="of new sessions")


@_command("planck doctor --json")
def _doctor(parser: argparse.ArgumentParser) -> None:
    _shared(parser, trust="as if this folder were trusted", json="for programs")


@_command("planck skills show pdf-forms")
def _skills(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", choices=("list", "show"))
    parser.add_argument("name", nargs="?", default="", help="the skill to show")
    parser.add_argument("resource", nargs="?", default="", help="a file of that skill")
    _shared(parser, json="for programs")


@_command("planck init")
def _init(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--dry-run", action="store_true", help="write nothing, only say what there is")
    _shared(parser, json="for programs")


@_command("planck completion bash >> ~/.bashrc")
def _completion(parser: argparse.ArgumentParser) -> None:
    shells = ("bash", "zsh", "fish")
    parser.add_argument("shell", choices=shells, metavar="SHELL", help=", ".join(shells))


@_command("planck update")
def _update(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="for programs")
