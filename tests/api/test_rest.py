"""The rest of the table: changes and undo, copies, agents, files, and what the place offers."""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from planck.client import Client, ClientError, RemoteSession
from planck.records.outcome import ErrorKind
from planck.testing import ScriptedProvider
from tests.api.bench import serving
from tests.command import WAIT
from tests.mcp.bench import FAKE

SCRIPT: list[Any] = [[("write", {"path": "a.txt", "content": "new\n"})], "written", "more"]


async def write(client: Client) -> RemoteSession:
    session = await client.start(mode="workspace", name="fox")
    result = await session.run("write it")
    assert result["text"] == "written"
    return session


async def refusal(session: RemoteSession, *asked: Any, **more: Any) -> tuple[int, ErrorKind]:
    with pytest.raises(ClientError) as caught:
        await session.ask(*asked, **more)
    return caught.value.status, caught.value.err.kind


async def test_changes_are_shown_planned_and_taken_back_once(tmp_path: Path) -> None:
    async with serving(tmp_path, SCRIPT) as server, server.client() as client:
        file = tmp_path / "work" / "a.txt"
        file.write_text("old\n")
        session = await write(client)
        (change,) = (await session.ask("GET", "/changes"))["items"]
        assert (change["path"], change["added"], change["removed"]) == ("a.txt", 1, 1)
        assert (await session.ask("GET", "/changes", call=change["call_id"]))["items"] == [change]
        plan = await session.ask("POST", "/undo/plan", {"selection": {"turn": 1}})
        assert "+old" in plan["diff"]
        assert plan["conflicts"] == []
        body = {"plan_id": plan["plan_id"]}
        undone = await session.ask("POST", "/undo", body, key="u1")
        assert (undone["files"], file.read_text()) == (["a.txt"], "old\n")
        assert await session.ask("POST", "/undo", body, key="u1") == undone
        assert await refusal(session, "POST", "/undo", body) == (404, ErrorKind.NOT_FOUND)
        assert await refusal(session, "POST", "/undo", {"plan_id": "x"}, key="u1") == (
            409,
            ErrorKind.NOT_UNIQUE,
        )
        await session.close()
        (first, back) = (await session.ask("GET", "/changes"))["items"]
        assert (first["undone"], back["undoes"]) == (True, [change["call_id"]])


async def test_a_board_names_the_session_whose_log_it_is(tmp_path: Path) -> None:
    """The log of a fork begins with its parent's events: open, closed, renamed, forked again, and earlier."""
    async with serving(tmp_path, SCRIPT) as server, server.client() as client:
        session = await write(client)
        rows = [
            await session.ask("POST", "/fork", {"name": "copy"}),
            await session.ask("POST", "/fork", {"name": "early", "at": 3}),
        ]
        rows.append(await client.session(rows[0]["id"]).ask("POST", "/fork", {"name": "grandchild"}))
        renamed = client.session(rows[1]["id"])
        await renamed.ask("POST", "/open")
        await renamed.ask("PATCH", "", {"name": "later"})
        rows[1]["name"] = "later"
        for row in (await session.ask("GET", ""), *rows):
            one, wanted = client.session(row["id"]), (row["id"], row["name"])
            for step in (("POST", "/open"), ("POST", "/close")):
                await one.ask(*step)
                boards = [await one.ask("GET", "/board"), await one.ask("GET", "/board", at=1)]
                assert [(board["id"], board["name"]) for board in boards] == [wanted] * 2, step
                assert boards[0]["parent"] == row["parent"]


async def test_an_undo_that_is_sent_several_times_at_once_has_one_answer(tmp_path: Path) -> None:
    names = [f"{number}.txt" for number in range(20)]
    script: list[Any] = [[("write", {"path": name, "content": "x\n"}) for name in names], "written"]
    async with serving(tmp_path, script) as server, server.client() as client:
        session = await write(client)
        plan = {"plan_id": (await session.ask("POST", "/undo/plan", {}))["plan_id"]}
        again = [session.ask("POST", "/undo", plan, key="u1") for _ in range(4)]
        first, *others = await asyncio.gather(*again)
        assert sorted(first["files"]) == sorted(names)
        assert others == [first] * 3
        assert [*(tmp_path / "work").iterdir()] == []


@pytest.mark.parametrize("edited", ["a", "c"])
async def test_an_undo_takes_back_all_of_its_plan_or_nothing(tmp_path: Path, edited: str) -> None:
    work = tmp_path / "work"
    script: list[Any] = [[("write", {"path": name, "content": "x\n"}) for name in "abc"], "written"]
    async with serving(tmp_path, script) as server, server.client() as client:
        session = await write(client)
        plan = {"plan_id": (await session.ask("POST", "/undo/plan", {}))["plan_id"]}
        (work / edited).write_text("by hand\n")
        assert await refusal(session, "POST", "/undo", plan, key="u1") == (409, ErrorKind.EDIT_CONFLICT)
        kept = {path.name: path.read_text() for path in work.iterdir()}
        assert kept == {"a": "x\n", "b": "x\n", "c": "x\n", edited: "by hand\n"}


async def test_of_several_changes_those_that_were_ticked_are_taken_back(tmp_path: Path) -> None:
    names = ("a.txt", "b.txt", "c.txt")
    script: list[Any] = [[("write", {"path": name, "content": "new\n"}) for name in names], "written"]
    async with serving(tmp_path, script) as server, server.client() as client:
        session = await write(client)
        items = (await session.ask("GET", "/changes"))["items"]
        ticked = [{"call": one["call_id"], "path": one["path"]} for one in items if one["path"] != "b.txt"]
        crossed = [{**ticked[0], "path": "b.txt"}]  # a file of another call
        nothing = {"selection": {"files": crossed}}
        assert await refusal(session, "POST", "/undo/plan", nothing) == (404, ErrorKind.NOT_FOUND)
        plan = await session.ask("POST", "/undo/plan", {"selection": {"files": ticked + crossed}})
        undone = await session.ask("POST", "/undo", {"plan_id": plan["plan_id"]})
        assert sorted(undone["files"]) == ["a.txt", "c.txt"]
        assert [name for name in names if (tmp_path / "work" / name).exists()] == ["b.txt"]
        again = {"selection": {"files": ticked}}
        assert await refusal(session, "POST", "/undo/plan", again) == (404, ErrorKind.NOT_FOUND)
        both = {"selection": {"files": ticked, "turn": 1}}
        assert await refusal(session, "POST", "/undo/plan", both) == (400, ErrorKind.INVALID_ARGS)


async def test_a_key_starts_and_forks_a_session_once_also_over_a_restart(tmp_path: Path) -> None:
    async def start(client: Client, **more: Any) -> str:
        body = {"name": "fox", "prompt": "go", **more}
        answer = await client.ask("POST", "/sessions", body, key="one")
        return str(answer.data["id"])

    async with serving(tmp_path, lambda request: "hi") as server, server.client() as client:
        id = await start(client)
        assert await start(client) == id
        session = client.session(id)
        await session.ask("GET", "/result")
        fork = await session.ask("POST", "/fork", {"name": "copy"}, key="one")
        assert (fork["name"], fork["first_prompt"]) == ("copy", "go")
        forked = (id, fork["forked_at"])
        assert [(row["parent"], row["forked_at"]) async for row in client.sessions() if row["parent"]] == [
            forked
        ]
        assert (
            (await client.session(fork["id"]).ask("POST", "/open"))["parent"],
            fork["forked_at"],
        ) == forked
        with pytest.raises(ClientError, match="different request"):
            await start(client, name="other")
    async with serving(tmp_path, lambda request: "hi") as server, server.client() as client:
        session = client.session(id)
        assert await start(client) == id
        assert (await session.ask("POST", "/fork", {"name": "copy"}, key="one"))["id"] == fork["id"]
        assert await refusal(session, "POST", "/fork", {}, key="one") == (409, ErrorKind.NOT_UNIQUE)
        assert {row["name"] async for row in client.sessions()} == {"fox", "copy"}
        assert isinstance(server.model, ScriptedProvider)
        assert server.model.asked == []


async def test_a_session_is_renamed_remodelled_rewound_exported_and_deleted(tmp_path: Path) -> None:
    async with serving(tmp_path, SCRIPT) as server, server.client() as client:
        session = await write(client)
        row = await session.ask("PATCH", "", {"name": "owl", "mode": "read-only", "model": "local/n"})
        assert (row["name"], row["mode"], row["model"]) == ("owl", "read-only", "local/n")
        assert (await session.ask("POST", "/rewind", {"to": 2}))["name"] == "owl"
        assert await refusal(session, "POST", "/rewind", {"to": 9999}) == (400, ErrorKind.INVALID_ARGS)
        await session.close()
        assert (await session.ask("PATCH", "", {"name": "hen"}))["name"] == "hen"
        lines = (await session.ask("GET", "/export")).splitlines()
        assert json.loads(lines[0])["type"] == "session_started"
        assert b"write it" in await session.ask("GET", "/export", format="md")
        page = await server.send("GET", f"/api/v1/sessions/{session.id}/export?format=html")
        assert page.headers["content-security-policy"] == "default-src 'none'; sandbox"
        assert b'id="planck-events"' in page.body
        await session.delete()
        assert await refusal(session, "GET") == (404, ErrorKind.NOT_FOUND)


async def test_agents_and_outputs_are_found_by_name_and_call(tmp_path: Path) -> None:
    async with serving(tmp_path, SCRIPT) as server, server.client() as client:
        session = await write(client)
        (agent,) = (await session.ask("GET", "/agents"))["items"]
        assert await session.ask("GET", f"/agents/{agent['id']}") == agent
        changed = await session.ask("PATCH", "/agents/orchestrator", {"model": "local/n"})
        assert changed["model"] == "local/n"
        assert await refusal(session, "GET", "/agents/nobody") == (404, ErrorKind.NOT_FOUND)
        assert await refusal(session, "PATCH", "/agents/nobody", {"model": "local/n"}) == (
            404,
            ErrorKind.NOT_FOUND,
        )
        (change,) = (await session.ask("GET", "/changes"))["items"]
        output = await session.ask("GET", f"/calls/{change['call_id']}/output")
        assert (output["done"], output["next"], len(output["output"])) == (True, None, output["size"])
        assert await refusal(session, "GET", "/calls/none/output") == (404, ErrorKind.NOT_FOUND)


async def test_an_output_that_was_too_long_for_the_model_comes_whole_in_parts(tmp_path: Path) -> None:
    command = "for i in $(seq 60000); do echo line $i é; done"
    script: list[Any] = [[("bash", {"command": command})], "counted"]
    async with serving(tmp_path, script) as server, server.client() as client:
        session = await client.start(mode="full")
        await session.run("count")
        board = await session.ask("GET", "/board")
        lines = (await session.ask("GET", "/events", type="tool_end")).splitlines()
        call = json.loads(lines[0])["data"]["id"]
        assert "truncated" in json.loads(lines[0])["data"]["output"], board
        for closed in (False, True):
            text, at = "", 0
            while at is not None:
                part = await session.ask("GET", f"/calls/{call}/output", offset=at)
                text, at = text + part["output"], part["next"]
            assert text == "".join(f"line {number} é\n" for number in range(1, 60001))
            assert (part["size"], part["done"]) == (len(text), True)
            if not closed:
                await session.close()
        beyond = await session.ask("GET", f"/calls/{call}/output", offset=part["size"] + 5)
        assert (beyond["output"], beyond["next"]) == ("", None)


async def test_the_tools_of_servers_and_the_costs_of_agents_are_among_what_is_shown(tmp_path: Path) -> None:
    config = {"mcpServers": {"demo": {"command": sys.executable, "args": [str(FAKE)]}}}
    async with serving(tmp_path, ["one"], config=config) as server, server.client() as client:
        names: list[str] = []
        async with asyncio.timeout(
            4 * WAIT
        ):  # a server that is slow to start is not waited for, but asked again
            while "mcp__demo__echo" not in names:
                names = [row["name"] for row in (await client.ask("GET", "/tools")).data["items"]]
        assert "bash" in names
        assert len(names) == len(set(names))
        session = await client.start()
        await session.run("go")
        for closed in (False, True):
            detail = await session.ask("GET", "")
            (row,) = detail["costs"]
            assert (row["agent"], row["calls"], row["depth"]) == ("orchestrator", 1, 0)
            assert row["usage"] == detail["usage"]
            if not closed:
                await session.close()


async def test_files_are_shown_within_the_workspace_and_nowhere_else(tmp_path: Path) -> None:
    async with serving(tmp_path) as server, server.client() as client:
        work = tmp_path / "work"
        (work / "folder").mkdir()
        (work / "big.txt").write_text("x" * 300_000)
        (work / "link").symlink_to("/etc")
        items = (await client.ask("GET", "/files")).data["items"]
        assert [(item["name"], item["kind"]) for item in items] == [
            ("big.txt", "file"),
            ("folder", "folder"),
            ("link", "link"),
        ]
        part = (await client.ask("GET", "/files/content", path="big.txt")).data
        rest = (await client.ask("GET", "/files/content", path="big.txt", offset=part["next"])).data
        assert len(part["content"] + rest["content"]) == 300_000 == part["size"]
        for path in ("../home/config.json", "/etc/passwd", "link/passwd", "~/x", "a\0b", "..", "link"):
            for route in ("/files", "/files/content"):
                with pytest.raises(ClientError) as caught:
                    await client.ask("GET", route, path=path)
                assert caught.value.status in (400, 403, 404), (route, path)


async def test_a_long_file_comes_in_parts_that_cut_no_character_in_two(tmp_path: Path) -> None:
    async with serving(tmp_path) as server, server.client() as client:
        for text in ("x" + "é" * 300_000, "xy" + "字" * 200_000, "x" + "🙂" * 150_000):
            (tmp_path / "work" / "long.txt").write_text(text)
            read, offset = "", 0
            while offset is not None:
                part = (await client.ask("GET", "/files/content", path="long.txt", offset=offset)).data
                read, offset = read + part["content"], part["next"]
            assert read == text
        (tmp_path / "work" / "cut.txt").write_bytes("x字".encode()[:-1])
        part = (await client.ask("GET", "/files/content", path="cut.txt")).data
        assert (part["content"], part["next"]) == ("x\ufffd", None)


async def test_the_place_says_what_it_has(tmp_path: Path) -> None:
    team = tmp_path / "home" / "teams" / "duo"
    team.mkdir(parents=True)
    (team / "TEAM.json").write_text(json.dumps({"name": "Duo", "members": [{"type": "orchestrator"}]}))
    async with (
        serving(tmp_path, lambda request: "the word is marmalade") as server,
        server.client() as client,
    ):

        async def get(path: str, **query: Any) -> Any:
            return (await client.ask("GET", path, **query)).data

        assert [row["alias"] for row in (await get("/teams"))["items"]] == ["duo"]
        assert (await get("/teams/duo"))["name"] == "Duo"
        assert (await client.ask("POST", "/teams/duo/check", {})).data == {"ok": True, "problems": []}
        outside = f"/teams/{str(team).replace('/', '%2F')}"
        with pytest.raises(ClientError, match="alias"):
            await get(outside)
        assert "bash" in {row["name"] for row in (await get("/tools"))["items"]}
        assert (await get("/skills"))["items"] == []
        assert (await get("/config"))["default_model"] == "local/m"
        assert "runtime" in {check["name"] for check in (await get("/doctor"))["checks"]}
        assert isinstance((await get("/notices"))["items"], list)
        assert "items" in await get("/models")
        session = await client.start("duo")
        await session.run("say it")
        (hit,) = (await get("/search", q="MARMALADE"))["items"]
        assert (hit["session_id"], hit["agent"]) == (session.id, "orchestrator")
        tested = (await client.ask("POST", "/models/test", {})).data
        assert tested["ok"] is True
        metrics = (await get("/metrics")).decode()
        assert 'planck_turns_total{status="completed"} 1\n' in metrics
        assert "planck_sessions_open 1\n" in metrics
        assert "planck_unpriced_calls_total 1\n" in metrics  # the double has no price
        assert "planck_estimated_calls_total 0\n" in metrics
        assert (await session.ask("POST", "/compact", {}))["compacted"] in (True, False)


async def test_whoever_asks_is_told_the_language_that_is_configured(tmp_path: Path) -> None:
    async with serving(tmp_path, [], config={"locale": "es"}) as server, server.client() as client:
        assert (await client.ask("GET", "/me")).data["locale"] == "es"
