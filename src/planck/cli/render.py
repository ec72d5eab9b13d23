"""What a person sees of a session while it runs: one line for each thing that happened."""

import asyncio
from typing import TYPE_CHECKING, Any

from planck.cli.blocks import Blocks
from planck.cli.terminal import Terminal
from planck.headless import OpenSession, RunResult, SessionEvent
from planck.records.visible import fit_line

if TYPE_CHECKING:
    from planck.cli.status_line import StatusLine

_TOLD = frozenset({"ask_agent", "delegate_task", "send_response", "load_skill"})
"""Tools of which the message itself, or nothing, is worth a line."""
_SUBJECTS = ("command", "path", "pattern", "name", "identifier", "query", "url")


class Screen:
    """Shows one session; `run` keeps the line of what goes on up to date until it is cancelled."""

    def __init__(self, terminal: Terminal, session: OpenSession, *, details: int = 0) -> None:
        self._terminal = terminal
        self._orchestrator = session.orchestrator.id
        self._details = details
        """Lines of a tool's output to show, also where it went well."""
        self._labels: dict[str, str] = {}
        """Of the calls that have not ended."""
        self._line = _make_line(session) if terminal.live else None
        self._blocks = Blocks()
        self.answered = False
        """Whether the orchestrator's newest text is on the screen already."""
        self._names = {spec.id: spec.name for spec in session.members}

    async def run(self) -> None:
        """Tick, so that elapsed times move."""
        while self._line:
            self._terminal.status(self._line.tick())
            await asyncio.sleep(0.12)

    def done(self) -> None:
        self._flush()
        self._terminal.status("")

    def show(self, event: SessionEvent) -> None:
        if self._line:
            self._line.follow(event)
        handler = getattr(self, f"_on_{event.type}", None)
        if handler:
            handler(event, event.data)

    def _on_agent_started(self, event: SessionEvent, data: dict[str, Any]) -> None:
        agent = data["agent"]
        self._names.setdefault(agent["id"], agent["name"])
        if agent["id"] != self._orchestrator:
            self._say(agent["id"], "joined", "dim")

    def _on_agent_ended(self, event: SessionEvent, data: dict[str, Any]) -> None:
        self._say(event.agent_id, f"left: {data['reason']}", "dim")

    def _on_turn_end(self, event: SessionEvent, data: dict[str, Any]) -> None:
        if event.agent_id == self._orchestrator:
            self._flush()
        if data["status"] not in ("completed", "interrupted"):
            self._say(event.agent_id, str(data["status"]).replace("_", " "), "red")

    def _on_text_delta(self, event: SessionEvent, data: dict[str, Any]) -> None:
        if event.agent_id == self._orchestrator and self._terminal.rich:
            for block in self._blocks.feed(data["text"]):
                self._answer(block)

    def _on_compacted(self, event: SessionEvent, data: dict[str, Any]) -> None:
        before, after = data["tokens_before"], data["tokens_after"]
        shorter = f"history {data['how']}: {before:,} tokens are {after:,} now; the log keeps all"
        self._say(event.agent_id, shorter, "dim")

    def _on_assistant_message(self, event: SessionEvent, data: dict[str, Any]) -> None:
        parts = data["message"]["parts"]
        text = "".join(part["text"] for part in parts if part["type"] == "text")
        if event.agent_id == self._orchestrator:
            self._flush()
            if any(part["type"] == "tool_call" for part in parts):
                self.answered = False
                if text and not self._terminal.rich:
                    self._say(event.agent_id, text, "")
        elif text:
            self._say(event.agent_id, text, "")

    def _on_status(self, event: SessionEvent, data: dict[str, Any]) -> None:
        if data.get("state") == "discarded":  # a cut attempt is tried again: what was shown of it is void
            self._blocks.rest()
        words = [str(data[key]) for key in ("component", "name", "state", "detail") if data.get(key)]
        self._say(event.agent_id, " ".join(words), "dim")

    def _on_tool_start(self, event: SessionEvent, data: dict[str, Any]) -> None:
        prefix = sum(len(text) for text, _ in self._prefix(event.agent_id))
        label = fit_line(_label(data["name"], data["args"]), max(12, self._terminal.width - 13 - prefix))
        self._labels[data["id"]] = label

    def _on_tool_end(self, event: SessionEvent, data: dict[str, Any]) -> None:
        label = self._labels.pop(data["id"], data["name"])
        mark, style = ("✓", "green") if data["ok"] else ("✗", "red")
        took = f"  {data['duration_ms'] / 1000:.1f} s" if data["duration_ms"] >= 100 else ""
        self._terminal.parts(*self._prefix(event.agent_id), (f"{mark} ", style), (label, ""), (took, "dim"))
        lines = [line for line in data["output"].splitlines() if line.strip()]
        count = max(self._details, 3 if not data["ok"] else 0)
        if data["name"] == "update_plan":
            count = len(lines)
        elif data["ok"] and data["name"] in _TOLD:
            count = 0
        for line in lines[-count:] if count else ():
            self._terminal.parts(("    ", ""), (line, "dim"))

    def _on_message(self, event: SessionEvent, data: dict[str, Any]) -> None:
        if data["from"] == "user" or data["kind"] == "prompt":
            return
        to = self._names.get(data["to"], data["to"])
        self._terminal.parts(
            *self._prefix(data["from"], always=True),
            (f"→ {to} ", self._style(data["to"])),
            (f"{data['kind']}: ", "dim"),
            (data["text"], ""),
        )

    def _on_permission_decision(self, event: SessionEvent, data: dict[str, Any]) -> None:
        if data["decision"] == "deny":
            self._say(event.agent_id, f"{data['tool']} denied: {data['reason']}", "yellow")

    def _on_error(self, event: SessionEvent, data: dict[str, Any]) -> None:
        if event.agent_id != self._orchestrator:  # the run's own error is told at its end, in one line
            self._say(event.agent_id, f"{data['kind']}: {data['message']}", "red")

    def _say(self, id: str | None, text: str, style: str) -> None:
        self._terminal.parts(*self._prefix(id), (" ".join(text.split()), style))

    def _prefix(self, id: str | None, *, always: bool = False) -> list[tuple[str, str]]:
        """The agent's name in its colour, once there is more than one."""
        if not always and len(self._names) < 2:
            return [("  ", "")]
        return [(f"{self._names.get(id or '', '')} ", self._style(id or ""))]

    def _style(self, id: str) -> str:
        known = list(self._names)
        return self._terminal.agent_style(known.index(id)) if id in known else ""

    def _answer(self, block: str) -> None:
        self._terminal.answer(block)
        self.answered = True

    def _flush(self) -> None:
        if rest := self._blocks.rest():
            self._answer(rest)


def _make_line(session: OpenSession) -> "StatusLine":
    from planck.cli.status_line import StatusLine  # where nobody looks, nothing is folded

    return StatusLine(session)


def summarise(result: RunResult) -> str:
    """Steps, tokens, money and time, on one line."""
    usage = result.usage
    read = usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens
    cost = f"${result.cost_usd:.4f}" if result.cost_usd is not None else "cost unknown"
    steps = "1 step" if result.steps == 1 else f"{result.steps} steps"
    return f"{steps} · {read:,} + {usage.output_tokens:,} tokens · {cost} · {result.duration_ms / 1000:.1f} s"


def _label(name: str, args: Any) -> str:
    if not isinstance(args, dict):
        return name
    subject = next((str(args[key]) for key in _SUBJECTS if args.get(key)), "")
    return f"{name} {' '.join(subject.split())}".strip()
