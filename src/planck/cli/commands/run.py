"""`planck run`: one prompt, one answer."""

import argparse
import gc

from planck.cli.parser import add_checks, add_session, given, readable, seconds

EXAMPLE = 'planck run "fix the failing test" -m local/qwen3 --permission-mode full'


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("prompt", nargs="?", type=readable, help="Task; text on standard input is appended")
    add_session(parser)
    parser.add_argument(
        "--output-format",
        choices=("text", "json", "stream-json"),
        default="text",
        help="Output format (default: text)",
    )
    parser.add_argument(
        "--input-format",
        choices=("text", "stream-json"),
        default="text",
        help="stream-json: read messages from stdin, one JSON object per line",
    )
    parser.add_argument(
        "--output-schema",
        type=given,
        default=None,
        metavar="FILE",
        help="JSON Schema for the answer; an answer that does not match is retried once",
    )
    parser.add_argument(
        "-o", "--output", type=given, default=None, metavar="FILE", help="Also write the answer to a file"
    )
    parser.add_argument(
        "-i",
        "--image",
        action="append",
        default=[],
        type=given,
        metavar="IMAGE",
        help="Attach an image (repeatable); same as @IMAGE in the prompt",
    )
    add_checks(parser)
    parser.add_argument("--verbose", action="store_true", help="Report progress on standard error")
    parser.add_argument("--dry-run", action="store_true", help="Plan tool calls without running them")
    parser.add_argument(
        "--isolated",
        action="store_true",
        help="Let the whole team work in a view: the workspace stays as it is until you land the changes",
    )
    parser.add_argument(
        "--land",
        type=given,
        default=None,
        metavar="ask|auto|never|branch:NAME",
        help="Land an isolated run that succeeded (default: ask at a terminal, else never)",
    )
    parser.add_argument(
        "--timeout", type=seconds, default=None, metavar="SECONDS", help="Maximum duration of the run"
    )
    parser.add_argument("--no-session", "--ephemeral", action="store_true", help="Do not save the session")


def run(options: argparse.Namespace) -> int:
    gc.disable()  # what is loaded is not garbage
    from planck.cli.work import run_once

    gc.freeze()  # nor is it looked at: the first look at all of it costs 5 ms
    gc.enable()
    return run_once(options)
