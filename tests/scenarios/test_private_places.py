"""What agents never read: keys and conversations, also those that come in the middle of a session."""

import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from planck import Planck
from planck.testing.scripted import ScriptedProvider
from planck.workspace.sandbox.sandbox import find

pytestmark = pytest.mark.skipif(
    find().sandbox is None, reason="bubblewrap is not installed: apt-get install bubblewrap"
)


@pytest.fixture
def base() -> Iterator[Path]:
    # Not below /tmp: there everything is hidden anyway.
    folder = next(place for place in ("/opt", str(Path.home())) if os.access(place, os.W_OK))
    base = Path(tempfile.mkdtemp(prefix="planck-private-", dir=folder)).resolve()
    yield base
    shutil.rmtree(base)


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


@pytest.mark.parametrize("mode", ["workspace", "read-only"])
async def test_keys_and_conversations_are_private_whenever_they_are_written(base: Path, mode: str) -> None:
    user, work, home = base / "user", base / "work", base / "user/.planck"
    work.mkdir()
    _write(home / "config.json", json.dumps({"sessions_dir": str(base / "kept")}))
    _write(home / "skills/s/SKILL.md", "readable\n")
    _write(user / ".claude/.credentials.json", "secret\n")
    for kept in ("skills", "agents", "commands"):
        _write(user / f".claude/{kept}/one.md", "readable\n")
    grep = "grep -rhs -e secret -e readable user kept | sort | uniq -c"
    look = {"command": f"cd {base}; {grep}; ls user/.planck kept"}
    script = ScriptedProvider([[("bash", look)], "one", [("bash", look)], "two"])
    environ = {"HOME": str(user), "PATH": os.defpath}
    async with Planck(home=home, workspace=work, environ=environ, providers={"mine": script}) as planck:
        session = await planck.start(model="mine/m", mode=mode)
        outputs = []
        for prompt in ("secret before", "secret after"):
            result = await session.run(prompt)
            assert not result.errors
            outputs.append(script.asked[-1].messages[-1])
            # As a login in another terminal does, here and in programs that were never used before.
            for late in (".planck/credentials.json", ".codex/auth.json", ".gemini/oauth.json", ".netrc"):
                _write(user / late, "secret\n")
            _write(user / ".claude/new.json", "secret\n")
    for said in outputs:
        assert "4 readable" in str(said), said
        assert "secret" not in str(said), said
        assert "config.json" not in str(said)
        assert ".db" not in str(said), said
    assert (base / "kept").is_dir()
