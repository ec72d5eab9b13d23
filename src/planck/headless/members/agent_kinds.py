"""Agents that files describe, with our names of tools and models that are there."""

import re
from collections.abc import Iterable, Sequence

from planck.config.load import ConfigError
from planck.config.models import provider_entry
from planck.config.schema import KEYLESS
from planck.context.agent_files import AgentFile
from planck.headless.session_setup import Runtime
from planck.llm import catalog
from planck.records.nearest import did_you_mean
from planck.records.outcome import ErrorKind, PlanckError
from planck.records.specs import EVERY_TOOL, AgentKind, AgentSpec, ModelSpec
from planck.records.tools import TOOLS
from planck.team import names


def find_kinds(runtime: Runtime, lead: ModelSpec | None, tools: Sequence[str]) -> dict[str, AgentKind]:
    """By name; `lead` is the model of the agent that starts them, `tools` are all that a session has."""
    found = runtime.project.resources.agents().agents
    kinds = [_make_kind(one, runtime, lead, tools) for one in found.values()]
    return {kind.name: kind for kind in kinds if names.refuse("type", kind.name) is None}


async def make_lead(
    runtime: Runtime, name: str, model: ModelSpec | None, tools: Sequence[str], chosen: bool
) -> AgentSpec:
    """Returns an orchestrator that a file describes; a model that the user chose counts before the file's."""
    kinds = find_kinds(runtime, model, tools)
    if name not in kinds:
        for file, why in runtime.project.resources.agents().problems.items():
            if file.stem == name:
                raise ConfigError(ErrorKind.INVALID_ARGS, f"Agent {name!r} in {file} cannot be used: {why}.")
        hint = did_you_mean(name, kinds) or (f". Available: {', '.join(kinds)}." if kinds else ".")
        raise ConfigError(
            ErrorKind.NOT_FOUND,
            f"Agent not found: {name!r}{hint} To define {name!r}, create .planck/agents/{name}.md.",
        )
    kind = kinds[name]
    if kind.acp:
        raise ConfigError(
            ErrorKind.INVALID_ARGS,
            f"{name} is an external program and cannot be the orchestrator. Make it a member of a team.",
        )
    own = model if chosen and model else kind.model or model or await runtime.providers.choose()
    return AgentSpec(
        id=runtime.ids.new(),
        type="orchestrator",
        name=kind.name,
        role="orchestrator",
        model=own,
        description=kind.description,
        system_prompt=kind.system_prompt,
        tools=kind.tools,
        skills=kind.skills,
    )


def _make_kind(file: AgentFile, runtime: Runtime, lead: ModelSpec | None, tools: Sequence[str]) -> AgentKind:
    trusted = file.scope == "home" or runtime.project.resources.loaded.trusted
    return AgentKind(
        file.name,
        file.description,
        file.prompt,
        _choose_tools(file, tools),
        file.skills,
        # What a folder that nobody trusts may not choose is who is paid.
        _choose_model(file.model, runtime, lead) if trusted else None,
        file.acp,  # whether its file may start anything is looked at when it would be
    )


def _choose_tools(file: AgentFile, tools: Sequence[str]) -> tuple[str, ...]:
    without = {*_translate(file.without)}
    if file.tools is not None:
        return tuple(name for name in _translate(file.tools) if name not in without)
    if without:
        return tuple(name for name in tools if name not in without)
    return (*tools, EVERY_TOOL)


def _translate(written: Iterable[str]) -> list[str]:
    """Returns our names for what a file calls them; what only other programs have stays, and is nobody's."""
    found: dict[str, None] = {}
    for name in written:
        folded = name.casefold()
        ours = [tool for tool, row in TOOLS.items() if folded in (tool, *map(str.casefold, row.claude))]
        found |= dict.fromkeys(ours or [name])
    return list(found)


def _choose_model(name: str, runtime: Runtime, lead: ModelSpec | None) -> ModelSpec | None:
    """Returns the model that a file names, if it is one of the user's or of the same vendor; else none."""
    providers, config = runtime.providers, runtime.project.config
    named = "/" in name or any(entry.id == name for entry in config.models)
    if not name or (not named and lead is None):
        return None
    wanted = name
    if not named and lead is not None:
        if providers.is_double(lead.provider) or provider_entry(config, lead.provider).type in KEYLESS:
            return None  # a local server may be asked for anything, and have nothing of it
        wanted = f"{lead.provider}/{_find_newest(name) or name}"
    try:
        model = providers.resolve(wanted)
    except PlanckError:
        return None
    return model if named or providers.is_known(model) else None


def _find_newest(family: str) -> str:
    """Returns the newest model of a family that files name alone: `sonnet`."""
    if family not in ("sonnet", "opus", "haiku"):
        return ""
    numbered = (
        re.fullmatch(rf"claude-{family}-(\d+)(?:-(\d\d?))?", one.id) for one in catalog.models("anthropic")
    )
    found = {(int(one[1]), int(one[2] or 0)): one[0] for one in numbered if one}
    return found[max(found)] if found else ""
