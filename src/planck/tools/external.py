"""TOOL.json: a command with `{{placeholders}}` as a tool.

    <tools_dir>/check_complexity/TOOL.json
    {"name": "check_complexity", "description": "...", "command": "radon cc {{path}} -s",
     "parameters": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}}

What was loaded is what runs: a file that is changed later changes nothing until it is loaded again.
"""

import errno
import hashlib
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from planck.records import codec
from planck.records.outcome import Err, ErrorKind, Ok, PlanckError
from planck.toolkit.tool import ArgumentError, Effect, Outcome, Tool, ToolContext, ToolError, describe_plan
from planck.tools import arguments
from planck.tools.builtin.files import Spills, Views
from planck.tools.command_recording import CommandRecording, recorded
from planck.tools.results import Ran, command_outcome, describe_partial
from planck.workspace.paths.beneath import escape
from planck.workspace.paths.paths import Root
from planck.workspace.paths.regular import read_regular
from planck.workspace.process.environment import allowed, find_withheld
from planck.workspace.process.process import Command, run, shell

TIMEOUT_MS = 30_000
MAX_TIMEOUT_MS = 600_000
MAX_FILE_BYTES = 1 << 20
FIELDS = {
    "name": "a string",
    "description": "a string",
    "command": "a non-empty string",
    "parameters": "an object",
}
_EXTRA_ARGUMENTS = frozenset({"cwd", "timeout"})
_KINDS = {errno.ENOENT: ErrorKind.NOT_FOUND, errno.EFBIG: ErrorKind.LIMIT_EXCEEDED}


class ExternalTool(Tool):
    """A tool from a file: where it came from, and what exactly was loaded."""

    def __init__(
        self,
        content: bytes,
        path: str,
        environment: Mapping[str, str],
        spill: Path | None,
        views: Views | None = None,
        recording: CommandRecording | None = None,
    ) -> None:
        """Raises `ToolError` for content that is no sound TOOL.json.

        `views`: the workspace as each agent of a session has it; None: as it is at each call.
        """
        from planck.tools.template import compile_template  # reads bash; most workspaces have no TOOL.json

        fields = _parse_fields(content, path)
        self.path = path
        self.command: str = fields["command"]
        self.fingerprint: str = hashlib.sha256(content).hexdigest()
        self._template = compile_template(self.command)
        self._environment = allowed(environment)
        self._withheld = find_withheld(environment)
        self._spills = Spills(spill) if spill else None
        self._views = views
        self._recording = recording
        super().__init__(
            fields["name"],
            fields["description"],
            fields["parameters"],
            self._run,
            self._plan_command,
            effect=Effect.COMMAND,
            timeout=MAX_TIMEOUT_MS / 1000 + 10,
            extra_arguments=_EXTRA_ARGUMENTS - set(fields["parameters"].get("properties", {})),
            confinable=True,
            probe_in_sandbox=True,
        )

    async def _run(self, args: dict[str, Any], ctx: ToolContext) -> Outcome:
        try:
            timeout_ms = _parse_timeout_ms(args)
            script, values = self._template.fill(args)
            argv = [*shell(script), self.name, *values]
            spill = self._spills.file(ctx.call_id) if self._spills else None
            root = self._find_root(ctx)
            with root.folder(_parse_cwd(args, ctx.cwd)) as cwd:
                command = Command(
                    argv, cwd, self._environment, ctx.confinement, spill, keys=ctx.keys, view=root.view
                )
                async with recorded(self._recording, ctx, root, script) as call:
                    done = await run(
                        replace(command, record=call.record),
                        timeout_ms / 1000,
                        lambda chunk: ctx.progress(chunk.decode(errors="replace")),
                        on_cut=lambda done: ctx.keep_partial(describe_partial(done, ctx.call_id)),
                    )
        except PlanckError as failure:
            return failure.err
        ran = Ran(
            ctx.call_id,
            timeout_ms,
            self.command,
            f"or set a longer timeout, at most {MAX_TIMEOUT_MS} ms",
            ctx.confinement,
            withheld=self._withheld,
            undo=call.note,
        )
        return command_outcome(done, ran)

    def _find_root(self, ctx: ToolContext) -> Root:
        return self._views.of(ctx).root if self._views else Root(ctx.workspace)

    def _plan_command(self, args: dict[str, Any], ctx: ToolContext) -> Outcome:
        try:
            _parse_timeout_ms(args)
            cwd = self._find_root(ctx).where(_parse_cwd(args, ctx.cwd), folder=True)
            plan = f"Would run in {cwd!r}: {self._template.show(args)}"
        except PlanckError as failure:
            return failure.err
        return describe_plan(self.name, args, plan)


class Problem(msgspec.Struct, frozen=True):
    """A TOOL.json that was not loaded, and why."""

    path: str
    error: Err


class Discovery(msgspec.Struct, frozen=True):
    tools: list[ExternalTool]
    problems: list[Problem]


def from_file(
    path: str | os.PathLike[str],
    *,
    environment: Mapping[str, str] | None = None,
    spill: Path | None = None,
    views: Views | None = None,
    recording: CommandRecording | None = None,
) -> Ok[ExternalTool] | Err:
    """Loads one tool. `environment` is the runtime's own; the command sees the allow-listed part of it."""
    shown = escape(os.fspath(path))
    try:
        content = _read(os.path.expanduser(path), shown)
        tool = ExternalTool(content, shown, environment or {}, spill, views, recording)
        arguments.compile_schema(tool)
        return Ok(tool)
    except PlanckError as failure:
        return _locate(failure.err, shown)


def discover(
    dirs: Iterable[str | os.PathLike[str]],
    *,
    environment: Mapping[str, str] | None = None,
    spill: Path | None = None,
    taken: Iterable[str] = (),
    before: Iterable[ExternalTool] = (),
    views: Views | None = None,
    recording: CommandRecording | None = None,
) -> Discovery:
    """Loads in the order of the directories, then of the folders' names; the first of a name wins.

    `taken` are names that no file may have: a built-in tool is never shadowed. `before` were found already.
    """
    found = {tool.name: tool for tool in before}
    old = len(found)
    problems: list[Problem] = []
    for path in (path for folder in dirs for path in _find_candidates(folder, problems)):
        result = from_file(path, environment=environment, spill=spill, views=views, recording=recording)
        if isinstance(result, Err):
            problems.append(Problem(escape(path), result))
        elif clash := _find_clash(result.value, found, set(taken)):
            problems.append(Problem(escape(path), clash))
        else:
            found[result.value.name] = result.value
    return Discovery(list(found.values())[old:], problems)


def _find_candidates(folder: str | os.PathLike[str], problems: list[Problem]) -> list[str]:
    place = os.path.expanduser(os.fspath(folder))
    try:
        entries = sorted(os.listdir(place))
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as problem:
        why = Err(ErrorKind.READ_FAILED, f"cannot read {escape(place)}: {_describe(problem)}")
        problems.append(Problem(escape(place), why))
        return []
    paths = [os.path.join(place, entry, "TOOL.json") for entry in entries]
    return [path for path in paths if os.path.lexists(path)]


def _find_clash(tool: ExternalTool, found: Mapping[str, ExternalTool], taken: set[str]) -> Err | None:
    if tool.name in taken:
        why = f"{tool.name!r} is the name of a built-in tool; use another name"
    elif tool.name in found:
        why = (
            f"the name {tool.name!r} is taken by {found[tool.name].path}, which was loaded first; "
            "use another name"
        )
    else:
        return None
    return Err(ErrorKind.NOT_UNIQUE, f"TOOL.json at {tool.path}: {why}", {"name": tool.name})


def _read(path: str, shown: str) -> bytes:
    try:
        return read_regular(path, MAX_FILE_BYTES)
    except OSError as problem:
        kind = _KINDS.get(problem.errno or 0, ErrorKind.READ_FAILED)
        raise ToolError(kind, f"cannot read {shown}: {_describe(problem)}") from None
    except ValueError:
        raise ArgumentError(f"cannot read {shown!r}: a path cannot contain a NUL character") from None


def _parse_fields(content: bytes, shown: str) -> dict[str, Any]:
    try:
        data: Any = codec.decode(content)
    except codec.DecodeError as problem:
        raise ArgumentError(f"invalid JSON in {shown}: {problem}") from None
    _require_fields(data, shown)
    if data["parameters"].get("type", "object") != "object":
        raise ArgumentError('parameters must be a JSON Schema with "type": "object"')
    return {field: data[field] for field in FIELDS}


def _require_fields(data: Any, shown: str) -> None:
    fields = data if isinstance(data, dict) else {}
    wrong = [field for field in FIELDS if not _fits(field, fields.get(field))]
    if not wrong:
        return
    notes = [f"{field} must be {FIELDS[field]}" for field in wrong if field in fields]
    if not isinstance(data, dict):
        notes = ["the file must contain a JSON object"]
    note = f" ({'; '.join(notes)})" if notes else ""
    raise ArgumentError(
        f"TOOL.json at {shown} missing required fields: {', '.join(wrong)}{note}",
        {"fields": wrong},
    )


def _fits(field: str, value: Any) -> bool:
    if field == "parameters":
        return isinstance(value, dict)
    return isinstance(value, str) and (field != "command" or value.strip() != "")


def _locate(err: Err, shown: str) -> Err:
    """Adds the file to an error that does not name it."""
    kind = ErrorKind.INVALID_ARGS if err.kind is ErrorKind.INTERNAL_ERROR else err.kind
    message = err.message if shown in err.message else f"TOOL.json at {shown}: {err.message}"
    return Err(kind, message, err.details)


def _parse_timeout_ms(args: Mapping[str, Any]) -> int:
    value = args.get("timeout")
    if value is None:
        return TIMEOUT_MS
    if isinstance(value, bool) or not isinstance(value, int | float) or not 1 <= value <= MAX_TIMEOUT_MS:
        raise ArgumentError(
            f"timeout must be a number of milliseconds from 1 to {MAX_TIMEOUT_MS}, not {value!r}"
        )
    return int(value)


def _parse_cwd(args: Mapping[str, Any], default: str) -> str:
    value = args.get("cwd")
    if value is None:
        return default
    if not isinstance(value, str):
        raise ArgumentError(f"cwd must be a folder in the workspace, not {value!r}")
    return value


def _describe(problem: OSError) -> str:
    return (problem.strerror or str(problem)).lower()
