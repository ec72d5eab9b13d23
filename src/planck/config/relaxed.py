"""JSON as people write it: with comments and trailing commas."""

import json
import re
from typing import Any

_TOKEN = re.compile(r'"(?:\\.|[^"\\])*"|//[^\n]*|/\*.*?\*/|,(?=(?:\s|//[^\n]*|/\*.*?\*/)*[}\]])', re.DOTALL)


def parse_relaxed(text: str) -> Any:
    """Raises ValueError (or RecursionError) as `json.loads` does, at the place where the file is wrong."""
    return json.loads(_TOKEN.sub(_blank, text))


def _blank(found: re.Match[str]) -> str:
    """What is no JSON becomes as many blanks, so that lines and columns of a mistake stay right."""
    token = found[0]
    return token if token.startswith('"') else re.sub(r"[^\n]", " ", token)
