"""The reference pages, made from the code: `make reference` writes them, a test holds them current."""

import json
import sys
from pathlib import Path

from planck.headless.settings import schema


def pages() -> dict[str, str]:
    """File names below docs/reference, and what must stand in them."""
    return {"config.schema.json": json.dumps(schema(), indent=2) + "\n"}


def main(folder: Path) -> None:
    for name, text in pages().items():
        (folder / name).write_text(text)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
