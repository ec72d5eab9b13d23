"""What a terminal sends, read into strokes and pastes; a lone Esc never takes the next key along."""

import codecs
import re
from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple

from planck.records.visible import clean_pasted

PASTE_BEGINS, PASTE_ENDS = "\x1b[200~", "\x1b[201~"
MAX_PASTE = 8 << 20
"""Characters of one paste that are kept; what is behind them is dropped, and the paste says so."""

# Names are prompt_toolkit's, so that what is not ours is handed on as it is.
_CONTROLS = {"\t": "tab", "\r": "enter", "\n": "c-j", "\x1b": "esc", "\x7f": "backspace", "\x08": "backspace"}
_CONTROLS |= {"\x00": "c-@", "\x1c": "c-\\", "\x1d": "c-]", "\x1e": "c-^", "\x1f": "c-_"}
_CONTROLS |= {chr(n): f"c-{chr(n + 96)}" for n in range(1, 27) if chr(n) not in _CONTROLS}
_FINALS = {"A": "up", "B": "down", "C": "right", "D": "left", "H": "home", "F": "end", "Z": "s-tab"}
_TILDES = {
    "1": "home",
    "7": "home",
    "2": "insert",
    "3": "delete",
    "4": "end",
    "8": "end",
    "5": "pageup",
    "6": "pagedown",
}
_CODES = {9: "tab", 13: "enter", 27: "esc", 127: "backspace", 8: "backspace", 57414: "enter"}
_SAME = {"i": "tab", "m": "enter", "h": "backspace", "[": "esc"}
"""By letter: the key that Ctrl and that letter is."""
_ALT = frozenset("bfdlcuty.<>\x7f\x08\r\n")
"""Behind an Esc in one go these are Alt and the key; anything else is an Esc and then the key."""
_CSI = re.compile("\x1b\\[([0-9;:<=>?]*)([ -/]*)([@-~])")
_REPLY = re.compile("\x1b[]P^_][^\x07\x1b]*(?:\x07|\x1b\\\\)")
_BEGUN = re.compile("\x1b(?:\\[[0-9;:<=>?]*[ -/]*|O|[]P^_][^\x07\x1b]*\x1b?)?\\Z")


class Stroke(NamedTuple):
    key: str
    """A character, or a name: `enter`, `c-c`, `s-tab`, `a-enter`, `up`."""
    text: str = ""
    """What it puts into a text; empty for keys that move or act."""
    alone: bool = True
    """Whether it came by itself: what comes together was not typed by hand."""


class Paste(NamedTuple):
    text: str
    cut: bool = False
    """Whether its end was dropped, because it was too long."""


class Decoder:
    """Bytes in, strokes and pastes out; `pending`: it holds back what may be the beginning of more."""

    def __init__(self) -> None:
        self._utf8 = codecs.getincrementaldecoder("utf-8")("replace")
        self._held = ""
        self._pasted: list[str] | None = None
        self._size = 0
        self._burst = ""
        self._alt = _ALT

    def use(self, keys: Iterable[str]) -> None:
        """Also reads the Alt keys among these as one stroke."""
        bytes_ = {name: byte for byte, name in _CONTROLS.items()}
        wanted = (key.removeprefix("a-") for key in keys if key.startswith("a-"))
        self._alt = _ALT | {bytes_.get(key, key) for key in wanted}

    @property
    def pending(self) -> bool:
        return bool(self._held or self._burst)

    @property
    def pasting(self) -> bool:
        return self._pasted is not None

    def feed(self, data: bytes) -> list[Stroke | Paste]:
        text = self._held + self._utf8.decode(data)
        self._held = ""
        found: list[Stroke | Paste] = []
        beside = self._pasted is not None
        while text:
            if self._pasted is not None:
                text = self._paste_on(text, found)
                continue
            typed, begins, text = text.partition(PASTE_BEGINS)
            found += self._type(typed, more=bool(begins))
            if begins:
                self._pasted, self._size, beside = [], 0, True
        if beside:  # what comes with a paste was not typed by hand
            return [item._replace(alone=False) if isinstance(item, Stroke) else item for item in found]
        return found

    def flush(self) -> list[Stroke | Paste]:
        """What was held back, now that nothing follows: an Esc is an Esc, and a burst is a paste."""
        if self._burst:
            burst, self._burst = self._burst, ""
            text = burst.rstrip("\r\n")
            found: list[Stroke | Paste] = [Paste(clean_pasted(text))]
            return [*found, Stroke("enter", alone=False)] if text != burst else found
        held, self._held = self._held, ""
        if not held:
            return []
        if self._pasted is not None:
            self._keep(held)
            return []
        first, *others = _split(held, self._alt)
        return [first._replace(alone=not others), *others]

    def end_paste(self) -> list[Stroke | Paste]:
        """The paste so far, as if its end had come: a terminal may forget to send that."""
        if self._pasted is None:
            return []
        found: list[Stroke | Paste] = []
        self._held = ""
        self._paste_on(PASTE_ENDS, found)
        return found

    def _paste_on(self, text: str, found: list[Stroke | Paste]) -> str:
        assert self._pasted is not None
        inside, ends, rest = text.partition(PASTE_ENDS)
        if not ends:
            cut = next((n for n in range(len(PASTE_ENDS) - 1, 0, -1) if inside.endswith(PASTE_ENDS[:n])), 0)
            inside, self._held = inside[: len(inside) - cut], inside[len(inside) - cut :]
        self._keep(inside)
        if ends:
            found.append(Paste(clean_pasted("".join(self._pasted)), self._size > MAX_PASTE))
            self._pasted = None
        return rest

    def _keep(self, text: str) -> None:
        assert self._pasted is not None
        if self._size < MAX_PASTE:
            self._pasted.append(text[: MAX_PASTE - self._size])
        self._size += len(text)

    def _type(self, text: str, *, more: bool) -> list[Stroke | Paste]:
        """Reads what is not within brackets; several lines in one go are a paste without brackets."""
        if self._burst or _is_burst(text):
            self._burst = (self._burst + text)[:MAX_PASTE]
            return self.flush() if more else []
        if not more and (begun := _BEGUN.search(text)) and begun[0]:
            text, self._held = text[: begun.start()], begun[0]
        strokes = list(_split(text, self._alt))
        if len(strokes) == 1 and not self._held and not more:
            return [*strokes]
        if len(strokes) == 2 and strokes[1].key == "enter" and not self._held and not more:
            return [strokes[0], strokes[1]]  # an answer and the Enter behind it: typed, as far as we can tell
        return [stroke._replace(alone=False) for stroke in strokes]


def _is_burst(text: str) -> bool:
    """More text behind the end of a line: nobody types that in one go."""
    return bool(re.search("[\r\n][^\r\n\x1b]", text))


def _split(text: str, alt: Collection[str]) -> Iterator[Stroke]:
    at = 0
    while at < len(text):
        one = text[at]
        if one != "\x1b":
            yield _typed(one)
            at += 1
        elif match := _CSI.match(text, at) or _REPLY.match(text, at):
            at = match.end()
            if match.re is _CSI and (stroke := _sequence(*match.groups())):
                yield stroke
        elif text.startswith("\x1bO", at) and at + 2 < len(text) and text[at + 2] in _FINALS:
            yield Stroke(_FINALS[text[at + 2]])
            at += 3
        elif text[at + 1 : at + 2] in alt and text[at + 2 : at + 3] in ("", "\x1b") and at + 1 < len(text):
            yield Stroke(f"a-{_typed(text[at + 1]).key}")
            at += 2
        else:
            yield Stroke("esc")
            at += 1


def _typed(one: str) -> Stroke:
    if key := _CONTROLS.get(one):
        return Stroke(key)
    if one < " " or "\x7f" <= one < "\xa0" or "\ud800" <= one < "\ue000":
        return Stroke("ignored")
    return Stroke(one, one)


def _sequence(params: str, between: str, final: str) -> Stroke | None:
    """None for what is no key: answers of the terminal, the mouse, the focus."""
    if between or params[:1] in ("<", "=", ">", "?"):
        return None
    numbers = [part.split(":")[0] for part in params.split(";")]
    held = _held_keys(numbers[1]) if len(numbers) > 1 else ""
    if final in _FINALS:
        return Stroke(held + _FINALS[final])
    if final == "~" and numbers[0] == "27" and len(numbers) > 2:
        return _coded(numbers[2], held)
    if final == "u":
        return _coded(numbers[0], held)
    if final == "~" and (key := _TILDES.get(numbers[0])):
        return Stroke(held + key)
    return None


def name_sent(key: str) -> str:
    """Returns what most terminals send for a key: for Ctrl+I a Tab, for Ctrl+M an Enter."""
    head, ctrl, last = key.rpartition("c-")
    return head + _SAME[last] if ctrl and last in _SAME else key


def _held_keys(number: str) -> str:
    bits = int(number) - 1 if number.isdigit() and 0 < int(number) < 256 else 0
    return ("a-" if bits & 2 else "") + ("c-" if bits & 4 else "") + ("s-" if bits & 1 else "")


def _coded(number: str, held: str) -> Stroke | None:
    """A key as terminals write it that can tell Shift+Enter from Enter."""
    code = int(number) if number.isdigit() else 0
    if code in _CODES:
        return Stroke(held + _CODES[code])
    if not 32 <= code < 0x110000 or 0xD800 <= code < 0xE000 or 0xE000 <= code < 0xF900:
        return None
    one = chr(code)
    if "c-" in held or "a-" in held:
        return Stroke(name_sent(held.replace("s-", "") + one.lower()))
    return Stroke(one.upper() if held else one, one.upper() if held else one)
