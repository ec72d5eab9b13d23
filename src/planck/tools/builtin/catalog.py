"""The built-in tools of one workspace."""

from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from planck.records.tools import WORKSPACE_TOOLS
from planck.toolkit.tool import Tool
from planck.tools.builtin.files import Shared, Spills, Views
from planck.tools.builtin.search import Engine
from planck.workspace.paths.paths import Root
from planck.workspace.process.jobs import Jobs

if TYPE_CHECKING:
    from planck.tools.builtin.web import Resolver
    from planck.tools.command_recording import CommandRecording

_MAKERS: tuple[Callable[[Shared], Tool], ...] = tuple(
    getattr(import_module(f"planck.tools.builtin.{name}"), f"{name}_tool") for name in WORKSPACE_TOOLS
)


def builtin_tools(
    root: Path,
    *,
    spill: Path | Spills,
    environment: Mapping[str, str],
    protected: bool = True,
    jobs: Jobs | None = None,
    views: Views | None = None,
    names: "Resolver | None" = None,
    recording: "CommandRecording | None" = None,
) -> list[Tool]:
    """Made once per session and shared by its agents: each call gets its root and what was read of the
    caller's own view.

    `spill` is the folder of outputs that are too long to show. `protected=False` is for permission mode
    `full` only. Whoever passes `jobs` closes it when the session ends; without it background commands end
    with the process. Whoever passes `views` ends those of agents that are gone.
    `recording` is closed by its owner too.
    """
    views = views or Views(Root(root, protected=protected))
    spills = spill if isinstance(spill, Spills) else Spills(spill)
    engine = Engine(views.root, environment)
    shared = Shared(views, spills, environment, jobs or Jobs(), engine, names, recording)
    return [make(shared) for make in _MAKERS]
