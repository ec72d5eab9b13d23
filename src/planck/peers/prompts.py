"""Prompts that MCP servers offer: listed as `server:prompt`, and said with the words behind it."""

import asyncio
import shlex
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import msgspec

from planck.mcp.listing import GET_PROMPT, LIST_PROMPTS
from planck.mcp.peer import State
from planck.records.outcome import Err, ErrorKind, PlanckError

if TYPE_CHECKING:
    from planck.peers.open_peer import OpenPeer

_TIMEOUT = 30.0


class PromptError(PlanckError):
    """A prompt that no server has, or does not give."""


class ServerPrompt(msgspec.Struct, frozen=True):
    server: str
    name: str
    description: str
    arguments: tuple[str, ...]
    required: tuple[str, ...]

    @property
    def command(self) -> str:
        """What calls it, behind a slash."""
        return f"{self.server}:{self.name}"


async def list_prompts(peers: "Iterable[OpenPeer]") -> list[ServerPrompt]:
    """Returns what connected servers offer; one that has none, or does not answer, gives none."""
    found = await asyncio.gather(*(_list(peer) for peer in peers if peer.component == "mcp"))
    return [prompt for prompts in found for prompt in prompts]


async def say_prompt(peers: "Iterable[OpenPeer]", command: str, words: str) -> str:
    """Returns the text of `server:prompt`; the words are its arguments in their order, or `name=value`."""
    server, _, name = command.partition(":")
    for peer in peers:
        if peer.component != "mcp" or peer.name != server or peer.instances is None:
            continue
        await peer.settle()
        known = {prompt.name: prompt for prompt in await _list(peer)}
        if name not in known:
            there = f"Its prompts: {', '.join(sorted(known)[:10])}."
            if not known:
                there = f'It is not connected or has no prompts. Run "planck mcp test {server}".'
            raise PromptError(ErrorKind.NOT_FOUND, f"MCP server {server!r} has no prompt {name!r}. {there}")
        arguments = _read_arguments(known[name], words)
        outcome = await peer.instances.own.call(
            GET_PROMPT, {"name": name, "arguments": arguments}, timeout=_TIMEOUT
        )
        if isinstance(outcome, Err):
            raise PromptError(outcome.kind, f"{command!r}: {outcome.message}", outcome.details)
        return str(outcome.value["output"])
    raise PromptError(ErrorKind.NOT_FOUND, f'MCP server not found: {server!r}. Run "planck mcp list".')


async def _list(peer: "OpenPeer") -> list[ServerPrompt]:
    if peer.instances is None or peer.instances.own.state is not State.CONNECTED:
        return []
    outcome = await peer.instances.own.call(LIST_PROMPTS, {}, timeout=_TIMEOUT)
    rows: list[dict[str, Any]] = [] if isinstance(outcome, Err) else outcome.value["prompts"]
    return [
        ServerPrompt(
            peer.name,
            row["name"],
            row["description"],
            tuple(one["name"] for one in row["arguments"]),
            tuple(one["name"] for one in row["arguments"] if one["required"]),
        )
        for row in rows
    ]


def _read_arguments(prompt: ServerPrompt, words: str) -> dict[str, str]:
    try:
        parts = shlex.split(words)
    except ValueError:  # a quote that nobody closed is a letter
        parts = words.split()
    given: dict[str, str] = {}
    free: list[str] = []
    for part in parts:
        name, equals, value = part.partition("=")
        if equals and name in prompt.arguments:
            given[name] = value
        else:
            free.append(part)
    open_names = [name for name in prompt.arguments if name not in given]
    for at, name in enumerate(open_names):
        last = at == len(open_names) - 1
        if free[at:]:
            given[name] = " ".join(free[at:]) if last else free[at]
    if missing := [name for name in prompt.required if name not in given]:
        names, one = ", ".join(missing), len(missing) == 1
        what, them = ("this argument", "it") if one else ("these arguments", "them")
        why = f"/{prompt.command} requires {what}: {names}. Add {them} after the command."
        raise PromptError(ErrorKind.INVALID_ARGS, why)
    return given
