"""A QR code on a terminal."""

import io

import segno


def draw(text: str) -> str:
    """Returns lines of half blocks, dark on light whatever the terminal's colours are."""
    drawn = io.StringIO()
    segno.make_qr(text, error="M").terminal(drawn, compact=True)
    return "\n".join(f"\033[97;40m{line}\033[0m" for line in drawn.getvalue().splitlines())
