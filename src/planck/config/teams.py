"""Team templates: TEAM.json, found by alias or path, loaded and checked."""

import errno
import json
import os
import re
import shlex
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec.structs import replace

from planck.context.compaction import BUILT_IN
from planck.records import codec
from planck.records.amounts import Allowance
from planck.records.nearest import did_you_mean
from planck.records.outcome import ErrorKind, PlanckError
from planck.records.ports import Ids
from planck.records.specs import AgentKind, AgentSpec, ForeignSpec, ModelSpec, Workspace
from planck.workspace.paths.paths import place_root
from planck.workspace.paths.regular import read_regular

_MAX_BYTES = 4 << 20
_LONGEST_NAME = 64

T = TypeVar("T")
ResolveMember = Callable[[str, str, str], ModelSpec]
"""(provider, model id, base_url) -> the model; raises where there is none."""


IN_PROGRAM = "team"
"""Stands for the path of a team that a program made; the errors of a file begin with its path."""


class TeamFileError(PlanckError):
    """A TEAM.json that can't be used; the message names the file and the field."""


class MemberEntry(msgspec.Struct, frozen=True):
    type: str
    provider: str = ""
    model_id: str = ""
    """Both or neither: a member that names no model has the orchestrator's, and that one the default."""
    name: str = ""
    description: str = ""
    base_url: str = ""
    system_prompt: str = ""
    opts: dict[str, Any] = {}
    tools: list[str] = []
    skills: list[str] = []
    compactor: str = ""
    base_prompt: bool = True
    budget: Allowance | None = None
    roots: list[str] = []
    """Folders of the workspace that alone it may write; none: wherever the session may."""
    acp: ForeignSpec | None = None
    """Another program that speaks ACP, with a model and tools of its own."""
    done_when: list[str] = []
    """Commands that must exit 0 before a task of it counts as done."""
    workspace: Workspace = "shared"
    """`own`: it works in a view of the workspace, and nobody sees its changes until they land."""


class TeamFile(msgspec.Struct, frozen=True):
    members: list[MemberEntry]
    name: str = ""
    description: str = ""


def find_team(alias_or_path: str, dirs: Sequence[Path]) -> Path:
    as_path = Path(alias_or_path).expanduser()
    direct = [as_path / "TEAM.json", as_path] if as_path.suffix != ".json" else [as_path]
    return _find_first(alias_or_path, [*(folder / alias_or_path / "TEAM.json" for folder in dirs), *direct])


def find_alias(alias: str, dirs: Sequence[Path]) -> Path:
    """As `find_team`, for an alias of somebody whose paths are not the user's word."""
    check_alias(alias)
    return _find_first(alias, [folder / alias / "TEAM.json" for folder in dirs])


def check_alias(alias: str) -> None:
    """Raises for a path: an alias is the name of a folder among the teams."""
    if alias in ("", ".", "..") or "/" in alias or "\0" in alias:
        raise TeamFileError(
            ErrorKind.INVALID_ARGS, f"{alias!r} is not a team alias. Use a plain name such as crew."
        )


def _find_first(alias_or_path: str, candidates: Sequence[Path]) -> Path:
    for candidate in candidates:
        if candidate.is_file():
            return candidate
    raise TeamFileError(
        ErrorKind.NOT_FOUND,
        f'Team not found: {alias_or_path!r}. Run "planck teams list" to see all teams, '
        'or "planck teams new ALIAS" to create one.',
    )


def read_team(path: Path) -> dict[str, Any]:
    """Returns the file as it is, with fields that we do not know."""
    return _decode(path, dict[str, Any])


def _decode(path: Path, type_: type[T]) -> T:
    content = _read(path)
    try:
        return codec.decode_as(content, type_)
    except codec.DecodeError as failure:
        from planck.config.files import parse_relaxed  # few have comments in them

        try:
            return msgspec.convert(parse_relaxed(content.decode()), type_)
        except msgspec.ValidationError as wrong:
            raise _refuse_file(path, wrong) from None
        except (ValueError, RecursionError):
            raise _refuse_file(path, failure) from None


def _refuse_file(path: Path, problem: Exception) -> TeamFileError:
    return TeamFileError(ErrorKind.INVALID_ARGS, f"{path} is not a valid team file: {problem}. Fix the file.")


def read_team_text(path: Path) -> str:
    return _read(path).decode(errors="replace")


def _read(path: Path) -> bytes:
    try:
        return read_regular(path, _MAX_BYTES)
    except OSError as failure:
        raise TeamFileError(
            ErrorKind.READ_FAILED,
            f"Cannot read {path}: {failure.strerror}. Check the path and its permissions.",
        ) from None


def needs_default(path: Path) -> bool:
    """Whether the team's orchestrator names no model of its own."""
    return any(
        entry.type == "orchestrator" and not entry.provider for entry in _decode(path, TeamFile).members
    )


def load_team(
    path: Path,
    resolve: ResolveMember,
    ids: Ids,
    *,
    lead: ModelSpec | None = None,
    doubt: str = "",
    places: Sequence[str],
    kinds: Mapping[str, AgentKind] | None = None,
) -> list[AgentSpec]:
    """Returns its members, the orchestrator first, prompts read.

    A team that is in doubt sets no address, starts no program and has no checks.

    `places` are the workspace and the folders
    beside it, canonical.

    `lead` is the orchestrator's model, whatever its entry says. A member whose type is one of the `kinds`,
    and that has no prompt of its own, is one of those; what its entry says counts before the kind.
    """
    file = _decode(path, TeamFile)
    if doubt:
        _refuse_doubtful(path, file, doubt)
        file = replace(file, members=[replace(entry, done_when=[]) for entry in file.members])
    file = replace(file, name=file.name or path.parent.name)
    return make_members(file, str(path), path.parent, resolve, ids, lead=lead, places=places, kinds=kinds)


def read_shape(team: Mapping[str, Any]) -> TeamFile:
    """Returns a team that a program wrote in the shape of a TEAM.json; an unknown key is a mistake."""
    try:
        file = msgspec.convert(team, TeamFile)
    except msgspec.ValidationError as problem:
        raise TeamFileError(ErrorKind.INVALID_ARGS, f"The team is not valid: {problem}. Fix it.") from None
    known = {"team": TeamFile.__struct_fields__, "member": MemberEntry.__struct_fields__}
    for what, found in (("team", team), *(("member", entry) for entry in team["members"])):
        for key in found:
            if key not in known[what]:
                hint = did_you_mean(key, known[what]) or "."
                raise TeamFileError(ErrorKind.INVALID_ARGS, f"Unknown key {key!r} of a {what}{hint}")
    return file


def make_members(
    file: TeamFile,
    source: str,
    folder: Path,
    resolve: ResolveMember,
    ids: Ids,
    *,
    lead: ModelSpec | None = None,
    places: Sequence[str],
    kinds: Mapping[str, AgentKind] | None = None,
) -> list[AgentSpec]:
    """As `load_team`, of one that was read. `source` names it in errors; prompts are read from `folder`."""
    if problems := _check_members(file, places):
        raise TeamFileError(ErrorKind.INVALID_ARGS, f"{source}: {' '.join(problems)}")
    entries = sorted(file.members, key=lambda entry: entry.type != "orchestrator")
    lead = lead or _resolve_own(entries[0], resolve)
    members = [
        (_take_kind(_read_prompt(entry, folder), kind), _resolve_model(entry, resolve, lead, kind))
        for entry, kind in ((entry, _find_kind(entry, kinds or {})) for entry in entries)
    ]
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
            compactor=entry.compactor,
            team=file.name,
            base_prompt=entry.base_prompt,
            budget=entry.budget,
            roots=tuple(entry.roots),
            acp=entry.acp and _name_source(entry.acp, source),
            done_when=tuple(entry.done_when),
            workspace=entry.workspace,
        )
        for entry, model in members
    ]


def _name_source(foreign: ForeignSpec, source: str) -> ForeignSpec:
    """A kind's is the file of that kind; a team that a program made has no file."""
    return (
        foreign
        if foreign.source or source == IN_PROGRAM
        else replace(foreign, source=os.path.realpath(source))
    )


def _refuse_doubtful(path: Path, file: TeamFile, doubt: str) -> None:
    if any(entry.base_url for entry in file.members):
        does = "sends prompts to its own `base_url`"
    elif foreign := next((entry.acp for entry in file.members if entry.acp), None):
        does = f"starts its own program, {shlex.join(foreign.command)!r}"
    else:
        return
    raise TeamFileError(ErrorKind.PERMISSION_DENIED, f"{path} {does}, but {doubt}")


def find_foreign(path: Path) -> dict[str, ForeignSpec]:
    """Returns, by name, the members of a team that are other programs."""
    members = _decode(path, TeamFile).members
    return {entry.name or entry.type: entry.acp for entry in members if entry.acp}


def _check_members(file: TeamFile, places: Sequence[str]) -> list[str]:
    """Returns what is wrong with the members as such: one orchestrator, names unique, whole models, roots."""
    problems = []
    orchestrators = sum(entry.type == "orchestrator" for entry in file.members)
    if orchestrators != 1:
        problems.append(f"Exactly one member must have type 'orchestrator', not {orchestrators}.")
    names = [entry.name or entry.type for entry in file.members]
    problems += [
        f"Two members are named {name!r}. Names must be unique."
        for name in sorted({n for n in names if names.count(n) > 1})
    ]
    for entry in file.members:
        who = entry.name or entry.type
        if not who.isprintable() or not 0 < len(who) <= _LONGEST_NAME:
            problems.append(f"{who!r}: a name must have 1 to {_LONGEST_NAME} printable characters.")
        if bool(entry.provider) is not bool(entry.model_id):
            problems.append(f"{who}: `provider` and `model_id` belong together. Set both or neither.")
        elif entry.base_url and not entry.provider:
            problems.append(f"{who}: `base_url` needs `provider` and `model_id`. Set both.")
        problems += [f"{who}: {problem}" for name in entry.roots if (problem := _check_root(name, places))]
        if entry.acp:
            problems += [f"{who}: {problem}" for problem in _check_foreign(entry, entry.acp)]
    return problems


def _check_root(name: str, places: Sequence[str]) -> str:
    place = place_root(name, places)
    if not place:
        return f"root {name!r} is outside the workspace, or protected. Use another folder in the workspace."
    if not os.path.isdir(place) or os.path.realpath(place) != place:
        return (
            f"root {name!r} must be an existing folder in the workspace, not a link. "
            "Create the folder, or use another one."
        )
    return ""


_PROMISED = ("host",)
"""Keys of members that are not built yet: what is not kept must not look as if it were."""


def _list_unread(path: Path) -> Iterator[tuple[str, str]]:
    """Yields the keys of members that nothing reads, each with whose it is."""
    for member in read_team(path).get("members", ()):
        for key in member:
            if key not in MemberEntry.__struct_fields__:
                yield member.get("name") or member["type"], key


def find_unbuilt(path: Path) -> list[str]:
    """Names what a team asks for and does not get: it starts all the same, and the user is told."""
    _decode(path, TeamFile)  # what is no team is told of as such, and not looked at key by key
    return [
        f"{who}: `{key}` is not supported yet and has no effect."
        for who, key in _list_unread(path)
        if key in _PROMISED
    ]


def find_unrun(path: Path, doubt: str) -> list[str]:
    """Names the checks of a team that is in doubt: none of them runs, and the user is told."""
    members = [entry for entry in _decode(path, TeamFile).members if entry.done_when] if doubt else []
    names = ", ".join(entry.name or entry.type for entry in members)
    return [f"`done_when` of {names} in {path} does not run: {doubt}"] if members else []


def _find_mistyped(path: Path) -> list[str]:
    meant = [(who, key, did_you_mean(key, MemberEntry.__struct_fields__)) for who, key in _list_unread(path)]
    return [f"{who}: unknown key {key!r}{hint}" for who, key, hint in meant if hint and key not in _PROMISED]


def _check_foreign(entry: MemberEntry, foreign: ForeignSpec) -> Iterator[str]:
    own = {"provider": entry.provider, "tools": entry.tools, "skills": entry.skills, "opts": entry.opts}
    if given := [name for name, value in own.items() if value]:
        yield f"an `acp` member has its own model and tools. Remove {', '.join(given)}."
    if entry.type == "orchestrator":
        yield "the orchestrator cannot be an external program. Make this member a worker."
    if not foreign.command or not foreign.command[0]:
        yield 'acp.command is empty. Set the program and its arguments, such as ["goose", "acp"].'
    for name in foreign.env:
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
            yield (
                f"{name!r} in acp.env is not a variable name. List names only; "
                "their values come from your environment."
            )


def _read_prompt(entry: MemberEntry, folder: Path) -> MemberEntry:
    """A prompt that is a `.md` or `.txt` path is read from the team's folder, and from nowhere else."""
    text = entry.system_prompt
    if not text.endswith((".md", ".txt")) or "\n" in text:
        return entry
    try:
        content = read_regular(folder / text, _MAX_BYTES, within=folder)
        return replace(entry, system_prompt=content.decode().strip())
    except (OSError, UnicodeDecodeError) as failure:
        if isinstance(failure, OSError) and failure.errno == errno.EXDEV:
            raise TeamFileError(
                ErrorKind.OUTSIDE_WORKSPACE,
                f"The prompt {text!r} for {entry.type!r} is outside {folder}. Move it into that folder.",
            ) from None
        raise TeamFileError(
            ErrorKind.READ_FAILED,
            f"Cannot read the prompt {text!r} for {entry.type!r}: {failure}. Fix the path or the file.",
        ) from None


def _resolve_own(entry: MemberEntry, resolve: ResolveMember) -> ModelSpec:
    return resolve(entry.provider, entry.model_id, entry.base_url)


def _find_kind(entry: MemberEntry, kinds: Mapping[str, AgentKind]) -> AgentKind | None:
    return None if entry.system_prompt or entry.acp or entry.type == "orchestrator" else kinds.get(entry.type)


def _take_kind(entry: MemberEntry, kind: AgentKind | None) -> MemberEntry:
    if kind is None:
        return entry
    if kind.acp:
        described = entry.description or kind.description
        return replace(entry, description=described, system_prompt=kind.system_prompt, tools=[], acp=kind.acp)
    return replace(
        entry,
        description=entry.description or kind.description,
        system_prompt=kind.system_prompt,
        tools=entry.tools or [*kind.tools],
        skills=entry.skills or [*kind.skills],
    )


def _resolve_model(
    entry: MemberEntry, resolve: ResolveMember, lead: ModelSpec, kind: AgentKind | None = None
) -> ModelSpec:
    if foreign := entry.acp or (kind and kind.acp):
        return foreign.model
    inherits = entry.type == "orchestrator" or not entry.provider
    model = ((kind and kind.model) or lead) if inherits else _resolve_own(entry, resolve)
    return replace(model, params={**model.params, **entry.opts}) if entry.opts else model


def list_foreign(dirs: Sequence[Path], doubt: Callable[[Path], str]) -> list[ForeignSpec]:
    """Returns every other program that a team of the directories names, where nothing speaks against it."""
    found: list[ForeignSpec] = []
    for path in (path for folder in dirs for path in sorted(folder.glob("*/TEAM.json"))):
        with suppress(TeamFileError):
            members = find_foreign(path)
            if members and not doubt(path):
                found += members.values()
    return found


class TeamRow(msgspec.Struct, frozen=True):
    """A row of `planck teams list`."""

    alias: str
    path: str
    name: str
    description: str
    members: tuple[str, ...]
    problem: str = ""


def list_teams(dirs: Sequence[Path]) -> list[TeamRow]:
    """Returns every team of the directories; of one alias, the first directory's."""
    rows: dict[str, TeamRow] = {}
    for path in (path for folder in dirs for path in sorted(folder.glob("*/TEAM.json"))):
        alias = path.parent.name
        try:
            file = _decode(path, TeamFile)
        except TeamFileError as failure:
            rows.setdefault(alias, TeamRow(alias, str(path), "", "", (), str(failure.err)))
            continue
        names = tuple(entry.name or entry.type for entry in file.members)
        rows.setdefault(alias, TeamRow(alias, str(path), file.name, file.description, names))
    return list(rows.values())


def check_team(
    path: Path,
    resolve: ResolveMember,
    *,
    lead: ModelSpec | None,
    tools: Collection[str],
    skills: Collection[str],
    compactors: Collection[str],
    places: Sequence[str],
) -> list[str]:
    """Returns everything that would go wrong with the team; empty: it can start. Names are known ones.

    `lead` is the model of an orchestrator that names none.
    """
    compactors = {*BUILT_IN, *compactors}
    file = _decode(path, TeamFile)
    problems = [*_check_members(file, places), *find_unbuilt(path), *_find_mistyped(path)]
    head = next(
        (entry for entry in file.members if entry.type == "orchestrator"), MemberEntry("orchestrator")
    )
    for entry in file.members:
        who = entry.name or entry.type
        window = 0
        named = entry if entry.provider else head
        try:
            own = named.provider and named.model_id and not entry.acp
            model = _resolve_own(named, resolve) if own else lead
            window = model.context_window if model else 0
        except PlanckError as failure:
            if named is entry:
                problems.append(f"{who}: model {entry.provider}/{entry.model_id}: {failure.err.full_message}")
        problems += [_name_unknown(who, "tool", name, tools) for name in entry.tools if name not in tools]
        problems += [_name_unknown(who, "skill", name, skills) for name in entry.skills if name not in skills]
        if entry.compactor not in compactors:
            problems.append(_name_unknown(who, "compactor", entry.compactor, compactors))
        try:
            prompt = _read_prompt(entry, path.parent).system_prompt
        except TeamFileError as failure:
            problems.append(f"{who}: {failure.err.message}")
            continue
        if window and len(prompt.encode()) // _BYTES_PER_TOKEN > window:
            size, room = f"{len(prompt.encode()):,} bytes", f"{window:,} tokens"
            problems.append(
                f"{who}: the prompt ({size}) does not fit the model's context window ({room}). "
                "Shorten it, or choose another model."
            )
    return problems


_BYTES_PER_TOKEN = 4
"""A low estimate of what a token takes, so that only a prompt that surely does not fit is named."""


def create_team(folder: Path, alias: str, model: ModelSpec | None = None) -> Path:
    """Writes a small working team to begin with, on that model or the default; refuses to overwrite one."""
    from planck.workspace.paths.output_file import create_file  # one answer needs none

    check_alias(alias)
    target = folder / alias
    if target.exists():
        raise TeamFileError(ErrorKind.NOT_UNIQUE, f"{target} already exists. Choose another alias.")
    (target / "prompts").mkdir(parents=True)
    for name, text in _PROMPTS.items():
        create_file(target / "prompts" / f"{name}.md", text)
    common = {"provider": model.provider, "model_id": model.id or model.model} if model else {}
    members = [
        {"type": name, "description": text, **common, "system_prompt": f"prompts/{name}.md", "tools": tools}
        for name, text, tools in _MEMBERS
    ]
    file = {"name": alias, "description": "A lead, a builder and a tester.", "members": members}
    create_file(target / "TEAM.json", json.dumps(file, indent=2) + "\n")
    return target / "TEAM.json"


_MEMBERS = (
    ("orchestrator", "Plans the work, delegates it and reports the result.", ["read", "glob", "grep"]),
    ("builder", "Changes the code.", ["read", "write", "edit", "glob", "grep", "bash"]),
    ("tester", "Runs the tests and reports what fails.", ["read", "bash"]),
)

_PROMPTS = {
    "orchestrator": "Split the task. Delegate changes to builder and checks to tester. Then report.\n",
    "builder": "Make the smallest change that completes the task. Then list the files that you changed.\n",
    "tester": "Run the tests. Report the commands that you ran and the last lines of their output.\n",
}


def _name_unknown(who: str, what: str, name: str, known: Collection[str]) -> str:
    return f"{who}: unknown {what} {name!r}{did_you_mean(name, known) or '.'}"
