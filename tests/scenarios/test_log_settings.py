"""Known key values never reach the log, whatever says them."""

from pathlib import Path

from planck import Planck
from planck.llm.scripted import Scripted, ScriptedProvider

ENVIRON = {
    "ANTHROPIC_API_KEY": "sk-c4n4ry-0123456789",
    "MY_TOKEN": 'quo"ted-c4n4ry-99',
    "PATH": "/usr/bin:/bin",
}


async def test_no_canary_is_in_any_file_of_the_session(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / ".env").write_text("KEY=sk-c4n4ry-0123456789\n")
    script: list[Scripted] = [
        [("read", {"path": ".env"})],
        "the key is sk-c4n4ry-0123456789",
    ]
    double = ScriptedProvider(script)
    async with Planck(
        tmp_path / "home", tmp_path / "work", environ=ENVIRON, providers={"double": double}
    ) as p:
        session = await p.start(model="double/m", mode="full")
        result = await session.run("what is sk-c4n4ry-0123456789?")
        assert result.exit_code == 0
        (wal,) = (tmp_path / "home" / "sessions").glob("*-wal")
        assert b"[redacted]" in (content := wal.read_bytes())
        assert b"c4n4ry" not in content, content[content.find(b"c4n4ry") - 200 :][:300]
    files = [path for path in (tmp_path / "home").rglob("*") if path.is_file()]
    assert [path for path in files if b"c4n4ry" in path.read_bytes()] == []
    assert any(b"[redacted]" in path.read_bytes() for path in files)


async def test_durability_against_a_power_cut_can_be_asked_for(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    double = ScriptedProvider(["done"])
    flags = {"durability": "power"}
    async with Planck(
        tmp_path / "home", tmp_path / "work", environ={}, flags=flags, providers={"double": double}
    ) as p:
        session = await p.start(model="double/m")
        assert (await session.run("go")).text == "done"


async def test_a_rewound_agent_is_shown_what_it_was_shown_then(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    double = ScriptedProvider(["one", "two", "three"])
    async with Planck(tmp_path / "home", tmp_path / "work", environ={}, providers={"double": double}) as p:
        session = await p.start(model="double/m")
        await session.run("first")
        at = session.head
        await session.run("second")
        assert await session.rewind(at) is None
        await session.run("third")
    shown = str(double.asked[-1].messages)
    assert "first" in shown
    assert "third" in shown
    assert "second" not in shown
