"""An undo over HTTP writes only what an agent of the session could write now, not all that was written."""

from pathlib import Path
from typing import Any

from planck.api.operations import PREFIX
from planck.records.authority import PROTECTED, Mode
from tests.api.bench import Answer, Served, serving
from tests.api.test_roles import ask
from tests.session.trees import Tree, read_tree

PLACES = [*(f"{name}/made" for name in PROTECTED), ".ssh/authorized_keys", ".netrc", "home/rules.json"]


async def send(server: Served, role: str, path: str, body: Any, method: str = "POST") -> Answer:
    return await ask(server, role, method, path, body)


async def undo(server: Served, role: str, at: str, call: str = "") -> Answer:
    plan = await send(server, role, f"{at}/undo/plan", {"selection": {"call": call} if call else {}})
    assert plan.status == 200, plan
    return await send(server, role, f"{at}/undo", {"plan_id": plan.json["plan_id"]})


async def test_no_undo_over_http_writes_what_the_mode_of_the_session_protects(tmp_path: Path) -> None:
    script: list[Any] = [[("write", {"path": path, "content": "x"}) for path in PLACES], "done"]
    async with serving(tmp_path, script, of_user=True) as server:
        started = await server.post(f"{PREFIX}/sessions", {"mode": "full", "prompt": "go"})
        at = f"/sessions/{started.json['id']}"
        await ask(server, "admin", "GET", f"{at}/result")
        assert [path for path in PLACES if not (tmp_path / path).exists()] == []
        undone = await undo(server, "admin", at)
        assert sorted(undone.json["files"]) == sorted(PLACES)
        call = undone.json["call_id"]
        late = await send(server, "admin", f"{at}/undo/plan", {"selection": {"call": call}})
        for mode in [mode for mode in Mode if mode is not Mode.FULL]:
            assert (await send(server, "admin", at, {"mode": mode}, "PATCH")).status == 200
            for role in ("submit", "admin"):
                refused = await undo(server, role, at, call)
                assert (refused.status, "full" in refused.json["error"]["message"]) == (409, True), refused
        planned = await send(server, "submit", f"{at}/undo", {"plan_id": late.json["plan_id"]})
        assert planned.status == 403, planned
        assert [path for path in PLACES if (tmp_path / path).exists()] == []
        assert (await send(server, "admin", at, {"mode": "full"}, "PATCH")).status == 200
        assert sorted((await undo(server, "admin", at, call)).json["files"]) == sorted(PLACES)


async def test_an_undo_over_http_takes_back_what_commands_did(tmp_path: Path) -> None:
    command = "mkdir made && echo new > made/a.txt && ln -s made link && echo SECRET=2 > .env"
    script: list[Any] = [[("bash", {"command": command})], "done"]
    async with serving(tmp_path, script, of_user=True) as server:
        (tmp_path / ".gitignore").write_text(".env\n")
        (tmp_path / ".git").mkdir()
        (tmp_path / ".env").write_text("SECRET=1\n")
        before = read_work(tmp_path)
        started = await server.post(f"{PREFIX}/sessions", {"mode": "full", "prompt": "go"})
        at = f"/sessions/{started.json['id']}"
        result = await ask(server, "admin", "GET", f"{at}/result")
        assert {(one["path"], one["by"]) for one in result.json["changes"]} == {
            ("link", "command"),
            ("made/a.txt", "command"),
        }
        changes = await ask(server, "admin", "GET", f"{at}/changes")
        assert b"SECRET" not in changes.body
        both = {"selection": {"all": True, "turn": 1}}
        assert (await send(server, "admin", f"{at}/undo/plan", both)).status == 400
        plan = await send(server, "admin", f"{at}/undo/plan", {"selection": {"all": True}})
        assert (plan.json["conflicts"], plan.json["commands"], "SECRET" in plan.json["diff"]) == (
            [],
            [],
            False,
        )
        await send(server, "admin", f"{at}/undo", {"plan_id": plan.json["plan_id"]})
        assert read_work(tmp_path) == before


def read_work(folder: Path) -> Tree:
    """Without the home, which is in the workspace here."""
    return {path: held for path, held in read_tree(folder).items() if path.split("/")[0] != "home"}
