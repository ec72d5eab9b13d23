"""What a built-in tool says of itself to a model, kept in a `.md` beside its code."""

from pathlib import Path


def prose(name: str, **limits: object) -> str:
    """The text with `{limit}` filled in from the constants that the code itself uses."""
    text = Path(__file__).with_name(f"{name}.md").read_text(encoding="utf-8").strip()
    for key, value in limits.items():
        text = text.replace(f"{{{key}}}", str(value))
    return text
