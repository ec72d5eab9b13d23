"""The environment of the process: read here, and nowhere else."""

import os
from collections.abc import Mapping

from planck.own_code import user_path


def read_environment() -> Mapping[str, str]:
    return {**os.environ, **user_path()}  # noqa: TID251 - the one owner of the environment


def find_collector(environ: Mapping[str, str]) -> str:
    """Returns the address that spans are sent to, by OpenTelemetry's own variables; empty: to nobody."""
    if (
        environ.get("OTEL_SDK_DISABLED", "").lower() == "true"
        or environ.get("OTEL_TRACES_EXPORTER") == "none"
    ):
        return ""
    if own := environ.get("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"):
        return own
    whole = environ.get("OTEL_EXPORTER_OTLP_ENDPOINT", "")
    return f"{whole.rstrip('/')}/v1/traces" if whole else ""
