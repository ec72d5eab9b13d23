"""The page folds a log as records/board.py does: every fixture, random teams, damaged events."""

import json
import random
import subprocess
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest

from planck.records import codec
from planck.records.board import Board, apply
from planck.records.events import DeniedBy, Event, frame
from scripts.make_page import SOURCES, list_known, make_script
from tests.team.test_live_board import Play
from tests.virtual_time import run_virtual
from tests.web.sources import NODE, run_on_page

LOGS = Path(__file__).parents[1] / "logs"

pytestmark = pytest.mark.skipif(NODE is None, reason="node is not installed")

Log = tuple[str, list[Event]]


class Recorded(Play):
    """A random team, and everything that it recorded."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.log: list[Event] = []

    def _note(self, event: Event) -> None:
        self.log.append(event)
        super()._note(event)


def read(path: Path) -> list[Event]:
    return [codec.decode_as(line, Event) for line in path.read_bytes().splitlines()]


def play(seed: int) -> list[Event]:
    async def run() -> list[Event]:
        made = Recorded(seed)
        await made.run()
        return made.log

    return run_virtual(run(), seed=seed)


def fold(logs: list[Log], every: int, folder: Path, source: str = "") -> dict[str, Any]:
    """Folds the logs in both languages; boards are compared after every so many events, and at the end."""
    asked = []
    for name, events in logs:
        board, boards = Board(), {}
        for index, event in enumerate(events):
            board = apply(board, event)
            if index % every == 0 or index == len(events) - 1:
                boards[str(index)] = codec.decode(codec.encode(board))
        frames = [codec.decode(frame(event, "s")) for event in events]
        asked.append({"name": name, "events": frames, "boards": boards})
    file, script = folder / "logs.json", folder / "reducer.mjs"
    file.write_bytes(codec.encode(asked))
    script.write_text(source or (SOURCES / "reducer.js").read_text())
    for name, text in {"package.json": '{"type": "module"}', **list_known()}.items():
        (folder / name).write_text(text)
    assert NODE
    done = subprocess.run(
        [NODE, str(Path(__file__).parent / "fold.mjs"), str(script), str(file)],
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def damage(events: list[Event], choose: random.Random) -> list[Event]:
    """Some events have a field too many, too few, or of another type."""
    values: list[Any] = [None, True, 0, -3, 2.5, "", "x" * 700, "ü😀" * 400, [], ["a"], [1], {}, {"id": 1}]
    made = []
    for event in events:
        data = codec.decode(bytes(event.data))
        if choose.random() < 0.3 and isinstance(data, dict):
            place = data
            while inner := [one for one in place.values() if isinstance(one, dict) and one]:
                if choose.random() < 0.5:
                    break
                place = choose.choice(inner)
            key = choose.choice([*place, "unknown"])
            if choose.random() < 0.3:
                place.pop(key, None)
            else:
                place[key] = choose.choice(values)
        elif choose.random() < 0.02:
            data = choose.choice(values)
        made.append(msgspec.structs.replace(event, data=msgspec.Raw(codec.encode(data))))
    return made


def test_every_fixture_gives_its_board_event_by_event(tmp_path: Path) -> None:
    _compare_fixtures(tmp_path)


@pytest.mark.heavy
@pytest.mark.usefixtures("esbuild")
def test_every_fixture_gives_its_board_when_the_reducer_is_minified(tmp_path: Path) -> None:
    source = {"reducer.js": (SOURCES / "reducer.js").read_text(), **list_known()}
    _compare_fixtures(tmp_path, make_script(source, "reducer.js", "esm"))


def _compare_fixtures(folder: Path, source: str = "") -> None:
    paths = [*sorted(LOGS.glob("*.ndjson")), *sorted(LOGS.glob("old/*.ndjson"))]
    answer = fold([(path.name, read(path)) for path in paths], 1, folder, source)
    assert answer["wrong"] == []
    assert answer["compared"] > 300


def test_recorded_logs_of_random_teams_give_the_same_board(tmp_path: Path, seed: int) -> None:
    _compare_random(range(seed, seed + 4), tmp_path)


@pytest.mark.soak
def test_200_recorded_logs_of_random_teams_give_the_same_board(tmp_path: Path, seed: int) -> None:
    _compare_random(range(seed, seed + 200), tmp_path, every=29)


def _compare_random(seeds: range, folder: Path, every: int = 7) -> None:
    answer = fold([(f"schedule {seed}", play(seed)) for seed in seeds], every, folder)
    assert answer["wrong"] == []
    print(f"{len(seeds)} logs, {answer['compared']} boards")
    assert answer["compared"] > len(seeds) * 5


def test_what_is_damaged_is_passed_over_in_the_same_way(tmp_path: Path, seed: int) -> None:
    choose = random.Random(seed)
    whole = [(path.name, read(path)) for path in sorted(LOGS.glob("*.ndjson"))]
    logs = [(f"{name} {round}", damage(events, choose)) for round in range(2) for name, events in whole]
    answer = fold(logs, 1, tmp_path)
    assert answer["wrong"] == []


RARE = {"session_started", "session_resumed", "forked", "control", "renamed", "mode_changed", "budget"}


def invent(choose: random.Random, count: int) -> list[Event]:
    """Events of every type in any order, about a few agents, calls and messages."""

    def one(*names: str) -> str:
        return choose.choice(names)

    def describe() -> dict[str, dict[str, Any]]:
        agent, call, mail = one("a", "b", "c"), one("c1", "c2", "c3"), one("m1", "m2", "m3")
        usage = {"input_tokens": choose.randint(0, 9), "output_tokens": choose.randint(0, 9)}
        args = {"command": "make", "steps": [{"text": "x", "status": one("pending", "completed")}]}
        return {
            "session_started": {"id": "s", "name": "n", "options": {"mode": "ask"}},
            "session_resumed": {"version": "2", "options": {"mode": one("", "full")}},
            "renamed": {"name": one("x", "y")},
            "mode_changed": {"mode": one("ask", "full"), "before": "ask"},
            "forked": {"session_id": "p", "at": 3},
            "agent_started": {"agent": {"id": agent, "name": agent, "model": {"id": "m"}}},
            "agent_ended": {"status": one("destroyed", "failed"), "reason": "so"},
            "message": {
                "id": mail,
                "kind": one("prompt", "ask", "task", "response"),
                "from": one("user", "a", "b", "c"),
                "to": agent,
                "correlation_id": choose.choice([None, "m1", "m2"]),
            },
            "delivery": {"ids": [mail], "state": one("delivered", "answered", "expired", "dead")},
            "wait": {
                "on": agent,
                "message_id": mail,
                "deadline": "d",
                "call_id": choose.choice([None, call]),
            },
            "control": {
                "action": one("interrupt", "destroy", "halt"),
                "target": agent,
                "status": "interrupted",
            },
            "turn_start": {"message_id": mail},
            "turn_end": {"status": one("completed", "failed", "interrupted", "timed_out", "capped")},
            "assistant_message": {"message": {"usage": usage}},
            "tool_start": {"id": call, "name": one("bash", "ask_agent", "update_plan"), "args": args},
            "tool_end": {"id": call, "name": "bash", "ok": choose.random() < 0.5},
            "usage": {"usage": usage, "cost_usd": choose.choice([None, 0.1, 1])},
            "budget": {"limit_usd": choose.choice([None, 2.0]), "spent_usd": 0.5},
            "permission_request": {"id": one("q1", "q2"), "call_id": call, "text": "x" * 600},
            "permission_decision": {
                "call_id": call,
                "decision": one("allow", "deny"),
                "request_id": one("q1", ""),
            },
            "file_changed": {"path": one("x", "y"), "call_id": call, "after_sha256": one("", "1")},
            "compacted": {"tokens_after": 5, "window": choose.choice([0, 9])},
            "rewound": {"to": 3},
            "model_changed": {"model": {"provider": "p", "model": "m"}},
            "error": {"kind": "k", "message": "m"},
        }

    often = {"wait": 6, "turn_start": 5, "agent_started": 4, "message": 4, "tool_start": 4, "agent_ended": 3}
    types = [type for type in describe() for _ in range(often.get(type, 1 if type in RARE else 2))]
    made = []
    for number in range(1, count + 1):
        type = "agent_started" if number < 4 else choose.choice(types)
        agent = choose.choice(["a", "b", "c", "c", None])
        raw = msgspec.Raw(codec.encode(describe()[type]))
        made.append(Event(number, f"t{number}", agent, choose.randint(0, 3), type, raw))
    return made


def test_events_in_any_order_give_the_same_board(tmp_path: Path, seed: int) -> None:
    logs = [(f"invented {n}", invent(random.Random(seed + n), 60)) for n in range(80)]
    answer = fold(logs, 5, tmp_path)
    assert answer["wrong"] == []
    assert answer["compared"] == 80 * 13


def test_a_denial_is_told_to_the_person_and_not_as_the_model_reads_it(page: Path) -> None:
    """Every denial of every fixture, and one for each `by`: nothing in it speaks to the model."""
    decisions = [
        codec.decode(bytes(event.data))
        for path in sorted(LOGS.glob("*.ndjson"))
        for event in read(path)
        if event.type == "permission_decision"
    ]
    cases = get_args(DeniedBy)
    decisions += [{"decision": "deny", "reason": "why", "words": "use b", "by": by} for by in cases]
    script = "import {findWhy} from './parts/blocks.js'; import {readFileSync} from 'node:fs';"
    script += "console.log(JSON.stringify(JSON.parse(readFileSync(0, 'utf8')).map(findWhy)));"
    told = run_on_page(page, script, decisions)
    denied = [one for one in decisions if one["decision"] == "deny"]
    assert [bool(why) for why in told] == [one["decision"] == "deny" for one in decisions]
    assert len(denied) > len(cases)
    assert not [
        why for why in told if why and ("tell the user" in why["text"] or "go on without" in why["text"])
    ]
    assert [why["text"] for why in told[-len(cases) :]] == [
        "use b" if by == "user" else "why" for by in cases
    ]
