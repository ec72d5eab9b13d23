"""The user's own editor on what stands in the input."""

import asyncio
from pathlib import Path

from planck.headless import read_environment
from planck.own_code import safe_path
from planck.records.visible import clean_pasted


async def edit_in_program(text: str) -> str | None:
    """The text as it was left; None where no editor can be started. The terminal is lent to it."""
    import shlex
    import shutil
    import tempfile

    environment = safe_path(read_environment())
    words = shlex.split(environment.get("VISUAL") or environment.get("EDITOR") or "vi")
    editor = shutil.which(words[0], path=environment["PATH"]) if words else None
    if editor is None:
        return None
    with tempfile.TemporaryDirectory(prefix="planck-") as folder:
        file = Path(folder) / "message.md"
        file.write_text(text, encoding="utf-8", errors="replace")
        try:
            program = await asyncio.create_subprocess_exec(editor, *words[1:], str(file), env=environment)
        except (OSError, ValueError):
            return None
        if await program.wait() != 0:
            return text  # left without saving, as editors say it
        return clean_pasted(file.read_text(encoding="utf-8", errors="replace")).rstrip("\n")
