"""Processes that die in a fork, an import, a compaction or a paid request.

`python killed_sessions.py WHAT|all COUNT SEED DIR`: a child is killed before its n-th call to the file
system or to SQLite, for COUNT of these, evenly spread, or with 0 for each of them. Then another child looks
at what is left.
"""

import asyncio
import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Coroutine, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

from planck import Planck
from planck.headless.open_session import OpenSession
from planck.llm.provider import Request
from planck.records.amounts import count_micro
from planck.records.events import Event
from planck.records.outcome import ErrorKind, PlanckError
from planck.testing import Say, ScriptedProvider
from tests.budgets import describe_tree, drop_held
from tests.forks import die_at, fork, reap
from tests.teams import delegate, write_team

MODEL = {"id": "dear", "model": "m", "provider": "local", "max_output": 5}
PRICED = {**MODEL, "price": {"input": 0.0, "output": 20_000.0}}
"""Ten cents for the five tokens of an answer."""
DIME = 100_000
LONG = "word_" * 4_000
FLAGS = {
    "models": [PRICED],
    "default_model": "dear",
    "providers": {"local": {"type": "openai", "base_url": "http://127.0.0.1:9"}},
}


def open_planck(folder: Path, script: Any = (), **flags: Any) -> Planck:
    (folder / "work").mkdir(parents=True, exist_ok=True)
    double = ScriptedProvider(script)
    return Planck(
        folder / "home", folder / "work", environ={}, flags={**FLAGS, **flags}, providers={"local": double}
    )


class Killed(NamedTuple):
    """What is killed, what is there before, and who looks at what is left."""

    prepare: Callable[[Path], Coroutine[Any, Any, None]]
    act: Callable[[Path, Callable[[], Any]], Coroutine[Any, Any, None]]
    """Calls the second argument where it may die from."""
    check: Callable[[Path, bool], Coroutine[Any, Any, None]]
    """Is told whether it was done, as far as its caller knows."""


async def make_session(folder: Path) -> None:
    """A session in mode full until its event `at`, and read-only after it; and an export of it."""
    write = [("write", {"path": "a.txt", "content": "a\n"})]
    async with open_planck(folder, [write, "done", "again"]) as planck:
        session = await planck.start(name="s", mode="full")
        await session.run("go")
        at = session.head
        await session.change_mode("read-only")
        await session.run("go on")
        await session.aclose()
        (folder / "export").write_bytes(b"".join(planck.archive.events("s")))
        known = {"at": at, "head": planck.archive.info("s").head, "id": session.id}
    (folder / "known.json").write_text(json.dumps(known))


def read_known(folder: Path) -> dict[str, Any]:
    known: dict[str, Any] = json.loads((folder / "known.json").read_text())
    return known


async def make_fork(folder: Path, begin: Callable[[], Any]) -> None:
    async with open_planck(folder) as planck:
        begin()
        await planck.archive.fork("s", at=read_known(folder)["at"], name="copy", id="f" * 16)


async def check_fork(folder: Path, done: bool) -> None:
    known = read_known(folder)
    async with open_planck(folder, ["yes"]) as planck:
        heads = check_all(planck)
        assert heads.pop("s") == known["head"]
        assert heads.keys() == ({"copy"} if done else heads.keys() & {"copy"})
        if not heads:
            assert (await planck.archive.fork("s", at=known["at"], name="copy", id="f" * 16)).id == "f" * 16
        assert check_all(planck) == {"s": known["head"], "copy": known["at"] + 2}
        events = [*planck.archive.recorded("f" * 16)]
        assert [event.type for event in events[-2:]] == ["forked", "mode_changed"], (
            "never wider than its origin"
        )
        session = await planck.resume("copy")
        assert (await session.run("go")).text == "yes"
        await session.aclose()
    check_files(folder, 2)


async def take_in(folder: Path, begin: Callable[[], Any]) -> None:
    async with open_planck(folder) as planck:
        begin()
        await planck.archive.import_session(folder / "export")


async def forget_session(folder: Path) -> None:
    """As `make_session`, and what it exported is all that is left; and somebody else's session."""
    await make_session(folder)
    async with open_planck(folder, ["yes"]) as planck:
        planck.archive.delete("s")
        session = await planck.start(name="other", mode="full")
        await session.run("go")
        await session.aclose()
        known = {**read_known(folder), "other": planck.archive.info("other").head}
    (folder / "known.json").write_text(json.dumps(known))


async def check_import(folder: Path, done: bool) -> None:
    known = read_known(folder)
    both = {"other": known["other"], "s": known["head"]}
    async with open_planck(folder, ["yes", "yes"]) as planck:
        found = check_all(planck)
        assert found == (both if done or "s" in found else {"other": known["other"]})
        if "s" in found:
            taken = False
            try:
                await planck.start(name="s")
            except PlanckError as refused:
                taken = refused.err.kind is ErrorKind.NOT_UNIQUE
            assert taken, "the name of an imported session was given away"
            planck.archive.delete("s")
        await planck.archive.import_session(folder / "export")
        assert check_all(planck) == both
        assert b"".join(planck.archive.events("s")) == (folder / "export").read_bytes()
        session = await planck.resume("s")
        assert (await session.run("go")).text == "yes"
        await session.aclose()
    check_files(folder, 2)


def check_all(planck: Planck) -> dict[str, int]:
    """Returns what is listed, by name its number of events; each says the same to everybody who asks."""
    archive, heads = planck.archive, dict[str, int]()
    for info in archive.sessions():
        assert not info.problem
        assert info.name not in heads, f"{info.name} is listed twice"
        heads[info.name] = info.head
        assert archive.info(info.name).id == archive.info(info.id).id == info.id
        assert archive.verify_session(info.id).events == info.head
        assert archive.find_loss(info.id) is None
        assert sum(b'"seq":null' not in line for line in archive.events(info.id)) == info.head
        assert archive.detail(info.id).info.head == info.head
    return heads


def check_files(folder: Path, count: int) -> None:
    """Each log has its lock file, and nothing else is left."""
    left = sorted(path.name for path in (folder / "home" / "sessions").iterdir())
    logs = [name for name in left if name.endswith(".db")]
    beside = ("", ".lock", "-wal", "-shm")  # a reader leaves an empty WAL
    known = {*(f"{name}{suffix}" for name in logs for suffix in beside), "index", "listing.json"}
    assert len(logs) == count, left
    assert {*left} <= known, f"{ {*left} - known } are left"


async def make_long(folder: Path) -> None:
    async with open_planck(folder, [LONG] * 4) as planck:
        session = await planck.start(name="s", model="local/m")
        for number in range(4):
            await session.run(f"say it {number}")
        await session.aclose()
        (folder / "known.json").write_text(json.dumps({"head": planck.archive.info("s").head}))


async def compact(folder: Path, begin: Callable[[], Any]) -> None:
    async with open_planck(folder, ["A summary."]) as planck:
        begin()
        session = await planck.resume("s")
        assert await session.compact()
        await session.aclose()


async def check_compaction(folder: Path, done: bool) -> None:
    asked: list[Request] = []

    def answer(request: Request) -> Say:
        asked.append(request)
        return Say(text="yes")

    async with open_planck(folder, answer) as planck:
        check_all(planck)
        events = [event.type for event in planck.archive.recorded(planck.archive.info("s").id)]
        made = events.count("compacted")
        assert made == 1 if done else made <= 1
        assert events[: read_known(folder)["head"]].count("compacted") == 0
        paid = events[read_known(folder)["head"] :].count("usage")
        assert paid == made, "a summary is paid for once, and in the commit that has it"
        session = await planck.resume("s")
        assert len(asked) == 0, "a resume asks nobody again"
        assert (await session.run("and now?")).text == "yes"
        shown = str(asked[0].history.messages)
        assert (shown.count(LONG) < 4) == made, "the history is the old one, or the new one"
        assert "say it 3" in shown
        assert len(asked) == 1
        await session.aclose()
        check_all(planck)
    check_files(folder, 1)


BUDGET = {"usd": 6, "calls": 60}
QUOTAS = {"local": {"usd_per_day": 50}}


class Answers:
    """Two of each agent; the second of the lead is on its way, with its hold, until its worker is done."""

    def __init__(self) -> None:
        self._loan = ("delegate_task", {**delegate("bob")[1], "budget": {"usd": 0.5}})
        self._asked = Counter[str]()
        self.worker_done = asyncio.Event()
        self.begun = asyncio.Event()
        self.begun.set()

    async def __call__(self, request: Request) -> Say:
        name = "lead" if "You are lead," in request.system else "bob"
        self._asked[name] += 1
        await self.begun.wait()
        if self._asked[name] == 1:
            return Say(calls=[self._loan if name == "lead" else ("list_dir", {})])
        if name == "lead":
            await self.worker_done.wait()
        return Say(text=f"{name} is done")

    def on_commit(self, events: Sequence[Event], lead: str) -> None:
        if any(event.type == "turn_end" and event.agent_id != lead for event in events):
            self.worker_done.set()


class Teller:
    """Says after each commit, before anything else happens, what the accounts are."""

    def __init__(self, session: OpenSession, answers: Answers, told: int) -> None:
        self._session = session
        self._answers = answers
        self._told = told

    def on_commit(self, events: Sequence[Event]) -> None:
        session = self._session
        session._log.journal.on_commit(events)
        self._answers.on_commit(events, session.orchestrator.id)
        line = {"seq": events[-1].seq, "accounts": describe_accounts(session)}
        os.write(self._told, f"{json.dumps(line)}\n".encode())


def describe_accounts(session: OpenSession) -> dict[str, list[Any]]:
    """By account its lender, its limit, and what was spent and lent of it in USD; as JSON has it."""
    tree = describe_tree(drop_held(session._team.accounts))
    sums: Any = {id: (account if id != "session" else ("", "", account, {})) for id, account in tree.items()}
    return {
        id: [lender, str(limit), spent.get(0, 0), lent.get(0, 0)]
        for id, (lender, limit, spent, lent, *_) in sums.items()
    }


def end_loans(accounts: dict[str, list[Any]], ended: set[str]) -> dict[str, list[Any]]:
    """Gives back what was left of loans that the resume ended."""
    for id in ended:
        lender, limit, spent, _ = accounts.pop(id)
        accounts[lender][3] -= int(re.findall(r"micro_usd=(\d+)", limit)[0]) - spent
    return accounts


async def make_team(folder: Path) -> None:
    (folder / "work").mkdir(parents=True)
    lead = {"type": "orchestrator", "name": "lead", "tools": ["list_dir"]}
    bob = {"type": "bob", "name": "bob", "tools": ["list_dir"], "budget": {"usd": 1.0}}
    write_team(folder / "team", lead, bob)


async def spend(folder: Path, begin: Callable[[], Any]) -> None:
    answers = Answers()
    told = os.open(folder / "told", os.O_CREAT | os.O_WRONLY | os.O_APPEND)
    async with open_planck(folder, answers, budget=BUDGET, quotas=QUOTAS) as planck:
        begin()
        session = await planck.start(team=str(folder / "team"), name="s", mode="full")
        session._log.store.watch(Teller(session, answers, told))
        await session.prompt("go")
        await session.settled()
        await session.aclose()


async def check_spending(folder: Path, done: bool) -> None:
    answers = Answers()
    answers.worker_done.set()
    answers.begun.clear()
    lines = [json.loads(line) for line in (folder / "told").read_text().splitlines()]
    told = {line["seq"]: line["accounts"] for line in lines}
    async with open_planck(folder, answers, budget=BUDGET, quotas=QUOTAS) as planck:
        heads = check_all(planck)
        assert heads.get("s", 0) >= max(told, default=0), "what was committed is there"
        if not heads:
            return
        before = [*planck.archive.recorded(planck.archive.info("s").id)]
        session = await planck.resume("s", mode="full")
        now, known = describe_accounts(session), told.get(len(before))
        told_after = [json.loads(bytes(event.data)) for event in session.recorded(len(before))]
        ended = {data["account"] for data in told_after if data.get("why") == "returned"}
        assert known is None or now == end_loans(known, ended), "a resume widens no budget and narrows none"
        answers.begun.set()
        await session.go_on()
        await session.settled()
        events = [*session.recorded()]
        started = [json.loads(bytes(event.data))["id"] for event in events if event.type == "tool_start"]
        assert len({*started}) == len(started), "nothing runs twice"
        paid = [json.loads(bytes(event.data)).get("cost_usd") for event in events if event.type == "usage"]
        spent = session._team.accounts.session.spent.micro_usd
        assert spent == sum(count_micro(cost or 0) for cost in paid), "each answer is counted once"
        await session.aclose()
        check_all(planck)
    check_quota(folder, spent or 0)
    check_files(folder, 1)


def check_quota(folder: Path, spent: int) -> None:
    """What the sessions spent is in it, and at most the one answer that no log has; nothing stays held."""
    (file,) = (folder / "home").glob("quotas*.db")
    with closing(sqlite3.connect(file)) as database:
        ((counted, lost),) = database.execute("SELECT SUM(micro_usd), SUM(lost_usd) FROM days").fetchall()
        assert database.execute("SELECT COUNT(*) FROM holds").fetchone() == (0,)
    assert 0 <= counted - spent <= 2 * DIME, (counted, spent)
    assert lost <= 2 * DIME, "at most two requests were on their way"


WORK = {
    "budget": Killed(make_team, spend, check_spending),
    "fork": Killed(make_session, make_fork, check_fork),
    "import": Killed(forget_session, take_in, check_import),
    "compaction": Killed(make_long, compact, check_compaction),
}


async def act_and_die(killed: Killed, folder: Path, at: int) -> None:
    begun: list[Callable[[], int]] = []
    await killed.act(folder, lambda: begun.append(die_at(at, statements=True)))
    (folder.parent / "calls").write_text(str(begun[0]()))
    os._exit(3)


def kills(killed: Killed, count: int, folder: Path) -> dict[str, int]:
    made, place = folder / "made", folder / "place"
    reap(fork(killed.prepare(place)))
    os.rename(place, made)

    failed: list[int] = []

    def kill(at: int) -> bool:
        subprocess.run(["cp", "-a", made, place], check=True)
        code = reap(fork(act_and_die(killed, place, at)), 3, -signal.SIGKILL)
        print(f"killed before call {at}", file=sys.stderr)
        if (at or not count) and reap(fork(killed.check(place, code == 3)), 0, 1):
            failed.append(at)
        shutil.rmtree(place)
        return code != 3

    assert not kill(0)
    calls = int((folder / "calls").read_text())
    late = calls * 7 // 8  # where most is done, and not yet all
    places = range(1, calls + 1) if not count else [late - late * n // count for n in range(count)]
    total = sum(kill(at) for at in places)
    shutil.rmtree(made)
    assert not failed, f"killed at {total} of {calls} calls; something is wrong after those before {failed}"
    return {"killed": total, "calls": calls}


if __name__ == "__main__":
    _, what, count, _, folder = sys.argv
    counted = [kills(WORK[one], int(count), Path(folder)) for one in (WORK if what == "all" else [what])]
    print(json.dumps({key: sum(one[key] for one in counted) for key in ("killed", "calls")}))
