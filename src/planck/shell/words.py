"""The one lexer of bash: characters to words.

By itself it follows plain words, quotes, escapes and `$name`, and refuses whatever else it meets: permission
rules rely on that. `script` teaches it placeholders and the rest of bash, for the commands of TOOL.json.
"""

import re
from enum import Enum

import msgspec

OPERATOR = re.compile(r";;&|;;|;&|;|&&|&|\|\||\|&|\||\n")
REDIRECTION = re.compile(r"&>>|&>|>>|>&|>\||>|<<<|<<-|<<|<&|<>|<")
BLANKS = re.compile(r"(?:[ \t]|\\\n)*")
_PLAIN = re.compile(r"[\w./:=,@%+^-]+")
"""Characters that mean nothing to the shell, wherever they stand."""
PLAIN_WORD = rf"""(?:({_PLAIN.pattern})|'([^']*)'|"([^"\\$`]*)")(?=[ \t\n;&|]|\Z)"""
"""A pattern of three groups for a word without expansions, as `Lexer.read_word` would read it."""
_PLAIN_QUOTED = re.compile(r"[^\"\\$`{]+|.", re.DOTALL)
_VARIABLE = re.compile(r"\$(?:[A-Za-z_]\w*|\{[A-Za-z_]\w*\}|[0-9@*#?$!-])")
_DOLLAR_ALONE = re.compile(r"""\$(?=[^A-Za-z_0-9@*#?$!({\['"`\\-]|\Z)""", re.DOTALL)
_DOLLAR_QUOTED = re.compile(r"\$(?=[^A-Za-z_0-9@*#?$!({\[`\\-])", re.DOTALL)
_ALONE = re.compile(r"\{\}(?=[^\s,.{}]*(?:[\s;&|<>()]|\Z))|\[(?=[\s;&|<>()]|\Z)")
"""`{}`, as `xargs` and `find` have it, and the command `[`: the shell leaves them alone."""
_ANSI_ESCAPE = re.compile(
    r"\\(?:([0-7]{1,3})|x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,8})|c(.)|(.))", re.DOTALL
)
_ANSI_LETTERS = dict(zip("abeEfnrtv", "\a\b\x1b\x1b\f\n\r\t\v", strict=True))


class ShellError(Exception):
    """A script that can't be followed, or a placeholder in it that a shell would evaluate."""


class Quote(Enum):
    WORD = "word"
    """An unquoted word of its own: without a value there is no word."""
    BARE = "bare"
    DOUBLE = "double"
    SINGLE = "single"
    ANSI = "ansi"


VALUE = "\0"
"""Stands in `Word.text` for a placeholder, as `EXPANDED` does for the author's own expansions."""
EXPANDED = "\1"


class Word(msgspec.Struct, gc=False):
    text: str = ""
    """As the shell sees it after quote removal."""
    literal: bool = True
    """False: the shell expands it, so that nobody knows what, and how many words, the program sees."""
    quoted: bool = False
    at: int = 0
    """Index of an empty piece before it, for what must be put in front. It and the rest are a template's."""
    nested: bool = False
    """A placeholder stands inside a substitution of this word."""
    names: frozenset[str] = frozenset()
    """Variables that the author expands in it."""
    runs: bool = False
    """The output of a command is part of it."""
    defaults: tuple[str, ...] = ()
    """What `${x:-...}` in it would give."""

    @property
    def known(self) -> bool:
        """The program sees exactly this text, as one word."""
        return self.literal and EXPANDED not in self.text and VALUE not in self.text

    @property
    def has_value(self) -> bool:
        return self.nested or VALUE in self.text

    @property
    def may_vanish(self) -> bool:
        """Nothing but expansions, which may leave no word at all."""
        return not self.text.strip(EXPANDED + VALUE) and (not self.quoted or "@" in self.names)


class Lexer:
    """Each `read_…` begins at `i` and leaves it behind what was read; all of them raise `ShellError`."""

    def __init__(self, script: str) -> None:
        self.script = script
        self.i: int = 0

    def take(self, count: int) -> None:
        self.i += count

    def add(self, word: Word, count: int) -> None:
        """Takes characters that stand for themselves."""
        word.text += self.script[self.i : self.i + count]
        self.take(count)

    def skip(self, blanks: re.Pattern[str] = BLANKS) -> str:
        """Skips blanks and continued lines; returns the character after them, which is "" at the end."""
        if found := blanks.match(self.script, self.i):
            self.take(found.end() - self.i)
        return self.script[self.i : self.i + 1]

    def read_word(self) -> Word:
        word = Word()
        while self.i < len(self.script) and self.read_part(word):
            pass
        return word

    def read_part(self, word: Word) -> bool:
        """Reads the next part of a word; False where none is left."""
        if run := _PLAIN.match(self.script, self.i):
            self.add(word, run.end() - self.i)
            return True
        char = self.script[self.i]
        if char in " \t\n;&|()<>":
            return False
        if char == "\\":
            self.read_escape(word)
        elif char == "'":
            self.read_single(word)
        elif char == '"':
            self.read_double(word)
        elif char in "$`":
            self.read_expansion(word, Quote.BARE)
        else:
            # Bash reads `x=~` and `x=a:~` as assignments also where they are mere words.
            opens = (not word.text and not word.quoted) or self.script[self.i - 1] in "=:"
            expands = char in "*?[{" and not _ALONE.match(self.script, self.i)
            word.literal = word.literal and not expands and not (char == "~" and opens)
            self.add(word, 1)
        return True

    def read_escape(self, word: Word) -> None:
        following = self.script[self.i + 1 : self.i + 2]
        if not following:
            raise ShellError("the command ends with a backslash")
        word.text += "" if following == "\n" else following
        self.take(2)

    def read_single(self, word: Word) -> None:
        end = self.script.find("'", self.i + 1)
        if end < 0:
            raise ShellError("a single quote is never closed")
        word.quoted = True
        self.take(1)
        self.read_verbatim(word, end)
        self.take(1)

    def read_verbatim(self, word: Word, end: int) -> None:
        """Reads the inside of single quotes."""
        self.add(word, end - self.i)

    def read_double(self, word: Word) -> None:
        word.quoted = True
        self.take(1)
        while self.i < len(self.script):
            if self.script[self.i] == '"':
                self.take(1)
                return
            self.read_quoted_part(word)
        raise ShellError("a double quote is never closed")

    def read_quoted_part(self, word: Word) -> None:
        """Reads the next part of what stands in double quotes."""
        char = self.script[self.i]
        if char in "$`":
            self.read_expansion(word, Quote.DOUBLE)
        elif char == "\\" and self.script[self.i + 1 : self.i + 2] in tuple('$`"\\\n'):
            self.read_escape(word)
        elif run := _PLAIN_QUOTED.match(self.script, self.i):
            self.add(word, run.end() - self.i)

    def read_expansion(self, word: Word, quote: Quote) -> None:
        """Reads what begins with a dollar sign or a backtick: here `$name` and `${name}` only."""
        alone = _DOLLAR_QUOTED if quote is Quote.DOUBLE else _DOLLAR_ALONE
        if alone.match(self.script, self.i):
            self.add(word, 1)
            return
        found = _VARIABLE.match(self.script, self.i)
        if found is None:
            raise ShellError("an expansion is not a plain variable, as in `$name`")
        word.literal = False
        self.add(word, found.end() - self.i)


def decode_ansi(script: str, i: int) -> tuple[str, int]:
    """Returns what the escape at `i` stands for in `$'...'`, and where it ends."""
    found = _ANSI_ESCAPE.match(script, i)
    if found is None:
        raise ShellError("a single quote is never closed")
    octal, *hexadecimal, control, other = found.groups()
    digits = next((text for text in hexadecimal if text), "")
    code = int(octal, 8) & 0xFF if octal else int(digits, 16) if digits else -1
    if code == 0 or code > 0x10FFFF or control or other in ("x", "c"):
        raise ShellError(f"{found[0]!r} in $'...' is ambiguous")
    if code > 0:
        return chr(code), found.end()
    return _ANSI_LETTERS.get(other, other if other in "\\'\"?" else f"\\{other}"), found.end()
