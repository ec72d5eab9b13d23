"""What the user's files say of permissions: the rules in force, private places, and a rule that is kept."""

import hashlib
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from planck.config.load import ConfigError, Loaded, edit_user_file
from planck.config.project import Project
from planck.permissions.policy import Surroundings
from planck.permissions.rules import Rule, RuleError, SourcedRule, load
from planck.records import codec
from planck.records.authority import CHANGELESS, Confinement, Mode
from planck.workspace.paths import WorkspaceError, is_inside
from planck.workspace.sandbox import find

SECRETS = (
    *(".ssh", ".gnupg", ".password-store", ".local/share/keyrings", ".config/op", ".vault-token"),
    *(".aws", ".azure", ".config/gcloud", ".kube", ".docker", ".terraform.d"),
    *(".netrc", ".npmrc", ".pypirc", ".cargo/credentials.toml", ".gem/credentials", ".pgpass", ".my.cnf"),
    *(".git-credentials", ".config/git/credentials", ".config/gh"),
    *(".mozilla", ".config/google-chrome", ".config/chromium"),
    *(".claude.json", ".config/io.datasette.llm", ".cache/huggingface/token", ".aider.conf.yml"),
    *(".config/github-copilot", ".local/share/opencode", ".local/share/goose", ".local/share/crush"),
    *(".local/share/amp", ".config/anthropic", ".config/openai"),
)
"""In the user's home: no command of an agent reads them."""
_AGENTS = (
    *(".claude", ".codex", ".gemini", ".qwen", ".kimi", ".vibe", ".grok", ".pi", ".copilot", ".cursor"),
    *(".continue", ".codeium", ".windsurf", ".factory", ".kiro", ".amazonq", ".augment", ".iflow", ".roo"),
    *(".config/opencode", ".config/goose", ".config/crush", ".config/amp", ".opencode", ".goose", ".amp"),
)
"""Homes of programs like ours: keys and conversations, beside what agents may use."""
_READABLE_OF_AGENTS = ("skills", "agents", "commands")
_READABLE = ("tools", "skills", "teams", "sidecar", "cache")
"""In Planck's own home: what agents may use. All else is ours: keys, sessions, approvals."""


class RuleBook:
    """The rules of one session as they were when it began; what costs a look is looked at once."""

    def __init__(self, project: Project, flags: Sequence[Mapping[str, Any]] = ()) -> None:
        """`flags` are rules of this run alone; they stand beside the others, and the strictest wins."""
        own = rules_in_force(project.resources.loaded, project.workspace)
        self._rules = (*own, *load(flags, "flags")) if flags else own
        self._workspace = project.workspace
        self._home = project.home
        self.place = str(project.home / "config.json")
        self._environ = project.environ
        self._sessions_dir = project.config.sessions_dir
        self._known: dict[Mode | None, Surroundings] = {}
        self._private: Private | None = None

    def surroundings(self, mode: Mode | None) -> Surroundings:
        """What holds for a call; with a mode also whether a command can be confined to it, tried once."""
        if mode not in self._known:
            if self._private is None:
                self._private = private_places(self._home, self._environ, self._sessions_dir)
            problem = _missing_sandbox(self._workspace, self._home, self._environ, mode) if mode else ""
            private = self._private
            self._known[mode] = Surroundings(self._rules, private.masked, problem, private.shown)
        return self._known[mode]

    def digest(self) -> str:
        """Names the rules in force, in their order and whatever file they stand in."""
        return hashlib.sha256(codec.encode([one.rule for one in self._rules])).hexdigest()

    def keep(self, rule: Rule) -> str:
        """Adds a rule to the user's own configuration; returns the place where it holds from now on."""
        try:
            with edit_user_file(self._home) as config:
                rules = config.setdefault("permissions", {}).setdefault("rules", [])
                rules.append(codec.decode(codec.encode(rule)))
        except (WorkspaceError, ConfigError, AttributeError, TypeError) as problem:
            return f"approved in this session; it could not be kept: {problem}"
        return f"{self.place}, rule {len(rules)}"


class Private(msgspec.Struct, frozen=True):
    """Canonical paths, there or not: what comes in the middle of a session is private from then on."""

    masked: tuple[str, ...]
    shown: tuple[str, ...]
    """Folders below masked ones that stay readable."""


def private_places(home: Path, environ: Mapping[str, str], sessions_dir: str = "") -> Private:
    user = Path(environ.get("HOME") or Path.home())
    places = [home, *(user / name for name in (*SECRETS, *_AGENTS))]
    if sessions_dir:
        places.append(Path(sessions_dir).expanduser())
    if agent := environ.get("SSH_AUTH_SOCK"):
        places.append(Path(agent).parent)
    shown = [home / name for name in _READABLE]
    shown += [user / folder / name for folder in _AGENTS for name in _READABLE_OF_AGENTS]
    return Private(_resolve(places), _resolve(shown))


def replaceable_rights(project: Project) -> Confinement:
    """Rights of a program that starts by itself and lies where an agent's command could replace it."""
    private = private_places(project.home, project.environ, project.config.sessions_dir)
    roots = project.roots
    return Confinement(Mode.WORKSPACE, roots, roots, masked=private.masked, shown=private.shown)


def _resolve(places: Iterable[Path]) -> tuple[str, ...]:
    return tuple(sorted({os.path.realpath(place) for place in places}))


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


def _missing_sandbox(workspace: Path, home: Path, environ: Mapping[str, str], mode: Mode) -> str:
    """Why a command can't be confined; empty: it can.

    A folder that holds the user's whole life can't be a writable root: its rc files would run outside.
    """
    found = find()
    if found.sandbox is None:
        return "; ".join(found.problems)
    if mode in CHANGELESS:
        return ""
    real = os.path.realpath(workspace)
    for place in (environ.get("HOME") or str(Path.home()), str(home)):
        if is_inside(os.path.realpath(place), (real,)):
            return f"the workspace {real!r} holds {place!r}; work in a folder of the project"
    if not found.sandbox.writes:
        return f"{found.sandbox.level} runs only what writes nothing; {'; '.join(found.problems)}"
    return ""
