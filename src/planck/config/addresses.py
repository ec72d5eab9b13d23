"""Where a model may be that a tool call names: at an address of the user's, or at a local server."""

from collections.abc import Iterable

from planck.config.schema import KEYLESS, Config
from planck.http.address import canonical
from planck.http.transport import Transport
from planck.llm.endpoint import LOCAL_ROOTS
from planck.records.specs import ModelSpec


def find_configured(config: Config, address: str) -> str:
    """Returns the user's own spelling of an address, which is then the one to use; empty: nobody's."""
    wanted = canonical(address)
    known = (entry.base_url for entry in config.providers.values() if entry.base_url)
    return next((own for own in known if wanted and canonical(own) == wanted), "")


def find_stranger(config: Config, models: Iterable[ModelSpec]) -> str:
    """Returns the first address of theirs that is neither the user's nor a local server's place."""
    for model in models:
        entry = config.providers.get(model.provider)
        if model.provider not in KEYLESS or not model.base_url or (entry and entry.base_url):
            continue  # such an address is never used
        local = config.addresses.get(model.provider, LOCAL_ROOTS.get(model.provider, ""))
        known = local and canonical(local) == canonical(model.base_url)
        if not known and not find_configured(config, model.base_url):
            return model.base_url
    return ""


async def find_known(config: Config, transport: Transport, type: str, address: str) -> str:
    """The same, or the local server of that type if it is there and answers as one. It is told nothing."""
    if own := find_configured(config, address):
        return own
    local = config.addresses.get(type, LOCAL_ROOTS.get(type, ""))
    if not local or canonical(local) != canonical(address):
        return ""
    from planck.llm.local import discover  # only where a server may be found

    return local if await discover(transport, type, local) else ""
