"""The programs of this folder, each beside the same program with two other libraries."""

import asyncio
import io
import sys
import tokenize
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.command import PLAIN, Done, finish
from tests.library.programs import model
from tests.published import install_pypi
from tests.wire.server import WireServer

PROGRAMS = Path(__file__).parent / "programs"
PEERS = ("openai_agents", "pydantic_ai")
PACKAGES = ("openai-agents==0.24.0", "pydantic-ai-slim[openai,mcp]==2.62.0")
"""What the programs of others were written for."""
TWICE = ("begin", "end")
"""Programs that go on in another process."""
PRINTS: dict[str, list[str]] = {
    "approval": ["refund", "I found: Order 7 is refunded."],
    "batch": ["['Paris', 'Rome', 'Tokyo']"],
    "dependencies": ["I found: 3"],
    "guardrail": ["Hello.\nrefused"],
    "mcp_client": ["I found: Hello, Ada!"],
    "one_tool": ["I found: Rain in Bonn."],
    "resume": ["Noted.", "Your name is Ada."],
    "streaming": ["The rain that falls on Bonn is soft and grey."],
    "team": ["I found: I found: Ada: 12 EUR"],
    "typed_answer": ["3 tea"],
}
"""By program: what each of its processes prints."""


@asynccontextmanager
async def model_server(folder: Path) -> AsyncIterator[dict[str, str]]:
    """Yields the environment in which a program finds the model of `programs/model.py`."""
    async with WireServer(model.answer) as server:
        yield {
            **PLAIN,
            "HOME": str(folder),
            "PLANCK_HOME": str(folder / "home"),
            "OPENAI_API_KEY": "sk-of-nobody",
            "OPENAI_BASE_URL": f"{server.url}/v1",
            "OPENAI_AGENTS_DISABLE_TRACING": "1",
        }


async def run_program(python: Path | str, program: Path, folder: Path) -> list[Done]:
    """Returns what each process of a program printed, one after the other in the same folder."""
    work = folder / "work"
    work.mkdir()
    done: list[Done] = []
    async with model_server(folder) as environ:
        for number in range(len(PRINTS[program.stem])):
            argument = str(PROGRAMS / "greeter.py") if program.stem == "mcp_client" else TWICE[number]
            process = await asyncio.create_subprocess_exec(
                *(python, program, argument),
                env=environ,
                cwd=work,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
            )
            done.append(await finish(process))
    return done


def count_lines(program: Path) -> int:
    """Counts the lines that are neither empty nor a comment."""
    blank = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)
    tokens = tokenize.generate_tokens(io.StringIO(program.read_text()).readline)
    spans = [range(one.start[0], one.end[0] + 1) for one in tokens if one.type not in blank and one.string]
    return len({line for span in spans for line in span})


@pytest.mark.parametrize("name", [name for name in PRINTS if name != "mcp_client"])
async def test_a_program_of_ours_works(name: str, tmp_path: Path) -> None:
    done = await run_program(sys.executable, PROGRAMS / "ours" / f"{name}.py", tmp_path)
    assert [one.err for one in done] == [""] * len(done)
    assert [one.out.strip() for one in done] == PRINTS[name]


@pytest.mark.heavy
async def test_a_program_of_ours_with_an_mcp_server_works(tmp_path: Path) -> None:
    [done] = await run_program(sys.executable, PROGRAMS / "ours/mcp_client.py", tmp_path)
    assert done.out.strip() == PRINTS["mcp_client"][0], done.err


@pytest.mark.heavy
@pytest.mark.parametrize("peer", PEERS)
@pytest.mark.parametrize("name", PRINTS)
async def test_a_program_of_another_library_works(name: str, peer: str, tmp_path: Path) -> None:
    python = install_pypi("libraries", PACKAGES) / "bin/python"
    done = await run_program(python, PROGRAMS / peer / f"{name}.py", tmp_path)
    assert [one.out.strip() for one in done] == PRINTS[name], [one.err for one in done]


def test_eight_of_ten_programs_are_not_longer_than_the_shorter_one_of_two_other_libraries() -> None:
    assert len(PRINTS) == 10
    for folder in ("ours", *PEERS):
        assert {program.stem for program in (PROGRAMS / folder).glob("*.py")} == set(PRINTS)
    lines = {
        name: [count_lines(PROGRAMS / folder / f"{name}.py") for folder in ("ours", *PEERS)]
        for name in PRINTS
    }
    assert [name for name, (ours, *theirs) in lines.items() if ours > min(theirs)] == ["approval"], lines
