"""Events as objects of their classes."""

from pathlib import Path

from planck.records.events import TextDelta, ToolEnd, TurnEnd
from tests.library.program import started


async def test_an_event_has_its_typed_view(tmp_path: Path) -> None:
    async with started(tmp_path, [[("list_dir", {})], "done"]) as session:
        views = [event.view async for event in session.stream("go")]
        assert all(view is not None for view in views)
        [result] = [view for view in views if isinstance(view, ToolEnd)]
        assert (result.name, result.ok) == ("list_dir", True)
        assert "".join(view.text for view in views if isinstance(view, TextDelta)) == "done"
        assert [view.status for view in views if isinstance(view, TurnEnd)] == ["completed"]
