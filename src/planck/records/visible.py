"""Text from outside made safe to show: no control byte acts on a terminal, nothing stays invisible."""

import re

# Unicode's Cc (but newline and tab), Cf, Zl, Zp and Cs, and all that it calls default-ignorable: controls of
# direction and width, fillers, variation selectors, tags, and what is reserved for more of these.
_UNSEEN = (
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u115f\u1160\u17b4"
    "\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb"
    "\U00011000-\U0001d1ff\U000e0000-\U000e0fff\ud800-\udfff]"
)
_CONTROLS = "[\x00-\x08\x0b-\x1f\x7f]"
"""Those of ASCII, which most texts are: a small class is found faster."""
_UNSEEN_IN_OLD_SCRIPTS = (
    "[\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a]"
)
"""Those of U+11000 to U+1D1FF, all of which `_UNSEEN` finds: a range more costs every character of a text."""
_COLOURED = (
    "[\xa9\xae\u203c\u2049\u2122\u2139\u2194-\u21aa\u231a-\u23ff\u24c2\u25aa-\u27bf\u2934\u2935\u2b05-\u2b55"
    "\u3030\u303d\u3297\u3299\U0001f000-\U0001faff]\ufe0f|[#*0-9]\ufe0f\u20e3"
)
"""Where U+FE0F is visible: it turns the character or key before it into a picture."""
_PICTURE = "\u2600-\u27bf\U0001f000-\U0001faff"
_JOINED = f"(?<=[{_PICTURE}\ufe0f])\u200d(?=[{_PICTURE}])"
_MARKS = "\u0300"
"""The first character that is printable by Unicode and may be invisible all the same."""
# CSI, then OSC, DCS, SOS, PM and APC up to their end, then the two-byte escapes. No body holds a beginning:
# each character is then read once, however many strings begin and never end.
_SEQUENCES = (
    "(?:\x1b\\[|\x9b)[0-?]*[ -/]*[@-~]"
    "|(?:\x1b[]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x90\x98\x9c-\x9f]*(?:\x07|\x1b\\\\|\x9c)"
    "|\x1b[ -/]+[0-~]|\x1b[0-Z=>^-~]"
)


def spell_out(text: str) -> str:
    """Writes each control and invisible character as `\\x1b` or `\\u202e`; newlines and tabs stay."""
    plain = text.isascii()
    if plain and text.isprintable():
        return text
    return re.sub(_CONTROLS if plain else _UNSEEN, _escape, text.replace("\r\n", "\n"))


def escape_json(text: str) -> str:
    """The same JSON with each invisible character as its escape, so that no terminal acts on it."""
    return text if text.isascii() else re.sub(_UNSEEN, _escape_in_json, text)


def make_plain(text: str) -> str:
    """Drops whole escape sequences (colours, titles, links) and spells out all else, for a terminal.

    A carriage return begins a new line, so that nothing already shown is overwritten. Pictures that are
    joined into one stand side by side: their width can be told then, and nothing between them is hidden.
    """
    if text.isprintable() and (text.isascii() or max(text) < _MARKS):  # most lines
        return text
    text = _drop_sequences(text)
    if "\u200d" in text:
        text = re.sub(_JOINED, "", text)
    return spell_out(text.replace("\r\n", "\n").replace("\r", "\n"))


def clean_pasted(text: str) -> str:
    """Drops whole escape sequences and control bytes; newlines, tabs and what is merely invisible stay.

    For text that a person hands in: joined emoji and right-to-left text need what is invisible.
    """
    if text.isprintable():
        return text
    text = _drop_sequences(text).replace("\r\n", "\n").replace("\r", "\n")
    return re.sub("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]", "", text)


def _drop_sequences(text: str) -> str:
    return re.sub(_SEQUENCES, "", text) if "\x1b" in text or not text.isascii() else text


def fit_line(text: str, width: int | None = None) -> str:
    """Puts the plain text on one line, cut to `width` columns of a terminal."""
    line = " ".join(make_plain(text).split())
    if width is None or count_columns(line) <= width:
        return line
    left, end = width - 1, 0
    while end < len(line) and (left := left - count_columns(line[end])) >= 0:
        end += 1
    return line[: max(end, 0)] + "…" if width > 0 else ""


def count_columns(text: str) -> int:
    """Returns how wide a terminal shows plain text at most: wide characters count two, marks none."""
    if text.isascii():
        return len(text)
    from unicodedata import category, east_asian_width

    return sum(
        # U+FE0F makes an emoji of the letter before it, which is wide on some terminals.
        0 if category(one) in ("Mn", "Me") and one != "\ufe0f" else 2 if east_asian_width(one) in "WF" else 1
        for one in text
    )


def _escape(found: re.Match[str]) -> str:
    code = ord(found[0])
    if code < 0x100:
        return f"\\x{code:02x}"
    if _is_seen(code, found):
        return found[0]
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _escape_in_json(found: re.Match[str]) -> str:
    if _is_seen(ord(found[0]), found):
        return found[0]
    units = found[0].encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))


def _is_seen(code: int, found: re.Match[str]) -> bool:
    """Whether what `_UNSEEN` found is visible where it stands."""
    if code == 0xFE0F:
        at = found.start()
        return at > 0 and re.match(_COLOURED, found.string[at - 1 : at + 2]) is not None
    return 0x10000 < code < 0xE0000 and re.match(_UNSEEN_IN_OLD_SCRIPTS, found[0]) is None
