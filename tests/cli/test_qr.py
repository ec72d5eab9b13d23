"""The code for a phone, against squares that another encoder (segno 1.6.6) makes of the same text."""

import hashlib

import pytest

from planck.cli.qr import draw, make_square

TEXT = b"https://planck.example.org/#code=" + b"0123456789abcdef" * 20
FULL = {
    14: "754fda575d489e67",
    26: "42aa44f76e954d57",
    42: "5213b7b02cd2e868",
    62: "ba5501ffff37eadf",
    84: "d535f9d3232da41c",
    106: "0846be5a27e0338e",
    122: "cf8b68f890e9f356",
    152: "0ee220f090a66394",
    180: "dab2e29ba0f650ce",
    213: "2828a93919cc4d43",
}
"""By how many bytes fill a version, 1 to 10: there is nothing in which two encoders may differ."""


@pytest.mark.parametrize("size", FULL)
def test_a_full_square_is_the_one_of_another_encoder(size: int) -> None:
    square = make_square(TEXT[:size])
    rows = "\n".join("".join("01"[dark] for dark in row) for row in square)
    assert hashlib.sha256(rows.encode()).hexdigest()[:16] == FULL[size]


def test_an_address_is_a_square_with_a_light_margin_and_a_longer_text_is_refused() -> None:
    lines = draw("https://planck.example.org/#code=0123456789abcdef0123456789abcdef").split("\n")
    assert len({len(line) for line in lines}) == 1
    bare = [line.removeprefix("\033[97;40m").removesuffix("\033[0m") for line in lines]
    assert all(line.startswith("████") and line.endswith("████") for line in bare)
    assert set("".join(bare)) == set(" ▄▀█")
    with pytest.raises(ValueError, match="too many"):
        make_square(TEXT[:214])
