"""What has reached the disk, and not only the system, when others go on: ADR 2, seen by the log's witness."""

from pathlib import Path
from typing import Any

from planck import Planck
from planck.llm.provider import Request
from planck.records import codec
from planck.records.approval import Answer, Question
from planck.store.sqlite import lock_file
from planck.store.sqlite.database import companion
from planck.store.sqlite.witness import Witnessed
from planck.testing.scripted import ScriptedProvider
from tests.teams import ask, facts


class Yes:
    async def decide(self, question: Question) -> Answer:
        return Answer(question.id, question.digest, True)


async def test_a_prompt_a_decision_and_the_orchestrator_s_turn_are_synced_and_a_worker_s_is_not(
    tmp_path: Path,
) -> None:
    (tmp_path / "work").mkdir()
    synced: list[int] = []
    """At each request of the orchestrator, and at the end of the run."""

    def witnessed() -> None:
        (path,) = (tmp_path / "home" / "sessions").glob("*.db")
        synced_to = lock_file.get(companion(path, "lock"), lock_file.WITNESS)
        testimony = codec.decode_as(synced_to, Witnessed) if synced_to else None
        synced.append(testimony.seq if testimony else 0)

    def answer(request: Request) -> Any:
        if request.system.endswith("be bob"):
            return "bob's answer"
        witnessed()
        worker = {"type": "bob", "name": "bob", "system_prompt": "be bob", "description": "helps"}
        model = {"provider": "double", "model_id": "m", "base_url": ""}
        script = [
            [("spawn_agent", {**worker, **model})],
            [ask("bob")],
            [("bash", {"command": "touch x"})],
            "done",
        ]
        return script[len(synced) - 1]

    async with Planck(
        tmp_path / "home",
        tmp_path / "work",
        environ={"PATH": "/usr/bin:/bin"},
        approver=Yes(),
        providers={"double": ScriptedProvider(answer)},
    ) as app:
        session = await app.start(model="double/m", mode="ask")
        assert (await session.run("go")).text == "done"
        witnessed()
        log = await facts(session)
    (decision,) = [n for n, (type, _) in enumerate(log, 1) if type == "permission_decision"]
    prompt = next(
        n for n, (type, data) in enumerate(log, 1) if type == "message" and data["kind"] == "prompt"
    )
    worker_end, end = [n for n, (type, _) in enumerate(log, 1) if type == "turn_end"]
    first, _, after_bob, after_bash, over = synced
    assert prompt <= first
    assert after_bob < worker_end
    assert decision <= after_bash
    assert end <= over
