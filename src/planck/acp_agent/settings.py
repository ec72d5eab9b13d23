"""What a user can choose of a session in an editor: mode, model, effort, team; and the commands there are."""

from planck.acp.methods import SessionMode, SessionModes
from planck.acp.schema import AvailableCommand, CommandInput, SelectConfig, SelectOption
from planck.headless import OpenSession, Planck, list_teams
from planck.records.authority import Mode
from planck.records.visible import fit_line

MODES = {
    Mode.READ_ONLY: ("Read only", "Reads files; changes nothing and never asks"),
    Mode.PLAN: ("Plan", "Changes nothing and ends with a plan; /plan accept carries it out"),
    Mode.ASK: ("Ask", "Asks before changing anything"),
    Mode.WORKSPACE: ("Workspace", "Changes files in this folder; runs commands in a sandbox"),
    Mode.FULL: ("Full", "Does anything without asking"),
}
DEFAULT = "default"
"""The model's own effort; no team."""
EFFORTS = (DEFAULT, "none", "low", "medium", "high")
COMPACT, PLAN = "compact", "plan"
_OWN = (
    AvailableCommand(COMPACT, "Compact the history", CommandInput("what the summary must keep")),
    AvailableCommand(PLAN, "Carry out the plan made in plan mode", CommandInput("accept")),
)


def list_modes(session: OpenSession) -> SessionModes:
    modes = tuple(SessionMode(mode, name, text) for mode, (name, text) in MODES.items())
    return SessionModes(session.mode, modes)


async def list_models(planck: Planck) -> tuple[SelectOption, ...]:
    rows = [row for row in await planck.list_models() if row.has_key]
    return tuple(SelectOption(row.name or row.model, row.label) for row in rows)


def list_options(
    planck: Planck, session: OpenSession, models: tuple[SelectOption, ...], team: str, *, begun: bool
) -> tuple[SelectConfig, ...]:
    """`begun`: somebody has said something, so that the team is what it is."""
    model = session.orchestrator.model
    if all(option.value != model.label for option in models):
        models = (SelectOption(model.name or model.model, model.label), *models)
    effort = str(model.params.get("effort") or DEFAULT)
    modes = tuple(SelectOption(name, mode, text) for mode, (name, text) in MODES.items())
    efforts = dict.fromkeys((*EFFORTS, effort))
    return (
        SelectConfig(id="mode", name="Mode", current_value=session.mode, options=modes, category="mode"),
        SelectConfig(id="model", name="Model", current_value=model.label, options=models, category="model"),
        SelectConfig(
            id="effort",
            name="Effort",
            current_value=effort,
            options=tuple(SelectOption(one.capitalize(), one) for one in efforts),
            category="thought_level",
        ),
        SelectConfig(
            id="team",
            name="Team",
            current_value=team or DEFAULT,
            options=_list_teams(planck, team, begun),
            category="_team",
            description="Can be changed until the first prompt",
        ),
    )


def _list_teams(planck: Planck, team: str, begun: bool) -> tuple[SelectOption, ...]:
    alone = SelectOption("No team (one orchestrator)", DEFAULT)
    rows = list_teams(planck.resources.team_dirs())
    found = tuple(SelectOption(row.name or row.alias, row.alias, row.description or None) for row in rows)
    if team and all(option.value != team for option in found):
        found = (*found, SelectOption(team, team))
    # Where the user has a default, no name means that one.
    every = found if planck.config.default_team else (alone, *found)
    return tuple(option for option in every if option.value == (team or DEFAULT)) if begun else every


def list_commands(planck: Planck) -> tuple[AvailableCommand, ...]:
    """Returns our own, the user's files, and skills; of one name the first."""
    found = {command.name: command for command in _OWN}
    for name, custom in planck.resources.commands().items():
        hint = CommandInput(custom.hint) if custom.hint else None
        found.setdefault(name, AvailableCommand(name, custom.description or name, hint))
    for name, skill in planck.resources.skills().skills.items():
        found.setdefault(name, AvailableCommand(name, fit_line(skill.description, 200), CommandInput("task")))
    return tuple(found.values())


def expand_command(planck: Planck, text: str) -> str:
    """What is said for a line that calls a command of the user's or a skill; any other is said as it is."""
    word, _, rest = text.partition(" ")
    if not word.startswith("/") or "\n" in word:
        return text
    name, rest = word[1:], rest.strip()
    if custom := planck.resources.commands_by_call().get(name):
        return custom.expand(rest)
    if name in planck.resources.skills().skills:
        return f"Use the skill {name!r}: load it with load_skill first.\n\n{rest}".strip()
    return text
