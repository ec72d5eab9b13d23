"""The verdicts on claims and the freshness of commands, on random logs, against an oracle that reads them
as a person would: event by event, with its own lists of what each command does."""

import random
from typing import Any

import msgspec
import pytest

from planck.records import codec
from planck.records.events import Claim, Event
from planck.session.proof.fold import ProofFold

COMMANDS = {
    # (may write, its exit code is its own)
    "pytest -q": (True, True),
    " pytest -q ": (True, True),
    "pytest -q | tail": (True, False),
    "pytest -q || true": (True, False),
    "make lint": (True, True),
    "ls": (False, True),
    "cat a.py": (False, True),
    "git status": (False, True),
}
AGENTS = {"a": "", "b": "sub"}
RUN_FROM = {"a": ".", "b": "sub"}


class Log:
    def __init__(self, choose: random.Random) -> None:
        self.choose = choose
        self.rows: list[tuple[str, str | None, dict[str, Any]]] = []
        self.open: dict[str, tuple[str, dict[str, Any]]] = {}

    def add(self, type: str, agent: str | None, /, **data: Any) -> None:
        self.rows.append((type, agent, data))

    def step(self) -> None:
        choose = self.choose
        agent = choose.choice([*AGENTS])
        what = choose.randrange(10)
        if what < 3:
            id = f"c{len(self.rows)}"
            args: dict[str, Any] = {"command": choose.choice([*COMMANDS])}
            if choose.random() < 0.2:
                args["cwd"] = choose.choice([".", "sub", "./sub", "sub/"])
            if choose.random() < 0.05:
                args["background"] = True
            self.open[id] = (agent, args)
            self.add("tool_start", agent, id=id, name="bash", args=args)
            if choose.random() < 0.2:
                self.add(
                    "permission_decision",
                    agent,
                    call_id=id,
                    tool="bash",
                    decision=choose.choice(["allow", "deny"]),
                    reason="",
                )
        elif what < 6 and self.open:
            id = choose.choice([*self.open])
            owner, args = self.open.pop(id)
            if choose.random() < 0.3:
                seen = choose.choice([{}, {}, {"partial": True}, {"running": True}])
                self.add("command_recorded", owner, call_id=id, **seen)
            self.end(owner, id, bool(args.get("background")))
        elif what < 7:
            call = choose.choice([*self.open, f"e{len(self.rows)}"])
            path = choose.choice(["a.py", "b.py", "doc.md"])
            more = {"image": "x"} if choose.random() < 0.2 else {}
            data = {"path": path, "before": None, "mode": None, "after_sha256": "00", **more}
            self.add("file_changed", agent, call_id=call, **data)
        elif what < 8:
            self.check()
        elif choose.random() < 0.2:
            mode = choose.choice(["ask", "workspace", "read-only"])
            self.add("mode_changed", None, mode=mode, before="full")
        elif what < 9:
            kind = choose.choice(["task", "prompt", "ask", "response"])
            self.add("turn_start", agent, kind=kind, message_id="m")
        else:
            self.add("turn_end", agent, status="completed", text="", usage={})

    def end(self, owner: str, id: str, background: bool) -> None:
        how = self.choose.randrange(8)
        data: dict[str, Any] = {"ok": True, "exit_code": self.choose.choice([0, 0, 0, 1, 2])}
        if background or how == 0:  # started only, or planned in a dry run
            data = {"ok": True, "exit_code": None}
        elif how == 1:
            kind = self.choose.choice(["timeout", "interrupted", "permission_denied"])
            data = {"ok": False, "error": {"kind": kind, "message": "", "details": {}}, "exit_code": None}
        self.add("tool_end", owner, id=id, name="bash", output="", duration_ms=1, **data)

    def check(self) -> None:
        code: int | None = self.choose.choice([0, 0, 1, None])
        after = len(self.rows)
        if self.choose.random() < 0.5:  # what a check changes makes nothing stale
            made = {"path": "c.py", "before": None, "mode": None, "after_sha256": "00"}
            self.add("file_changed", "a", call_id=f"k{after}", **made)
        data: dict[str, Any] = {"id": f"k{after}", "scope": "run", "command": "pytest -q", "exit_code": code}
        self.add("checked", None, **data, ok=code == 0, attempt=1, duration_ms=1, output="", after=after)

    def fold(self) -> ProofFold:
        fold = ProofFold()
        for seq, (type, agent, data) in enumerate(self.rows, 1):
            fold.add(Event(seq, "", agent, 1, type, msgspec.Raw(codec.encode(data))))
        return fold


class Oracle:
    """What the log says, looked up anew for each question."""

    def __init__(self, log: Log) -> None:
        self.rows = [(seq, *row) for seq, row in enumerate(log.rows, 1)]
        self.runs = [run for run in map(self.read_run, self.rows) if run]

    def read_run(self, row: tuple[int, str, str | None, dict[str, Any]]) -> dict[str, Any] | None:
        seq, type, agent, data = row
        if type == "checked":
            run = {"id": data["id"], "command": data["command"], "folder": ".", "code": data["exit_code"]}
            return {**run, "start": data["after"], "end": seq, "agent": None}
        if type != "tool_end" or not self.ran(data):
            return None
        start, args = self.start_of(data["id"])
        if args.get("background"):
            return None
        folder = args["cwd"].strip("/").removeprefix("./") if "cwd" in args else RUN_FROM[agent or ""]
        run = {"id": data["id"], "command": args["command"], "folder": folder or ".", "agent": agent}
        return {**run, "code": data["exit_code"], "start": start, "end": seq}

    def start_of(self, id: str) -> tuple[int, dict[str, Any]]:
        return next((s, d["args"]) for s, type, _, d in self.rows if type == "tool_start" and d["id"] == id)

    def ran(self, end: dict[str, Any]) -> bool:
        if end.get("error"):
            return bool(end["error"]["kind"] != "permission_denied")
        background = self.start_of(end["id"])[1].get("background")
        return end["exit_code"] is not None or bool(background)

    def is_fresh(self, run: dict[str, Any]) -> bool:
        for seq, type, _, data in self.rows:
            counts = type == "file_changed" and "image" not in data and not data["call_id"].startswith("k")
            if counts and seq > run["start"] and data["call_id"] != run["id"]:
                return False
            if type == "tool_start" and data["id"] != run["id"] and COMMANDS[data["args"]["command"]][0]:
                ends = [(s, d) for s, t, _, d in self.rows if t == "tool_end" and d["id"] == data["id"]]
                if not ends:
                    return False
                if (
                    ends[0][0] > run["start"]
                    and self.ran(ends[0][1])
                    and not self.was_held(data["id"], ends[0][0])
                ):
                    return False
        return True

    def was_held(self, id: str, end: int) -> bool:
        """Whether the log knows all that a command changed, or that it could change nothing."""
        before = [(type, data) for seq, type, _, data in self.rows if seq < end]
        for type, data in before:
            if type == "command_recorded" and data["call_id"] == id and len(data) == 1:
                return True
        modes = [data["mode"] for type, data in before if type == "mode_changed"]
        allowed = any(
            type == "permission_decision" and data["call_id"] == id and data["decision"] == "allow"
            for type, data in before
        )
        return bool(modes) and (modes[-1] == "read-only" or (modes[-1] == "ask" and not allowed))

    def judge(self, agent: str, claim: Claim) -> str:
        verdicts = []
        if claim.command.strip():
            verdicts.append(self.judge_command(agent, claim))
        if claim.path:
            verdicts.append(self.judge_path(agent, claim.path))
        return max(verdicts or ["unsupported"], key=["proven", "stale", "unsupported", "contradicted"].index)

    def judge_command(self, agent: str, claim: Claim) -> str:
        same = [
            run
            for run in self.runs
            if run["command"].strip() == claim.command.strip() and run["folder"] == RUN_FROM[agent]
        ]
        same = [run for run in same if run["code"] is not None and COMMANDS[run["command"]][1]]
        if not same:
            return "unsupported"
        run = max(same, key=lambda one: int(one["end"]))
        if run["code"] != claim.exit_code:
            return "contradicted"
        return "proven" if self.is_fresh(run) else "stale"

    def judge_path(self, agent: str, path: str) -> str:
        turns = [(s, d["kind"]) for s, type, who, d in self.rows if type == "turn_start" and who == agent]
        begun = turns[-1][0] if turns and turns[-1][1] in ("task", "ask") else 0
        changed = [
            seq
            for seq, type, who, data in self.rows
            if type == "file_changed" and who == agent and data["path"] == path and seq > begun
        ]
        return "proven" if changed else "unsupported"


def try_log(seed: int) -> set[str]:
    choose = random.Random(seed)
    log = Log(choose)
    for id, cwd in AGENTS.items():
        model = {"provider": "s", "model": "m"}
        spec = {"id": id, "type": id, "name": id, "role": "worker", "model": model, "cwd": cwd}
        log.add("agent_started", id, agent=spec)
    for _ in range(choose.randrange(4, 40)):
        log.step()
    fold, oracle = log.fold(), Oracle(log)
    found = {run.seq: run.fresh for run in fold.find_evidence(0).commands}
    assert found == {run["end"]: oracle.is_fresh(run) for run in oracle.runs}, seed
    verdicts = set[str]()
    for agent in AGENTS:
        for command in ("", "pytest -q", "pytest -q | tail", "make lint", "ls", "never run"):
            for path in ("", "a.py", "doc.md"):
                claim = Claim(text="x", command=command, exit_code=choose.choice([0, 0, 1]), path=path)
                [judged] = fold.judge(agent, [claim])
                assert judged.verdict == oracle.judge(agent, claim), (seed, agent, claim)
                verdicts.add(judged.verdict)
    return verdicts


def test_the_verdicts_on_random_logs_are_those_of_an_oracle(seed: int) -> None:
    seen = set[str]().union(*(try_log(seed + number) for number in range(100)))
    assert seen == {"proven", "stale", "unsupported", "contradicted"}


@pytest.mark.soak
def test_the_verdicts_on_a_thousand_random_logs_are_those_of_an_oracle(seed: int) -> None:
    for number in range(1_000):
        try_log(seed + number)
