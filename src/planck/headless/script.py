"""For scripts without a loop of their own: one prompt, one result."""

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from planck.headless.planck import Planck
from planck.records.authority import Mode
from planck.records.outcome import ErrorKind, PlanckError
from planck.records.specs import RunOptions
from planck.session.result import RunResult
from planck.toolkit.tool import Tool


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
    max_tokens: int | None = None,
    stored: bool = True,
    trust: bool = False,
    flags: Mapping[str, Any] | None = None,
    tools: Sequence[Tool] = (),
) -> RunResult:
    """`planck run` as a function: waits for the team and gives its result; raises where none can start.

    `resume` goes on with a stored session, whose team and name are what they are: it takes neither.
    Inside a running event loop use `Planck` itself.
    """

    unfit = [said for said, given in (("team", team), ("name", name), ("stored", not stored)) if given]
    if resume and unfit:
        raise PlanckError(
            ErrorKind.INVALID_ARGS,
            f"run(resume={resume!r}) continues a stored session and does not take {' or '.join(unfit)}. "
            f"Leave out {' and '.join(unfit)}, or start a new session without resume.",
        )

    options = RunOptions(
        team=team or "",
        model=model,
        name=name,
        mode=mode,
        max_steps=max_steps,
        max_budget_usd=max_budget_usd,
        max_tokens=max_tokens,
    )

    async def go() -> RunResult:
        async with Planck(home, workspace, trust=trust, flags=flags) as planck:
            if resume:
                session = await planck.resume(resume, settings=options, tools=tools)
            else:
                session = await planck.start(settings=options, stored=stored, tools=tools)
            return await session.run(prompt, timeout=timeout)

    return asyncio.run(go())
