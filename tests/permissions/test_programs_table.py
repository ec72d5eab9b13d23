"""One table says what programs start: rules, grants and the check for replaceable programs read it."""

import pytest

from planck.shell.launch import find_launches
from planck.shell.plain import segments
from planck.shell.programs import PROGRAMS, TABLE, UNKNOWN, find_program
from planck.workspace.sandbox.programs import find_replaceable_in_script


def test_each_program_has_one_row() -> None:
    names = [name for names in TABLE for name in names.split()]
    assert sorted(names) == sorted(set(names))


def test_a_version_does_not_hide_a_program() -> None:
    assert find_program("python3.11") is PROGRAMS["python"]
    assert find_program("nosuch") is UNKNOWN
    assert find_program("cat2") is UNKNOWN, "nobody knows that it runs nothing"


@pytest.mark.parametrize("name", [name for name, row in PROGRAMS.items() if row.prefix is not None])
def test_what_a_rule_follows_is_looked_at_before_it_runs_with_the_users_rights(name: str) -> None:
    command = f"{name} 5 ./gone" if PROGRAMS[name].prefix.operands else f"{name} ./gone"  # type: ignore[union-attr]
    (words,) = segments(command) or ((),)
    if words:  # `time` is a word of bash itself
        assert any(launch.words and launch.words[0].text == "./gone" for launch in find_launches(words))
    assert find_replaceable_in_script(command, "/work", {"PATH": "/usr/bin:/bin"}, ("/work",))


@pytest.mark.parametrize(
    "command", ["git -c core.pager=./gone log", "rsync -e ./gone a b", "rg --pre ./gone x"]
)
def test_a_program_that_an_option_names_is_looked_at_too(command: str) -> None:
    assert find_replaceable_in_script(command, "/work", {"PATH": "/usr/bin:/bin"}, ("/work",))
    fine = command.replace("./gone", "/usr/bin/true")
    assert not find_replaceable_in_script(fine, "/work", {"PATH": "/usr/bin:/bin"}, ("/work",))
