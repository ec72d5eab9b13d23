"""A process killed in a fork, an import, a compaction or a paid request leaves all of it, or nothing."""

from functools import partial
from pathlib import Path

import pytest

from tests.forks import make_folder, run_script

run = partial(run_script, Path(__file__).with_name("killed_sessions.py"))


def test_what_a_killed_process_leaves_is_whole_or_not_there(seed: int) -> None:
    with make_folder() as folder:
        assert run("all", 3, folder, seed)["killed"] == 12


@pytest.mark.soak
@pytest.mark.parametrize("what", ["fork", "import", "compaction", "budget"])
def test_a_kill_before_each_call_leaves_all_or_nothing(what: str, seed: int) -> None:
    with make_folder() as folder:
        counted = run(what, 0, folder, seed)
    assert counted["killed"] >= 60
    assert counted["killed"] >= counted["calls"] - 9, "threads take turns: the last calls may come earlier"
