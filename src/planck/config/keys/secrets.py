"""Secrets that stand in a configuration are left out where it is shown."""

import re
from collections.abc import Callable
from typing import Any

from planck.config.keys.credentials import SECRETIVE

HIDDEN = "…"

_WORDS = "|".join((*SECRETIVE, "passphrase", "(?<![a-z])(?:pass|pat|jwt|sig)(?![a-z])"))
is_secretive: Callable[[str], re.Match[str] | None] = re.compile(_WORDS, re.IGNORECASE).search
"""Whether a name says that its value is a secret."""
_IN_TEXT = (
    # a name and a password, or a token alone, before the host of an address
    (r"(?P<keep>\b[a-z][a-z0-9+.-]*://)[^\s/?#'\"]+@", r"\g<keep>" + HIDDEN + "@"),
    (r"(?P<keep>\b(?:bearer|basic)\s+)[^\s'\"]+", r"\g<keep>" + HIDDEN),
    (r"(?P<keep>\bauthorization['\"]?\s*[=:]\s*['\"]?[a-z][a-z-]*\s+)[^\s'\"]+", r"\g<keep>" + HIDDEN),
    # NAME=value, --name=value, name: value, ?name=value
    (rf"(?P<keep>[\w.-]*(?:{_WORDS})[\w.-]*['\"]?\s*[=:]\s*['\"]?)[^\s'\"&;,…]+", r"\g<keep>" + HIDDEN),
    # --name value
    (rf"(?P<keep>(?<![\w-])--?[\w-]*(?:{_WORDS})[\w-]*\s+['\"]?)[^\s'\"-][^\s'\"]*", r"\g<keep>" + HIDDEN),
    (r"(?P<keep>(?<![\w-])(?:-u\s*|--user[=\s]\s*)['\"]?[^\s:'\"]+:)[^\s'\"]+", r"\g<keep>" + HIDDEN),
    # what vendors' keys look like, and what looks like nothing else
    (
        r"\b(?:sk|pk|rk|ghp|gho|ghu|ghs|ghr|github_pat|glpat|xox[a-z]|hf|npm|pypi|AKIA|ASIA|AIza|eyJ)[-_\w.]{12,}",
        HIDDEN,
    ),
    (r"(?<![\w/.-])(?=\w*[a-z])(?=\w*[A-Z])(?=\w*\d)\w{24,}(?![\w/.-])", HIDDEN),
    (
        r"(?P<keep>\bhttps?://[^\s?#'\"]*/)(?=[\w:-]*[a-z])(?=[\w:-]*[A-Z])(?=[\w:-]*\d)[\w:-]{20,}",
        r"\g<keep>" + HIDDEN,
    ),
    (r"(?<![\w/+.-])(?!/)(?=[^a-z]*[a-z])(?=[^A-Z]*[A-Z])(?=\D*\d)[A-Za-z0-9/+]{40}(?![\w/+.-])", HIDDEN),
    (r"(?<![\w/.-])[0-9a-f]{32,}(?![\w/.-])", HIDDEN),
)
_COMPILED = tuple(
    (re.compile(pattern, re.IGNORECASE if "(?=" not in pattern and "AKIA" not in pattern else 0), instead)
    for pattern, instead in _IN_TEXT
)


def hide_in_text(text: str) -> str:
    """The text without passwords in addresses, values of secretive names, and what looks like a key."""
    for pattern, instead in _COMPILED:
        text = pattern.sub(instead, text)
    return text


def hide(value: Any, name: str = "") -> Any:
    """The same for what JSON holds: all of `headers` and `env`, and arguments behind a secretive option."""
    if isinstance(value, dict):
        if name in ("headers", "env"):
            return {
                key: HIDDEN if isinstance(inner, str) else hide(inner, key) for key, inner in value.items()
            }
        return {key: hide(inner, key) for key, inner in value.items()}
    if isinstance(value, list):
        return hide_in_arguments(value)
    if isinstance(value, str) and value:
        return HIDDEN if is_secretive(name) else hide_in_text(value)
    return value


def hide_in_arguments(arguments: list[Any]) -> list[Any]:
    """Of a program: also the word behind `--token` or `Bearer`."""
    shown, before = [], ""
    scheme = False  # the word before was the `Token` of `Authorization: Token x`
    for argument in arguments:
        text = argument if isinstance(argument, str) else ""
        if text and not text.startswith("-") and (scheme or _announces_secret(before)):
            shown.append(HIDDEN)
            scheme = before.lower().lstrip("'\"") == "authorization:" and text.isalpha()
        elif before in ("-u", "--user") and ":" in text:
            shown.append(f"{text.partition(':')[0]}:{HIDDEN}")
        else:
            shown.append(hide(argument))
        before = text
    return shown


def _announces_secret(word: str) -> bool:
    option = (word.startswith("-") and "=" not in word) or word.endswith(":")
    return word.lower() in ("bearer", "basic") or (option and bool(is_secretive(word)))
