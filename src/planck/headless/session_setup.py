"""What a session will be made of, before its log is there: what is wrong with it shows here."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from planck.agent.agent import Bounds
from planck.budget.accounts import Accounts, Purse
from planck.budget.budget import UNLIMITED
from planck.closing import close_all
from planck.config import models
from planck.config.load import ConfigError
from planck.config.project import Project
from planck.config.providers import Providers
from planck.config.rules import RuleBook, ToolFlags, read_tool_flags
from planck.context.prompt import Environment
from planck.headless.session_tools import SessionTools
from planck.own_code import list_own, tell_own
from planck.own_files import keep_apart
from planck.peers.peers import Peers
from planck.permissions.approver import Approvals, Approver
from planck.permissions.authority import authorise, session_ceiling
from planck.permissions.gate import Gate
from planck.records.amounts import MAX_COUNT, MAX_USD, Allowance
from planck.records.authority import CHANGELESS, Authority, Mode
from planck.records.messages import Message
from planck.records.outcome import ErrorKind, say_option
from planck.records.ports import Clock, Ids
from planck.records.specs import RECORDED, AgentSpec, Limits, ModelSpec, RunOptions, SessionOptions
from planck.records.tools import ORCHESTRATOR_TOOLS, TEAM_TOOLS
from planck.team.by_id import split_team_tools
from planck.toolkit.tool import Tool
from planck.tools.builtin.files import Spills
from planck.workspace.paths.paths import Root
from planck.workspace.process.containment import bash
from planck.workspace.sandbox import sandbox

if TYPE_CHECKING:
    from planck.headless.embedding.hooks import ProgramHooks


class Runtime(msgspec.Struct, frozen=True, kw_only=True):
    """What all sessions of a process share."""

    project: Project
    providers: Providers
    peers: Peers
    approver: Approver | None
    clock: Clock
    ids: Ids
    compactors: Mapping[str, Callable[[list[Message]], Any]] = {}
    """By name: functions of the program that write summaries."""

    async def aclose(self) -> None:
        await close_all(self.peers.aclose, self.providers.aclose)


class SessionSetup:
    """The tools, the bounds and the gate of one session."""

    def __init__(
        self,
        runtime: Runtime,
        session_id: str,
        spills: Spills,
        options: RunOptions,
        *,
        tools: Sequence[Tool] = (),
        stored: bool = True,
        deps: Any = None,
        hooks: "ProgramHooks | None" = None,
        limits: Limits | None = None,
        kept: bool = False,
    ) -> None:
        """`tools` are those of the embedding program; team tools among them are the orchestrator's. `deps` is
        what they find in their context. `limits`: None for those of the configuration.

        `kept`: the options come from the log. A tool that they name may be one that the program had then and
        does not have now, which is an error only where somebody wrote the name just now.
        """
        project, config = runtime.project.fork(), runtime.project.config
        runtime = msgspec.structs.replace(runtime, project=project)
        self.runtime: Runtime = runtime
        self.session_id = session_id
        self.deps = deps
        self.hooks = hooks
        self._kept = kept
        self.options = options
        self.spills = spills
        """What is kept beside the log."""
        self.stored = stored
        self.team_tools: dict[str, Tool]
        own, self.team_tools = split_team_tools(tools, session_id)
        self.tools: SessionTools = SessionTools(project, spills, own, dry_run=options.dry_run)
        mode = _read_mode(options.mode) if options.mode else config.permissions.mode
        mode = _protect_own(mode, project.roots)
        limits = limits or config.limits
        self.limits: Limits = limits
        self.ceiling: Authority = session_ceiling(mode, project.roots, limits.spawn_depth)
        """What no agent of the session exceeds."""
        allowed = read_allowance(options)
        if options.max_steps is not None and options.max_steps < 1:
            raise ConfigError(
                ErrorKind.INVALID_ARGS, f"{say_option('--max-steps', 'max_steps')} must be at least 1."
            )
        whole = config.budget.amount if config.budget else UNLIMITED
        self.accounts: Accounts = Accounts(whole, allowed.amount if allowed else UNLIMITED)
        self.bounds: Bounds = Bounds(
            options.max_steps or limits.steps,
            Purse(self.accounts, self.accounts.run),
            calls=limits.calls,
            answer_bytes=limits.answer_bytes,
        )
        asked = runtime.approver
        approvals = Approvals(asked, session_id=session_id, clock=runtime.clock) if asked else None
        flags = self._read_tool_flags()
        self.withheld: tuple[str, ...] = flags.withheld if flags else ()
        """Patterns of tools that no agent of this run has."""
        self._rules = RuleBook(project, flags.rules if flags else ())
        self.gate: Gate = Gate(self._rules, ids=runtime.ids, approvals=approvals, is_own=self.tools.is_own)

    def _read_tool_flags(self) -> ToolFlags | None:
        """Returns the rules that the run's own flags come to, and the tools that they forbid."""
        options = self.options
        if not options.allowed_tools and not options.disallowed_tools:
            return None
        names = {*self.tools.names, *TEAM_TOOLS, *ORCHESTRATOR_TOOLS}
        peers = bool(self.runtime.peers.plan.select())
        others = peers or self._kept  # a tool of the program may be gone
        return read_tool_flags(options.allowed_tools, options.disallowed_tools, names, others=others)

    def withholds(self, name: str) -> bool:
        return any(fnmatchcase(name, pattern) for pattern in self.withheld)

    def change_mode(self, mode: Mode | str) -> None:
        mode = _protect_own(_read_mode(mode), self.ceiling.roots)
        self.ceiling = msgspec.structs.replace(self.ceiling, mode=mode)

    def add_folder(self, folder: Root) -> None:
        """Lets the agents of this session work in a folder beside the workspace, from the next call on."""
        project = self.runtime.project
        _protect_own(self.ceiling.mode, (str(folder.path),))
        project.add(folder)
        self._rules.look_again()
        self.ceiling = msgspec.structs.replace(self.ceiling, roots=project.roots)

    def _describe_limits(self) -> dict[str, int]:
        """How often a provider is asked is the machine's, not the session's."""
        limits = msgspec.structs.asdict(self.limits)
        return {name: value for name, value in limits.items() if name != "providers"}

    def describe(self, objects: Iterable[Tool] = ()) -> SessionOptions:
        """Returns what the log keeps of it: the options of the run, with what is in force for two of them.

        `objects`: the tools that the program gave to workers.
        """
        passed = {*self.tools.own, *(tool.name for tool in objects)}
        mode = self.ceiling.mode
        whole = self.runtime.project.config.budget
        in_force = {"mode": mode, "max_steps": self.bounds.max_steps}
        return SessionOptions(
            **{name: getattr(self.options, name) for name in RECORDED} | in_force,
            budget=self.options.max_budget_usd,
            limits=self._describe_limits(),
            rules=self._rules.digest(),
            sandbox="off" if mode is Mode.FULL else sandbox.name_installed(),
            catalog=models.catalog_date(),
            person=self.runtime.approver is not None,
            added=self.runtime.project.added,
            session_budget=whole.amount.describe() if whole else {},
            program_tools=tuple(sorted(name for name in passed if not self.withholds(name))),
        )

    def change_lead(self, spec: AgentSpec, model: ModelSpec | None = None) -> AgentSpec:
        """Returns the orchestrator as this run wants it: its model, its effort and its prompt."""
        options, model = self.options, model or spec.model
        if options.effort:
            model = msgspec.structs.replace(model, params={**model.params, "effort": options.effort})
        prompt, more = spec.system_prompt, options.append_system_prompt
        base_prompt, base = spec.base_prompt, spec.base
        if options.system_prompt is not None:
            prompt, base_prompt, base = options.system_prompt, False, ""
        if more and not prompt.endswith(more):  # a resumed session may have it from its last run
            prompt = f"{prompt}\n\n{more}".strip()
        return msgspec.structs.replace(
            spec, model=model, system_prompt=prompt, base_prompt=base_prompt, base=base
        )

    async def look_around(self) -> Environment:
        """Returns what agents that start now are told of where they are."""
        from planck.workspace.git import checkout

        project, clock = self.runtime.project, self.runtime.clock
        found = await checkout.look(project.workspace, project.environ)
        return Environment(
            workspace=str(project.workspace),
            here=_find_below(project.here, project.workspace),
            added=project.added,
            platform=_name_platform(),
            shell=Path(bash()).name,
            date=clock.now()[:10],
            git=found.describe() if found else "",
            mode=self.ceiling.mode,
            person=self.runtime.approver is not None,
            confinable=sandbox.list_confinable(),
        )

    def authorise(self, specs: Sequence[AgentSpec]) -> list[AgentSpec]:
        """Gives each member what its file asks for, as far as the ceiling goes; raises for a private root."""
        project = self.runtime.project
        for name in {name for spec in specs for name in spec.roots}:
            project.check_root(os.path.join(project.roots[0], name))
        return authorise(specs, self.ceiling)


@lru_cache(16)
def _find_below(here: Path, workspace: Path) -> str:
    """Returns where somebody stands in the workspace; empty: at its top."""
    below = os.path.relpath(here, workspace)
    return "" if below == "." else below


@cache
def _name_platform() -> str:
    system = os.uname()
    return f"{system.sysname} {system.machine}"


def read_allowance(options: RunOptions) -> Allowance | None:
    """Returns what one run may take; raises `invalid_args` for an amount that is none."""
    for unit, value in options.budget.items():
        try:
            msgspec.convert({unit: value}, Allowance)
        except msgspec.ValidationError:
            raise ConfigError(
                ErrorKind.INVALID_ARGS,
                f"{_name_budget(unit)}. Pass another value, or leave the option out.",
            ) from None
    return msgspec.convert(options.budget, Allowance) if options.budget else None


def _name_budget(unit: str) -> str:
    """Returns the option of a unit, and the range that an `Allowance` accepts."""
    if unit == "usd":
        option = say_option("--max-budget-usd", "max_budget_usd")
        return f"{option} must be a number above 0 and at most {MAX_USD:,}"
    return f"{say_option('--max-tokens', 'max_tokens')} must be a whole number from 1 to {MAX_COUNT:,}"


def _protect_own(mode: Mode, roots: Sequence[str]) -> Mode:
    """Raises where agents could write what this very process is loaded from, and nothing could stop them.

    What they could write by another name of the same file gets a file of its own.
    """
    for root in roots if mode is Mode.WORKSPACE else ():
        if root in list_own(roots):
            raise ConfigError(ErrorKind.SANDBOX_UNAVAILABLE, f"Mode 'workspace' is refused: {tell_own(root)}")
    if mode not in CHANGELESS:
        keep_apart()
    return mode


def _read_mode(mode: Mode | str) -> Mode:
    if mode not in list(Mode):
        known = ", ".join(Mode)
        raise ConfigError(ErrorKind.INVALID_ARGS, f"{mode!r} is not a permission mode. Use one of {known}.")
    return Mode(mode)
