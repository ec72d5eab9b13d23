"""`planck undo`: what agents wrote goes, what others wrote stays, and the undo can be undone."""

import base64
import hashlib
import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.command import FULL, Bench, Done
from tests.session.trees import read_tree
from tests.teams import Brains, write_team
from tests.wire import chat
from tests.wire.server import WireServer

CHANGED = "file_changed"
LINES = "".join(f"line {n}\n" for n in range(10))


def edit(old: str, new: str, path: str = "a.txt") -> tuple[str, Any]:
    return ("edit", {"path": path, "old_string": old, "new_string": new})


async def worked(tmp_path: Path, *calls: tuple[str, Any]) -> Bench:
    """A session in which one turn made these calls, each in a step of its own."""
    async with WireServer([*(chat.calls(call) for call in calls), chat.text("done")]) as server:
        bench = Bench(tmp_path, server.url)
        (bench.work / "a.txt").write_text(LINES)
        done = await bench.run("run", "go", *FULL, "--output-format", "json")
    assert done.code == 0, done.err
    return bench


def again(done: Done) -> str:
    found = re.search(r"planck undo --call (\S+)", done.out)
    assert found, done.out
    return found[1]


async def test_writes_and_edits_are_taken_back_and_the_undo_too(tmp_path: Path) -> None:
    bench = await worked(
        tmp_path,
        edit("line 2\n", "LINE TWO\n"),
        edit("line 3\n", ""),
        ("write", {"path": "new/b.txt", "content": "made\n"}),
        ("bash", {"command": "echo from bash > c.txt"}),
    )
    a, b, c = bench.work / "a.txt", bench.work / "new" / "b.txt", bench.work / "c.txt"
    changed = a.read_text()
    seen = await bench.run("undo", "--dry-run")
    assert (a.read_text(), b.exists()) == (changed, True)
    assert "-LINE TWO" in seen.out
    assert "+line 2" in seen.out
    assert "this command cannot be undone: bash echo from bash > c.txt" in seen.out
    first = await bench.run("undo", "-y")
    assert first.code == 0
    assert (a.read_text(), b.exists(), c.exists()) == (LINES, False, True)
    second = await bench.run("undo", "-y", "--call", again(first))
    assert second.code == 0
    assert (a.read_text(), b.read_text()) == (changed, "made\n")
    third = await bench.run("undo", "-y", "--call", again(second))
    assert (third.code, a.read_text(), b.exists()) == (0, LINES, False)
    nothing = await bench.run("undo", "-y")
    assert (nothing.code, nothing.out) == (2, "")
    assert "Nothing to undo" in nothing.err


async def test_a_command_that_did_not_run_or_only_reads_is_no_obstacle(tmp_path: Path) -> None:
    rule = {"tool": "bash", "command": "rm", "decision": "deny"}
    async with WireServer(
        [
            chat.calls(edit("line 2\n", "LINE TWO\n")),
            chat.calls(("bash", {"command": "rm a.txt"})),
            chat.calls(("bash", {"command": "cat a.txt | head -2; git status"})),
            chat.calls(("bash", {"command": "false > made"})),
            chat.text("done"),
        ]
    ) as server:
        bench = Bench(tmp_path, server.url, permissions={"rules": [rule]})
        (bench.work / "a.txt").write_text(LINES)
        await bench.run("run", "go", *FULL)
    seen = await bench.run("undo", "--dry-run")
    assert [line for line in seen.out.splitlines() if "cannot be undone" in line] == [
        "this command cannot be undone: bash false > made  (orchestrator, turn 1)"
    ]


async def test_the_users_later_edits_stay(tmp_path: Path) -> None:
    bench = await worked(tmp_path, edit("line 2\n", "LINE TWO\n"))
    a = bench.work / "a.txt"
    a.write_text("mine at the top\n" + a.read_text().replace("line 8", "line 8, mine"))
    done = await bench.run("undo", "-y")
    assert done.code == 0
    assert a.read_text() == "mine at the top\n" + LINES.replace("line 8", "line 8, mine")


async def test_what_collides_with_a_later_edit_is_told_and_not_touched(tmp_path: Path) -> None:
    bench = await worked(
        tmp_path, edit("line 2\n", "LINE TWO\n"), ("write", {"path": "b.txt", "content": "made\n"})
    )
    a, b = bench.work / "a.txt", bench.work / "b.txt"
    a.write_text(a.read_text().replace("LINE TWO", "line two, mine"))
    mine = a.read_text()
    done = await bench.run("undo", "-y")
    assert done.code == 1
    assert (a.read_text(), b.exists()) == (mine, False)
    assert "a.txt (written by orchestrator) is not restored: later edits change the same lines" in done.out


async def test_a_created_file_that_was_edited_since_is_not_removed(tmp_path: Path) -> None:
    bench = await worked(tmp_path, ("write", {"path": "b.txt", "content": "made\n"}))
    (bench.work / "b.txt").write_text("made\nand mine\n")
    done = await bench.run("undo", "-y")
    assert done.code == 1
    assert (bench.work / "b.txt").read_text() == "made\nand mine\n"


async def test_line_ends_and_bytes_that_are_no_text_survive(tmp_path: Path) -> None:
    async with WireServer([chat.calls(edit("two\n", "TWO\n", "w.txt")), chat.text("done")]) as server:
        bench = Bench(tmp_path, server.url)
        (bench.work / "w.txt").write_bytes(b"one\r\ntwo\r\n\xff\xfe\r\n")
        await bench.run("run", "go", *FULL)
    changed = (bench.work / "w.txt").read_bytes()
    assert changed == b"one\r\nTWO\r\n\xff\xfe\r\n"
    (bench.work / "w.txt").write_bytes(changed + b"mine\r\n")
    await bench.run("undo", "-y")
    assert (bench.work / "w.txt").read_bytes() == b"one\r\ntwo\r\n\xff\xfe\r\nmine\r\n"


async def test_turns_are_undone_one_by_one_and_a_turn_by_its_number(tmp_path: Path) -> None:
    script = [
        chat.calls(edit("line 1\n", "ONE\n")),
        chat.text("one"),
        chat.calls(edit("line 5\n", "FIVE\n")),
        chat.text("two"),
    ]
    async with WireServer(script) as server:
        bench = Bench(tmp_path, server.url)
        (bench.work / "a.txt").write_text(LINES)
        await bench.run("run", "a", "--name", "s", *FULL)
        await bench.run("run", "b", "-r", "s", *FULL)
    a = bench.work / "a.txt"
    await bench.run("undo", "-y", "--turn", "1")
    assert a.read_text() == LINES.replace("line 5", "FIVE")
    await bench.run("undo", "-y")
    assert a.read_text() == LINES
    assert (await bench.run("undo", "-y", "--agent", "nobody")).code == 2


async def test_one_agents_work_is_undone_and_the_others_stays(tmp_path: Path) -> None:
    bench = await worked(tmp_path, edit("line 1\n", "ONE\n"))
    done = await bench.run("undo", "-y", "--agent", "orchestrator")
    assert (done.code, (bench.work / "a.txt").read_text()) == (0, LINES)


async def test_in_a_team_each_agents_edits_of_one_file_are_its_own(tmp_path: Path) -> None:
    def to(name: str) -> dict[str, str]:
        return {"identifier": name, "identifier_type": "name", "question": "do it"}

    brains = Brains(
        {
            "lead": [
                chat.calls(("ask_agent", to("ann"))),
                chat.calls(("ask_agent", to("bob"))),
                chat.text("Done."),
            ],
            "ann": [
                chat.calls(edit("line 1\n", "ANN\n")),
                chat.calls(edit("line 7\n", "ANN TOO\n")),
                chat.text("ok"),
            ],
            "bob": [
                chat.calls(("read", {"path": "a.txt"})),
                chat.calls(edit("line 4\n", "BOB\n")),
                chat.text("ok"),
            ],
        }
    )
    members: list[dict[str, Any]] = [
        {"type": "orchestrator", "name": "lead"},
        {"type": "ann", "tools": ["edit"]},
        {"type": "bob", "tools": ["read", "edit"]},
    ]
    async with WireServer(brains) as server:
        bench = Bench(tmp_path, server.url)
        (bench.work / "a.txt").write_text(LINES)
        team = write_team(tmp_path / "team", *members)
        done = await bench.run("run", "go", "--team", team, *FULL)
    assert done.code == 0, done.err
    undone = await bench.run("undo", "-y", "--agent", "ann")
    assert (undone.code, (bench.work / "a.txt").read_text()) == (0, LINES.replace("line 4", "BOB"))
    await bench.run("undo", "-y", "--call", again(undone))
    await bench.run("undo", "-y", "--agent", "bob")
    mended = LINES.replace("line 1", "ANN").replace("line 7", "ANN TOO")
    assert (bench.work / "a.txt").read_text() == mended


async def test_a_known_key_in_an_old_content_is_neither_kept_nor_lost(tmp_path: Path) -> None:
    """S12: not in the log, the stream or an export; and the undo brings it back where the key is known."""
    key, other = "sk-c4n4ry-0123456789", "sk-c4n4ry-0123456789-and-more"
    keys = {"ONE_API_KEY": key, "OTHER_API_KEY": other}
    old = f"{other}\nport=1\nkey={key} {key}\n".encode() + b"\xff [redacted]\n"
    script = [chat.calls(edit("port=1", "port=2", ".env")), chat.text("done")]
    async with WireServer(script) as server:
        bench = Bench(tmp_path, server.url)
        (bench.work / ".env").write_bytes(old)
        done = await bench.run("run", "go", *FULL, "--output-format", "stream-json", env=keys)
    session = done.result["session_id"]
    exported = await bench.run("sessions", "export", session)
    for out in (done.out, exported.out):
        (change,) = [
            data["data"] for line in out.splitlines() if (data := json.loads(line))["type"] == CHANGED
        ]
        before = base64.b64decode(change["before"])
        assert before == b"[redacted]\nport=1\nkey=[redacted] [redacted]\n\xff [redacted]\n"
    changed = (bench.work / ".env").read_bytes()
    assert changed == old.replace(b"port=1", b"port=2")

    unknown = await bench.run("undo", "-y", env={"ONE_API_KEY": key})
    assert (unknown.code, (bench.work / ".env").read_bytes()) == (1, changed)
    assert (
        "the old content contains an API key that Planck no longer has; set that key again "
        "(environment variable or planck auth), then undo" in unknown.out
    )
    first = await bench.run("undo", "-y", env=keys)
    assert (first.code, (bench.work / ".env").read_bytes()) == (0, old)
    second = await bench.run("undo", "-y", "--call", again(first), env=keys)
    assert (second.code, (bench.work / ".env").read_bytes()) == (0, changed)
    for path in (bench.home / "sessions").rglob("*"):
        for hidden in (key.encode(), base64.b64encode(old), base64.b64encode(changed)):
            assert not path.is_file() or hidden not in path.read_bytes(), path


@pytest.mark.parametrize(
    ("path", "code"), [(".git/hooks/pre-commit", 1), (".planck/config.json", 1), ("../x", 1), ("a.txt", 0)]
)
async def test_an_imported_session_can_not_put_a_file_where_no_agent_may(
    tmp_path: Path, path: str, code: int
) -> None:
    """Its before-images are the words of whoever made the export."""
    evil = base64.b64encode(b"evil\n").decode()
    bench, session = await forge(tmp_path, {"path": path, "before": evil, "mode": 0o755, "after_sha256": ""})
    done = await bench.run("undo", "-r", session, "--yes")
    assert done.code == code, done
    assert (bench.work / path).exists() is (code == 0)


FILE = {"before": base64.b64encode(b"evil\n").decode(), "after_sha256": ""}
NO_FILE = {"before": None, "mode": None, "after_sha256": ""}


@pytest.mark.parametrize(
    ("forged", "kind", "mode"),
    [
        ({**FILE, "mode": 0o6755}, "file", 0o755),
        ({**NO_FILE, "was": "folder", "mode": 0o7777}, "folder", 0o777),
        ({**NO_FILE, "was": "folder"}, "folder", 0o755),
        ({**NO_FILE, "was": "link", "link": "b.txt"}, "link", 0),
        ({**NO_FILE, "was": "link", "link": "/etc/passwd"}, "nothing", 0),
        ({**NO_FILE, "was": "link", "link": "a/../../../etc/passwd"}, "nothing", 0),
        ({**NO_FILE, "was": "link"}, "nothing", 0),
        ({**NO_FILE, "was": "other", "mode": 0o020666}, "nothing", 0),
        ({**NO_FILE, "was": "file", "image": "../../../../../../../etc/passwd"}, "nothing", 0),
        ({**NO_FILE, "was": "file", "blob": "0" * 32}, "nothing", 0),
        ({**FILE, "mode": -1}, "file", None),
    ],
)
async def test_an_imported_session_restores_no_right_and_no_way_out(
    tmp_path: Path, forged: dict[str, Any], kind: str, mode: int | None
) -> None:
    bench, session = await forge(tmp_path, {**forged, "path": "a.txt"})
    done = await bench.run("undo", "-r", session, "--yes")
    found = read_tree(bench.work).get("a.txt", ("nothing", 0, b""))
    assert (done.code, found[0]) == (1 if kind == "nothing" else 0, kind), done
    assert mode in (None, found[1])


async def forge(tmp_path: Path, change: dict[str, Any]) -> tuple[Bench, str]:
    """An imported session whose only change of a file is what somebody wrote into the export."""
    bench = await worked(tmp_path, ("write", {"path": "b.txt", "content": "made\n"}))
    (bench.work / "a.txt").unlink()
    session = (await bench.run("sessions", "list")).out.split()[0]
    previous, forged = bytes(32), []
    for line in (await bench.run("sessions", "export", session)).out.splitlines():
        frame = json.loads(line)
        if frame["type"] == CHANGED:
            frame["data"].update(change)
        if frame["seq"] is None:
            frame["data"].update(hash=previous.hex())
        else:
            previous = hashlib.sha256(previous + compact({**frame, "session_id": None})).digest()
        forged.append(compact(frame))
    await bench.run("sessions", "delete", session, "--yes")
    (tmp_path / "x.ndjson").write_bytes(b"\n".join(forged) + b"\n")
    assert (await bench.run("sessions", "import", str(tmp_path / "x.ndjson"))).code == 0
    return bench, session


def compact(frame: dict[str, Any]) -> bytes:
    """As it is exported, and without a session as it is stored."""
    kept = {key: value for key, value in frame.items() if key != "session_id" or value}
    return json.dumps(kept, separators=(",", ":"), ensure_ascii=False).encode()


@pytest.mark.parametrize("target", [".git", "other"])
async def test_a_link_that_was_put_in_the_way_since_leads_an_undo_nowhere(
    tmp_path: Path, target: str
) -> None:
    """An agent could have its undo change a file that only the user changes."""
    bench = await worked(tmp_path, ("write", {"path": "d/config", "content": "mine\n"}))
    mine = bench.work / target / "config"
    mine.parent.mkdir()
    mine.write_text("mine\n")
    (bench.work / "d").rename(tmp_path / "away")
    (bench.work / "d").symlink_to(target)
    done = await bench.run("undo", "-y")
    assert mine.read_text() == "mine\n"
    assert (
        f"'d/config' now leads to '{target}/config' through a newer link; remove that link first" in done.out
    )
