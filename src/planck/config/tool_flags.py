"""What `--allowed-tools` and `--disallowed-tools` come to: rules of one run, and tools that nobody has then.

    edit, read                       by our names, or by those of Claude Code: Edit, Read
    Bash(git log:*)  bash(git log *) a command that begins so; Bash(git log) is that command alone
    WebFetch(domain:example.org)     a host
    mcp__time  mcp__time__*          all that a server has

A name that nobody knows is a mistake and not an empty wish: what was to be forbidden would be allowed.
"""

import re
from collections.abc import Collection, Iterable, Sequence
from fnmatch import fnmatchcase
from typing import Any

import msgspec

from planck.config.load import ConfigError
from planck.records.nearest import did_you_mean
from planck.records.outcome import ErrorKind
from planck.records.tools import TOOLS, find_row

ELSEWHERE = frozenset(
    {
        *("websearch", "todoread", "bashoutput", "killbash", "killshell", "exitplanmode", "enterplanmode"),
        *("slashcommand", "askuserquestion", "listmcpresourcestool", "readmcpresourcetool", "toolsearch"),
        *("taskoutput", "taskstop", "lsp"),
    }
)
"""What Claude Code has and we have not: to forbid it changes nothing, to allow it neither."""

_ENTRY = re.compile(r"([^\s,()]+)(?:\(((?:[^()]|\([^()]*\))*)\))?")


class ToolFlags(msgspec.Struct, frozen=True):
    rules: tuple[dict[str, Any], ...]
    withheld: tuple[str, ...]
    """Patterns of names."""


def read_tool_flags(
    allowed: Iterable[str], disallowed: Iterable[str], known: Collection[str], *, others: bool
) -> ToolFlags:
    """`known` are the tools of this run; with `others` there may be more, of sidecars and servers."""
    rules: list[dict[str, Any]] = []
    withheld: list[str] = []
    for name, pattern in _split("--allowed-tools", allowed):
        for tool in _find_tools("--allowed-tools", name, known, others=others):
            rules.append(_make_rule("--allowed-tools", tool, pattern, "allow"))
    for name, pattern in _split("--disallowed-tools", disallowed):
        for tool in _find_tools("--disallowed-tools", name, known, others=others):
            if pattern in ("", "*", ":*"):
                withheld.append(tool)
            else:
                rules.append(_make_rule("--disallowed-tools", tool, pattern, "deny"))
    return ToolFlags(tuple(rules), tuple(withheld))


def _split(flag: str, texts: Iterable[str]) -> Iterable[tuple[str, str]]:
    """Names with spaces or commas between them; what stands in brackets belongs to the name before it."""
    for text in texts:
        at = 0
        while at < len(text):
            if text[at] in " ,\t\n":
                at += 1
                continue
            found = _ENTRY.match(text, at)
            if not found or text[found.end() : found.end() + 1] not in ("", " ", ",", "\t", "\n"):
                raise _refuse(f"{flag}: {text[at:]!r} is no name of a tool, alone or with (...) behind it")
            at = found.end()
            yield found[1], (found[2] or "").strip()


def _find_tools(flag: str, name: str, known: Collection[str], *, others: bool) -> Sequence[str]:
    """Our names, or patterns of them, for a name as the user writes it; none: only other agents have it."""
    folded = name.casefold()
    if own := [tool for tool in known if tool.casefold() == folded]:
        return own
    if theirs := [tool for tool, row in TOOLS.items() if folded in map(str.casefold, row.claude)]:
        return theirs
    if folded in ELSEWHERE:
        return ()
    if name.startswith("mcp__"):
        return (name,) if "__" in name[5:] else (f"{name}__*",)
    if any(char in name for char in "*?["):
        if others or any(fnmatchcase(tool, name) for tool in known):
            return (name,)
    elif others:  # a sidecar may bring it
        return (name,)
    raise _refuse(
        f"{flag}: there is no tool {name!r}{did_you_mean(name, known)}; `planck tools list` has all"
    )


def _make_rule(flag: str, tool: str, pattern: str, decision: str) -> dict[str, Any]:
    rule: dict[str, Any] = {"tool": tool, "decision": decision}
    if pattern in ("", "*", ":*"):
        return rule
    if find_row(tool).rule == "command":
        begins = pattern.endswith((":*", " *"))
        words = pattern[:-2] if begins else pattern
        if decision == "allow":
            return {**rule, "command": f"{words} *"} if begins else {**rule, "command": words, "exact": True}
        return {**rule, "command": words}
    if find_row(tool).rule == "host":
        return {**rule, "host": pattern.removeprefix("domain:")}
    taking = " and ".join(name for name, row in TOOLS.items() if row.rule != "name")
    raise _refuse(f"{flag}: {tool}({pattern}): only {taking} take a pattern here; name the tool alone")


def _refuse(message: str) -> ConfigError:
    return ConfigError(ErrorKind.INVALID_ARGS, message)
