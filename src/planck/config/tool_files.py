"""TOOL.json tools of the configured places, as far as trust goes."""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec

from planck.config.environment import read_environment
from planck.config.resources import Resources
from planck.records.outcome import Err, Ok
from planck.records.tools import ORCHESTRATOR_TOOLS, TEAM_TOOLS
from planck.toolkit.tool import Tool
from planck.tools import external
from planck.tools.external import ExternalTool, Problem


def from_file(path: str | os.PathLike[str]) -> Ok[Tool] | Err:
    """The tool of a TOOL.json, or why there is none."""
    result = external.from_file(path, environment=read_environment())
    return result if isinstance(result, Err) else Ok(result.value)


def load_all(dirs: Iterable[str | os.PathLike[str]]) -> list[Tool]:
    """Every sound `<dir>/<tool>/TOOL.json`; missing directories and malformed entries are skipped."""
    return list(external.discover(dirs, environment=read_environment()).tools)


class External(msgspec.Struct, frozen=True):
    tools: list[ExternalTool]
    untrusted: list[ExternalTool]
    """The workspace's own; they may be looked at, not called."""
    problems: list[Problem]


def external_tools(
    resources: Resources, environ: Mapping[str, str], spill: Path, built_in: Iterable[str]
) -> External:
    """The project's before the user's; an untrusted project's can't take a name from the user's."""
    folders = list({folder.resolve(): folder for folder in resources.tool_dirs()}.values())
    taken = [*built_in, *TEAM_TOOLS, *ORCHESTRATOR_TOOLS]
    theirs = [folder for folder in folders if not resources.may_run(folder)]
    ours = [folder for folder in folders if folder not in theirs]
    used = external.discover(ours, environment=environ, spill=spill, taken=taken)
    seen = external.discover(theirs, environment=environ, spill=spill, taken=taken, before=used.tools)
    return External(used.tools, seen.tools, [*used.problems, *seen.problems])
