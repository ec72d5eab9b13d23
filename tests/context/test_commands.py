"""Commands of the user's own: which there are, and what they become."""

import os
from pathlib import Path

import pytest

from planck.context.commands import CommandPlace, CustomCommand, add_short_names, find_commands


def make(text: str) -> CustomCommand:
    return CustomCommand("x", "", "", text, Path("x.md"), "home")


@pytest.mark.parametrize(
    ("text", "arguments", "said"),
    [
        ("Review it.", "", "Review it."),
        ("Review it.", "a.py", "Review it.\n\na.py"),
        ("Review $ARGUMENTS now.", "a b", "Review a b now."),
        ("$1 then $2 then $3.", "one 'two words'", "one then two words then ."),
        ("$1", "it's", "it's"),
        ("$1$10 costs $100 or $HOME", "x", "x$10 costs $100 or $HOME"),
        ("$ARGUMENTS", "$1 $ARGUMENTS", "$1 $ARGUMENTS"),
        ("Run !`rm -rf /` and @a.py", "", "Run !`rm -rf /` and @a.py"),
    ],
)
def test_arguments_take_their_places_in_one_pass(text: str, arguments: str, said: str) -> None:
    assert make(text).expand(arguments) == said


def test_files_are_found_project_first_and_described_by_their_head(tmp_path: Path) -> None:
    project, home = tmp_path / "project", tmp_path / "home"
    (project / "git").mkdir(parents=True)
    home.mkdir()
    (project / "review.md").write_text("---\ndescription: Look at it\nargument-hint: FILE\n---\nReview $1.\n")
    (project / "git" / "commit.md").write_text("# Commit\n\nCommit all.")
    (home / "review.md").write_text("Another.")
    (home / "own.md").write_text("Mine.")
    (home / "empty.md").write_text("\n")
    (home / "-odd.md").write_text("No name.")
    found = find_commands([CommandPlace(project, "project", tmp_path), CommandPlace(home, "home")])
    assert {name: (one.description, one.hint, one.scope) for name, one in found.items()} == {
        "review": ("Look at it", "FILE", "project"),
        "git:commit": ("Commit", "", "project"),
        "own": ("Mine.", "", "home"),
    }
    assert found["review"].expand("a.py") == "Review a.py."


def test_a_command_in_a_folder_is_called_without_it_where_no_other_has_that_name(tmp_path: Path) -> None:
    for name in ("git/commit", "git/review", "review", "a/same", "b/same"):
        file = tmp_path / f"{name}.md"
        file.parent.mkdir(exist_ok=True)
        file.write_text(f"This is {name}.")
    found = find_commands([CommandPlace(tmp_path, "home")])
    called = {name: one.text for name, one in add_short_names(found).items() if name not in found}
    assert called == {"commit": "This is git/commit."}
    assert add_short_names(found)["review"].text == "This is review."


def test_a_project_s_command_leads_nowhere_else_and_waits_for_nobody(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("the key")
    project = tmp_path / "project"
    project.mkdir()
    (project / "leak.md").symlink_to(secret)
    os.mkfifo(project / "pipe.md")
    (project / "good.md").write_text("Good.\x1b[2J\u202e")
    found = find_commands([CommandPlace(project, "project", project)])
    assert list(found) == ["good"]
    assert found["good"].text == "Good.\\x1b[2J\\u202e"
