"""A QR code on a terminal: bytes, error correction M, up to 213 of them, as ISO/IEC 18004 says."""

from collections.abc import Callable, Iterator

_BLOCKS = (
    ((16, 10),),
    ((28, 16),),
    ((44, 26),),
    ((32, 18),) * 2,
    ((43, 24),) * 2,
    ((27, 16),) * 4,
    ((31, 18),) * 4,
    ((38, 22),) * 2 + ((39, 22),) * 2,
    ((36, 22),) * 3 + ((37, 22),) * 2,
    ((43, 26),) * 4 + ((44, 26),),
)
"""By version from 1: of each block the bytes of data and of correction."""
_ALIGNED = (
    (),
    (6, 18),
    (6, 22),
    (6, 26),
    (6, 30),
    (6, 34),
    (6, 22, 38),
    (6, 24, 42),
    (6, 26, 46),
    (6, 28, 50),
)
_QUIET = 4
"""Modules of margin on each side."""
_MASKS: tuple[Callable[[int, int], int], ...] = (
    lambda y, x: (y + x) % 2,
    lambda y, x: y % 2,
    lambda y, x: x % 3,
    lambda y, x: (y + x) % 3,
    lambda y, x: (y // 2 + x // 3) % 2,
    lambda y, x: y * x % 2 + y * x % 3,
    lambda y, x: (y * x % 2 + y * x % 3) % 2,
    lambda y, x: ((y + x) % 2 + y * x % 3) % 2,
)
"""A module is turned over where its mask gives 0."""

Square = list[list[bool]]


def draw(text: str) -> str:
    """Returns lines of half blocks, dark on light whatever the terminal's colours are."""
    square = make_square(text.encode())
    wide = len(square) + 2 * _QUIET
    rows = [[False] * wide for _ in range(_QUIET)]
    rows += [[False] * _QUIET + row + [False] * _QUIET for row in square]
    rows += [[False] * wide for _ in range(_QUIET + wide % 2)]
    lines = (
        "".join(" ▄▀█"[2 * (not above) + (not below)] for above, below in zip(*pair, strict=True))
        for pair in zip(rows[::2], rows[1::2], strict=True)
    )
    return "\n".join(f"\033[97;40m{line}\033[0m" for line in lines)


def make_square(data: bytes) -> Square:
    """Returns the modules, True for dark."""
    version = next(
        (n for n, blocks in enumerate(_BLOCKS, 1) if len(data) + 2 + (n > 9) <= sum(b for b, _ in blocks)), 0
    )
    if not version:
        raise ValueError(f"{len(data)} bytes are too many for a code that a phone reads from a screen")
    bits = [*_spread(version, data)]
    tried = [_fill(version, bits, mask) for mask in range(8)]
    return min(tried, key=_weigh)


def _spread(version: int, data: bytes) -> Iterator[int]:
    """Yields the bits of all blocks in turns: data, then correction."""
    blocks = _BLOCKS[version - 1]
    room = sum(count for count, _ in blocks)
    digits = f"0100{len(data):0{8 if version < 10 else 16}b}" + "".join(f"{byte:08b}" for byte in data)
    digits = digits[: room * 8] + "0" * min(4, room * 8 - len(digits))
    digits += "0" * (-len(digits) % 8)
    words = [int(digits[at : at + 8], 2) for at in range(0, len(digits), 8)]
    words += [(0xEC, 0x11)[number % 2] for number in range(room - len(words))]
    parts, fixes, at = [], [], 0
    for count, extra in blocks:
        parts.append(words[at : at + count])
        fixes.append(_correct(parts[-1], extra))
        at += count
    for group in (parts, fixes):
        for number in range(max(map(len, group))):
            for part in group:
                if number < len(part):
                    yield from (part[number] >> shift & 1 for shift in range(7, -1, -1))


def _correct(words: list[int], count: int) -> list[int]:
    """Returns the remainder of Reed and Solomon's division over GF(256)."""
    divisor = [1]
    for power in range(count):
        root = _power(power)
        grown = [*divisor, 0]
        for at, factor in enumerate(divisor):
            grown[at + 1] ^= _multiply(factor, root)
        divisor = grown
    rest = [*words, *[0] * count]
    for at in range(len(words)):
        lead = rest[at]
        for step, factor in enumerate(divisor):
            rest[at + step] ^= _multiply(factor, lead)
    return rest[-count:]


def _power(exponent: int) -> int:
    value = 1
    for _ in range(exponent):
        value = _multiply(value, 2)
    return value


def _multiply(a: int, b: int) -> int:
    product = 0
    for shift in range(8):
        if b >> shift & 1:
            product ^= a << shift
    for shift in range(14, 7, -1):
        if product >> shift & 1:
            product ^= 0x11D << (shift - 8)
    return product


def _fill(version: int, bits: list[int], mask: int) -> Square:
    size = 17 + 4 * version
    square, fixed = _draw_patterns(version, size, mask)
    turns, waiting = _MASKS[mask], iter(bits)
    for y, x in _walk(size):
        if not fixed[y][x]:
            square[y][x] = bool(next(waiting, 0)) != (turns(y, x) == 0)
    return square


def _walk(size: int) -> Iterator[tuple[int, int]]:
    """Two columns at a time from the right, up and down by turns, past the column of the timing pattern."""
    upward = True
    for right in range(size - 1, 0, -2):
        right -= right <= 6
        for y in range(size - 1, -1, -1) if upward else range(size):
            yield y, right
            yield y, right - 1
        upward = not upward


def _draw_patterns(version: int, size: int, mask: int) -> tuple[Square, Square]:
    square = [[False] * size for _ in range(size)]
    fixed = [[False] * size for _ in range(size)]

    def put(y: int, x: int, dark: bool) -> None:
        if 0 <= y < size and 0 <= x < size:
            square[y][x], fixed[y][x] = dark, True

    for at in range(size):
        put(6, at, at % 2 == 0)
        put(at, 6, at % 2 == 0)
    for top, left in ((0, 0), (0, size - 7), (size - 7, 0)):
        for y in range(-1, 8):
            for x in range(-1, 8):
                put(top + y, left + x, max(abs(y - 3), abs(x - 3)) in (0, 1, 3))
    centres = _ALIGNED[version - 1]
    for y, x in ((a, b) for a in centres for b in centres):
        if (y, x) not in ((6, 6), (6, size - 7), (size - 7, 6)):
            for dy in range(-2, 3):
                for dx in range(-2, 3):
                    put(y + dy, x + dx, max(abs(dy), abs(dx)) != 1)
    code = _protect(mask, 10, 0b10100110111) ^ 0b101010000010010  # correction M is 00 before the mask
    for at in range(15):
        dark = bool(code >> at & 1)
        put(*((at + (at > 5), 8) if at < 8 else (8, 15 - at - (at > 8))), dark)
        put(*((8, size - 1 - at) if at < 8 else (size - 15 + at, 8)), dark)
    put(size - 8, 8, True)
    if version >= 7:
        code = _protect(version, 12, 0b1111100100101)
        for at in range(18):
            put(at // 3, size - 11 + at % 3, bool(code >> at & 1))
            put(size - 11 + at % 3, at // 3, bool(code >> at & 1))
    return square, fixed


def _protect(value: int, count: int, divisor: int) -> int:
    """Returns the value and, in `count` bits behind it, the remainder that guards it."""
    rest = value << count
    while rest.bit_length() > count:
        rest ^= divisor << (rest.bit_length() - count - 1)
    return value << count | rest


def _weigh(square: Square) -> int:
    """How hard it is to read: runs of a colour, blocks of four, what looks like a corner, too much of one."""
    lines = [*square, *map(list, zip(*square, strict=True))]
    texts = ["".join("01"[dark] for dark in line) for line in lines]
    runs = sum(_weigh_runs(text) for text in texts)
    corners = sum(40 * text.count(shape) for text in texts for shape in ("10111010000", "00001011101"))
    size = len(square)
    squares = sum(
        3
        for y in range(size - 1)
        for x in range(size - 1)
        if square[y][x] == square[y][x + 1] == square[y + 1][x] == square[y + 1][x + 1]
    )
    dark = sum(map(sum, square)) * 100 / size**2
    return runs + corners + squares + 10 * int(abs(dark - 50) // 5)


def _weigh_runs(text: str) -> int:
    lengths = (len(run) for colour in "01" for run in text.split("10"[int(colour)]))
    return sum(length - 2 for length in lengths if length >= 5)
