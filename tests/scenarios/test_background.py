"""P5 through the whole runtime: what a model leaves in the background ends with the session."""

import os
from pathlib import Path

from tests.teams import Brains, open_planck, write_team
from tests.tools.room import processes, until
from tests.wire import chat
from tests.wire.server import WireServer


async def test_a_background_command_ends_with_its_session(tmp_path: Path) -> None:
    tag = str(6000 + os.getpid() / 1e9)
    leave = ("bash", {"command": f"setsid sleep {tag} & sleep {tag}", "background": True})
    brains = Brains({"lead": [chat.calls(leave), chat.text("done")]})
    lead = {"type": "orchestrator", "name": "lead", "tools": ["bash"]}
    async with WireServer(brains) as server, open_planck(tmp_path, server.url) as planck:
        session = await planck.start(team=write_team(tmp_path / "team", lead))
        await session.run("go")
        assert processes(tag) != [], "the run is over, the session is not"
        await session.aclose()
        await until(lambda: not processes(tag))
