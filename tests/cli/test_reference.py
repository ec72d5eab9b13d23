"""The pages under docs/reference are what the code says now."""

import re
from pathlib import Path

import pytest

from planck.cli.commands import COMMANDS
from planck.cli.main import main
from scripts.make_reference import pages

FOLDER = Path(__file__).parents[2] / "docs" / "reference"


@pytest.mark.parametrize("name", sorted(pages()))
def test_a_page_is_current(name: str) -> None:
    assert (FOLDER / name).read_text() == pages()[name], "run: make reference"


WITH_ACTIONS = {
    "nodes",
    "store",
    "auth",
    "config",
    "mcp",
    "models",
    "permissions",
    "sessions",
    "sidecar",
    "skills",
    "teams",
    "tools",
}


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_command_and_each_of_its_actions_has_help_and_tells_a_mistake_in_one_line(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([name, "--help"]) == 0
    shown = capsys.readouterr().out
    actions = re.search(r"^  \{?([a-z]+(?:[|,][a-z]+)+)\}?(?:  .*)?$", shown, re.M)
    assert (actions is not None) == (name in WITH_ACTIONS)
    pages_of_help = [shown]
    for action in re.split("[|,]", actions[1]) if actions else ():
        assert main([name, action, "--help"]) == 0
        pages_of_help.append(capsys.readouterr().out)
    assert [page for page in pages_of_help if "example: planck" not in page] == []
    for words in ([name], *([name, action] for action in (re.split("[|,]", actions[1]) if actions else ()))):
        assert main([*words, "--no-such-option"]) == 2
        said = capsys.readouterr().err
        assert re.fullmatch(r'error: .+[.?] Run "planck.* --help"\. \[invalid_args\]\n', said)


def test_what_the_page_calls_not_built_is_refused_with_the_same_words(
    capsys: pytest.CaptureFixture[str],
) -> None:
    promised = re.findall(r"`planck ([^`]+)`", (FOLDER / "cli.md").read_text().split("## Not built yet")[1])
    assert promised
    for words in promised:
        assert words not in COMMANDS
        assert main(words.split()) == 2
        assert f'"planck {words}" is not built yet' in "".join(capsys.readouterr())
