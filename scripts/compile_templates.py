"""Templates of the page as calls: what htm would read when the page runs is read when it is made.

The page then ships without htm, and a tag that is not closed is found here.
"""

import json
import re
from typing import NamedTuple, NoReturn

_TOKEN = re.compile(
    r"(?P<space>\s+|//[^\n]*|/\*.*?\*/)"
    r"|(?P<text>'(?:[^'\\\n]|\\.)*'|\"(?:[^\"\\\n]|\\.)*\")"
    r"|(?P<word>[\w$]+)|(?P<template>`)|(?P<mark>.)",
    re.S,
)
_REGEX = re.compile(r"/(?:[^/\\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+/\w*")
_BEFORE_REGEX = re.compile(r"|[^\w$)\]}'\"`]|return|typeof|case|of|in")
"""What a slash can't divide."""
_IMPORTED = re.compile(r"^(import \{[^}]*)\bhtml\b", re.M)
_EDGES = re.compile(r"^\s*\n\s*|\s*\n\s*$")
_PLAIN_KEY = re.compile(r"[A-Za-z_$][\w$]*")


class TemplateError(Exception):
    """A template that this does not read as htm would; the message names it."""


def compile_templates(text: str) -> str:
    """Returns a module that has, and imports, `h` in the place of html`…`."""
    made, _ = _read_code(text, 0)
    return _IMPORTED.sub(r"\1h", made)


def _read_code(text: str, at: int, *, inside: bool = False) -> tuple[str, int]:
    """Returns code up to its end, or `inside` braces up to the one that closes them; and where that is."""
    made: list[str] = []
    before, depth = "", 0
    while at < len(text):
        if text[at] == "/" and text[at + 1] not in "/*" and _BEFORE_REGEX.fullmatch(before):
            found = _REGEX.match(text, at)
        else:
            found = _TOKEN.match(text, at)
        if found is None:
            raise TemplateError(f"can't be read: {text[at : at + 60]!r}")
        token, kind = found[0], found.lastgroup
        if token == "h" and kind == "word":
            raise TemplateError(f"h is what templates become, rename it: {text[at - 20 : at + 20]!r}")
        depth += {"{": 1, "}": -1}.get(token, 0)
        if inside and depth < 0:
            return "".join(made), at
        at = found.end()
        if kind == "template":
            statics, values, at = _read_template(text, at)
            if before == "html":
                made.pop()
                token = _Template(statics, values).made
            else:
                token = f"`{_interleave(statics, values)}`"
        made.append(token)
        if kind != "space":
            before = token if kind in ("word", "mark") else "`"
    if inside:
        raise TemplateError(f"a value is not closed: {text[-60:]!r}")
    return "".join(made), at


def _read_template(text: str, at: int) -> tuple[list[str], list[str], int]:
    """Returns the texts of a template, the values between them, and where it ends."""
    statics, values = [""], list[str]()
    while at < len(text):
        if text[at] == "`":
            return statics, values, at + 1
        if text.startswith("${", at):
            value, at = _read_code(text, at + 2, inside=True)
            values.append(value)
            statics.append("")
            at += 1
        else:
            size = 2 if text[at] == "\\" else 1
            statics[-1] += text[at : at + size]
            at += size
    raise TemplateError(f"a template is not closed: {text[-60:]!r}")


def _interleave(statics: list[str], values: list[str]) -> str:
    return statics[0] + "".join(
        f"${{{value}}}{after}" for value, after in zip(values, statics[1:], strict=True)
    )


class _Element(NamedTuple):
    tag: list[str]
    props: list[str]
    children: list[str]

    def write(self) -> str:
        props = f"{{{', '.join(self.props)}}}" if self.props else "null"
        return f"h({', '.join((*self.tag, props, *self.children))})"


class _Template:
    """Goes from letter to letter in the modes of htm's own `build`, and makes what that would evaluate."""

    def __init__(self, statics: list[str], values: list[str]) -> None:
        self._mode = "text"
        self._words = ""
        self._name = ""
        self._open = [_Element([], [], [])]
        self._source = _interleave(statics, values)
        for at, static in enumerate(statics):
            if at:
                if self._mode == "text":
                    self._commit()
                self._commit(values[at - 1])
            self._read(static)
        self._commit()
        if len(self._open) > 1:
            self._refuse(f"<{' '.join(self._open[-1].tag)}> is not closed")
        made = self._open[0].children
        self.made = made[0] if len(made) == 1 else f"[{', '.join(made)}]"

    def _refuse(self, why: str) -> NoReturn:
        raise TemplateError(f"{why}: html`{self._source[:200]}`")

    def _read(self, static: str) -> None:
        quote = ""
        for at, letter in enumerate(static):
            if letter == "\\":
                self._refuse("a backslash in a template")
            if self._mode == "text":
                if letter == "<":
                    self._commit()
                    self._open.append(_Element([], [], []))
                    self._mode = "tag"
                else:
                    self._words += letter
            elif quote or letter in "\"'":
                if quote and letter != quote:
                    self._words += letter
                else:
                    quote = "" if quote else letter
            elif letter == ">":
                self._commit()
                self._mode = "text"
            elif self._mode == "closing":
                pass
            elif letter == "=":
                self._mode, self._name, self._words = "value", self._words, ""
            elif letter == "/" and (self._mode not in ("value", "valued") or static[at + 1 : at + 2] == ">"):
                self._close()
            elif letter.isspace():
                self._commit()
                self._mode = "space"
            else:
                self._words += letter
        if quote:
            self._refuse("a value inside quotes")

    def _close(self) -> None:
        self._commit()
        if self._mode == "tag":  # `</…>`: there was no tag after all
            self._open.pop()
        if len(self._open) < 2:
            self._refuse("closes what is not open")
        made = self._open.pop()
        self._open[-1].children.append(made.write())
        self._mode = "closing"

    def _commit(self, value: str = "") -> None:
        """Ends a text, a tag's name, the name of a property or what it is."""
        words, self._words = self._words, ""
        element = self._open[-1]
        if self._mode == "text":
            if made := value or _quote(_EDGES.sub("", words)):
                element.children.append(made)
        elif self._mode == "tag":
            if made := value or _quote(words):
                element.tag.append(made)
                self._mode = "space"
        elif self._mode == "space":
            if value and words == "...":
                element.props.append(f"...{value}")
            elif value:
                self._refuse("a value without a name")
            elif words:
                self._add(words, "true")
        elif self._mode == "value":
            if words and value:
                self._refuse("a value in pieces")
            self._add(self._name, value or _quote(words) or '""')
            self._mode = "valued"
        elif words or value:
            self._refuse("a value in pieces")

    def _add(self, name: str, value: str) -> None:
        key = name if _PLAIN_KEY.fullmatch(name) else _quote(name)
        self._open[-1].props.append(f"{key}: {value}")


def _quote(words: str) -> str:
    return json.dumps(words, ensure_ascii=False) if words else ""
