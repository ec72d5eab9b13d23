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
    "read-only": "changes nothing and never asks",
    "plan": "changes nothing; ends with a plan for you to accept",
    "ask": "asks before changing anything",
    "workspace": "changes files in this folder; runs commands in the sandbox",
    "full": "does anything without asking",
}
"""What may be done in each mode."""
MODES = tuple(MEANINGS)
EFFORTS = ("none", "low", "medium", "high")
THEMES = ("auto", "none")

GROUPS: tuple[tuple[str, str, tuple[Command, ...]], ...] = (
    (
        "Conversation",
        "moves",
        (
            Command("new", "[TEAM]", "Start a new session, optionally with a team", "team"),
            Command(
                "clear", "", "Clear the screen and start a new session with the same team, model and mode"
            ),
            Command("resume", "[NAME]", "Resume another session", "session"),
            Command("sessions", "[TEXT]", "List the sessions in this folder, or search them"),
            Command("fork", "[NAME]", "Continue in a copy; this session stays unchanged", busy=False),
            Command(
                "rewind", "[N] [--files]", "Edit one of your messages and continue from there", busy=False
            ),
            Command("transcript", "", "Show the full transcript; / searches it"),
            Command("rename", "NAME", "Rename this session"),
            Command("exit", "", "Exit (or press Ctrl+D, or Ctrl+C twice)"),
        ),
    ),
    (
        "Files",
        "files",
        (
            Command("diff", "[--turn N | --agent NAME]", "Show the file changes that agents made"),
            Command(
                "undo",
                "[N | list | --agent NAME | --call ID | --all]",
                "Undo the file changes of the newest turn or of turn N",
                ("list",),
            ),
            Command("redo", "", "Reverse the last undo"),
            Command("export", "[FILE]", "Write the conversation to a Markdown file"),
            Command("copy", "", "Copy the last answer to the clipboard"),
            Command("init", "", "Have an agent write an AGENTS.md for this project", busy=False),
        ),
    ),
    (
        "Settings",
        "settings",
        (
            Command("mode", "[MODE]", "Show or change what agents may do without asking", MODES),
            Command(
                "plan", "[TASK | accept]", "Plan without changing anything, or accept a plan", ("accept",)
            ),
            Command("permissions", "", "List the rules in force and where each comes from"),
            Command("model", "[NAME]", "Show or change the model", "model"),
            Command("effort", "[LEVEL]", "Show or set the effort: none, low, medium, high", EFFORTS),
            Command("theme", "[NAME]", "Set the colors: auto, none", THEMES),
            Command("reload", "", "Reload the configuration, AGENTS.md and skills"),
        ),
    ),
    (
        "This place",
        "access",
        (
            Command("trust", "", "Trust this folder's own tools, hooks, servers and teams"),
            Command("add-dir", "[FOLDER]", "List the folders that agents work in, or add one"),
            Command("config", "[KEY]", "Show the configuration and where each value comes from"),
            Command("hooks", "", "List the hooks in force"),
            Command("login", "[PROVIDER]", "Sign in to a provider, or show where keys come from", busy=False),
            Command("doctor", "", "Check this installation and the model"),
        ),
    ),
    (
        "Information",
        "about",
        (
            Command("team", "", "Show who does what and who waits for whom"),
            Command("agents", "", "List the agent files that a team can use"),
            Command("jobs", "", "Show running commands and background commands with their output"),
            Command("interrupt", "[NAME]", "Stop one member, or all", "member"),
            Command("tools", "", "List the orchestrator's tools"),
            Command("mcp", "", "Show MCP servers and sidecars with their tools"),
            Command("skills", "", "List the available skills"),
            Command("context", "", "Show what fills the context window"),
            Command("compact", "[FOCUS]", "Shorten the history, optionally with a focus", busy=False),
            Command("cost", "", "Show the calls, tokens and cost of this session"),
            Command("status", "", "Show the session, model, mode, team and folder"),
            Command("help", "[COMMAND]", "Show this list, or help for one command", "command"),
        ),
    ),
)
"""By title: the module of this package that runs them, each by its `run_NAME`, and its commands."""

COMMANDS: dict[str, Command] = {command.name: command for *_, group in GROUPS for command in group}
ALIASES = {"quit": "exit", "q": "exit", "?": "help"}


def find_act(name: str) -> Callable[..., Awaitable[None]]:
    """Returns what runs a command; its module is loaded when the first of its commands is called."""
    module = next(module for _, module, group in GROUPS for command in group if command.name == name)
    run = f"run_{name.replace('-', '_')}"
    act: Callable[..., Awaitable[None]] = getattr(import_module(f"planck.cli.chat.{module}"), run)
    return act
