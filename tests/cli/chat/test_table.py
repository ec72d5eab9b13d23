"""The table of slash commands, and what runs them."""

import inspect

import pytest

from planck.cli.chat.table import ALIASES, COMMANDS, find_act


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_of_the_table_is_a_function_that_takes_the_rest_of_the_line(name: str) -> None:
    assert [*inspect.signature(find_act(name)).parameters] == ["talk", "rest"]


def test_an_alias_stands_for_a_command() -> None:
    assert set(ALIASES.values()) <= set(COMMANDS)
    assert not set(ALIASES) & set(COMMANDS)
