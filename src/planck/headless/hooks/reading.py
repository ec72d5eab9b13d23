"""The hooks of a configuration are read: events, matchers and commands, as people wrote them elsewhere too.

What can't be understood is told. A guard is never left out because of a name: a matcher that nobody can read
means every tool, and a hook beside one that is none is run.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from planck.records import codec
from planck.records.nearest import did_you_mean

EVENTS = (
    *("PreToolUse", "PostToolUse", "PostToolUseFailure", "UserPromptSubmit"),
    *("SessionStart", "SessionEnd", "Stop", "PermissionRequest"),
    *("SubagentStart", "SubagentStop", "PreCompact", "PostCompact", "Notification"),
)
OBSERVED = EVENTS[-5:]
"""What hooks are told of, and hold nothing up."""
ELSEWHERE = (
    *("PermissionDenied", "Setup", "StopFailure", "TeammateIdle", "TaskCreated", "TaskCompleted"),
    *("ConfigChange", "CwdChanged", "FileChanged", "InstructionsLoaded", "WorktreeCreate", "WorktreeRemove"),
    *("Elicitation", "ElicitationResult", "BeforeTool", "AfterTool", "BeforeAgent", "AfterAgent"),
)
"""What other agents have: no mistake of the user's, and nothing that we run."""
_TIMEOUT = 60.0
_MAX_TIMEOUT = 600.0


class Hook(msgspec.Struct, frozen=True):
    command: str
    matcher: str = ""
    timeout: float = _TIMEOUT

    def wants(self, subject: str) -> bool:
        """By any of its names: a guard that is not run because of a name would let everything pass."""
        from planck.headless.hooks.claude_names import spell_all  # only where there is a hook

        return any(_matches(self.matcher, name) for name in spell_all(subject))

    def name(self, tool: str) -> str:
        """What it is told as `tool_name`: by what its matcher means the tool, the usual name first."""
        from planck.headless.hooks.claude_names import name_for_hooks, spell_all

        known = (name_for_hooks(tool), *spell_all(tool)[1:])
        return next((name for name in known if _matches(self.matcher, name)), known[0])


def read_hooks(raw: Mapping[str, Any]) -> tuple[dict[str, list[Hook]], list[str]]:
    """The hooks of a configuration by event, and what is wrong with the rest."""
    found: dict[str, list[Hook]] = {}
    problems: list[str] = []
    for written, entries in raw.items():
        event = _SPELLED.get(_fold(written), written)
        if event in ELSEWHERE:
            problems.append(f"hooks: {event} is not supported, so its hooks do not run")
            continue
        if event not in EVENTS:
            hint = did_you_mean(event, EVENTS) or f". Use one of {', '.join(EVENTS)}."
            problems.append(f"hooks: unknown event {event!r}{hint}")
            continue
        for entry in entries if isinstance(entries, list) else [entries]:
            try:
                found.setdefault(event, []).extend(_hooks(entry, problems))
            except TypeError as failure:
                problems.append(_tell_problem(entry, failure))
    return found, problems


def _fold(name: str) -> str:
    """A guard under `preToolUse` or `pre_tool_use` is one, too."""
    return re.sub(r"[\W_]", "", name).casefold()


_SPELLED = {_fold(event): event for event in EVENTS}


def has_any(settings: Mapping[str, Any], events: Sequence[str]) -> bool:
    """Returns whether a configuration names one of the events, however it is spelled."""
    return any(_SPELLED.get(_fold(written)) in events for written in settings)


def _hooks(entry: Any, problems: list[str]) -> list[Hook]:
    """Of `{matcher, hooks: [{command, timeout}]}`, or of one that stands alone; one that is none takes no
    other along."""
    if not isinstance(entry, dict):
        raise TypeError("must be an object with `command`, or with `matcher` and `hooks`")
    matcher = _read_matcher(entry.get("matcher"), problems)
    inner = entry.get("hooks", [entry])
    found: list[Hook] = []
    for one in inner if isinstance(inner, list) else [inner]:
        try:
            found.append(_hook(matcher, one, problems))
        except (ValueError, TypeError, AttributeError) as failure:
            problems.append(_tell_problem(one, failure))
    return found


def _tell_problem(entry: Any, failure: Exception) -> str:
    return f"hooks: {codec.encode_str(entry)[:80]}: {failure}"


def _read_matcher(written: Any, problems: list[str]) -> str:
    """One that can't be read means every tool: a guard stands everywhere rather than nowhere."""
    if isinstance(written, list) and all(isinstance(name, str) for name in written):
        written = "|".join(written)
    matcher = written or ""
    if not isinstance(matcher, str):
        problems.append(
            f"hooks: the matcher {codec.encode_str(written)[:80]} is not a string, so it matches every tool"
        )
        return ""
    if not _PLAIN.fullmatch(matcher):
        try:
            re.compile(matcher)
        except re.error as failure:
            problem = f"hooks: the matcher {matcher!r} is not a valid pattern ({failure})"
            problems.append(f"{problem}, so it matches every tool")
            return ""
    return matcher


_PLAIN = re.compile(r"[\w-]*(\(.*\))?([|,]\s*[\w-]+(\(.*\))?)*|\*", re.DOTALL)
"""Names, as in Claude Code; what stands in brackets narrows a permission there, and here nothing."""


def _matches(matcher: str, name: str) -> bool:
    if matcher in ("", "*"):
        return True
    if _PLAIN.fullmatch(matcher):
        names = re.split(r"[|,]\s*", re.sub(r"\([^()]*\)", "", matcher))
        return name.casefold() in map(str.casefold, names)
    return re.search(matcher, name, re.IGNORECASE) is not None


def _hook(matcher: str, entry: Any, problems: list[str]) -> Hook:
    command = entry.get("command")
    if entry.get("type", "command") != "command":
        raise ValueError(f"type {entry['type']!r} is not supported; use 'command'")
    if not isinstance(command, str) or not command.strip():
        raise ValueError("`command` is missing")
    if isinstance(words := entry.get("args"), list):
        command = " ".join(_quote(str(word)) for word in (command, *words))
    if "if" in entry:
        problems.append(f"hooks: {command!r}: `if` is ignored; the hook runs each time its matcher matches")
    return Hook(command, matcher, _read_timeout(command, entry.get("timeout", _TIMEOUT), problems))


def _read_timeout(command: str, written: Any, problems: list[str]) -> float:
    """One that makes no sense is another one, and no reason not to run a guard."""
    if isinstance(written, int | float) and 0 < written <= _MAX_TIMEOUT:
        return float(written)
    taken = _MAX_TIMEOUT if isinstance(written, int | float) and written > 0 else _TIMEOUT
    wanted = f"`timeout` must be a number of seconds above 0 and at most {_MAX_TIMEOUT:g}"
    problems.append(f"hooks: {command!r}: {wanted}; using {taken:g} s")
    return taken


def _quote(word: str) -> str:
    """For the shell, which fills in the project's folder alone."""
    import shlex  # few hooks have `args`

    parts = re.split(r"(\$\{?CLAUDE_PROJECT_DIR\b\}?)", word)
    return (
        "".join(f'"{part}"' if at % 2 else shlex.quote(part) for at, part in enumerate(parts) if part) or "''"
    )
