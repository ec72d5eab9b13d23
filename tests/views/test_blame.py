"""`planck blame` knows who wrote what came from a view."""

from pathlib import Path
from typing import Any

from tests.views.test_landing import Workers, delegate, edit, make_team


async def test_lines_that_came_from_a_view_are_the_workers_not_the_landings(tmp_path: Path) -> None:
    place = Workers(tmp_path)
    scripts: dict[str, Any] = {
        "lead": [delegate("ben"), "wait", "over"],
        "ben": [edit("line 3\n", "ben's\n"), "done"],
    }
    async with place.open(**scripts) as planck:
        session = await planck.start(make_team("ben"), mode="full")
        await session.run("go")
        await session.aclose()
        (place.work / "shared.txt").write_text("mine\n" + (place.work / "shared.txt").read_text())
        blame = planck.blame(place.work / "shared.txt", (1, 6))
    assert [(line.text, line.by) for line in blame.lines if line.text in ("mine", "ben's", "line 2")] == [
        ("mine", "nobody"),
        ("line 2", "nobody"),
        ("ben's", "session"),
    ]
    (call,) = blame.changes
    assert (call.agent, call.tool) == ("ben", "edit")
    assert [(one.sender, one.text) for one in call.instructions] == [("user", "go"), ("lead", "ben: do it")]
