"""Every command that a line would start, at any depth: in lists, loops and substitutions, behind `env` and
`sudo`, in the scripts of `sh -c`. For rules that deny or ask: they hold for what runs, however it is written.
"""

import re
from collections.abc import Iterable, Sequence

import msgspec

from planck.shell.launch import Launch, basename, find_launches, find_opacity, is_evaluated, starts_others
from planck.shell.plain import ASSIGNMENT, MAX_LENGTH, Segment
from planck.shell.programs import VERBS, find_program
from planck.shell.script import Script, read, read_substitution
from planck.shell.words import EXPANDED, ShellError, Word

MAX_DEPTH = 8
MAX_COMMANDS = 500
_MAX_GIVEN = 50
"""Words of a variable that are looked at."""
_SUBSTITUTION = re.compile(r"[$<>]\((?!\()|`(?:[^`\\]|\\.)*`", re.DOTALL)
_BRACES = re.compile(r"\{([^{}]*,[^{}]*)\}")
_CHANGES_NAMES = re.compile(
    r"(?:PATH|BASH_ENV|ENV|LD_[A-Z_]+|IFS|SHELLOPTS|BASHOPTS|PS4|PROMPT_COMMAND|(?:BASH_CMDS|BASH_ALIASES)\[.*"
    r"|BASH_FUNC_.*|GIT_CONFIG\w*|GIT_EXEC_PATH|GIT_TEMPLATE_DIR|\w+_OPTIONS|\w+OPTS?|MAKEFLAGS)\+?=",
    re.DOTALL,
)
_COMMAND_LINES = re.compile(
    r"(?:\w*(?:PAGER|EDITOR|VISUAL|BROWSER|ASKPASS|_COMMAND|_RSH|_SSH|_WRAPPER|_DIFF)|SHELL|LESSOPEN|LESSCLOSE)="
)
"""Variables by which programs take a command line."""
_READ_APART = frozenset({"git", "find"})
"""Programs whose own readers know what `run` means to them."""


class Reach(msgspec.Struct, frozen=True, gc=False):
    commands: tuple[Segment, ...]
    unknown: str = ""
    """Why there may be commands that nobody can name beforehand; empty where these are all."""
    perhaps: tuple[Segment, ...] = ()
    """What a program would start if its `run` or `exec` means that."""
    given: tuple[Segment, ...] = ()
    """What variables hold that a command is given, behind the variable: `CC=` and `./x.sh`."""


def find_reach(command: str, parts: tuple[Segment, ...] | None) -> Reach:
    """`parts` are the line's plain commands, where it has no others: most need no second look."""
    starters = [words for words in parts if starts_others(words) or _find_verb(words)] if parts else ()
    quotes_one = "$(" in command or "`" in command
    if parts is not None and not starters and not (quotes_one and any(map(is_evaluated, parts))):
        return Reach(parts)
    survey = _Survey()
    if parts is None or not all(word.literal for words in starters for word in words):
        survey.add_script(command, 0)
        return Reach(tuple(survey.commands), survey.unknown, tuple(survey.perhaps), tuple(survey.given))
    for words in parts if quotes_one else starters:
        survey.add_command(words, 0, {})
    if "|" in command:
        survey.doubt_fed(parts)
    if quotes_one and any(map(is_evaluated, parts)):
        survey.doubt_quoted([word for words in parts for word in words])
    more = [words for words in survey.commands if words not in starters]
    return Reach((*parts, *more), survey.unknown, tuple(survey.perhaps), tuple(survey.given))


def find_handed(commands: Iterable[Segment]) -> Reach:
    """Returns what starts if a program hands these words to a launcher, as `env x`, or a text to a shell."""
    survey = _Survey()
    for words in commands:
        first = words[0]
        text = first.text.partition("=")[2] if first.text[:1] == "-" else first.text
        if any(blank in text for blank in " \t\n"):
            survey.add_script(text.removeprefix("!").replace(EXPANDED, "$_"), 1)
        elif len(words) > 1 and first.known and starts_others(words):
            count = len(survey.commands)
            for launch in find_launches(words):
                survey.add_launch(launch, 1, {})
            if find_program(basename(first)).is_shell and count == len(survey.commands):
                survey.doubt(find_opacity(words))
    return Reach(tuple(survey.commands), survey.unknown)


def _find_verb(words: Segment) -> int:
    """Returns where a word stands that may mean "start what follows"; 0: nowhere."""
    for i, word in enumerate(words):
        if word.text in VERBS and i:
            return i
    return 0


class _Survey:
    def __init__(self) -> None:
        self.commands: list[Segment] = []
        self.perhaps: list[Segment] = []
        self.given: list[Segment] = []
        self.unknown = ""
        self._reads_input = False

    def add_script(self, text: str, depth: int) -> None:
        """Adds the commands of a text that a shell reads."""
        if depth > MAX_DEPTH or len(text) > MAX_LENGTH or len(self.commands) > MAX_COMMANDS:
            self.doubt("the command is too deeply nested or too long to analyze")
            return
        if "\\\n" in text:
            self.add_script(text.replace("\\\n", ""), depth + 1)
        try:
            self._add_read(read(text, template=False), depth)
        except ShellError as problem:
            self.doubt(f"the command cannot be analyzed, because {problem}")

    def _add_read(self, script: Script, depth: int) -> None:
        constants = _find_constants(script.commands)
        for command in script.commands:
            self.add_command(tuple(command), depth, constants)
        if script.evaluated or any(words and _evaluates(words) for words in script.commands):
            self.doubt_quoted([word for words in script.commands for word in words])
            self.doubt_quoted([Word(part) for part in script.verbatim if "'" in part and part[:2] != "${"])
        self.doubt_fed(script.commands)
        for part in script.verbatim:
            self._add_substitutions(part, depth)
        for given in script.inputs:
            self._add_input(given, depth)
            for words in script.commands:
                if (
                    words
                    and (way_out := find_program(basename(words[0])).way_out)
                    and way_out.match(given.text)
                ):
                    self.doubt(f"{basename(words[0])!r} can start programs")

    def add_command(self, words: Segment, depth: int, constants: dict[str, set[str]]) -> None:
        """Adds one command and what it starts."""
        count = 0
        while count < len(words) and "=" in words[count].text and ASSIGNMENT.match(words[count].text):
            count += 1
        name = basename(words[count]) if count < len(words) else ""
        program = find_program(name)
        for word in words if program.assigns else words[:count]:
            self._add_assignment(word, depth)
        words = words[count:] if count else words
        if not words:
            return
        if depth > MAX_DEPTH or len(self.commands) > MAX_COMMANDS:
            self.doubt("the command is too deeply nested or too long to analyze")
            return
        self.commands.append(words)
        if not words[0].known:
            self._add_variants(words, depth, constants)
            return
        mentions = program.is_data or name in _READ_APART
        if not mentions and len(self.perhaps) < MAX_COMMANDS and (verb := _find_verb(words)):
            self.perhaps += [words[i:] for i in range(verb + 1, min(len(words), MAX_COMMANDS))]
            if len(words) > MAX_COMMANDS:
                self.doubt("the command is too deeply nested or too long to analyze")
        for launch in find_launches(words):
            self.add_launch(launch, depth, constants)
        if why := find_opacity(words):
            self._reads_input |= program.is_shell
            self.doubt(why)

    def _add_assignment(self, word: Word, depth: int) -> None:
        """Adds what a variable makes programs start."""
        if _CHANGES_NAMES.match(word.text):
            self.doubt("an assignment can change which programs run")
        elif found := _COMMAND_LINES.match(word.text):
            self.add_script(word.text[found.end() :].replace(EXPANDED, "$_"), depth + 1)
        elif found := ASSIGNMENT.match(word.text):
            name, _, value = word.text.partition("=")
            words = [Word(part, EXPANDED not in part) for part in value.split()[:_MAX_GIVEN]]
            if len(words) > 1 or "/" in value:
                self.given.append((Word(f"{name}="), *words))

    def doubt_fed(self, commands: Iterable[Sequence[Word]]) -> None:
        """`echo .shell rm | sqlite3` starts a program, and no word of `sqlite3` says so."""
        fed = [basename(words[0]) for words in commands if words]
        for name in fed:
            way_out = find_program(name).way_out
            if way_out and any(
                way_out.match(word.text)
                for words in commands
                for word in words[1:]
                if basename(words[0]) != name
            ):
                self.doubt(f"{name!r} can start programs")

    def doubt_quoted(self, words: Iterable[Word]) -> None:
        """A quoted substitution is a text; but bash evaluates some texts, if they come to an index."""
        if any("$(" in word.text or "`" in word.text for word in words):
            self.doubt("a quoted string contains a substitution that bash may evaluate")

    def add_launch(self, launch: Launch, depth: int, constants: dict[str, set[str]]) -> None:
        if launch.unknown:
            self._reads_input |= launch.reads_input
            self.doubt(launch.unknown)
        elif launch.script is not None:
            self.add_script(launch.script, depth + 1)
        else:
            self.add_command(launch.words, depth + 1, constants)

    def _add_variants(self, words: Segment, depth: int, constants: dict[str, set[str]]) -> None:
        """Adds what a program's name may turn out to be, as far as the line itself tells."""
        program = words[0]
        if EXPANDED in program.text:
            self.doubt("a program's name is known only at run time")
            texts = {"", *program.defaults, *(t for name in program.names for t in constants.get(name, ()))}
            for text in sorted(texts):
                split = program.text.replace(EXPANDED, text).split()
                named = tuple(Word(part) for part in split) + words[1:]
                if named and (split or len(words) > 1):
                    self.add_command(named, depth + 1, {})
        elif "{" in program.text:
            expanded = tuple(Word(text) for word in words for text in _expand_braces(word))
            if expanded and expanded[0].text != program.text:
                self.add_command(expanded, depth + 1, constants)

    def _add_substitutions(self, text: str, depth: int) -> None:
        """Adds the commands of substitutions inside what was taken verbatim."""
        end = 0
        while (found := _SUBSTITUTION.search(text, end)) and depth < MAX_DEPTH:
            end = found.end()
            if found[0].startswith("`"):
                self.add_script(re.sub(r"\\([$`\\])", r"\1", found[0][1:-1]), depth + 1)
                continue
            try:
                script = read_substitution(text[end:])
            except ShellError as problem:
                self.doubt(f"the command cannot be analyzed, because {problem}")
                return
            self._add_read(script, depth + 1)
            end += script.i

    def _add_input(self, given: Word, depth: int) -> None:
        """Adds what stands in a here-document or here-string, if some shell may be its reader."""
        if self._reads_input:
            self.add_script(given.text.replace(EXPANDED, "$_"), depth + 1)

    def doubt(self, why: str) -> None:
        if why not in self.unknown:
            self.unknown = f"{self.unknown}; {why}" if self.unknown else why


def _evaluates(words: list[Word]) -> bool:
    match = ASSIGNMENT.match(words[0].text)
    return bool(match and match[1]) or is_evaluated(tuple(words))


def _find_constants(commands: Iterable[list[Word]]) -> dict[str, set[str]]:
    """Returns the texts that the line itself assigns to variables."""
    found: dict[str, set[str]] = {}
    for words in commands:
        for word in words:
            if ASSIGNMENT.match(word.text):
                name, _, value = word.text.partition("=")
                found.setdefault(name.rstrip("+"), set()).add(value.replace(EXPANDED, ""))
        if len(words) > 2 and words[0].text == "for":
            found.setdefault(words[1].text, set()).update(word.text for word in words[3:])
    return found


def _expand_braces(word: Word) -> list[str]:
    texts, done = [word.text], False
    while not done and len(texts) < 64:
        done = True
        for i, text in enumerate(texts):
            if found := _BRACES.search(text):
                before, after = text[: found.start()], text[found.end() :]
                texts[i : i + 1] = [before + part + after for part in found[1].split(",")]
                done = False
                break
    return texts
