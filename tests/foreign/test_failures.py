"""Whatever another program does, its asker hears of it once, and the team goes on."""

import asyncio
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from planck.records.outcome import PlanckError
from tests.foreign.crew import WAIT, crew, foreign, open_place, outputs, plain, recorded
from tests.teams import Brains, ask, target, write_team
from tests.wire import chat
from tests.wire.server import WireServer

pytestmark = pytest.mark.heavy


async def _ask_twice(folder: Path, first: str, *members: dict[str, Any], **options: Any) -> list[str]:
    """What lead hears of two questions to the guest; the team goes on in between."""
    lead = [chat.calls(ask("guest", first)), chat.calls(ask("guest", "!say well")), chat.text("done")]
    async with crew(folder, {"lead": lead}, *(members or (plain(),)), **options) as session:
        result = await session.run("go")
        assert result.text == "done"
        return await outputs(session)


async def test_a_process_killed_in_its_turn_is_target_gone_once_and_starts_anew_for_the_next_one(
    tmp_path: Path,
) -> None:
    gone, well = await _ask_twice(tmp_path, "!say so far \n!die")
    assert gone.startswith("target_gone: guest (python")
    assert "killed by signal 9" in gone
    assert well == "well"


async def test_one_that_leaves_says_its_code_and_its_last_words(tmp_path: Path) -> None:
    gone, well = await _ask_twice(tmp_path, "!exit 3")
    assert gone.startswith("target_gone: ")
    assert "exit code 3; try again. Last output:\nno more of this" in gone
    assert well == "well"


@pytest.mark.parametrize("word", ["garbage <html>", "garbage {}", "flood 100"])
async def test_what_is_no_json_rpc_on_its_output_is_peer_protocol(tmp_path: Path, word: str) -> None:
    wrong, well = await _ask_twice(tmp_path, f"!{word}\n!hang")
    assert wrong.startswith("peer_protocol: guest (python")
    assert "not JSON-RPC" in wrong
    assert well == "well"


async def test_requests_and_updates_that_nobody_knows_harm_nobody(tmp_path: Path) -> None:
    said, well = await _ask_twice(
        tmp_path, "!strange\n!unknown fs/read_text_file\n!unknown terminal/create\n!say on"
    )
    assert said == "fs/read_text_file: -32601. terminal/create: -32601. on"
    assert well == "well"


@pytest.mark.parametrize(
    ("member", "kind", "text"),
    [
        (foreign("/bin/false"), "peer_failed", "exit code 1"),
        (foreign("no-such-program"), "not_found", "program not found: 'no-such-program'"),
        (foreign("/bin/echo", "hello"), "peer_protocol", "hello"),
        (plain("version=2"), "peer_protocol", "ACP version 2"),
        (plain("first=die"), "peer_failed", "killed by signal 9"),
    ],
)
async def test_one_that_can_not_be_started_says_why(
    tmp_path: Path, member: dict[str, Any], kind: str, text: str
) -> None:
    lead = [chat.calls(ask("guest", "!say hi")), chat.text("done")]
    async with crew(tmp_path, {"lead": lead}, member) as session:
        await session.run("go")
        [said] = await outputs(session)
        assert said.startswith(f"{kind}: guest (")
        assert text in said


async def test_one_that_is_not_logged_in_takes_its_key_or_says_so_and_never_a_browser(tmp_path: Path) -> None:
    lead = [chat.calls(ask("guest", "!keys")), chat.calls(ask("other", "!keys")), chat.text("done")]
    members = (plain("login=its-api-key"), plain("login=", name="other"))
    async with crew(tmp_path, {"lead": lead}, *members) as session:
        await session.run("go")
        key, none = await outputs(session)
        assert key == "its-api-key"
        assert none.startswith("not_authenticated: other (")
        assert "acp.env" in none


async def test_it_is_started_anew_three_times_in_a_minute_and_no_more(tmp_path: Path) -> None:
    lead = [*(chat.calls(ask("guest", "!die")) for _ in range(5)), chat.text("done")]
    async with crew(tmp_path, {"lead": lead}, plain()) as session:
        await session.run("go")
        kinds = [said.split(":")[0] for said in await outputs(session)]
        assert kinds == ["target_gone"] * 4 + ["peer_failed"]


@pytest.mark.parametrize("script", [(), ("deaf=1",)])
async def test_an_interrupt_cancels_its_turn_and_one_that_is_deaf_to_it_is_killed(
    tmp_path: Path, script: tuple[str, ...]
) -> None:
    lead = [chat.calls(ask("guest", "!run exit 0\n!open\n!wait")), chat.text("well")]
    async with crew(tmp_path, {"lead": [*lead, chat.text("again")]}, plain(*script)) as session:
        run = asyncio.ensure_future(session.run("go"))
        async for event in session.events():
            if event.type == "tool_start" and event.data["args"].get("title") == "left open":
                break
        session.interrupt(agent="guest")
        await run
        [said] = await outputs(session)
        assert said.startswith("interrupted: ")
        ends = [one for one in await recorded(session, "tool_end") if one.get("foreign")]
        assert [one["ok"] for one in ends] == [True, False]
        assert ends[1]["error"]["kind"] == "interrupted"
        spent = [one for one in await recorded(session, "usage") if one["model"].startswith("acp/")]
        assert [one["cost_usd"] for one in spent] == [None]
        if script:
            await _wait_until_gone(str(tmp_path))
        else:
            assert _find_processes(str(tmp_path))


async def test_a_deadline_is_a_timeout_and_the_late_answer_is_dropped(tmp_path: Path) -> None:
    lead = [chat.calls(ask("guest", "!wait", timeout_ms=300)), chat.calls(target("interrupt_agent", "guest"))]
    lead += [chat.calls(ask("guest", "!say well")), chat.text("done")]
    async with crew(tmp_path, {"lead": lead}, plain()) as session:
        await session.run("go")
        late, well = await outputs(session)
        assert late.startswith("timeout: ")
        assert well == "well"


async def test_calls_that_it_left_open_have_their_one_result(tmp_path: Path) -> None:
    lead = [chat.calls(ask("guest", "!open\n!say over")), chat.text("done")]
    async with crew(tmp_path, {"lead": lead}, plain()) as session:
        await session.run("go")
        [end] = [one for one in await recorded(session, "tool_end") if one.get("foreign")]
        assert not end["ok"]
        assert "without a result for this call" in end["output"]


async def test_it_can_call_nobody_between_its_turns(tmp_path: Path) -> None:
    """Its server lives on with the process, and says that no turn is in flight."""
    lead = [chat.calls(ask("guest", "!team\n!later go")), chat.text("done")]
    async with crew(tmp_path, {"lead": lead}, plain()) as session:
        await session.run("go")
        (tmp_path / "work" / "go").touch()
        done = tmp_path / "work" / "go.done"
        while not done.exists():
            await asyncio.sleep(0.02)
        assert done.read_text().startswith("interrupted: your turn is over")
        assert len([one for one in await recorded(session, "tool_start") if one["name"] == "list_team"]) == 1


async def test_destroying_it_ends_its_process(tmp_path: Path) -> None:
    lead = [chat.calls(ask("guest", "!pid")), chat.calls(target("destroy_agent", "guest"))]
    lead += [chat.calls(ask("guest", "?")), chat.text("done")]
    async with crew(tmp_path, {"lead": lead}, plain(), mode="full") as session:
        await session.run("go")
        _, refused = await outputs(session)
        assert refused.startswith("not_found: Agent not found.")
        assert "Nobody else is in the team; do the work yourself." in refused
        await _wait_until_gone(str(tmp_path))


async def _wait_until_gone(marker: str) -> None:
    async with asyncio.timeout(WAIT):
        while _find_processes(marker):
            await asyncio.sleep(0.05)


def _find_processes(marker: str) -> list[int]:
    """Those of the small agent whose command line names the marker, or that run in a folder of it."""
    found = []
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            words = Path(f"/proc/{entry}/cmdline").read_bytes()
            folder = os.readlink(f"/proc/{entry}/cwd")
        except OSError:
            continue
        if b"plain_agent.py" in words and (marker.encode() in words or folder.startswith(marker)):
            found.append(int(entry))
    return found


_RUN = """
import asyncio, sys
from pathlib import Path
sys.path.insert(0, {root!r})
from tests.foreign.crew import crew, plain
from tests.teams import ask
from tests.wire import chat

async def main():
    folder = Path({folder!r})
    lead = [chat.calls(ask("guest", "!flag there\\n!hang")), chat.text("done")]
    async with crew(folder, {{"lead": lead}}, plain("deaf=1"), mode={mode!r}) as session:
        await session.run("go")

asyncio.run(main())
"""


@pytest.mark.heavy
@pytest.mark.parametrize("mode", ["full", "workspace"])
async def test_no_process_outlives_a_planck_that_was_killed(tmp_path: Path, mode: str) -> None:
    root = str(Path(__file__).parent.parent.parent)
    script = _RUN.format(root=root, folder=str(tmp_path), mode=mode)
    runtime = await asyncio.create_subprocess_exec(sys.executable, "-c", script)
    try:
        async with asyncio.timeout(WAIT):
            while not (tmp_path / "work" / "there").exists():
                assert runtime.returncode is None
                await asyncio.sleep(0.05)
        assert _find_processes(str(tmp_path))
    finally:
        runtime.send_signal(signal.SIGKILL)
        await runtime.wait()
    await _wait_until_gone(str(tmp_path))


async def test_one_that_dies_with_the_runtime_goes_on_in_its_own_session_or_is_told(tmp_path: Path) -> None:
    """After a resume: `session/load` where it is offered, else a new session that is told what happened."""
    async with WireServer(Brains({"lead": []})) as server:
        for able in ("load", "unable"):
            log = tmp_path / "work" / f"{able}.log"
            async with open_place(tmp_path, server.url) as planck:
                member = plain(f"{able}=1", f"log={log.stem}", name=f"guest-{able}")
                team = write_team(tmp_path / able, {"type": "orchestrator", "name": "lead"}, member)
                session = await planck.start(team=team)
                await _prompt(session, f"guest-{able}", "!say one")
                id = session.id
            async with open_place(tmp_path, server.url) as planck:
                session = await planck.resume(id)
                await _prompt(session, f"guest-{able}", "!say two")
            first, second = (json.loads(line) for line in log.read_text().splitlines())
            assert first[0].startswith("# You\nYou are guest-")
            assert first[-1] == "!say one"
            if able == "load":
                assert second == ["!say two"]
            else:
                assert second[0].startswith("# You\n")
                assert "user: !say one\n\nagent: one" in second[1]
                assert second[-1] == "!say two"


async def _prompt(session: Any, name: str, text: str) -> None:
    await session.prompt(text, agent=name)
    async with asyncio.timeout(WAIT):
        await session.settled()


async def test_a_session_that_is_not_stored_leaves_nothing_of_it_behind(tmp_path: Path) -> None:
    lead = [chat.calls(ask("guest", "!run touch ~/mine && ls ~")), chat.text("done")]
    async with WireServer(Brains({"lead": lead})) as server, open_place(tmp_path, server.url) as planck:
        team = write_team(tmp_path / "team", {"type": "orchestrator", "name": "lead"}, plain())
        session = await planck.start(team=team, stored=False)
        await session.run("go")
        assert "mine" in [one["output"].strip() for one in await recorded(session, "tool_end")]
    assert not list((tmp_path / "home").rglob("*mine*"))
    assert not list((tmp_path / "home").rglob("members"))


async def test_a_rewound_member_is_told_what_is_left_of_its_history(tmp_path: Path) -> None:
    log = tmp_path / "work" / "its.log"
    async with WireServer(Brains({"lead": []})) as server, open_place(tmp_path, server.url) as planck:
        team = write_team(
            tmp_path / "team", {"type": "orchestrator", "name": "lead"}, plain(f"log={log.stem}")
        )
        session = await planck.start(team=team)
        await _prompt(session, "guest", "!say one")
        head = session.head
        await _prompt(session, "guest", "!say two")
        await session.rewind(head)
        await _prompt(session, "guest", "!say three")
    last = json.loads(log.read_text().splitlines()[-1])
    assert "agent: one" in last[1]
    assert "two" not in last[1]
    assert last[-1] == "!say three"


async def test_a_budget_that_nobody_could_hold_is_refused(tmp_path: Path) -> None:
    lead = [chat.calls(ask("guest", "!say hi")), chat.text("done")]
    async with WireServer(Brains({"lead": lead})) as server, open_place(tmp_path, server.url) as planck:
        team = write_team(tmp_path / "team", {"type": "orchestrator", "name": "lead"}, plain())
        session = await planck.start(team=team, max_tokens=1_000_000)
        await session.run("go")
        [said] = await outputs(session)
        assert said.startswith("budget_exceeded: guest (")
        assert "cannot enforce a budget in USD or tokens" in said


async def test_a_team_that_is_not_trusted_starts_no_program(tmp_path: Path) -> None:
    async with open_place(tmp_path, "http://127.0.0.1:9") as planck:
        folder = tmp_path / "work" / ".planck" / "teams" / "crew"
        write_team(folder, {"type": "orchestrator", "name": "lead"}, plain())
        with pytest.raises(PlanckError) as refused:
            await planck.start(team="crew")
        assert refused.value.err.kind == "permission_denied"
        assert "starts its own program" in refused.value.err.message
