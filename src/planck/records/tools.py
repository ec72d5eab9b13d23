"""The table of our tools: what frontends, rules, hooks and the page know of a tool by its name alone.

A new tool gets a row here. A tool without one, of a server, a file or a program, has the defaults.
"""

from typing import Any, Literal, TypeAlias, get_args

import msgspec

from planck.records.specs import FOREIGN

Kind: TypeAlias = Literal[
    "read", "edit", "delete", "move", "search", "execute", "think", "fetch", "switch_mode", "other"
]
"""What a call does, in the words of the Agent Client Protocol."""


class ToolRow(msgspec.Struct, frozen=True, gc=False):
    name: str
    kind: Kind = "other"
    subject: str = ""
    """The argument that a line shows; where a call has none of that name, the first of `SUBJECTS`."""
    shown: Literal["end", "whole", "count", "nothing", "message", "diff"] = "end"
    """What is shown of the output of a call that succeeded: its last lines, all of it, how many lines it
    has, nothing, the message that it sent, the change of the file."""
    changes: Literal["nothing", "files", "anything"] = "anything"
    """`files`: the log has what was there before, so that the call can be undone."""
    rule: Literal["name", "command", "host"] = "name"
    """By what a permission rule matches a call beside its name: the command line, the host of its `url`."""
    left_out: int = 0
    """When it is left out for a model with a small window: 1 goes first; 0: never."""
    claude: tuple[str, ...] = ()
    """Its names in Claude Code: the one that a hook is told, then others that a matcher may mean it by."""
    keys: dict[str, str] = {}
    """What Claude Code calls its arguments, by our names."""


PLAN = "update_plan"
"""Its steps stand on the board."""
ASK = "ask_agent"
"""It waits for another agent."""
SPAWN = "spawn_agent"
LOAD_SKILL = "load_skill"

_FILE = {"path": "file_path"}
_COMMAND = {"background": "run_in_background"}
_TARGET = "identifier"
_AGENT = ("Task", "Agent")
_SPAWNED = {"type": "subagent_type", "system_prompt": "prompt"}
_ASKED = {_TARGET: "subagent_type", "question": "prompt"}
_TASKED = {_TARGET: "subagent_type", "task": "prompt"}

_WORKSPACE = (
    ToolRow("read", "read", "path", "count", "nothing", claude=("Read", "NotebookRead"), keys=_FILE),
    ToolRow("write", "edit", "path", "diff", "files", claude=("Write",), keys=_FILE),
    ToolRow(
        "edit", "edit", "path", "diff", "files", claude=("Edit", "MultiEdit", "NotebookEdit"), keys=_FILE
    ),
    ToolRow("bash", "execute", "command", rule="command", claude=("Bash",), keys=_COMMAND),
    ToolRow("glob", "search", "path", "count", "nothing", left_out=5, claude=("Glob",)),
    ToolRow(
        "grep", "search", "path", "count", "nothing", left_out=6, claude=("Grep",), keys={"ignore_case": "-i"}
    ),
    ToolRow("list_dir", "read", "path", "count", "nothing", left_out=4, claude=("LS",)),
    ToolRow("web_fetch", "fetch", "url", rule="host", left_out=2, claude=("WebFetch",)),
)
"""Each is made by `NAME_tool` in `tools/builtin/NAME.py`, in this order."""
_SESSION = (
    ToolRow(LOAD_SKILL, "read", "name", "nothing", "nothing", claude=("Skill",), keys={"name": "skill"}),
    ToolRow("list_skills", "read", "", "nothing", "nothing"),
    ToolRow(PLAN, "think", "", "whole", "nothing", left_out=3, claude=("TodoWrite",)),
)
_TEAM = (
    ToolRow(ASK, "other", _TARGET, "message", "nothing", left_out=1, claude=_AGENT, keys=_ASKED),
    ToolRow("delegate_task", "other", _TARGET, "message", "nothing", left_out=1, claude=_AGENT, keys=_TASKED),
    ToolRow("send_response", "other", "", "message", "nothing", left_out=1),
    ToolRow("list_team", "read", "", "nothing", "nothing", left_out=1),
)
"""Each is described in `team/tool_specs.py` and done by the method of its name in `team/tools.py`."""
_LEAD = (
    ToolRow(SPAWN, "other", "name", "nothing", "nothing", left_out=1, claude=_AGENT, keys=_SPAWNED),
    ToolRow("destroy_agent", "other", _TARGET, "end", "nothing", left_out=1),
    ToolRow("interrupt_agent", "other", _TARGET, "end", "nothing", left_out=1),
    ToolRow("list_models", "read", "", "nothing", "nothing", left_out=1),
)
_EXTERNAL = (
    *(
        ToolRow(f"{FOREIGN}_{kind}", kind)
        for kind in get_args(Kind)
        if kind not in ("read", "search", "think")
    ),
    *(ToolRow(f"{FOREIGN}_{kind}", kind, changes="nothing") for kind in ("read", "search", "think")),
)
"""Calls of a member that is another program: their kind is what it said."""

TOOLS = {row.name: row for row in (*_WORKSPACE, *_SESSION, *_TEAM, *_LEAD, *_EXTERNAL)}
_UNKNOWN = ToolRow("")

WORKSPACE_TOOLS = tuple(row.name for row in _WORKSPACE)
TEAM_TOOLS = tuple(row.name for row in _TEAM)
"""What every agent of a team has."""
ORCHESTRATOR_TOOLS = tuple(row.name for row in _LEAD)
"""Never granted: who leads is decided by role, not by holding a tool."""
EXTERNAL_TOOLS = tuple(row.name for row in _EXTERNAL)
RESPOND = "send_response"
COMMAND_TOOLS = tuple(row.name for row in TOOLS.values() if row.rule == "command")
HOST_TOOLS = tuple(row.name for row in TOOLS.values() if row.rule == "host")

SUBJECTS = ("command", "path", "pattern", "name", "identifier", "query", "url")
"""What says to a person what a call is about: the first of these arguments that is a string."""
SUBJECT = 200
"""Characters (code points) of it that are shown."""


def find_row(tool: str) -> ToolRow:
    return TOOLS.get(tool, _UNKNOWN)


def find_subject(tool: str, args: Any) -> str:
    if not isinstance(args, dict):
        return ""
    own = args.get(find_row(tool).subject)
    if isinstance(own, str):
        return own[:SUBJECT]
    return next((args[key] for key in SUBJECTS if isinstance(args.get(key), str)), "")[:SUBJECT]
