"""Mode and effect -> allow, deny or ask. A pure function: the executor asks it before every call."""

from enum import StrEnum

from planck.toolkit.tool import Effect


class Mode(StrEnum):
    READ_ONLY = "read-only"
    ASK = "ask"
    WORKSPACE = "workspace"
    FULL = "full"


STRICTNESS = (Mode.READ_ONLY, Mode.ASK, Mode.WORKSPACE, Mode.FULL)


class Decision(StrEnum):
    ALLOW = "allow"
    DENY = "deny"
    ASK = "ask"


def decide(mode: Mode, effect: Effect) -> Decision:
    if effect in (Effect.NONE, Effect.TEAM) or mode is Mode.FULL:
        return Decision.ALLOW
    if mode is Mode.READ_ONLY:
        return Decision.DENY
    if mode is Mode.WORKSPACE and effect is Effect.FILES:
        return Decision.ALLOW
    return Decision.ASK


def stricter(one: Mode, other: Mode) -> Mode:
    return min(one, other, key=STRICTNESS.index)
