"""Commands that change how it goes on: the mode, the model, how much it thinks, colours, files read anew."""

from typing import TYPE_CHECKING

from planck.cli.chat.table import EFFORTS, MEANINGS, MODES, THEMES
from planck.cli.tell.blocks import say, say_rows
from planck.records.nearest import did_you_mean

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
            f"{rest!r} is no mode{did_you_mean(rest, MODES)}; one of {', '.join(MODES)}",
            "yellow",
        )
        return
    if rest == talk.mode:
        say(talk.frontend, f"the mode is {rest} already")
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
            "say what to plan; when the plan is there, you accept it or say what is wrong with it",
            "dim",
        )


async def run_permissions(talk: "Talk", rest: str) -> None:
    from planck.headless import rules_in_force

    talk.planck.resources.refresh()
    rules = rules_in_force(talk.planck.resources.loaded, talk.planck.workspace)
    say(talk.frontend, f"mode {talk.mode}: {MEANINGS.get(talk.mode, '')}")
    for rule in rules:
        say(talk.frontend, f"  {rule}")
    if not rules:
        say(talk.frontend, "  no rules of yours; `a` at a question writes one")
    say(
        talk.frontend,
        "a rule is taken back by deleting it from its file; why a call is allowed or not:",
        "dim",
    )
    say(talk.frontend, "  planck permissions explain bash 'git push'", "dim")


async def run_model(talk: "Talk", rest: str) -> None:
    if rest:
        model = await talk.session.change_model(rest)
        if not talk.frontend.live:
            say(talk.frontend, f"{model.label}; /model NAME goes on with another")
        return
    if not talk.frontend.live:
        say(talk.frontend, f"{talk.session.orchestrator.model.label}; /model NAME goes on with another")
        return
    names = await talk.list_models()
    current = talk.session.orchestrator.model.label
    chosen = await talk.frontend.choose(f"model (now {current})", names)
    if chosen is not None:
        await talk.session.change_model(names[chosen])


async def run_effort(talk: "Talk", rest: str) -> None:
    model = talk.session.orchestrator.model
    if not rest:
        say(
            talk.frontend,
            f"effort {model.params.get('effort') or 'as the model has it'}; one of {', '.join(EFFORTS)}",
        )
        return
    if rest not in EFFORTS:
        say(talk.frontend, f"{rest!r} is no effort; one of {', '.join(EFFORTS)}", "yellow")
        return
    await talk.session.change_model(model.label, effort=rest)
    say(talk.frontend, f"effort {rest}, from the next request on")


async def run_theme(talk: "Talk", rest: str) -> None:
    if rest not in THEMES:
        note = f"{rest!r} is no theme; " if rest else ""
        say(talk.frontend, f"{note}auto: your terminal's own 16 colours; none: no colours")
        return
    talk.frontend.colour(None if rest == "auto" else False)
    say(talk.frontend, f"theme {rest}, for this conversation")


async def run_reload(talk: "Talk", rest: str) -> None:
    resources = talk.planck.resources
    resources.refresh()
    instructions = resources.instructions()
    skills, commands = resources.skills(), resources.commands()
    say(
        talk.frontend,
        f"read again: configuration, AGENTS.md ({len(instructions.text):,} characters), "
        f"{len(skills.skills)} skills, {len(commands)} commands; agents see it from their next turn on",
    )
    for notice in talk.planck.notices:
        say(talk.frontend, notice, "yellow")
