"""Lines of code, drawn as they come: the same however they are cut, and nothing read twice without end."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planck.cli.tell.blocks import Answer
from planck.cli.tell.code import CodeRenderer
from planck.records.visible import count_columns

GREEN, DIM, MAGENTA = "\x1b[32m", "\x1b[2m", "\x1b[35m"
_COLOUR = re.compile("\x1b\\[[0-9;]*m")


def draw(language: str, *pieces: str, width: int = 80, color: bool = True) -> list[str]:
    renderer = CodeRenderer()
    found: list[str] = []
    for number, piece in enumerate(pieces):
        found += renderer.draw(Answer(piece, language, number > 0), width, color=color)
    return found


@pytest.mark.parametrize(
    ("language", "code", "line", "colour"),
    [
        ("python", 'def f():\n    """Says\n    if and or\n    not."""\n    return 1', "if and or", GREEN),
        ("python", 'x = """\nimport os\n"""\nimport os', "import", MAGENTA),
        ("javascript", "/**\n * return if\n * for\n */\nreturn 1", " * return if", DIM),
        ("c", "/* a\n   while b\n*/\nint x;", "   while b", DIM),
        ("rust", "// fn\nfn main() {}", "fn", MAGENTA),
        ("diff", "-old\n+new", "+new", GREEN),
    ],
)
def test_a_line_has_the_colour_that_the_lines_above_give_it(
    language: str, code: str, line: str, colour: str
) -> None:
    rows = draw(language, *code.split("\n"))
    assert any(f"{colour}{lead}{line}" in row for row in rows for lead in ("", " ", "    ")), rows


@given(
    lines=st.lists(st.text("ab\"'#/*\t\x1b界 \\(){}", max_size=50), min_size=1, max_size=12),
    language=st.sampled_from(["python", "c", "js", "html", "bash", "unknown", ""]),
    width=st.sampled_from([20, 40, 80]),
    every=st.integers(1, 5),
)
def test_every_character_is_shown_once_and_nothing_acts_on_the_terminal(
    lines: list[str], language: str, width: int, every: int
) -> None:
    pieces = ["\n".join(lines[at : at + every]) for at in range(0, len(lines), every)]
    plain = draw(language, "\n".join(lines), width=width, color=False)
    rows = [_COLOUR.sub("", row) for row in draw(language, *pieces, width=width)]
    assert rows == plain
    assert len(rows) >= len(lines)
    assert not any("\x1b" in row or count_columns(row) > width for row in rows)


def test_a_text_without_an_end_is_not_read_from_its_beginning_for_each_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from pygments.lexers.python import PythonLexer  # type: ignore[import-untyped]

    read, get_tokens = [0], PythonLexer.get_tokens

    def count(self: object, text: str) -> object:
        read[0] += len(text)
        return get_tokens(self, text)

    monkeypatch.setattr(PythonLexer, "get_tokens", count)
    lines = ['x = """', *(f"line {number} of a text" for number in range(2_000))]
    draw("python", *lines)
    assert read[0] < 2_000 * 8_100
    read[0] = 0
    draw("python", *(f"value_{number} = {number}" for number in range(2_000)))
    assert read[0] < 2_000 * 60
