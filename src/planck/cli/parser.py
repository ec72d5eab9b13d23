"""The words of a command line -> options; what can't be read is one line with a kind, like every error."""

import argparse
from typing import NoReturn


class Mistake(Exception):
    """Says what is wrong with a command line. No `PlanckError`: to read one, the runtime isn't loaded."""


class Parser(argparse.ArgumentParser):
    """Raises `Mistake` where argparse would print its usage and exit; so do the parsers of subcommands."""

    def error(self, message: str) -> NoReturn:
        raise Mistake(f"{message}; `{self.prog} --help` shows what there is")
