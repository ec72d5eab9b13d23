"""What the commands of a pool of machines take."""

import argparse

from planck.cli.options import MODES, _amount, _command, _given, _positive, _shared_options, _subcommand


def add_server(parser: argparse.ArgumentParser, *, json: str = "for programs") -> None:
    parser.add_argument(
        "--server", default="", metavar="URL", help="a `planck serve`; default: PLANCK_SERVER, or this home's"
    )
    parser.add_argument(
        "--token-file", default="", metavar="FILE", help="has its token; default: PLANCK_TOKEN_FILE"
    )
    parser.add_argument("--json", action="store_true", help=json)


@_command('planck submit "fix the failing test" --repo https://git.example/shop.git --json')
def _submit(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("prompt", type=_given, help="the task")
    parser.add_argument(
        "--repo",
        type=_given,
        required=True,
        metavar="URL",
        help="what is worked on; a path that every node sees",
    )
    parser.add_argument("--ref", default="", help="a branch, tag or commit; default: the repository's own")
    parser.add_argument(
        "--need", action="append", default=[], metavar="LABEL", help="only on a node with it; can be repeated"
    )
    parser.add_argument(
        "--team", default="", metavar="ALIAS", help="a team of the node, or of the repository"
    )
    parser.add_argument("-m", "--model", default="", help="an alias of the node's config, or PROVIDER/MODEL")
    parser.add_argument("--name", default="", help="a name for the session")
    parser.add_argument("--permission-mode", "--mode", dest="mode", choices=MODES, default=None)
    parser.add_argument("--max-budget-usd", type=_amount, default=None, metavar="X")
    parser.add_argument("--max-steps", type=_positive, default=None, metavar="N")
    _shared_options(parser)
    parser.add_argument(
        "--on-loss",
        choices=("continue", "stop"),
        default="continue",
        help="when its node is lost: go on elsewhere, or leave it interrupted",
    )
    parser.add_argument(
        "--key", default="", help="send it again with the same key, and it is still one session"
    )
    add_server(parser, json="print the id and the name as JSON")


@_command("planck watch calm-fox")
def _watch(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", type=_given, metavar="ID", help="a session's id or name")
    parser.add_argument(
        "--after", type=int, default=0, metavar="SEQ", help="only what is newer than this event"
    )
    add_server(parser, json="one event a line, the result last")


@_command("planck answer calm-fox --question 3dcfe768a4494c18 --allow")
def _answer(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", type=_given, metavar="ID", help="a session's id or name")
    parser.add_argument(
        "--question", default="", metavar="ID", help="the question's id, as shown; required with --allow"
    )
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--allow", action="store_true", help="yes")
    how.add_argument("--deny", action="store_true", help="no")
    parser.add_argument("--scope", choices=("once", "session", "rule"), default="once")
    parser.add_argument("--reason", default="", help="with --deny: what the agent is told")
    add_server(parser)


@_command("planck interrupt calm-fox")
def _interrupt(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", type=_given, metavar="ID", help="a session's id or name")
    parser.add_argument("--agent", default="", help="only this one")
    add_server(parser)


@_command("planck nodes list")
def _nodes(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="list|drain|forget")
    add_server(
        _subcommand(actions, "list", "the nodes that live, and what they work on", "planck nodes list")
    )
    drain = _subcommand(
        actions, "drain", "let a node finish, and give it nothing new", "planck nodes drain north"
    )
    forget = _subcommand(
        actions, "forget", "what a lost node had can be taken at once", "planck nodes forget north"
    )
    for action in (drain, forget):
        action.add_argument("name", type=_given, help="the node")
        add_server(action)


@_command("planck store check")
def _store(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="init|check|stop|token")
    init = _subcommand(
        actions, "init", "make or bring up to date the tables of a database", "planck store init"
    )
    check = _subcommand(actions, "check", "can it be reached, and is it ours?", "planck store check --json")
    stop = _subcommand(actions, "stop", "end the database of `--store dev`", "planck store stop")
    token = _subcommand(actions, "token", "who may use the servers of a pool", "planck store token add ci")
    token.add_argument("what", choices=("add", "list", "revoke"))
    token.add_argument("who", nargs="?", default="", help="whom it is for")
    token.add_argument("--role", choices=("view", "submit", "approve", "admin"), default="submit")
    for action in (init, check, stop, token):
        action.add_argument("--store", default="", metavar="URL|dev", help="default: `store` of your config")
        action.add_argument("--json", action="store_true", help="for programs")
