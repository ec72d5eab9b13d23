"""Hooks that another agent's settings have in this project, and that do not run here."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from planck.headless.hooks.reading import read_hooks
from planck.records.amounts import say
from planck.workspace.paths.regular import read_regular

FOLDER = ".claude"
_FILES = (f"{FOLDER}/settings.json", f"{FOLDER}/settings.local.json")
_MAX_BYTES = 1 << 20


def find_ignored_hooks(workspace: Path, configured: Mapping[str, Any]) -> Iterator[str]:
    """Yields one line for each file with hooks that the configuration does not have: a guard among them
    guards nothing."""
    ours = {(event, hook.command) for event, hooks in read_hooks(configured)[0].items() for hook in hooks}
    for name in _FILES:
        try:
            raw = json.loads(read_regular(workspace / name, _MAX_BYTES))
        except (OSError, ValueError, RecursionError):
            continue  # `planck init` says why
        written = raw.get("hooks") if isinstance(raw, dict) else None
        if not isinstance(written, dict) or not written:
            continue
        known, problems = read_hooks(written)
        missing = [(event, one.command) for event, hooks in known.items() for one in hooks]
        missing = [one for one in missing if one not in ours]
        if not missing and (any(known.values()) or not problems):
            continue
        events = ", ".join(dict.fromkeys(event for event, _ in missing)) or ", ".join(map(str, written))
        count = len(missing) or len(written)
        text = (
            f"{name}: {say('hooks', count)} ({events}) {'does' if count == 1 else 'do'} not run, because "
            "Planck does not read this file. Copy its `hooks` object into .planck/config.json, then trust "
            "the folder."
        )
        kinds = [problem.removeprefix("hooks: ").rstrip(".") for problem in problems]
        yield f"{text} {'; '.join(kinds)}." if kinds else text
