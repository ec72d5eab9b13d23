"""Commands that tell what there is: the team, its tools and its window, the cost, this list."""

from typing import TYPE_CHECKING

from planck.cli.chat.jobs import run_jobs as run_jobs
from planck.cli.chat.table import ALIASES, COMMANDS, GROUPS, Command
from planck.cli.tell.blocks import Told, say, say_rows
from planck.cli.tell.figures import format_count, format_money
from planck.cli.tell.styled import INDENT, Line, as_text, make_line, wrap_all, wrap_columns
from planck.records.visible import count_columns, fit_line

if TYPE_CHECKING:
    from planck.cli.chat.talk import Talk

_BAR = 24


async def run_help(talk: "Talk", rest: str) -> None:
    name = rest.removeprefix("/").split(" ")[0]
    name = ALIASES.get(name, name)
    if name in COMMANDS:
        say_rows(talk.frontend, [_describe(COMMANDS[name], len(name) + len(COMMANDS[name].arguments) + 4)])
        return
    lines = list_help(talk)
    if talk.frontend.live:
        await talk.frontend.page(
            "Commands (press ? in an empty input for keys)",
            lambda: [*wrap_columns(lines, talk.frontend.width)],
            commands=True,
        )
    else:
        say_rows(talk.frontend, [as_text(line) for line in lines])


def list_help(talk: "Talk") -> list[Line]:
    wide = 26
    lines: list[Line] = []
    for title, _, group in GROUPS:
        lines.append(((title, "bold"),))
        lines += [make_line(_describe(command, wide)) for command in group]
    custom = talk.planck.resources.commands()
    if custom:
        lines.append((("Your commands (.planck/commands, .agents/commands, .claude/commands)", "bold"),))
        for name, one in custom.items():
            head = f"/{name} {one.hint}".strip()
            lines.append(make_line(f"  {head:<{wide}} {one.description}"))
    if talk.known_prompts:
        lines.append((("MCP prompts", "bold"),))
        for prompt in talk.known_prompts:
            lines.append(make_line(f"  {f'/{prompt.command}':<{wide}} {fit_line(prompt.description, 200)}"))
    lines.append((("Message syntax", "bold"),))
    lines += [
        make_line(f"  {word:<{wide}} {meaning}")
        for word, meaning in (
            ("@NAME …", "Send to one member of the team"),
            ("@FILE", "Attach a file or image; image paths work without @"),
            ("!COMMAND", "Run a command in your shell and show agents the output"),
            (" /…", "Start with a space to send the line as text"),
        )
    ]
    return lines


def _describe(command: Command, wide: int) -> str:
    head = f"/{command.name} {command.arguments}".strip()
    gap = " " * max(wide - len(head), 1)
    return f"  {head}{gap} {command.help}"


async def run_team(talk: "Talk", rest: str) -> None:
    if talk.frontend.live:
        await talk.frontend.page("Team", lambda: draw_team(talk))
    else:
        say_rows(talk.frontend, [as_text(line) for line in draw_team(talk)])


async def run_agents(talk: "Talk", rest: str) -> None:
    found = talk.planck.resources.agents()
    say_rows(
        talk.frontend, [f"{one.name}  ({one.scope})  {one.description}" for one in found.agents.values()]
    )
    for file, problem in found.problems.items():
        say(talk.frontend, f"{file}: {problem}", "yellow")
    if not found.agents:
        say(talk.frontend, "No agent files found. Add one as .planck/agents/NAME.md.")
    say(talk.frontend, "/team shows the agents at work.", "dim")


def draw_team(talk: "Talk") -> list[Line]:
    """A lane for each member: who it is, what it does, whom it waits for, what it has used."""
    lines, hanging = _list_lanes(talk)
    if not talk.frontend.live:
        return lines
    return [*wrap_all(lines, talk.frontend.width, " " * hanging)]


def _list_lanes(talk: "Talk") -> tuple[list[Line], int]:
    """Lines of any length, and the column in which what is said of a member begins."""
    now = talk.now
    lines: list[Line] = []
    width = max((count_columns(fit_line(spec.name, 24)) for spec in talk.session.members), default=0)
    # Below its name and mark, where that leaves more than half of the row.
    hanging = width + 3 if width + 3 <= talk.frontend.width // 2 or not talk.frontend.live else len(INDENT)
    for spec in talk.session.members:
        row = now.board.agent(spec.id)
        name = fit_line(spec.name, 24)
        pad = " " * (width - count_columns(name))
        doing = now.describe(spec.id) or [("○", "idle")]
        about = [spec.type, spec.model.label]
        if row:
            if row.window and row.context:
                about.append(f"{100 * row.context / row.window:.0f}% of context")
            about.append(f"turn {row.turn}" if row.turn else "no turns yet")
            if row.unread:
                about.append(f"{len(row.unread)} unread")
            cost = format_money(row.cost_usd if not row.unpriced else None)
            mark = "≈" if row.estimated else ""
            about.append(f"{format_count(row.usage.output_tokens)} tokens out · {mark}{cost}")
        for number, (mark, words) in enumerate(doing):
            head = f"{name}{pad}" if not number else " " * width
            lines.append(((f"{head} ", talk.teller.style(spec.id)), (f"{mark} {words}", _style_of(mark))))
        lines.append(make_line(f"{' ' * hanging}{' · '.join(about)}", "dim"))
        if spec.description:
            lines.append(make_line(f"{' ' * hanging}{fit_line(spec.description)}", "dim"))
    chain = now.find_chain()
    if chain:
        lines += [(), (("Waiting: ", "bold"), (" → ".join(chain), ""))]
    return lines, hanging


def _style_of(mark: str) -> str:
    return {"▲": "yellow bold", "○": "dim", "✗": "red"}.get(mark, "")


async def run_interrupt(talk: "Talk", rest: str) -> None:
    name = rest.removeprefix("@").strip()
    if name and name not in [spec.name for spec in talk.session.members]:
        names = ", ".join(spec.name for spec in talk.session.members)
        say(talk.frontend, f"Unknown member {name!r}. Members: {names}.", "yellow")
        return
    if name and all(row.status == "idle" for row in talk.now.board.agents if row.name == name):
        say(talk.frontend, f"{name} is not working.")
        return
    everything = "all agents and your command" if talk.asides else "all agents"
    talk.interrupt(name)
    say(talk.frontend, f"Stopping {name or everything}.", "dim")


async def run_tools(talk: "Talk", rest: str) -> None:
    tools = talk.session.tools
    name = talk.session.orchestrator.name
    if not tools:
        say(talk.frontend, f"{name} has no tools.")
        return
    count = "1 tool" if len(tools) == 1 else f"{len(tools)} tools"
    say(talk.frontend, f"{name} has {count}: {', '.join(sorted(tools))}")
    say(talk.frontend, 'Run "planck tools show NAME" for details.', "dim")


async def run_mcp(talk: "Talk", rest: str) -> None:
    reports = talk.planck.report_peers()
    for report in reports:
        detail = f": {report.detail}" if report.detail else ""
        tools = ", ".join(report.tools) or "no tools"
        say(talk.frontend, f"{report.component} {report.name}  {report.state}{detail}  {tools}")
    for prompt in await talk.list_prompts() if reports else ():
        words = " ".join(name if name in prompt.required else f"[{name}]" for name in prompt.arguments)
        say(talk.frontend, f"/{prompt.command} {words}".rstrip() + f"  {fit_line(prompt.description, 200)}")
    if not reports:
        say(
            talk.frontend,
            'No MCP servers or sidecars found. Add a server with "planck mcp add NAME -- COMMAND".',
        )


async def run_skills(talk: "Talk", rest: str) -> None:
    found = talk.planck.resources.skills()
    say_rows(
        talk.frontend, [f"{one.name}  ({one.scope})  {one.description}" for one in found.skills.values()]
    )
    for problem in found.problems:
        say(talk.frontend, problem, "yellow")
    if not found.skills:
        say(talk.frontend, "No skills found. Add one as .planck/skills/NAME/SKILL.md.")


async def run_context(talk: "Talk", rest: str) -> None:
    use = talk.session.window(rest.removeprefix("@").strip())
    rows = [
        ("system prompt", use.system),
        ("AGENTS.md", use.instructions),
        ("tools", use.tools),
        ("messages", use.messages),
        ("free", use.free),
    ]
    say(talk.frontend, f"{use.agent} · {use.model} · context window of {format_count(use.window)} tokens")
    for name, tokens in rows:
        share = tokens / use.window if use.window else 0.0
        bar = "█" * round(share * _BAR) or ("▏" if tokens else "")
        figure = f"{format_count(tokens):>7} {share:>4.0%}"
        line = ((f"  {name:<14}{figure}  ", ""), (bar, "dim" if name == "free" else ""))
        talk.frontend.show(Told((line,)))
    say(
        talk.frontend,
        "Token counts are estimated from the size in bytes. /compact shortens the messages.",
        "dim",
    )


async def run_compact(talk: "Talk", rest: str) -> None:
    talk.compact(rest)


async def run_cost(talk: "Talk", rest: str) -> None:
    from planck.cli.tell.costs import tabulate_costs

    width = talk.frontend.width if talk.frontend.live else None
    say_rows(talk.frontend, [*tabulate_costs(talk.session.costs(), width)])


async def run_status(talk: "Talk", rest: str) -> None:
    session, planck_ = talk.session, talk.planck
    members = ", ".join(spec.name for spec in session.members)
    effort = session.orchestrator.model.params.get("effort", "")
    for row in (
        f"session   {session.name} ({session.id}), {session.head} events",
        f"model     {session.orchestrator.model.label}{f', effort {effort}' if effort else ''}",
        f"mode      {talk.mode}",
        f"team      {members}",
        f"folder    {planck_.workspace}",
        f"trusted   {'yes' if planck_.resources.loaded.trusted else 'no'}",
        f"home      {planck_.home}",
    ):
        say(talk.frontend, row)
