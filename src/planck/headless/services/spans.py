"""Spans for OpenTelemetry, by its conventions for generative AI: session, turn, model call, tool call.

Made from the events of a session, as any watcher gets them. They say who, what and how long: names, counts
and kinds, and no word of what was said, written or read. Loaded only where its variables name a collector.
"""

import asyncio
import logging
import re
from collections.abc import Mapping
from typing import Any

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import Span, SpanKind, Status, StatusCode, Tracer, set_span_in_context

from planck import __version__
from planck.config.environment import find_collector
from planck.records.events import (
    AgentStarted,
    AssistantSaid,
    ErrorEvent,
    Event,
    ModelChanged,
    ToolEnd,
    ToolStart,
    TurnEnd,
    TurnStart,
    TurnStatus,
    view,
)
from planck.records.specs import AgentSpec, ModelSpec

_PROVIDERS = {"google": "gcp.gemini"}
"""What the conventions call one otherwise than we do."""
_TOOL = re.compile(r"[A-Za-z0-9_-]{1,64}")
"""What a tool may be called: a model's call of one that is none may have any text in that place."""
_TIMEOUT = 5.0
"""Seconds: a collector that does not answer holds up neither a call nor the end."""


class Tracing:
    """Sends what is finished in the background; one for all sessions of a process."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        quiet = logging.getLogger("opentelemetry")
        quiet.addHandler(logging.NullHandler())
        quiet.propagate = False  # a collector that is away is no news for a terminal
        about = {"service.name": environ.get("OTEL_SERVICE_NAME") or "planck", "service.version": __version__}
        self._provider = TracerProvider(resource=Resource.create(about), shutdown_on_exit=False)
        exporter = OTLPSpanExporter(
            endpoint=find_collector(environ), headers=_read_headers(environ), timeout=_TIMEOUT
        )
        self._provider.add_span_processor(BatchSpanProcessor(exporter))
        self.tracer: Tracer = self._provider.get_tracer("planck", __version__)

    async def aclose(self) -> None:
        """Sends the rest, and waits for that not for ever."""
        ending = asyncio.ensure_future(asyncio.to_thread(self._provider.shutdown))
        await asyncio.wait({ending}, timeout=2 * _TIMEOUT)


class _Turn:
    """What one agent is at."""

    def __init__(self, span: Span) -> None:
        self.span = span
        self.call: Span | None = None
        self.tools: dict[str, Span] = {}


class SessionSpans:
    def __init__(self, tracing: Tracing, session_id: str, name: str, members: list[AgentSpec]) -> None:
        self._tracer = tracing.tracer
        self._session_id = session_id
        self._agents = {spec.id: spec for spec in members}
        self._turns: dict[str, _Turn] = {}
        self._kinds: dict[str, str] = {}
        """By agent: the kind of its last error."""
        about = {"gen_ai.conversation.id": session_id, "planck.session.name": name}
        self._root = self._tracer.start_span("planck session", attributes=about)

    def push(self, event: Event) -> None:
        if event.type not in _HEARD:
            return
        agent, fact = event.agent_id or "", view(event)
        turn = self._turns.get(agent)
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
            for span in (*turn.tools.values(), turn.call, turn.span):
                if span is not None:
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
            "gen_ai.provider.name": _PROVIDERS.get(model.provider, model.provider) if model else "",
            "gen_ai.request.model": model.model if model else "",
            "gen_ai.conversation.id": self._session_id,
        }
        name = f"chat {model.model if model else ''}".strip()
        turn.call = self._start(name, turn.span, about, SpanKind.CLIENT)

    def _end_call(self, turn: _Turn, said: AssistantSaid) -> None:
        if turn.call is None:
            return
        usage = said.message.usage
        turn.call.set_attributes(
            {
                "gen_ai.response.model": said.message.model,
                "gen_ai.response.finish_reasons": [str(said.message.stop)],
                "gen_ai.usage.input_tokens": usage.input_tokens,
                "gen_ai.usage.output_tokens": usage.output_tokens,
            }
        )
        turn.call.end()
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
        for span in (*turn.tools.values(), turn.call):
            if span is not None:
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


def _with_model(spec: AgentSpec, model: ModelSpec) -> AgentSpec:
    from msgspec.structs import replace

    return replace(spec, model=model)


def _read_headers(environ: Mapping[str, str]) -> dict[str, str]:
    text = environ.get("OTEL_EXPORTER_OTLP_TRACES_HEADERS") or environ.get("OTEL_EXPORTER_OTLP_HEADERS", "")
    pairs = (part.partition("=") for part in text.split(",") if "=" in part)
    return {name.strip(): value.strip() for name, _, value in pairs}
