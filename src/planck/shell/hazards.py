"""Commands that would read a value as something else than data: as a script, a variable's name, an option.

An expanded variable is data to bash itself; these are the commands that look at it twice. A value may come to
them by way of the author's variables, a pipe, or a file that the same template writes.
"""

import re
from collections.abc import Set
from itertools import pairwise, takewhile

from planck.shell.flows import (
    ASSIGNMENT,
    POSITIONAL,
    Written,
    find_assignments,
    find_carriers,
    find_outputs,
    skip_assignments,
    unwrap,
)
from planck.shell.interpreters import find_evaluated, is_interpreter, starts_what_it_reads
from planck.shell.launch import basename, find_launches, find_marks, read_option, stores
from planck.shell.programs import Builtin, find_program
from planck.shell.script import Command, Script, Slot, find_names, read
from planck.shell.words import EXPANDED, VALUE, Quote, ShellError, Word

RUN_A_PROGRAM = "nice -n 0 -- "
"""In front of a command that an expansion names: it runs programs only, so that none of them is `eval`."""
_END_OF_OPTIONS = "-- "

_EVALUATING = (Builtin.SCRIPT, Builtin.WORDS)
_NAMED_PLAINLY = frozenset({"exec", "command", "builtin", "printf", "test", "["})
"""What must not be only the default of a variable, besides shells and what evaluates words."""
_EVALUATED_NAMES = frozenset(
    {"BASH_ENV", "ENV", "PROMPT_COMMAND", "PS0", "PS1", "PS2", "PS4", "IFS", "SHELLOPTS", "BASHOPTS"}
    | {"RANDOM", "SRANDOM", "OPTIND", "HISTCMD", "BASHPID", "SECONDS", "EPOCHSECONDS", "LINENO"}
    | {"PATH", "LD_PRELOAD", "LD_LIBRARY_PATH", "LD_AUDIT", "SHELL", "EDITOR", "VISUAL", "PAGER", "MANPAGER"}
    | {"GIT_SSH_COMMAND", "GIT_SSH", "GIT_EDITOR", "GIT_PAGER", "GIT_ASKPASS", "GIT_EXTERNAL_DIFF"}
    | {"GIT_SEQUENCE_EDITOR", "GIT_PROXY_COMMAND", "LESSOPEN", "LESSCLOSE", "BROWSER", "NODE_OPTIONS"}
    | {"PERL5OPT", "PERL5DB", "RUBYOPT", "PYTHONSTARTUP", "PYTHONPATH", "JAVA_TOOL_OPTIONS", "MAKEFLAGS"}
    | {"GIT_CONFIG_PARAMETERS", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_EXEC_PATH", "GIT_TEMPLATE_DIR"}
    | {"GNUMAKEFLAGS", "RUSTC_WRAPPER", "FZF_DEFAULT_COMMAND", "FZF_DEFAULT_OPTS", "TAR_OPTIONS", "RSYNC_RSH"}
)
"""Variables that a shell or a program evaluates, or that are integers: bash evaluates what is assigned."""
_FED = -1
"""`Word.at` of what xargs reads: as many words as it likes."""


def check(script: Script) -> None:
    """Raises for a placeholder that some command would evaluate; marks the commands that a value names."""
    if script.has_coproc or script.defines_functions:
        raise ShellError("functions and coproc cannot be combined with placeholders")
    _Check(script, find_carriers(script), pieces=script.pieces).run()


class _Check:
    def __init__(self, script: Script, carriers: frozenset[str], pieces: list[str | Slot] | None) -> None:
        self.script = script
        self.carriers = carriers
        self.outputs = find_outputs(script)
        self.pieces = pieces
        """What may be mended; None for a script inside of another, which is as it is."""
        self.written = Written(script)
        self.feeds = script.feeds or any(
            self.is_tainted(target) for _, operator, target in script.redirections if operator.startswith("<")
        )
        """Something is piped or fed to commands, and it may be a value."""

    def is_tainted(self, word: Word) -> bool:
        return word.has_value or bool(word.names & self.carriers)

    def is_text(self, word: Word) -> bool:
        """Tells whether a word may be evaluated: nothing of a value can be in it."""
        return not self.is_tainted(word) and not word.runs and not word.names & self.outputs

    def run(self) -> None:
        for place, command in enumerate(self.script.commands):
            self._check_assignments(command)
            words = skip_assignments(command)
            if words:
                self._check_name(words)
                self.check_words(words, place, command)
        self._check_constructs()

    def _check_assignments(self, command: Command) -> None:
        for word in find_assignments(command):
            match = ASSIGNMENT.match(word.text)
            evaluated = match and (match[1] in _EVALUATED_NAMES or match[1].startswith("GIT_CONFIG_"))
            if match and evaluated and self.is_tainted(word):
                raise ShellError(
                    f"a placeholder's value cannot be assigned to {match[1]}, "
                    "because it could change what runs"
                )
        if any((match := ASSIGNMENT.match(word.text)) and VALUE in (match[2] or "") for word in command):
            raise ShellError("a placeholder's value cannot be an array index, because bash evaluates it")

    def _check_name(self, words: list[Word]) -> None:
        name = words[0]
        if name.nested:
            raise ShellError(
                "a command name cannot come from the output of a command that receives a placeholder's value"
            )
        if name.names & self.outputs and self.written:
            raise ShellError(
                "a command name might come from a file that another command writes, "
                "and that file may contain a placeholder's value"
            )
        if name.runs and self.feeds:
            raise ShellError(
                "a command whose name is known only at run time might evaluate its input, "
                "which may contain a placeholder's value"
            )
        self._refuse_naming(name)
        tainted = self.is_tainted(name)
        if not _is_unknown(name) or not (len(words) > 1 or tainted):
            return
        if self.pieces is not None:
            self.pieces[name.at] = RUN_A_PROGRAM
        elif tainted:
            raise ShellError("a placeholder's value cannot be a command name in an `sh -c` script")

    def _refuse_naming(self, name: Word) -> None:
        """A variable is split into words, the first of which would be a command; a placeholder is one."""
        if name.names & self.carriers:
            raise ShellError("a command name cannot come from a variable that holds a placeholder's value")
        if any(_is_named_plainly(text.rpartition("/")[2]) for text in name.defaults):
            raise ShellError(
                "a shell or a builtin cannot be named by a variable's default (write the name directly)"
            )

    def check_words(self, words: list[Word], place: int, command: Command) -> None:
        """Checks a command, and those that it starts."""
        self._check_builtin(words)
        self._check_program(words, place, command)
        if not find_program(basename(words[0])).is_data:
            named = -1  # what a script of `sh -c` calls itself, as in `sh -c '...' sh {{x}}`
            for i, word in enumerate(words):
                sure = _is_shell(word) or bool(word.names & {"SHELL", "BASH"})
                if (sure and i != named) or (i == 0 and _is_unknown(word)):
                    left = self._check_shell(words[i + 1 :], sure, place, command)
                    named = len(words) - left + 1 if left else named
                elif (
                    i and is_interpreter(word) and words[i + 1 : i + 2] and words[i + 1].text.startswith("-")
                ):
                    self._check_interpreter(words[i:], place, command)
        for launch in find_launches(tuple(words)):
            given = words[launch.at : launch.at + 1] if _is_shell(words[0]) else words[launch.at :]
            if launch.unknown and not all(self.is_text(word) for word in given):
                raise ShellError(
                    f"a placeholder's value must not be passed to a command that {words[0].text!r} runs"
                )
            if launch.script is not None and not _is_shell(words[0]):
                self._check_inner(launch.script, [])
            if launch.words and launch.words[0].at == _FED and launch.words[0].text == VALUE:
                raise ShellError(
                    "the input of xargs cannot be the name of a program (write the name directly)"
                )
            if launch.words and launch.words[0].text:
                inner = list(launch.words)
                if basename(words[0]) == "xargs":  # what it is fed with may be a value
                    inner[-1] = Word(VALUE, literal=False, at=_FED)
                    self._check_replaced(words[1 : launch.at], words[launch.at :])
                    if basename(inner[0]) in {"find", "fd"} or (inner[0].text == "git" and len(inner) == 2):
                        raise ShellError(
                            f"{inner[0].text!r} might read the input of xargs as an option that runs code"
                        )
                self._refuse_naming(inner[0])
                self.check_words(inner, place, command)

    def _check_builtin(self, words: list[Word]) -> None:
        name, rest = words[0].text, words[1:]
        builtin = find_program(name).builtin
        if builtin is Builtin.SCRIPT and not all(self.is_text(word) for word in rest):
            raise ShellError(f"a placeholder's value must not be passed to {name!r}, which would evaluate it")
        if not any(self.is_tainted(word) for word in rest):
            return
        before = [word.text for word in takewhile(lambda word: not self.is_tainted(word), rest)]
        if builtin in _EVALUATING or (name == "set" and "--" not in before):
            raise ShellError(f"a placeholder's value cannot be an argument of {name!r}, which evaluates it")
        if find_program(basename(words[0])).reshells:
            raise ShellError(
                f"a placeholder's value cannot be an argument of {name!r}, which passes it to another shell"
            )
        if builtin is Builtin.DECLARES:
            self._check_declaration(words)
        elif name in {"test", "["}:
            self._check_test(rest)
        elif name == "printf":
            self._check_printf(rest)
        elif name in {"command", "builtin", "exec"}:
            inner = _operands(rest)
            if inner and self.is_tainted(inner[0]) and (inner[0].nested or name != "exec"):
                raise ShellError(
                    f"a placeholder's value cannot be the name of the program that {name!r} runs"
                )

    def _check_declaration(self, words: list[Word]) -> None:
        name = words[0].text
        if _declares(words, "aA"):
            raise ShellError(
                f"{name} -a and -A cannot be combined with placeholders, because bash evaluates array indexes"
            )
        for word in words[1:]:
            name_part = word.text.partition("=")[0]
            if self.is_tainted(word) and (VALUE in name_part or EXPANDED in name_part):
                raise ShellError(
                    f"a placeholder's value cannot be the name of a variable that {name!r} declares"
                )

    def _check_test(self, rest: list[Word]) -> None:
        for word, following in pairwise(rest):
            # A value that is `-v` makes a variable's name of the next word, and bash evaluates its index.
            if self.is_tainted(following) and (word.text in {"-v", "-R"} or _is_unknown(word)):
                raise ShellError(
                    "in a test, a placeholder's value cannot come directly after -v or after another "
                    "expanded value (use = to compare it, or -n to check that it is not empty)"
                )

    def _check_printf(self, rest: list[Word]) -> None:
        operands = _operands(rest)
        options = rest[: len(rest) - len(operands)]
        named = any(word.text.startswith("-v") or _is_unknown(word) for word in options)
        if named or not operands or not operands[0].known or stores(operands[0].text):
            raise ShellError(
                "a placeholder's value cannot be printf's format or the name after -v (use '%s')"
            )

    def _check_program(self, words: list[Word], place: int, command: Command) -> None:
        """Checks what programs other than shells evaluate: their texts, files and input."""
        name = basename(words[0])
        program = find_program(name)
        for i, word in enumerate(words[1:], 1):
            for option in (*program.scripts, *program.evaluated):
                glued = read_option(word.text, option)
                if glued is None:
                    continue
                text = word if glued else words[i + 1] if i + 1 < len(words) else None
                if text is not None and not self.is_text(text):
                    raise ShellError(
                        f"a placeholder's value cannot be part of the argument of {name} {option}, "
                        "which is run as code"
                    )
        if name == "env" and (first := next(iter(_operands(words[1:])), None)) and first.text[:1] == VALUE:
            raise ShellError("a placeholder's value cannot appear where 'env' expects options or a program")
        if program.reshells and self.feeds and not self._reads_own_input(command):
            raise ShellError(f"{name!r} evaluates its input, which may contain a placeholder's value")
        if name in {"source", "."} and words[1:]:
            self._check_file(words[1], place, command)
        elif is_interpreter(words[0]):
            self._check_interpreter(words, place, command)
        elif ("/" in words[0].text or name == "make") and self.written.has(words[0], place):
            raise ShellError(f"the command cannot run {words[0].text!r}, a file that it might write itself")
        self._check_files(name, words, place, command)

    def _check_files(self, name: str, words: list[Word], place: int, command: Command) -> None:
        """Checks the files that a program takes commands from: by its habit, or by its words."""
        program = find_program(name)
        usual = [Word(file) for file in program.files]
        named = [Word(re.sub("^-f|^.*=", "", word.text)) for word in words[1:] if word.known]
        if program.files or program.reshells:
            for file in (*usual, *named):
                if self.written.has(file, place):
                    raise ShellError(
                        f"{name!r} might read a file that another command writes, "
                        "and that file may contain a placeholder's value"
                    )
        reads = any(file.text == "-" or file.text.startswith(("/dev/", "/proc/")) for file in named)
        if name in {"make", "gmake"} and reads and self.feeds and not self._reads_own_input(command):
            raise ShellError(f"{name!r} evaluates its input, which may contain a placeholder's value")

    def _check_interpreter(self, words: list[Word], place: int, command: Command) -> None:
        program = find_evaluated(words, self.is_tainted)
        name = basename(words[0])
        for text in program.texts:
            if not self.is_text(text) or "{}" in text.text:
                raise ShellError(f"a placeholder's value cannot be part of the code that {name!r} runs")
        given = any(self.is_tainted(word) for word in words) or self.feeds
        if given and any(starts_what_it_reads(name, text) for text in program.texts):
            raise ShellError(f"{name!r} runs its input, which may contain a placeholder's value")
        for file in program.files:
            self._check_file(file, place, command)
        if program.reads_input and self.feeds and not self._reads_own_input(command):
            raise ShellError(f"{name!r} evaluates its input, which may contain a placeholder's value")
        if program.guard is not None and program.guard.at > 0 and self.pieces is not None:
            self.pieces[program.guard.at] = _END_OF_OPTIONS
            if program.guard in program.files:
                self._keep_word(program.guard)

    def _check_file(self, file: Word, place: int, command: Command) -> None:
        """Checks the name of a file that is evaluated."""
        if file.text == "-" or file.text.startswith(("/dev/", "/proc/")):
            if self.feeds and not self._reads_own_input(command):
                raise ShellError(f"{file.text!r} is standard input, which may contain a placeholder's value")
        elif file.nested or file.runs:
            raise ShellError("a placeholder's value cannot be part of a script that the command reads")
        elif self.is_tainted(file):
            if self.feeds:
                raise ShellError(
                    "a placeholder's value cannot name a script here, because it could name standard input"
                )
        elif self.written.has(file, place):
            raise ShellError(f"the command cannot run {file.text!r}, a file that it might write itself")

    def _reads_own_input(self, command: Command) -> bool:
        """Tells whether a command has an input of its own, which no value reaches."""
        own = [t for c, operator, t in self.script.redirections if c is command and operator.startswith("<")]
        return bool(own) and all(
            self.is_text(t)
            and not t.text.startswith(("/dev/", "/proc/"))
            and not self.written.has(t, 1 << 30)
            for t in own
        )

    def _check_replaced(self, options: list[Word], inner: list[Word]) -> None:
        """`xargs -I% sh -c 'echo %'`: what is read is put into the script."""
        marks = find_marks(tuple(options))
        evaluates = _is_shell(inner[0]) or is_interpreter(inner[0])
        if evaluates and any(mark and mark in word.text for mark in marks for word in inner):
            raise ShellError("the input of xargs cannot be part of a script (pass it as an argument)")

    def _check_shell(self, rest: list[Word], sure: bool, place: int, command: Command) -> int:
        """Checks the words behind a shell's name. `sure`: it is one; else an expansion names it. Returns how
        many words are left from the script of `-c` on, if there is one."""
        runs_text, reads_input, dashes = False, False, False
        while rest and (rest[0].text[:1] in {"-", "+"} or (not rest[0].has_value and rest[0].may_vanish)):
            option, rest = rest[0], rest[1:]
            if not sure and option.text[:1] != "-":
                return 0
            if self.is_tainted(option):
                raise ShellError("a placeholder's value cannot appear where a shell expects options")
            if option.text in {"--", "-"}:
                dashes = True
                break
            # What an expansion leaves of `$x-c` is nobody's guess: it may be an option.
            runs_text |= "c" in option.text and not option.text.startswith("--")
            reads_input |= "s" in option.text and not option.text.startswith("--")
            if option.text.lstrip("-+") in {"o", "O", "rcfile", "init-file"} or option.text.endswith("o"):
                if any(self.is_tainted(word) for word in rest[:1]):
                    raise ShellError("a placeholder's value cannot appear where a shell expects options")
                rest = rest[1:]
        opens = bool(rest) and not dashes and rest[0].text[:1] == EXPANDED
        if opens and ("-" in rest[0].text or any(self.is_tainted(word) for word in rest[1:])):
            raise ShellError("an expansion might become a shell option (write the option directly)")
        if runs_text:
            self._check_script(rest, place, command)
        elif sure and reads_input:
            self._check_script_input(command)
        elif sure:
            self._check_script_file(rest, place, command)
        return len(rest) if runs_text else 0

    def _check_script_file(self, rest: list[Word], place: int, command: Command) -> None:
        if not rest or all(word.may_vanish and not word.has_value for word in rest):
            self._check_script_input(command)
        elif self.is_tainted(rest[0]) or rest[0].runs:
            raise ShellError("a placeholder's value cannot be the name of the script that a shell reads")
        elif rest[0].text.startswith(("/dev/", "/proc/")) or rest[0].text == "-":
            self._check_script_input(command)
        elif self.written.has(rest[0], place):
            raise ShellError(f"the command cannot run {rest[0].text!r}, a file that it might write itself")

    def _check_script_input(self, command: Command) -> None:
        if not self._reads_own_input(command):
            raise ShellError(
                "a shell that reads its script from standard input cannot be combined with placeholders"
            )
        for owner, operator, text in self.script.redirections:
            if owner is command and operator.startswith("<<"):
                self._check_inner(text.text, [])

    def _check_script(self, rest: list[Word], place: int, command: Command) -> None:
        """`sh -c 'script' sh {{x}}`: the script is the author's, and its parameters are values."""
        if not rest:
            raise ShellError("sh -c needs a script")
        text = rest[0]
        if not self.is_text(text) or "{}" in text.text or text.may_vanish:
            raise ShellError(
                "a placeholder's value cannot be part of an `sh -c` script "
                "(pass it as an argument: sh -c '… \"$1\"' sh {{x}})"
            )
        given = any(self.is_tainted(word) for word in rest[1:])
        if EXPANDED in text.text:
            if given or self.carriers:
                raise ShellError(
                    "a placeholder's value cannot be passed to an `sh -c` script that is built at run time"
                )
            return
        self._check_inner(text.text, rest[2:])
        if rest[2:]:
            self.check_words(rest[2:], place, command)  # `"$@"` may run them

    def _check_inner(self, text: str, named: list[Word]) -> None:
        """Checks a script inside of the script, to which parameters and variables carry values. `named` is
        what `"$@"` would run in it: the author's own program, or a value."""
        inner = read(text, template=False)
        inner.feeds |= self.feeds
        if inner.has_coproc or inner.defines_functions:
            raise ShellError("an `sh -c` script that defines functions cannot be combined with placeholders")
        carriers = find_carriers(inner, self.carriers | POSITIONAL)
        moves = any(command[0].text in {"shift", "set"} for command in inner.commands)
        runs_named = bool(named) and not _is_unknown(named[0]) and not moves
        for command in inner.commands:
            words = unwrap(command)
            words = words[1:] if words and words[0].text == "exec" else words
            if runs_named and words and words[0].names == {"@"} and words[0].text == EXPANDED:
                command.clear()
                command.append(Word("true"))
        _Check(inner, carriers, pieces=None).run()

    def _keep_word(self, word: Word) -> None:
        """An absent value is an empty word here: without one the program would take its input instead."""
        slot = self.pieces[word.at + 1] if self.pieces and word.text == VALUE else None
        if isinstance(slot, Slot) and slot.quote is Quote.WORD:
            slot.quote = Quote.BARE

    def _check_constructs(self) -> None:
        """Raises where a carrier reaches a construct that evaluates it."""
        if found := self.carriers & _EVALUATED_NAMES:
            raise ShellError(
                f"a placeholder's value cannot be assigned to {min(found)}, because it could change what runs"
            )
        uses = [use for command in self.script.commands for use in _find_evaluating_uses(command)]
        for what, names in [*self.script.evaluated, *uses]:
            if found := self.carriers & names:
                raise ShellError(
                    f"${min(found)} carries a placeholder's value into {what}, where bash evaluates it"
                )


def _is_unknown(name: Word) -> bool:
    """Tells whether bash finds out only when it runs what the command's name is."""
    return name.text not in {"[", "{", "}"} and any(c in name.text for c in VALUE + EXPANDED + "*?[{")


def _is_shell(word: Word) -> bool:
    return find_program(basename(word)).is_shell


def _is_named_plainly(name: str) -> bool:
    builtin = find_program(name).builtin
    return _is_shell(Word(name)) or name in _NAMED_PLAINLY or builtin in {*_EVALUATING, Builtin.DECLARES}


def _operands(rest: list[Word]) -> list[Word]:
    for i, word in enumerate(rest):
        if word.text == "--":
            return rest[i + 1 :]
        if not word.text.startswith("-"):
            return rest[i:]
    return []


def _declares(words: list[Word], attributes: str) -> bool:
    options = [word.text for word in words[1:] if word.text[:1] in {"-", "+"}]
    declares = find_program(words[0].text).builtin is Builtin.DECLARES
    return declares and any(set(option) & set(attributes) for option in options)


def _find_evaluating_uses(command: Command) -> list[tuple[str, Set[str]]]:
    """Returns the variables whose values this command would evaluate, and what evaluates them."""
    uses: list[tuple[str, Set[str]]] = [
        ("an array index", word.names)
        for word in command
        if (match := ASSIGNMENT.match(word.text)) and EXPANDED in (match[2] or "")
    ]
    indices = [match[2] for word in command if (match := ASSIGNMENT.match(word.text)) and match[2]]
    uses += [("an array index", find_names(index)) for index in indices]
    words = unwrap(command)
    if not words:
        return uses
    name = words[0].text
    every = {found for word in words for found in word.names}
    builtin = find_program(name).builtin
    if builtin in _EVALUATING:
        if name in {"eval", "trap", "let", "alias"}:  # what is quoted is a script too: `eval 'eval $v'`
            every |= {found for word in words[1:] for found in find_names(word.text)}
        uses.append((repr(name), every))
    elif _declares(words, "in"):
        raise ShellError(
            f"{name} -i and -n cannot be combined with placeholders, "
            "because bash evaluates the assigned values"
        )
    elif builtin is Builtin.DECLARES:
        named = [word for word in words[1:] if EXPANDED in word.text.partition("=")[0]]
        uses.append((repr(name), {found for word in named for found in word.names}))
    elif name in {"test", "[", "printf"} and {"-v", "-R"} & {word.text for word in words}:
        uses.append((f"{name} -v", every))
    elif name != command[0].text and words[0].names:
        uses.append(("a command's name", words[0].names))
    return uses
