"""Numbers for a person: tokens, money and time, short."""

from typing import TYPE_CHECKING

from planck.headless import RunResult
from planck.records.events import TurnStatus
from planck.records.visible import fit_line

if TYPE_CHECKING:  # it reads commands: nothing that a start needs
    from planck.headless import Evidence, SessionDetail


def format_count(number: int) -> str:
    """1,234 is 1.2k, as it is read."""
    if number < 1_000:
        return str(number)
    for size, unit in ((1_000, "k"), (1_000_000, "M"), (1_000_000_000, "G")):
        if number < size * 999.5:
            value = number / size
            return f"{value:.1f}{unit}" if value < 99.95 else f"{value:.0f}{unit}"
    return f"{number / 1e12:.1f}T"


def format_money(dollars: float | None) -> str:
    if dollars is None:
        return "cost unknown"
    return f"${dollars:.2f}" if dollars >= 0.095 or not dollars else f"${dollars:.4f}"


def format_time(seconds: float) -> str:
    """Whole seconds, from a minute on with minutes; below ten with a tenth."""
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s"


def say_status(status: str) -> str:
    """Returns how a turn ended in words: `timed_out` is "timed out", `capped` is "limit reached"."""
    return "limit reached" if status == TurnStatus.CAPPED else status.replace("_", " ")


def summarise(result: RunResult, status: str = "") -> str:
    """How it ended, where a status is given, then steps, tokens, cost and time, on one line."""
    usage, took = result.usage, format_time(result.duration_ms / 1000)
    read = usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens
    tokens = f"{format_count(read)} tokens in, {format_count(usage.output_tokens)} out"
    about = "about " if result.estimated and result.cost_usd else ""
    spent = f"{tokens} · {about}{format_money(result.cost_usd)}"
    how = say_status(status or result.status).capitalize()
    if not result.steps and (status or result.status) != TurnStatus.COMPLETED:
        # A response that was cut off may have cost something.
        spent = f"{spent} · " if read or usage.output_tokens else ""
        return f"{how} before the first response was complete · {spent}{took}"
    steps = "1 step" if result.steps == 1 else f"{result.steps} steps"
    return f"{f'{how} · ' if status else ''}{steps} · {spent} · {took}"


def say_proof(result: "RunResult | SessionDetail") -> list[tuple[str, str]]:
    """Returns, each with its style, how the checks ended and which claims the log does not bear out."""
    lines = []
    for check in result.checks:
        again = f" after {check.attempts} attempts" if check.attempts > 1 else ""
        how = "passed" if check.ok else f"exit code {check.exit_code}" if check.exit_code else "not proven"
        lines.append((f"{'✓' if check.ok else '!'} Check {check.command}: {how}{again}", check.ok))
    for claim in result.evidence.claims:
        if claim.verdict != "proven":
            lines.append((f'! {claim.agent} claimed "{claim.text}": {claim.verdict} by the log', False))
    return [(fit_line(text, _PROOF), "dim" if good else "yellow") for text, good in lines]


_PROOF = 200
"""Columns of a command or a claim that is named."""


def say_evidence(evidence: "Evidence") -> tuple[str, str]:
    """Returns what the log says of the tests, and its style; what is no good news begins with a mark."""
    if not evidence.fresh:
        return "! The last test run was before the last edit", "yellow"
    when = " after the last edit" if evidence.edited else ""
    code = "unknown" if evidence.exit_code is None else evidence.exit_code
    since = "; other commands ran later" if evidence.followed else ""
    good = evidence.exit_code == 0 and not evidence.followed
    return f"{'' if good else '! '}Tests ran{when}: exit code {code}{since}", "dim" if good else "yellow"
