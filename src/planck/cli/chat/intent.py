"""What a line of the user's means: something to say, to one member or to all, a command, or a shell's."""

import re
from collections.abc import Callable, Collection, Iterable
from typing import Literal

import msgspec

from planck.records.nearest import nearest
from planck.records.visible import fit_line

_WORD = re.compile(r"/[A-Za-z?][\w:.-]*$")
"""What could be meant as a command; `/etc/hosts` has a second slash, `/*` and `//` are no words."""
_AS_TEXT = "Start with a space to send it as text."
_MEMBER = re.compile(r"@([^\s@]+?)[,:]?(?:\s+|$)")
_NAME = re.compile(r"[\w-]+")
"""What is taken for the name of a member where none has it; `@src/a.py` and `@app.get(...)` are text."""


class Intent(msgspec.Struct, frozen=True):
    what: Literal["say", "command", "custom", "prompt", "shell", "mistake"]
    text: str
    """What is said, the command's arguments, the shell's line, or what was wrong."""
    name: str = ""
    """Of the command, without its slash; of a server's prompt; of the member, known or not."""


def read_intent(
    line: str,
    commands: Collection[str],
    custom: Collection[str] = (),
    members: Iterable[str] = (),
    servers: Collection[str] = (),
    exists: Callable[[str], bool] = bool,
) -> Intent:
    """A line that begins with a blank is said as it is, whatever it looks like.

    `servers` have prompts, called by `/server:prompt`. `exists`: whether a word names a file.
    """
    text = line.strip()
    if line[:1] in (" ", "\t"):
        return Intent("say", text)
    if text.startswith("!"):
        command = text[1:].strip()
        if not command:
            return Intent("mistake", "Write a command after the exclamation mark, for example: !git status")
        return Intent("shell", command)
    if text.startswith("@") and (found := _MEMBER.match(text)):
        known, rest = set(members), text[found.end() :].strip()
        if found[1] in known and not rest:
            return Intent("mistake", f"Write a message after @{found[1]}.")
        if found[1] in known:
            return Intent("say", rest, found[1])
        if _NAME.fullmatch(found[1]) and not exists(found[1]):
            return Intent("mistake", _refuse_name(found[1], known), found[1])
    word, _, rest = text.partition(" ") if " " in text.split("\n", 1)[0] else text.partition("\n")
    if not text.startswith("/") or not (_WORD.match(word) or text == "/"):
        return Intent("say", text)
    name = word[1:]
    if name in commands:
        return Intent("command", rest.strip(), name)
    if name in custom:
        return Intent("custom", rest.strip(), name)
    if ":" in name and name.partition(":")[0] in servers:
        return Intent("prompt", rest.strip(), name)
    if name.lower() in commands:
        return Intent("command", rest.strip(), name.lower())
    return Intent("mistake", _refuse(word, [*commands, *custom]))


def keep_from_shell(line: str) -> str:
    """The same, to be said where it begins with `!`: a text that was not typed, such as `![a badge](...)`."""
    return f" {line}" if line.lstrip().startswith("!") else line


def _refuse(word: str, known: list[str]) -> str:
    meant = suggest(word, [f"/{name}" for name in known]) if len(word) > 1 else ""
    return f"Unknown command {fit_line(word, 60)}.{meant or ' /help lists the commands.'} {_AS_TEXT}"


def _refuse_name(name: str, known: Collection[str]) -> str:
    meant = "".join(f" Did you mean @{one}?" for one in nearest(name, known))
    there = meant or f" Members: {', '.join(sorted(known))}."
    return f"No member or file is named {fit_line(name, 60)!r}.{there} Nothing was sent. {_AS_TEXT}"


def suggest(word: str, known: Iterable[str]) -> str:
    """Returns ` Did you mean /fork?`, or nothing."""
    return "".join(f" Did you mean {name}?" for name in nearest(word, known))
