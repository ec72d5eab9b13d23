"""Where a model may be that a tool call names: at an address of the user's, or at a local server."""

from collections.abc import Mapping

from planck.config.schema import KEYLESS, Config
from planck.llm.address import canonical
from planck.llm.endpoint import LLAMA_CPP_ROOT, OLLAMA_ROOT
from planck.llm.local import discover
from planck.llm.transport import Transport

_LOCAL = {"ollama": ("OLLAMA_HOST", OLLAMA_ROOT), "llama_cpp": ("LLAMA_CPP_HOST", LLAMA_CPP_ROOT)}


def find_configured(config: Config, address: str) -> str:
    """Returns the user's own spelling of an address, which is then the one to use; empty: nobody's."""
    wanted = canonical(address)
    known = (entry.base_url for entry in config.providers.values() if entry.base_url)
    return next((own for own in known if wanted and canonical(own) == wanted), "")


async def find_known(
    config: Config, environ: Mapping[str, str], transport: Transport, type: str, address: str
) -> str:
    """The same, or the local server of that type if it is there and answers as one. It is told nothing."""
    if own := find_configured(config, address):
        return own
    local = local_root(type, environ)
    if not local or canonical(local) != canonical(address):
        return ""
    return local if await discover(transport, type, local) else ""


def local_root(type: str, environ: Mapping[str, str]) -> str:
    """Where a server of the type is looked for on this machine; empty: the user turned that off."""
    if type not in KEYLESS:
        return ""
    variable, default = _LOCAL[type]
    host = environ.get(variable)
    if host is None:
        return default
    if host and "://" not in host:
        host = f"http://{host}"
    port = default.rpartition(":")[2]
    return host if not host or host.count(":") > 1 else f"{host.rstrip('/')}:{port}"
