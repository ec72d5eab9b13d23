"""Whether another agent's program is here and answers: for `planck teams check` and `planck doctor`."""

import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from msgspec.structs import replace

from planck.acp.client import ExternalError, Launch, open_client
from planck.acp.methods import Cancelled, PermissionRequest, PermissionResponse
from planck.acp.schema import SessionUpdate
from planck.config.project import Project
from planck.config.rules import replaceable_rights
from planck.own_code import outside_path
from planck.records.authority import Mode
from planck.records.outcome import ErrorKind, PlanckError
from planck.records.specs import ForeignSpec
from planck.workspace.process.environment import allowed
from planck.workspace.sandbox import sandbox
from planck.workspace.sandbox.programs import find_replaceable, list_parts

KNOWN = {
    "goose": ("goose", "acp"),
    "opencode": ("opencode", "acp"),
    "Claude Code": ("claude-agent-acp",),
    "Codex": ("codex-acp",),
    "Gemini CLI": ("gemini", "--acp"),
    "Mistral Vibe": ("vibe-acp",),
    "Qwen Code": ("qwen", "--acp"),
}
"""Agents that speak ACP, and how each is started for it."""

_OWN_PLACES = ("HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "VIRTUAL_ENV", "TMPDIR")
"""Of our environment: where a confined process has places of its own."""


def find_installed(path: str) -> dict[str, str]:
    """Returns by name which of the known agents are here, and the command that starts each."""
    return {name: " ".join(words) for name, words in KNOWN.items() if shutil.which(words[0], path=path)}


def make_environment(foreign: ForeignSpec, environ: Mapping[str, str], *, confined: bool) -> dict[str, str]:
    """Returns a minimum, and the variables that its file names: no key of ours reaches it by itself."""
    least = allowed(environ)
    if confined:
        least = {name: value for name, value in least.items() if name not in _OWN_PLACES}
    return {**least, **{name: environ[name] for name in foreign.env if name in environ}}


def place_member(
    foreign: ForeignSpec, project: Project, environment: dict[str, str], home: str
) -> tuple[Path, dict[str, str]]:
    """Returns where and with what its confined process starts: never with what an agent could have put there.

    It has the network, and variables of the user's, which a command of an agent has not: whoever could
    replace its program would have them. One that is ordered by its folder, like `npx`, runs in its home.
    """
    roots, cwd = project.roots, str(project.workspace)
    environment = {**environment, "PATH": outside_path(environment["PATH"], roots)}
    argv = foreign.command
    found = find_replaceable(argv, os.path.realpath(cwd), environment, roots)
    relative = (word for word in argv if not os.path.isabs(word))
    movable = found and not any(os.path.exists(os.path.join(cwd, word)) for word in relative)
    if movable and not find_replaceable(argv, home, environment, roots):
        cwd, found = home, ""
    if found and (foreign.network or foreign.env):
        raise ExternalError(
            ErrorKind.PERMISSION_DENIED,
            f"an agent could replace {found!r} and then use the program's network access and variables. "
            "Keep the program outside the workspace or below .planck, "
            'or remove its `env` and set `"network": false`.',
        )
    return Path(cwd), environment


def list_kept(project: Project) -> tuple[str, ...]:
    """Returns what no folder of a program may show along with it."""
    return (str(project.home), *project.roots, project.environ.get("HOME") or os.path.expanduser("~"))


async def try_member(project: Project, foreign: ForeignSpec) -> str:
    """Starts it where it can change nothing, greets it and begins a session; returns what went wrong."""
    full = project.config.permissions.mode is Mode.FULL
    found = sandbox.find()
    if not full and (found.sandbox is None or not found.sandbox.writes):
        return (
            "not tested: it would run without a sandbox, because none works here. "
            'Run "planck doctor" to see why.'
        )
    with TemporaryDirectory(prefix="planck-member-", ignore_cleanup_errors=True) as folder:
        home = os.path.realpath(folder)
        environment = make_environment(foreign, project.environ, confined=not full)
        confinement, cwd = None, project.workspace
        if not full:
            environment["HOME"] = home
            try:
                cwd, environment = place_member(foreign, project, environment, home)
            except ExternalError as failure:
                return failure.err.full_message
            confinement = replace(
                replaceable_rights(project),
                mode=Mode.READ_ONLY,
                roots=(*project.roots, home),
                writable=(home,),
                seen=list_parts(foreign.command, environment["PATH"], list_kept(project)),
                network=foreign.network,
            )
        launch = Launch(foreign.command, cwd, environment, confinement)
        try:
            client = await open_client(launch, _Deaf())
            try:
                await client.begin(Path(project.workspace), ())
            finally:
                await client.aclose()
        except PlanckError as failure:
            return failure.err.full_message
    return ""


class _Deaf:
    async def hear(self, session_id: str, update: SessionUpdate) -> None:
        pass

    async def permit(self, request: PermissionRequest) -> PermissionResponse:
        return PermissionResponse(outcome=Cancelled())
