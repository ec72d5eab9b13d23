"""An answer while it arrives: what every dialect keeps of a stream, and the message that it becomes."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from planck.llm.http_errors import provider_error
from planck.llm.provider import Item, ProviderError, Request
from planck.records.messages import AssistantMessage, Part, StopReason, Text, ToolCall
from planck.records.outcome import ErrorKind
from planck.records.usage import Usage

if TYPE_CHECKING:
    from planck.llm.dialect import Dialect


class Answer:
    """Builds one message from the events of one stream; a dialect's own has `feed` and `build_parts`."""

    def __init__(self, dialect: "Dialect", request: Request) -> None:
        self._dialect = dialect
        self._position = len(request.history.messages)
        self.ended = False
        """The server has said its last word; what follows is not read."""
        self.usage = Usage()
        """What the server has counted so far; another object when it counted again."""
        self.stop: StopReason | None = None
        """Why the model stopped; None for as long as the server has not said."""

    def feed(self, data: bytes) -> Sequence[Item]:
        """The deltas of one event; an event it does not know gives none. Raises `codec.DecodeError`."""
        raise NotImplementedError

    def build_parts(self) -> list[Part]:
        """All that was said, once the server has said why it stopped; may still change `stop`."""
        raise NotImplementedError

    def build_message(self) -> AssistantMessage:
        """Raises `stream_cut` where the server did not finish.

        An answer cut short by length, refusal or filter loses every call, since the last may be half a call
        and the rest were meant together with it.
        """
        if self.stop is None:
            raise cut_error()
        kept = [part for part in self.build_parts() if not isinstance(part, Text) or part.text]
        stop = self.stop
        if stop is not StopReason.END:
            kept = [part for part in kept if not isinstance(part, ToolCall)]
        elif any(isinstance(part, ToolCall) for part in kept):
            stop = StopReason.TOOL_CALLS
        return AssistantMessage(tuple(kept), self._dialect.name, self._dialect.model.model, stop, self.usage)

    def make_id(self, number: int) -> str:
        """The id of a call that came without one; the same in no other answer of the session."""
        return f"{self._dialect.call_prefix}{self._position}_{number}"

    def error(self, data: bytes) -> ProviderError:
        """The error that the server sent inside a stream that began well."""
        return provider_error(0, {}, data, self._dialect.endpoint)


def cut_error() -> ProviderError:
    return ProviderError(
        ErrorKind.STREAM_CUT, "the answer ended before the model finished; it can be tried again"
    )


def count_usage(
    entered: int | None, output: int | None, read: int | None, written: int | None, reasoning: int | None
) -> Usage:
    """The usage of a vendor that counts what its cache served and took among the tokens that `entered`."""
    fresh = (entered or 0) - (read or 0) - (written or 0)
    return Usage(max(fresh, 0), output or 0, read or 0, written or 0, reasoning or 0)
