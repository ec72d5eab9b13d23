"""The code for a phone."""

from planck.cli.qr import draw

ADDRESS = "https://planck.example.org/#code=0123456789abcdef0123456789abcdef"


def test_an_address_is_a_square_with_a_light_margin() -> None:
    lines = draw(ADDRESS).split("\n")
    assert len({len(line) for line in lines}) == 1
    bare = [line.removeprefix("\033[97;40m").removesuffix("\033[0m") for line in lines]
    assert all(line.startswith("████") and line.endswith("████") for line in bare[:-1])
    assert all(set(line) == {"█"} for line in bare[:2])
    assert set("".join(bare)) == set(" ▄▀█")


def test_the_code_of_an_address_fits_80_columns() -> None:
    lines = draw(f"https://{'planck.' * 14}example.org/#code={'0' * 43}").split("\n")
    assert len(lines[0]) - len("\033[97;40m\033[0m") <= 65
    assert len(lines) <= 33
