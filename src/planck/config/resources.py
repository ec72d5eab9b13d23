"""What an agent is given from files: configuration, AGENTS.md, skills and tools, seen anew at every turn."""

import logging
import os
from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from planck.config import load as configuration
from planck.config.load import ConfigError, Loaded
from planck.config.schema import Config
from planck.config.trust import Trust, TrustState, trust_file
from planck.context import agents_md, skills
from planck.context.prompt import build_system_prompt
from planck.context.skills import Catalog, SearchFolder, Skill
from planck.records.specs import EVERY_TOOL, AgentSpec
from planck.workspace.paths.paths import stamp_file

if TYPE_CHECKING:
    from planck.context.agent_files import AgentCatalog
    from planck.context.commands import CustomCommand

log: logging.Logger = logging.getLogger(__name__)

T = TypeVar("T")


class Resources:
    """Owns the configuration in force; a file that became wrong leaves the last good values."""

    def __init__(
        self,
        home: Path,
        workspace: Path,
        here: Path,
        environ: Mapping[str, str],
        flags: Mapping[str, Any],
        trust: Trust,
    ) -> None:
        self.home = home
        self.workspace = workspace
        self.here = here
        """The folder that the user stands in: the workspace, or one below it."""
        self._environ = environ
        self._flags = flags
        self._trust = trust
        self.loaded: Loaded = self._load(trust.state)
        self._user_home = Path(environ.get("HOME") or Path.home())
        # Looked at before every call of a tool, so as texts: a path costs more than the look.
        files = (*configuration.config_files(home, workspace), trust_file(home))
        self._config_files = tuple(map(str, files))
        self._stamps = self._config_stamps()
        self._tool_dirs = _Memo(self._list_tool_dirs)
        self._places = _Memo(self._skill_places)
        self._skills = _Memo(lambda: skills.discover(self.skill_places()))
        self._roots = tuple(self._list_roots())
        self._agent_folders = tuple(str(root / "agents") for root, _ in self._roots)
        self._instructions: dict[str, _Memo[agents_md.Instructions]] = {}

    @property
    def config(self) -> Config:
        return self.loaded.config

    @property
    def now(self) -> Config:
        """The configuration by the files as they are at this moment: for what runs something."""
        self.refresh()
        return self.config

    def refresh(self) -> None:
        """Takes in what changed on disk since the last turn."""
        stamps = self._config_stamps()
        if stamps == self._stamps:
            return
        self._stamps = stamps
        try:
            self.loaded = self._load(self._trust.examine())
        except ConfigError as failure:
            log.warning("The new configuration is invalid and is ignored: %s", failure.err.message)

    def _load(self, state: TrustState) -> Loaded:
        return configuration.load(self.home, self.workspace, self._environ, self._flags, state)

    def build_system(self, spec: AgentSpec, known: Collection[Skill]) -> str:
        """Returns the system layer of an agent, by the files as they are and the last `refresh`."""
        told = self.instructions(spec.cwd).text
        described = skills.describe_skills(list(known), spec.model.context_window)
        return build_system_prompt(spec.base, told, spec.system_prompt, described)

    def instructions(self, cwd: str = "") -> agents_md.Instructions:
        """Returns what AGENTS.md says to an agent that starts in that folder of the workspace, or here."""
        start = self._find_start(cwd) if cwd else self.here
        kept = self._instructions.get(cwd)
        if kept is None:
            kept = self._instructions[cwd] = _Memo(lambda: self._find_instructions(start))
        places = agents_md.list_places(start, self.workspace, self.home)
        return kept.get((self.config.agents_md, stamps(places)))

    def _find_start(self, cwd: str) -> Path:
        """The folder, or the workspace where it is none of it: a log that was imported names any."""
        start = Path(os.path.normpath(self.workspace / cwd))
        return start if start.is_relative_to(self.workspace) else self.workspace

    def skills(self) -> Catalog:
        places = self.skill_places()
        return self._skills.get((places, skills.stamp_skills(places)))

    def skills_of(self, spec: AgentSpec) -> Mapping[str, Skill]:
        """Returns the named ones; an agent that has every tool and names none has all."""
        if not spec.skills:
            return self.skills().skills if EVERY_TOOL in spec.tools else {}
        found = self.skills().skills
        return {name: found[name] for name in spec.skills if name in found}

    def skill_places(self) -> tuple[SearchFolder, ...]:
        return self._places.get(self.config.skills_dirs)

    def _skill_places(self) -> tuple[SearchFolder, ...]:
        usual = [self.workspace / name for name in (".planck/skills", ".agents/skills", ".claude/skills")]
        usual += [self.home / "skills", *(self._user_home / n / "skills" for n in (".agents", ".claude"))]
        here = self.workspace
        return tuple(
            SearchFolder(path, "project", here) if path.is_relative_to(here) else SearchFolder(path, "home")
            for path in self._choose_directories(self.config.skills_dirs, usual)
        )

    def commands(self) -> "dict[str, CustomCommand]":
        """The user's and the project's own commands, by name, as the files are now."""
        from planck.context.commands import CommandPlace, find_commands  # few sessions have any

        return find_commands(
            CommandPlace(root / "commands", "project", within)
            if within
            else CommandPlace(root / "commands", "home")
            for root, within in self._roots
        )

    def commands_by_call(self) -> "dict[str, CustomCommand]":
        """By all that may be written behind the slash; `commands` has each once."""
        from planck.context.commands import add_short_names

        return add_short_names(self.commands())

    def agents(self) -> "AgentCatalog":
        """The user's and the project's own agents, by name, as the files are now."""
        from planck.context.agent_files import find_agents  # few sessions have any
        from planck.context.commands import CommandPlace

        return find_agents(
            CommandPlace(root / "agents", "project", within)
            if within
            else CommandPlace(root / "agents", "home")
            for root, within in self._roots
            if (root / "agents").is_dir()
        )

    def has_agents(self) -> bool:
        # Most are not there: no exception for each.
        return any(os.access(folder, os.F_OK) and os.path.isdir(folder) for folder in self._agent_folders)

    def _list_roots(self) -> list[tuple[Path, Path | None]]:
        """Returns the folders that hold commands and agents; those of the project must not lead out of it."""
        here = self.workspace
        roots = [*(here / name for name in (".planck", ".agents", ".claude")), self.home]
        roots += [self._user_home / name for name in (".agents", ".claude")]
        return [(root, here if root.is_relative_to(here) else None) for root in roots]

    def tool_dirs(self) -> list[Path]:
        """In order; those inside the project are the project's own: only for a folder that is trusted."""
        return self._tool_dirs.get(self.config.tools_dirs)

    def may_run(self, folder: Path) -> bool:
        """Whether tools of a folder may be called: the user's own, or a trusted project's, as looked at."""
        return self._trust.may_run(folder, trusted=self.loaded.trusted)

    def is_in_clone(self, path: Path) -> bool:
        """Whether it is part of another session's clone, which no configuration makes the user's own."""
        return self._trust.is_in_clone(path)

    def _list_tool_dirs(self) -> list[Path]:
        usual = [self.workspace / ".planck" / "tools", self.home / "tools"]
        return self._choose_directories(self.config.tools_dirs, usual)

    def team_dirs(self) -> list[Path]:
        usual = [self.workspace / ".planck" / "teams", self.home / "teams"]
        return self._choose_directories(self.config.teams_dirs, usual)

    def _choose_directories(self, configured: Iterable[str], usual: Iterable[Path]) -> list[Path]:
        """What the configuration names instead of the usual places; relative to the workspace, or `~`."""
        named = [self.workspace / self._expand(name) for name in configured]
        return list(dict.fromkeys(named or usual))

    def _expand(self, name: str) -> Path:
        if name == "~" or name.startswith("~/"):
            return self._user_home / name[2:]
        return Path(name).expanduser()

    def _find_instructions(self, start: Path) -> agents_md.Instructions:
        mode = self.config.agents_md
        if mode == "off":
            return agents_md.Instructions("")
        return agents_md.find_instructions(start, self.workspace, self.home, nearest=mode == "nearest")

    def _config_stamps(self) -> tuple[Any, ...]:
        files = self._config_files
        if self.loaded.trusted:
            files = (*files, *map(str, self._trust.files()))
        return files, stamps(files)


class _Memo(Generic[T]):
    """A value that is made again when what it came from is another."""

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._from: Any = None
        self._value: T | None = None

    def get(self, source: Any) -> T:
        if self._value is None or source != self._from:
            self._value = self._make()
            self._from = source
        return self._value


def stamps(paths: Iterable[Path | str]) -> tuple[Any, ...]:
    """Differs when one of the files was changed, came or went."""
    return tuple(map(stamp_file, paths))
