"""Bounding what a model reads, in bytes, without cutting a character in two."""

DEFAULT_MAX = 16_000


def truncate(text: str | bytes, max: int = DEFAULT_MAX) -> str:
    """Unchanged up to `max` bytes; else the whole graphemes within `max`, and a line that says so.

    Example:

        short = truncate("a long text " * 10_000, 1_000)
    """
    if max < 0:
        raise ValueError(f"max must be 0 or more, not {max}")
    text = repair(text)
    total = len(text) if text.isascii() else len(text.encode())
    if total <= max:
        return text
    return f"{_prefix(text, max)}\n…[truncated, showing up to {max} of {total} bytes]"


def repair(text: str | bytes) -> str:
    """Valid UTF-8: each invalid byte sequence and lone surrogate becomes U+FFFD."""
    if isinstance(text, bytes):
        return text.decode("utf-8", "replace")
    try:
        text.encode()
    except UnicodeEncodeError:
        # UTF-16 joins a pair of surrogates into its character and replaces only the lone ones.
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def _prefix(text: str, max: int) -> str:
    # A character is at least one byte, so `max` characters hold the prefix; one more decides whether the
    # last cluster ends here, as a boundary depends on what precedes it and on one character after it.
    window = text[: max + 1]
    end = len(window.encode()[:max].decode("utf-8", "ignore"))
    start = _safe_boundary(window, end)
    if start == end:
        return window[:end]
    import regex  # 15 ms, and only needed where the cut falls among characters beyond ASCII

    cut = start
    for cluster in regex.finditer(r"\X", window[: end + 1], pos=start):
        if cluster.end() > end:
            break
        cut = cluster.end()
    return window[:cut]


def _safe_boundary(text: str, end: int) -> int:
    """The last place up to `end` where two ASCII characters meet: always a boundary, but for CR LF."""
    while end > 0:
        before, after = text[end - 1], text[end : end + 1]
        if before.isascii() and after.isascii() and not (before == "\r" and after == "\n"):
            return end
        end -= 1
    return 0
