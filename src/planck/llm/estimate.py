"""What an attempt at a model call used, where the server did not count it: silence is not zero."""

from collections.abc import Callable

from msgspec.structs import replace

from planck.llm.dialects.answer import drop_negative
from planck.llm.provider import Request
from planck.records import codec
from planck.records.history import BYTES_PER_TOKEN
from planck.records.messages import AssistantMessage, size
from planck.records.usage import Attempt, Usage


def complete(usage: Usage, count_entered: Callable[[], int], received: int) -> Attempt:
    """Returns the usage with an estimate, by bytes, for each side of which the server counted nothing.

    A budget would never end with a provider that counts no tokens, or fewer than none.
    """
    counted = usage = drop_negative(usage)
    if usage.context_tokens == usage.output_tokens:
        usage = replace(usage, input_tokens=count_entered())
    if not usage.output_tokens:
        usage = replace(usage, output_tokens=-(-received // BYTES_PER_TOKEN))
    return Attempt(usage, usage != counted)


def complete_answer(answer: AssistantMessage, request: Request) -> AssistantMessage:
    """Returns a whole answer with an estimate for each side that the server left out, and marks it so."""
    whole = complete(answer.usage, lambda: _count_entered(request), size(answer))
    if whole.estimated:
        request.tally.count(whole.usage, estimated=True)
    return replace(answer, usage=whole.usage)


def end_attempt(request: Request, received: int, *, charged: bool) -> None:
    """Puts an attempt of which no answer came into the request's tally, as one of its own.

    `charged`: it ended in a way that a server may charge for; what it has counted is charged for anyway.
    """
    tally, known = request.tally, request.tally.in_flight
    if (charged and not tally.unsent) or (known and known.usage != Usage()):
        before = known or Attempt(Usage())
        whole = complete(before.usage, lambda: _count_entered(request), received)
        tally.count(whole.usage, estimated=before.estimated or whole.estimated)
    tally.cut()
    tally.unsent = False


def _count_entered(request: Request) -> int:
    fixed = len(request.system.encode()) + sum(len(codec.encode(tool)) for tool in request.tools)
    return request.history.tokens(fixed // BYTES_PER_TOKEN)
