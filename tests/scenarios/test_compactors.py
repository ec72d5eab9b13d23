"""A sidecar's own compactors in a session: chosen in TEAM.json, and never the end of one."""

import asyncio
import json
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from planck import Planck
from planck.headless.live.parts import AgentError
from planck.headless.open_session import OpenSession
from planck.llm.provider import Request
from planck.records.messages import size
from planck.records.outcome import Err, ErrorKind
from planck.records.usage import Usage
from planck.testing.scripted import Say, ScriptedProvider
from tests.command import Bench
from tests.mcp.bench import descendants
from tests.recorded import recorded
from tests.sidecar.bench import HEAD, write

COMPACTORS = (
    HEAD
    + """
from planck.sidecar import as_text

def brief(messages):
    print("printing while compacting")
    return f"{len(messages)} messages, the first is {as_text(messages[0])[:30]!r}"

async def later(messages):
    await asyncio.sleep(0)
    return "made by a coroutine"

def raises(messages):
    raise ValueError("no idea")

def hangs(messages):
    open("hanging", "w").close()
    time.sleep(600)

class Mine(Sidecar):
    def compactors(self):
        return {
            "brief": brief,
            "later": later,
            "raises": raises,
            "hangs": hangs,
            "number": lambda messages: 7,
            "nothing": lambda messages: "  ",
            "longest": lambda messages: "x" * 2_000_000,
            "crash": lambda messages: os._exit(3),
        }
"""
)


ALOUD = "I think aloud. " + "and_aloud." * 2_250
"""Long, and not many deltas: each word of a double is one."""


class Talker:
    """A model that fills its window with words, which pruning can't take out, and then is done."""

    def __init__(self, steps: int = 24, summary: Any = "the model's own summary") -> None:
        self.summaries = 0
        self._summary = summary
        self.provider = ScriptedProvider(self._answer)
        self._left = steps

    def _answer(self, request: Request) -> Any:
        if "memory of a coding agent" in request.system:
            self.summaries += 1
            return self._summary
        self._left -= 1
        usage = Usage(sum(map(size, request.history.messages)) // 3, 8_000)
        if self._left <= 0:
            return Say(text="done", usage=usage)
        return Say(text=ALOUD, calls=[("glob", {"pattern": f"{self._left}*"})], usage=usage)


def open_planck(folder: Path, model: Talker, compactor: str) -> Planck:
    write(folder / "side", COMPACTORS)
    team(folder / "home" / "teams" / "talk", compactor)
    (folder / "work").mkdir()
    return Planck(
        folder / "home",
        folder / "work",
        environ={"PATH": "/usr/bin:/bin", "HOME": str(folder)},
        flags={"sidecar": str(folder / "side")},
        providers={"double": model.provider},
    )


def team(folder: Path, compactor: str, provider: str = "double") -> None:
    member = {"type": "orchestrator", "provider": provider, "model_id": "m", "tools": ["glob"]}
    folder.mkdir(parents=True)
    (folder / "TEAM.json").write_text(json.dumps({"members": [{**member, "compactor": compactor}]}))


async def run(app: Planck, session: OpenSession) -> tuple[Any, list[dict[str, Any]]]:
    """The result, and what watchers were told of compactors; that it begins is told each time."""
    statuses: list[dict[str, Any]] = []
    begun: list[dict[str, Any]] = []

    async def watch() -> None:
        async with aclosing(session.events(after=session.head)) as stream:
            async for event in stream:
                if event.type == "status" and event.data["component"] == "compactor":
                    statuses.append(event.data)
                elif event.type == "compacting":
                    begun.append(event.data)

    task = asyncio.create_task(watch())
    await asyncio.sleep(0)
    result = await session.run("talk")
    await asyncio.sleep(0)
    task.cancel()
    assert begun
    assert all(delta["tokens"] > delta["window"] - 16_000 for delta in begun)
    return result, statuses


@pytest.mark.parametrize(
    ("name", "summary"),
    [("brief", "messages, the first is 'agent: I think aloud."), ("later", "made by a coroutine")],
)
async def test_the_compactor_of_a_member_writes_its_summary_and_no_model_is_asked(
    tmp_path: Path, name: str, summary: str
) -> None:
    model = Talker()
    async with open_planck(tmp_path, model, name) as app:
        session = await app.start("talk", mode="full")
        result, statuses = await run(app, session)
        compacted = [event["data"] for event in await recorded(session) if event["type"] == "compacted"]
    assert (result.text, model.summaries, statuses) == ("done", 0, [])
    assert {fact["how"] for fact in compacted} == {"summarised"}
    assert summary in str(compacted[0]["messages"])
    assert "user: talk" not in str(compacted[0]["messages"])
    assert "talk" in str(model.provider.asked[-1].messages)  # the user's words stay


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("raises", "ValueError: no idea"),
        pytest.param("number", "a compactor must return a string, not int", marks=pytest.mark.heavy),
        pytest.param("nothing", "the summary is empty", marks=pytest.mark.heavy),
        pytest.param("longest", "the summary has 2000000 bytes, but the limit is", marks=pytest.mark.heavy),
        pytest.param("crash", "sidecar 'sidecar' failed", marks=pytest.mark.heavy),
        ("unheard-of", "no running sidecar has this compactor"),
    ],
)
async def test_where_it_does_not_deliver_the_model_does_and_the_watchers_are_told(
    tmp_path: Path, name: str, why: str
) -> None:
    before = descendants()
    model = Talker()
    async with open_planck(tmp_path, model, name) as app:
        session = await app.start("talk", mode="full")
        result, statuses = await run(app, session)
        compacted = [event["data"] for event in await recorded(session) if event["type"] == "compacted"]
    assert result.text == "done"
    assert model.summaries > 0
    assert "the model's own summary" in str(compacted[0]["messages"])
    first = statuses[0]
    assert (first["name"], first["state"]) == (name, "failed")
    assert why in first["detail"]
    assert first["detail"].endswith(". The model writes the summary instead.")
    assert descendants() - before == set()


async def test_what_the_model_s_summaries_cost_is_counted(tmp_path: Path) -> None:
    model = Talker()
    async with open_planck(tmp_path, model, "summary") as app:
        session = await app.start("talk", mode="full")
        result, statuses = await run(app, session)
        said = [event["data"] for event in await recorded(session) if event["type"] == "assistant_message"]
        spent = [event["data"]["usage"] for event in await recorded(session) if event["type"] == "usage"]
    assert statuses == []
    assert 0 < len(spent) - len(said) <= model.summaries
    answers = sum(one["message"]["usage"]["output_tokens"] for one in said)
    assert result.usage.output_tokens > answers
    assert result.usage.output_tokens == sum(usage["output_tokens"] for usage in spent)


async def test_a_model_that_can_not_summarise_is_told_and_a_digest_does(tmp_path: Path) -> None:
    model = Talker(summary=Err(ErrorKind.NOT_AUTHENTICATED, "the key is void"))
    async with open_planck(tmp_path, model, "") as app:
        session = await app.start("talk", mode="full")
        result, statuses = await run(app, session)
        compacted = [event["data"] for event in await recorded(session) if event["type"] == "compacted"]
    assert result.text == "done"
    assert {fact["how"] for fact in compacted} == {"digest"}
    assert "the key is void; a short list of the messages is used instead" in statuses[0]["detail"]


async def test_a_history_is_not_compacted_under_a_turn(tmp_path: Path) -> None:
    model = Talker()
    async with open_planck(tmp_path, model, "") as app:
        session = await app.start("talk", mode="full")
        await session.prompt("talk")
        while not model.provider.asked:
            await asyncio.sleep(0)
        with pytest.raises(AgentError) as refused:
            await session.compact()
        assert refused.value.err.kind is ErrorKind.INVALID_ARGS
        await session.settled()
        assert await session.compact() is not None


async def test_a_member_may_have_a_digest_or_nothing_in_its_place(tmp_path: Path) -> None:
    model = Talker()
    async with open_planck(tmp_path, model, "digest") as app:
        session = await app.start("talk", mode="full")
        result, _ = await run(app, session)
        compacted = [
            event["data"]["how"] for event in await recorded(session) if event["type"] == "compacted"
        ]
    assert (result.text, model.summaries, set(compacted)) == ("done", 0, {"digest"})
    model = Talker()
    (tmp_path / "off").mkdir()
    async with open_planck(tmp_path / "off", model, "off") as app:
        session = await app.start("talk", mode="full")
        await session.run("talk")
        assert "compacted" not in [event["type"] for event in await recorded(session)]
    assert model.summaries == 0


async def test_a_turn_that_waits_for_a_compactor_can_be_interrupted(tmp_path: Path) -> None:
    async with open_planck(tmp_path, Talker(), "hangs") as app:
        session = await app.start("talk", mode="full")
        running = asyncio.create_task(session.run("talk"))
        async with asyncio.timeout(30):
            while not (tmp_path / "work" / "hanging").exists():
                await asyncio.sleep(0.02)
        session.interrupt()
        async with asyncio.timeout(10):
            result = await running
    assert result.status == "interrupted"


async def test_the_user_s_own_compaction_uses_it_too_and_records_what_was_used(tmp_path: Path) -> None:
    model = Talker(steps=6)
    async with open_planck(tmp_path, model, "brief") as app:
        session = await app.start("talk", mode="full")
        await session.run("talk")
        await app.peers.settle()
        done = await session.compact()
        assert done is not None
        assert "messages, the first is" in str(done.messages)
        (fact,) = [event["data"] for event in await recorded(session) if event["type"] == "compacted"]
        assert fact["usage"]["output_tokens"] == 6 * 8_000
    assert model.summaries == 0


@pytest.mark.heavy  # it starts the SDK, a second of processor time each time
async def test_status_and_check_know_compactors_and_tools_of_the_sidecar(tmp_path: Path) -> None:
    bench = Bench(tmp_path, "http://127.0.0.1:9")
    write(bench.work / ".planck" / "sidecar", COMPACTORS)
    team(bench.work / ".planck" / "teams" / "good", "brief", "local")
    team(bench.work / ".planck" / "teams" / "bad", "breif", "local")
    status = await bench.run("sidecar", "status", "--trust")
    assert "    compactor brief" in status.out.splitlines()
    assert "planck__compact" not in status.out
    good = await bench.run("teams", "check", "good", "--trust")
    assert (good.code, good.out.strip()) == (0, "good: OK")
    bad = await bench.run("teams", "check", "bad", "--trust")
    assert bad.code == 1
    assert "orchestrator: unknown compactor 'breif'. Did you mean 'brief'?" in bad.out
