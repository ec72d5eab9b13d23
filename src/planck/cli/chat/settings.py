"""Commands that change how it goes on: the mode, the model, how much it thinks, colours, files read anew."""

from typing import TYPE_CHECKING

from planck.cli.chat.intent import suggest
from planck.cli.chat.table import EFFORTS, MEANINGS, MODES, THEMES
from planck.cli.tell.blocks import say, say_rows

if TYPE_CHECKING:
    from planck.cli.chat.talk import Talk


async def run_mode(talk: "Talk", rest: str) -> None:
    if not rest:
        say_rows(
            talk.frontend,
            [f"{'→' if name == talk.mode else ' '} {name:<10} {MEANINGS[name]}" for name in MODES],
        )
        return
    if rest not in MODES:
        say(
            talk.frontend,
            f"Unknown mode {rest!r}.{suggest(rest, MODES)} Modes: {', '.join(MODES)}.",
            "yellow",
        )
        return
    if rest == talk.mode:
        say(talk.frontend, f"The mode is already {rest}.")
        return
    await talk.change_mode(rest)


async def run_plan(talk: "Talk", rest: str) -> None:
    if rest == "accept":
        await talk.accept_plan()
        return
    if talk.mode != "plan":
        await run_mode(talk, "plan")
    if rest:
        await talk.say(rest)
    else:
        say(
            talk.frontend,
            "Describe what to plan. When the plan is ready, accept it or say what to change.",
            "dim",
        )


async def run_permissions(talk: "Talk", rest: str) -> None:
    from planck.headless import rules_in_force

    talk.planck.resources.refresh()
    rules = rules_in_force(talk.planck.resources.loaded, talk.planck.workspace)
    say(talk.frontend, f"Mode {talk.mode}: {MEANINGS.get(talk.mode, '')}")
    for rule in rules:
        say(talk.frontend, f"  {rule}")
    if not rules:
        say(talk.frontend, '  No rules yet. To add one, press "a" when you are asked for approval.')
    say(
        talk.frontend,
        "To remove a rule, delete it from its file. To see why a call is allowed or denied, run:",
        "dim",
    )
    say(talk.frontend, "  planck permissions explain bash 'git push'", "dim")


async def run_model(talk: "Talk", rest: str) -> None:
    if rest:
        model = await talk.session.change_model(rest)
        if not talk.frontend.live:
            say(talk.frontend, f"Model set to {model.label}.")
        return
    if not talk.frontend.live:
        say(
            talk.frontend, f"Model: {talk.session.orchestrator.model.label}. /model NAME switches to another."
        )
        return
    names = await talk.list_models()
    current = talk.session.orchestrator.model.label
    chosen = await talk.frontend.choose(f"Model (current: {current})", names)
    if chosen is not None:
        await talk.session.change_model(names[chosen])


async def run_effort(talk: "Talk", rest: str) -> None:
    model = talk.session.orchestrator.model
    if not rest:
        say(
            talk.frontend,
            f"Effort: {model.params.get('effort') or 'model default'}. Levels: {', '.join(EFFORTS)}.",
        )
        return
    if rest not in EFFORTS:
        say(talk.frontend, f"Unknown effort {rest!r}. Levels: {', '.join(EFFORTS)}.", "yellow")
        return
    await talk.session.change_model(model.label, effort=rest)
    say(talk.frontend, f"Effort set to {rest}, starting with the next request.")


async def run_theme(talk: "Talk", rest: str) -> None:
    if rest not in THEMES:
        note = f"Unknown theme {rest!r}. " if rest else ""
        say(talk.frontend, f"{note}Themes: auto (your terminal's 16 colors), none (no colors).")
        return
    talk.frontend.colour(None if rest == "auto" else False)
    say(talk.frontend, f"Theme set to {rest} for this conversation.")


async def run_reload(talk: "Talk", rest: str) -> None:
    resources = talk.planck.resources
    resources.refresh()
    instructions = resources.instructions()
    skills, commands = resources.skills(), resources.commands()
    skill_count = "1 skill" if len(skills.skills) == 1 else f"{len(skills.skills)} skills"
    command_count = "1 command" if len(commands) == 1 else f"{len(commands)} commands"
    say(
        talk.frontend,
        f"Reloaded: configuration, AGENTS.md ({len(instructions.text):,} characters), "
        f"{skill_count}, {command_count}. Agents see the changes in their next turn.",
    )
    for notice in talk.planck.notices:
        say(talk.frontend, notice, "yellow")
