"""The words of a command line -> options; what can't be read is one line with a kind, like every error."""

import argparse
import re

TYPE_CHECKING = False  # `typing` itself takes 3 ms
if TYPE_CHECKING:
    from typing import NoReturn


class Mistake(Exception):
    """Says what is wrong with a command line. No `PlanckError`: to read one, the runtime isn't loaded."""


class Parser(argparse.ArgumentParser):
    """Raises `Mistake` where argparse would print its usage and exit; so do the parsers of subcommands."""

    def error(self, message: str) -> "NoReturn":
        raise Mistake(f"{_explain(message)}; `{self.prog} --help` shows what there is")


def _explain(message: str) -> str:
    """A word that is none of those there are, with the one that was probably meant; else the same."""
    found = re.fullmatch(_CHOICE, message, re.DOTALL)
    if not found:
        return message
    from planck.records.nearest import did_you_mean

    where, word, choices = found[1], found[2].strip("'"), [one.strip("'") for one in found[3].split(", ")]
    option = f"{where} takes no" if where.startswith("-") else "there is no"
    meant = did_you_mean(word, choices)
    return f"{option} {word!r}{f'{meant} It is' if meant else '; it is'} one of {', '.join(choices)}"


_CHOICE = r"argument (.+?): invalid choice: (.+) \(choose from (.+)\)"
