"""A link that is put in a file's place between two looks shows nothing of what lies outside."""

import os
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from planck.headless.attachments import attach
from planck.headless.planck import Planck
from planck.records.outcome import PlanckError
from planck.workspace.paths import beneath, paths
from tests.teams import write_team

SKILL = "---\nname: s\ndescription: {0}\n---\n{0}"


def _read_skill(app: Planck) -> str:
    return "".join(skill.description for skill in app.resources.skills().skills.values())


def _read_command(app: Planck) -> str:
    return "".join(command.text for command in app.resources.commands().values())


def _read_team(app: Planck) -> str:
    team = write_team(app.workspace / "team", {"type": "orchestrator", "system_prompt": "prompt.md"})
    from planck.config.teams import load_team
    from planck.records.specs import ModelSpec
    from planck.toolkit.clock import RandomIds

    (spec,) = load_team(
        Path(team, "TEAM.json"), lambda *names: ModelSpec("", ""), RandomIds(), places=[str(app.workspace)]
    )
    return spec.system_prompt


READERS: dict[str, tuple[str, Callable[[Planck], str]]] = {
    "instructions": ("AGENTS.md", lambda app: app.resources.instructions().text),
    "a command": (".claude/commands/x.md", _read_command),
    "a skill": (".claude/skills/s", _read_skill),
    "a file in a command": (
        "notes.txt",
        lambda app: attach("@notes.txt", app.workspace, within=app.workspace).text,
    ),
    "a file in a message": ("notes.txt", lambda app: attach("@notes.txt", app.workspace).text),
    "a prompt of a team": ("team/prompt.md", _read_team),
}


@pytest.mark.parametrize("what", READERS)
def test_what_lies_outside_is_not_read_by_a_link_that_comes_and_goes(
    tmp_path: Path, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, read = READERS[what]
    work, outside = tmp_path / "work", tmp_path / "outside"
    place = work / name
    place.parent.mkdir(parents=True)
    for path, text in ((place, "fine"), (outside, "secret")):
        if what == "a skill":
            path.mkdir()
            path = path / "SKILL.md"
            text = SKILL.format(text)
        path.write_text(text)
    app = Planck(tmp_path / "home", work, environ={"HOME": str(tmp_path)})
    swapped: list[Any] = []

    def open_while_it_is_a_link(usual: Callable[..., int], path: Any, *args: Any, **options: Any) -> int:
        if os.fspath(path) != str(place):
            return usual(path, *args, **options)
        swapped.append(path)
        os.rename(place, tmp_path / "aside")
        os.symlink(outside, place)
        try:
            return usual(path, *args, **options)
        finally:
            os.unlink(place)
            os.rename(tmp_path / "aside", place)

    monkeypatch.setattr(os, "open", partial(open_while_it_is_a_link, os.open))
    # A root is opened by a system call of its own.
    monkeypatch.setattr(paths, "open_canonical", partial(open_while_it_is_a_link, beneath.open_canonical))
    with suppress(PlanckError):  # refused is as good as left out
        assert "secret" not in read(app)
    assert swapped
    monkeypatch.undo()
    assert "fine" in read(Planck(tmp_path / "home", work, environ={"HOME": str(tmp_path)}))


@pytest.mark.parametrize("cwd", ["{}/outside", "../outside", "sub/../../outside"])
def test_an_agent_that_starts_outside_is_told_what_the_workspace_says(tmp_path: Path, cwd: str) -> None:
    """A log from elsewhere can name any folder."""
    for folder in ("work/sub", "outside"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "AGENTS.md").write_text(folder)
    (tmp_path / "work" / "AGENTS.md").write_text("the workspace")
    app = Planck(tmp_path / "home", tmp_path / "work", environ={"HOME": str(tmp_path)})
    told = app.resources.instructions(cwd.format(tmp_path)).text
    assert told.endswith("the workspace")
    assert "the workspace" in app.resources.instructions("sub").text
