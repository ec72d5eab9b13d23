"""Teams with a member that is another program: the small agent beside this file, or any command."""

import asyncio
import sys
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from planck.headless.open_session import OpenSession
from planck.headless.planck import Planck
from tests.teams import Brain, Brains, facts, write_team
from tests.wire.server import WireServer

AGENT = Path(__file__).with_name("plain_agent.py")
WAIT = 60.0


def plain(*script: str, name: str = "guest", **acp: Any) -> dict[str, Any]:
    """A member that is the small agent."""
    return foreign(sys.executable, "-I", str(AGENT), *script, name=name, **acp)


def foreign(*command: str, name: str = "guest", **acp: Any) -> dict[str, Any]:
    return {"type": name, "provider": "", "model_id": "", "acp": {"command": command, **acp}}


@asynccontextmanager
async def crew(
    folder: Path,
    brains: Mapping[str, Brain],
    *members: dict[str, Any],
    mode: str = "workspace",
    environ: dict[str, str] | None = None,
    **options: Any,
) -> AsyncGenerator[OpenSession, None]:
    """A session of `lead`, whose model is scripted, and these members."""
    async with (
        WireServer(Brains(brains)) as server,
        open_place(folder, server.url, mode, environ or {}, **options) as planck,
    ):
        lead = {"type": "orchestrator", "name": "lead"}
        team = write_team(folder / "team", lead, *members)
        async with asyncio.timeout(WAIT):
            yield await planck.start(team=team)


def open_place(
    folder: Path, url: str, mode: str = "workspace", environ: dict[str, str] | None = None, **options: Any
) -> Planck:
    (folder / "work").mkdir(exist_ok=True)
    providers = {"local": {"type": "openai", "base_url": url}}
    return Planck(
        home=folder / "home",
        workspace=folder / "work",
        environ={"PATH": "/usr/bin:/bin", **(environ or {})},
        flags={"default_model": "local/m", "providers": providers, "permissions": {"mode": mode}},
        **options,
    )


async def recorded(session: OpenSession, type: str) -> list[dict[str, Any]]:
    return [data for kind, data in await facts(session) if kind == type]


async def outputs(session: OpenSession, tool: str = "ask_agent") -> list[str]:
    """What calls of a tool of ours came to, whoever made them."""
    return [end["output"] for end in await recorded(session, "tool_end") if end["name"] == tool]
