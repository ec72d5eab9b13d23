"""Which tools a model with a small window is shown."""

from collections.abc import Sequence

from planck.records import codec
from planck.records.history import BYTES_PER_TOKEN
from planck.records.specs import ToolSpec
from planck.records.tools import TOOLS

_ORDER = tuple(
    tuple(name for name, row in TOOLS.items() if row.left_out == place)
    for place in sorted({row.left_out for row in TOOLS.values()} - {0})
)
"""What is left out first; what stands in none of them stays: without it no work can be done."""
_WRAPPED = 40
"""Bytes that a server's template puts around each tool, beside its JSON."""
ROOMY = 32_768
"""Tokens of a window that needs no look."""


class ToolFit:
    """Chooses anew only when tools, prompt or window are others: the same tuple is the same bytes."""

    def __init__(self) -> None:
        self._from: tuple[Sequence[ToolSpec], str, int] = ((), "", 0)
        self._chosen: tuple[ToolSpec, ...] = ()
        self.left_out: tuple[str, ...] = ()

    def choose(self, specs: tuple[ToolSpec, ...], system: str, window: int) -> tuple[ToolSpec, ...]:
        """Returns what, with the system prompt, leaves half of the window for the work itself."""
        known, prompt, size = self._from
        if known is not specs or prompt != system or size != window:
            self._from = (specs, system, window)
            self._chosen, self.left_out = leave_out(specs, system, window)
        return self._chosen


def leave_out(
    specs: tuple[ToolSpec, ...], system: str, window: int
) -> tuple[tuple[ToolSpec, ...], tuple[str, ...]]:
    """Returns the tools that are shown, and the names of those that are not."""
    most = window // 2 * BYTES_PER_TOKEN - len(system.encode())
    sizes = {spec.name: len(codec.encode(spec)) + _WRAPPED for spec in specs}
    gone: list[str] = []
    for group in _ORDER:
        if sum(sizes.values()) <= most:
            break
        gone += [name for name in group if sizes.pop(name, None) is not None]
    return (tuple(spec for spec in specs if spec.name in sizes), tuple(gone)) if gone else (specs, ())
