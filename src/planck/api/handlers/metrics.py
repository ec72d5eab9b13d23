"""What the server and its sessions count, as Prometheus reads it; every label is from a closed set."""

from collections import Counter
from collections.abc import Iterator, Mapping

from planck.api.exchange import Call, Reply
from planck.api.metrics import Metrics
from planck.api.session_cache import SessionCache
from planck.api.tally import CLASSES, STATUSES
from planck.headless import Inbox

_STATES = ("idle", "streaming", "executing_tools", "ended")
_ANSWERS = ("1xx", "2xx", "3xx", "4xx", "5xx")


class MetricHandlers:
    def __init__(self, metrics: Metrics, cache: SessionCache, inbox: Inbox) -> None:
        self._metrics = metrics
        self._cache = cache
        self._inbox = inbox

    async def read_metrics(self, call: Call) -> Reply:
        text = "".join(f"{line}\n" for line in self._write())
        return Reply(200, text.encode(), "text/plain; version=0.0.4; charset=utf-8")

    def _write(self) -> Iterator[str]:
        kept, own, tally = self._cache.open_sessions, self._metrics, self._cache.tally
        agents = Counter(str(row.status) for one in kept for row in one.board.agents)
        yield from _gauge("sessions_open", len(kept))
        yield from _gauge("approvals_waiting", len(self._inbox.pending()))
        yield from _gauge("sse_clients", own.stream_clients)
        yield from _by_label("agents", "gauge", "state", {name: agents[name] for name in _STATES})
        yield from _count("sse_drops_total", own.stream_drops)
        yield from _count("model_requests_total", tally.requests)
        yield from _count("model_seconds_total", tally.seconds)
        yield from _count("cost_usd_total", tally.spent.cost_usd)
        # A counter can't be unknown: how many calls are not in it, and how many are estimates.
        yield from _count("unpriced_calls_total", tally.spent.unpriced)
        yield from _count("estimated_calls_total", tally.spent.estimated)
        yield from _count("prompt_commits_total", own.commits)
        yield from _count("prompt_commit_seconds_total", own.commit_seconds)
        yield from _by_label(
            "turns_total", "counter", "status", {name: tally.turns[name] for name in STATUSES}
        )
        tokens = {name: getattr(tally.spent.usage, f"{name}_tokens") for name in CLASSES}
        yield from _by_label("tokens_total", "counter", "class", tokens)
        calls = {"true": tally.calls[True], "false": tally.calls[False]}
        yield from _by_label("tool_calls_total", "counter", "ok", calls)
        answers = {name: own.requests[name] for name in _ANSWERS}
        yield from _by_label("http_requests_total", "counter", "status", answers)


def _gauge(name: str, value: float) -> Iterator[str]:
    yield f"# TYPE planck_{name} gauge"
    yield f"planck_{name} {value}"


def _count(name: str, value: float) -> Iterator[str]:
    yield f"# TYPE planck_{name} counter"
    yield f"planck_{name} {value}"


def _by_label(name: str, kind: str, label: str, values: Mapping[str, float]) -> Iterator[str]:
    yield f"# TYPE planck_{name} {kind}"
    for value, count in values.items():
        yield f'planck_{name}{{{label}="{value}"}} {count}'
