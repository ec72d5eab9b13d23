"""What a log says of how a session ran: its options, what its models saw, what was paid for in vain."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from planck import Planck
from planck.headless import OpenSession
from planck.records.specs import Limits
from planck.testing.scripted import ScriptedProvider
from tests.recorded import recorded


def open_planck(tmp_path: Path, script: Any, **more: Any) -> Planck:
    (tmp_path / "work").mkdir(exist_ok=True)
    providers = {"double": ScriptedProvider(script)}
    return Planck(tmp_path / "home", tmp_path / "work", **{"environ": {}, "providers": providers, **more})


async def data_of(session: OpenSession, type: str) -> list[dict[str, Any]]:
    return [event["data"] for event in await recorded(session) if event["type"] == type]


async def test_the_log_says_with_which_options_a_session_was_started_and_resumed(tmp_path: Path) -> None:
    flags = {"permissions": {"rules": [{"tool": "bash", "decision": "deny"}]}, "limits": {"inbox": 7}}
    async with open_planck(tmp_path, ["hello"], flags=flags) as p:
        session = await p.start(
            model="double/m", mode="read-only", max_steps=5, max_budget_usd=1.5, dry_run=True
        )
        (started,) = await data_of(session, "session_started")
        await session.aclose()
        again = await p.resume(session.id, mode="full")
        (resumed,) = await data_of(again, "session_resumed")
        catalog = p.catalog_date
    first, second = started["options"], resumed["options"]
    rules, sandbox = first.pop("rules"), first.pop("sandbox")
    assert first == {
        "mode": "read-only",
        "max_steps": 5,
        "dry_run": True,
        "budget": 1.5,
        "limits": {**msgspec.to_builtins(Limits()), "inbox": 7},
        "catalog": catalog,
    }
    assert sandbox in ("bubblewrap", "landlock", "none")
    assert (second["mode"], second["max_steps"], second["budget"]) == ("full", Limits().steps, None)
    assert (second["dry_run"], second["sandbox"], second["rules"]) == (False, "off", rules)


@pytest.mark.parametrize("change", [{"decision": "ask"}, {"tool": "write"}, {"command": "git push"}])
async def test_other_rules_have_another_digest(tmp_path: Path, change: dict[str, str]) -> None:
    digests = []
    for rule in ({"tool": "bash", "decision": "deny"}, {"tool": "bash", "decision": "deny"} | change):
        async with open_planck(tmp_path, [], flags={"permissions": {"rules": [rule]}}) as p:
            (started,) = await data_of(await p.start(model="double/m"), "session_started")
            digests.append(started["options"]["rules"])
    assert digests[0] != digests[1]
