"""What pyright knows of the library; mypy checks the programs in `make check`, like all our code."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.published import install_npm

pytestmark = pytest.mark.heavy
PYRIGHT = ("pyright@1.1.414",)
PROGRAMS = Path(__file__).parent / "programs" / "ours"
WRONG = """
import planck

planck.runn("a prompt")
result = planck.run("a prompt", max_step=3)
result.txt
"""
RIGHT = """
from typing import assert_type

import planck
from planck import Err, Ok, RunResult, SessionEvent
from planck.records.events import TextDelta, ToolEnd


def read(outcome: Ok[str] | Err) -> str:
    match outcome:
        case Ok(value):
            return value
        case Err(kind, message):
            return f"{kind}: {message}"


def say(event: SessionEvent) -> str:
    if isinstance(event.view, TextDelta):
        return event.view.text
    return event.view.output if isinstance(event.view, ToolEnd) else ""


async def main() -> None:
    assert_type(await planck.run_async("a prompt"), RunResult)
    typed = await planck.run_async("a prompt", output_type=list[int])
    assert_type(typed.data, list[int] | None)
    assert_type(typed.require_data(), list[int])
    async for event in planck.stream("a prompt"):
        assert_type(event, SessionEvent)
"""


def pyright(folder: Path, *arguments: str) -> str:
    """Returns what pyright prints, with the Python of this process."""
    program = install_npm("pyright", PYRIGHT) / "pyright/index.js"
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        ["node", program, *arguments],
        cwd=folder,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout


def check_strictly(folder: Path) -> str:
    (folder / "pyrightconfig.json").write_text(json.dumps({"typeCheckingMode": "strict"}))
    return pyright(folder, "--pythonpath", sys.executable)


def test_pyright_accepts_the_programs_in_strict_mode(tmp_path: Path) -> None:
    shutil.copytree(PROGRAMS, tmp_path / "programs")
    (tmp_path / "right.py").write_text(RIGHT)
    assert check_strictly(tmp_path).strip().endswith("0 errors, 0 warnings, 0 informations")


def test_pyright_finds_a_wrong_name_and_a_wrong_argument(tmp_path: Path) -> None:
    (tmp_path / "wrong.py").write_text(WRONG)
    found = check_strictly(tmp_path)
    assert '"runn" is not a known attribute of module "planck"' in found
    assert 'No overloads for "run" match' in found
    assert 'Cannot access attribute "txt" for class "RunResult"' in found


def test_the_public_types_are_complete(tmp_path: Path) -> None:
    found = pyright(tmp_path, "--verifytypes", "planck", "--ignoreexternal")
    score = re.search(r"Type completeness score: ([\d.]+)%", found)
    assert score, found
    missing = "\n".join(line for line in found.splitlines() if "missing type annotation" in line)
    assert float(score[1]) >= 99, f"Annotate these attributes:\n{missing}"
