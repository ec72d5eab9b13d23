"""Where interpreters of other languages have their program: in a word, a file, or what they are fed with."""

import re
from collections.abc import Callable

import msgspec

from planck.shell.launch import basename
from planck.shell.programs import Interpreter, find_program
from planck.shell.words import EXPANDED, VALUE, Word

_LONG = re.compile(
    r"--?(?:eval|print|exec|execute|command|cmd|ex|eval-expression|expression|run|source)(?:=|\Z)"
)


class Evaluated(msgspec.Struct):
    """What a command's program evaluates."""

    texts: list[Word] = []
    """Words that are evaluated."""
    files: list[Word] = []
    """Names of files that are."""
    reads_input: bool = False
    guard: Word | None = None
    """The first value among the operands: `--` must stand before it."""


def is_interpreter(word: Word) -> bool:
    return find_program(basename(word)).interpreter is not None


def find_evaluated(words: list[Word], is_tainted: Callable[[Word], bool]) -> Evaluated:
    """Says what an interpreter evaluates, also where expansions turn out to be empty."""
    found = _find(words, is_tainted)
    if any(word.text.startswith(EXPANDED) for word in words[1:]):
        left = [msgspec.structs.replace(word, text=word.text.lstrip(EXPANDED)) for word in words[1:]]
        bare = _find(
            [words[0], *(w for w, old in zip(left, words[1:], strict=True) if w.text or not old.may_vanish)],
            is_tainted,
        )
        found.texts += bare.texts
        found.files += bare.files
        found.reads_input |= bare.reads_input
    return found


def _find(words: list[Word], is_tainted: Callable[[Word], bool]) -> Evaluated:
    interpreter = find_program(basename(words[0])).interpreter or Interpreter()
    if interpreter.language == "sql":
        return _find_sql(words, is_tainted)
    if interpreter.language:
        return _find_text_first(interpreter, words, is_tainted)
    found = Evaluated(texts=[], files=[])
    i = 1
    while i < len(words):
        word, i = words[i], i + 1
        if word.text == "--":
            break
        if not word.text.startswith("-") or word.text == "-":
            if word.text.startswith("+") and interpreter.is_editor:
                found.texts.append(word)
                continue
            i -= 1
            break
        if interpreter.ends_options and re.fullmatch(r"-[A-Za-z]*m", word.text):
            return found  # a module, and its own words
        text, i = _read_option(interpreter, word, words, i)
        if text is not None:
            found.texts.append(text)
            if interpreter.ends_options:
                return found
        elif is_tainted(word):
            found.texts.append(word)
    operands = words[i:]
    if interpreter.is_client:
        return _find_client(interpreter, words, found)
    guarded = words[:i][-1].text == "--"
    if not found.texts:
        found.files += operands[:1]
        found.reads_input = not operands or operands[0].text == "-" or operands[0].may_vanish
    found.reads_input |= interpreter.is_commanded
    first = operands[0] if operands else None
    if first is not None and first.text[:1] == VALUE and not guarded:
        if interpreter.is_guarded:
            found.guard = first
        elif not found.texts:
            found.texts.append(first)
    return found


def _find_client(interpreter: Interpreter, words: list[Word], found: Evaluated) -> Evaluated:
    """A client of a database: options stand anywhere, and operands are no scripts."""
    found.texts = [
        text
        for i, word in enumerate(words[1:], 2)
        if (text := _read_option(interpreter, word, words, i)[0]) is not None
    ]
    found.reads_input = not found.texts
    return found


def _read_option(interpreter: Interpreter, word: Word, words: list[Word], i: int) -> tuple[Word | None, int]:
    """Returns the program that an option takes, if it does, and where to go on."""
    if not word.text.startswith("-"):
        return None, i
    if long := _LONG.match(word.text):
        glued = long[0].endswith("=")
        return (word, i) if glued else (words[i] if i < len(words) else None, i + 1)
    if word.text.startswith("--"):
        return None, i
    at = next((k for k, letter in enumerate(word.text) if k and letter in interpreter.letters), 0)
    if not at:
        return None, i
    if at + 1 < len(word.text):
        return word, i
    return (words[i] if i < len(words) else None), i + 1


def _find_text_first(
    interpreter: Interpreter, words: list[Word], is_tainted: Callable[[Word], bool]
) -> Evaluated:
    """`awk` and `sed`: the first operand is the program, unless an option brings one."""
    found = Evaluated(texts=[], files=[])
    operands: list[Word] = []
    i, later_options, ended = 1, False, False
    while i < len(words):
        word, i = words[i], i + 1
        if ended or not word.text.startswith("-") or word.text == "-":
            operands.append(word)
            ended = ended or interpreter.language == "awk"  # only sed looks for options behind its operands
            continue
        later_options = bool(operands)
        ended = word.text == "--"
        if re.fullmatch(r"-[nsiErzu]*[ef]|--(?:expression|file|source|include|exec)", word.text):
            from_file = word.text[-1] == "f" or word.text == "--file"
            given = words[i : i + 1]
            found.texts += given if not from_file or any(is_tainted(file) for file in given) else []
            found.files += given if from_file else []
            i += 1
        elif re.match(r"-[ef]|--(?:expression|file|source|include|exec)=", word.text):
            found.texts.append(word)
        elif word.text[1:] in tuple(interpreter.valued):
            i += 1
        elif is_tainted(word) and not re.match(r"-[iFv]|--(?:in-place|field-separator|assign)", word.text):
            found.texts.append(word)
    if not found.texts and not found.files:
        found.texts += operands[:1]
        operands = operands[1:]
    found.reads_input = any(file.text == "-" for file in found.files)
    tainted = [word for word in operands if word.text[:1] == VALUE]
    if tainted and not later_options and not ended and interpreter.language == "sed":
        found.guard = tainted[0]
    return found


def _find_sql(words: list[Word], is_tainted: Callable[[Word], bool]) -> Evaluated:
    found = Evaluated(texts=[], files=[])
    operands: list[Word] = []
    i = 1
    while i < len(words):
        word, i = words[i], i + 1
        if not word.text.startswith("-"):
            operands.append(word)
        elif word.text.lstrip("-") in {"cmd", "init", "separator", "nullvalue", "newline", "mmap", "vfs"}:
            found.texts += words[i : i + 1]
            i += 1
        elif is_tainted(word):
            found.texts.append(word)
    found.texts += operands[1:]
    found.reads_input = len(operands) < 2
    return found


_SED_ADDRESS = re.compile(
    r"(?:[0-9]+|\$|/(?:[^/\\\n]|\\.)*/[IM]*|\\(?P<d>.)(?:(?!(?P=d))[^\\\n]|\\.)*(?P=d)[IM]*)?"
    r"(?:[~,][~+]?(?:[0-9]+|\$|/(?:[^/\\\n]|\\.)*/[IM]*))?\s*!?\s*",
    re.DOTALL,
)
_SED_PLAIN = re.compile(r"[=dDgGhHnNpPxzlqQFvL]\s*[0-9]*")
_SED_TO_LINE_END = re.compile(r"(?:[aic](?:\\\n)?(?:[^\n\\]|\\.)*|[:btTrRwW#][^\n;}]*)", re.DOTALL)


def starts_what_it_reads(name: str, program: Word) -> bool:
    """Tells whether a program of awk or sed hands what it reads to a shell."""
    if "sed" in name:
        return program.known and _sed_executes(_drop_option(program))
    handed = r"""system\s*\(\s*(?!")|\|\s*"(?:/\w+)*/?(?:ba|da|z|k)?sh\b"""
    return "awk" in name and re.search(handed, program.text) is not None


def _drop_option(word: Word) -> str:
    return re.sub(r"^(?:-[nsErzu]*e|--expression=)", "", word.text)


def sed_starts_others(rest: tuple[Word, ...]) -> bool:
    """Tells whether sed may start a program (`e`, `s/x/y/e`), or is told what to do by what is not here."""
    found = find_evaluated([Word("sed"), *rest], lambda word: not word.known)
    opaque = any(
        not word.known and (not word.quoted or word.text[:1] in f"${EXPANDED}") for word in found.texts
    )
    return bool(found.files) or opaque or any(_sed_executes(_drop_option(word)) for word in found.texts)


def _sed_executes(text: str) -> bool:
    """Reads a sed script; what can't be followed may do anything."""
    i = 0
    while i < len(text):
        if text[i] in " \t\n;{}":
            i += 1
            continue
        address = _SED_ADDRESS.match(text, i)
        i = address.end() if address else i
        if text[i : i + 1] in {"s", "y"}:
            mark = re.escape(text[i + 1 : i + 2]) or "/"
            part = rf"(?:\[(?:[^\]\n]|\\.)+\]|(?!{mark})[^\\]|\\.)*?{mark}"
            whole = re.compile(rf"[sy]{mark}{part}{part}(?P<flags>[gpiImM0-9e]*)(?P<w>w[^\n]*)?", re.DOTALL)
            found = whole.match(text, i)
            if found is None or "e" in found["flags"]:
                return True
        else:
            found = (
                re.compile(r"\{").match(text, i)
                or _SED_PLAIN.match(text, i)
                or _SED_TO_LINE_END.match(text, i)
            )
            if found is None:
                return i < len(text)
        i = found.end()
        if i < len(text) and text[i] not in " \t\n;{}#" and found[0] != "{":
            return True
    return False
