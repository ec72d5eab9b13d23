"""Reading a shell script with `{{placeholders}}`: where each stands, and in whose quotes.

A little lexer of bash, as far as is needed to know that. It errs on the safe side: a script that it can't
follow is refused, and a placeholder that it read wrongly would still be a quoted expansion of a variable.
"""

import re
from dataclasses import dataclass, field
from enum import Enum

from planck.records.outcome import ErrorKind, PlanckError

PLACEHOLDER = re.compile(r"\{\{(\w+)\}\}")
VALUE = "\0"
"""Stands in `Word.text` for a placeholder, as `EXPANDED` does for the author's own expansions."""
EXPANDED = "\1"

_OPERATOR = re.compile(r";;&|;;|;&|;|&&|&|\|\||\|&|\|")
_REDIRECTION = re.compile(r"&>>|&>|>>|>&|>\||>|<<<|<<-|<<|<&|<>|<")
_PREFIXES = frozenset({"if", "then", "else", "elif", "do", "while", "until", "!", "{", "time", "-p", "--"})
"""Reserved words, and the options of `time`, after which a command still follows."""
_SIMPLE_EXPANSION = re.compile(r"\$(?:[A-Za-z_]\w*|[0-9@*#?$!-])")


class Quote(Enum):
    WORD = "word"
    """An unquoted word of its own: without a value there is no word."""
    BARE = "bare"
    DOUBLE = "double"
    SINGLE = "single"
    ANSI = "ansi"


@dataclass(slots=True)
class Slot:
    name: str
    quote: Quote
    opens_path: bool = False
    """Starts the target of a redirection, where bash gives `/dev/tcp/...` a meaning of its own."""


@dataclass(slots=True)
class Word:
    at: int
    """Index of an empty piece before it, for what must be put in front."""
    text: str = ""
    """As the shell sees it after quote removal."""
    nested: bool = False
    """A placeholder stands inside a substitution of this word."""
    names: set[str] = field(default_factory=set)
    """Variables that the author expands in it."""
    quoted: bool = False

    @property
    def has_value(self) -> bool:
        return self.nested or VALUE in self.text

    @property
    def may_vanish(self) -> bool:
        """Nothing but expansions, which may leave no word at all."""
        return not self.text.strip(EXPANDED + VALUE) and (not self.quoted or "@" in self.names)


Command = list[Word]


@dataclass(slots=True)
class ShellText:
    pieces: list[str | Slot]
    commands: list[Command]
    evaluated: list[tuple[str, set[str]]]
    """Constructs that evaluate the values of the variables named, and what to call them."""
    defines_functions: bool


def read(script: str) -> ShellText:
    """Raises `ShellError` where a placeholder would be evaluated, or the script can't be followed."""
    if "\0" in script:
        raise refused("the command holds a NUL character")
    reader = _Reader(script)
    try:
        reader.commands_until("")
    except RecursionError:
        raise refused("the command is nested too deeply") from None
    return ShellText(reader.pieces, reader.commands, reader.evaluated, reader.defines_functions)


class ShellError(PlanckError):
    """A script that can't be followed, or a placeholder in it that a shell would evaluate."""


def refused(why: str) -> ShellError:
    return ShellError(ErrorKind.INVALID_ARGS, why)


class _Reader:
    def __init__(self, script: str) -> None:
        self.script = script
        self.i = 0
        self.pieces: list[str | Slot] = []
        self.commands: list[Command] = []
        self.evaluated: list[tuple[str, set[str]]] = []
        self.defines_functions = False
        self._slots = 0
        self._here_documents: list[tuple[str, bool]] = []

    def commands_until(self, closer: str) -> None:
        """Commands up to `closer`, which is left to the caller."""
        command: Command = []
        cases, pattern = 0, False
        while True:
            self._blanks()
            if self.i >= len(self.script):
                break
            c = self.script[self.i]
            if c == "#":
                self._take(self._line_end() - self.i)
            elif c == "\n":
                command = self._end(command)
                self._take(1)
                self._here_document_bodies()
            elif c == ")":
                if not pattern:
                    break
                self._take(1)
                pattern = False
            elif c == "(":
                if pattern:
                    self._take(1)
                else:
                    self._parenthesis(command)
            elif c in "<>" and self.script[self.i + 1 : self.i + 2] == "(":
                command.append(self._word())
            elif found := _REDIRECTION.match(self.script, self.i):
                self._redirection(command, found[0])
            elif found := _OPERATOR.match(self.script, self.i):
                self._take(len(found[0]))
                if not pattern:
                    command = self._end(command)
                pattern = pattern or (cases > 0 and found[0] in {";;", ";&", ";;&"})
            elif pattern:
                if self._word(pattern=True).text == "esac":
                    cases, pattern = cases - 1, False
            else:
                word = self._word()
                if command or word.text not in {*_PREFIXES, "esac"}:
                    command.append(word)
                cases -= not command and word.text == "esac"
                match [word.text for word in command[:4]]:
                    case ["[["]:
                        self._double_brackets()
                    case ["case", _, "in"]:
                        cases, pattern = cases + 1, True
                        command = self._end(command)
                    case ["function", _]:
                        self.defines_functions = True
                        command.clear()
                    case ["coproc"]:
                        raise refused("coproc and placeholders do not go together")
        self._end(command)
        if self._here_documents:
            raise refused("a here-document is never closed")
        if self.script[self.i : self.i + 1] != closer:
            raise refused(f"a {closer!r} is missing" if closer else "there is a ')' too many")

    def _end(self, command: Command) -> Command:
        if command:
            self.commands.append(command)
        return []

    def _parenthesis(self, command: Command) -> None:
        if self.script.startswith("((", self.i) and [word.text for word in command[:2]] in ([], ["for"]):
            self._arithmetic("((", "))")
        elif command and command[-1].text.endswith("=") and self._touches():
            self._array(command[-1])
        elif command:
            self._function(command[-1])
            command.clear()
        else:
            self._enclosed(1)

    def _touches(self) -> bool:
        return self.script[self.i - 1] not in " \t\n"

    def _enclosed(self, opener: int) -> None:
        self._take(opener)
        outer, self._here_documents = self._here_documents, []
        self.commands_until(")")
        self._here_documents = outer
        self._take(1)

    def _function(self, name: Word) -> None:
        if name.has_value:
            raise refused("a value can't name a function")
        found = re.compile(r"\([ \t]*\)").match(self.script, self.i)
        if not found:
            raise refused(f"a '(' after {name.text!r} is neither a function nor an array")
        self._take(len(found[0]))
        self.defines_functions = True

    def _array(self, owner: Word) -> None:
        self._take(1)
        while True:
            self._blanks("\n")
            if self.i >= len(self.script):
                raise refused("an array is never closed")
            if self.script[self.i] == ")":
                break
            if self.script[self.i] == "#":
                self._take(self._line_end() - self.i)
                continue
            if self.script[self.i] in ";&|<>(" and self.script[self.i : self.i + 2] not in {"<(", ">("}:
                raise refused("an array holds an operator")
            item = self._word()
            if VALUE in item.text.split("]")[0] and item.text.startswith("["):
                raise refused("a value can't be an array's index, which bash evaluates")
            if item.text.startswith("["):
                self.evaluated.append(("an array's index", item.names))
            owner.nested |= item.has_value
            owner.names |= item.names
        self._take(1)

    def _redirection(self, command: Command, operator: str) -> None:
        if command and command[-1].text.isdigit() and self._touches():
            command.pop()  # `2>`: a descriptor, not a word
        self._take(len(operator))
        self._blanks()
        if operator in {"<<", "<<-"}:
            self._here_document(operator == "<<-")
            return
        target = self._word(pattern=True)
        if operator == "<<<":
            return
        if target.nested or (target.has_value and operator in {">&", "<&"}):
            raise refused(f"a value after {operator!r} would decide what is redirected, and how")
        if target.has_value:
            self._name_a_file(target)

    def _name_a_file(self, target: Word) -> None:
        # Bash opens a socket for `/dev/tcp/host/port`; with two slashes in front it is a file like any other.
        if target.text.startswith("/"):
            self.pieces[target.at] = "/"
        elif target.text.startswith(VALUE):
            first = next(piece for piece in self.pieces[target.at :] if isinstance(piece, Slot))
            first.opens_path = True

    def _here_document(self, dash: bool) -> None:
        start = self.i
        delimiter = self._word(pattern=True)
        if delimiter.has_value or EXPANDED in delimiter.text or start == self.i:
            raise refused("a here-document needs a plain word as its delimiter")
        self._here_documents.append((delimiter.text, dash))

    def _here_document_bodies(self) -> None:
        while self._here_documents:
            delimiter, dash = self._here_documents.pop(0)
            while True:
                if self.i >= len(self.script):
                    raise refused(f"the here-document {delimiter!r} is never closed")
                line = self.script[self.i : self._line_end()]
                if PLACEHOLDER.search(line):
                    raise refused("a value can't stand in a here-document; use <<< or a pipe")
                if re.search(r"\$[\[({]|`", line):
                    self.evaluated.append(("a here-document", names_in(line)))
                self._take(len(line) + 1)
                if (line.lstrip("\t") if dash else line) == delimiter:
                    break

    def _double_brackets(self) -> None:
        while True:
            self._blanks("\n()&|<>;")
            if self.i >= len(self.script):
                raise refused("a '[[' is never closed")
            word = self._word()
            if word.text.startswith("#"):
                raise refused("a comment in [[ ]] has two readings; put it elsewhere")
            if word.has_value:
                raise refused("a value can't stand in [[ ]], which evaluates it; use [ ]")
            self.evaluated.append(("[[ ]]", word.names))
            if word.text == "]]":
                return

    def _word(self, *, pattern: bool = False) -> Word:
        """One word; as a `pattern` (or a target) it stays a word also without its value."""
        word = Word(len(self.pieces))
        self.pieces.append("")
        while self.i < len(self.script):
            c = self.script[self.i]
            if self._slot(word, Quote.BARE):
                continue
            if c in "<>" and self.script[self.i + 1 : self.i + 2] == "(":
                self._nested(word, 2)
            elif c in " \t\n;&|()<>":
                break
            elif c == "\\":
                self._escape(word)
            elif c == "'":
                self._single(word, 1, Quote.SINGLE)
            elif c == '"':
                self._double(word)
            elif c == "`":
                self._backticks(word)
            elif c == "$":
                self._dollar(word, Quote.BARE)
            else:
                self._plain(word, 1)
        last = self.pieces[-1]
        if word.text == VALUE and isinstance(last, Slot) and last.quote is Quote.BARE and not pattern:
            last.quote = Quote.WORD
        return word

    def _slot(self, word: Word, quote: Quote) -> bool:
        found = PLACEHOLDER.match(self.script, self.i)
        if not found:
            return False
        self.pieces.append(Slot(found[1], quote))
        self._slots += 1
        self.i = found.end()
        word.text += VALUE
        return True

    def _nested(self, word: Word, opener: int) -> None:
        before = self._slots
        self._enclosed(opener)
        word.nested |= self._slots > before
        word.text += EXPANDED

    def _escape(self, word: Word) -> None:
        following = self.script[self.i + 1 : self.i + 2]
        if not following:
            raise refused("the command ends with a backslash")
        if PLACEHOLDER.match(self.script, self.i + 1):
            self.i += 1  # an escaped value is the value
            return
        self._take(2)
        word.text += "" if following == "\n" else following

    def _single(self, word: Word, opener: int, quote: Quote) -> None:
        self._take(opener)
        word.quoted = True
        while self.i < len(self.script):
            if self._slot(word, quote):
                continue
            if self.script[self.i] == "'":
                self._take(1)
                return
            if quote is Quote.ANSI and self.script[self.i] == "\\":
                self._literal_backslash(word, ahead=2)
            else:
                self._plain(word, 1)
        raise refused("a single quote is never closed")

    def _double(self, word: Word) -> None:
        self._take(1)
        word.quoted = True
        while self.i < len(self.script):
            c = self.script[self.i]
            if self._slot(word, Quote.DOUBLE):
                continue
            if c == '"':
                self._take(1)
                return
            if c == "\\":
                self._literal_backslash(word, ahead=2)
            elif c == "`":
                self._backticks(word)
            elif c == "$":
                self._dollar(word, Quote.DOUBLE)
            else:
                self._plain(word, 1)
        raise refused("a double quote is never closed")

    def _literal_backslash(self, word: Word, ahead: int) -> None:
        if PLACEHOLDER.match(self.script, self.i + 1):
            self.pieces.append("\\\\")  # in quotes a backslash before a value is one
            word.text += "\\"
            self.i += 1
        else:
            self._plain(word, ahead)

    def _dollar(self, word: Word, quote: Quote) -> None:
        if PLACEHOLDER.match(self.script, self.i + 1):
            self.pieces.append("\\$")  # `${{price}}`: a dollar sign, then the value
            word.text += "$"
            self.i += 1
        elif self.script.startswith("$((", self.i):
            self._arithmetic("$((", "))")
            word.text += EXPANDED
        elif self.script.startswith("$[", self.i):
            self._arithmetic("$[", "]")
            word.text += EXPANDED
        elif self.script.startswith("$(", self.i):
            self._nested(word, 2)
        elif self.script.startswith("${", self.i):
            self._braces(word, quote)
        elif quote is Quote.BARE and self.script.startswith("$'", self.i):
            self._single(word, 2, Quote.ANSI)
        elif quote is Quote.BARE and self.script.startswith('$"', self.i):
            self._take(1)
            self._double(word)
        elif found := _SIMPLE_EXPANSION.match(self.script, self.i):
            self._take(len(found[0]))
            word.names.add(found[0][1:])
            word.text += EXPANDED
        else:
            self._plain(word, 1)

    def _braces(self, word: Word, quote: Quote) -> None:
        inside = self._balanced("${", "{", "}", "${ }")
        if quote is Quote.DOUBLE and "'" in inside:
            raise refused('a single quote in "${ }" has two readings; use a variable for it')
        word.names |= set(re.findall(r"\w+|[@*]", inside))
        word.text += EXPANDED
        if evaluated := _evaluated_part(inside):
            self.evaluated.append(("${ }", names_in(evaluated)))

    def _arithmetic(self, opener: str, closer: str) -> None:
        inside = self._balanced(opener, opener[-1], closer[0], "arithmetic")
        if closer == "))" and not inside.endswith("))"):
            raise refused("a '((' that is not arithmetic: put a space between the parentheses")
        self.evaluated.append(("arithmetic", names_in(inside)))

    def _balanced(self, opener: str, up: str, down: str, where: str) -> str:
        """Take everything up to the end of `opener`, verbatim; no placeholder may be inside."""
        start, depth, i = self.i, opener.count(up), self.i + len(opener)
        while depth:
            if i >= len(self.script):
                raise refused(f"{opener!r} is never closed")
            if PLACEHOLDER.match(self.script, i):
                raise refused(f"a value can't stand in {where}, which bash evaluates")
            c = self.script[i]
            depth += (c == up) - (c == down)
            i = self._after_quoted(i, where) if c in "'\"\\" else i + 1
        self._take(i - start)
        return self.script[start:i]

    def _after_quoted(self, i: int, where: str) -> int:
        quote = self.script[i]
        if quote == "\\":
            return i + 2
        end = i + 1
        while end < len(self.script) and self.script[end] != quote:
            end += 2 if quote == '"' and self.script[end] == "\\" else 1
        if PLACEHOLDER.search(self.script, i, end + 1):
            raise refused(f"a value can't stand in {where}, which bash evaluates")
        return end + 1

    def _backticks(self, word: Word) -> None:
        end = self.i + 1
        while end < len(self.script) and self.script[end] != "`":
            end += 2 if self.script[end] == "\\" else 1
        if end >= len(self.script):
            raise refused("a backtick is never closed")
        if PLACEHOLDER.search(self.script, self.i, end):
            raise refused("a value can't stand between backticks; use $( )")
        self.evaluated.append(("backticks", names_in(self.script[self.i : end])))
        self._take(end + 1 - self.i)
        word.text += EXPANDED

    def _plain(self, word: Word, count: int) -> None:
        word.text += self.script[self.i : self.i + count]
        self._take(count)

    def _take(self, count: int) -> None:
        self.pieces.append(self.script[self.i : self.i + count])
        self.i += count

    def _blanks(self, more: str = "") -> None:
        start = self.i
        while self.i < len(self.script):
            if self.script.startswith("\\\n", self.i):
                self.i += 2
            elif self.script[self.i] in " \t" + more:
                self.i += 1
            else:
                break
        self.pieces.append(self.script[start : self.i])

    def _line_end(self) -> int:
        end = self.script.find("\n", self.i)
        return len(self.script) if end < 0 else end


def _evaluated_part(expansion: str) -> str:
    """What bash evaluates in a `${...}`: a name behind `!`, a prompt `@P`, an index, an offset."""
    if re.match(r"\$\{!", expansion) or expansion.endswith("@P}") or "$(" in expansion or "`" in expansion:
        return expansion
    found = re.search(r"\[(?![@*]\])(.*)|:(?![-=?+])(.*)", expansion, re.DOTALL)
    return next((part for part in found.groups() if part), "") if found else ""


def names_in(text: str) -> set[str]:
    """Whatever could be a variable's name in a text that is a script or arithmetic."""
    return set(re.findall(r"[A-Za-z_]\w*|(?<=\$)[0-9@*]|(?<=\$\{)[0-9@*]", text))
