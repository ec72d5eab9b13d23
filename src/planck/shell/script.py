"""A whole script of bash, read with the lexer of `words`: its commands at any depth, and for a TOOL.json
where each of its `{{placeholders}}` stands, and in whose quotes.

It errs on the safe side: a script that can't be followed is refused, and a placeholder that was read wrongly
would still be a quoted expansion of a variable.
"""

import re
from collections.abc import Set

import msgspec

from planck.shell.words import (
    EXPANDED,
    OPERATOR,
    REDIRECTION,
    VALUE,
    Lexer,
    Quote,
    ShellError,
    Word,
    decode_ansi,
)

PLACEHOLDER = re.compile(r"\{\{(\w+)\}\}")
_NO_PLACEHOLDER = re.compile(r"(?!)")
_JOINED_LINES = re.compile(r"(?<![ \t\n])\\\n")
"""Bash takes such a line break out before it looks for words: `$\\<newline>(` is a substitution."""

_PREFIXES = frozenset({"if", "then", "else", "elif", "do", "while", "until", "!", "{", "time", "-p", "--"})
"""Reserved words, and the options of `time`, after which a command still follows."""
_SIMPLE_EXPANSION = re.compile(r"\$(?:[A-Za-z_]\w*|[0-9@*#?$!-])")
_DEFAULT = re.compile(r"\$\{\w+:?[-=+](.*)\}", re.DOTALL)
_COPROC_NAME = re.compile(r"[ \t]+[A-Za-z_]\w*[ \t]+(?=[{(]|(?:if|for|while|until|case|select|\[\[)\b)")
_DESCRIPTOR = re.compile(r"[0-9]+|\{[A-Za-z_]\w*\}")
"""What stands before a redirection and is no word: `2>`, `{fd}>`."""
_ARRAY_BLANKS = re.compile(r"(?:[ \t\n]|\\\n)*")
_BRACKET_BLANKS = re.compile(r"(?:[ \t\n()&|<>;]|\\\n)*")

Command = list[Word]


class Slot(msgspec.Struct):
    name: str
    quote: Quote
    opens_path: bool = False
    """Starts the target of a redirection, where bash gives `/dev/tcp/...` a meaning of its own."""


def read(script: str, *, template: bool = True) -> "Script":
    """Raises `ShellError` where a placeholder would be evaluated, or the script can't be followed.

    Without `template` there are no placeholders: `{{x}}` is a text like any other.
    """
    if re.search(f"[{VALUE}{EXPANDED}]", script):
        raise ShellError("the command contains a NUL or another control character")
    if _JOINED_LINES.search(script):
        raise ShellError("a line continues in the middle of a word (put a space before the backslash)")
    found = Script(script, PLACEHOLDER if template else _NO_PLACEHOLDER)
    try:
        found.read_commands("")
    except RecursionError:
        raise ShellError("the command is nested too deeply") from None
    return found


def read_substitution(text: str) -> "Script":
    """Reads what stands behind `$(` up to its `)`, where `i` of the result is; no placeholders."""
    found = Script(text, _NO_PLACEHOLDER)
    try:
        found.read_commands(")")
    except RecursionError:
        raise ShellError("the command is nested too deeply") from None
    return found


class Script(Lexer):
    """Bash with placeholders. Each piece of the script is kept, so that it can be put together again."""

    def __init__(self, script: str, placeholder: re.Pattern[str]) -> None:
        super().__init__(script)
        self._placeholder = placeholder
        self.pieces: list[str | Slot] = []
        self.commands: list[Command] = []
        self.evaluated: list[tuple[str, Set[str]]] = []
        """Constructs that evaluate the values of the variables named, and what to call them."""
        self.verbatim: list[str] = []
        """The texts of those constructs, in which substitutions may stand."""
        self.inputs: list[Word] = []
        """What here-documents and here-strings give to their commands."""
        self.defines_functions: bool = False
        self.has_coproc: bool = False
        self.has_loop: bool = False
        self.at_once: bool = False
        """Some commands run beside others: their order says nothing."""
        self.feeds: bool = False
        """Something is piped, or read from a process."""
        self.redirections: list[tuple[Command, str, Word]] = []
        """Whose, how, and to or from where; for a here-document its text."""
        self._slots = 0
        self._here_documents: list[tuple[str, bool, Word]] = []

    def read_commands(self, closer: str) -> None:
        """Reads commands up to `closer`, which is left to the caller."""
        command: Command = []
        cases, pattern = 0, False
        while True:
            c = self.skip()
            if not c:
                break
            if c == "#":
                self.take(self._line_end() - self.i)
            elif c == "\n":
                command = self._end(command)
                self.take(1)
                self._read_here_document_bodies()
            elif c == ")":
                if not pattern:
                    break
                self.take(1)
                pattern = False
            elif c == "(":
                if pattern:
                    self.take(1)
                else:
                    self._read_parenthesis(command)
            elif c in "<>" and self.script[self.i + 1 : self.i + 2] == "(":
                command.append(self.read_word())
            elif found := REDIRECTION.match(self.script, self.i):
                self._read_redirection(command, found[0])
            elif found := OPERATOR.match(self.script, self.i):
                self.take(len(found[0]))
                self.feeds |= found[0] in {"|", "|&"} and not pattern
                self.at_once |= found[0] in {"|", "|&", "&"} and not pattern
                if not pattern:
                    command = self._end(command)
                pattern = pattern or (cases > 0 and found[0] in {";;", ";&", ";;&"})
            elif pattern:
                if self.read_word(pattern=True).text == "esac":
                    cases, pattern = cases - 1, False
            else:
                word = self.read_word()
                self.has_loop |= not command and word.text in {"for", "while", "until", "select"}
                if command or word.text not in {*_PREFIXES, "esac"}:
                    command.append(word)
                cases -= not command and word.text == "esac"
                match [word.text for word in command[:4]]:
                    case ["[["]:
                        self._read_double_brackets()
                        command = self._end(command)
                    case ["case", _, "in"]:
                        cases, pattern = cases + 1, True
                        command = self._end(command)
                    case ["for" | "select", _, "do"]:
                        command.pop()
                        command = self._end(command)
                    case ["function", _]:
                        self.defines_functions = True
                        command.clear()
                    case ["coproc"]:
                        self.has_coproc = True
                        self.skip(_COPROC_NAME)
                        command.clear()
        self._end(command)
        if self._here_documents:
            raise ShellError("a here-document is never closed")
        if self.script[self.i : self.i + 1] != closer:
            raise ShellError(f"a {closer!r} is missing" if closer else "there is one ')' too many")

    def _end(self, command: Command) -> Command:
        if command:
            self.commands.append(command)
        return []

    def _read_parenthesis(self, command: Command) -> None:
        if self.script.startswith("((", self.i) and [word.text for word in command[:2]] in ([], ["for"]):
            self._read_arithmetic("((")
            command.clear()
        elif command and command[-1].text.endswith("=") and self._touches():
            self._read_array(command[-1])
        elif command:
            self._read_function(command[-1])
            command.clear()
        else:
            self._read_enclosed(1)

    def _touches(self) -> bool:
        return self.script[self.i - 1] not in " \t\n"

    def _read_enclosed(self, opener: int) -> bool:
        """Reads a script of its own up to its `)`; returns whether a placeholder stands in it."""
        before = self._slots
        self.take(opener)
        outer, self._here_documents = self._here_documents, []
        self.read_commands(")")
        self._here_documents = outer
        self.take(1)
        return self._slots > before

    def _read_function(self, name: Word) -> None:
        if name.has_value:
            raise ShellError("a placeholder's value cannot be the name of a function")
        found = re.compile(r"\([ \t]*\)").match(self.script, self.i)
        if not found:
            raise ShellError(f"a '(' after {name.text!r} starts neither a function nor an array")
        self.take(len(found[0]))
        self.defines_functions = True

    def _read_array(self, owner: Word) -> None:
        self.take(1)
        while True:
            c = self.skip(_ARRAY_BLANKS)
            if not c:
                raise ShellError("an array is never closed")
            if c == ")":
                break
            if c == "#":
                self.take(self._line_end() - self.i)
                continue
            if c in ";&|<>(" and self.script[self.i : self.i + 2] not in {"<(", ">("}:
                raise ShellError("an array contains an operator")
            item = self.read_word()
            if item.has_value:
                raise ShellError(
                    "a placeholder's value cannot be in an array, because bash evaluates array indexes "
                    "(use separate arguments)"
                )
            if item.text.startswith("["):
                self.evaluated.append(("an array index", item.names))
            owner.nested |= item.has_value
            owner.names |= item.names
        self.take(1)

    def _read_redirection(self, command: Command, operator: str) -> None:
        if command and self._touches() and _DESCRIPTOR.fullmatch(command[-1].text):
            command.pop()  # `2>`: a descriptor, not a word
        self.take(len(operator))
        self.skip()
        if operator in {"<<", "<<-"}:
            self._read_here_document(command, operator == "<<-")
            return
        target = self.read_word(pattern=True)
        self.redirections.append((command, operator, target))
        if operator == "<<<":
            self.inputs.append(target)
            return
        if target.nested or (target.has_value and operator in {">&", "<&"}):
            raise ShellError(f"a placeholder's value after {operator!r} could change what is redirected")
        if target.has_value:
            # Bash opens a socket for `/dev/tcp/host/port`; with two slashes in front it is a plain file.
            if target.text.startswith("/"):
                self.pieces[target.at] = "/"
            elif target.text.startswith(VALUE):
                first = next(piece for piece in self.pieces[target.at :] if isinstance(piece, Slot))
                first.opens_path = True

    def _read_here_document(self, command: Command, dash: bool) -> None:
        start = self.i
        delimiter = self.read_word(pattern=True)
        if delimiter.has_value or EXPANDED in delimiter.text or start == self.i:
            raise ShellError("a here-document needs a plain word as its delimiter")
        body = Word(literal=self.script[start : self.i] != delimiter.text)
        self._here_documents.append((delimiter.text, dash, body))
        self.redirections.append((command, "<<", body))

    def _read_here_document_bodies(self) -> None:
        while self._here_documents:
            delimiter, dash, body = self._here_documents.pop(0)
            self.inputs.append(body)
            while True:
                if self.i >= len(self.script):
                    raise ShellError(f"the here-document {delimiter!r} is never closed")
                line = self.script[self.i : self._line_end()]
                if self._placeholder.search(line):
                    raise ShellError("a placeholder's value cannot be in a here-document (use <<< or a pipe)")
                self.take(len(line) + 1)
                if (line.lstrip("\t") if dash else line) == delimiter:
                    break
                body.text += line + "\n"
            if not body.literal:
                body.names = frozenset(find_names(body.text))
                body.runs = "$(" in body.text or "`" in body.text
                self.verbatim.append(body.text)
                if re.search(r"\$[\[({]|`", body.text):
                    self.evaluated.append(("a here-document", body.names))

    def _read_double_brackets(self) -> None:
        while True:
            if not self.skip(_BRACKET_BLANKS):
                raise ShellError("a '[[' is never closed")
            word = self.read_word()
            if word.text.startswith("#"):
                raise ShellError("a comment in [[ ]] is ambiguous (put it elsewhere)")
            if word.has_value:
                raise ShellError("a placeholder's value cannot be in [[ ]], which evaluates it (use [ ])")
            self.evaluated.append(("[[ ]]", word.names))
            if "$(" in word.text or "`" in word.text:
                self.verbatim.append(word.text)  # quoted, and yet evaluated behind `-v` and `-eq`
            if word.text == "]]":
                return

    def take(self, count: int) -> None:
        self.pieces.append(self.script[self.i : self.i + count])
        self.i += count

    def read_word(self, *, pattern: bool = False) -> Word:
        """Reads one word; as a `pattern` (or a target) it stays a word also without its value."""
        at = len(self.pieces)
        self.pieces.append("")
        word = super().read_word()
        word.at = at
        last = self.pieces[-1]
        if word.text == VALUE and isinstance(last, Slot) and last.quote is Quote.BARE and not pattern:
            last.quote = Quote.WORD
        return word

    def read_part(self, word: Word) -> bool:
        if self._read_slot(word, Quote.BARE):
            return True
        if self.script.startswith(("<(", ">("), self.i):
            word.nested |= self._read_enclosed(2)
            word.runs = self.feeds = self.at_once = True
            word.text += EXPANDED
            return True
        return super().read_part(word)

    def read_escape(self, word: Word) -> None:
        if self._placeholder.match(self.script, self.i + 1):
            self.i += 1  # an escaped value is the value
        else:
            super().read_escape(word)

    def read_verbatim(self, word: Word, end: int) -> None:
        while found := self._placeholder.search(self.script, self.i, end):
            self.add(word, found.start() - self.i)
            self._read_slot(word, Quote.SINGLE)
        super().read_verbatim(word, end)

    def read_quoted_part(self, word: Word) -> None:
        if self.script[self.i] == "\\":
            self._read_backslash(word)
        elif not self._read_slot(word, Quote.DOUBLE):
            super().read_quoted_part(word)

    def _read_slot(self, word: Word, quote: Quote) -> bool:
        found = self._placeholder.match(self.script, self.i)
        if not found:
            return False
        self.pieces.append(Slot(found[1], quote))
        self._slots += 1
        self.i: int = found.end()
        word.text += VALUE
        return True

    def _read_ansi(self, word: Word) -> None:
        self.take(2)
        word.quoted = True
        while self.i < len(self.script):
            if self._read_slot(word, Quote.ANSI):
                continue
            if self.script[self.i] == "'":
                self.take(1)
                return
            if self.script[self.i] == "\\":
                self._read_backslash(word, ansi=True)
            else:
                self.add(word, 1)
        raise ShellError("a single quote is never closed")

    def _read_backslash(self, word: Word, *, ansi: bool = False) -> None:
        if self._placeholder.match(self.script, self.i + 1):
            self.pieces.append("\\\\")  # in quotes a backslash before a value is one
            word.text += "\\"
            self.i += 1
        elif ansi:
            text, end = decode_ansi(self.script, self.i)
            word.text += text
            self.take(end - self.i)
        elif self.script[self.i + 1 : self.i + 2] in tuple('$`"\\\n'):
            super().read_escape(word)
        else:
            self.add(word, 2)

    def read_expansion(self, word: Word, quote: Quote) -> None:
        if self.script[self.i] == "`":
            self._read_backticks(word)
        elif self._placeholder.match(self.script, self.i + 1):
            self.pieces.append("\\$")  # `${{price}}`: a dollar sign, then the value
            word.text += "$"
            self.i += 1
        elif self.script.startswith(("$((", "$["), self.i):
            self._read_arithmetic("$((" if self.script[self.i + 1] == "(" else "$[")
            word.text += EXPANDED
        elif self.script.startswith("$(", self.i):
            word.nested |= self._read_enclosed(2)
            word.runs = True
            word.text += EXPANDED
        elif self.script.startswith("${", self.i):
            self._read_braces(word, quote)
        elif quote is Quote.BARE and self.script.startswith("$'", self.i):
            self._read_ansi(word)
        elif quote is Quote.BARE and self.script.startswith('$"', self.i):
            self.take(1)
            self.read_double(word)
        elif found := _SIMPLE_EXPANSION.match(self.script, self.i):
            self.take(len(found[0]))
            word.names |= {found[0][1:]}
            word.text += EXPANDED
        else:
            self.add(word, 1)

    def _read_braces(self, word: Word, quote: Quote) -> None:
        inside = self._take_balanced("${", "{", "}", "${ }")
        if quote is Quote.DOUBLE and "'" in inside:
            raise ShellError('a single quote in "${ }" is ambiguous (use a variable for it)')
        word.names |= set(re.findall(r"\w+|[@*]", inside))
        word.text += EXPANDED
        word.runs |= "$(" in inside or "`" in inside
        self.verbatim.append(inside)
        if default := _DEFAULT.fullmatch(inside):
            word.defaults += (default[1],)
        if evaluated := _find_evaluated(inside):
            self.evaluated.append(("${ }", find_names(evaluated)))

    def _read_arithmetic(self, opener: str) -> None:
        up, down = ("[", "]") if opener == "$[" else ("(", ")")
        inside = self._take_balanced(opener, up, down, "arithmetic")
        if down == ")" and not inside.endswith("))"):
            raise ShellError("a '((' does not start arithmetic (put a space between the parentheses)")
        self.evaluated.append(("arithmetic", find_names(inside)))
        self.verbatim.append(inside)

    def _take_balanced(self, opener: str, up: str, down: str, where: str) -> str:
        """Takes everything up to the end of `opener`, verbatim; no placeholder may be inside."""
        start, depth, i = self.i, opener.count(up), self.i + len(opener)
        while depth:
            if i >= len(self.script):
                raise ShellError(f"{opener!r} is never closed")
            if self._placeholder.match(self.script, i):
                raise ShellError(f"a placeholder's value cannot be in {where}, which bash evaluates")
            c = self.script[i]
            depth += (c == up) - (c == down)
            i = self._end_of_quoted(i, where) if c in "'\"\\" else i + 1
        self.take(i - start)
        return self.script[start:i]

    def _end_of_quoted(self, i: int, where: str) -> int:
        quote = self.script[i]
        if quote == "\\":
            return i + 2
        end = i + 1
        while end < len(self.script) and self.script[end] != quote:
            end += 2 if quote == '"' and self.script[end] == "\\" else 1
        if self._placeholder.search(self.script, i, end + 1):
            raise ShellError(f"a placeholder's value cannot be in {where}, which bash evaluates")
        return end + 1

    def _read_backticks(self, word: Word) -> None:
        end = self.i + 1
        while end < len(self.script) and self.script[end] != "`":
            end += 2 if self.script[end] == "\\" else 1
        if end >= len(self.script):
            raise ShellError("a backtick is never closed")
        if self._placeholder.search(self.script, self.i, end):
            raise ShellError("a placeholder's value cannot be between backticks (use $( ))")
        self.evaluated.append(("backticks", find_names(self.script[self.i : end])))
        self.verbatim.append(self.script[self.i : end + 1])
        self.take(end + 1 - self.i)
        word.runs = True
        word.text += EXPANDED

    def _line_end(self) -> int:
        end = self.script.find("\n", self.i)
        return len(self.script) if end < 0 else end


def _find_evaluated(expansion: str) -> str:
    """Returns what bash evaluates in a `${...}`: a name behind `!`, a prompt `@P`, an index, an offset."""
    if re.match(r"\$\{!", expansion) or expansion.endswith("@P}") or "$(" in expansion or "`" in expansion:
        return expansion
    found = re.search(r"\[(?![@*]\])(.*)|:(?![-=?+])(.*)", expansion, re.DOTALL)
    return next((part for part in found.groups() if part), "") if found else ""


def find_names(text: str) -> set[str]:
    """Returns whatever could be a variable's name in a text that is a script or arithmetic."""
    return set(re.findall(r"[A-Za-z_]\w*|(?<=\$)[0-9@*]|(?<=\$\{)[0-9@*]|(?<=\$\{[!#])[0-9@*]", text))
