"""The question to the user about a call or a server's tools, and the next step after a denial."""

from collections.abc import Mapping
from typing import Any, Protocol

import msgspec

from planck.permissions.approver import digest
from planck.permissions.policy import Verdict
from planck.records import codec
from planck.records.approval import Question
from planck.records.authority import Confinement, Mode
from planck.records.diffs import cut_middle
from planck.records.events import DeniedBy
from planck.records.ports import Keys, KnownKeys
from planck.records.tools import COMMAND_TOOLS, HOST_TOOLS
from planck.records.visible import spell_out
from planck.toolkit.tool import Effect, Tool

_MAX_PREVIEW = 64 * 1024
"""Characters of a dry run that the user is shown, and the log keeps."""


class ToolChange(msgspec.Struct, frozen=True):
    """What a server now says of its tools, in words."""

    server: str
    names: str
    text: str
    """What it said and says now, each on one line: a text of the server's own can't look like ours."""
    digest: str


class Asker(Protocol):
    agent_id: str
    name: str
    """With whom it works for."""

    def can_confine(self, tool: Tool) -> bool:
        """Whether a rule can keep this tool's calls in the sandbox."""


def ask_for_call(
    id: str, asker: Asker, tool: Tool, args: Mapping[str, Any], verdict: Verdict, place: str
) -> Question:
    """The question whether this very call may run with these very rights; a rule is kept at `place`."""
    from planck.permissions.grants import offer_rule, spell_rule, suggest_wider  # few sessions ask

    rule = offer_rule(tool, args, verdict)
    # What says that its sandbox is too small is not helped by a rule that holds it there.
    held = rule is not None and not args.get("escalate") and asker.can_confine(tool)
    return Question(
        id=id,
        agent_id=asker.agent_id,
        agent=spell_out(asker.name),
        tool=tool.name,
        text=spell_out(_call_text(tool, args)),
        adds=_added_rights(tool, args, verdict.confinement),
        reason=verdict.why,
        digest=digest(asker.agent_id, tool.name, args, verdict.confinement),
        rule=spell_rule(rule) if rule else "",
        wider=suggest_wider(rule) if rule and held else "",
        written=codec.encode_str(rule) if rule else "",
        place=place if rule else "",
    )


def ask_for_tools(id: str, change: ToolChange) -> Question:
    """The question whether the user takes what a server now says: no call waits, so it is no agent's."""
    return Question(
        id=id,
        agent_id="",
        agent=f"MCP server {spell_out(change.server)!r}",
        tool=change.names,
        text=change.text,
        adds="agents that use this server may call these tools as described here",
        reason="a server's new or changed tools are blocked until you approve them",
        digest=change.digest,
    )


def hide_keys(question: Question, keys: KnownKeys | None) -> Question:
    """The question as the log has it: what the user sees may be seen by others, or go to another machine."""
    if keys is None:
        return question
    known = keys()
    shown = ("agent", "tool", "text", "adds", "reason", "rule", "preview")
    return msgspec.structs.replace(
        question, **{field: _hide(known, getattr(question, field)) for field in shown}
    )


def cut_preview(question: Question) -> Question:
    """The one place where a preview is cut, so that every frontend is told of it by a field."""
    preview, hidden_lines = cut_middle(question.preview, _MAX_PREVIEW)
    return msgspec.structs.replace(question, preview=preview, hidden_lines=hidden_lines)


def _hide(known: Keys, text: str) -> str:
    safe, rest = known.split_bytes(text.encode(errors="replace"))
    return (safe + rest).decode(errors="replace")


def _call_text(tool: Tool, args: Mapping[str, Any]) -> str:
    """A command as it is typed, what else was given below it; any other call as its arguments.

    Why it asks for more is no part of what runs: it stands in the question's reason.
    """
    command = args.get("command")
    if tool.name not in COMMAND_TOOLS or not isinstance(command, str):
        return f"{tool.name} {codec.encode_str(dict(args))}"
    rest = {key: value for key, value in args.items() if key not in ("command", "escalate")}
    return f"{command}\n{codec.encode_str(rest)}" if rest else command


def _added_rights(tool: Tool, args: Mapping[str, Any], rights: Confinement) -> str:
    if rights.addresses:
        place = spell_out(", ".join(rights.addresses))
        return (
            f"sends everything the new agent is told and reads, including your files, to {place}; "
            "that server then controls the agent"
        )
    if tool.name in HOST_TOOLS:
        return "sends the URL to that host and reads its response; contacts no other host"
    if tool.effect is Effect.FILES:
        path = str(args.get("path", "files"))
        return spell_out(f"modifies {path if path.isprintable() else repr(path)}")
    if rights.mode is Mode.FULL:
        return "runs outside the sandbox: it may change any of your files and use the network"
    network = "with" if rights.network else "without"
    return f"runs in the sandbox for mode {rights.mode.value!r}, {network} network access"


_NO_DETOUR = "Do not try to do the same thing another way."


def find_next_step(by: DeniedBy, tool: Tool, args: Mapping[str, Any], asker: str, words: str) -> str:
    """`asker` gave the agent its work; `words` are what the user said with a no."""
    match by:
        case "user" if words:
            return "Do what they say."
        case "user":
            return (
                f"{_NO_DETOUR} Continue with the rest of the task, or end your turn by asking {asker} what "
                "to do instead."
            )
        case "nobody":
            return (
                f"{_NO_DETOUR} Continue with the rest of the task, and list this call in your final text as "
                "still to do."
            )
        case "mode" if args.get("escalate"):
            return "Call it without `escalate` if it only reads."
        case "mode" if tool.effect is Effect.FILES:
            return "Describe the change in your answer instead."
        case "hook":
            return "Follow the hook's reason, or continue without this call."
        case "grant":
            return f"Ask {asker} to have it done, or report it as not done."
        case "address":
            return "Use a model from `list_models`."
    return "Continue without this call, and say so at the end."
