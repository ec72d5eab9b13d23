"""A TOOL.json command: `{{placeholders}}` become variables of the script, so a value is never its text.

The script is fixed when the tool is loaded. A call adds positional arguments, which the script's first line
moves into variables; each placeholder is an expansion of its variable, quoted as its place demands.
"""

import shlex
from collections.abc import Mapping
from typing import Any

import msgspec

from planck.records import codec
from planck.records.outcome import ErrorKind
from planck.shell import hazards
from planck.shell.script import PLACEHOLDER, Slot, read
from planck.shell.words import Quote, ShellError
from planck.toolkit.tool import ArgumentError, ToolError

MAX_COMMAND = 32_768
"""Characters, half a second to read at worst: files of others' are read before anybody trusts them."""
MAX_VALUE_BYTES = 120_000
"""Linux takes 128 KiB in one argument of a program."""
_WAY_OUT = "correct the command, or put it in a script file and pass the values as arguments"
"""Said with every refusal, whatever narrower way that names in parentheses."""
MAX_VALUES_BYTES = 1_000_000
"""And about 2 MiB in all of them, the environment included."""


class Template(msgspec.Struct, frozen=True):
    pieces: tuple[str | Slot, ...]
    variables: Mapping[str, str]
    """From a placeholder's name to its shell variable."""

    def fill(self, args: Mapping[str, Any]) -> tuple[str, list[str]]:
        """Returns the script, and the positional arguments that it takes."""
        given = {name: format_value(name, args[name]) for name in self.variables if name in args}
        if sum(len(value.encode()) for value in given.values()) > MAX_VALUES_BYTES:
            raise ToolError(
                ErrorKind.LIMIT_EXCEEDED,
                f"the values of {', '.join(given)} are too long in total; pass a file instead",
            )
        setup = [f"{self.variables[name]}=${{{i}}}" for i, name in enumerate(given, 1)]
        setup += [f"unset -v {variable}" for name, variable in self.variables.items() if name not in given]
        setup += [f"shift {len(given)}"] if given else []
        setup += [
            self._set_path_variable(slot)
            for slot in self.pieces
            if isinstance(slot, Slot) and slot.opens_path
        ]
        body = "".join(piece if isinstance(piece, str) else self._expand(piece) for piece in self.pieces)
        # On the author's first line, so that bash's line numbers are the author's; the newline at the end
        # closes a comment or a continued line of theirs before anything is appended.
        return "".join(f"{part}; " for part in setup) + body + "\n", list(given.values())

    def _set_path_variable(self, slot: Slot) -> str:
        """Doubles the leading slash of the value: see `Slot.opens_path`."""
        variable = self.variables[slot.name]
        return f"{variable}p=${{{variable}-}}; case ${variable}p in /*) {variable}p=/${variable}p;; esac"

    def _expand(self, slot: Slot) -> str:
        variable = self.variables[slot.name]
        expansion = f"${{{variable}p}}" if slot.opens_path else f"${{{variable}-}}"
        match slot.quote:
            case Quote.WORD:
                return f'${{{variable}+"${variable}"}}'
            case Quote.BARE:
                return f'"{expansion}"'
            case Quote.DOUBLE:
                return expansion
            case Quote.SINGLE:
                return f"'\"{expansion}\"'"
            case Quote.ANSI:
                return f"'\"{expansion}\"$'"

    def show(self, args: Mapping[str, Any]) -> str:
        """Returns the command as a person would have typed it; for plans and questions only."""
        return "".join(piece if isinstance(piece, str) else _quote(piece, args) for piece in self.pieces)


def compile_template(command: str) -> Template:
    """Raises `ToolError` for a placeholder that a shell would evaluate."""
    if len(command) > MAX_COMMAND:
        raise ToolError(
            ErrorKind.LIMIT_EXCEEDED,
            f"the command has {len(command)} characters, and at most {MAX_COMMAND} are allowed; "
            "put it in a script file",
        )
    if not PLACEHOLDER.search(command):
        return Template((command,), {})
    if "__planck_" in command:
        raise ArgumentError(
            "the command cannot use names that start with '__planck_'; correct it, or put it in a script file"
        )
    try:
        script = read(command)
        hazards.check(script)
    except ShellError as refusal:
        raise ArgumentError(f"{refusal}; {_WAY_OUT}") from None
    names = dict.fromkeys(piece.name for piece in script.pieces if isinstance(piece, Slot))
    return Template(
        tuple(piece for piece in script.pieces if piece),
        {name: f"__planck_{i}" for i, name in enumerate(names)},
    )


def format_value(name: str, value: Any) -> str:
    """Returns strings as they are, null as nothing, everything else as compact JSON."""
    text = value if isinstance(value, str) else "" if value is None else codec.encode_str(value)
    if "\0" in text:
        raise ArgumentError(
            f"{name!r} contains a NUL character, which cannot be passed to a program; remove it"
        )
    try:
        size = len(text.encode())
    except UnicodeEncodeError as problem:
        raise ArgumentError(
            f"{name!r} is not valid Unicode at character {problem.start}; remove that character"
        ) from problem
    if size > MAX_VALUE_BYTES:
        raise ToolError(
            ErrorKind.LIMIT_EXCEEDED,
            f"{name!r} has {size} bytes, and one argument may have at most {MAX_VALUE_BYTES}; pass a file",
            {"bytes": size, "limit": MAX_VALUE_BYTES},
        )
    return text


def _quote(slot: Slot, args: Mapping[str, Any]) -> str:
    value = format_value(slot.name, args.get(slot.name))
    match slot.quote:
        case Quote.WORD:
            return shlex.quote(value) if slot.name in args else ""
        case Quote.BARE:
            return shlex.quote(value) if value else ""
        case Quote.DOUBLE:
            return "".join(f"\\{c}" if c in '\\"$`' else c for c in value)
        case Quote.SINGLE:
            return value.replace("'", "'\\''")
        case Quote.ANSI:
            return value.replace("\\", "\\\\").replace("'", "\\'")
