"""Notices a model that makes the same call again and again and gets the same answer."""

from collections import Counter

from planck.records.messages import ToolCall

_TOO_OFTEN = 3


class Repeats:
    """Counts the steps of one turn: calls that stand beside each other are no circle."""

    def __init__(self) -> None:
        self._seen: Counter[tuple[str, str, str]] = Counter()
        self._in_step: set[tuple[str, str, str]] = set()

    def next_step(self) -> None:
        self._in_step.clear()

    def notice(self, call: ToolCall, output: str) -> str:
        """What to tell the model with this result; empty as long as it does not go in circles."""
        key = (call.name, call.arguments, output)
        self._seen[key] += key not in self._in_step
        self._in_step.add(key)
        times = self._seen[key]
        if times < _TOO_OFTEN:
            return ""
        return (
            f"\n[notice: {call.name} was called with these arguments in {times} steps of this turn and gave "
            "the same result; do something else, or say what stops you]"
        )
