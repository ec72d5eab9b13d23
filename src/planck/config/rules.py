"""Rules of permissions: what the user's files say, with private places, and what the flags of one run say."""

import hashlib
import os
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import msgspec

from planck.config.load import ConfigError, Loaded, edit_user_file
from planck.config.private import Private, find_homes
from planck.config.project import Project
from planck.permissions.policy import PolicyContext
from planck.permissions.rules import Rule, RuleError, SourcedRule, load
from planck.records import codec
from planck.records.authority import CHANGELESS, Confinement, Mode
from planck.records.outcome import ErrorKind, say_option
from planck.records.tools import TOOLS, find_row
from planck.workspace.paths.paths import WorkspaceError
from planck.workspace.sandbox.closed import find_closed
from planck.workspace.sandbox.sandbox import find


class RuleBook:
    """The rules of one session as they were when it began; what costs a look is looked at once."""

    def __init__(self, project: Project, flags: Sequence[Mapping[str, Any]] = ()) -> None:
        """`flags` are rules of this run alone; they stand beside the others, and the strictest wins."""
        own = rules_in_force(project.resources.loaded, project.workspace)
        self._rules = (*own, *load(flags, "flags")) if flags else own
        self._project = project
        self._home = project.home
        self.place: str = str(project.home / "config.json")
        self._environ = project.environ
        self._known: dict[Mode | None, PolicyContext] = {}
        self._private: dict[bool, Private] = {}

    def policy_context(self, mode: Mode | None) -> PolicyContext:
        """What holds for a call; with a mode also whether a command can be confined to it, tried once."""
        if mode not in self._known:
            problem = _missing_sandbox(mode) if mode else ""
            private, homes = self._find_private(mode), find_homes(self._home, self._environ)
            self._known[mode] = PolicyContext(
                self._rules, private.masked, problem, private.shown, private.hidden, homes
            )
        return self._known[mode]

    def look_again(self) -> None:
        """Agents write in another folder now: what lies there opens no private place, and closes none."""
        self._known.clear()
        self._private.clear()

    def _find_private(self, mode: Mode | None) -> Private:
        confines = mode not in (None, Mode.FULL)  # other calls are those of file tools, or see everything
        if confines not in self._private:
            self._private[confines] = self._project.find_private_places(programs=confines)
        return self._private[confines]

    def digest(self) -> str:
        """Names the rules in force, in their order and whatever file they stand in."""
        return hashlib.sha256(codec.encode([one.rule for one in self._rules])).hexdigest()

    def read_now(self) -> tuple[SourcedRule, ...]:
        """Returns the rules of the files at this moment; files that can't be read change nothing."""
        try:
            self._project.resources.refresh()
            return rules_in_force(self._project.resources.loaded, self._project.workspace)
        except ConfigError:
            return self._rules

    def bind(self, rule: Rule) -> Rule:
        """Returns the rule as it is saved: for this project and no other."""
        folder = os.path.realpath(self._project.workspace)
        return msgspec.structs.replace(rule, project=folder, project_id=_identify(folder))

    def keep(self, rule: Rule) -> str:
        """Adds a rule to the user's own configuration; returns the place where it holds from now on."""
        try:
            with edit_user_file(self._home) as config:
                rules = config.setdefault("permissions", {}).setdefault("rules", [])
                rules.append(codec.decode(codec.encode(rule)))
        except (WorkspaceError, ConfigError) as refusal:
            return f"approved for this session; the rule could not be saved: {refusal.err.message}"
        except (AttributeError, TypeError) as problem:
            return f"approved for this session; the rule could not be saved: {problem}"
        return f"{self.place}, rule {len(rules)}"


def replaceable_rights(project: Project) -> Confinement:
    """Rights of a program that starts by itself and lies where an agent's command could replace it."""
    private = project.find_private_places()
    roots, homes = project.roots, find_homes(project.home, project.environ)
    writable = tuple(root for root in roots if not find_closed(root, homes))
    return Confinement(
        Mode.WORKSPACE,
        roots,
        writable,
        masked=private.masked,
        shown=private.shown,
        hidden=private.hidden,
    )


def rules_in_force(loaded: Loaded, workspace: Path) -> tuple[SourcedRule, ...]:
    """The highest list of the user's own places, and the project's beside it: that one replaces none.

    Rules for other projects are checked like all others, and left out.
    """
    own: tuple[SourcedRule, ...] = ()
    project: tuple[SourcedRule, ...] = ()
    folder = str(workspace / ".planck" / "config.json")
    try:
        for layer in loaded.layers:
            if "rules" not in layer.permissions:
                continue
            if layer.source.startswith(folder):
                project = load(layer.permissions["rules"], layer.source)
            else:
                own = load(layer.permissions["rules"], layer.origin("permissions"))
    except RuleError as failure:
        raise ConfigError(failure.err.kind, failure.err.message) from None
    return tuple(one for one in (*own, *project) if not one.rule.project or _is_for(one.rule, workspace))


def _is_for(rule: Rule, workspace: Path) -> bool:
    """Whether a rule is for a workspace: by its canonical path, and by the folder that is there now."""
    folder = os.path.realpath(workspace)
    # The rule's own path is not followed: a link that took its place leads to another project.
    if os.path.expanduser(rule.project).rstrip("/") != folder:
        return False
    return not rule.project_id or rule.project_id == _identify(folder)


def _identify(folder: str) -> str:
    """Names a folder apart from others that may take its place; empty: it can't be looked at."""
    try:
        return str(os.stat(folder).st_ino)
    except OSError:
        return ""


def _missing_sandbox(mode: Mode) -> str:
    """Why this machine can't confine a command; empty: it can. What a root itself forbids: `find_closed`."""
    found = find()
    if found.sandbox is None:
        return "; ".join(found.problems)
    if mode in CHANGELESS or found.sandbox.writes:
        return ""
    return f"{found.sandbox.level} can only run commands that write nothing; {'; '.join(found.problems)}"


ELSEWHERE = frozenset(
    {
        *("websearch", "todoread", "bashoutput", "killbash", "killshell", "exitplanmode", "enterplanmode"),
        *("slashcommand", "askuserquestion", "listmcpresourcestool", "readmcpresourcetool", "toolsearch"),
        *("taskoutput", "taskstop", "lsp"),
    }
)
"""What Claude Code has and we have not: to forbid it changes nothing, to allow it neither."""

_ENTRY = r"([^\s,()]+)(?:\(((?:[^()]|\([^()]*\))*)\))?"


class ToolFlags(msgspec.Struct, frozen=True):
    """The rules of one run, and the tools that nobody has then."""

    rules: tuple[dict[str, Any], ...]
    withheld: tuple[str, ...]
    """Patterns of names."""


def read_tool_flags(
    allowed: Iterable[str], disallowed: Iterable[str], known: Collection[str], *, others: bool
) -> ToolFlags:
    """Returns what `--allowed-tools` and `--disallowed-tools` come to.

        edit, read                       by our names, or by those of Claude Code: Edit, Read
        Bash(git log:*)  bash(git log *) a command that begins so; Bash(git log) is that command alone
        WebFetch(domain:example.org)     a host
        mcp__time  mcp__time__*          all that a server has

    A name that nobody knows is a mistake and not an empty wish: what was to be forbidden would be allowed.
    `known` are the tools of this run; with `others` there may be more, of sidecars and servers.
    """
    allow, forbid = (say_option(f"--{name}-tools", f"{name}_tools") for name in ("allowed", "disallowed"))
    rules: list[dict[str, Any]] = []
    withheld: list[str] = []
    for name, pattern in _split(allow, allowed):
        for tool in _find_tools(allow, name, known, others=others):
            rules.append(_make_rule(allow, tool, pattern, "allow"))
    for name, pattern in _split(forbid, disallowed):
        for tool in _find_tools(forbid, name, known, others=others):
            if pattern in ("", "*", ":*"):
                withheld.append(tool)
            else:
                rules.append(_make_rule(forbid, tool, pattern, "deny"))
    return ToolFlags(tuple(rules), tuple(withheld))


def _split(flag: str, texts: Iterable[str]) -> Iterable[tuple[str, str]]:
    """Names with spaces or commas between them; what stands in brackets belongs to the name before it."""
    entry = re.compile(_ENTRY)
    for text in texts:
        at = 0
        while at < len(text):
            if text[at] in " ,\t\n":
                at += 1
                continue
            found = entry.match(text, at)
            if not found or text[found.end() : found.end() + 1] not in ("", " ", ",", "\t", "\n"):
                raise _refuse(f"{flag}: {text[at:]!r} is not a tool name. Write NAME or NAME(PATTERN).")
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
    from planck.records.nearest import did_you_mean

    hint = did_you_mean(name, known) or "."
    raise _refuse(f'{flag}: unknown tool {name!r}{hint} Run "planck tools list" to see every tool.')


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
    raise _refuse(
        f"{flag}: {tool}({pattern}) is not valid, because only {taking} take a pattern. Write {tool!r} alone."
    )


def _refuse(message: str) -> ConfigError:
    return ConfigError(ErrorKind.INVALID_ARGS, message)
