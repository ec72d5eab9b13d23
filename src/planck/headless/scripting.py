"""For scripts without a loop of their own: one prompt, one result."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from planck.headless.planck import Planck
from planck.records.authority import Mode
from planck.session.result import RunResult


def run(
    prompt: str,
    *,
    workspace: Path | str | None = None,
    home: Path | str | None = None,
    team: str | None = None,
    model: str = "",
    mode: Mode | str | None = None,
    name: str = "",
    resume: str = "",
    timeout: float | None = None,
    max_steps: int | None = None,
    max_budget_usd: float | None = None,
    stored: bool = True,
    trust: bool = False,
    flags: Mapping[str, Any] | None = None,
) -> RunResult:
    """`planck run` as a function: waits for the team and gives its result; raises where none can start.

    Inside a running event loop use `Planck` itself.
    """

    async def go() -> RunResult:
        async with Planck(home, workspace, trust=trust, flags=flags) as planck:
            limits: Any = {"mode": mode, "max_steps": max_steps, "max_budget_usd": max_budget_usd}
            if resume:
                session = await planck.resume(resume, **limits)
            else:
                session = await planck.start(team, model=model, name=name, stored=stored, **limits)
            return await session.run(prompt, timeout=timeout)

    return asyncio.run(go())
