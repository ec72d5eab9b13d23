"""How sessions of a client begin."""

from msgspec.structs import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from planck.headless import OpenSession, Planck
    from planck.records.specs import RunOptions


class Beginning:
    """How a new session is begun, so that it can be begun again with another team and the same id."""

    def __init__(self, key: str, options: "RunOptions") -> None:
        """`options` are the command's."""
        self.options = options
        self._key = key

    async def begin(self, planck: "Planck", team: str) -> "OpenSession":
        from planck.headless import make_key

        options = replace(self.options, team=team)
        return await planck.start(settings=options, request=make_key(self._key, team))
