"""What the user's files say of permissions: the rules in force, private places, and a rule that is kept."""

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from planck.config.load import ConfigError, Loaded, edit_user_file
from planck.config.private import Private, find_homes, private_places
from planck.config.project import Project
from planck.permissions.policy import PolicyContext
from planck.permissions.rules import Rule, RuleError, SourcedRule, load
from planck.records import codec
from planck.records.authority import CHANGELESS, Confinement, Mode
from planck.workspace.paths.paths import WorkspaceError
from planck.workspace.sandbox.closed import find_closed
from planck.workspace.sandbox.sandbox import find


class RuleBook:
    """The rules of one session as they were when it began; what costs a look is looked at once."""

    def __init__(self, project: Project, flags: Sequence[Mapping[str, Any]] = ()) -> None:
        """`flags` are rules of this run alone; they stand beside the others, and the strictest wins."""
        own = rules_in_force(project.resources.loaded, project.workspace)
        self._rules = (*own, *load(flags, "flags")) if flags else own
        self._project = project
        self._home = project.home
        self.place = str(project.home / "config.json")
        self._environ = project.environ
        self._sessions_dir = project.config.sessions_dir
        self._known: dict[Mode | None, PolicyContext] = {}
        self._private: Private | None = None

    def policy_context(self, mode: Mode | None) -> PolicyContext:
        """What holds for a call; with a mode also whether a command can be confined to it, tried once."""
        if mode not in self._known:
            if self._private is None:
                self._private = private_places(self._home, self._environ, self._sessions_dir)
            problem = _missing_sandbox(mode) if mode else ""
            private, homes = self._private, find_homes(self._home, self._environ)
            self._known[mode] = PolicyContext(self._rules, private.masked, problem, private.shown, homes)
        return self._known[mode]

    def digest(self) -> str:
        """Names the rules in force, in their order and whatever file they stand in."""
        return hashlib.sha256(codec.encode([one.rule for one in self._rules])).hexdigest()

    def read_now(self) -> tuple[SourcedRule, ...]:
        """Returns the rules of the files at this moment; files that can't be read change nothing."""
        try:
            self._project.resources.refresh()
            return rules_in_force(self._project.resources.loaded, self._project.workspace)
        except ConfigError:
            return self._rules

    def keep(self, rule: Rule) -> str:
        """Adds a rule to the user's own configuration; returns the place where it holds from now on."""
        try:
            with edit_user_file(self._home) as config:
                rules = config.setdefault("permissions", {}).setdefault("rules", [])
                rules.append(codec.decode(codec.encode(rule)))
        except (WorkspaceError, ConfigError, AttributeError, TypeError) as problem:
            return f"approved in this session; it could not be kept: {problem}"
        return f"{self.place}, rule {len(rules)}"


def replaceable_rights(project: Project) -> Confinement:
    """Rights of a program that starts by itself and lies where an agent's command could replace it."""
    private = private_places(project.home, project.environ, project.config.sessions_dir)
    roots, homes = project.roots, find_homes(project.home, project.environ)
    writable = tuple(root for root in roots if not find_closed(root, homes))
    return Confinement(Mode.WORKSPACE, roots, writable, masked=private.masked, shown=private.shown)


def rules_in_force(loaded: Loaded, workspace: Path) -> tuple[SourcedRule, ...]:
    """The highest list of the user's own places, and the project's beside it: that one replaces none."""
    own: tuple[SourcedRule, ...] = ()
    project: tuple[SourcedRule, ...] = ()
    folder = str(workspace / ".planck" / "config.json")
    try:
        for layer in loaded.layers:
            if "rules" not in layer.permissions:
                continue
            if layer.source.startswith(folder):
                project = load(layer.permissions["rules"], layer.source)
            else:
                own = load(layer.permissions["rules"], layer.origin("permissions"))
    except RuleError as failure:
        raise ConfigError(failure.err.kind, failure.err.message) from None
    return (*own, *project)


def _missing_sandbox(mode: Mode) -> str:
    """Why this machine can't confine a command; empty: it can. What a root itself forbids: `find_closed`."""
    found = find()
    if found.sandbox is None:
        return "; ".join(found.problems)
    if mode in CHANGELESS or found.sandbox.writes:
        return ""
    return f"{found.sandbox.level} runs only what writes nothing; {'; '.join(found.problems)}"
