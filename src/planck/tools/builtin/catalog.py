"""The built-in tools of one workspace."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from planck.toolkit.tool import Tool
from planck.tools.builtin.bash import bash_tool
from planck.tools.builtin.edit import edit_tool
from planck.tools.builtin.files import Spills, Views
from planck.tools.builtin.glob import glob_tool
from planck.tools.builtin.grep import grep_tool
from planck.tools.builtin.list_dir import list_dir_tool
from planck.tools.builtin.read import read_tool
from planck.tools.builtin.search import Engine
from planck.tools.builtin.web_fetch import web_fetch_tool
from planck.tools.builtin.write import write_tool
from planck.workspace.paths.paths import Root
from planck.workspace.process.jobs import Jobs

if TYPE_CHECKING:
    from planck.tools.builtin.web import Resolver


def builtin_tools(
    root: Path,
    *,
    spill: Path | Spills,
    environment: Mapping[str, str],
    protected: bool = True,
    jobs: Jobs | None = None,
    views: Views | None = None,
    names: "Resolver | None" = None,
) -> list[Tool]:
    """Made once per session and shared by its agents: each call gets its root and what was read of the
    caller's own view.

    `spill` is the folder of outputs that are too long to show. `protected=False` is for permission mode
    `full` only. Whoever passes `jobs` closes it when the session ends; without it background commands end
    with the process. Whoever passes `views` ends those of agents that are gone.
    """
    views = views or Views(Root(root, protected=protected))
    spills = spill if isinstance(spill, Spills) else Spills(spill)
    engine = Engine(views.root, environment)
    return [
        read_tool(views, spills),
        write_tool(views),
        edit_tool(views),
        bash_tool(views, spills, environment, jobs or Jobs()),
        glob_tool(views, engine),
        grep_tool(views, engine),
        list_dir_tool(views),
        web_fetch_tool(names),
    ]
