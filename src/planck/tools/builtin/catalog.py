"""The built-in tools of one workspace."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from planck.toolkit.tool import Tool
from planck.tools.builtin.bash import bash_tool
from planck.tools.builtin.edit import edit_tool
from planck.tools.builtin.files import Seen, Spills
from planck.tools.builtin.glob import glob_tool
from planck.tools.builtin.grep import grep_tool
from planck.tools.builtin.list_dir import list_dir_tool
from planck.tools.builtin.read import read_tool
from planck.tools.builtin.search import Engine
from planck.tools.builtin.write import write_tool
from planck.workspace.jobs import Jobs
from planck.workspace.paths import Root


def builtin_tools(
    root: Path,
    *,
    spill: Path,
    environment: Mapping[str, str],
    protected: bool = True,
    jobs: Jobs | None = None,
    others: Sequence[str] = (),
) -> list[Tool]:
    """Made once per session and shared by its agents: what each has read is kept by agent id.

    `others` are folders beside the workspace. `protected=False` is for permission mode `full` only. Whoever
    passes `jobs` closes it when the session ends; without it background commands end with the process.
    """
    place = Root(root, protected=protected, others=others)
    seen = Seen()
    spills = Spills(spill)
    engine = Engine(place, environment)
    return [
        read_tool(place, seen, spills),
        write_tool(place, seen),
        edit_tool(place, seen),
        bash_tool(place, spills, environment, jobs or Jobs()),
        glob_tool(place, engine),
        grep_tool(place, engine),
        list_dir_tool(place),
    ]
