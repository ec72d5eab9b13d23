"""Phrases that read like a translation stay out of every text that a person or a model reads."""

import re

import pytest

from scripts.list_strings import list_texts

PHRASES = {
    r"(?<!there )\b(?:is|are|was|were) no (?!longer|more than|fewer|less|later|earlier|larger)\w": "is not a",
    r"\bwhoever\b|\bwhatever\b|\bwhichever\b": "name who or what it is",
    r"\bin the place of\b|\bin place of\b": "replace, instead of",
    r"\b(?:than|to|of|as|with|is|and|or|for) (?:that|those) of\b": "repeat the noun",
    r"\bwhat is none\b|\bas it has it\b|\bwhat it said above\b|\ba thing of its own\b": "name the thing",
    r"\bby itself\b|\bby themselves\b": "automatically",
    r"\btak(?:e|es|en|ing) (?:\w+ )?back\b|\btook back\b": "undo",
    r"\bgo(?:es|ing)? on\b|\bwent on\b": "continue, resume",
    r"\bmend(?:s|ed|ing)?\b": "fix",
    r"\bfor good\b": "permanently",
    r"\bto and fro\b|\bas said\b|\bit is said\b": "say who says what",
    r"\bof (?:yours|ours|theirs|mine)\b": "your, our",
    r"\ba blank before\b|\bbehind it\b": "a space before, after it",
    r"\bnothing is wrong with\b": "OK",
    r"\bcan not\b": "cannot",
    r"\bwherever\b|\bwhenever\b|\bwhat there is\b|\banew\b|\bafresh\b": "name the place, time or thing",
    r"\bits last words\b|\bwhat it said\b|\bwhat was (?:said|told)\b": "last message, the messages",
    r"\bbeside (?:it|them|those|that)\b|\bright behind\b": "in addition to, directly after",
}
ALLOWED = {
    "Go on with what was interrupted.": "fixed by the contract (§5)",
    "Go on with the plan.": "fixed by the contract (§5)",
    "; go on without it, or tell the user to ": "of logs of earlier versions",
}
"""A part of a text that may contain such a phrase, and why."""
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


def test_every_exception_is_still_in_use() -> None:
    assert [piece for piece in ALLOWED if not any(piece in text.text for text in TEXTS)] == []


TEXTS = [text for text in list_texts() if text.path != SPANISH]
