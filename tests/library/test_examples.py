"""Every public name of `planck` has a docstring with an example, and each example runs."""

import ast
import asyncio
import base64
import gc
import inspect
import textwrap
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

import planck
from planck import Planck, Question
from tests.library.programs import model
from tests.wire.server import WireServer

QUESTION = Question(
    id="q1",
    agent_id="a1",
    agent="orchestrator",
    tool="write",
    text="write a.txt",
    adds="",
    reason="",
    digest="d",
)
GIVEN = {"planck": planck, "msgspec": msgspec, "base64": base64, "png": b"\x89PNG", "question": QUESTION}
"""What an example may use without saying where it comes from, beside `p`, `session` and the public names."""


def list_examples(thing: Any) -> Iterator[str]:
    """Yields the indented blocks of a docstring."""
    block: list[str] = []
    for line in [*(inspect.getdoc(thing) or "").splitlines(), "end"]:
        if line.startswith("    ") or (block and not line):
            block.append(line)
        elif block:
            yield textwrap.dedent("\n".join(block))
            block = []


async def run_example(code: str, folder: Path) -> None:
    """Runs it in the loop if it awaits something, and else in a thread without one."""
    compiled = compile(code, "example", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
    names = {**GIVEN, **{name: getattr(planck, name) for name in planck.__all__}}
    if not compiled.co_flags & inspect.CO_COROUTINE:
        await asyncio.to_thread(eval, compiled, names)
        return
    async with Planck(folder / "home", folder) as p:
        await eval(compiled, {**names, "p": p, "session": await p.start()})


@pytest.fixture
async def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Path]:
    """Yields an empty working directory, in which the default model is a server of this process."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PLANCK_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-nobody")
    monkeypatch.setenv("PLANCK_DEFAULT_MODEL", "openai/gpt-5")
    async with WireServer(model.answer) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
        yield tmp_path


@pytest.mark.parametrize("name", sorted(planck.__all__))
async def test_a_public_name_has_an_example_that_runs(name: str, place: Path) -> None:
    examples = [*list_examples(getattr(planck, name))]
    assert examples, f"{name} has no example"
    for example in examples:
        await run_example(example, place)
    if name == "Sidecar":
        gc.collect()  # a subclass that is left would be found as the sidecar of this process


async def test_an_example_that_fails_is_noticed(place: Path) -> None:
    with pytest.raises(NameError):
        await run_example("wether", place)
    with pytest.raises(ZeroDivisionError):
        await run_example("await session.settled()\n1 / 0", place)


def test_help_begins_with_every_public_name() -> None:
    words = (planck.__doc__ or "").replace(",", " ").split()
    assert [name for name in planck.__all__ if name not in words] == []
    assert len((planck.__doc__ or "").splitlines()) < 24
