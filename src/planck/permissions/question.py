"""The question to the user about a call or a server's tools, and the next step after a denial."""

import hashlib
import os
from collections.abc import Mapping
from typing import Any, Protocol
from urllib.parse import urlsplit

import msgspec

from planck.permissions.approver import digest
from planck.permissions.policy import Verdict
from planck.permissions.rules import Rule
from planck.records import codec
from planck.records.approval import Asked, Question
from planck.records.authority import Confinement, Mode, Right
from planck.records.diffs import cut_middle
from planck.records.events import DeniedBy
from planck.records.outcome import say_option
from planck.records.ports import Keys, KnownKeys
from planck.records.tools import COMMAND_TOOLS, HOST_TOOLS
from planck.records.visible import spell_out
from planck.toolkit.tool import Effect, Tool
from planck.workspace.paths.paths import Root

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


class Book(Protocol):
    """Where a lasting yes is kept."""

    place: str

    def bind(self, rule: Rule) -> Rule: ...


def ask_for_call(
    id: str, asker: Asker, tool: Tool, args: Mapping[str, Any], verdict: Verdict, book: Book
) -> Question:
    """The question whether this very call may run with these very rights; `book` would keep a rule."""
    from planck.permissions.grants import offer_rule, spell_rule, suggest_wider  # few sessions ask

    digested = digest(asker.agent_id, tool.name, args, verdict.confinement)
    rights = tool.find_rights(verdict.confinement)
    verdict = msgspec.structs.replace(verdict, confinement=rights)
    rule = offer_rule(tool, args, verdict)
    rule = book.bind(rule) if rule else None
    # What says that its sandbox is too small is not helped by a rule that holds it there.
    held = rule is not None and not args.get("escalate") and asker.can_confine(tool)
    return Question(
        id=id,
        agent_id=asker.agent_id,
        agent=spell_out(asker.name),
        tool=tool.name,
        text=spell_out(_call_text(tool, args)),
        adds=_added_rights(tool, args, rights),
        reason=verdict.why,
        digest=digested,
        rights=_list_rights(tool, rights),
        rule=spell_rule(rule) if rule else "",
        wider=suggest_wider(rule, held=held) if rule else "",
        written=codec.encode_str(rule) if rule else "",
        place=book.place if rule else "",
        project=rule.project if rule else "",
    )


def ask_for_folder(id: str, asker: Asker, tool: Tool, args: Mapping[str, Any], folder: Root) -> Question:
    """The question whether all agents of the session may work in a folder that a call's path leads to."""
    place = spell_out(str(folder.path))
    rights = Confinement(Mode.READ_ONLY, (str(folder.path),))
    return Question(
        id=id,
        agent_id=asker.agent_id,
        agent=spell_out(asker.name),
        tool=tool.name,
        text=spell_out(_call_text(tool, args)),
        adds=f"adds {place} to this session: agents may work there as in the workspace",
        reason="the path is outside the workspace",
        digest=digest(asker.agent_id, tool.name, args, rights),
        folder=place,
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


def ask_for_input(id: str, server: str, asked: Asked, agent_id: str, call_id: str) -> Question:
    """The question that a server asks during a call: an answer goes to the server, and permits nothing."""
    host = urlsplit(asked.url).hostname
    page = f"opens nothing: open the page of {host} in your browser, then answer yes"
    form = "sends what you enter to the server; never enter a password or a key"
    return Question(
        id=id,
        agent_id=agent_id,
        agent=f"MCP server {spell_out(server)!r}",
        tool=f"MCP server {spell_out(server)!r}",
        text=asked.message,
        adds=page if asked.url else form,
        reason="the server needs this to finish the call",
        digest=hashlib.sha256(codec.encode([id, server, asked])).hexdigest(),
        asks="page" if asked.url else "form",
        fields=asked.fields,
        url=asked.url,
        call_id=call_id,
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
    if tool.address:
        return f"sends this call to {spell_out(tool.address)}, which may do anything with it there"
    if tool.effect is not Effect.COMMAND:
        return f"runs {tool.name} once"
    return describe_rights(rights)


def _list_rights(tool: Tool, rights: Confinement) -> tuple[Right, ...]:
    here = tool.effect is Effect.COMMAND and not rights.addresses and not tool.address
    return rights.rights if here else ()


def describe_rights(rights: Confinement) -> str:
    """What a command may do, each right by its name, and which of them it does not get."""
    match rights.rights:
        case (Right.WRITE, Right.NETWORK, Right.OUTSIDE):
            return "runs outside the sandbox: it may change any of your files and use the network"
        case (Right.WRITE, Right.NETWORK):
            return f"runs in the sandbox: it may write in {_name_writable(rights)} and use the network"
        case (Right.WRITE,):
            return f"runs in the sandbox: it may write in {_name_writable(rights)}, without network access"
        case (Right.NETWORK,):
            return "runs in the sandbox: it may use the network, and change no files"
    return "runs in the sandbox: it may change no files, without network access"


def _name_writable(rights: Confinement) -> str:
    parts = [place for place in rights.writable if place not in rights.roots]
    if not parts:
        return "the workspace"
    return spell_out(", ".join(os.path.relpath(place, rights.roots[0]) for place in rights.writable))


_WAYS_OUT: dict[DeniedBy, str] = {
    "grant": "To allow it, give the agent the tool or the network access that it lacks.",
    "address": "To allow it, add the address under `providers` in your configuration.",
}


def find_way_out(by: DeniedBy) -> str:
    """Returns what the user can change about a denial; empty: nothing, or the reason names it already."""
    if by in ("mode", "nobody"):
        return f"To allow it, choose another {say_option('--permission-mode', 'mode')} or add a rule."
    return _WAYS_OUT.get(by, "")


_NO_DETOUR = "Do not try to do the same thing another way."


def find_next_step(by: DeniedBy, tool: Tool, args: Mapping[str, Any], asker: str, words: str) -> str:
    """Returns what the model reads after the reason.

    `asker` gave the agent its work; `words` are what the user said with a no.
    """
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
