"""A shell command as words, as far as a rule may rely on it; what is not surely known is None."""

import re

import msgspec

MAX_LENGTH = 16_384
MAX_SEGMENTS = 64

_RESERVED = frozenset(
    {"if", "then", "else", "elif", "fi", "for", "while", "until", "do", "done", "case", "esac", "in"}
    | {"select", "function", "time", "coproc", "!", "{", "}", "[["}
)
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*(\[.*\])?\+?=")
_VARIABLE = re.compile(r"\$(?:[A-Za-z_]\w*|\{[A-Za-z_]\w*\})")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
_PLAIN = re.compile(r"[\w./:=,@%+^-]+")
"""Characters that mean nothing to the shell, wherever they stand."""
_SEPARATOR = re.compile(r"\|\||&&|\|&|[|&;\n]")


class Word(msgspec.Struct, frozen=True):
    text: str
    literal: bool = True
    """False: the shell expands it, so that nobody knows what, and how many words, the program sees."""


Segment = tuple[Word, ...]


def segments(command: str) -> tuple[Segment, ...] | None:
    """The simple commands of a pipeline or list. None where a redirection, a substitution, a compound
    command, an assignment or anything else unknown is in it: then no rule can vouch for it."""
    if len(command) > MAX_LENGTH or _CONTROL.search(command):
        return None
    reader = _Reader(command)
    try:
        found = reader.read()
    except _Unknown:
        return None
    return found if 0 < len(found) <= MAX_SEGMENTS else None


class _Unknown(Exception):
    pass


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def read(self) -> tuple[Segment, ...]:
        found: list[Segment] = []
        words: list[Word] = []
        needs_command = False
        while self._at < len(self._text):
            if self._text[self._at] in " \t":
                self._at += 1
            elif self._text.startswith("\\\n", self._at):
                self._at += 2
            elif separator := _SEPARATOR.match(self._text, self._at):
                self._at = separator.end()
                if words:
                    found.append(_command(words))
                elif separator[0] != "\n":
                    raise _Unknown
                needs_command = separator[0] in ("|", "||", "&&", "|&")
                words = []
            else:
                words.append(self._word())
        if words:
            found.append(_command(words))
        elif needs_command:
            raise _Unknown
        return tuple(found)

    def _word(self) -> Word:
        text: list[str] = []
        literal = True
        while self._at < len(self._text):
            if run := _PLAIN.match(self._text, self._at):
                text.append(run[0])
                self._at = run.end()
                continue
            char = self._text[self._at]
            if char in " \t\n|&;":
                break
            if char in "<>()`" or (char == "#" and not text):
                raise _Unknown
            if char == "'":
                text.append(self._single())
            elif char == '"':
                part, plain = self._double()
                text.append(part)
                literal = literal and plain
            elif char == "$":
                text.append(self._variable())
                literal = False
            elif char == "\\":
                text.append(self._escaped())
            else:
                literal = literal and char not in "*?[{" and not (char == "~" and not text)
                text.append(char)
                self._at += 1
        return Word("".join(text), literal)

    def _single(self) -> str:
        end = self._text.find("'", self._at + 1)
        if end < 0:
            raise _Unknown
        inside = self._text[self._at + 1 : end]
        self._at = end + 1
        return inside

    def _double(self) -> tuple[str, bool]:
        self._at += 1
        text: list[str] = []
        literal = True
        while self._at < len(self._text):
            char = self._text[self._at]
            if char == '"':
                self._at += 1
                return "".join(text), literal
            if char == "`":
                raise _Unknown
            if char == "$":
                text.append(self._variable())
                literal = False
            elif char == "\\" and self._text[self._at + 1 : self._at + 2] in tuple('$`"\\\n'):
                text.append(self._escaped())
            else:
                text.append(char)
                self._at += 1
        raise _Unknown

    def _variable(self) -> str:
        found = _VARIABLE.match(self._text, self._at)
        if found is None:
            raise _Unknown
        self._at = found.end()
        return found[0]

    def _escaped(self) -> str:
        if self._at + 1 >= len(self._text):
            raise _Unknown
        char = self._text[self._at + 1]
        self._at += 2
        return "" if char == "\n" else char


def _command(words: list[Word]) -> Segment:
    first = words[0]
    if first.text in _RESERVED or _ASSIGNMENT.match(first.text):
        raise _Unknown
    return tuple(words)
