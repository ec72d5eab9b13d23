"""The user's own keys: what of their table holds, and what is said of a key that can't be had."""

from collections.abc import Mapping, Sequence

from planck.cli.chat.intent import suggest
from planck.cli.screen.key_map import ACTIONS, KeyMap, is_key, read_key


def read_key_map(wanted: Mapping[str, str | Sequence[str]] | None = None) -> KeyMap:
    """The table with the user's changes; a mistake in one leaves that action as it was."""
    chosen = {action: keys for action, (keys, _) in ACTIONS.items()}
    problems: list[str] = []
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
        else:
            chosen[action] = tuple(read_key(key) for key in keys)
    table: dict[str, str] = {}
    for action in sorted(
        chosen, key=lambda action: action in (wanted or {})
    ):  # the user's come last, and win
        table |= dict.fromkeys(chosen[action], action)
    return KeyMap(table, vi, bell, tuple(problems))
