"""The algorithm: ask the model, run its tools, until it asks for none."""

from collections.abc import Sequence
from contextlib import aclosing

from planck.agent.agent import CUT, Agent
from planck.llm.provider import ProviderError
from planck.records.events import Envelope
from planck.records.messages import AssistantMessage, StopReason, assign_ids
from planck.records.outcome import ErrorKind, PlanckError, say_option
from planck.tools.executor import ReadCall

_SMALLER_WINDOWS = 3
"""Each time a third is taken off: enough for a model with a third of the window that we thought it had."""

_CAPPED = "Stopped after {} model call{} in one turn. Resume the session, or raise {} or limits.steps."
_EXCESSIVE = (
    "Two answers exceeded limits.calls, limits.answer_bytes or the budget for tool calls. "
    "Raise that limit, or use another model."
)


class TurnError(PlanckError):
    """The turn can't go on; the actor records the kind."""


async def run_turn(agent: Agent, opening: Envelope) -> str:
    """Run steps up to the final text. Whatever stops it raises: the actor records how the turn ended."""
    await agent.scribe.record(*agent.begin_turn(opening))
    for _ in range(agent.bounds.max_steps):
        await agent.take_responses()
        answer = await _ask_within_window(agent)
        calls = await agent.record_answer(answer)
        if not calls:
            return _final_text(agent, answer)
        await _run_tools(agent, calls)
        if agent.excesses > 1:
            raise TurnError(ErrorKind.LIMIT_EXCEEDED, _EXCESSIVE)
    most, option = agent.bounds.max_steps, say_option("--max-steps", "max_steps")
    raise TurnError(ErrorKind.ITERATION_CAP, _CAPPED.format(most, "" if most == 1 else "s", option))


async def _ask_within_window(agent: Agent) -> AssistantMessage:
    """Compact before the call, and go on after what can be mended: a smaller window, a model that is gone."""
    await agent.make_room()
    for _ in range(_SMALLER_WINDOWS):
        try:
            return await _ask_model(agent)
        except ProviderError as refused:
            if not await agent.recover(refused.err):
                raise
    return await _ask_model(agent)


async def _ask_model(agent: Agent) -> AssistantMessage:
    async with aclosing(agent.seat.provider.stream(agent.request())) as stream:
        async for item in stream:
            if isinstance(item, AssistantMessage):
                return assign_ids(item, [agent.ids.new(agent.id) for _ in item.tool_calls])
            agent.hear(item)
    raise ProviderError(ErrorKind.STREAM_CUT, "The model's stream ended without an answer. Try again.")


async def _run_tools(agent: Agent, calls: Sequence[ReadCall]) -> None:
    async with aclosing(agent.kit.runner.run(calls)) as results:
        async for finished in results:
            await agent.record_result(finished)


def _final_text(agent: Agent, answer: AssistantMessage) -> str:
    match answer.stop:
        case StopReason.LENGTH if agent.was_cut_elsewhere(answer):
            return answer.text + CUT
        case StopReason.LENGTH:
            raise TurnError(
                ErrorKind.LIMIT_EXCEEDED,
                "The answer was cut off at the model's output limit, or at limits.answer_bytes. "
                "Resume and ask for it in parts, or raise max_output.",
            )
        case StopReason.REFUSAL | StopReason.FILTER:
            refused = answer.stop is StopReason.REFUSAL
            what = "The model refused to answer" if refused else "The provider's filter stopped the answer"
            raise TurnError(
                ErrorKind.PROVIDER_HTTP_ERROR, f"{what}. Rephrase the request, or use another model."
            )
    return answer.text
