"""Hooks in another agent's settings do not run here: it is said wherever a user would look."""

import json
from pathlib import Path

import pytest

from tests.command import Bench
from tests.wire import chat
from tests.wire.server import WireServer

GUARD = {"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "./guard.sh"}]}]}
PROMPT = {"PreToolUse": [{"hooks": [{"type": "prompt", "prompt": "Is this safe?"}]}]}


def make_bench(tmp_path: Path, url: str, hooks: object) -> Bench:
    bench = Bench(tmp_path, url)
    (bench.work / ".claude").mkdir()
    (bench.work / ".claude" / "settings.json").write_text(json.dumps({"hooks": hooks}))
    return bench


@pytest.mark.parametrize(
    ("args", "stdin"),
    [(("run", "hi"), b""), (("doctor",), b""), ((), b"/hooks\n")],
    ids=["run", "doctor", "/hooks"],
)
async def test_a_guard_hook_that_does_not_run_is_named(
    tmp_path: Path, args: tuple[str, ...], stdin: bytes
) -> None:
    async with WireServer([chat.text("hello")]) as server:
        bench = make_bench(tmp_path, server.url, GUARD)
        done = await bench.run(*args, stdin=stdin)
    said = " ".join(f"{done.out} {done.err}".split())
    assert ".claude/settings.json: 1 hook (PreToolUse) does not run" in said
    assert "Copy its `hooks` object into .planck/config.json, then trust the folder" in said


async def test_a_kind_of_hook_that_is_not_supported_is_named(tmp_path: Path) -> None:
    async with WireServer([chat.text("hello")]) as server:
        done = await make_bench(tmp_path, server.url, PROMPT).run("run", "hi")
    assert "type 'prompt' is not supported" in done.err
    assert done.err.count(".claude/settings.json") == 1


async def test_hooks_that_were_copied_and_settings_without_hooks_say_nothing(tmp_path: Path) -> None:
    async with WireServer([chat.text("hello")]) as server:
        bench = make_bench(tmp_path, server.url, GUARD)
        (bench.work / ".planck").mkdir()
        (bench.work / ".planck" / "config.json").write_text(json.dumps({"hooks": GUARD}))
        trusted = await bench.run("run", "--trust", "hi")
        untrusted = await bench.run("run", "hi")
        (bench.work / ".planck" / "config.json").unlink()
        (bench.work / ".claude" / "settings.json").write_text('{"permissions": {}}')
        without = await bench.run("run", "hi")
    assert ".claude" not in trusted.err
    assert ".claude/settings.json: 1 hook" in untrusted.err
    assert ".claude" not in without.err
