"""Skills by the public SKILL.md standard: name and description always, the rest when it is asked for."""

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec

from planck.context.texts import MAX_BYTES, read_text
from planck.records.outcome import ErrorKind, PlanckError
from planck.workspace.paths.beneath import escape
from planck.workspace.paths.paths import Root, WorkspaceError, is_inside, stamp_file
from planck.workspace.paths.regular import locate_open

Scope = Literal["project", "home"]
MAX_SKILLS = 512
MAX_DESCRIPTION = 1024
_MAX_RESOURCES = 100
_SHARE = 50
_TOKEN_BYTES = 4
_NAME = r"[^\W_][\w.-]{0,63}"
"""Letters of any alphabet, as the standard has it; nothing invisible is one."""


class SkillError(PlanckError):
    """The skill, or a file of it, can't be had; the message says what can."""


class SearchFolder(msgspec.Struct, frozen=True):
    """A folder of skills; a project's must not lead out of it."""

    path: Path
    scope: Scope
    within: Path | None = None


class Skill(msgspec.Struct, frozen=True):
    name: str
    description: str
    folder: Path
    scope: Scope
    within: Path | None = None


class Catalog(msgspec.Struct, frozen=True):
    """What was found: the skills by name, those that an earlier folder hides, and what could not be read."""

    skills: dict[str, Skill] = {}
    shadowed: tuple[Skill, ...] = ()
    problems: tuple[str, ...] = ()

    def describe(self) -> list[dict[str, object]]:
        """Returns a row for each, as lists of any frontend have it; those that are hidden come last."""
        found = [*((skill, False) for skill in self.skills.values()), *((one, True) for one in self.shadowed)]
        return [
            {
                "name": skill.name,
                "description": skill.description,
                "scope": skill.scope,
                "path": str(skill.folder),
                "shadowed": shadowed,
            }
            for skill, shadowed in found
        ]


def discover(places: Iterable[SearchFolder]) -> Catalog:
    """Looks through the folders in order; the first of a name wins."""
    skills: dict[str, Skill] = {}
    shadowed: list[Skill] = []
    problems: list[str] = []
    for place in places:
        for folder in _list_folders(place):
            found = _read_head(place, folder)
            if isinstance(found, str):
                problems.append(found)
            elif found.name in skills:
                shadowed.append(found)
            elif len(skills) < MAX_SKILLS:
                skills[found.name] = found
            else:
                problems.append(
                    f"{folder} is ignored, because there are more than {MAX_SKILLS} skills; remove some"
                )
    return Catalog(skills, tuple(shadowed), tuple(problems))


def describe_skills(skills: Sequence[Skill], window: int = 0) -> str:
    """Returns what the system prompt says of them: enough to choose one, no more.

    Where that would take more than a fiftieth of the window, in tokens, it is their names alone.
    """
    if not skills:
        return ""
    rows = "\n".join(
        f"- {skill.name} ({skill.scope}): {' '.join(skill.description.split())}" for skill in skills
    )
    if window and len(rows.encode()) // _TOKEN_BYTES > window // _SHARE:
        rows = ", ".join(skill.name for skill in skills)
        return (
            "Skills: instructions for particular kinds of work. Before work that a skill may cover, call "
            f"load_skill with its name and follow it; list_skills describes them. {rows}"
        )
    return (
        "Skills: instructions for particular kinds of work. Before work that a skill describes, "
        f"call load_skill with its name and follow it.\n{rows}"
    )


def read_skill(skill: Skill, resource: str = "") -> str:
    """Returns the instructions, then the names of the skill's other files; or one of those files.

    No path leads out of the skill's folder.
    """
    if resource:
        return _read_file(skill, resource)
    parsed = _split_head(_read_file(skill, "SKILL.md"))
    names = _list_resources(skill)
    text = parsed[1] if parsed else ""
    if names:
        rows = "\n".join(f"- {name}" for name in names)
        text += f"\n\nFiles in this skill (read one with load_skill and `resource`):\n{rows}"
    return f"{text}\n\nThe skill is in {escape(str(skill.folder))}".strip()


def _list_resources(skill: Skill) -> list[str]:
    found: list[str] = []
    for folder, folders, files in os.walk(skill.folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(files):
            relative = os.path.relpath(os.path.join(folder, name), skill.folder)
            if relative != "SKILL.md" and not name.startswith("."):
                found.append(escape(relative))
        if len(found) > _MAX_RESOURCES:
            return [*found[:_MAX_RESOURCES], "… and more"]
    return found


def stamp_skills(places: Iterable[SearchFolder]) -> tuple[Any, ...]:
    """Returns what differs when a skill came, went or changed its SKILL.md."""
    return tuple(
        (str(folder), stamp_file(folder / "SKILL.md")) for place in places for folder in _list_folders(place)
    )


def _list_folders(place: SearchFolder) -> Iterator[Path]:
    if not os.access(place.path, os.F_OK):  # most places hold nothing: no exception for each
        return
    try:
        with os.scandir(place.path) as entries:
            names = sorted(entry.name for entry in entries if not entry.name.startswith("."))
    except OSError:
        return
    for name in names:
        if os.path.lexists(place.path / name / "SKILL.md"):
            yield place.path / name


def _read_head(place: SearchFolder, folder: Path) -> Skill | str:
    """Returns the skill of a folder, or why it is none."""
    bare = Skill(folder.name, "", folder, place.scope, place.within)
    file = folder / "SKILL.md"
    try:
        parsed = _split_head(_read_file(bare, "SKILL.md"))
    except SkillError as failure:
        return f"{file}: {failure.err.message}"
    if parsed is None:
        return f"{file} has no front matter; add `name` and `description` between two lines of `---`"
    fields = parsed[0]
    name = _join_words(fields, "name") or folder.name
    if (
        not re.fullmatch(_NAME, name) and "/" not in name
    ):  # a display name: the folder's own is the one to load it by
        name = folder.name
    if not re.fullmatch(_NAME, name):
        return f"{file}: {name!r} is not a skill name; use at most 64 letters, digits and '-'"
    description = _join_words(fields, "description")
    if not description:
        return f"{file} has no `description`; add what the skill does and when to use it"
    return msgspec.structs.replace(bare, name=name, description=description[:MAX_DESCRIPTION])


def _split_head(text: str) -> tuple[dict[str, Any], str] | None:
    from planck.context.frontmatter import split  # only where there is a skill

    return split(text)


def _join_words(fields: dict[str, Any], key: str) -> str:
    value = fields.get(key, "")
    return " ".join(value) if isinstance(value, list) else value.strip() if isinstance(value, str) else ""


def _require_within(fd: int, skill: Skill, path: str) -> None:
    """By the descriptor: the folder may have become a link since it was looked at."""
    assert skill.within is not None
    try:
        place = locate_open(fd, skill.folder / path)
    except OSError:
        raise _outside(skill) from None
    if not is_inside(place, [os.path.realpath(skill.within)]):
        raise _outside(skill)


def _outside(skill: Skill) -> SkillError:
    return SkillError(
        ErrorKind.OUTSIDE_WORKSPACE,
        f"skill {skill.name!r} is a link that leads outside {str(skill.within)!r}; replace it with a copy",
    )


def _read_file(skill: Skill, path: str) -> str:
    """Reads a file of a skill, opened beneath its folder (and, a project's, beneath the project)."""
    if skill.within and not is_inside(os.path.realpath(skill.folder), [os.path.realpath(skill.within)]):
        raise _outside(skill)
    try:
        with Root(skill.folder).reading(path) as fd:
            if skill.within:
                _require_within(fd, skill, path)
            return read_text(fd, MAX_BYTES)
    except WorkspaceError as failure:
        if failure.err.kind is not ErrorKind.NOT_FOUND:
            raise SkillError(failure.err.kind, failure.err.message) from None
        raise SkillError(
            ErrorKind.RESOURCE_MISSING,
            f"skill {skill.name!r} has no file {path!r}; load_skill without `resource` lists its files",
        ) from None
