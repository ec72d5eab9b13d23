"""Notices: what the user should know of a place, its files and its extras before a session starts."""

import os
from typing import TYPE_CHECKING

from planck.config.environment import has_collector
from planck.config.project import Project
from planck.own_files import keep_apart
from planck.records.authority import CHANGELESS, Mode
from planck.records.outcome import say_extra
from planck.records.visible import spell_out

if TYPE_CHECKING:
    from planck.peers.peers import Peers


def list_notices(project: Project, peers: "Peers", mode: str) -> tuple[str, ...]:
    """Returns the notices for sessions in a mode."""
    resources = project.resources
    own = project.own_notice if mode == Mode.WORKSPACE else ""
    shared = "" if mode in CHANGELESS else keep_apart()
    untrusted = "" if resources.loaded.trusted else project.trust.state.notice
    spans = find_missing_spans() if has_collector(project.environ) else ""
    return (
        *(notice for notice in (project.place_notice, own, shared, untrusted) if notice),
        *resources.loaded.notices,
        *resources.instructions().notices,
        *peers.plan.notices,
        *_check_hooks(project),
        *((spans,) if spans else ()),
    )


def _check_hooks(project: Project) -> list[str]:
    """Returns what is wrong with hooks, and which of another agent's settings do not run."""
    ignored, hooks = list_ignored_hooks(project), project.config.hooks
    if not hooks:
        return ignored
    from planck.headless.hooks.reading import read_hooks  # few users have any

    return [*read_hooks(hooks)[1], *ignored]


def list_ignored_hooks(project: Project) -> list[str]:
    """Returns a line for each file of another agent in this project whose hooks do not run here."""
    if not os.access(project.workspace / ".claude", os.F_OK):
        return []
    from planck.headless.hooks.ignored import find_ignored_hooks  # few projects have any

    return [spell_out(line) for line in find_ignored_hooks(project.workspace, project.config.hooks)]


def find_missing_spans() -> str:
    """Says that spans can't be sent from here, and what to do; empty: they can."""
    from importlib.util import find_spec

    if find_spec("opentelemetry") and find_spec("opentelemetry.sdk") and find_spec("opentelemetry.exporter"):
        return ""
    return (
        f"OTEL_EXPORTER_OTLP_ENDPOINT is set, but sending spans needs the extra `otel`; {say_extra('otel')}."
    )
