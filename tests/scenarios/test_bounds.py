"""What a team may use comes to an end: messages, money, and a log that another process has taken."""

import asyncio
import os
import re
import shlex
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from pathlib import Path
from typing import Any

import pytest

from planck.llm.provider import Item, ProviderError, Request
from planck.records.events import TextDelta, TurnStatus, UsageDelta
from planck.records.messages import AssistantMessage, StopReason
from planck.records.outcome import Err, ErrorKind
from planck.records.usage import Usage
from planck.store.sqlite.store import SqliteStore
from planck.testing import Say, ScriptedProvider
from tests.budgets import meter
from tests.command import WAIT, Bench, finish, until
from tests.teams import Brains, ask, delegate, facts, open_planck, write_team
from tests.virtual_time import run_virtual
from tests.wire import chat
from tests.wire.known import request
from tests.wire.server import Asked, Reply, WireServer

LEAD, ANN, BOB = (
    {"type": "orchestrator", "name": "lead"},
    {"type": "ann", "name": "ann"},
    {"type": "bob", "name": "bob"},
)
DEEP = {"hops": 100_000, "inbox": 100_000}


def kinds(recorded: list[tuple[str, dict[str, Any]]]) -> set[str]:
    return {data["error"]["kind"] for type, data in recorded if type == "tool_end" and data.get("error")}


def count(recorded: list[tuple[str, dict[str, Any]]], kind: str) -> int:
    return sum(type == "message" and data["kind"] == kind for type, data in recorded)


def twice(name: str) -> Any:
    """Whatever it is told, it gives two tasks to another, and is content once that is refused."""

    def brain(messages: list[dict[str, Any]]) -> Reply:
        refused = messages[-1]["role"] == "tool" and "limit_exceeded" in messages[-1]["content"]
        done = messages[-1]["role"] == "tool" and not refused
        return (
            chat.text("enough")
            if refused or done
            else chat.calls(*(delegate(name, f"{half} {len(messages)}") for half in "ab"))
        )

    return brain


async def test_two_who_delegate_to_each_other_come_to_an_end(tmp_path: Path) -> None:
    """Default limits but for depth and inbox: only the number of messages stops them."""
    brains = Brains({"lead": twice("ann"), "ann": twice("bob"), "bob": twice("ann")})
    async with WireServer(brains) as server, open_planck(tmp_path, server.url, limits=DEEP) as planck:
        session = await planck.start(team=write_team(tmp_path / "team", LEAD, ANN, BOB))
        async with asyncio.timeout(WAIT):
            result = await session.run("go")
        recorded = await facts(session)
    assert result.status is TurnStatus.COMPLETED
    assert (count(recorded, "task"), kinds(recorded)) == (200, {"limit_exceeded"})
    (error, *_) = [data["error"] for type, data in recorded if type == "tool_end" and data.get("error")]
    assert error["details"] == {"pattern": "messages", "limit": 200}
    assert "limits.messages" in error["message"]


async def test_every_message_of_the_user_has_messages_of_its_own_and_reports_are_free(tmp_path: Path) -> None:
    def lead(messages: list[dict[str, Any]]) -> Reply:
        if messages[-1]["content"] in ("one", "two"):
            return chat.calls(*(delegate("bob", str(n)) for n in range(3)))
        return chat.text("noted")

    brains = Brains({"lead": lead, "bob": [chat.text("done")] * 9})
    limits = {"messages": 2}
    async with WireServer(brains) as server, open_planck(tmp_path, server.url, limits=limits) as planck:
        session = await planck.start(team=write_team(tmp_path / "team", LEAD, BOB))
        async with asyncio.timeout(WAIT):
            await session.run("one")
            once = await facts(session)
            await session.run("two")
        recorded = await facts(session)
    assert (count(once, "task"), count(once, "response")) == (2, 2)
    refused = [data for type, data in once if type == "tool_end" and data.get("error")]
    assert [data["error"]["kind"] for data in refused] == ["limit_exceeded"]
    assert (count(recorded, "task"), count(recorded, "response")) == (4, 4)


async def test_the_count_of_messages_survives_a_resume(tmp_path: Path) -> None:
    """One of the receivers is gone by then: its messages count all the same."""
    first = [
        chat.calls(ask("ann"), delegate("bob")),
        chat.calls(("destroy_agent", {"identifier": "ann", "identifier_type": "name"})),
        chat.calls(("bash", {"command": "touch told; sleep 100"})),
    ]
    stalled = Reply([asyncio.Event()])
    brains = Brains({"lead": first, "ann": [chat.text("hm")], "bob": [stalled] * 9})
    limits = {"messages": 3}
    team = write_team(tmp_path / "team", {**LEAD, "tools": ["bash"]}, ANN, BOB)
    async with WireServer(brains) as server, open_planck(tmp_path, server.url, limits=limits) as planck:
        session = await planck.start(team=team)
        running = asyncio.ensure_future(session.run("go"))
        await until(tmp_path / "work" / "told")
        running.cancel()
        await asyncio.wait({running})
        await session.aclose()
        name = session.name
    again = [chat.calls(delegate("bob", "1"), delegate("bob", "2")), *[chat.text("so be it")] * 9]
    brains = Brains({"lead": again, "bob": [chat.text("done")] * 9})
    async with WireServer(brains) as server, open_planck(tmp_path, server.url, limits=limits) as planck:
        session = await planck.resume(name)
        async with asyncio.timeout(WAIT):
            await session.settled()  # bob's report that it was stopped wakes the lead, for the same message
        recorded = await facts(session)
    sent = count(recorded, "task") + count(recorded, "ask")
    assert (sent, "limit_exceeded" in kinds(recorded)) == (3, True)


PRICED = {"id": "dear", "model": "m", "provider": "local", "max_output": 5}
HALF_A_DOLLAR = {"input": 0.0, "output": 100_000.0}
"""For the five tokens of an answer."""


async def test_sixty_four_agents_at_once_do_not_exceed_one_budget(tmp_path: Path) -> None:
    names = [f"w{number}" for number in range(63)]
    brains = Brains(
        {
            "lead": [chat.calls(*map(delegate, names), size=1_000), *[chat.text("noted")] * 100],
            **{name: [chat.text("done")] for name in names},
        }
    )
    members = [LEAD, *({"type": name, "name": name} for name in names)]
    model = {"models": [{**PRICED, "price": HALF_A_DOLLAR}], "default_model": "dear"}
    flags = {**model, "limits": {"live_agents": 64, "total_agents": 64}}
    async with WireServer(brains) as server, open_planck(tmp_path, server.url, **flags) as planck:
        session = await planck.start(team=write_team(tmp_path / "team", *members), max_budget_usd=5.0)
        async with asyncio.timeout(WAIT):
            result = await session.run("go")
        recorded = await facts(session)
    assert result.cost_usd is not None
    assert (len(brains.seen), result.cost_usd) == (10, 5.0)
    assert max(data["spent_usd"] for type, data in recorded if type == "budget") == 5.0
    errors = [data for type, data in recorded if type == "error"]
    assert {error["kind"] for error in errors} == {"budget_exceeded"}
    assert all(error["details"]["asked"] == 0.5 and error["details"]["left"] <= 0.5 for error in errors)


async def test_a_request_that_can_t_fit_does_not_leave_and_says_what_it_asked_for(tmp_path: Path) -> None:
    async with WireServer([chat.text("dear")]) as server:
        model = {"models": [{**PRICED, "price": HALF_A_DOLLAR}], "default_model": "dear"}
        bench = Bench(tmp_path, server.url, **model)
        done = await bench.run("run", "go", "--max-budget-usd", "0.4", "--output-format", "json")
    (error,) = done.result["errors"]
    assert (done.code, done.result["status"], server.asked) == (4, "capped", [])
    assert (error["kind"], error["details"]["asked"], error["details"]["left"]) == (
        "budget_exceeded",
        0.5,
        0.4,
    )


async def test_under_a_budget_every_request_says_how_long_its_answer_may_be(tmp_path: Path) -> None:
    async with WireServer([chat.text("fine")]) as server:
        bench = Bench(tmp_path, server.url)
        model = ("-m", "local/gpt-5", "--output-format", "json")
        done = await bench.run("run", "go", "--max-budget-usd", "1", *model)
        free = await bench.run("run", "go", *model)
    assert (done.code, free.code) == (0, 0), done.err
    limited, unlimited = [asked.json.get("max_tokens") for asked in server.asked]
    assert (limited, unlimited) == (32_000, None)


@pytest.mark.parametrize(
    ("entry", "env", "code"),
    [
        ({"has_api_key": False}, {}, 0),
        ({}, {}, 4),
        ({"identifier": "GATE"}, {"GATE_API_KEY": "k"}, 4),
        ({"headers": {"Authorization": "Bearer k"}}, {}, 4),
    ],
    ids=["keyless", "price unknown", "local with a key", "local with a key in a header"],
)
async def test_a_server_without_keys_is_free_and_an_unknown_price_is_refused(
    tmp_path: Path, entry: dict[str, Any], env: dict[str, str], code: int
) -> None:
    async with WireServer([chat.text("fine")]) as server:
        providers = {"local": {"type": "openai", "base_url": server.url, **entry}}
        bench = Bench(tmp_path, server.url, providers=providers)
        done = await bench.run("run", "go", "--max-budget-usd", "0.1", "--output-format", "json", env=env)
    assert (done.code, len(server.asked), done.result["cost_usd"]) == (code, 1 - code // 4, 0.0)
    if code:
        assert 'Set its `price` in `models` ({"input": USD' in done.result["errors"][-1]["message"]


class Flat:
    """Half a dollar for a call, whatever it uses; nothing for none."""

    def cost_usd(self, usage: Usage) -> float:
        return 0.5 if usage.context_tokens else 0.0


class Slow:
    """Ends as it is told, after a while."""

    def __init__(self, end: str, known: str) -> None:
        self._end = end
        self._known = known

    async def stream(self, request: Request) -> AsyncGenerator[Item, None]:
        await asyncio.sleep(1)
        if self._known == "counted":
            yield UsageDelta(usage=Usage(7))
        if self._known != "nothing":
            yield TextDelta(text="hm")
        await asyncio.sleep(1)
        if self._end == "fails":
            raise ProviderError(ErrorKind.STREAM_CUT, "gone")
        if self._end == "crashes":
            raise ZeroDivisionError
        if self._end == "stalls":
            await asyncio.Event().wait()
        yield AssistantMessage((), "d", "m", StopReason.END, Usage(7, 1))


@pytest.mark.parametrize("end", ["answers", "fails", "crashes", "stalls", "is left"])
@pytest.mark.parametrize("known", ["counted", "heard", "nothing"])
def test_what_was_held_is_given_back_on_every_way_out(end: str, known: str) -> None:
    metered, accounts = meter(Slow(end, known), 1.0, Flat(), max_output=9)
    budget = accounts.run

    async def consume() -> None:
        async with aclosing(metered.stream(request())) as stream:
            async for item in stream:
                if end == "is left" and isinstance(item, TextDelta):
                    return

    async def main() -> None:
        tasks = [asyncio.ensure_future(consume()) for _ in range(64)]
        await asyncio.sleep(0.5)
        assert (budget.held.micro_usd, budget.left()) == (1_000_000, 0.0)
        refused = [task for task in tasks if task.done()]
        assert len(refused) == 62
        assert {str(task.exception())[:15] for task in refused} == {"budget_exceeded"}
        await asyncio.sleep(9)
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)

    run_virtual(main())
    held = (budget.held.micro_usd, budget.spent.micro_usd, budget.left())
    assert held == (0, 1_000_000, 0.0), "both requests had left: nobody knows that they cost nothing"


async def test_an_ask_that_was_answered_at_once_is_not_answered_again(tmp_path: Path) -> None:
    answer = chat.calls(("send_response", {"response": "42"}), ("send_response", {"response": "43"}))
    brains = Brains(
        {"lead": [chat.calls(ask("bob")), chat.text("done")], "bob": [answer, chat.text("I have said it")]}
    )
    async with WireServer(brains) as server, open_planck(tmp_path, server.url) as planck:
        session = await planck.start(team=write_team(tmp_path / "team", LEAD, BOB))
        async with asyncio.timeout(WAIT):
            await session.run("go")
        recorded = await facts(session)
    states = [data["state"] for type, data in recorded if type == "delivery"]
    assert states.count("answered") == 1
    assert [
        data["output"] for type, data in recorded if type == "tool_end" and data["name"] == "ask_agent"
    ] == ["42"]


async def test_a_run_whose_log_was_taken_over_ends_with_its_children_and_says_so(tmp_path: Path) -> None:
    unlike_any_other = f"sleep 1000.{os.getpid()}"
    background = chat.calls(("bash", {"command": unlike_any_other, "background": True}))
    waiting = chat.calls(("bash", {"command": "touch waiting; while [ ! -e go ]; do sleep 0.05; done"}))
    stalled = [Reply([asyncio.Event()])]
    brains = Brains({"lead": [background, chat.calls(delegate("bob")), waiting], "bob": stalled})
    team = write_team(tmp_path / "team", {**LEAD, "tools": ["bash"]}, BOB)
    async with WireServer(brains) as server:
        bench = Bench(tmp_path, server.url)
        args = ("--team", str(team), "--permission-mode", "full", "--output-format", "json")
        process = await bench.start("run", "go", *args)
        assert process.stdin is not None
        process.stdin.close()
        await until(bench.work / "waiting")
        assert is_running(unlike_any_other)
        (path,) = (bench.home / "sessions").glob("*.db")
        store = SqliteStore.open(path, takeover=True)
        (bench.work / "go").touch()
        done = await finish(process)
        store.close()
    assert (done.code, done.result["status"], done.result["exit_code"]) == (5, "failed", 5)
    assert [error["kind"] for error in done.result["errors"]] == ["writer_conflict"]
    async with asyncio.timeout(WAIT):
        while is_running(unlike_any_other):
            await asyncio.sleep(0.01)


def is_running(command: str) -> bool:
    wanted = command.replace(" ", "\0").encode()
    for process in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            if process.read_bytes().startswith(wanted):
                return True
    return False


class ByToken:
    def cost_usd(self, usage: Usage) -> float:
        return (usage.input_tokens + 10 * usage.output_tokens) / 1000


UNCOUNTED = {
    "nothing": Usage(),
    "less than nothing": Usage(-1_000_000, -1_000_000, -1, -1, -1),
    "an answer for less than nothing": Usage(5, -1_000_000),
    "no answer": Usage(5, 0),
    "no request": Usage(0, 5),
    "thoughts alone": Usage(0, 0, 0, 0, 5),
    "thoughts for less than nothing": Usage(5, 5, 0, 0, -1_000_000),
}


@pytest.mark.parametrize("usage", UNCOUNTED.values(), ids=list(UNCOUNTED))
@pytest.mark.parametrize(
    "say",
    [
        {"text": "a long answer " * 20},
        {"thinking": "a long thought " * 20, "text": "short"},
        {"calls": [("write", {"path": "x", "content": "a long file " * 20})]},
    ],
    ids=["text", "thinking", "calls"],
)
async def test_a_budget_ends_whatever_a_provider_counts(usage: Usage, say: dict[str, Any]) -> None:
    model = ScriptedProvider(lambda asked: Say(**say, usage=usage))
    metered, accounts = meter(model, 2.0, ByToken(), max_output=100)
    told: list[Usage] = []

    async def spend() -> None:
        for _ in range(200):
            told.extend([item.usage async for item in metered.stream(request()) if hasattr(item, "usage")])

    with pytest.raises(ProviderError) as caught:
        await spend()
    assert caught.value.err.kind is ErrorKind.BUDGET_EXCEEDED
    assert len(model.asked) < 100
    assert all(one.input_tokens > 0 and one.output_tokens > 0 for one in told)
    paid = ByToken().cost_usd(sum(told, Usage()))
    assert paid == pytest.approx((accounts.run.spent.micro_usd or 0) / 1_000_000), "the log has it too"


async def test_an_answer_that_never_ends_is_paid_for_by_what_was_heard() -> None:
    say = Say(text="many words " * 50, error=Err(ErrorKind.STREAM_CUT, "gone"))
    metered, accounts = meter(ScriptedProvider([say]), 20.0, ByToken(), max_output=100)
    heard: list[Item] = []

    async def listen() -> None:
        async for item in metered.stream(request()):
            heard.append(item)

    with pytest.raises(ProviderError):
        await listen()
    last = heard[-1]
    assert isinstance(last, UsageDelta)
    assert accounts.run.spent.micro_usd == round(ByToken().cost_usd(last.usage) * 1_000_000) > 0


async def test_a_run_ends_by_its_budget_where_the_server_leaves_the_usage_out(tmp_path: Path) -> None:
    def script(asked: Asked) -> Reply:
        reply = chat.calls(("read", {"path": f"file {len(asked.json['messages'])}"}))
        return Reply([piece for piece in reply.pieces if '"prompt_tokens"' not in str(piece)])

    model = {"id": "dear", "model": "m", "provider": "local", "max_output": 100}
    model["price"] = {"input": 1.0, "output": 10.0}
    async with WireServer(script) as server:
        providers = {"local": {"type": "openai", "base_url": server.url, "api_key": "sk-abcdefgh12345678"}}
        settings = {"providers": providers, "models": [model], "default_model": "dear"}
        bench = Bench(tmp_path, server.url, **settings, permissions={"mode": "read-only"})
        limits = ("--max-budget-usd", "0.03", "--max-steps", "60", "--output-format", "json")
        done = await bench.run("run", "go", *limits)
    assert done.code == 4
    assert len(server.asked) < 60
    assert 0.02 < done.result["cost_usd"] < 0.03


@pytest.mark.parametrize(
    ("flag", "amount"), [("--max-budget-usd", "0.01"), ("--max-tokens", "10")], ids=["usd", "tokens"]
)
async def test_what_a_budget_error_says_to_do_next_works_as_it_is_printed(
    tmp_path: Path, flag: str, amount: str
) -> None:
    async with WireServer([chat.text("fine")]) as server:
        dear = {"id": "dear", "model": "m", "provider": "local", "max_output": 100}
        models = [{**dear, "price": {"input": 1, "output": 1000}}]
        bench = Bench(tmp_path, server.url, models=models, default_model="dear")
        refused = await bench.run("run", "go", flag, amount)
        again = await bench.run("run", "-c", "go on", flag, amount)
        found = re.search(r"Resume with: planck (run .*)", refused.err)
        assert found is not None
        (said,) = re.findall(rf"such as ({flag} [\d.]+),", refused.err)
        resumed = await bench.run(*shlex.split(found[1]))
    assert (refused.code, again.code, said in found[1]) == (4, 4, True)
    assert (resumed.code, resumed.out) == (0, "fine\n"), resumed.err
