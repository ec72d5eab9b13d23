"""The user's own keys: what of their table holds, and what is said of a key that can't be had."""

from collections.abc import Mapping, Sequence

from planck.cli.chat.intent import suggest
from planck.cli.screen.key_map import ACTIONS, KeyMap, is_key, read_key

_NEED_TEXT = frozenset({"submit", "queue"})
"""Nothing to do in an empty input, where alone a letter is a key."""


def read_key_map(wanted: Mapping[str, str | Sequence[str]] | None = None) -> KeyMap:
    """The table with the user's changes; a mistake in one leaves that action as it was."""
    chosen = {action: keys for action, (keys, _) in ACTIONS.items()}
    problems: list[str] = []
    taken: dict[str, str] = {}
    vi, bell = False, True
    for action, value in (wanted or {}).items():
        keys = [value] if isinstance(value, str) else list(value)
        if action == "editing":
            vi = keys == ["vi"]
            if keys not in (["vi"], ["emacs"]):
                problems.append(f"keys: editing must be 'emacs' or 'vi', not {value!r}.")
        elif action == "bell":
            bell = keys != ["off"]
            if keys not in (["on"], ["off"]):
                problems.append(f"keys: bell must be 'on' or 'off', not {value!r}.")
        elif action not in ACTIONS:
            known = [*ACTIONS, "editing", "bell"]
            problems.append(
                f"keys: unknown action {action!r}.{suggest(action, known)} Actions: {', '.join(known)}."
            )
        elif wrong := [key for key in keys if not is_key(read_key(key))]:
            problems.append(
                f"keys: {wrong[0]!r} is not a key, so {action} stays on {', '.join(chosen[action])}. "
                "Write keys like c-x, a-enter, s-tab, f, up."
            )
        elif action in _NEED_TEXT and (letters := [key for key in keys if len(read_key(key)) == 1]):
            problems.append(
                f"keys: {letters[0]!r} is typed into the message, so {action} stays on "
                f"{', '.join(chosen[action])}. Use a key such as c-x."
            )
        else:
            chosen[action] = tuple(read_key(key) for key in keys)
            for key in chosen[action]:
                other = taken.setdefault(key, action)
                if other != action:
                    problems.append(
                        f"keys: {key} is set for {other} and for {action}, which has it now. "
                        f"Choose another key for {other}."
                    )
                taken[key] = action
    table: dict[str, str] = {}
    order = [*(action for action in chosen if action not in (wanted or {})), *(wanted or {})]
    for action in (one for one in order if one in chosen):  # the user's come last, and win
        table |= dict.fromkeys(chosen[action], action)
    return KeyMap(table, vi, bell, tuple(problems))
