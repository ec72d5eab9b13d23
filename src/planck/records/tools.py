"""What is known of the tools by their names."""

from collections.abc import Mapping

CLAUDE_NAMES: Mapping[str, tuple[str, ...]] = {
    "bash": ("Bash",),
    "read": ("Read", "NotebookRead"),
    "write": ("Write",),
    "edit": ("Edit", "MultiEdit", "NotebookEdit"),
    "glob": ("Glob",),
    "grep": ("Grep",),
    "list_dir": ("LS",),
    "update_plan": ("TodoWrite",),
    "web_fetch": ("WebFetch",),
    "load_skill": ("Skill",),
    "spawn_agent": ("Task", "Agent"),
    "delegate_task": ("Task", "Agent"),
    "ask_agent": ("Task", "Agent"),
}
"""By ours: the name that a hook is told first, then others that a matcher may mean it by."""
