"""An undo over HTTP writes only what an agent of the session could write now, not all that was written."""

from pathlib import Path
from typing import Any

from planck.api.operations import PREFIX
from planck.records.authority import PROTECTED, Mode
from tests.api.bench import Answer, Served, serving
from tests.api.test_roles import ask

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
