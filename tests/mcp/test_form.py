"""A server's form: read with limits, and filled in a line at a time."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planck.cli.ask.form import FormFill, describe_field
from planck.mcp.elicitation import read_form, read_page
from planck.records.approval import Asked, check_content
from planck.records.outcome import Err
from planck.records.visible import fit_line

FORM = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "minLength": 2},
        "age": {"type": "integer", "minimum": 0, "maximum": 150},
        "share": {"type": "number"},
        "news": {"type": "boolean", "default": True},
        "size": {"type": "string", "enum": ["s", "m"], "enumNames": ["Small", "Medium"], "default": "m"},
        "tags": {"type": "array", "items": {"enum": ["a", "b"]}, "maxItems": 1},
    },
    "required": ["name"],
}


def read(schema: Any) -> Asked:
    found = read_form("?", schema)
    assert isinstance(found, Asked)
    return found


def fill(*lines: str) -> tuple[list[str], dict[str, Any]]:
    """Returns what was wrong, and the content; what is not said is left at its default."""
    form, problems = FormFill(read(FORM).fields), []
    for line in lines:
        problems.append(form.take(line))
    while form.field is not None:
        assert form.take("") == ""
    return [one for one in problems if one], form.content


@pytest.mark.parametrize(
    ("lines", "content"),
    [
        (["Ada"], {"name": "Ada", "news": True, "size": "m"}),
        (["Ada", "36", "0.5", "no", "1", "b"], None),
        (["Ada", "-", "-", "-", "-", "-"], {"name": "Ada"}),
        (["Ada", "", "", "", "Small"], {"name": "Ada", "news": True, "size": "s"}),
    ],
)
def test_lines_fill_a_form(lines: list[str], content: dict[str, Any] | None) -> None:
    whole = {"name": "Ada", "age": 36, "share": 0.5, "news": False, "size": "s", "tags": ("b",)}
    problems, found = fill(*lines)
    assert (problems, found) == ([], whole if content is None else content)
    assert not isinstance(check_content(read(FORM).fields, found), Err)


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (["", "Ada"], "required"),
        (["-", "Ada"], "at least 2 characters"),
        (["A", "Ada"], "at least 2 characters"),
        (["Ada", "old", "7"], "whole number"),
        (["Ada", "151", "7"], "at most 150"),
        (["Ada", "7", "nan", "7"], "a number"),
        (["Ada", "7", "7", "maybe", "no"], "yes or no"),
        (["Ada", "7", "7", "no", "3", "2"], "choose from 1 to 2"),
        (["Ada", "7", "7", "no", "2", "a, b", "a"], "at most 1 choices"),
    ],
)
def test_a_line_that_does_not_fit_says_why_and_is_asked_for_again(lines: list[str], said: str) -> None:
    problems, content = fill(*lines)
    assert len(problems) == 1
    assert said in problems[0]
    assert content["name"] == "Ada"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=9), inner, max_size=4),
    max_leaves=12,
)
KEYS = [
    "type",
    "title",
    "enum",
    "enumNames",
    "oneOf",
    "anyOf",
    "items",
    "const",
    "default",
    "minimum",
    "format",
]
FIELD = st.dictionaries(
    st.sampled_from(KEYS), JSON | st.sampled_from(["string", "array", "integer", "number"])
)


@given(st.dictionaries(st.text(max_size=9), FIELD | JSON, max_size=4), JSON)
def test_any_schema_is_a_form_or_an_error_and_any_answer_fits_or_not(fields: Any, answer: Any) -> None:
    found = read_form("?", {"type": "object", "properties": fields, "required": answer})
    if isinstance(found, Err):
        return
    for field in found.fields:
        assert field.label == fit_line(field.label)
        assert "\x1b" not in describe_field(field)
    content = answer if isinstance(answer, dict) else {field.name: answer for field in found.fields}
    check_content(found.fields, content)
    check_content(found.fields, {field.name: field.default for field in found.fields})


@given(st.text(), st.text())
def test_any_address_is_shown_as_it_is_or_refused(start: str, rest: str) -> None:
    for url in (start, f"https://{rest}", f"https://a.example/{rest}"):
        found = read_page("?", url)
        assert isinstance(found, Err) or (found.url == url and url.isascii() and url.isprintable())
