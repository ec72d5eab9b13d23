"""A program that embeds Planck, with a model that follows a script."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from planck import Planck
from planck.headless import OpenSession
from planck.testing import ScriptedProvider


def make_planck(folder: Path, script: Any, **options: Any) -> Planck:
    """`options` are those of `Planck`; the same folder again is the same home and workspace."""
    (folder / "work").mkdir(exist_ok=True)
    return Planck(
        folder / "home",
        folder / "work",
        environ={},
        providers={"double": ScriptedProvider(script), **options.pop("providers", {})},
        flags={"default_model": "double/m", **options.pop("flags", {})},
        **options,
    )


@asynccontextmanager
async def started(folder: Path, script: Any, **options: Any) -> AsyncIterator[OpenSession]:
    """`options` are those of `start`."""
    async with make_planck(folder, script) as planck:
        yield await planck.start(**options)


def results(session: OpenSession) -> list[str]:
    """What the tools of a session returned, in order."""
    from planck.records.events import ToolEnd, view

    facts = [view(event) for event in session.recorded()]
    return [fact.output for fact in facts if isinstance(fact, ToolEnd)]
