"""The page folds a log as records/board.py does: every fixture, random teams, damaged events."""

import json
import random
import shutil
import subprocess
from pathlib import Path
from typing import Any

import msgspec
import pytest

from planck.records import codec
from planck.records.board import Board, apply
from planck.records.events import Event, frame
from tests.team.test_live_board import Play
from tests.virtual_time import run_virtual

WEB = Path(__file__).parents[2] / "src" / "planck" / "web"
LOGS = Path(__file__).parents[1] / "logs"
NODE = shutil.which("node")

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


def fold(logs: list[Log], every: int, folder: Path) -> dict[str, Any]:
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
    shutil.copy(WEB / "reducer.js", script)
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
    paths = [*sorted(LOGS.glob("*.ndjson")), *sorted(LOGS.glob("old/*.ndjson"))]
    answer = fold([(path.name, read(path)) for path in paths], 1, tmp_path)
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
