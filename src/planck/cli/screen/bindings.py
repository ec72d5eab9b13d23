"""Which key does what: the table that the user may change, and what is said of a key that can't be had."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from planck.records.nearest import did_you_mean

ACTIONS: dict[str, tuple[tuple[str, ...], str]] = {
    "submit": (("enter",), "send; while it works: steer it at its next step"),
    "newline": (("c-j", "a-enter", "s-enter"), "a new line in the input; also \\ and Enter"),
    "queue": (("tab",), "complete while a list is open; else send when it is done"),
    "interrupt": (("esc",), "end the turn; twice while nothing goes on: go back to a message"),
    "clear": (("c-c",), "clear the input, else end the turn, else twice: leave"),
    "exit": (("c-d",), "leave, if the input is empty"),
    "mode": (("s-tab",), "the next permission mode"),
    "search": (("c-r",), "search what was entered before"),
    "output": (("c-o",), "the whole output of the last tool"),
    "team": (("c-t",), "the team: who does what, and waits for whom"),
    "editor": (("c-g",), "edit the input with $VISUAL or $EDITOR"),
    "older": (("up", "c-p"), "the queued message, else what was entered before"),
    "newer": (("down", "c-n"), "what was entered after that"),
    "redraw": (("c-l",), "paint again"),
    "suspend": (("c-z",), "back to the shell; fg goes on"),
    "keys": (("?",), "these keys, if the input is empty"),
}
"""By action: its keys unless the user says otherwise, and what it does."""
_NAMED = frozenset(
    {"enter", "tab", "esc", "backspace", "up", "down", "left", "right", "home", "end"}
    | {"insert", "delete", "pageup", "pagedown"}
)


class Settings(NamedTuple):
    keys: dict[str, str]
    """Action by key."""
    vi: bool = False
    bell: bool = True
    problems: tuple[str, ...] = ()
    """What of the user's table can't be had, each with the way out."""


def name_key(settings: Settings, action: str) -> str:
    """The first key of an action as a person writes it: Esc, Ctrl+X; empty where it has none."""
    return spell_key(next((key for key, does in settings.keys.items() if does == action), ""))


def spell_key(key: str) -> str:
    *held, last = key.split("-") if len(key) > 1 else [key]
    names = {"c": "Ctrl", "a": "Alt", "s": "Shift"}
    return "+".join(
        [*(names[one] for one in held), last.upper() if held and len(last) == 1 else last.title()]
    )


def read_settings(wanted: Mapping[str, str | Sequence[str]] | None = None) -> Settings:
    """The table with the user's changes; a mistake in one leaves that action as it was."""
    chosen = {action: keys for action, (keys, _) in ACTIONS.items()}
    problems: list[str] = []
    vi, bell = False, True
    for action, value in (wanted or {}).items():
        keys = [value] if isinstance(value, str) else list(value)
        if action == "editing":
            vi = keys == ["vi"]
            if keys not in (["vi"], ["emacs"]):
                problems.append(f"keys: editing is 'emacs' or 'vi', not {value!r}")
        elif action == "bell":
            bell = keys != ["off"]
            if keys not in (["on"], ["off"]):
                problems.append(f"keys: bell is 'on' or 'off', not {value!r}")
        elif action not in ACTIONS:
            known = [*ACTIONS, "editing", "bell"]
            problems.append(f"keys: {action!r} is no action{did_you_mean(action, known)}; `?` lists them")
        elif wrong := [key for key in keys if not _is_key(_canonical(key))]:
            problems.append(
                f"keys: {wrong[0]!r} is no key, so {action} stays on {', '.join(chosen[action])}; "
                "keys are written like c-x, a-enter, s-tab, f, up"
            )
        else:
            chosen[action] = tuple(_canonical(key) for key in keys)
    table: dict[str, str] = {}
    for action in sorted(
        chosen, key=lambda action: action in (wanted or {})
    ):  # the user's come last, and win
        table |= dict.fromkeys(chosen[action], action)
    return Settings(table, vi, bell, tuple(problems))


def _canonical(key: str) -> str:
    """`Ctrl+X`, `C-x` and `^x` are one key."""
    key = key.strip().lower().replace("ctrl", "c").replace("alt", "a").replace("meta", "a")
    key = key.replace("shift", "s").replace("escape", "esc").replace("return", "enter")
    key = "c-" + key[1:] if len(key) == 2 and key[0] == "^" else key
    head, plus, last = key.rpartition("+")
    return head.replace("+", "-") + "-" + last if plus and last and head else key


def _is_key(key: str) -> bool:
    *held, last = key.split("-") if len(key) > 1 else [key]
    if any(one not in ("c", "a", "s") for one in held):
        return False
    return last in _NAMED or (len(last) == 1 and last.isprintable() and last != " ")
