"""The commands of a conversation, in one table: name, arguments, help, what runs and what completes them."""

from collections.abc import Awaitable, Callable
from importlib import import_module
from typing import Literal

import msgspec

Completes = Literal["", "model", "member", "session", "team", "command"]


class Command(msgspec.Struct, frozen=True):
    name: str
    arguments: str
    help: str
    completes: Completes | tuple[str, ...] = ""
    """What its first argument is, or the words that it may be."""
    busy: bool = True
    """Whether it may be used while agents work."""


MEANINGS = {
    "read-only": "nothing is changed, and nobody is asked",
    "plan": "nothing is changed; it ends with a plan that you accept to go on",
    "ask": "what has effects asks first",
    "workspace": "files of this folder may be changed, commands run in the sandbox",
    "full": "anything, without asking",
}
"""What may be done in each mode."""
MODES = tuple(MEANINGS)
EFFORTS = ("none", "low", "medium", "high")
THEMES = ("auto", "none")

GROUPS: tuple[tuple[str, str, tuple[Command, ...]], ...] = (
    (
        "conversation",
        "moves",
        (
            Command("new", "[TEAM]", "a new session, with a team if you name one", "team"),
            Command("clear", "", "the same, and an empty screen"),
            Command("resume", "[NAME]", "go on with another session", "session"),
            Command("sessions", "[TEXT]", "the sessions of this folder; with a text, where it was said"),
            Command("fork", "[NAME]", "go on in a copy; this session stays as it is", busy=False),
            Command("rewind", "[N] [--files]", "edit one of your messages and go on from there", busy=False),
            Command("transcript", "", "all that was said and done, whole; / searches it"),
            Command("rename", "NAME", "give this session another name"),
            Command("exit", "", "leave (also: Ctrl+D, or Ctrl+C twice)"),
        ),
    ),
    (
        "files",
        "files",
        (
            Command("diff", "[--turn N | --agent NAME]", "what agents changed in files"),
            Command("undo", "[--turn N | --agent NAME | --call ID]", "take back what was written"),
            Command("redo", "", "take the last undo back"),
            Command("export", "[FILE]", "write the conversation to a Markdown file"),
            Command("copy", "", "put the last answer into the clipboard"),
            Command("init", "", "have an AGENTS.md written for this project", busy=False),
        ),
    ),
    (
        "settings",
        "settings",
        (
            Command("mode", "[MODE]", "what may be done without asking", MODES),
            Command(
                "plan", "[TASK | accept]", "read only, and make a plan that you accept to go on", ("accept",)
            ),
            Command("permissions", "", "the rules in force, and where each comes from"),
            Command("model", "[NAME]", "the model in use; with a name, go on with another", "model"),
            Command("effort", "[LEVEL]", "how much the model thinks: low, medium, high", EFFORTS),
            Command("theme", "[NAME]", "colours: auto, none", THEMES),
            Command("reload", "", "read configuration, AGENTS.md and skills again"),
        ),
    ),
    (
        "what there is",
        "about",
        (
            Command("team", "", "who is there, does what, and waits for whom"),
            Command("agents", "", "the same"),
            Command("interrupt", "[NAME]", "stop one member, or all", "member"),
            Command("tools", "", "what the orchestrator can do"),
            Command("mcp", "", "MCP servers and sidecars, their state, tools and prompts"),
            Command("skills", "", "the skills that can be loaded"),
            Command("context", "", "what fills the model's window"),
            Command("compact", "[FOCUS]", "make the history shorter", busy=False),
            Command("cost", "", "steps, tokens and money of this session"),
            Command("status", "", "session, model, mode, folder, sandbox"),
            Command("help", "[COMMAND]", "this list", "command"),
        ),
    ),
)
"""By title: the module of this package that runs them, each by its `run_NAME`, and its commands."""

COMMANDS: dict[str, Command] = {command.name: command for *_, group in GROUPS for command in group}
ALIASES = {"quit": "exit", "q": "exit", "?": "help"}


def find_act(name: str) -> Callable[..., Awaitable[None]]:
    """Returns what runs a command; its module is loaded when the first of its commands is called."""
    module = next(module for _, module, group in GROUPS for command in group if command.name == name)
    act: Callable[..., Awaitable[None]] = getattr(import_module(f"planck.cli.chat.{module}"), f"run_{name}")
    return act
