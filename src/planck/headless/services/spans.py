"""Spans and metrics for OpenTelemetry, by its conventions for generative AI.

Spans: session, turn, model call, tool call. Metrics: tokens and seconds of model calls.

Made from the events of a session, as any watcher gets them. They say who, what and how long: names, counts
and kinds, and no word of what was said, written or read. Loaded only where its variables name a collector.
"""

import asyncio
import logging
import re
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

from opentelemetry import metrics
from opentelemetry.metrics import Histogram, Meter
from opentelemetry.trace import Span, SpanKind, Status, StatusCode, Tracer, set_span_in_context

from planck import __version__
from planck.config.environment import find_collector
from planck.llm.endpoint import LOCAL_ROOTS
from planck.records.events import (
    AgentStarted,
    AssistantSaid,
    ErrorEvent,
    Event,
    ModelChanged,
    TextDelta,
    ThinkingDelta,
    ToolEnd,
    ToolStart,
    TurnEnd,
    TurnStart,
    TurnStatus,
    view,
)
from planck.records.outcome import PlanckError
from planck.records.specs import AgentSpec, ModelSpec
from planck.session.bus import Spoken

_SCHEMA = "https://opentelemetry.io/schemas/1.44.0"
"""The version of the conventions that our names are from."""
_VENDORS = {
    "api.anthropic.com": "anthropic",
    "api.openai.com": "openai",
    "openai.azure.com": "azure.ai.openai",
    "services.ai.azure.com": "azure.ai.inference",
    "generativelanguage.googleapis.com": "gcp.gemini",
    "aiplatform.googleapis.com": "gcp.vertex_ai",
    "api.mistral.ai": "mistral_ai",
    "api.groq.com": "groq",
    "api.x.ai": "x_ai",
    "api.deepseek.com": "deepseek",
    "api.perplexity.ai": "perplexity",
    "api.cohere.com": "cohere",
}
"""By host, or the end of one: what the conventions call the vendor behind it."""
_OWN_ADDRESS = {
    "anthropic": "https://api.anthropic.com",
    "openai": "https://api.openai.com",
    "google": "https://generativelanguage.googleapis.com",
    **LOCAL_ROOTS,
}
_TOKEN_BUCKETS = tuple(4**power for power in range(14))
_SECOND_BUCKETS = tuple(round(0.01 * 2**power, 2) for power in range(14))
"""As the conventions give them for the two metrics."""
_TOOL = re.compile(r"[A-Za-z0-9_-]{1,64}")
"""What a tool may be called: a model's call of one that is none may have any text in that place."""
_TIMEOUT = 5.0
"""Seconds: a collector that does not answer holds up neither a call nor the end."""


class Tracing:
    """Sends what is finished in the background; one for all sessions of a process."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.metrics import MeterProvider
        from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor

        quiet = logging.getLogger("opentelemetry")
        quiet.addHandler(logging.NullHandler())
        quiet.propagate = False  # a missing collector must not be reported on the terminal
        about = {"service.name": environ.get("OTEL_SERVICE_NAME") or "planck", "service.version": __version__}
        resource = Resource.create(about)
        self._spans = TracerProvider(resource=resource, shutdown_on_exit=False)
        if address := find_collector(environ, "traces"):
            headers = _read_headers(environ, "TRACES")
            spans = OTLPSpanExporter(endpoint=address, headers=headers, timeout=_TIMEOUT)
            self._spans.add_span_processor(BatchSpanProcessor(spans))
        readers = []
        if address := find_collector(environ, "metrics"):
            headers = _read_headers(environ, "METRICS")
            sent = OTLPMetricExporter(endpoint=address, headers=headers, timeout=_TIMEOUT)
            readers.append(PeriodicExportingMetricReader(sent))
        self._metrics = MeterProvider(readers, resource, shutdown_on_exit=False)
        self.tracer: Tracer = self._spans.get_tracer("planck", __version__, schema_url=_SCHEMA)
        meter = self._metrics.get_meter("planck", __version__, schema_url=_SCHEMA)
        self.tokens: Histogram
        self.seconds: Histogram
        self.tokens, self.seconds = _make_histograms(meter)

    async def aclose(self) -> None:
        """Sends the rest, and waits for that not for ever."""
        ending = asyncio.gather(
            asyncio.to_thread(self._spans.shutdown), asyncio.to_thread(self._metrics.shutdown)
        )
        await asyncio.wait({ending}, timeout=2 * _TIMEOUT)


class GivenTracer:
    """A tracer that the program has, whose spans it sends and ends itself."""

    def __init__(self, tracer: Tracer) -> None:
        self.tracer = tracer
        self.tokens: Histogram
        self.seconds: Histogram
        self.tokens, self.seconds = _make_histograms(metrics.get_meter("planck", __version__))

    async def aclose(self) -> None:
        pass  # it is the program's


def _make_histograms(meter: Meter) -> tuple[Histogram, Histogram]:
    tokens = meter.create_histogram(
        "gen_ai.client.token.usage",
        "{token}",
        "Number of input and output tokens used.",
        explicit_bucket_boundaries_advisory=_TOKEN_BUCKETS,
    )
    seconds = meter.create_histogram(
        "gen_ai.client.operation.duration",
        "s",
        "GenAI operation duration.",
        explicit_bucket_boundaries_advisory=_SECOND_BUCKETS,
    )
    return tokens, seconds


class _Call:
    """A model call that is under way, with all its attempts."""

    def __init__(self, span: Span, about: dict[str, Any]) -> None:
        self.span = span
        self.about = about
        """What its metrics say of it, too."""
        self._now = asyncio.get_running_loop().time
        self._begun = self._now()
        self._heard = False

    def hear(self) -> None:
        if not self._heard:
            self._heard = True
            self.span.set_attribute("gen_ai.response.time_to_first_chunk", self.measure())

    def measure(self) -> float:
        return self._now() - self._begun


class _Turn:
    """What one agent is at."""

    def __init__(self, span: Span) -> None:
        self.span = span
        self.call: _Call | None = None
        self.tools: dict[str, Span] = {}


class SessionSpans:
    def __init__(
        self,
        tracing: Tracing | GivenTracer,
        session_id: str,
        name: str,
        members: list[AgentSpec],
        locate: Callable[[ModelSpec], tuple[str, str]],
    ) -> None:
        """`locate` returns a model's provider type and address; both are empty for a double."""
        self._tracing = tracing
        self._tracer = tracing.tracer
        self._locate = locate
        self._session_id = session_id
        self._agents = {spec.id: spec for spec in members}
        self._turns: dict[str, _Turn] = {}
        self._kinds: dict[str, str] = {}
        """By agent: the kind of its last error."""
        about = {"gen_ai.conversation.id": session_id, "planck.session.name": name}
        self._root = self._tracer.start_span("planck session", attributes=about)

    def hear(self, spoken: Spoken) -> None:
        """Notes when the first words of an answer arrive."""
        turn = self._turns.get(spoken.agent_id or "")
        if turn and turn.call and spoken.delta.type in _SAID:
            turn.call.hear()

    def push(self, event: Event) -> None:
        if event.type not in _HEARD:
            return
        agent = event.agent_id or ""
        turn = self._turns.get(agent)
        fact = view(event)
        match fact:
            case AgentStarted():
                self._agents[fact.agent.id] = fact.agent
            case ModelChanged() if agent in self._agents:
                self._agents[agent] = _with_model(self._agents[agent], fact.model)
            case TurnStart():
                self._begin_turn(agent, str(fact.kind))
            case AssistantSaid() if turn:
                self._end_call(turn, fact)
            case ToolStart() if turn:
                self._begin_tool(turn, fact)
            case ToolEnd() if turn:
                self._end_tool(agent, turn, fact)
            case ErrorEvent():
                self._kinds[agent] = str(fact.kind)
            case TurnEnd() if turn:
                self._end_turn(agent, turn, fact)

    def end(self) -> None:
        """What is open when the session ends ends with it."""
        for turn in self._turns.values():
            for span in (*turn.tools.values(), *([turn.call.span] if turn.call else []), turn.span):
                span.end()
        self._turns.clear()
        self._root.end()

    async def aclose(self) -> None:
        self.end()

    def _begin_turn(self, agent: str, kind: str) -> None:
        spec = self._agents.get(agent)
        name = spec.name if spec else agent
        about = {
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.agent.id": agent,
            "gen_ai.agent.name": name,
            "gen_ai.conversation.id": self._session_id,
            **self._describe(spec.model if spec else None),
            "planck.turn.kind": kind,
        }
        turn = _Turn(self._start(f"invoke_agent {name}", self._root, about))
        self._turns[agent] = turn
        self._begin_call(agent, turn)

    def _begin_call(self, agent: str, turn: _Turn) -> None:
        spec = self._agents.get(agent)
        model = spec.model if spec else None
        about = {
            "gen_ai.operation.name": "chat",
            **self._describe(model),
        }
        name = f"chat {model.model if model else ''}".strip()
        more = {"gen_ai.conversation.id": self._session_id, "gen_ai.request.stream": True}
        turn.call = _Call(self._start(name, turn.span, {**about, **more}, SpanKind.CLIENT), about)

    def _describe(self, model: ModelSpec | None) -> dict[str, Any]:
        """The model that is asked, its vendor and the server."""
        if model is None:
            return {}
        try:
            type_, address = self._locate(model)
        except PlanckError:  # its provider is not configured: the call says so
            type_, address = "", ""
        address = address or _OWN_ADDRESS.get(type_, "")
        about: dict[str, Any] = {
            "gen_ai.provider.name": name_vendor(model.provider, type_, address),
            "gen_ai.request.model": model.model,
        }
        if server := _read_server(address):
            about["server.address"], about["server.port"] = server
        return about

    def _end_call(self, turn: _Turn, said: AssistantSaid) -> None:
        if turn.call is None:
            return
        usage, call = said.message.usage, turn.call
        read = usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens
        call.span.set_attributes(
            {
                "gen_ai.response.model": said.message.model,
                "gen_ai.response.finish_reasons": [str(said.message.stop)],
                "gen_ai.usage.input_tokens": read,
                "gen_ai.usage.output_tokens": usage.output_tokens,
                "gen_ai.usage.cache_read.input_tokens": usage.cache_read_tokens,
                "gen_ai.usage.cache_creation.input_tokens": usage.cache_write_tokens,
                "gen_ai.usage.reasoning.output_tokens": usage.reasoning_tokens,
            }
        )
        if said.message.response_id:
            call.span.set_attribute("gen_ai.response.id", said.message.response_id)
        about = {**call.about, "gen_ai.response.model": said.message.model}
        for kind, count in (("input", read), ("output", usage.output_tokens)):
            self._tracing.tokens.record(count, {**about, "gen_ai.token.type": kind})
        self._tracing.seconds.record(call.measure(), about)
        call.span.end()
        turn.call = None

    def _begin_tool(self, turn: _Turn, fact: ToolStart) -> None:
        name = fact.name if _TOOL.fullmatch(fact.name) else "unknown"
        about = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": name,
            "gen_ai.tool.call.id": fact.id,
        }
        turn.tools[fact.id] = self._start(f"execute_tool {name}", turn.span, about)

    def _end_tool(self, agent: str, turn: _Turn, fact: ToolEnd) -> None:
        span = turn.tools.pop(fact.id, None)
        if span is not None:
            if not fact.ok:
                _fail(span, str(fact.error.kind) if fact.error else "command_failed")
            span.end()
        if not turn.tools and turn.call is None:
            self._begin_call(agent, turn)

    def _end_turn(self, agent: str, turn: _Turn, fact: TurnEnd) -> None:
        failed = fact.status is not TurnStatus.COMPLETED
        kind = self._kinds.pop(agent, "") or str(fact.status)
        if turn.call:
            self._tracing.seconds.record(turn.call.measure(), {**turn.call.about, "error.type": kind})
        for span in (*turn.tools.values(), *([turn.call.span] if turn.call else [])):
            _fail(span, kind)
            span.end()
        if failed:
            _fail(turn.span, kind)
        turn.span.set_attribute("planck.turn.status", str(fact.status))
        turn.span.end()
        del self._turns[agent]

    def _start(
        self, name: str, parent: Span, about: Mapping[str, Any], kind: SpanKind = SpanKind.INTERNAL
    ) -> Span:
        return self._tracer.start_span(name, set_span_in_context(parent), kind, dict(about))


_SAID = frozenset((TextDelta.type, ThinkingDelta.type))
_HEARD = frozenset(
    one.type
    for one in (
        *(AgentStarted, ModelChanged, TurnStart, AssistantSaid, ToolStart, ToolEnd, ErrorEvent, TurnEnd),
    )
)


def _fail(span: Span, kind: str) -> None:
    """By its kind alone: a message may hold what was said or written."""
    span.set_attribute("error.type", kind)
    span.set_status(Status(StatusCode.ERROR))


def name_vendor(provider: str, type_: str, address: str) -> str:
    """Returns the conventions' name; for a server of the user's own, its name in the configuration."""
    server = _read_server(address)
    host = server[0] if server else ""
    for end, vendor in _VENDORS.items():
        if host == end or host.endswith(f".{end}"):
            return vendor
    return {"google": "gcp.gemini", "anthropic": "anthropic"}.get(type_, provider)


def _read_server(address: str) -> tuple[str, int] | None:
    try:
        parts = urlsplit(address)
        host, port = parts.hostname, parts.port
    except ValueError:
        return None
    return (host, port or (80 if parts.scheme == "http" else 443)) if host else None


def _with_model(spec: AgentSpec, model: ModelSpec) -> AgentSpec:
    from msgspec.structs import replace

    return replace(spec, model=model)


def _read_headers(environ: Mapping[str, str], signal: str) -> dict[str, str]:
    text = environ.get(f"OTEL_EXPORTER_OTLP_{signal}_HEADERS") or environ.get(
        "OTEL_EXPORTER_OTLP_HEADERS", ""
    )
    pairs = (part.partition("=") for part in text.split(",") if "=" in part)
    return {name.strip(): value.strip() for name, _, value in pairs}
