"""For scripts without a loop of their own: one prompt, one result."""

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Unpack

from planck.headless.planck import Planck
from planck.records.outcome import ErrorKind, PlanckError
from planck.records.specs import RunKeywords
from planck.session.result import RunResult
from planck.toolkit.tool import Tool


def run(
    prompt: str,
    *,
    workspace: Path | str | None = None,
    home: Path | str | None = None,
    team: str | None = None,
    name: str = "",
    resume: str = "",
    timeout: float | None = None,
    stored: bool = True,
    trust: bool = False,
    flags: Mapping[str, Any] | None = None,
    tools: Sequence[Tool] = (),
    **keywords: Unpack[RunKeywords],
) -> RunResult:
    """`planck run` as a function: waits for the team and gives its result; raises where none can start.

    `keywords` are those of `Planck.start`: `model`, `mode`, `max_steps`, `max_budget_usd`, `max_tokens`.
    `resume` goes on with a stored session, whose team and name are what they are: it takes neither.
    Inside a running event loop use `Planck` itself.
    """

    unfit = [said for said, given in (("team", team), ("name", name), ("stored", not stored)) if given]
    if resume and unfit:
        raise PlanckError(
            ErrorKind.INVALID_ARGS,
            f"run(resume={resume!r}) goes on with what was stored and takes no {' or '.join(unfit)}; "
            "leave that out, or start a new session without resume",
        )

    async def go() -> RunResult:
        async with Planck(home, workspace, trust=trust, flags=flags) as planck:
            if resume:
                session = await planck.resume(resume, tools=tools, **keywords)
            else:
                session = await planck.start(team, name=name, stored=stored, tools=tools, **keywords)
            return await session.run(prompt, timeout=timeout)

    return asyncio.run(go())
