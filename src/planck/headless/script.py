"""For scripts without a loop of their own: one prompt, one result."""

import asyncio
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, overload

from planck.headless.planck import Planck
from planck.headless.session_setup import check_options
from planck.llm.provider import Provider
from planck.permissions.approver import Approver
from planck.records.authority import Mode
from planck.records.messages import UserMessage
from planck.records.outcome import ErrorKind, PlanckError
from planck.records.specs import RunOptions
from planck.session.result import RunResult
from planck.toolkit.tool import Tool

if TYPE_CHECKING:
    from opentelemetry.trace import Tracer

    from planck.headless.embedding.hooks import Hooks
    from planck.headless.embedding.teams import AnyTeam
    from planck.headless.embedding.typed import TypedResult
    from planck.sidecar.discovery import Compact
    from planck.store.store import Store

T = TypeVar("T")


@overload
def run(
    prompt: str | UserMessage,
    *,
    output_type: None = None,
    workspace: Path | str | None = None,
    home: Path | str | None = None,
    environ: Mapping[str, str] | None = None,
    flags: Mapping[str, Any] | None = None,
    trust: bool = False,
    providers: Mapping[str, Provider] | None = None,
    approver: Approver | None = None,
    add_dirs: Iterable[Path | str] = (),
    compactors: "Mapping[str, Compact] | None" = None,
    tracer: "Tracer | None" = None,
    team: "str | os.PathLike[str] | AnyTeam | None" = None,
    model: str = "",
    mode: Mode | str | None = None,
    name: str = "",
    id: str = "",
    resume: str = "",
    timeout: float | None = None,
    max_steps: int | None = None,
    max_budget_usd: float | None = None,
    max_tokens: int | None = None,
    dry_run: bool | None = None,
    stored: bool = True,
    tools: Sequence[Tool] = (),
    settings: RunOptions | None = None,
    deps: Any = None,
    hooks: "Sequence[Hooks]" = (),
    history: Sequence[Mapping[str, Any]] = (),
    compactor: str = "",
    store: "Store | None" = None,
) -> RunResult: ...
@overload
def run(
    prompt: str | UserMessage,
    *,
    output_type: type[T],
    workspace: Path | str | None = None,
    home: Path | str | None = None,
    environ: Mapping[str, str] | None = None,
    flags: Mapping[str, Any] | None = None,
    trust: bool = False,
    providers: Mapping[str, Provider] | None = None,
    approver: Approver | None = None,
    add_dirs: Iterable[Path | str] = (),
    compactors: "Mapping[str, Compact] | None" = None,
    tracer: "Tracer | None" = None,
    team: "str | os.PathLike[str] | AnyTeam | None" = None,
    model: str = "",
    mode: Mode | str | None = None,
    name: str = "",
    id: str = "",
    resume: str = "",
    timeout: float | None = None,
    max_steps: int | None = None,
    max_budget_usd: float | None = None,
    max_tokens: int | None = None,
    dry_run: bool | None = None,
    stored: bool = True,
    tools: Sequence[Tool] = (),
    settings: RunOptions | None = None,
    deps: Any = None,
    hooks: "Sequence[Hooks]" = (),
    history: Sequence[Mapping[str, Any]] = (),
    compactor: str = "",
    store: "Store | None" = None,
) -> "TypedResult[T]": ...
def run(
    prompt: str | UserMessage,
    *,
    output_type: type[Any] | None = None,
    workspace: Path | str | None = None,
    home: Path | str | None = None,
    environ: Mapping[str, str] | None = None,
    flags: Mapping[str, Any] | None = None,
    trust: bool = False,
    providers: Mapping[str, Provider] | None = None,
    approver: Approver | None = None,
    add_dirs: Iterable[Path | str] = (),
    compactors: "Mapping[str, Compact] | None" = None,
    tracer: "Tracer | None" = None,
    team: "str | os.PathLike[str] | AnyTeam | None" = None,
    model: str = "",
    mode: Mode | str | None = None,
    name: str = "",
    id: str = "",
    resume: str = "",
    timeout: float | None = None,
    max_steps: int | None = None,
    max_budget_usd: float | None = None,
    max_tokens: int | None = None,
    dry_run: bool | None = None,
    stored: bool = True,
    tools: Sequence[Tool] = (),
    settings: RunOptions | None = None,
    deps: Any = None,
    hooks: "Sequence[Hooks]" = (),
    history: Sequence[Mapping[str, Any]] = (),
    compactor: str = "",
    store: "Store | None" = None,
) -> RunResult:
    """`planck run` as a function: waits for the team and gives its result; raises where none can start.

    The arguments are those of `Planck`, of `Planck.start` and of `OpenSession.run`. `resume` goes on with a
    stored session, whose team, name and id are what they are: it takes none of them. Where an event loop
    runs already, in a notebook or a server, use `Planck` itself.
    """
    _refuse_running_loop()
    check_options(timeout=timeout, resume=resume, dry_run=dry_run)
    given = (
        ("team", team),
        ("name", name),
        ("id", id),
        ("stored=False", not stored),
        ("history", history),
        ("compactor", compactor),
        ("store", store),
    )
    unfit = [said for said, one in given if one]
    if resume and unfit:
        raise PlanckError(
            ErrorKind.INVALID_ARGS,
            f"run(resume={resume!r}) continues a stored session and does not take {' or '.join(unfit)}. "
            f"Leave out {' and '.join(unfit)}, or start a new session without resume.",
        )

    async def go() -> RunResult:
        whole = Planck(
            home,
            workspace,
            environ=environ,
            flags=flags,
            trust=trust,
            providers=providers,
            approver=approver,
            add_dirs=add_dirs,
            compactors=compactors,
            tracer=tracer,
        )
        limits: dict[str, Any] = {
            "mode": mode,
            "max_steps": max_steps,
            "max_budget_usd": max_budget_usd,
            "max_tokens": max_tokens,
            "model": model,
            "tools": tools,
            "deps": deps,
            "hooks": hooks,
        }
        if output_type is not None:
            from planck.headless.embedding.typed import OutputType

            OutputType(output_type)  # a mistake is told before there is a session
        async with whole as planck:
            if resume:
                session = await planck.resume(resume, dry_run=dry_run, settings=settings, **limits)
            else:
                session = await planck.start(
                    team,
                    name=name,
                    id=id,
                    dry_run=bool(dry_run),
                    stored=stored,
                    history=history,
                    compactor=compactor,
                    store=store,
                    settings=settings or RunOptions(),
                    **limits,
                )
            if output_type is None:
                return await session.run(prompt, timeout=timeout)
            return await session.run(prompt, output_type=output_type, timeout=timeout)

    return asyncio.run(go())


def _refuse_running_loop() -> None:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    raise PlanckError(
        ErrorKind.INVALID_ARGS,
        "planck.run() starts an event loop, and one is running already. Use it from here: "
        "`async with planck.Planck(...) as p: session = await p.start(...); await session.run(...)`.",
    )
