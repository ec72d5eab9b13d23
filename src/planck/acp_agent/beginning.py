"""How sessions of a client begin."""

import msgspec

TYPE_CHECKING = False
if TYPE_CHECKING:
    from planck.headless import OpenSession, Planck


class Defaults(msgspec.Struct, frozen=True):
    """What new sessions begin with: the command's options."""

    model: str = ""
    team: str = ""
    mode: str | None = None


class Beginning:
    """How a new session is begun, so that it can be begun again with another team and the same id."""

    def __init__(self, key: str, defaults: Defaults) -> None:
        self.defaults = defaults
        self._key = key

    async def begin(self, planck: "Planck", team: str) -> "OpenSession":
        from planck.headless import make_key

        return await planck.start(
            team or None,
            model=self.defaults.model,
            mode=self.defaults.mode,
            request=make_key(self._key, team),
        )
