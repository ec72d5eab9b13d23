"""One prompt, one result: with an event loop of its own, or in the loop of the program."""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
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
from planck.headless.event import SessionEvent
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
    runs already, in a notebook or a server, await `run_async`.

    Example:

        result = planck.run("What does this project do?", mode="read-only")
        print(result.text, result.cost_usd)
    """
    given = _check(run, output_type, arguments)
    _refuse_running_loop()
    return asyncio.run(_run(prompt, output_type, given))


@overload
async def run_async(
    prompt: str | UserMessage, *, output_type: None = None, **arguments: Unpack[RunArguments]
) -> RunResult: ...
@overload
async def run_async(
    prompt: str | UserMessage, *, output_type: type[T], **arguments: Unpack[RunArguments]
) -> "TypedResult[T]": ...
@spell_out(RunArguments)
async def run_async(
    prompt: str | UserMessage, *, output_type: type[Any] | None = None, **arguments: Unpack[RunArguments]
) -> RunResult:
    """`run` for a program that has an event loop. Each call opens and closes a `Planck`.

    For many prompts, open one `Planck` yourself and start a session for each prompt.

    Example:

        result = await planck.run_async("Say hello.")
    """
    return await _run(prompt, output_type, _check(run_async, output_type, arguments))


@spell_out(RunArguments)
async def stream(
    prompt: str | UserMessage, **arguments: Unpack[RunArguments]
) -> AsyncGenerator[SessionEvent, None]:
    """Yields the events of one run, deltas included, until `run` would return.

    The arguments are those of `run`. Leaving the loop early cancels the run; use `contextlib.aclosing` to
    have that happen at once.

    Example:

        async for event in planck.stream("Say hello."):
            if event.type == "text_delta":
                print(event.data["text"], end="", flush=True)
    """
    given = _check(stream, None, arguments)
    async with _make(given) as planck:
        session = await _open(planck, given)
        async with aclosing(session.stream(prompt, timeout=given["timeout"])) as events:
            async for event in events:
                yield event


def _check(function: Any, output_type: type[Any] | None, arguments: RunArguments) -> RunArguments:
    """Returns the arguments with their defaults; a mistake is told before there is a session."""
    given = complete(function, RunArguments, arguments)
    if given["resume"]:
        _refuse_for_resume(given)
    if output_type is not None:
        from planck.headless.embedding.typed import OutputType

        OutputType(output_type)
    return given


async def _run(prompt: str | UserMessage, output_type: type[Any] | None, given: RunArguments) -> RunResult:
    async with _make(given) as planck:
        session = await _open(planck, given)
        if output_type is None:
            return await session.run(prompt, timeout=given["timeout"])
        return await session.run(prompt, output_type=output_type, timeout=given["timeout"])


def _make(given: RunArguments) -> Planck:
    return Planck(given["home"], given["workspace"], **select(PlanckArguments, given))


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
        "planck.run() starts an event loop, and one is running already. "
        "Use `await planck.run_async(...)` here: it takes the same arguments.",
    )
