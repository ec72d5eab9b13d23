"""A link in the workspace sends nothing of what it leads to, at every door that attaches a file."""

import base64
from pathlib import Path
from typing import NamedTuple

import pytest

import planck
from tests.command import Bench
from tests.wire import chat
from tests.wire.server import WireServer

KEY = "s3cr3t-outside"
PNG = b"\x89PNG\r\n\x1a\n" + KEY.encode() * 3


class Door(NamedTuple):
    args: tuple[str, ...]
    stdin: bytes = b""
    says: str = "outside the workspace"


DOORS = {
    "a file in a prompt": Door(("run", "read @notes.md")),
    "a file below a folder": Door(("run", "read @folder/id_rsa")),
    "a file in a message of a conversation": Door((), b"read @notes.md\n"),
    "an image in a prompt": Door(("run", "look at @shot.png")),
    "the path of an image": Door(("run", "look at ./shot.png")),
    "an image option": Door(("run", "look", "-i", "shot.png")),
    "a file in a command of the user's": Door(("run", "/mine notes.md")),
    "a file in a command of the project's": Door(("run", "/ours"), says="was not read"),
    "what the project says to agents": Door(("run", "go"), says="outside the project"),
}


def plant(bench: Bench, outside: Path) -> None:
    outside.mkdir()
    markdown = f"---\nname: planted\ndescription: {KEY}\n---\n{KEY}\n"
    (outside / "id_rsa").write_text(markdown)
    (outside / "SKILL.md").write_text(markdown)
    (outside / "shot.png").write_bytes(PNG)
    for name, target in {
        "notes.md": "id_rsa",
        "shot.png": "shot.png",
        "folder": ".",
        "AGENTS.md": "id_rsa",
        "CLAUDE.md": "id_rsa",
        ".planck/commands/planted.md": "id_rsa",
        ".claude/commands/planted.md": "id_rsa",
        ".claude/agents/planted.md": "id_rsa",
        ".planck/agents/planted.md": "id_rsa",
        ".claude/skills/planted": ".",
    }.items():
        (bench.work / name).parent.mkdir(parents=True, exist_ok=True)
        (bench.work / name).symlink_to(outside / target)
    (bench.work / ".planck/commands/ours.md").write_text("read @notes.md\n")
    (bench.home / "commands").mkdir()
    (bench.home / "commands/mine.md").write_text("read @$1\n")


@pytest.mark.parametrize("door", DOORS)
async def test_no_door_sends_what_a_planted_link_leads_to(tmp_path: Path, door: str) -> None:
    args, stdin, says = DOORS[door]
    async with WireServer([chat.text("ok")]) as server:
        bench = Bench(tmp_path, server.url)
        plant(bench, tmp_path / "outside")
        done = await bench.run(*args, "--trust", stdin=stdin)
    sent = "".join(str(request.json) for request in server.asked)
    for text in (KEY, base64.b64encode(PNG).decode()):
        assert text not in sent
        assert text not in done.out + done.err
    assert says in done.err, done


async def test_a_path_that_the_user_typed_is_sent(tmp_path: Path) -> None:
    """And so the doors above would have sent it."""
    async with WireServer([chat.text("ok")]) as server:
        bench = Bench(tmp_path, server.url)
        plant(bench, tmp_path / "outside")
        outside = tmp_path / "outside"
        await bench.run("run", f"read @{outside / 'id_rsa'}", "-i", str(outside / "shot.png"))
    sent = str(server.asked[0].json)
    assert KEY in sent
    assert base64.b64encode(PNG).decode() in sent


def test_every_module_that_attaches_files_has_a_door_above() -> None:
    """HTTP and ACP attach what the client sends; they read no file by its name."""
    root = Path(planck.__file__).parent
    found = {
        str(path.relative_to(root)) for path in root.rglob("*.py") if "import attach\n" in path.read_text()
    }
    assert found == {"cli/session.py", "cli/chat/talk.py"}
