"""The words of a command line -> options; what can't be read is one line with a kind, like every error."""

import argparse
from typing import NoReturn

from planck.cli.errors import UsageError
from planck.records.outcome import ErrorKind


class Parser(argparse.ArgumentParser):
    """Raises `UsageError` where argparse would print its usage and exit; so do the parsers of subcommands."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(ErrorKind.INVALID_ARGS, f"{message}; `{self.prog} --help` shows what there is")
