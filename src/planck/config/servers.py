"""Where the environment says that a type's server is: the user's configuration of that address."""

from collections.abc import Mapping

VENDOR_VARIABLES = {
    "anthropic": "ANTHROPIC_BASE_URL",
    "openai": "OPENAI_BASE_URL",
    "google": "GOOGLE_BASE_URL",
}
LOCAL_VARIABLES = {"ollama": ("OLLAMA_HOST", 11434), "llama_cpp": ("LLAMA_CPP_HOST", 8080)}

_EVERYWHERE = {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "[::]": "[::1]"}
"""What a server listens on, and where a client on the same machine finds it."""


def read_addresses(environ: Mapping[str, str]) -> dict[str, str]:
    """Returns an address by provider type; an empty one says that no local server is to be looked for."""
    found = {
        type: address
        for type, variable in VENDOR_VARIABLES.items()
        if (address := environ.get(variable, "").strip().rstrip("/"))
    }
    for type, (variable, port) in LOCAL_VARIABLES.items():
        if variable in environ:
            found[type] = _read_host(environ[variable], port)
    return found


def _read_host(text: str, port: int) -> str:
    """As `OLLAMA_HOST` is written: `host`, `host:port`, `:port` or a whole address."""
    text = text.strip().strip("\"'").rstrip("/")
    if not text:
        return ""
    scheme, named, rest = text.partition("://")
    if not named:
        scheme, rest = "http", text
    place, slash, path = rest.partition("/")
    if place.count(":") > 1 and not place.startswith("["):
        place = f"[{place}]"  # a bare IPv6 address
    host, colon, digits = place.rpartition(":") if not place.endswith("]") else (place, "", "")
    if not colon:
        host = place
    if not digits.isdigit():
        digits = str({"http": 80, "https": 443}.get(scheme, port) if named else port)
    return f"{scheme}://{_EVERYWHERE.get(host, host)}:{digits}{slash}{path}"
