"""A new sidecar that works, with its test."""

import os
from pathlib import Path

from planck.config.load import ConfigError
from planck.records.outcome import ErrorKind
from planck.workspace.paths.output_file import create_file

FILES = {
    "sidecar.py": '''"""Tools for this project.

When you save this file, Planck reloads it before the next call.

If the tools need packages, add this block at the top of the file, without indentation. Planck then builds an
environment with these packages:

    # /// script
    # dependencies = ["httpx"]
    # ///
"""

from planck import Tool, ToolContext, tool
from planck.sidecar import Sidecar


@tool
def count_words(text: str, ctx: ToolContext) -> str:
    """Count the words in a text.

    Args:
        text: The text to count.
    """
    ctx.progress("counting\\n")
    return f"{len(text.split())} words"


class ProjectTools(Sidecar):
    def tools(self) -> list[Tool]:
        return [count_words]
''',
    "test_sidecar.py": '''"""Run with: python -m pytest .planck/sidecar"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from planck import Ok  # noqa: E402
from planck.sidecar import execute_tool, list_tools  # noqa: E402
from sidecar import ProjectTools  # noqa: E402


def test_the_sidecar_lists_its_tools() -> None:
    assert [spec.name for spec in list_tools(ProjectTools)] == ["count_words"]


def test_count_words_counts_words() -> None:
    assert execute_tool(ProjectTools, "count_words", "agent", "call", {"text": "a b c"}) == Ok(
        {"output": "3 words"}
    )
''',
}


def create_sidecar(folder: Path) -> list[Path]:
    """The files written; a folder that has a sidecar is left as it is."""
    taken = [folder / name for name in (*FILES, "pyproject.toml") if os.path.lexists(folder / name)]
    if taken:
        raise ConfigError(
            ErrorKind.NOT_UNIQUE,
            f"{str(taken[0])!r} already exists. Edit it, or create another: planck sidecar new NAME.",
        )
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in FILES.items():
        create_file(folder / name, text)
    return [folder / name for name in FILES]
