"""Team templates: TEAM.json, found by alias or path, loaded and checked."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from planck.records import codec
from planck.records.outcome import ErrorKind, PlanckError
from planck.records.ports import Ids
from planck.records.specs import AgentSpec, ModelSpec

ResolveMember = Callable[[str, str, str], ModelSpec]
"""(provider, model id, base_url) -> the model; raises where there is none."""


class TeamFileError(PlanckError):
    """A TEAM.json that can't be used; the message names the file and the field."""


class MemberEntry(msgspec.Struct, frozen=True):
    type: str
    provider: str
    model_id: str
    name: str = ""
    description: str = ""
    base_url: str = ""
    system_prompt: str = ""
    opts: dict[str, Any] = {}
    tools: list[str] = []
    skills: list[str] = []
    compactor: str = ""


class TeamFile(msgspec.Struct, frozen=True):
    members: list[MemberEntry]
    name: str = ""
    description: str = ""


class Template(msgspec.Struct, frozen=True):
    path: Path
    file: TeamFile
    members: tuple[tuple[MemberEntry, ModelSpec], ...]
    """The orchestrator first."""


def find(alias_or_path: str, dirs: Sequence[Path]) -> Path:
    as_path = Path(alias_or_path).expanduser()
    direct = [as_path / "TEAM.json", as_path] if as_path.suffix != ".json" else [as_path]
    for candidate in (*(folder / alias_or_path / "TEAM.json" for folder in dirs), *direct):
        if candidate.is_file():
            return candidate
    raise TeamFileError(
        ErrorKind.NOT_FOUND,
        f"no team {alias_or_path!r}; `planck teams list` shows those there are, `planck teams new` makes one",
    )


def read(path: Path) -> TeamFile:
    try:
        raw = path.read_bytes()
    except OSError as failure:
        raise TeamFileError(ErrorKind.READ_FAILED, f"cannot read {path}: {failure.strerror}") from None
    try:
        return codec.decode_as(raw, TeamFile)
    except codec.DecodeError as failure:
        raise TeamFileError(ErrorKind.INVALID_ARGS, f"{path}: {failure}") from None


def load(path: Path, resolve: ResolveMember) -> Template:
    """The template with its prompts read and its models resolved."""
    file = read(path)
    problems = structure(file)
    if problems:
        raise TeamFileError(ErrorKind.INVALID_ARGS, f"{path}: {'; '.join(problems)}")
    members = [(_with_prompt(entry, path.parent), _model(entry, resolve)) for entry in file.members]
    members.sort(key=lambda member: member[0].type != "orchestrator")
    return Template(path, file, tuple(members))


def structure(file: TeamFile) -> list[str]:
    """What is wrong with the members as such: exactly one orchestrator, names unique."""
    problems = []
    orchestrators = sum(entry.type == "orchestrator" for entry in file.members)
    if orchestrators != 1:
        problems.append(f"exactly one member must have type 'orchestrator', not {orchestrators}")
    names = [entry.name or entry.type for entry in file.members]
    problems += [
        f"two members are named {name!r}" for name in sorted({n for n in names if names.count(n) > 1})
    ]
    return problems


def members(template: Template, ids: Ids) -> list[AgentSpec]:
    orchestrator_id = ids.new()
    return [
        AgentSpec(
            id=orchestrator_id if entry.type == "orchestrator" else ids.new(),
            type=entry.type,
            name=entry.name or entry.type,
            role="orchestrator" if entry.type == "orchestrator" else "worker",
            model=model,
            description=entry.description,
            system_prompt=entry.system_prompt,
            tools=tuple(entry.tools),
            skills=tuple(entry.skills),
            delegator_id="" if entry.type == "orchestrator" else orchestrator_id,
        )
        for entry, model in template.members
    ]


def _with_prompt(entry: MemberEntry, folder: Path) -> MemberEntry:
    """A prompt that is a `.md` or `.txt` path is read from the team's folder, and from nowhere else."""
    text = entry.system_prompt
    if not text.endswith((".md", ".txt")) or "\n" in text:
        return entry
    path = (folder / text).resolve()
    if not path.is_relative_to(folder.resolve()):
        raise TeamFileError(
            ErrorKind.OUTSIDE_WORKSPACE, f"the prompt {text!r} of {entry.type!r} lies outside {folder}"
        )
    try:
        return msgspec.structs.replace(entry, system_prompt=path.read_text("utf-8").strip())
    except (OSError, UnicodeDecodeError) as failure:
        raise TeamFileError(
            ErrorKind.READ_FAILED, f"cannot read the prompt {text!r} of {entry.type!r}: {failure}"
        ) from None


def _model(entry: MemberEntry, resolve: ResolveMember) -> ModelSpec:
    model = resolve(entry.provider, entry.model_id, entry.base_url)
    return msgspec.structs.replace(model, params={**model.params, **entry.opts}) if entry.opts else model
