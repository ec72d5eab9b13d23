"""`planck` alone: a conversation, on a screen where there is one. What is typed while it works steers it."""

import argparse
import gc
import sys

from planck.cli.parser import add_session, readable

EXAMPLE = 'planck "what does this project do?" -m local/qwen3'


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("prompt", nargs="?", type=readable, default="", help="First message")
    add_session(parser)


def run(options: argparse.Namespace) -> int:
    import asyncio

    from planck.records.outcome import PlanckError

    try:
        return asyncio.run(_chat(options))
    except PlanckError as failure:
        if not failure.err.details.get("no_model"):
            raise
        from planck.cli.session import WAYS_TO_A_MODEL
        from planck.cli.streams import format_error
        from planck.cli.tell.terminal import Terminal
        from planck.headless import Exit

        terminal = Terminal()
        terminal.line(format_error(failure.err.kind, failure.err.full_message), wrap=True)
    if not sys.stdin.isatty() or not terminal.err.isatty():
        terminal.line(WAYS_TO_A_MODEL, wrap=True)
        return Exit.USAGE
    from planck.cli.commands.setup import set_up

    return asyncio.run(_chat(options)) if asyncio.run(set_up()) == Exit.DONE else Exit.USAGE


async def _chat(options: argparse.Namespace) -> int:
    from planck.headless import read_environment

    variables = read_environment()
    streams = (sys.stdin, sys.stdout, sys.stderr)
    if all(stream and stream.isatty() for stream in streams) and variables.get("TERM") not in (
        None,
        "",
        "dumb",
    ):
        return await _chat_on_screen(options, color=not variables.get("NO_COLOR"))
    from planck.cli.ask.approver import TerminalApprover
    from planck.cli.chat.script import Script
    from planck.cli.session import choose_session, open_planck, open_session
    from planck.cli.tell.terminal import Terminal
    from planck.headless import Exit

    terminal = Terminal()
    approver = TerminalApprover(reads=False) if sys.stdin.isatty() and terminal.err.isatty() else None
    trust = None
    if approver and sys.stdout.isatty():
        from planck.cli.ask.trust import settle_trust

        trust = await settle_trust(options)
        if trust is None:
            return Exit.SIGINT
    async with open_planck(options, approver, trust) as planck_:
        choose_session(planck_, options)
        session = await open_session(planck_, options)
        if approver:
            terminal.announce_pastes(on=True)
        try:
            return await Script(planck_, options, terminal, session, approver).run(options.prompt)
        finally:
            if approver:
                terminal.announce_pastes(on=False)


async def _chat_on_screen(options: argparse.Namespace, *, color: bool) -> int:
    """The input is there, and takes what is typed, before anything else is loaded."""
    from planck.cli.ask.editor import edit_in_program
    from planck.cli.parser import PICK
    from planck.cli.screen.history import History
    from planck.cli.screen.screen import Screen

    history = History()
    screen = Screen(history, color=color, editor=edit_in_program)
    gc.disable()  # what is loaded from here on is no garbage
    if options.resume != PICK:  # to pick one, lines are read
        screen.open(early=True)
    try:
        from planck.cli.ask.trust import settle_trust
        from planck.cli.chat.conversation import Conversation
        from planck.cli.chat.keys import read_key_map
        from planck.cli.session import choose_session, open_planck, open_session
        from planck.headless import Exit, Inbox

        inbox = Inbox()
        trust = await settle_trust(options, screen)
        if trust is None:
            return Exit.SIGINT
        async with open_planck(options, inbox, trust) as planck_:
            history.keep_in(planck_.home / "history")
            choose_session(planck_, options)
            if options.resume == PICK:
                screen.open(early=True)
            session = await open_session(planck_, options)
            key_map = read_key_map(planck_.config.keys)
            screen.use(key_map)
            for problem in key_map.problems:
                print(f"planck: {problem}", file=sys.stderr)
            gc.freeze()
            gc.enable()
            return await Conversation(planck_, options, session, inbox, screen).run(options.prompt)
    finally:
        gc.enable()
        await screen.close()
