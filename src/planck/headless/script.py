"""For scripts without a loop of their own: one prompt, one result."""

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, Unpack, overload

from planck.headless.embedding.arguments import (
    PlanckArguments,
    RunArguments,
    SessionArguments,
    StartArguments,
    complete,
    select,
    spell_out,
)
from planck.headless.open_session import OpenSession
from planck.headless.planck import Planck
from planck.records.messages import UserMessage
from planck.records.outcome import ErrorKind, PlanckError
from planck.session.result import RunResult

if TYPE_CHECKING:
    from planck.headless.embedding.typed import TypedResult

T = TypeVar("T")


@overload
def run(
    prompt: str | UserMessage, *, output_type: None = None, **arguments: Unpack[RunArguments]
) -> RunResult: ...
@overload
def run(
    prompt: str | UserMessage, *, output_type: type[T], **arguments: Unpack[RunArguments]
) -> "TypedResult[T]": ...
@spell_out(RunArguments)
def run(
    prompt: str | UserMessage, *, output_type: type[Any] | None = None, **arguments: Unpack[RunArguments]
) -> RunResult:
    """`planck run` as a function: waits for the team and gives its result; raises where none can start.

    The arguments are those of `Planck`, of `Planck.start` and of `OpenSession.run`. `resume` goes on with a
    stored session, whose team, name and id are what they are: it takes none of them. Where an event loop
    runs already, in a notebook or a server, use `Planck` itself.
    """
    given = complete(run, RunArguments, arguments)
    _refuse_running_loop()
    if given["resume"]:
        _refuse_for_resume(given)
    if output_type is not None:
        from planck.headless.embedding.typed import OutputType

        OutputType(output_type)  # a mistake is told before there is a session
    return asyncio.run(_run(prompt, output_type, given))


async def _run(prompt: str | UserMessage, output_type: type[Any] | None, given: RunArguments) -> RunResult:
    whole = Planck(given["home"], given["workspace"], **select(PlanckArguments, given))
    async with whole as planck:
        session = await _open(planck, given)
        if output_type is None:
            return await session.run(prompt, timeout=given["timeout"])
        return await session.run(prompt, output_type=output_type, timeout=given["timeout"])


async def _open(planck: Planck, given: RunArguments) -> OpenSession:
    if given["resume"]:
        return await planck.resume(given["resume"], **select(SessionArguments, given))
    return await planck.start(given["team"], **select(StartArguments, given))


def _refuse_for_resume(given: Mapping[str, Any]) -> None:
    """Raises for what only a new session takes."""
    new = [name for name in StartArguments.__annotations__ if name not in SessionArguments.__annotations__]
    unfit = [name for name in ("team", *new, "store") if name != "stored" and given[name]]
    if not given["stored"]:
        unfit.append("stored=False")
    if unfit:
        raise PlanckError(
            ErrorKind.INVALID_ARGS,
            f"run(resume={given['resume']!r}) continues a stored session and does not take "
            f"{' or '.join(unfit)}. Leave out {' and '.join(unfit)}, or start a new session without resume.",
        )


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
