"""docs/architecture.md against real runs: each hop that it names is taken, in the order of the page."""

import asyncio
import re
import threading
from pathlib import Path
from typing import Any

import pytest

from planck import Planck
from planck.cli.main import main
from planck.llm.provider import Request
from planck.records.approval import Answer, Question
from planck.testing import Say, ScriptedProvider
from tests.command import Bench
from tests.sidecar.bench import TOOLS, write
from tests.teams import write_team
from tests.trace import Hop, Trace
from tests.wire import chat
from tests.wire.server import WireServer

PAGE = Path(__file__).parent.parent / "docs" / "architecture.md"


def documented(title: str) -> list[Hop]:
    """The rows `| n | `file` `function` | … |` of one section."""
    section = re.split(r"^## ", PAGE.read_text(), flags=re.M)
    (text,) = [part for part in section if part.startswith(title)]
    return re.findall(r"^\| \d+ \| `([^`]+)` `([^`]+)` \|", text, flags=re.M)


def check(title: str, trace: Trace) -> None:
    hops = documented(title)
    assert len(hops) >= 5
    assert [hop for hop in hops if hop not in trace.hops] == []
    assert hops == sorted(hops, key=lambda hop: trace.hops[hop])


class Person:
    async def decide(self, question: Question) -> Answer:
        return Answer(question.id, question.digest, True)


def open_planck(folder: Path, script: Any, **options: Any) -> Planck:
    (folder / "work").mkdir(exist_ok=True)
    return Planck(
        home=folder / "home",
        workspace=folder / "work",
        environ={"PATH": "/usr/bin:/bin", "HOME": str(folder)},
        providers={"local": ScriptedProvider(script)},
        **options,
    )


async def run_traced(planck: Planck, trace: Trace, **options: Any) -> None:
    async with planck:
        session = await planck.start(**{"model": "local/m", **options})
        await planck.peers.settle()
        with trace.running():
            result = await session.run("go")
    assert result.text == "done"


BASH: list[Any] = [[("bash", {"command": "true"})], "done"]


def test_the_hops_of_one_prompt_are_those_of_the_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Served([chat.calls(("bash", {"command": "true"})), chat.text("done")]) as url:
        bench = Bench(tmp_path, url)
        monkeypatch.setenv("PLANCK_HOME", str(bench.home))
        monkeypatch.setattr("sys.stdin", None)
        trace = Trace()
        with trace.running():
            assert main(["run", "go", "-C", str(bench.work), "--permission-mode", "full"]) == 0
    check("One prompt", trace)


async def run_a_call(folder: Path, tool: str, args: dict[str, str]) -> Trace:
    """A team of two, whose orchestrator makes one call."""

    def answer(request: Request) -> Say:
        first = len(request.history.messages) == 1 and request.system.endswith("be lead")
        return Say(calls=[(tool, args)]) if first else Say(text="done")

    folder.mkdir()
    team = write_team(
        folder / "team",
        {"type": "orchestrator", "name": "lead", "system_prompt": "be lead"},
        {"type": "worker", "name": "w", "system_prompt": "be w"},
    )
    trace = Trace()
    await run_traced(open_planck(folder, answer), trace, team=team, model="")
    return trace


async def test_the_hops_of_an_ask_are_those_of_the_page(tmp_path: Path) -> None:
    question = {"identifier": "w", "identifier_type": "name", "question": "?"}
    # What a process works out once is known after the first of each, whatever other tests ran before.
    for number in "12":
        listing = await run_a_call(tmp_path / f"a{number}", "list_team", {})
        asking = await run_a_call(tmp_path / f"b{number}", "ask_agent", question)
    check("An ask", asking)
    own = [hop for hop in asking.hops if hop not in listing.hops and "<" not in hop[1]]
    assert len(own) <= 21, " ".join(hop[1] for hop in own)


async def test_the_hops_of_a_permission_are_those_of_the_page(tmp_path: Path) -> None:
    trace = Trace()
    script = [[("bash", {"command": "touch x"})], "done"]
    await run_traced(open_planck(tmp_path, script, approver=Person()), trace, mode="ask")
    check("A permission", trace)


async def test_the_hops_of_a_sidecar_call_are_those_of_the_page(tmp_path: Path) -> None:
    write(tmp_path / "work" / ".planck" / "sidecar", TOOLS)
    trace = Trace()
    script = [[("echo", {"text": "hi"})], "done"]
    await run_traced(open_planck(tmp_path, script, trust=True), trace, mode="full")
    check("A call of a sidecar", trace)


async def test_the_hops_of_a_resume_are_those_of_the_page(tmp_path: Path) -> None:
    trace = Trace()
    async with open_planck(tmp_path, ["done", "done"]) as planck:
        session = await planck.start(model="local/m")
        await session.run("go")
        await session.aclose()
        with trace.running():
            again = await planck.resume(session.id)
            await again.run("go on")
    check("A resume", trace)


async def test_few_calls_point_upward_and_few_files_take_part_in_one_command(tmp_path: Path) -> None:
    # What a process looks up only once is known after the first run, so that no other test has a say in this.
    for trace in (Trace(), Trace()):
        await run_traced(open_planck(tmp_path, BASH), trace, mode="full")
    # Two of them ask, before a turn ends, for what commands in the background have changed.
    assert len(trace.upward) <= 11, sorted(trace.upward)
    assert len(trace.files) <= 80, sorted(trace.files)  # 16 of them record what the command changes


class Served:
    """A wire server in a thread of its own: the main one is the command's."""

    def __init__(self, script: Any) -> None:
        self._script = script
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), daemon=True)

    def __enter__(self) -> str:
        self._thread.start()
        assert self._ready.wait(30)
        return self._url

    def __exit__(self, *why: object) -> None:
        self._loop.call_soon_threadsafe(self._over.set)
        self._thread.join(30)

    async def _serve(self) -> None:
        self._loop, self._over = asyncio.get_running_loop(), asyncio.Event()
        async with WireServer(self._script) as server:
            self._url = server.url
            self._ready.set()
            await self._over.wait()
