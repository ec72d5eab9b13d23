"""The algorithm: ask the model, run its tools, until it asks for none."""

from contextlib import aclosing

import msgspec

from planck.agent.agent import Activity, Agent
from planck.llm.provider import ProviderError
from planck.records.events import Envelope, ErrorData, ToolEnd, ToolStart
from planck.records.messages import AssistantMessage, StopReason, ToolCall
from planck.records.outcome import Err, ErrorKind, PlanckError
from planck.tools.executor import Finished


class TurnError(PlanckError):
    """The turn can't go on; the actor records the kind."""


async def run_turn(agent: Agent, opening: Envelope) -> str:
    """Run steps up to the final text. Whatever stops it raises: the actor records how the turn ended."""
    await agent.record(*agent.begin_turn(opening))
    for _ in range(agent.max_steps):
        await agent.take_responses()
        await agent.make_room()
        answer = await _ask_model(agent)
        await agent.answered(answer)
        if not answer.tool_calls:
            return _final_text(answer)
        await _run_tools(agent, answer.tool_calls)
    raise TurnError(ErrorKind.ITERATION_CAP, f"stopped after {agent.max_steps} model calls in one turn")


async def _ask_model(agent: Agent) -> AssistantMessage:
    agent.activity = Activity.STREAMING
    async with aclosing(agent.provider.stream(agent.request())) as stream:
        async for item in stream:
            if isinstance(item, AssistantMessage):
                return _with_own_ids(item, agent)
            agent.publish(item)
    raise ProviderError(ErrorKind.STREAM_CUT, "the model's stream ended without a message")


async def _run_tools(agent: Agent, calls: tuple[ToolCall, ...]) -> None:
    agent.activity = Activity.EXECUTING_TOOLS
    starts = [ToolStart(id=c.id, name=c.name, args=agent.executor.arguments(c)) for c in calls]
    await agent.record(*starts)
    agent.current_tools = tuple(call.name for call in calls)
    async with aclosing(agent.executor.run(calls)) as results:
        async for finished in results:
            await _record_end(agent, finished)
            agent.current_tools = agent.current_tools[1:]


async def _record_end(agent: Agent, done: Finished) -> None:
    try:
        await agent.record(tool_end(done))
    except PlanckError as failure:  # the result can't be stored: the call still gets its one result
        why = Err(
            ErrorKind.TOOL_RESULT_RECORD_FAILED, f"the result of {done.call.name} is lost: {failure.err}"
        )
        await agent.record(tool_end(msgspec.structs.replace(done, outcome=why, output=str(why), images=())))


def tool_end(done: Finished) -> ToolEnd:
    err = done.outcome if isinstance(done.outcome, Err) else None
    return ToolEnd(
        id=done.call.id,
        name=done.call.name,
        ok=done.ok,
        output=done.output,
        error=ErrorData(err.kind, err.message, err.details) if err else None,
        exit_code=done.exit_code,
        duration_ms=done.duration_ms,
        images=done.images,
    )


def _final_text(answer: AssistantMessage) -> str:
    match answer.stop:
        case StopReason.LENGTH:
            raise TurnError(ErrorKind.LIMIT_EXCEEDED, "the answer was cut at the model's output limit")
        case StopReason.REFUSAL | StopReason.FILTER:
            raise TurnError(ErrorKind.PROVIDER_HTTP_ERROR, f"the model stopped with {answer.stop!s}")
    return answer.text


def _with_own_ids(answer: AssistantMessage, agent: Agent) -> AssistantMessage:
    """Provider ids may be empty or repeated: ours are unique, and stand in for them on the wire then."""
    seen: set[str] = set()
    parts = []
    for part in answer.parts:
        if isinstance(part, ToolCall):
            id = agent.ids.new()
            wire = part.provider_id if part.provider_id and part.provider_id not in seen else id
            seen.add(wire)
            part = msgspec.structs.replace(part, id=id, provider_id=wire)
        parts.append(part)
    return msgspec.structs.replace(answer, parts=tuple(parts))
