"""Trust comes from the user's word or from an examination of the files: no code path makes it up."""

import ast
from pathlib import Path

import planck

SOURCE = Path(planck.__file__).parent
WORDS = {
    "config/project.py": {"this_run", "trust"},
    "headless/planck.py": {"given['trust']"},
    "headless/pool/pool.py": {"self._planck.trust if place.own else False"},
    "cli/session.py": {"trust or options.trust"},
    "cli/ask/trust.py": {"options.trust", "key == 'o'"},
    "cli/commands/serve.py": {"options.trust"},
    "cli/place.py": {"getattr(options, 'trust', False)"},
}
"""Where trust is handed on, and what is handed on: what the user said, or what the same folder has."""


def find_givers() -> dict[str, set[str]]:
    """Returns each value that a call gives as trust to what holds it, by file."""
    found: dict[str, set[str]] = {}
    for file in sorted(SOURCE.rglob("*.py")):
        text = file.read_text()
        if "trust=" not in text and "this_run=" not in text:
            continue  # parsing all of them takes seconds
        for node in ast.walk(ast.parse(text)):
            if not isinstance(node, ast.Call):
                continue
            name = ast.unparse(node.func).rpartition(".")[2]
            if name in ("Planck", "Project", "Trust", "_open_trust", "run", "agent"):
                for word in node.keywords:
                    if word.arg in ("trust", "this_run"):
                        found.setdefault(str(file.relative_to(SOURCE)), set()).add(ast.unparse(word.value))
    return found


def test_trust_is_passed_on_only_from_a_trust_that_was_asked_for() -> None:
    unknown = {file: values - WORDS.get(file, set()) for file, values in find_givers().items()}
    assert {file: values for file, values in unknown.items() if values} == {}
