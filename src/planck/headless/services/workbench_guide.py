"""What `planck mcp serve` offers beside its tools: commands and skills as prompts, and hints on tools."""

import asyncio
import re
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from planck.archive.reading import ArchiveReader
from planck.config.project import Project
from planck.context.skills import read_skill
from planck.mcp.listing import drop_unseen
from planck.peers.peers import Peers
from planck.records import codec
from planck.records.outcome import ErrorKind, PlanckError
from planck.records.redact import Redactor
from planck.records.specs import EVERY_TOOL
from planck.records.visible import fit_line
from planck.toolkit.clock import SystemClock
from planck.toolkit.scribe import Scribe
from planck.toolkit.tool import Effect
from planck.toolkit.toolset import ToolSet

if TYPE_CHECKING:
    from planck.mcp.serve import OfferedPrompt, OfferedText

_PATIENCE = 20.0
"""Seconds that a list of tools waits for sidecars that are built and started."""
_RESULTS = 50
_LINE = 200
_RESULT = re.compile(r"planck://sessions/([A-Za-z0-9_-]{1,64})/result")
_SKILL = "skill:"
"""Before the name of a skill, as a prompt."""


class WorkbenchGuide:
    """Reads the files anew at each request; what it says holds no key that is known."""

    def __init__(self, tools: ToolSet, project: Project, keys: Callable[[], Redactor]) -> None:
        self._tools = tools
        self._resources = project.resources
        folder = Path(project.config.sessions_dir or project.home / "sessions").expanduser()
        self._sessions = ArchiveReader(folder, project.workspace)
        self._keys = keys
        self._peers = Peers(project, clock=SystemClock())

    @property
    def notices(self) -> tuple[str, ...]:
        """What is not offered, and why."""
        return self._peers.plan.notices

    @asynccontextmanager
    async def running(self, scribe: Scribe) -> AsyncGenerator[None, None]:
        """Starts sidecars alone: a server's tools are for the user's own agents."""
        self._peers.start("sidecar")
        self._peers.attach(self._tools, [EVERY_TOOL], scribe, 0)
        try:
            yield
        finally:
            await self._peers.aclose()

    async def settle(self) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(_PATIENCE):
                await self._peers.settle()

    def is_read_only(self, tool: str) -> bool:
        found = self._tools.get(tool)
        return found is not None and found.effect is Effect.NONE

    def prompts(self) -> "Sequence[OfferedPrompt]":
        from planck.mcp.serve import OfferedPrompt  # loads the SDK

        own = [
            OfferedPrompt(name, drop_unseen(one.description), drop_unseen(one.hint) or "Text for the command")
            for name, one in self._resources.commands().items()
        ]
        skills = self._resources.skills().skills.values()
        return own + [OfferedPrompt(_SKILL + one.name, drop_unseen(one.description)) for one in skills]

    def say_prompt(self, name: str, words: str) -> str:
        commands, skills = self._resources.commands(), self._resources.skills().skills
        if name in commands:
            text = commands[name].expand(words)
        elif (skill := name.removeprefix(_SKILL)) != name and skill in skills:
            text = read_skill(skills[skill])
        else:
            raise PlanckError(ErrorKind.NOT_FOUND, f"unknown prompt: {name!r}; list the prompts to see them")
        return self._hide(text)

    def texts(self) -> "Sequence[OfferedText]":
        """The results of the newest sessions of this workspace."""
        from planck.mcp.serve import OfferedText  # loads the SDK

        return [
            OfferedText(
                f"planck://sessions/{one.id}/result",
                drop_unseen(one.name),
                self._hide(drop_unseen(fit_line(f"{one.state}: {one.first_prompt}", _LINE))),
                "application/json",
            )
            for one in self._sessions.sessions(limit=_RESULTS)
        ]

    def read_text(self, uri: str) -> tuple[str, str]:
        found = _RESULT.fullmatch(uri)
        ids = {one.id for one in self._sessions.sessions()} if found else set()
        if not found or found[1] not in ids:  # also the session of another workspace
            why = f"unknown resource: {uri[:_LINE]!r}; list the resources to see them"
            raise PlanckError(ErrorKind.NOT_FOUND, why)
        result = self._sessions.result(found[1])
        if result is None:
            why = "this session is still at work; read its result when it has ended"
            raise PlanckError(ErrorKind.NOT_FOUND, why)
        return self._hide(codec.encode_str(result)), "application/json"

    def _hide(self, text: str) -> str:
        return self._keys()(text.encode()).decode()
