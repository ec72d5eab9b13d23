"""What an agent may be called: something a person and a model can tell from every other name."""

import unicodedata

from planck.records.outcome import Err, ErrorKind

_LONGEST = 64
_RESERVED = frozenset({"user", "system", "assistant", "tool", "developer", "planck"})


def refuse(field: str, name: str) -> Err | None:
    """Returns why no agent may have this name or type, even if no other has it."""
    if not name.strip() or len(name) > _LONGEST:
        return Err(ErrorKind.INVALID_ARGS, f"{field} must be 1 to {_LONGEST} characters long; choose another")
    if any(unicodedata.category(c).startswith("C") for c in name):
        return Err(
            ErrorKind.INVALID_ARGS,
            f"{field} {name!r} contains control or invisible characters; leave them out",
        )
    if fold_lookalikes(name) in _RESERVED:
        return Err(ErrorKind.INVALID_ARGS, f"{field} {name!r} is reserved; choose another")
    return None


def fold_lookalikes(name: str) -> str:
    """Returns the same for names that look alike: in case, width, spelling of accents, common look-alikes."""
    folded = unicodedata.normalize("NFKC", name).casefold().strip()
    return " ".join(folded.translate(_LOOKALIKES).split())


_LOOKALIKES = str.maketrans(
    "\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u0456\u0458\u0455\u03bf\u03b1\u03b9\u03bd\u0131\u0501\u051b",
    "aeopcyxijsoaividq",
)
