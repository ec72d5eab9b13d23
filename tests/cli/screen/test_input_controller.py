"""What keys do, and which of them answer a question: in virtual time, so that holding a key takes none."""

import asyncio
from collections.abc import Sequence
from itertools import permutations

import pytest

from planck.cli.chat.keys import read_key_map
from planck.cli.screen.completion import Choice
from planck.cli.screen.editing import RichEditor
from planck.cli.screen.history import History
from planck.cli.screen.input_controller import InputController
from planck.cli.screen.inputs import Input, Pressed, Submitted
from planck.cli.screen.key_map import ACTIONS, name_key
from planck.cli.screen.keyboard import Decoder
from tests.virtual_time import run_virtual


class Hands:
    """Types; and is the screen, which keeps what it is told."""

    def __init__(self, keys: dict[str, str | list[str]] | None = None, *, rich: bool = True) -> None:
        self.told: list[Input] = []
        self.hints: list[str] = []
        self.done: list[str] = []
        key_map = read_key_map(keys)
        self.controller = InputController(self, key_map, History())
        if rich:
            self.controller.input.use(RichEditor(vi=key_map.vi))
        self._decoder = Decoder()
        self._decoder.use(key_map.keys)

    async def type(self, *chunks: str, pause: float = 0.06) -> None:
        for chunk in chunks:
            for item in self._decoder.feed(chunk.encode()):
                self.controller.take(item)
            self.controller.settle_tab()  # nothing completes a word here
            await asyncio.sleep(min(pause, 0.05))
            for item in self._decoder.flush():
                self.controller.take(item)
            await asyncio.sleep(max(0.0, pause - 0.05))

    def tell(self, happened: Input) -> None:
        self.told.append(happened)

    def hint(self, text: str, *, again: bool = False) -> None:
        self.hints.append(text)

    def print(self, block: str | Sequence[str]) -> None:
        self.done.append(str(block))

    def redraw(self) -> None:
        self.done.append("redraw")

    def suspend(self) -> None:
        self.done.append("suspend")

    def edit_outside(self) -> None:
        self.done.append("editor")


async def ask(hands: Hands, keys: Sequence[str] = "ysan") -> "asyncio.Task[str]":
    """A question that was just painted."""
    asking = asyncio.ensure_future(hands.controller.answer(keys))
    await asyncio.sleep(0)
    hands.controller.arm()
    return asking


async def answer_of(asking: "asyncio.Task[str]") -> str | None:
    """What the question was answered with, after a minute."""
    await asyncio.wait({asking}, timeout=60)
    if asking.done():
        return asking.result()
    asking.cancel()
    await asyncio.wait({asking})
    return None


@pytest.mark.parametrize("key", "ysan")
def test_a_key_typed_once_answers(key: str) -> None:
    async def main() -> None:
        hands = Hands()
        asking = await ask(hands)
        await hands.type(key)
        assert await answer_of(asking) == key
        assert hands.controller.input.text == ""

    run_virtual(main())


NO_ANSWERS: dict[str, tuple[str, ...]] = {
    "enter": ("\r", "\r"),
    "another key": ("x",),
    "a word": ("y", "e", "s"),
    "a word at once": ("yes",),
    "a word and enter": ("yes\r",),
    "a paste": ("\x1b[200~y\x1b[201~",),
    "a paste with lines": ("\x1b[200~hello\ry\rs\ra\r\x1b[201~",),
    "lines without brackets": ("y\ry\r",),
    "a key behind a paste": ("\x1b[200~look\x1b[201~y",),
    "a key behind an arrow": ("\x1b[Ay",),
    "Alt and the key": ("\x1by",),
}


@pytest.mark.parametrize("typed", NO_ANSWERS.values(), ids=NO_ANSWERS.keys())
def test_nothing_else_answers(typed: tuple[str, ...]) -> None:
    async def main() -> None:
        hands = Hands()
        asking = await ask(hands)
        await hands.type(*typed)
        assert await answer_of(asking) is None

    run_virtual(main())


@pytest.mark.parametrize("rate", [0.02, 0.033, 0.1, 0.2])
@pytest.mark.parametrize("before", [0, 1, 5])
def test_a_key_that_is_held_down_answers_nothing(rate: float, before: int) -> None:
    """Pressed before the question was there, or after: from the second on it is the terminal that repeats."""

    async def main() -> None:
        hands = Hands()
        await hands.type(*"y" * before, pause=rate)
        hands.controller.input.take()
        asking = await ask(hands)
        await hands.type(*"y" * 40, pause=rate)
        assert await answer_of(asking) is None

    run_virtual(main())


@pytest.mark.parametrize("rate", [0.02, 0.1, 0.2])
def test_the_last_repetition_of_a_key_that_was_held_before_is_no_answer(rate: float) -> None:
    async def main() -> None:
        hands = Hands()
        await hands.type(*"yyy", pause=rate)
        hands.controller.input.take()
        asking = await ask(hands)
        await hands.type("y")
        assert await answer_of(asking) is None
        assert hands.hints == ["A key held down does not count as an answer: press it once"]

    run_virtual(main())


def test_the_answer_to_one_question_is_none_to_the_next() -> None:
    async def main() -> None:
        hands = Hands()
        first = await ask(hands)
        await hands.type("y", pause=0.3)
        assert first.done()
        second = await ask(hands)
        await hands.type(*"y" * 10, pause=0.03)
        assert await answer_of(second) is None

    run_virtual(main())


def test_who_is_writing_goes_on_writing_and_answers_nothing() -> None:
    async def main() -> None:
        hands = Hands()
        hands.controller.busy = True
        await hands.type(*"only ", pause=0.15)
        asking = await ask(hands)
        await hands.type(*"yes", "\r", pause=0.15)
        assert hands.told == [Submitted("only yes")]
        assert not asking.done()
        await hands.type("n", pause=0.3)
        assert asking.result() == "n"

    run_virtual(main())


def test_a_text_may_be_begun_at_a_question() -> None:
    async def main() -> None:
        hands = Hands()
        asking = await ask(hands)
        await hands.type(*"sure, but first", pause=0.15)
        assert hands.controller.input.text == "sure, but first"
        assert await answer_of(asking) is None

    run_virtual(main())


@pytest.mark.parametrize("typed", ["y", "n", "\x1b", "\t"])
@pytest.mark.parametrize("state", ["search", "menu"])
def test_what_is_typed_into_a_search_or_a_list_answers_nothing(state: str, typed: str) -> None:
    async def main() -> None:
        hands = Hands()
        if state == "search":
            await hands.type("\x12")
        else:
            await hands.type("/co", pause=2.0)
            hands.controller.offer([Choice(1, "compact ")])
        if state == "menu" and typed in "yn":
            return  # the list is of what was written: a key that comes much later is an answer
        asking = await ask(hands, ["y", "n", "esc", "tab"])
        await hands.type(typed)
        assert await answer_of(asking) is None

    run_virtual(main())


def test_ctrl_c_answers_at_once_where_it_may() -> None:
    async def main() -> None:
        hands = Hands()
        asking = asyncio.ensure_future(hands.controller.answer(["y", "c-c"]))
        await asyncio.sleep(0)
        hands.controller.arm()
        await hands.type("\x03", pause=0.01)
        assert asking.done()
        assert asking.result() == "c-c"
        assert hands.told == []

    run_virtual(main())


@pytest.mark.parametrize(
    ("typed", "busy", "expected"),
    [
        (("hello", "\r"), False, [Submitted("hello")]),
        (("hello", "\r"), True, [Submitted("hello")]),
        (("hello", "\t"), True, [Submitted("hello", True)]),
        (("hello", "\t"), False, []),
        (("a", "\n", "b", "\x1b\r", "c", "\r"), False, [Submitted("a\nb\nc")]),
        (("a\\", "\r", "b", "\r"), False, [Submitted("a\nb")]),
        (("  ", "\r"), False, []),
        (("\x1b",), True, [Pressed("interrupt")]),
        (("draft", "\x1b", "x", "\r"), True, [Pressed("interrupt"), Submitted("draftx")]),
        (("\x1b", "\x1b"), True, [Pressed("interrupt"), Pressed("interrupt")]),
        (("\x1b",), False, []),
        (("\x1b", "\x1b"), False, [Pressed("rewind")]),
        (("\x1b\x1b",), False, [Pressed("rewind")]),
        (("\x1b", "x", "\x1b"), False, []),
        (("draft", "\x03", "\x03"), True, [Pressed("cleared"), Pressed("stop")]),
        (("\x03",), False, []),
        (("\x03", "\x03"), False, [Pressed("quit")]),
        (("draft", "\x03", "\x03"), False, [Pressed("cleared")]),
        (("\x04",), False, [Pressed("exit")]),
        (("ab", "\x1b[D", "\x04", "\r"), False, [Submitted("a")]),
        (("\x1b[Z", "\x0f", "\x14", "?"), False, [Pressed(a) for a in ("mode", "output", "team", "keys")]),
        (("why?", "\r"), False, [Submitted("why?")]),
        (("!ls", "\r"), False, [Submitted("!ls")]),
    ],
)
def test_the_table_of_keys(typed: tuple[str, ...], busy: bool, expected: list[Input]) -> None:
    async def main() -> None:
        hands = Hands()
        hands.controller.busy = busy
        await hands.type(*typed)
        assert hands.told == expected

    run_virtual(main())


def test_twice_is_twice_within_two_seconds() -> None:
    async def main() -> None:
        hands = Hands()
        await hands.type("\x03", "\x03", pause=2.5)
        assert hands.told == []
        assert hands.hints == ["Press Ctrl+C again to exit"] * 2

    run_virtual(main())


def test_what_ctrl_c_clears_is_in_the_history_and_up_edits_what_waits() -> None:
    async def main() -> None:
        hands = Hands()
        await hands.type("a thought", "\x03", "\x1b[A")
        assert hands.controller.input.text == "a thought"
        await hands.type("\x03")
        hands.controller.queued = 1
        await hands.type("\x1b[A")
        assert hands.told == [Pressed("cleared"), Pressed("cleared"), Pressed("queued")]

    run_virtual(main())


def test_what_was_changed_before_the_full_editor_is_there_is_sent_as_it_was_meant() -> None:
    async def main() -> Hands:
        hands = Hands(rich=False)
        await hands.type("a", "b", "\x1b[D", "c", "\r", "x", "\x1b[D", "y")
        assert hands.told == []
        hands.controller.use_editor(RichEditor())
        return hands

    hands = run_virtual(main())
    assert hands.told == [Submitted("acb", False)]
    assert hands.controller.input.text == "yx"


def test_tab_completes_while_a_list_is_open_and_esc_closes_it() -> None:
    async def main() -> None:
        hands = Hands()
        hands.controller.busy = True
        await hands.type("/co")
        hands.controller.offer([Choice(1, "compact "), Choice(1, "cost ")])
        await hands.type("\x1b[B", "\x1b[B", "\t")
        assert hands.controller.input.text == "/cost "
        hands.controller.offer([Choice(1, "x")])
        await hands.type("\x1b")
        assert not hands.controller.menu.open
        assert hands.told == []

    run_virtual(main())


def test_keys_are_changed_and_mistakes_are_told_and_harmless() -> None:
    key_map = read_key_map(
        {"interrupt": ["Ctrl+X", "F"], "serch": "c-s", "team": "hyper-q", "editing": "ed", "bell": "off"}
    )
    assert key_map.keys["c-x"] == key_map.keys["f"] == "interrupt"
    assert "esc" not in key_map.keys
    assert key_map.keys["c-t"] == "team"
    assert not key_map.bell
    assert "Did you mean search?" in key_map.problems[0]
    assert [problem.split(". ")[0] for problem in key_map.problems] == [
        "keys: unknown action 'serch'",
        "keys: 'hyper-q' is not a key, so team stays on c-t",
        "keys: editing must be 'emacs' or 'vi', not 'ed'.",
    ]
    assert set(read_key_map().keys.values()) == set(ACTIONS)


@pytest.mark.parametrize(
    ("keys", "named"),
    [
        ({}, "Esc"),
        ({"interrupt": "c-x"}, "Ctrl+X"),
        ({"interrupt": "a-enter"}, "Alt+Enter"),
        ({"clear": "esc"}, ""),
    ],
)
def test_a_key_is_named_as_a_person_writes_it(keys: dict[str, str], named: str) -> None:
    assert name_key(read_key_map(keys), "interrupt") == named


_CSI = {"up": "A", "down": "B", "right": "C", "left": "D", "home": "H", "end": "F"}
_TILDES = {"insert": 2, "delete": 3, "pageup": 5, "pagedown": 6}
_CODES = {"enter": 13, "tab": 9, "esc": 27, "backspace": 127}


def spell_out(held: tuple[str, ...], last: str) -> str:
    """What a terminal sends for a key; where every terminal can, as the oldest do."""
    number = 1 + sum({"s": 1, "a": 2, "c": 4}[one] for one in held)
    if last in _CSI:
        return f"\x1b[1;{number}{_CSI[last]}"
    if last in _TILDES:
        return f"\x1b[{_TILDES[last]};{number}~"
    if last in _CODES:
        return chr(_CODES[last]) if not held else f"\x1b[{_CODES[last]};{number}u"
    old = {(): last, ("s",): last.upper(), ("a",): f"\x1b{last}"}
    if last.isalpha() or last == "[":  # "^[" is how Esc is written
        old |= {("c",): chr(ord(last.upper()) - 64), ("a", "c"): f"\x1b{chr(ord(last.upper()) - 64)}"}
    seen = old.get(tuple(sorted(held)), "")
    return seen if seen not in ("", "\x1b[", "\x1bO", "\x1b\x1b") else f"\x1b[{ord(last)};{number}u"


def test_every_key_that_can_be_chosen_does_what_it_was_chosen_for() -> None:
    """Each key with each set of Ctrl, Alt and Shift, in each order: it acts, or the user is told why not."""

    async def main() -> list[str]:
        dead, plain = [], "abcdefghijklmnopqrstuvwxyz0123456789-[]/.,;?@^_"
        for last in (*_CSI, *_TILDES, *_CODES, *plain):
            for held in (one for count in range(4) for one in permutations("acs", count)):
                key = "-".join((*held, last))
                key_map = read_key_map({"team": key})
                if key_map.problems:
                    assert repr(key) in key_map.problems[0]
                    continue
                hands = Hands({"team": key}, rich=False)
                await hands.type(spell_out(held, last))
                if hands.told != [Pressed("team")]:
                    dead.append(key)
        return dead

    assert run_virtual(main()) == []


def test_a_key_that_can_t_do_its_work_is_told() -> None:
    refused = read_key_map({"submit": "x", "queue": ["c-x", "q"], "team": "c-o", "output": "c-o"})
    assert [problem.split(". ")[0] for problem in refused.problems] == [
        "keys: 'x' is typed into the message, so submit stays on enter",
        "keys: 'q' is typed into the message, so queue stays on tab",
        "keys: c-o is set for team and for output, which has it now",
    ]
    assert refused.keys["c-o"] == "output"


def test_a_changed_key_does_what_the_table_says() -> None:
    async def main() -> None:
        hands = Hands({"queue": "c-x", "newline": "tab", "keys": "h"})
        hands.controller.busy = True
        await hands.type("h", "a", "\t", "h", "\x18")
        assert hands.told == [Pressed("keys"), Submitted("a\nh", True)]

    run_virtual(main())


def test_a_hint_names_the_key_that_was_pressed() -> None:
    async def main() -> None:
        hands = Hands({"interrupt": ["c-x", "esc"], "clear": "c-y"})
        await hands.type("\x18", "\x19", "\x1b")
        assert hands.hints == [
            "Press Ctrl+X again to rewind to a message",
            "Press Ctrl+Y again to exit",
            "Press Esc again to rewind to a message",
        ]
        assert hands.told == []
        await hands.type("\x18", "\x18", "\x19", "\x19")
        assert hands.told == [Pressed("rewind"), Pressed("quit")]

    run_virtual(main())


def test_in_vi_esc_leaves_the_insertion_first() -> None:
    async def main() -> None:
        hands = Hands({"editing": "vi"})
        hands.controller.busy = True
        await hands.type("text", "\x1b")
        assert hands.told == []
        await hands.type("\x1b")
        assert hands.told == [Pressed("interrupt")]

    run_virtual(main())
