"""A hook as a process: what it is told, with which rights it runs, and whether it blocks."""

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from planck.config.project import Project
from planck.headless.hooks.reading import Hook
from planck.records import codec
from planck.records.authority import Mode
from planck.records.events import Status
from planck.toolkit.scribe import Scribe
from planck.toolkit.truncate import truncate
from planck.workspace.paths.paths import WorkspaceError
from planck.workspace.process import process
from planck.workspace.process.environment import allowed
from planck.workspace.process.process import ProcessError
from planck.workspace.sandbox.sandbox import SandboxError

BLOCK = 2
_MAX_OUTPUT = 64 * 1024
_MODES = {"read-only": "plan", "plan": "plan", "workspace": "acceptEdits", "full": "bypassPermissions"}
"""What Claude Code calls what comes nearest."""


class HookRunner:
    """Runs the hooks of one session, one at a time."""

    def __init__(self, project: Project, session_id: str, scribe: Scribe) -> None:
        self._project = project
        self._session_id = session_id
        self._scribe = scribe
        self._told: set[str] = set()
        self._workspace = project.workspace
        folder = str(project.workspace)
        both = {"PLANCK_PROJECT_DIR": folder, "CLAUDE_PROJECT_DIR": folder}
        self._environment = {**allowed(project.command_environ), **both}

    async def run(self, event: str, hook: Hook, facts: dict[str, Any], mode: Mode) -> tuple[bool, str]:
        """Returns whether it blocks, and why; or what it said, empty where it failed."""
        message = {
            "hook_event_name": event,
            "session_id": self._session_id,
            "transcript_path": self._find_log(),
            "cwd": str(self._workspace),
            "permission_mode": _MODES.get(mode, "default"),
            "mode": str(mode),
            **facts,
        }
        with tempfile.TemporaryFile() as stdin, tempfile.TemporaryFile() as stdout:
            stdin.write(codec.encode(message) + b"\n")
            stdin.seek(0)
            try:
                self._project.root.check()
                command = self._make_command(event, hook, mode)
                job = process.start(command, stdin=stdin.fileno(), stdout=stdout.fileno())
            except ProcessError as failure:
                self._tell(event, "failed", failure.err.message)
                return False, ""
            except (SandboxError, WorkspaceError) as failure:
                self._tell(event, "failed", failure.err.message)
                return True, f"{hook.command!r} could not be run: {failure.err.message}"
            try:
                in_time = await job.wait(hook.timeout)
            finally:
                await job.kill()
            done = job.completed(not in_time)
            answer = os.pread(stdout.fileno(), _MAX_OUTPUT + 1, 0)
            said = answer[:_MAX_OUTPUT].decode("utf-8", "replace").strip()
        if done.exit_code == BLOCK:
            reason = truncate(done.output.strip() or said)
            return True, reason or f"{hook.command!r} exited with code {BLOCK} and gave no reason"
        if done.exit_code != 0:
            late = f"took longer than {hook.timeout:g} s"
            how = late if done.timed_out else f"exited with code {done.exit_code}"
            text = f"{hook.command!r} {how} and was ignored. {done.output.strip()[:200]}".strip()
            self._tell(event, "failed", text)
            return False, ""
        if len(answer) > _MAX_OUTPUT and said.startswith("{"):  # an unreadable decision allows nothing
            return True, (
                f"the hook {hook.command!r} returned more than {_MAX_OUTPUT >> 10} KiB of JSON, so its "
                "decision cannot be read; only the user can fix the hook"
            )
        return False, said

    def _find_log(self) -> str:
        """The session's own file, a SQLite log; empty where it is not stored."""
        folder = Path(self._project.config.sessions_dir or self._project.home / "sessions").expanduser()
        return next((str(file) for file in folder.glob(f"{self._session_id}_*.db")), "")

    def _make_command(self, event: str, hook: Hook, mode: Mode) -> process.Command:
        argv = process.shell(f"{hook.command}\nexit $?")
        environment: Mapping[str, str] = self._environment
        rights = None
        if mode is not Mode.FULL:
            replaceable, environment = look_at_hook(hook.command, self._project, environment)
            if replaceable:
                from planck.config.rules import replaceable_rights
                from planck.workspace.sandbox.programs import tell_confined

                rights = replaceable_rights(self._project)
                if hook.command not in self._told:
                    self._told.add(hook.command)
                    self._tell(event, "confined", tell_confined(repr(hook.command), replaceable))
        return process.Command(argv, self._workspace, environment, rights, keep=_MAX_OUTPUT)

    def _tell(self, event: str, state: str, text: str) -> None:
        self._scribe.publish(Status(component="hook", name=event, state=state, detail=text))


def look_at_hook(
    command: str, project: Project, environment: Mapping[str, str]
) -> tuple[str, Mapping[str, str]]:
    """Returns what of it a confined command could replace, and the environment that it runs with.

    One that runs with the user's rights finds no program in the workspace.
    """
    from planck.own_code import outside_path
    from planck.workspace.sandbox.programs import find_replaceable_in_script

    roots = project.roots
    found = find_replaceable_in_script(command, roots[0], environment, roots)
    if found:
        return found, environment
    return "", {**environment, "PATH": outside_path(environment["PATH"], roots)}
