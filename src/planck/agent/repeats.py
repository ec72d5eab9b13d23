"""Notices a model that makes the same call again and again and gets the same answer."""

from collections import Counter

from planck.records.messages import ToolCall

_TOO_OFTEN = 3


class Repeats:
    """Counts within one turn."""

    def __init__(self) -> None:
        self._seen: Counter[tuple[str, str, str]] = Counter()

    def notice(self, call: ToolCall, output: str) -> str:
        """What to tell the model with this result; empty as long as it does not go in circles."""
        key = (call.name, call.arguments, output)
        self._seen[key] += 1
        times = self._seen[key]
        if times < _TOO_OFTEN:
            return ""
        return (
            f"\n[notice: {call.name} was called {times} times in this turn with these arguments and gave the "
            "same result; do something else, or say what stops you]"
        )
