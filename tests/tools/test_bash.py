"""bash as contract.md §1 says, through the executor; attacks P5, P12, P13, P20 and P21."""

import asyncio
import json
import os
import unicodedata
from pathlib import Path
from typing import Any

import pytest

from planck.workspace.process.output import drop_controls
from tests.tools.room import Room, details, kind, processes, until, value


@pytest.fixture
def room(tmp_path: Path) -> Room:
    return Room(tmp_path)


async def test_a_command_runs_in_the_workspace(room: Room) -> None:
    result = await room.call("bash", {"command": "pwd -P; echo err >&2"})
    assert value(result) == {
        "output": f"{room.ws}\nerr\n",
        "exit_code": 0,
        "ok": True,
        "containment": "pid_namespace",
    }
    assert (result.exit_code, result.ok) == (0, True)


async def test_a_nonzero_exit_is_a_result_whose_output_ends_with_the_code(room: Room) -> None:
    """Seed 004: a no-match grep that exits 1 is normal."""
    result = await room.call("bash", {"command": "echo text; exit 3"})
    assert value(result) | {"containment": ""} == {
        "output": "text\n[exit code 3]",
        "exit_code": 3,
        "ok": False,
        "containment": "",
    }
    assert (result.exit_code, result.ok) == (3, False)
    assert (await room.call("bash", {"command": "false"})).output == "[no output]\n[exit code 1]"


async def test_cwd_is_a_folder_of_the_workspace(room: Room) -> None:
    (room.ws / "sub").mkdir()
    assert (await room.call("bash", {"command": "pwd -P", "cwd": "sub"})).output == f"{room.ws}/sub\n"
    assert kind(await room.call("bash", {"command": "pwd", "cwd": "nope"})) == "not_found"


async def test_running_out_of_time_keeps_the_partial_output(room: Room) -> None:
    result = await room.call("bash", {"command": "echo begun; sleep 60", "timeout": 1000})
    assert kind(result) == "timeout"
    assert details(result) == {"timeout_ms": 1000, "output": "begun\n", "containment": "pid_namespace"}


@pytest.mark.parametrize("timeout", ["5", -1, 0, 600_001, 10**9, 1.5, None, True, [1]])
async def test_a_strange_timeout_is_invalid(timeout: Any, room: Room) -> None:
    """P21."""
    assert kind(await room.call("bash", {"command": "true", "timeout": timeout})) == "invalid_args"


async def test_a_timeout_that_is_no_number_is_invalid(room: Room) -> None:
    assert kind(await room.call("bash", '{"command": "true", "timeout": NaN}')) == "invalid_args"


@pytest.mark.parametrize("command", ["x" * 200_000, "echo a\0b"])
async def test_a_command_that_no_system_takes_is_invalid(command: str, room: Room) -> None:
    """P20."""
    assert kind(await room.call("bash", {"command": command})) == "invalid_args"


async def test_a_long_output_is_shown_by_head_and_tail_and_can_be_paged_whole(room: Room) -> None:
    result = await room.call("bash", {"command": "seq 1 20000; exit 2"})
    call_id = result.call.id
    lines = result.output.splitlines()
    whole = "".join(f"{n}\n" for n in range(1, 20_001))
    assert (lines[0], lines[-3:]) == (
        "1",
        ["20000", f"[full output (20000 lines): read path output:{call_id}]", "[exit code 2]"],
    )
    assert f"…[truncated, showing up to 16000 of {len(whole)} bytes]" in lines
    assert len(result.output.encode()) < 16_300
    read, offset = "", 1
    while offset:
        page = value(await room.call("read", {"path": f"output:{call_id}", "offset": offset}))
        offset = page.get("next_offset", 0)
        read += "".join(line for line in page["output"].splitlines(True) if not line.startswith("["))
    assert read == whole


async def test_a_short_output_leaves_no_file(room: Room) -> None:
    await room.call("bash", {"command": "echo short"})
    assert list(room.spill.iterdir()) == []


async def test_a_background_command_runs_until_it_is_killed_by_its_handle(room: Room) -> None:
    """P5: started, seen, killed by handle; another one is killed when the session ends."""
    tag = str(4000 + os.getpid() / 1e9)
    script = f"echo ready; setsid sleep {tag} & sleep {tag}"
    first = value(await room.call("bash", {"command": script, "background": True}))
    await room.call("bash", {"command": f"sleep {tag}", "background": True})
    kept = room.spill / f"{first['handle'].removeprefix('bg_')}.txt"
    await until(lambda: kept.exists() and kept.stat().st_size > 0 and len(processes(tag)) >= 6)
    assert (await room.call("read", {"path": f"output:{kept.stem}"})).output == "ready\n"
    before = len(processes(tag))
    killed = await room.call("bash", {"command": f"kill {first['handle']}"})
    assert (kind(killed), "ready" in killed.output) == ("ok", True)
    assert 0 < len(processes(tag)) < before
    await room.jobs.aclose()
    await until(lambda: not processes(tag))


async def test_an_unknown_handle_is_not_found(room: Room) -> None:
    assert kind(await room.call("bash", {"command": "kill bg_nope"})) == "not_found"


async def test_too_many_background_commands_are_refused(room: Room) -> None:
    started = [("bash", {"command": "sleep 300", "background": True})] * (room.jobs.limit + 1)
    kinds = [kind(result) for result in await room.step(*started)]
    await room.jobs.aclose()
    assert kinds == ["ok"] * room.jobs.limit + ["limit_exceeded"]


async def test_closing_the_step_kills_the_command(room: Room) -> None:
    tag = str(5000 + os.getpid() / 1e9)
    call = room.tool_call("bash", {"command": f"setsid sleep {tag} & sleep {tag}"})
    step = asyncio.ensure_future(anext(room.executor.run(room.read(call))))
    await until(lambda: len(processes(tag)) >= 3)
    step.cancel()
    with pytest.raises(asyncio.CancelledError):
        await step
    await until(lambda: not processes(tag))


async def test_a_flood_tells_its_progress_a_few_times_a_second(room: Room) -> None:
    await room.call("bash", {"command": "yes", "timeout": 1000})
    assert 1 <= len(room.progress) <= 15
    assert max(len(text) for _, text in room.progress) <= 2_000


async def test_a_command_reads_no_secret(room: Room) -> None:
    """P17 through the tool: the canary is in the environment that the tools were made with."""
    command = "env; set; cat /proc/self/environ; cat /proc/[0-9]*/environ; true"
    assert "canary-4711" not in (await room.call("bash", {"command": command})).output


async def test_every_result_can_be_stored(room: Room) -> None:
    """P12."""
    result = await room.call("bash", {"command": "head -c 300000 /dev/urandom"})
    assert json.loads(json.dumps(value(result))) == value(result)
    result.output.encode()


SEQUENCES = [
    "\x1b[2J", "\x1b[H", "\x1b[31m", "\x1b[0;1;4m", "\x1b[?1049h", "\x1b[?25l", "\x1b[6n", "\x1b[c",
    "\x1b[>c", "\x1b[=c", "\x1b[201~", "\x1b[200~", "\x1b[1;1H", "\x1b[10A", "\x1b[K", "\x1b[2K", "\x1b[s",
    "\x1b[u", "\x1b[5i", "\x1b[4i", "\x1b]0;title\x07", "\x1b]2;title\x1b\\", "\x1b]52;c;ZXZpbA==\x07",
    "\x1b]8;;http://evil\x1b\\", "\x1b]8;;\x07", "\x1b]1337;File=name=x:AAAA\x07", "\x1b]10;?\x07",
    "\x1b]4;1;?\x07", "\x1b]9;notify\x07", "\x1b]777;notify;a;b\x07", "\x1bP+q544e\x1b\\", "\x1bP$qm\x1b\\",
    "\x1b_Gi=1;AAAA\x1b\\", "\x1b^private\x1b\\", "\x1bXsos\x1b\\", "\x1bc", "\x1b7", "\x1b8", "\x1bD",
    "\x1bE", "\x1bM", "\x1bZ", "\x1b=", "\x1b>", "\x1b(0", "\x1b)B", "\x1b#8", "\x1b%G", "\x1b", "\x1b[",
    "\x1b]", "\x9b2J", "\x9d0;title\x9c", "\x90q\x9c", "\x85", "\x7f", "\x08\x08\x08", "\r", "\x07", "\x00",
    "\x0e", "\x0f", "\x05", "\x1b[38;2;1;2;3m",
]  # fmt: skip


@pytest.mark.parametrize("sequence", SEQUENCES, ids=ascii)
def test_no_control_sequence_reaches_a_terminal_or_a_model(sequence: str) -> None:
    """P13, P14: nothing below 0x20 but newline and tab, no 0x7f, no C1; the text around it stays."""
    shown = drop_controls(f"safe {sequence}text é\n\tend")
    assert not [char for char in shown if unicodedata.category(char) == "Cc" and char not in "\n\t"]
    assert shown.startswith("safe ")
    if sequence not in {"\x1b", "\x1b[", "\x1b]"}:  # unfinished: they take the next byte along
        assert shown.endswith("text é\n\tend")


async def test_background_commands_that_ended_hold_nothing_and_the_oldest_are_forgotten(room: Room) -> None:
    await room.call("bash", {"command": "echo x", "background": True})
    await until(lambda: not room.jobs.running)
    held = len(os.listdir("/proc/self/fd"))
    for _ in range(5):
        for _ in range(13):
            assert kind(await room.call("bash", {"command": "echo x", "background": True})) == "ok"
        await until(lambda: not room.jobs.running)
    await until(lambda: len(os.listdir("/proc/self/fd")) <= held)
    await room.call("bash", {"command": "true", "background": True})
    assert (await room.call("read", {"path": "output:c1"})).output == "x\n"
    assert kind(await room.call("bash", {"command": "kill bg_c1"})) == "not_found"
    assert (await room.call("bash", {"command": "kill bg_c66"})).output == "x\n\n[bg_c66 ended]"
    await room.jobs.aclose()
