"""Which key does what unless the user says otherwise; how keys are written."""

from typing import NamedTuple

from planck.cli.screen.keyboard import name_sent

ACTIONS: dict[str, tuple[tuple[str, ...], str]] = {
    "submit": (("enter",), "Send; while agents work, steer them at their next step"),
    "newline": (("c-j", "a-enter", "s-enter"), "Insert a new line (or type \\ and press Enter)"),
    "queue": (("tab",), "Complete the word; while agents work, queue the message"),
    "interrupt": (("esc",), "Interrupt the turn; at a question, deny; when idle, press twice to rewind"),
    "clear": (
        ("c-c",),
        "Clear the input, else interrupt, also at a question; when idle, press twice to exit",
    ),
    "exit": (("c-d",), "Exit if the input is empty, twice if that stops something; at a question, deny"),
    "mode": (("s-tab",), "Switch to the next permission mode"),
    "search": (("c-r",), "Search the input history"),
    "output": (("c-o",), "Show the full output of the latest tool calls"),
    "team": (("c-t",), "Show the team: who does what and who waits for whom"),
    "editor": (("c-g",), "Edit the input in $VISUAL or $EDITOR"),
    "older": (("up", "c-p"), "Edit the last queued message, else go to the previous input"),
    "newer": (("down", "c-n"), "Go to the next input"),
    "redraw": (("c-l",), "Redraw the screen"),
    "suspend": (("c-z",), "Suspend to the shell; fg resumes"),
    "keys": (("?",), "Show these keys if the input is empty"),
}
"""By action: its keys unless the user says otherwise, and what it does."""
_NAMED = frozenset(
    {"enter", "tab", "esc", "backspace", "up", "down", "left", "right", "home", "end"}
    | {"insert", "delete", "pageup", "pagedown"}
)


class KeyMap(NamedTuple):
    keys: dict[str, str]
    """Action by key."""
    vi: bool = False
    bell: bool = True
    problems: tuple[str, ...] = ()
    """What of the user's table can't be had, each with the way out."""


def name_key(key_map: KeyMap, action: str) -> str:
    """The first key of an action as a person writes it: Esc, Ctrl+X; empty where it has none."""
    return spell_key(next((key for key, does in key_map.keys.items() if does == action), ""))


def spell_key(key: str) -> str:
    held, last = _split_key(key)
    if not held and len(last) == 1 and last.isupper():
        held, last = ["s"], last.lower()
    names = {"c": "Ctrl", "a": "Alt", "s": "Shift"}
    return "+".join(
        [*(names[one] for one in held), last.upper() if held and len(last) == 1 else last.title()]
    )


DEFAULT = KeyMap({key: action for action, (keys, _) in ACTIONS.items() for key in keys})


def read_key(key: str) -> str:
    """`Ctrl+X`, `C-x` and `^x` are one key."""
    key = key.strip().lower().replace("ctrl", "c").replace("alt", "a").replace("meta", "a")
    key = key.replace("shift", "s").replace("escape", "esc").replace("return", "enter")
    key = "c-" + key[1:] if len(key) == 2 and key[0] == "^" else key
    head, plus, last = key.rpartition("+")
    return _sort_held(head.replace("+", "-") + "-" + last if plus and last and head else key)


def _sort_held(key: str) -> str:
    """As the decoder names it: Alt, Ctrl, Shift, in this order; Shift and a letter are a capital."""
    held, last = _split_key(key)
    if any(one not in ("c", "a", "s") for one in held):
        return key
    if held == ["s"] and len(last) == 1 and last.isalpha():
        return last.upper()
    return name_sent("".join(f"{one}-" for one in ("a", "c", "s") if one in held) + last)


def _split_key(key: str) -> tuple[list[str], str]:
    """`c--` is Ctrl and a minus."""
    if len(key) < 2:
        return [], key
    *held, last = (*key[:-2].split("-"), "-") if key.endswith("--") else key.split("-")
    return held, last


def is_key(key: str) -> bool:
    """Whether a terminal can send it: with Ctrl or Alt, Shift and a letter are not told apart from it."""
    held, last = _split_key(key)
    if any(one not in ("c", "a", "s") for one in held):
        return False
    if last in _NAMED:
        return True
    return len(last) == 1 and last.isprintable() and last != " " and "s" not in held
