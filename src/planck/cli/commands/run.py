"""`planck run`: one prompt, one answer."""

import argparse
import gc

from planck.cli.parser import add_session, given, readable, seconds

EXAMPLE = 'planck run "fix the failing test" -m local/qwen3 --permission-mode full'


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "prompt", nargs="?", type=readable, help="the task; text on standard input follows it"
    )
    add_session(parser)
    parser.add_argument("--output-format", choices=("text", "json", "stream-json"), default="text")
    parser.add_argument(
        "--input-format",
        choices=("text", "stream-json"),
        default="text",
        help="stream-json: messages on standard input, one JSON object a line",
    )
    parser.add_argument(
        "--output-schema",
        type=given,
        default=None,
        metavar="FILE",
        help="the answer is JSON that fits this JSON Schema; asked for once more where it is not",
    )
    parser.add_argument(
        "-o", "--output", type=given, default=None, metavar="FILE", help="also write the answer to a file"
    )
    parser.add_argument(
        "-i",
        "--image",
        action="append",
        default=[],
        type=given,
        metavar="IMAGE",
        help="show it to the model; can be repeated (so does @IMAGE in the prompt)",
    )
    parser.add_argument("--verbose", action="store_true", help="tell on standard error what is done")
    parser.add_argument("--dry-run", action="store_true", help="plan every tool call, run none")
    parser.add_argument("--timeout", type=seconds, default=None, metavar="SECONDS")
    parser.add_argument("--no-session", "--ephemeral", action="store_true", help="keep nothing on disk")


def run(options: argparse.Namespace) -> int:
    gc.disable()  # what is loaded is not garbage
    from planck.cli.work import run_once

    gc.enable()
    return run_once(options)
