"""What works here and what does not: each check says what it saw, and what to do about it."""

import asyncio
import os
import platform
import shutil
import sqlite3
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import msgspec

import planck
from planck.config.keys.secrets import hide_in_text
from planck.config.load import ConfigError
from planck.config.project import Project
from planck.headless.hooks import reading, running
from planck.headless.planck import Planck
from planck.headless.services.toolbox import BUILT_IN, ToolBox
from planck.peers.plan import plan_peers
from planck.records.authority import Mode
from planck.records.outcome import ErrorKind, PlanckError
from planck.workspace.process import containment, process
from planck.workspace.process.environment import allowed
from planck.workspace.sandbox import sandbox
from planck.workspace.sandbox.programs import tell_confined


class Check(msgspec.Struct, frozen=True):
    name: str
    state: Literal["ok", "warning", "error"]
    detail: str
    advice: str = ""


async def run_checks(project: Project) -> list[Check]:
    """Runs every check; sends one small request to the model, and starts nothing of the project's."""
    checks = [_check_runtime(), _check_platform(), _check_home(project.home)]
    try:
        planck_ = Planck.of(project)
    except PlanckError as failure:
        advice = "Fix the file named above." if isinstance(failure, ConfigError) else ""
        return [*checks, Check("configuration", "error", failure.err.full_message, advice)]
    async with planck_:
        models = await _check_model(planck_)
        found = [*checks, *models, *_check_configured(planck_)]
    return [msgspec.structs.replace(check, detail=hide_in_text(check.detail)) for check in found]


def _check_configured(planck_: Planck) -> Iterator[Check]:
    resources = planck_.resources
    sources = ", ".join(layer.source for layer in resources.loaded.layers) or "defaults only"
    yield Check("configuration", "ok", sources)
    for notice in planck_.notices:
        yield Check("notice", "warning", notice)
    try:
        keys = [row for row in planck_.auth.status() if row["authenticated"] and row["source"]]
        yield from (Check(f"{row['provider']} key", "ok", f"from {row['source']}") for row in keys)
    except PlanckError as failure:
        yield Check("keys", "error", failure.err.full_message)
    yield _check_containment()
    yield _check_sandbox()
    yield _check_limits()
    yield _check_sessions(planck_.sessions_dir)
    yield from _check_views(str(planck_.project.views_folder))
    found = resources.instructions()
    yield Check("AGENTS.md", "ok", ", ".join(map(str, found.paths)) or "none")
    skills = resources.skills()
    yield Check("skills", "ok", f"{len(skills.skills)} found, {len(skills.shadowed)} shadowed")
    yield from (Check("skill", "warning", problem) for problem in skills.problems)
    tools = ToolBox(planck_.project).inventory()
    files = [entry.trusted for entry in tools.entries if entry.source != BUILT_IN]
    hidden = f", {files.count(False)} more in this folder, which is not trusted" if False in files else ""
    yield Check("TOOL.json tools", "ok", f"{files.count(True)} found{hidden}")
    yield from (
        Check("tool", "warning", f"{problem.path}: {problem.error.message}", "Fix or remove it.")
        for problem in tools.problems
    )
    from planck.headless.members.external_check import find_installed

    agents = find_installed(planck_.project.environ.get("PATH", ""))
    listed = ", ".join(f"{name} (`{command}`)" for name, command in agents.items())
    yield Check("ACP agents", "ok", listed or "none found (an installed ACP agent can join a team)")
    yield Check("hooks", "ok", ", ".join(reading.read_hooks(planck_.config.hooks)[0]) or "none")
    for confined in _find_confined(planck_):
        yield Check("notice", "warning", confined)


def _check_runtime() -> Check:
    detail = (
        f"planck {planck.__version__}, Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}"
    )
    old = sys.version_info < (3, 11)
    return Check("runtime", "error" if old else "ok", detail, "Use Python 3.11 or newer." if old else "")


def _check_platform() -> Check:
    if sys.platform.startswith("linux"):
        return Check("platform", "ok", platform.platform(terse=True))
    if sys.platform == "darwin":
        return Check(
            "platform",
            "warning",
            "macOS",
            "There is no sandbox on macOS yet. Planck asks before each command that no rule allows.",
        )
    return Check("platform", "error", sys.platform, "This platform is not supported. Use Linux or macOS.")


_LEAST_FREE, _LITTLE_FREE = 256 << 10, 64 << 20
"""Bytes: a new session takes some hundred kilobytes, and with long outputs a few megabytes."""


def _check_home(home: Path) -> Check:
    if not home.exists():
        return Check("home", "ok", f"{home} (created when needed)")
    if not home.is_dir():
        return Check("home", "error", f"{home} is not a folder", "Move it, or set PLANCK_HOME to a folder.")
    if not os.access(home, os.W_OK | os.X_OK):
        return Check("home", "error", f"{home} is not writable", "Fix its permissions, or set PLANCK_HOME.")
    free = shutil.disk_usage(home).free
    if free < _LEAST_FREE:
        return Check("home", "error", f"{home}: the disk is full ({free:,} bytes left)", "Free some space.")
    if free < _LITTLE_FREE:
        left = f"{home}: the disk is nearly full ({free / (1 << 20):.1f} MiB left)"
        return Check("home", "warning", left, "Free some space. A session stops when it cannot be saved.")
    if home.stat().st_mode & 0o022:
        return Check("home", "warning", f"{home} is writable by other users", f"Run: chmod go-w {home}")
    return Check("home", "ok", str(home))


async def _check_model(planck_: Planck) -> list[Check]:
    try:
        default = await planck_.default_model()
    except PlanckError as failure:
        return [Check("model", "warning", failure.err.full_message)]  # says what to do
    model = default.model
    detail = f"{model.label} ({model.provider}, {model.context_window:,} tokens of context): {default.why}"
    return [
        Check("model", "ok", detail),
        await _try_model(planck_, model.label),
        *(Check("local server", "warning", problem) for problem in default.problems),
    ]


_ANSWER_SECONDS = 10.0
_PASSING = (ErrorKind.NETWORK, ErrorKind.TIMEOUT, ErrorKind.OVERLOADED, ErrorKind.RATE_LIMITED)


async def _try_model(planck_: Planck, name: str) -> Check:
    try:
        async with asyncio.timeout(_ANSWER_SECONDS):
            tested = await planck_.try_model(name)
    except TimeoutError:
        return Check(
            "model answer",
            "warning",
            f"{name} did not answer within {_ANSWER_SECONDS:g} s",
            f'A local model may still be loading. Try again, or run "planck models test {name}".',
        )
    except PlanckError as failure:
        return Check("model answer", "error", failure.err.full_message)
    if tested.error:  # what passes, or only has to be started, is not wrong with this installation
        state: Literal["warning", "error"] = "warning" if tested.error["kind"] in _PASSING else "error"
        return Check("model answer", state, f"{name}: {tested.error['message']}")
    return Check("model answer", "ok", f"{name} answered in {tested.duration_ms:,} ms")


def _check_containment() -> Check:
    level = containment.containment()
    weak = level is containment.Containment.PROCESS_GROUP
    advice = (
        "Install unshare and setpriv (util-linux). Without them, a command's children may outlive it."
        if weak
        else ""
    )
    return Check("command containment", "warning" if weak else "ok", str(level), advice)


def _check_sandbox() -> Check:
    found = sandbox.find()
    if found.sandbox is not None:
        return Check("sandbox", "ok", str(found.sandbox.level))
    advice = "Install bubblewrap. Without it, Planck asks before each command in mode `workspace`."
    return Check("sandbox", "warning", "; ".join(found.problems), advice)


def _find_confined(planck_: Planck) -> Iterator[str]:
    """What would run with the user's rights, were it not for where it lies."""
    project, environment = planck_.project, allowed(planck_.project.command_environ)
    if project.config.permissions.mode is Mode.FULL:
        return
    for event in reading.read_hooks(project.config.hooks)[0].values():
        for hook in event:
            if replaceable := running.look_at_hook(hook.command, project, environment)[0]:
                yield tell_confined(f"the hook {hook.command!r}", replaceable)
    plan = plan_peers(planck_.resources)
    if plan.sidecars or plan.servers:
        from planck.peers.open_peer import find_confined  # loads MCP

        found = (find_confined(planned, project) for planned in plan.select())
        yield from (text for text in found if text)


def _check_limits() -> Check:
    """A cgroup would count all processes of a command together; we have none to give."""
    memory, file = process.MAX_DATA >> 30, process.MAX_FILE >> 30
    text = f"{memory} GiB memory per process (RLIMIT_DATA, no cgroup), {file} GiB per file"
    return Check("command limits", "ok", f"{text}, {process.MAX_PROCESSES} processes")


_OLD_DAYS, _LARGE = 30, 1 << 30


def _check_views(folder: str) -> Iterator[Check]:
    """Tries one, and tells of work that has not landed."""
    if not sys.platform.startswith("linux"):
        yield Check("views", "warning", "agents' own workspaces need Linux", _OTHER_WAY)
        return
    from planck.workspace.views.housekeeping import survey
    from planck.workspace.views.overlay import probe

    if why := probe(folder):
        yield Check("views", "warning", f"no view of its own for an agent: {why}", _OTHER_WAY)
    else:
        yield Check("views", "ok", f"overlay, in {folder}")
    for held in survey(folder):
        if not held.changed:
            continue
        days, size = int(held.age_s // 86_400), f"{held.bytes / (1 << 20):,.1f} MiB"
        old = days >= _OLD_DAYS or held.bytes >= _LARGE
        age = f"last used {days} days ago" if days else "used today"
        what = f"session {held.session} has changes that have not landed: {size}, {age}"
        detail = f'{what}. Land them with "planck land {held.session}", or add --drop'
        advice = f"Look at {held.folder}. Resume the session to continue in it." if old else ""
        yield Check("view", "warning" if old else "ok", detail, advice)


_OTHER_WAY = 'An agent with "workspace": "own" gets a git worktree; "workspace": "shared" is the other way.'


def _check_sessions(folder: Path) -> Check:
    there = next((path for path in (folder, *folder.parents) if path.exists()), Path("/"))
    if not os.access(there, os.W_OK):
        return Check(
            "sessions", "error", f"{folder} is not writable", "Fix its permissions, or set sessions_dir."
        )
    count = sum(1 for _ in folder.glob("*_*.db")) if folder.exists() else 0
    return Check("sessions", "ok", f"{count} in {folder}")
