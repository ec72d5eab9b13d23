"""Phrases of a bad translation do not come back into what a person or a model reads (`scripts/list_strings.py`)."""

import re

import pytest

from scripts.list_strings import list_texts

PHRASES = {
    r"(?<!there )\b(?:is|are|was|were) no (?!longer|more than|fewer|less|later|earlier|larger)\w": "is not a ...",
    r"\bwhoever\b|\bwhatever\b|\bwhichever\b": "name who or what it is",
    r"\bin the place of\b|\bin place of\b": "replace, instead of",
    r"\b(?:than|to|of|as|with|is|and|or|for) (?:that|those) of\b": "repeat the noun",
    r"\bwhat is none\b|\bas it has it\b|\bwhat it said above\b|\ba thing of its own\b": "name the thing",
    r"\bby itself\b|\bby themselves\b": "automatically",
    r"\btak(?:e|es|en|ing) (?:\w+ )?back\b|\btook back\b": "undo",
    r"\bgo(?:es|ing)? on with\b|\bwent on with\b": "continue, resume",
    r"\bmend(?:s|ed|ing)?\b": "fix",
    r"\bfor good\b": "permanently",
    r"\bto and fro\b|\bas said\b|\bit is said\b": "say who says what",
    r"\bof (?:yours|ours|theirs|mine)\b": "your, our",
    r"\ba blank before\b|\bbehind it\b": "a space before, after it",
    r"\bnothing is wrong with\b": "OK",
    r"\bcan not\b": "cannot",
}
ALLOWED: dict[str, str] = {}
"""A piece of a text that may have such a phrase, and why."""
SPANISH = "page/i18n/es.js"


@pytest.mark.parametrize("phrase", PHRASES)
def test_texts_use_ordinary_english(phrase: str) -> None:
    pattern = re.compile(phrase, re.IGNORECASE)
    found = [
        str(text)
        for text in TEXTS
        if pattern.search(text.text) and not any(piece in text.text for piece in ALLOWED)
    ]
    assert not found, f"write instead: {PHRASES[phrase]}\n" + "\n".join(found)


def test_what_is_allowed_still_stands_somewhere() -> None:
    assert [piece for piece in ALLOWED if not any(piece in text.text for text in TEXTS)] == []


TEXTS = [text for text in list_texts() if text.path != SPANISH]
