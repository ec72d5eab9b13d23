"""The plain commands of a line: what an allow rule may vouch for, because these words are what runs.

Parts that change nothing about that are left out: an output that goes nowhere, an assignment to a variable
that is known to be harmless, a comment. Whatever else is more than words makes the whole line None.
"""

import re

from planck.shell.words import OPERATOR, PLAIN_WORD, Lexer, ShellError, Word

MAX_LENGTH = 16_384
MAX_SEGMENTS = 64

_RESERVED = frozenset(
    {"if", "then", "else", "elif", "fi", "for", "while", "until", "do", "done", "case", "esac", "in"}
    | {"select", "function", "time", "coproc", "!", "{", "}", "[["}
)
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
_SEPARATORS = frozenset({";", "&", "\n", "|", "||", "&&", "|&"})
_JOINTS = frozenset({"|", "||", "&&", "|&"})
"""Separators that need a command behind them."""
_BLANKS = re.compile(r"(?:[ \t]|(?<=[ \t])\\\n)*")
"""A continued line counts between words only: bash joins `2\\<newline>>x` and `&\\<newline>&`."""
_COMMENT = re.compile(r"[^\n]*")
_REDIRECTION = re.compile(r"[0-9]*[<>]|&>")
_HARMLESS_REDIRECTION = re.compile(
    r"(?:(?:[0-9]{0,2}(?:>>?|<)|&>>?|>&)[ \t]*/dev/null|[0-9]{0,2}[<>]&[ \t]*(?:[0-9]{1,2}|-))"
    r"(?=[ \t\n;&|<>]|\Z)"
)
"""To and from nowhere, and one descriptor for another: no file is touched."""
_TOKEN = re.compile(
    rf"""[ \t]*(?:{PLAIN_WORD}|({_HARMLESS_REDIRECTION.pattern})|(&&|\|\||\|&|\||&(?!>)|;(?![;&])|\n))"""
)
"""What most lines consist of. Whatever it does not match is read character by character."""
_ONE_COMMAND = re.compile(r"[ \t]*[\w./:,@%+^-]+(?:[ \t]+[\w./:=,@%+^-]+)*[ \t]*")
"""A line of plain words alone, the first without `=`: nothing but blanks parts them."""
_WORDS, _REDIRECTED = 3, 4
"""The last group of it that a word, and a redirection, fills."""
ASSIGNMENT = re.compile(r"[A-Za-z_]\w*(\[.*\])?\+?=", re.DOTALL)
_HARMLESS_ASSIGNMENT = re.compile(
    r"(?:(?:CI|DEBUG|VERBOSE|V|NO_COLOR|FORCE_COLOR|CLICOLOR|CLICOLOR_FORCE|PY_COLORS|COLORTERM|TERM|COLUMNS"
    r"|LINES|LANG|LC_[A-Z]+|TZ|NODE_ENV|BABEL_ENV|RAILS_ENV|RACK_ENV|MIX_ENV|APP_ENV|FLASK_ENV|LOG_LEVEL|PORT"
    r"|TEST|TESTING|SEED|SKIP|HUSKY|PYTHONUNBUFFERED|PYTHONDONTWRITEBYTECODE|PYTHONHASHSEED|PYTHONUTF8"
    r"|PYTHONIOENCODING|PYTHONFAULTHANDLER|PYTHONASYNCIODEBUG|PYTEST_DISABLE_PLUGIN_AUTOLOAD|RUST_BACKTRACE"
    r"|RUST_LOG|CARGO_TERM_COLOR|CARGO_INCREMENTAL|GOOS|GOARCH|GOMAXPROCS|GO111MODULE|CGO_ENABLED"
    r"|DEBIAN_FRONTEND|SOURCE_DATE_EPOCH|OMP_NUM_THREADS|CUDA_VISIBLE_DEVICES|TOKENIZERS_PARALLELISM"
    r"|DO_NOT_TRACK|NEXT_TELEMETRY_DISABLED|DOTNET_CLI_TELEMETRY_OPTOUT|HOMEBREW_NO_AUTO_UPDATE"
    r"|PIP_DISABLE_PIP_VERSION_CHECK|PIP_NO_INPUT|GIT_TERMINAL_PROMPT|GIT_OPTIONAL_LOCKS"
    r"|GIT_(?:AUTHOR|COMMITTER)_(?:NAME|EMAIL|DATE))=[\w.,:@%+* -]*"
    r"|(?:GIT_|MAN|SYSTEMD_)?PAGER=(?:cat)?|(?:(?:GIT_(?:SEQUENCE_)?)?EDITOR|VISUAL)=(?:true|:))",
    re.ASCII,
)
"""Variables that say how a program looks, counts or logs, never what is run or loaded. The list is of the
harmless ones: nobody can list what hundreds of programs take code from (`NODE_OPTIONS`, `RUSTC_WRAPPER` ...).
No value has a slash, so that none names a file."""

Segment = tuple[Word, ...]


def segments(command: str) -> tuple[Segment, ...] | None:
    """Returns the simple commands of a pipeline or list. None where a redirection to a file, a substitution,
    a compound command or anything else unknown is in it: then no rule can vouch for it."""
    if len(command) > MAX_LENGTH or _CONTROL.search(command):
        return None
    try:
        if _ONE_COMMAND.fullmatch(command):
            return (_segment([*map(Word, command.split())]),)
        found = _read_segments(_Plain(command))
    except ShellError:
        return None
    return tuple(found) if 0 < len(found) <= MAX_SEGMENTS else None


def is_harmless_assignment(text: str) -> bool:
    return _HARMLESS_ASSIGNMENT.fullmatch(text) is not None


def sets_variables(words: Segment) -> bool:
    """Tells whether some of the words, as `env` and `sudo` have them, may change what runs."""
    return any(ASSIGNMENT.match(word.text) and not is_harmless_assignment(word.text) for word in words)


class _Plain(Lexer):
    def read_escape(self, word: Word) -> None:
        if self.script.startswith("\\\n", self.i):
            raise ShellError("a line continues in the middle of a word")
        super().read_escape(word)


def _read_segments(lexer: _Plain) -> list[Segment]:
    found: list[Segment] = []
    words: list[Word] = []
    bare = False  # an assignment or a redirection that still waits for its command
    separator = ""
    script, end, match = lexer.script, len(lexer.script), _TOKEN.match
    here = 0  # `lexer.i` is behind what is read by tokens
    while here < end:
        if token := match(script, here):
            here = token.end()
            kind = token.lastindex or 0
            if kind == 1:
                if words or "=" not in token[1]:
                    words.append(Word(token[1]))
                else:
                    bare = _leave_out_assignment(Word(token[1]))
            elif kind <= _WORDS:
                words.append(Word(token[kind], True, True))
            elif kind == _REDIRECTED:
                bare = bare or not words
            else:
                separator = token[kind]
                _end_segment(separator, words, bare, found)
                words, bare = [], False
            continue
        lexer.i = here
        char = lexer.skip(_BLANKS)
        if not char:
            break
        start = lexer.i
        if char == "#":
            lexer.skip(_COMMENT)
        elif char in "<>&0123456789" and (redirection := _REDIRECTION.match(lexer.script, start)):
            harmless = _HARMLESS_REDIRECTION.match(lexer.script, start)
            if harmless is None:
                raise ShellError(f"{redirection[0]!r} redirects to or from a file")
            lexer.take(harmless.end() - start)
            bare = bare or not words
        elif operator := OPERATOR.match(lexer.script, start):
            separator = operator[0]
            lexer.take(len(separator))
            _end_segment(separator, words, bare, found)
            words, bare = [], False
        elif char in "()":
            raise ShellError(f"{char!r} has a special meaning")
        else:
            word = lexer.read_word()
            if not word.literal and lexer.script[lexer.i : lexer.i + 1] in ("<", ">"):
                raise ShellError("an expansion is next to a redirection, as in `{fd}>x`")
            if words or not ASSIGNMENT.match(lexer.script, start, lexer.i):
                words.append(word)
            else:
                bare = _leave_out_assignment(word)
        here = lexer.i
    if words:
        found.append(_segment(words))
    elif bare or separator in _JOINTS:
        raise ShellError(f"a command is missing after {separator!r}")
    return found


def _end_segment(separator: str, words: list[Word], bare: bool, found: list[Segment]) -> None:
    if separator not in _SEPARATORS or not (words or (separator == "\n" and not bare)):
        raise ShellError(f"a command is missing at {separator!r}")
    if words:
        found.append(_segment(words))


def _leave_out_assignment(word: Word) -> bool:
    if not is_harmless_assignment(word.text):
        raise ShellError("an assignment may change what runs")
    return True


def _segment(words: list[Word]) -> Segment:
    first = words[0].text
    if first in _RESERVED or ("=" in first and ASSIGNMENT.match(first)):
        raise ShellError("a compound command or an assignment is not a plain command")
    return tuple(words)
