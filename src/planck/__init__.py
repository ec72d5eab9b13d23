"""A runtime for teams of coding agents.

    import planck

    result = planck.run("What does this project do?", mode="read-only")
    print(result.text)

Prompts      run, run_async, stream, RunResult, TypedResult, ChangedFile, RunOptions, Mode, PlanckError
Sessions     Planck, OpenSession, SessionEvent, UserMessage
Tools        tool, Tool, ToolContext, Effect, Ok, Err, ErrorKind, error, truncate, from_file, load_all,
             Sidecar
Teams        Team, Member, prepend_agents_md
Approvals    Approver, Inbox, Question, Answer
Hooks        Hooks, Refuse, ToolUse, ModelUse
Team tools   orchestrator_tools, worker_tools, ask_agent, delegate_task, destroy_agent, interrupt_agent,
             list_models, list_team, send_response, spawn_agent

`help(planck.run)` describes one name, with an example. docs/reference/python.md has all of them on one page,
docs/guides/embedding.md has complete programs.
"""

import sys

__version__ = "0.1.0"

UNSUPPORTED = "Planck runs on Linux and macOS. On Windows, install it inside WSL 2."
"""Said before any other module is loaded: their imports would fail there, and say less."""

TYPE_CHECKING = False  # checkers know the name; `typing` itself is an eighth of `planck --version`
if TYPE_CHECKING:
    from planck.config.tool_files import from_file as from_file
    from planck.config.tool_files import load_all as load_all
    from planck.context.agents_md import prepend_agents_md as prepend_agents_md
    from planck.headless.embedding.hooks import Hooks as Hooks
    from planck.headless.embedding.hooks import ModelUse as ModelUse
    from planck.headless.embedding.hooks import Refuse as Refuse
    from planck.headless.embedding.hooks import ToolUse as ToolUse
    from planck.headless.embedding.teams import Member as Member
    from planck.headless.embedding.teams import Team as Team
    from planck.headless.embedding.typed import TypedResult as TypedResult
    from planck.headless.event import SessionEvent as SessionEvent
    from planck.headless.inbox import Inbox as Inbox
    from planck.headless.open_session import OpenSession as OpenSession
    from planck.headless.planck import Planck as Planck
    from planck.headless.script import run as run
    from planck.headless.script import run_async as run_async
    from planck.headless.script import stream as stream
    from planck.permissions.approver import Approver as Approver
    from planck.records.approval import Answer as Answer
    from planck.records.approval import Question as Question
    from planck.records.authority import Mode as Mode
    from planck.records.messages import UserMessage as UserMessage
    from planck.records.outcome import Err as Err
    from planck.records.outcome import ErrorKind as ErrorKind
    from planck.records.outcome import Ok as Ok
    from planck.records.outcome import PlanckError as PlanckError
    from planck.records.outcome import error as error
    from planck.records.specs import RunOptions as RunOptions
    from planck.session.result import ChangedFile as ChangedFile
    from planck.session.result import RunResult as RunResult
    from planck.sidecar.discovery import Sidecar as Sidecar
    from planck.team.by_id import ask_agent as ask_agent
    from planck.team.by_id import delegate_task as delegate_task
    from planck.team.by_id import destroy_agent as destroy_agent
    from planck.team.by_id import interrupt_agent as interrupt_agent
    from planck.team.by_id import list_models as list_models
    from planck.team.by_id import list_team as list_team
    from planck.team.by_id import orchestrator_tools as orchestrator_tools
    from planck.team.by_id import send_response as send_response
    from planck.team.by_id import spawn_agent as spawn_agent
    from planck.team.by_id import worker_tools as worker_tools
    from planck.toolkit.decorator import tool as tool
    from planck.toolkit.tool import Effect as Effect
    from planck.toolkit.tool import Tool as Tool
    from planck.toolkit.tool import ToolContext as ToolContext
    from planck.toolkit.truncate import truncate as truncate

# PEP 562: `import planck` loads nothing that is not used.
_HOMES = {
    "Effect": "planck.toolkit.tool",
    "Err": "planck.records.outcome",
    "ErrorKind": "planck.records.outcome",
    "Hooks": "planck.headless.embedding.hooks",
    "ModelUse": "planck.headless.embedding.hooks",
    "Refuse": "planck.headless.embedding.hooks",
    "ToolUse": "planck.headless.embedding.hooks",
    "Inbox": "planck.headless.inbox",
    "Member": "planck.headless.embedding.teams",
    "Ok": "planck.records.outcome",
    "OpenSession": "planck.headless.open_session",
    "Planck": "planck.headless.planck",
    "PlanckError": "planck.records.outcome",
    "Sidecar": "planck.sidecar.discovery",
    "Team": "planck.headless.embedding.teams",
    "TypedResult": "planck.headless.embedding.typed",
    "Tool": "planck.toolkit.tool",
    "ToolContext": "planck.toolkit.tool",
    "ask_agent": "planck.team.by_id",
    "delegate_task": "planck.team.by_id",
    "destroy_agent": "planck.team.by_id",
    "error": "planck.records.outcome",
    "from_file": "planck.config.tool_files",
    "interrupt_agent": "planck.team.by_id",
    "list_models": "planck.team.by_id",
    "list_team": "planck.team.by_id",
    "load_all": "planck.config.tool_files",
    "orchestrator_tools": "planck.team.by_id",
    "prepend_agents_md": "planck.context.agents_md",
    "run": "planck.headless.script",
    "run_async": "planck.headless.script",
    "stream": "planck.headless.script",
    "send_response": "planck.team.by_id",
    "spawn_agent": "planck.team.by_id",
    "tool": "planck.toolkit.decorator",
    "truncate": "planck.toolkit.truncate",
    "worker_tools": "planck.team.by_id",
    "Answer": "planck.records.approval",
    "Question": "planck.records.approval",
    "Approver": "planck.permissions.approver",
    "Mode": "planck.records.authority",
    "RunOptions": "planck.records.specs",
    "ChangedFile": "planck.session.result",
    "RunResult": "planck.session.result",
    "SessionEvent": "planck.headless.event",
    "UserMessage": "planck.records.messages",
}

__all__ = [*_HOMES]


if not TYPE_CHECKING:  # a checker that saw it would take every misspelt name for one of ours

    def __getattr__(name):
        if sys.platform == "win32":
            raise ImportError(UNSUPPORTED)
        home = _HOMES.get(name)
        if home is None:
            raise AttributeError(f"module 'planck' has no attribute {name!r}")
        from planck.own_code import start_library

        start_library()
        from importlib import import_module

        return getattr(import_module(home), name)


def __dir__() -> list[str]:
    return [*globals(), *__all__]
