"""An idempotency key names one session: a second request with it gets that session, or is refused."""

from pathlib import Path
from typing import Any

import pytest

from planck.api.operations import PREFIX
from planck.headless import Joining
from tests.api.bench import serving
from tests.api.test_roles import ask

KEY = {"idempotency-key": "K1"}
BODY = {"name": "precious", "mode": "full"}
OTHERS = [
    ("admin", {"name": "other"}),
    ("submit", {"name": "mine"}),
    ("submit", {"prompt": "go"}),
    ("admin", {}),
]


@pytest.mark.parametrize("alone", [True, False], ids=["alone", "in a pool"])
async def test_a_used_key_never_costs_anybody_a_session(tmp_path: Path, database: str, alone: bool) -> None:
    pool: dict[str, Any] = {} if alone else {"store": database, "joining": Joining(name="north", work=0)}
    ids = set()
    for _ in range(2):  # the second time after a restart
        async with serving(tmp_path, **pool) as server:
            for state in ("open", "closed"):
                made = await server.post(f"{PREFIX}/sessions", BODY, KEY)
                assert made.status == 201, (state, made)
                ids.add(made.json["id"])
                at = f"/sessions/{made.json['id']}"
                if state == "closed":
                    await ask(server, "admin", "POST", f"{at}/close", {})
                for role, body in OTHERS:
                    answer = await ask(server, role, "POST", "/sessions", body, **KEY)
                    assert (answer.status, answer.kind) == (409, "not_unique"), (state, role, answer)
                kept = (await ask(server, "admin", "GET", at)).json
                assert (kept["name"], kept["mode"]) == ("precious", "full"), state
    assert len(ids) == 1
