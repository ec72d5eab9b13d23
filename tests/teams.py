"""Teams for tests: over a real socket with a scripted chat server, or in memory on the virtual loop."""

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from planck.agent.agent import Agent, Bounds, Kit
from planck.agent.seat import Seat
from planck.context.compaction import OnRequest, WindowCompactor
from planck.context.prompt import Prepared
from planck.headless.open_session import OpenSession
from planck.headless.planck import Planck
from planck.llm.provider import Request
from planck.records.events import Event, View, view
from planck.records.ports import Clock
from planck.records.specs import AgentSpec, Limits, ModelSpec
from planck.session.bus import Bus
from planck.session.journal import SessionJournal
from planck.store.memory import MemoryStore
from planck.team.mail import Accepted
from planck.team.spawn import Grants, KnownModels
from planck.team.team import Team
from planck.team.tools import make_orchestrator_tools, make_worker_tools
from planck.testing.scripted import Script, Scripted, ScriptedProvider
from planck.toolkit.clock import InOrder
from planck.toolkit.journal import Journal
from planck.toolkit.permit import Allowed, Permit
from planck.toolkit.scribe import Scribe
from planck.toolkit.tool import Tool
from planck.toolkit.toolset import ToolSet
from planck.tools.executor import Executor, Site
from tests.ports import CountedIds, FixedClock
from tests.wire import chat
from tests.wire.server import Asked, Reply

Brain = Sequence[Reply] | Callable[[list[dict[str, Any]]], Reply]
"""What one agent says: replies in order, or a function of the messages that it is shown."""


class Brains:
    """The script of a wire server: each agent by its name (which the base and `spawned`'s prompt begin with),
    or by how a part of its system prompt begins."""

    def __init__(self, brains: Mapping[str, Brain]) -> None:
        self._brains = brains
        self._next: dict[str, int] = {}
        self.seen: list[tuple[str, list[dict[str, Any]]]] = []
        self.systems: list[str] = []

    def __call__(self, asked: Asked) -> Reply:
        system, *messages = asked.json["messages"]
        self.systems.append(system["content"])
        name = self._who(system["content"])
        self.seen.append((name, messages))
        brain = self._brains[name]
        if callable(brain):
            return brain(messages)
        number = self._next.get(name, 0)
        self._next[name] = number + 1
        return brain[number] if number < len(brain) else chat.text(f"{name} has no more to say")

    def _who(self, system: str) -> str:
        parts = [f"{part}\n" for part in system.split("\n\n")]
        begins = {name: (f"# You\nYou are {name},", f"be {name}\n", name) for name in self._brains}
        return next(name for part in parts for name in begins if part.startswith(begins[name]))

    def last(self, name: str) -> list[dict[str, Any]]:
        """What an agent was shown in its newest request."""
        return next(messages for who, messages in reversed(self.seen) if who == name)


def open_planck(folder: Path, url: str, **flags: Any) -> Planck:
    (folder / "work").mkdir(exist_ok=True)
    providers = {"local": {"type": "openai", "base_url": url}}
    return Planck(
        home=folder / "home",
        workspace=folder / "work",
        environ={"PATH": "/usr/bin:/bin"},
        flags={"default_model": "local/m", "providers": providers, "permissions": {"mode": "full"}, **flags},
    )


def spawned(name: str, type: str = "", **more: Any) -> tuple[str, dict[str, Any]]:
    return (
        "spawn_agent",
        {
            "type": type or name,
            "name": name,
            "description": f"the {name}",
            "system_prompt": f"be {name}",
            "provider": "local",
            "model_id": "m",
            "base_url": "",
            **more,
        },
    )


def ask(name: str, question: str = "?", **more: Any) -> tuple[str, dict[str, Any]]:
    return ("ask_agent", {"identifier": name, "identifier_type": "name", "question": question, **more})


def delegate(name: str, task: str = "work") -> tuple[str, dict[str, Any]]:
    return ("delegate_task", {"identifier": name, "identifier_type": "name", "task": task})


def target(tool: str, name: str) -> tuple[str, dict[str, Any]]:
    return (tool, {"identifier": name, "identifier_type": "name"})


def write_team(folder: Path, *members: Mapping[str, Any]) -> str:
    """A TEAM.json with these members; each gets the local model."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = [{"provider": "local", "model_id": "m", **member} for member in members]
    (folder / "TEAM.json").write_text(json.dumps({"name": "t", "members": rows}))
    return str(folder)


async def facts(session: OpenSession) -> list[tuple[str, dict[str, Any]]]:
    """Everything recorded so far, as (type, data)."""
    found = []
    async for event in session.events():
        found.append((event.type, event.data))
        if event.seq == session.head:
            break
    return found


MODEL = ModelSpec(provider="s", model="m")


class Crew:
    """A team in memory with a scripted model: an orchestrator `lead`, and workers by name."""

    def __init__(
        self,
        script: Script | Callable[[Request], Scripted | Awaitable[Scripted]],
        *workers: str,
        limits: Limits | None = None,
        journal: Callable[[SessionJournal], Journal] = lambda journal: journal,
        clock: Clock | None = None,
    ) -> None:
        self.provider = ScriptedProvider(script)
        self.store = MemoryStore()
        self.ids = CountedIds()
        self.clock = clock or FixedClock()
        self.journal = journal(SessionJournal(self.store, Bus(), self.clock))
        self.team = Team(
            f"team-{id(self)}",
            journal=self.journal,
            ids=self.ids,
            clock=self.clock,
            limits=limits or Limits(live_agents=10_000, total_agents=100_000, messages=1_000_000),
            build=self._build,
        )
        self.names = ("lead", *workers)

    async def start(self) -> None:
        for name in self.names:
            lead = name == "lead"
            await self.team.add(
                AgentSpec(
                    id=name,
                    type=name,
                    name=name,
                    role="orchestrator" if lead else "worker",
                    model=MODEL,
                    delegator_id="" if lead else "lead",
                )
            )

    async def run(self, text: str = "go") -> None:
        assert isinstance(await self.team.mail.prompt(self.team.orchestrator, text), Accepted)
        await self.team.wait_until_settled()

    async def aclose(self) -> None:
        await self.team.aclose()

    def recorded(self, type: str = "") -> list[View]:
        return [fact for event in self.events() if (not type or event.type == type) and (fact := view(event))]

    def events(self) -> list[Event]:
        return list(self.store.read())

    def permit_for(self, spec: AgentSpec, scribe: Scribe) -> Permit:
        return Allowed()

    def extra_tools(self) -> list[Tool]:
        """Returns what every agent has besides the team's tools."""
        return []

    def _build(self, spec: AgentSpec, journal: Journal) -> Agent:
        tools = ToolSet(make_worker_tools(self.team, spec.delegator_id))
        if spec.role == "orchestrator":
            grants = Grants(models=(MODEL,), choice=KnownModels([MODEL]))
            for tool in make_orchestrator_tools(self.team, grants):
                tools.add(tool)
        scribe = Scribe(journal, spec.id)
        site = Site("session", Path("/"))
        for tool in self.extra_tools():
            tools.add(tool)
        executor = Executor(
            tools, site, permit=self.permit_for(spec, scribe), scribe=scribe, clock=self.clock
        )
        seat = Seat(spec.model, self.provider, None, OnRequest(WindowCompactor(None, 128_000)))
        kit = Kit(tools, executor, NameOnly(spec.name, tools), InOrder())
        return Agent(spec, seat, kit, scribe, ids=self.ids, bounds=Bounds(50))


class NameOnly:
    """Prepares turns whose system prompt is the agent's name."""

    def __init__(self, name: str, tools: ToolSet) -> None:
        self._prepared = Prepared(name, tools)

    def prepare_turn(self) -> Prepared:
        return self._prepared
