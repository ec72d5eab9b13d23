"""A member that is another program has the rights of its mode, enforced by the sandbox, and asks for more."""

import asyncio
import json
import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from planck.headless.inbox import Inbox
from planck.headless.open_session import OpenSession
from planck.records.approval import Answer, Question, Scope
from planck.session.undo import Selection
from planck.workspace.sandbox import sandbox
from planck.workspace.sandbox.programs import list_parts
from tests.foreign.crew import AGENT, crew, foreign, outputs, plain, recorded
from tests.teams import ask
from tests.wire import chat

pytestmark = pytest.mark.heavy

confined = pytest.mark.skipif(sandbox.find().sandbox is None, reason="bubblewrap is not installed")


class Says:
    """Answers each question with the next word, and keeps what was asked."""

    def __init__(self, *answers: bool, scopes: list[Scope] | None = None) -> None:
        self.questions: list[Question] = []
        self._answers = list(answers)
        self._scopes = scopes or [Scope.ONCE] * len(answers)

    async def decide(self, question: Question) -> Answer:
        self.questions.append(question)
        return Answer(question.id, question.digest, self._answers.pop(0), self._scopes.pop(0))


async def _hear(folder: Path, script: str, member: dict[str, Any], **options: Any) -> str:
    """What the guest says to a script."""
    lead = [chat.calls(ask("guest", script)), chat.text("done")]
    async with crew(folder, {"lead": lead}, member, **options) as session:
        await session.run("go")
        [said] = await outputs(session)
        return said


@confined
@pytest.mark.parametrize(
    ("mode", "own"), [("read-only", None), ("workspace", "read-only"), ("full", "read-only")]
)
async def test_in_mode_read_only_it_can_write_nowhere_but_at_home(
    tmp_path: Path, mode: str, own: str | None
) -> None:
    outside = tmp_path / "outside"
    script = f"!touch here\n!touch {outside}\n!run echo x > made-by-a-child; touch ~/mine && echo at home"
    member = plain(mode=own) if own else plain()
    lead = [chat.calls(ask("guest", script)), chat.text("done")]
    async with crew(tmp_path, {"lead": lead}, member, mode=mode) as session:
        await session.run("go")
        [end] = [one for one in await recorded(session, "tool_end") if one["name"] == "acp_execute"]
        assert "Read-only file system" in end["output"]
        assert "at home" in end["output"]
    assert os.listdir(tmp_path / "work") == []
    assert not outside.exists()


@confined
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to become nobody")
async def test_in_mode_read_only_it_can_write_nowhere_as_nobody_either(tmp_path: Path) -> None:
    """The workspace is nobody's: the process runs as that user, who could write there."""
    if not os.access("/usr/bin/python3", os.X_OK):
        pytest.skip("no python that nobody can run")
    work = tmp_path / "work"
    work.mkdir()
    os.chown(work, 65534, 65534)
    for place in (tmp_path, *tmp_path.parents):
        if place.stat().st_uid == 0 and str(place).startswith("/tmp/"):
            place.chmod(0o755)
    agent = tmp_path / "agent.py"
    agent.write_text(Path(__file__).with_name("plain_agent.py").read_text())
    member = {
        "type": "guest",
        "provider": "",
        "model_id": "",
        "acp": {"command": ["/usr/bin/python3", "-I", str(agent)], "mode": "read-only"},
    }
    script = "!touch here\n!run id -u; echo x > there\n!ask bob who am I?"
    brains = {"lead": [chat.calls(ask("guest", script)), chat.text("done")], "bob": [chat.text("nobody")]}
    bob = {"type": "bob", "name": "bob"}
    environ = {"HOME": str(tmp_path)}  # root's own is closed to nobody
    async with crew(tmp_path, brains, member, bob, environ=environ) as session:
        await session.run("go")
        assert await outputs(session) == ["nobody", "bob said: nobody"]  # others too can be asked
        [end] = [one for one in await recorded(session, "tool_end") if one["name"] == "acp_execute"]
        assert end["output"].startswith("65534\n")
        assert "Read-only file system" in end["output"]
    assert os.listdir(work) == []


@confined
async def test_in_mode_workspace_it_writes_in_the_workspace_alone(tmp_path: Path) -> None:
    script = f"!touch here\n!touch {tmp_path}/outside\n!run mkdir .git; true"
    lead = [chat.calls(ask("guest", script)), chat.text("done")]
    async with crew(tmp_path, {"lead": lead}, plain()) as session:
        await session.run("go")
        said = [one["message"]["parts"] for one in await recorded(session, "assistant_message")]
        assert "touched here. " in json.dumps(said)
        [end] = [one for one in await recorded(session, "tool_end") if one["name"] == "acp_execute"]
        assert "mkdir" in end["output"]
    assert (tmp_path / "work" / "here").exists()
    assert not (tmp_path / "outside").exists()


@confined
async def test_it_is_given_the_variables_that_its_file_names_and_a_minimum(tmp_path: Path) -> None:
    environ = {"GUEST": "for the guest", "OPENAI_API_KEY": "sk-of-ours", "HOME": str(tmp_path)}
    environ["GUEST_TOKEN"] = "never-to-be-written"
    member = plain(env=["GUEST", "GUEST_TOKEN", "NOT_SET"])
    names = "GUEST GUEST_TOKEN OPENAI_API_KEY HOME NOT_SET"
    found = json.loads(await _hear(tmp_path, f"!env {names}", member, environ=environ))
    assert found["GUEST"] == "for the guest"
    assert found["GUEST_TOKEN"] == "[redacted]"  # in the log, where this was read
    assert found["OPENAI_API_KEY"] is None
    assert found["NOT_SET"] is None
    assert found["HOME"] not in (None, str(tmp_path))


@confined
@pytest.mark.parametrize("network", [True, False])
async def test_it_has_the_network_unless_its_file_closes_it(tmp_path: Path, network: bool) -> None:
    server = await asyncio.start_server(lambda reader, writer: writer.close(), "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with server:
        said = await _hear(tmp_path, f"!connect {port}", plain(network=network))
    assert said.startswith("connected" if network else "no network")


@confined
async def test_a_file_that_changed_while_its_change_was_asked_about_is_a_no(tmp_path: Path) -> None:
    """Its own diff is old by then, and only it can make another; a call may name any number of files."""
    file = tmp_path / "work" / "a.txt"
    file.parent.mkdir()
    file.write_text("old\n")

    last = file.with_name("z.txt")
    last.write_text("old\n")

    class Meanwhile(Says):
        async def decide(self, question: Question) -> Answer:
            for one in (file, last):
                if one.name in question.text:
                    one.write_text("old\nMINE\n")
            return await super().decide(question)

    says = Meanwhile(True, True, True, True)
    script = "!permit a.txt new\n!permit b.txt new\n!permit-among-many z.txt new"
    lead = [chat.calls(ask("guest", script)), chat.text("done")]
    async with crew(tmp_path, {"lead": lead}, plain(), mode="ask", approver=says) as session:
        await session.run("go")
        said = json.dumps([one["message"]["parts"] for one in await recorded(session, "assistant_message")])
        decisions = await recorded(session, "permission_decision")
    assert "permission: no" in said
    assert "permission: once" in said
    found = [(file.parent / name).read_text() for name in ("a.txt", "b.txt", "z.txt")]
    assert found == ["old\nMINE\n", "new", "old\nMINE\n"]
    assert [one["decision"] for one in decisions] == ["allow", "allow", "deny", "allow", "allow", "deny"]


@confined
async def test_in_mode_ask_the_user_says_whether_it_may_write_at_all_and_then_each_time_it_asks(
    tmp_path: Path,
) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "a.txt").write_text("old\n")
    says = Says(True, True, False)
    script = "!permit a.txt new\n!permit b.txt new"
    lead = [chat.calls(ask("guest", script)), chat.text("done")]
    async with crew(tmp_path, {"lead": lead}, plain(), mode="ask", approver=says) as session:
        await session.run("go")
        start, first, _ = says.questions
        assert (start.tool, start.agent) == ("acp", "guest (works for lead)")
        assert "plain_agent.py" in start.text
        assert "workspace" in start.adds
        assert first.tool == "acp_edit"
        assert "-old" in first.preview
        assert "+new" in first.preview
        said = "".join(
            part.get("text", "")
            for one in await recorded(session, "assistant_message")
            for part in one["message"]["parts"]
        )
        assert "permission: once. written. permission: no. " in said
        asked = await recorded(session, "permission_request")
        starts = {one["id"] for one in await recorded(session, "tool_start")}
        assert {one["call_id"] for one in asked} <= starts
    assert (tmp_path / "work" / "a.txt").read_text() == "new"
    assert not (tmp_path / "work" / "b.txt").exists()


@confined
async def test_a_yes_to_an_edit_of_its_own_counts_for_nothing_once_the_mode_was_narrowed(
    tmp_path: Path,
) -> None:
    class Narrows(Says):
        session: OpenSession

        async def decide(self, question: Question) -> Answer:
            if question.tool == "acp_edit":
                await self.session.change_mode("read-only")
            return await super().decide(question)

    says = Narrows(True, True)
    lead = [chat.calls(ask("guest", "!permit a.txt new")), chat.text("done")]
    async with crew(tmp_path, {"lead": lead}, plain(), mode="ask", approver=says) as session:
        says.session = session
        await session.run("go")
        assert (await outputs(session))[0].endswith("permission: no. ")
    assert os.listdir(tmp_path / "work") == []


@confined
async def test_a_yes_to_a_command_of_its_own_adds_nothing_to_what_its_process_may(tmp_path: Path) -> None:
    says = Says(True, True, scopes=[Scope.ONCE, Scope.SESSION])
    lead = [chat.calls(ask("guest", "!may make\n!may make")), chat.text("done")]
    async with crew(tmp_path, {"lead": lead}, plain(), mode="ask", approver=says) as session:
        await session.run("go")
        _, command = says.questions
        assert command.adds == "runs in the sandbox: it may write in the workspace and use the network"
        assert (await outputs(session))[0].endswith("permission: once. ")


@confined
async def test_where_nobody_can_be_asked_it_works_and_can_write_nothing(tmp_path: Path) -> None:
    script = "!permit a.txt new\n!write b.txt new\n!say well"
    lead = [chat.calls(ask("guest", script)), chat.text("done")]
    async with crew(tmp_path, {"lead": lead}, plain(), mode="ask") as session:
        await session.run("go")
        assert (await outputs(session))[0].endswith("well")
        decisions = await recorded(session, "permission_decision")
        assert [one["decision"] for one in decisions] == ["deny", "deny"]
    assert os.listdir(tmp_path / "work") == []


async def test_an_interrupt_while_it_waits_for_a_permission_takes_the_question_back(tmp_path: Path) -> None:
    inbox = Inbox()
    lead = [chat.calls(ask("guest", "!permit a.txt new")), chat.text("done")]
    async with crew(tmp_path, {"lead": lead}, plain(mode="ask"), mode="full", approver=inbox) as session:
        run = asyncio.ensure_future(session.run("go"))
        await _wait_for_question(inbox)
        session.interrupt(agent="guest")
        await run
        assert (await outputs(session))[0].startswith("interrupted: ")
        assert not inbox.pending()
        asked = {one["id"] for one in await recorded(session, "permission_request")}
        assert asked == {one["request_id"] for one in await recorded(session, "permission_decision")}


async def _wait_for_question(inbox: Inbox) -> None:
    while not inbox.pending():
        await asyncio.sleep(0.02)


@confined
async def test_what_it_changed_is_undone_only_where_it_said_what_was_there(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    for name in ("a.txt", "b.txt"):
        (tmp_path / "work" / name).write_text("old\n")
    lead = [
        chat.calls(ask("guest", "!permit a.txt new\n!lie b.txt new\n!permit c.txt new")),
        chat.text("done"),
    ]
    async with crew(tmp_path, {"lead": lead}, plain()) as session:
        await session.run("go")
        changed = {one["path"]: one for one in await recorded(session, "file_changed")}
        assert {path: one.get("undoable", True) for path, one in changed.items()} == {
            "a.txt": True,
            "b.txt": False,
            "c.txt": True,
        }
        await _undo(session)
    left = {path.name: path.read_text() for path in (tmp_path / "work").iterdir()}
    assert left == {"a.txt": "old\n", "b.txt": "new"}


async def _undo(session: OpenSession) -> None:
    plan = session.undo_plan(Selection(agent="guest"))
    await session.undo(plan)


async def test_in_a_dry_run_it_is_not_started(tmp_path: Path) -> None:
    from tests.foreign.crew import open_place
    from tests.teams import Brains, write_team
    from tests.wire.server import WireServer

    lead = [chat.calls(ask("guest", "!touch here")), chat.text("done")]
    async with (
        WireServer(Brains({"lead": lead})) as server,
        open_place(tmp_path, server.url, "full") as planck,
    ):
        team = write_team(tmp_path / "team", {"type": "orchestrator", "name": "lead"}, plain())
        session = await planck.start(team=team, dry_run=True)
        await session.run("go")
        [said] = await outputs(session)
        assert said.startswith(f"[dry run: guest is an external program ({sys.executable}")
    assert os.listdir(tmp_path / "work") == []


@confined
@pytest.mark.parametrize("how", ["a script", "a program in bin", "an interpreter elsewhere"])
async def test_a_program_below_tmp_finds_what_lies_beside_it_and_nothing_else(how: str) -> None:
    with TemporaryDirectory(dir="/tmp") as name:
        folder = Path(name)
        place = folder / "tool" / ("bin" if how != "a script" else "")
        beside = folder / "tool" / ("lib" if how != "a script" else "")
        for made in (place, beside, folder / "python" / "bin", folder / "crew"):
            made.mkdir(parents=True, exist_ok=True)
        (beside / "guest_words.py").write_text(AGENT.read_text())
        (folder / "secret").write_text("not for it")
        interpreter = folder / "python" / "bin" / "guest-python"
        interpreter.write_text('#!/bin/sh\nexec /usr/bin/python3 "$@"\n')
        agent = place / "agent"
        first = interpreter if how == "an interpreter elsewhere" else "/usr/bin/env python3"
        lines = (f"#!{first}", "import sys", f"sys.path.insert(0, {str(beside)!r})", "import runpy")
        agent.write_text("\n".join((*lines, "runpy.run_module('guest_words', run_name='__main__')", "")))
        for made in (agent, interpreter):
            made.chmod(0o755)
        command = ("/usr/bin/python3", str(agent)) if how == "a script" else (str(agent),)
        lead = [chat.calls(ask("guest", f"!run cat {folder}/secret; echo came here")), chat.text("done")]
        async with crew(folder / "crew", {"lead": lead}, foreign(*command)) as session:
            await session.run("go")
            [end] = [one for one in await recorded(session, "tool_end") if one["name"] == "acp_execute"]
        assert "came here" in end["output"]
        assert "not for it" not in end["output"]


def test_no_folder_of_a_program_shows_a_place_that_is_kept(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "agent"
    program.write_text("x")
    program.chmod(0o755)
    home = str(tmp_path / "home")
    assert str(tmp_path) in list_parts((str(program),), "", ())
    shown = list_parts((str(program),), "", (home,))
    assert str(tmp_path) not in shown
    assert str(tmp_path / "bin") in shown
    assert str(tmp_path / "bin") not in list_parts((str(program),), "", (home, str(tmp_path / "bin" / "x")))
