"""What shell scripts in a workspace would start: a rule that denies `git push` holds for `./deploy.sh`, too.

What was read may be changed before it runs, and programs in other languages are not read at all. There the
sandbox is the boundary, not a rule.
"""

import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain

import msgspec

from planck.permissions.package_scripts import FILE, PACKAGED, PackageScript, find_package_scripts
from planck.permissions.rules import Decision, Ruling
from planck.shell.launch import basename
from planck.shell.plain import Segment, segments
from planck.shell.programs import find_program
from planck.shell.reach import Reach, find_reach
from planck.shell.script import read
from planck.shell.words import EXPANDED, ShellError, Word
from planck.workspace.git.hooks import HERE, TOP, spell_known
from planck.workspace.paths.beneath import read_up_to
from planck.workspace.paths.paths import is_inside

_MAX_SCRIPT = 64 * 1024
_MAX_FILES = 64
"""Of one command, with the scripts that its scripts start."""
_MAX_KEPT, _MAX_KEPT_TEXT = 32, 16 * 1024
_SYSTEM = (
    "/bin/",
    "/sbin/",
    "/usr/",
    "/nix/",
    "/snap/",
    "/lib/",
    "/lib64/",
    "/proc/",
    "/dev/fd/",
    "/dev/std",
)
"""Where no agent writes programs; what starts other programs there has a row in the table."""
_HARMLESS = frozenset(
    {
        ":",
        "[",
        "cat",
        "chmod",
        "cut",
        "date",
        "diff",
        "dirname",
        "basename",
        "echo",
        "exit",
        "export",
        "false",
    }
    | {"fgrep", "egrep", "grep", "head", "hostname", "id", "jq", "ls", "mkdir", "printf", "pwd", "readlink"}
    | {"realpath", "rg", "rm", "set", "sha256sum", "sleep", "stat", "tail", "test", "touch", "tr", "true"}
    | {"type", "uname", "unset", "wc", "which", "whoami", "cd", "pushd", "popd"}
)
"""They leave the content of files alone, unless their output goes into one."""
_COMPILERS = frozenset(
    {"gcc", "g++", "cc", "c++", "clang", "clang++", "rustc", "javac", "ld", "ar", "swiftc", "zig"}
)
"""What they write is no shell script."""
_AT_ONCE = re.compile(r"(?<!\|)\|(?!\|)|(?<![&><])&(?![&>])|\b(?:for|while|until|function)\b|\(\)|\{")
"""What lets commands run beside others, or again: their order says nothing."""
_AGAIN = re.compile(r"\b(?:for|while|until|function)\b|\(\)")
_MOVES = frozenset({"pushd", "popd", "chroot"})
_MOVING = re.compile(r"-[CD].*|--(?:chdir|wd|root|directory|cwd)(?:=.*)?|-(?:exec|ok)dir|foreach")
"""Words of handed that choose another folder for what they start."""

Narrow = Callable[[Reach], Ruling]
"""What the rules say of the commands that something starts."""


def weigh_scripts(
    reach: Reach,
    command: str,
    parts: tuple[Segment, ...] | None,
    folder: str,
    narrow: Narrow,
    wanted: Sequence[Sequence[str]],
    handed: Iterable[Segment] = (),
) -> Ruling:
    """Returns what the rules say of the scripts that a command line names by a path; the strictest wins.

    `parts`: the line's plain commands. `wanted`: the words of each rule. `handed`: what programs that nobody
    knows may start.
    """
    found = Ruling(None)
    look = _Look(narrow, wanted, folder)
    for one in chain(look.at_text(command, parts, reach, (folder,)), look.at_handed(handed, folder)):
        if found.decision is None or one.decision is Decision.DENY:
            found = one
        if found.decision is Decision.DENY:
            break
    return found


class _Look:
    """Reads the scripts that one command starts, each of them once."""

    def __init__(self, narrow: Narrow, wanted: Sequence[Sequence[str]], folder: str) -> None:
        self._narrow = narrow
        self._wanted = wanted
        self._folder = folder
        self._seen: set[str | PackageScript] = set()

    def at_text(
        self,
        text: str,
        parts: tuple[Segment, ...] | None,
        reach: Reach,
        folders: Sequence[str],
        *,
        is_script: bool = False,
    ) -> Iterator[Ruling]:
        """Yields what the rules say of the scripts that a text starts, in any of the folders."""
        for words in reach.commands:
            if basename(words[0]) in PACKAGED:
                yield from self._at_packages(
                    words, text, _find_folders(text, reach.commands, folders) or folders
                )
        scripts = [words for words in reach.commands if self._is_script(words[0])]
        if not scripts:
            return
        others = [words for words in reach.commands if words not in scripts]
        folders = _find_folders(text, others, folders)
        parts = None if _AT_ONCE.search(text) else parts
        for words in scripts:
            paths = _find_places(words[0].text, folders)
            later = parts[parts.index(words) :] if parts and words in parts else ()
            before = (one for one in others if one not in later)
            changed = _mentions(words, text) if is_script else _find_change(text, paths, folders, before)
            doubt = "the command may change it first" if changed else ""
            if not paths:
                doubt = "which file that is, is not known beforehand"
            yield from self._at_script(words, paths, folders, doubt)

    def _at_packages(self, words: Segment, text: str, folders: Sequence[str]) -> Iterator[Ruling]:
        """Yields what the rules say of the scripts of a `package.json` that a command starts."""
        if _writes_package(text):
            yield self._narrow(Reach((), f"{words[0].text!r} may start any program: {FILE} may change first"))
        for folder in folders:
            for script in find_package_scripts(words, folder):
                if script in self._seen or len(self._seen) > _MAX_FILES:
                    continue
                self._seen.add(script)
                parts = segments(script.text)
                reach = find_reach(script.text, parts)
                more = self.at_text(script.text, parts, reach, (script.folder,), is_script=True)
                plain = reach if self._is_mentioned(script.text) else _drop_doubts(reach)
                for one in chain((self._narrow(plain),), more):
                    yield one if script.sure else _doubt(one)

    def at_handed(self, handed: Iterable[Segment], folder: str) -> Iterator[Ruling]:
        """Yields a doubt where a program that nobody knows is given a script that the rules forbid."""
        for words in handed:
            path = os.path.join(folder, words[0].text)
            if not self._is_script(words[0]) or os.path.isdir(path):
                continue
            for one in self._at_script(words, (path,), (folder,), ""):
                yield _doubt(one)

    def _at_script(
        self, words: Segment, paths: Sequence[str], folders: Sequence[str], doubt: str
    ) -> Iterator[Ruling]:
        if len(self._seen) > _MAX_FILES:
            doubt, paths = f"more than {_MAX_FILES} scripts are involved", ()
        for path in dict.fromkeys(map(os.path.realpath, paths)):
            script = _read_script(path)
            if script is None:
                yield from self._at_program(path, words)
                continue
            if script.is_cut:
                doubt = f"it has more than {_MAX_SCRIPT // 1024} KiB"
            if path not in self._seen:
                self._seen.add(path)
                text, parts, reach = script.text, script.parts, script.reach
                yield self._narrow(reach if self._is_mentioned(text) else script.plain)
                if folders and script.spelled != text:
                    text = script.spelled.replace(HERE, os.path.dirname(path)).replace(TOP, folders[0])
                    parts = segments(text)
                    reach = find_reach(text, parts)
                yield from self.at_text(text, parts, reach, folders, is_script=True)
        if doubt:
            yield self._narrow(Reach((), f"{words[0].text!r} may start any program: {doubt}"))

    def _is_mentioned(self, text: str) -> bool:
        """Whether a script has the words of a rule at all, in any order: if not, what it starts and nobody
        can name (`$JAVA -jar x`, `python x.py`) is no reason to ask."""
        return any(
            all(re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", text) for word in _list_telling(words))
            for words in self._wanted
        )

    def _at_program(self, path: str, words: Segment) -> Iterator[Ruling]:
        """It may be a link to the program of a rule, or a copy of it: the words that follow tell whether."""
        yield self._narrow(Reach(((Word(os.path.basename(path)), *words[1:]),)))
        given = {word.text for word in words[1:]}
        copies = ((Word(name), *words[1:]) for name, *rest in self._wanted if rest and given.issuperset(rest))
        yield self._narrow(Reach((), perhaps=tuple(copies)))

    def _is_script(self, word: Word) -> bool:
        """Whether a program is named by a path where an agent could have put it."""
        if not word.literal or "/" not in word.text:
            return False
        path = os.path.normpath(word.text)
        return not path.startswith(_SYSTEM) or is_inside(path, (os.path.realpath(self._folder),))


def _doubt(one: Ruling) -> Ruling:
    if one.decision is not Decision.DENY:
        return one
    return msgspec.structs.replace(one, decision=Decision.ASK, note="it may apply here")


def _writes_package(text: str) -> bool:
    """Whether a command line may change the package before it starts something of it."""
    return FILE in text and (
        re.search(rf">[ \t]*\S*{FILE}|\b(?:cp|curl|install|ln|mv|sed|tee|wget)\b[^\n;&|]*{FILE}", text)
        is not None
    )


def _find_folders(text: str, others: Sequence[Segment], folders: Sequence[str]) -> Sequence[str]:
    """Returns where a script of the text may start: in each, or below each after a `cd`; none: anywhere."""
    moves = [words for words in others if basename(words[0]) == "cd"]
    if any(_moves_elsewhere(words) for words in others):
        return ()
    if not moves:
        return folders
    (_, *target), *more = moves
    if more or len(target) != 1 or not target[0].literal or _AGAIN.search(text):
        return ()
    return (*folders, *(os.path.join(folder, os.path.expanduser(target[0].text)) for folder in folders))


def _moves_elsewhere(words: Segment) -> bool:
    name = basename(words[0])
    launches = find_program(name).prefix or name in ("find", "git", "fd", "fdfind", "xargs")
    return name in _MOVES or bool(launches and any(_MOVING.fullmatch(word.text) for word in words[1:]))


def _find_places(name: str, folders: Sequence[str]) -> tuple[str, ...]:
    path = os.path.expanduser(name)
    return (path,) if os.path.isabs(path) else tuple(os.path.join(folder, path) for folder in folders)


def _find_change(text: str, paths: Sequence[str], folders: Sequence[str], others: Iterable[Segment]) -> bool:
    """Whether a command line may change a script before it runs it."""
    targets = _find_targets(text)
    if targets is None:
        return True
    for words in others:
        program = basename(words[0])
        if program in ("tee", "sort", "uniq"):
            if not all(word.literal for word in words):
                return True
            targets += [word.text for word in words[1:]]
        elif program not in _HARMLESS and program not in _COMPILERS and not _runs_project(program):
            return True
    if not folders:
        return bool(targets)
    if not targets:
        return False
    reals = {*map(os.path.realpath, paths)}
    return any(
        os.path.realpath(place) in reals for target in targets for place in _find_places(target, folders)
    )


def _runs_project(program: str) -> bool:
    """Whether it starts other programs, which are judged apart, or the project's own, which could do all
    that a script does: `npm ci && ./build.sh` is not asked about."""
    row = find_program(program)
    return row.prefix is not None or row.is_shell or row.is_project_tool


def _find_targets(text: str) -> list[str] | None:
    """Returns the files that a command line redirects output to; None: they are not all known."""
    if ">" not in text:
        return []
    if (
        plain := segments(text)
    ) is not None:  # what is redirected at all goes nowhere, but in a text for a shell
        asked = (words for words in plain if basename(words[0]) not in _HARMLESS)
        return None if any(">" in word.text for words in asked for word in words) else []
    try:
        script = read(text, template=False)
    except ShellError:
        return None
    parts = [*script.verbatim, *(word.text for words in script.commands for word in words)]
    found = [target.text for _, operator, target in script.redirections if ">" in operator]
    if any(">" in part for part in parts) or any(
        char in text for text in found for char in f"{EXPANDED}*?[{{"
    ):
        return None
    return found


def _mentions(script: Segment, text: str) -> bool:
    """Whether a script names another one that it starts as something that is written, too."""
    name = re.escape(os.path.basename(script[0].text))
    return (
        re.search(rf">[ \t]*\S*{name}|\b(?:cp|curl|install|ln|mv|sed|tee|wget)\b[^\n;]*{name}", text)
        is not None
    )


def _list_telling(words: Sequence[str]) -> Sequence[str]:
    """Returns what tells a rule's command from others of its program: its verbs, or the program alone."""
    return [word for word in words[1:] if word[:1] != "-"] or words[:1]


def _drop_doubts(reach: Reach) -> Reach:
    return msgspec.structs.replace(reach, unknown="") if reach.unknown else reach


class _Script(msgspec.Struct, frozen=True, gc=False):
    """What a file says, wherever it is named."""

    text: str
    parts: tuple[Segment, ...] | None
    reach: Reach
    plain: Reach
    """Without what nobody can name."""
    spelled: str
    """With the way to other scripts, mostly; what else it starts is in its text."""
    is_cut: bool
    """There is more in the file."""


def _read_script(path: str) -> _Script | None:
    """Returns what a shell would read in a regular file; None where it would read nothing."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)  # a named pipe would make us wait
    except (OSError, ValueError):
        return None
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            return None
        content = read_up_to(fd, _MAX_SCRIPT + 1)
    finally:
        os.close(fd)
    return _recall(content) if len(content) <= _MAX_KEPT_TEXT else _understand(content)


def _understand(content: bytes) -> _Script | None:
    text = _find_shell_text(content)
    if not text:
        return None
    parts = segments(text)
    reach = find_reach(text, parts)
    return _Script(text, parts, reach, _drop_doubts(reach), spell_known(text), len(content) > _MAX_SCRIPT)


_recall = lru_cache(maxsize=_MAX_KEPT)(_understand)
"""By what a file says, and not by when it changed: a script is often run right after it was written."""


def _find_shell_text(content: bytes) -> str:
    """Returns the text that a shell would run; nothing where the program is in another language."""
    first = content.partition(b"\n")[0]
    if first.startswith(b"#!"):
        line = first[2:].decode(errors="replace").replace("-S", "").strip()
        started = find_reach(line, segments(line)).commands
        if not any(find_program(basename(words[0])).is_shell for words in started):
            return ""
    elif b"\0" in first:  # how bash knows a program
        return ""
    return content[:_MAX_SCRIPT].replace(b"\0", b"").decode(errors="replace")
