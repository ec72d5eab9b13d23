"""The environment of the process: read here, and nowhere else."""

import os
from collections.abc import Mapping
from typing import Literal

from planck.own_code import user_path


def read_environment() -> Mapping[str, str]:
    return {**os.environ, **user_path()}  # noqa: TID251 - the one owner of the environment


def find_collector(environ: Mapping[str, str], signal: Literal["traces", "metrics"]) -> str:
    """Returns where spans or metrics are sent to, by OpenTelemetry's own variables; empty: to nobody."""
    variable = signal.upper()
    if (
        environ.get("OTEL_SDK_DISABLED", "").lower() == "true"
        or environ.get(f"OTEL_{variable}_EXPORTER") == "none"
    ):
        return ""
    if own := environ.get(f"OTEL_EXPORTER_OTLP_{variable}_ENDPOINT"):
        return own
    whole = environ.get("OTEL_EXPORTER_OTLP_ENDPOINT", "")
    return f"{whole.rstrip('/')}/v1/{signal}" if whole else ""


def has_collector(environ: Mapping[str, str]) -> bool:
    return bool(find_collector(environ, "traces") or find_collector(environ, "metrics"))


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
