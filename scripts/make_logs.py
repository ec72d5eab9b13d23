"""Plays small sessions for real and keeps their logs as fixtures of the board: tests/logs/*.ndjson, *.json.

    python scripts/make_logs.py             the boards again, from the logs that are there
    python scripts/make_logs.py NAME ...    these logs again, too (`all`: every one)

The model is scripted; team, log, tools and permissions are the real ones. A name with a cut is a prefix: what
a reader sees while the session runs. Look at the diff of a board before you keep it: it is what every
frontend will show.
"""

import asyncio
import json
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Awaitable, Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from planck import Planck
from planck.headless import OpenSession
from planck.llm.provider import Request
from planck.records import codec
from planck.records.approval import Answer, Question
from planck.records.board import fold_events
from planck.records.events import Event
from planck.records.outcome import Err, ErrorKind
from planck.records.usage import Usage
from planck.session.undo import Selection
from planck.testing.scripted import Say, Scripted, ScriptedProvider

LOGS = Path(__file__).parents[1] / "tests" / "logs"

MODEL = "gpt-5"
"""The catalog knows its price and its window; nobody calls it."""

Frames = list[dict[str, Any]]


class Stage:
    """A home, a workspace and a team whose members say what their script has for them."""

    def __init__(self, folder: Path, scripts: dict[str, Sequence[Scripted | Callable[[], Scripted]]]) -> None:
        self.folder = folder
        self.release = asyncio.Event()
        self.yes = True
        self._scripts = {name: list(script) for name, script in scripts.items()}
        (folder / "work").mkdir(exist_ok=True)
        self.planck = Planck(
            folder / "home",
            folder / "work",
            environ={"PATH": "/usr/bin:/bin"},
            flags={"providers": {"double": {"type": "openai", "base_url": "http://127.0.0.1:9"}}},
            providers={"double": ScriptedProvider(self._say)},
            approver=self,
        )

    async def start(self, *members: str, mode: str = "full", **limits: Any) -> OpenSession:
        team = self.folder / "team"
        team.mkdir(exist_ok=True)
        rows = [
            {
                "type": name if number else "orchestrator",
                "name": name,
                "provider": "double",
                "model_id": MODEL,
                "tools": ["read", "write", "edit", "bash", "list_dir", "update_plan"],
            }
            for number, name in enumerate(("lead", *members))
        ]
        (team / "TEAM.json").write_text(json.dumps({"name": "team", "members": rows}))
        return await self.planck.start(str(team), mode=mode, name="fixture", **limits)

    async def decide(self, question: Question) -> Answer:
        return Answer(question.id, question.digest, self.yes)

    def frames(self, name: str = "fixture") -> Frames:
        lines = [json.loads(line) for line in self.planck.archive.events(name)]
        return [line for line in lines if line["seq"] is not None]

    def _say(self, request: Request) -> Scripted:
        name = next(
            (
                one
                for one in self._scripts
                if f"You are {one}," in request.system or f"Be {one}." in request.system
            ),
            "",
        )
        script = self._scripts.get(name, [])
        said = script.pop(0) if script else f"{name} is done"
        return said() if callable(said) else said


def ask(name: str, **more: Any) -> tuple[str, dict[str, Any]]:
    return "ask_agent", {"identifier": name, "identifier_type": "name", "question": f"{name}?", **more}


def delegate(name: str) -> tuple[str, dict[str, Any]]:
    return "delegate_task", {"identifier": name, "identifier_type": "name", "task": f"work, {name}"}


def at(name: str, tool: str) -> tuple[str, dict[str, Any]]:
    return tool, {"identifier": name, "identifier_type": "name"}


async def solo(folder: Path) -> Frames:
    stage = Stage(folder, {"lead": [[("list_dir", {"path": "."}), ("no_such_tool", {})], "All is well."]})
    async with stage.planck:
        await (await stage.start()).run("Look around.")
    return stage.frames()


async def answered_ask(folder: Path) -> Frames:
    stage = Stage(folder, {"lead": [[ask("bob")], "Bob says 42."], "bob": ["42"]})
    async with stage.planck:
        await (await stage.start("bob")).run("Ask bob.")
    return stage.frames()


async def two_asks(folder: Path) -> Frames:
    """One step asks two agents, and one has answered."""
    stage = Stage(folder, {"lead": [[ask("bob"), ask("tess")]], "tess": ["green"]})
    stage._scripts["bob"] = [Say(text="blue", wait=stage.release)]
    async with stage.planck:
        session = await stage.start("bob", "tess")
        running = asyncio.ensure_future(session.run("Ask both."))
        await _see(session, "delivery", state="answered")
        frames = stage.frames()
        stage.release.set()
        await running
    return frames


async def without_causes(folder: Path) -> Frames:
    """The same as a version before waits had a `call_id` would have recorded it."""
    return _drop_causes(await two_asks(folder))


async def rest_of_two_asks(folder: Path) -> Frames:
    """Both were answered; the log has no cause of a wait, and says so by the ends of the calls."""
    stage = Stage(folder, {"lead": [[ask("bob"), ask("tess")], "Blue, green."], "bob": ["blue"]})
    async with stage.planck:
        await (await stage.start("bob", "tess")).run("Ask both.")
    return _drop_causes(stage.frames())


async def timed_out_ask(folder: Path) -> Frames:
    """The second of two asks ran out of time; the first is still waited for."""
    stage = Stage(folder, {"lead": [[ask("bob"), ask("tess", timeout_ms=50)], "One did not answer."]})
    stage._scripts["bob"] = [Say(text="blue", wait=stage.release)]
    stage._scripts["tess"] = [Say(text="late", wait=stage.release)]
    async with stage.planck:
        session = await stage.start("bob", "tess")
        running = asyncio.ensure_future(session.run("Ask both."))
        await _see(session, "turn_start", times=3)
        await asyncio.sleep(0.3)
        stage.release.set()
        await running
    return stage.frames()


async def timed_out_now(folder: Path) -> Frames:
    """The only ask ran out of time while it was worked on, in a log whose waits do not name their call."""
    stage = Stage(folder, {"lead": [[ask("tess", timeout_ms=50)], "No answer."]})
    stage._scripts["tess"] = [Say(text="late", wait=stage.release)]
    async with stage.planck:
        session = await stage.start("tess")
        running = asyncio.ensure_future(session.run("Ask."))
        await _see(session, "tool_end")
        frames = _cut(_drop_causes(stage.frames()), "tool_end")
        stage.release.set()
        await running
    return frames


async def delegation(folder: Path) -> Frames:
    scripts: dict[str, Any] = {"lead": [[delegate("bob")], "Given away.", "Bob is done."]}
    stage = Stage(folder, {**scripts, "bob": [[("list_dir", {})], "I did it."]})
    async with stage.planck:
        await (await stage.start("bob")).run("Let bob do it.")
    return stage.frames()


async def open_task(folder: Path) -> Frames:
    frames = await delegation(folder)
    return _cut(frames, "tool_start", name="list_dir")


async def spawned_and_destroyed(folder: Path) -> Frames:
    spawn = {
        "type": "eve",
        "name": "eve",
        "description": "helps",
        "system_prompt": "Be eve.",
        "provider": "double",
        "model_id": MODEL,
        "base_url": "",
    }
    stage = Stage(
        folder, {"lead": [[("spawn_agent", spawn)], [delegate("eve")], [at("eve", "destroy_agent")]]}
    )
    stage._scripts["eve"] = [Say(text="never", wait=stage.release)]
    async with stage.planck:
        await (await stage.start("bob")).run("Get help, then do without.")
    return stage.frames()


async def interrupted(folder: Path) -> Frames:
    stage = Stage(folder, {"lead": [[ask("bob"), ("bash", {"command": "sleep 600"})]]})
    stage._scripts["bob"] = [Say(text="never", wait=stage.release)]
    async with stage.planck:
        session = await stage.start("bob")
        running = asyncio.ensure_future(session.run("Wait."))
        await _see(session, "turn_start", times=2)
        session.interrupt()
        await running
    return stage.frames()


async def stopping(folder: Path) -> Frames:
    return _cut(await interrupted(folder), "control", last=True)


async def halted_with_mail(folder: Path) -> Frames:
    stage = Stage(folder, {"lead": [Say(text="never", wait=asyncio.Event())]})
    async with stage.planck:
        session = await stage.start()
        await session.prompt("First.")
        await session.prompt("Second.")
        await _see(session, "turn_start")
        await session.stop()
    return stage.frames()


async def permissions(folder: Path) -> Frames:
    writes = [[("write", {"path": f"{n}.txt", "content": "x"})] for n in range(2)]
    stage = Stage(folder, {"lead": [writes[0], writes[1], "One of two."]})

    async def decide(question: Question) -> Answer:
        stage.yes = not stage.yes
        return Answer(question.id, question.digest, stage.yes)

    stage.decide = decide  # type: ignore[method-assign]
    async with stage.planck:
        await (await stage.start(mode="ask")).run("Write.")
    return stage.frames()


async def open_question(folder: Path) -> Frames:
    return _cut(await permissions(folder), "permission_request")


async def model_errors(folder: Path) -> Frames:
    """Each ends its turn; what went well in between leaves no error."""
    stage = Stage(
        folder,
        {
            "lead": [
                Say(text="half a", error=Err(ErrorKind.STREAM_CUT, "the stream was cut")),
                "It went well.",
                Err(ErrorKind.MODEL_NOT_SUPPORTED, "no such model"),
            ]
        },
    )
    async with stage.planck:
        session = await stage.start()
        await session.run("Try.")
        await session.run("Again.")
        await session.run("And again.")
    return stage.frames()


async def compaction(folder: Path) -> Frames:
    def read(tokens: int) -> Say:
        return Say(calls=[("read", {"path": "big.txt"})], usage=Usage(input_tokens=tokens, output_tokens=20))

    script = [read(9_000), "one", read(50_000), "two", read(120_000), "a summary", "three", "four"]
    stage = Stage(folder, {"lead": script})
    (folder / "work" / "big.txt").write_text("a line of text\n" * 200)
    async with stage.planck:
        session = await stage.start()
        for number in ("One.", "Two.", "Three."):
            await session.run(number)
        await session.run("Four.")
    return stage.frames()


async def compacted_now(folder: Path) -> Frames:
    return _cut(await compaction(folder), "compacted")


async def killed(folder: Path) -> Frames:
    """Cut off by `kill -9` with an ask, a command and a task in flight."""
    pid = os.fork()
    if pid == 0:
        asyncio.run(_die(folder))
        os._exit(1)
    await asyncio.to_thread(os.waitpid, pid, 0)
    return Stage(folder, {}).frames()


async def resumed(folder: Path) -> Frames:
    await killed(folder)
    stage = Stage(folder, {"lead": ["I see what was cut."]})
    async with stage.planck:
        await (await stage.planck.resume("fixture")).run("Go on.")
    return stage.frames()


async def just_resumed(folder: Path) -> Frames:
    return _cut(await resumed(folder), "session_resumed")


async def _die(folder: Path) -> None:
    stage = Stage(folder, {"lead": [[delegate("eve"), ask("bob"), ("bash", {"command": "sleep 600"})]]})

    def die() -> Scripted:
        asyncio.get_running_loop().call_later(0.5, os.kill, os.getpid(), signal.SIGKILL)
        return Say(text="never", wait=stage.release)

    stage._scripts["bob"] = [die]
    stage._scripts["eve"] = [Say(text="never", wait=stage.release)]
    async with stage.planck:
        await (await stage.start("bob", "eve")).run("Go.")


async def forked_and_rewound(folder: Path) -> Frames:
    stage = Stage(folder, {"lead": [[("list_dir", {})], "First.", "Second.", "Third, elsewhere."]})
    async with stage.planck:
        session = await stage.start()
        await session.run("One.")
        head = session.head
        await session.run("Two.")
        assert await session.rewind(head) is None
    await stage.planck.archive.fork("fixture", name="fork")
    again = Stage(folder, {"lead": ["Third, elsewhere."]})
    async with again.planck:
        await (await again.planck.resume("fork")).run("Three.")
    return again.frames("fork")


async def budget(folder: Path) -> Frames:
    stage = Stage(folder, {"lead": [[("list_dir", {})]] * 9})
    async with stage.planck:
        await (await stage.start(max_budget_usd=0.0002)).run("Spend.")
    return stage.frames()


async def changed_by_the_user(folder: Path) -> Frames:
    """Between turns and without one: another name, another mode; and a loan that comes back."""
    loan = {"identifier": "bob", "identifier_type": "name", "task": "Look.", "budget": {"usd": 1}}
    stage = Stage(folder, {"lead": [[("delegate_task", loan)], "Waiting.", "Good."], "bob": ["Seen."]})
    async with stage.planck:
        session = await stage.start("bob", mode="ask", max_budget_usd=5.0)
        await session.rename("calm-fox")
        await session.change_mode("full")
        await session.run("Look.")
    return stage.frames("calm-fox")


async def plan(folder: Path) -> Frames:
    steps = ["find the cause", "mend it", "check"]

    def step(done: int) -> list[tuple[str, Any]]:
        marks = ["completed"] * done + ["in_progress"] + ["pending"] * 3
        plan = [{"text": text, "status": mark} for text, mark in zip(steps, marks, strict=False)]
        return [("update_plan", {"steps": plan})]

    wrong = [("update_plan", {"steps": [{"text": "x", "status": "perhaps"}]})]
    stage = Stage(folder, {"lead": [step(0), step(1), wrong, "Half of it."]})
    async with stage.planck:
        await (await stage.start()).run("Plan.")
    return stage.frames()


async def file_changes(folder: Path) -> Frames:
    edit = {"path": "a.txt", "old_string": "one", "new_string": "two"}
    stage = Stage(
        folder,
        {
            "lead": [
                [
                    ("write", {"path": "a.txt", "content": "one\n"}),
                    ("write", {"path": "b.txt", "content": "b\n"}),
                ],
                [("edit", edit)],
                "Written.",
            ]
        },
    )
    async with stage.planck:
        session = await stage.start()
        await session.run("Write.")
        await session.undo(session.undo_plan(Selection()))
    return stage.frames()


async def unknown_things(folder: Path) -> Frames:
    """What a later version may record, a delta, and data that is no object of that type."""
    frames = await solo(folder)
    for frame in frames:
        frame["data"]["a_later_field"] = {"deep": [1, 2]}
    last = frames[-1]
    more = [
        {**last, "type": "a_later_type", "data": {"agent": "x"}},
        {**last, "type": "turn_start", "data": {"message_id": 7}},
        {**last, "type": "wait", "data": {}},
        {
            **last,
            "type": "tool_start",
            "agent_id": "nobody",
            "data": {"id": "x", "name": "bash", "args": "{"},
        },
    ]
    for number, frame in enumerate(more, len(frames) + 1):
        frame["seq"] = number
    delta = {**last, "seq": None, "type": "text_delta", "data": {"text": "hm"}}
    return [*frames, delta, *more]


async def log_of_yesterday(folder: Path) -> Frames:
    """What 938a6d7 recorded, before causes and options: see tests/logs/old."""
    (log,) = (LOGS / "old").glob("*.ndjson")
    frames = [json.loads(line) for line in log.read_text().splitlines()]
    return [frame for frame in frames if frame["seq"] is not None]


PLAYS: dict[str, Callable[[Path], Awaitable[Frames]]] = {
    "solo": solo,
    "ask": answered_ask,
    "two-asks-one-answered": two_asks,
    "two-asks-without-causes": without_causes,
    "two-asks-over-without-causes": rest_of_two_asks,
    "ask-timed-out": timed_out_ask,
    "ask-timed-out-without-causes": timed_out_now,
    "delegation": delegation,
    "open-task": open_task,
    "spawned-and-destroyed": spawned_and_destroyed,
    "interrupted": interrupted,
    "stopping": stopping,
    "halted-with-mail": halted_with_mail,
    "permissions": permissions,
    "open-question": open_question,
    "model-errors": model_errors,
    "compaction": compaction,
    "compacted-now": compacted_now,
    "killed": killed,
    "just-resumed": just_resumed,
    "resumed": resumed,
    "forked-and-rewound": forked_and_rewound,
    "budget": budget,
    "changed-by-the-user": changed_by_the_user,
    "plan": plan,
    "file-changes": file_changes,
    "unknown-things": unknown_things,
    "old-fox": log_of_yesterday,
}


async def _see(session: OpenSession, type: str, *, times: int = 1, **data: Any) -> None:
    """Returns once that was recorded."""
    async for event in session.events():
        if event.type == type and data.items() <= event.data.items():
            times -= 1
            if not times:
                return


def _drop_causes(frames: Frames) -> Frames:
    for frame in frames:
        for key in ("call_id", "root", "origin", "options", "system", "tools"):
            frame["data"].pop(key, None)
    return frames


def _cut(frames: Frames, type: str, *, last: bool = False, **data: Any) -> Frames:
    """Returns the log up to the first (or last) of these: all that a reader saw at that moment."""
    found = [
        number
        for number, frame in enumerate(frames, 1)
        if frame["type"] == type and data.items() <= frame["data"].items()
    ]
    return frames[: found[-1 if last else 0]]


def read_events(lines: Iterable[bytes]) -> list[Event]:
    return [codec.decode_as(line, Event) for line in lines if line.strip()]


def main(names: Sequence[str]) -> None:
    for name in PLAYS if "all" in names else names:
        folder = Path(tempfile.mkdtemp(prefix="planck-log-"))
        try:
            frames = asyncio.run(PLAYS[name](folder))  # type: ignore[arg-type]
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        lines = [json.dumps(frame, ensure_ascii=False, separators=(",", ":")) for frame in frames]
        text = "\n".join(lines).replace(str(folder), "/tmp/planck-log") + "\n"
        (LOGS / f"{name}.ndjson").write_text(text)
        print(f"{name}: {len(frames)} events")
    for log in sorted(LOGS.glob("*.ndjson")):
        board = fold_events(read_events(log.read_bytes().splitlines()))
        text = msgspec.json.format(codec.encode(board), indent=1).decode()
        log.with_suffix(".json").write_text(text + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
