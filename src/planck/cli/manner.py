"""What the command line says of one run: of its agent, its tools and its models, and what goes in."""

import argparse
import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from planck.cli.errors import UsageError
from planck.cli.streams import complain
from planck.records.messages import Text, UserMessage
from planck.records.outcome import ErrorKind, PlanckError
from planck.records.specs import RunOptions
from planck.records.visible import make_plain

if TYPE_CHECKING:
    from planck.headless import AnswerSchema, Planck, Project, RunResult

_COMMAND = re.compile(r"/([A-Za-z0-9][\w.:-]*)(?:\s+(.*))?", re.DOTALL)


def read_flags(options: argparse.Namespace) -> dict[str, Any]:
    """Returns what stands above every file of the configuration."""
    if not options.mcp_config:
        return {}
    from planck.headless import read_servers

    servers: dict[str, Any] = {}
    for text in options.mcp_config:
        servers |= read_servers(text)
    return {"mcpServers": servers}


def read_options(options: argparse.Namespace) -> RunOptions:
    """Returns what the flags say of a session; each has the name of its option, but --permission-mode."""
    flags = {**vars(options), "mode": options.permission_mode}
    said = {name: flags.get(name) for name in RunOptions.__struct_fields__}
    schema: AnswerSchema | None = flags.get("schema")
    if schema:
        said["append_system_prompt"] = "\n\n".join(
            filter(None, (options.append_system_prompt, schema.instructions))
        )
    lists: dict[str, Any] = {name: tuple(value) for name, value in said.items() if isinstance(value, list)}
    return RunOptions(**{name: value for name, value in said.items() if value is not None} | lists)


def check_output(options: argparse.Namespace) -> None:
    """Raises for an invalid schema and a file that can't be written: before anything costs something.

    The file of `-o` is resolved here, before an agent runs: what agents put at its name leads nowhere else.
    """
    options.schema = options.target = None
    if options.output_schema:
        from planck.headless import AnswerSchema

        options.schema = AnswerSchema.read(Path(options.output_schema))
    if options.output:
        from planck.headless import OutputFile

        try:
            options.target = OutputFile(options.output)
        except PlanckError as failure:
            raise UsageError(failure.err.kind, f"-o {failure.err.message}") from None


def check_target(options: argparse.Namespace, project: "Project") -> None:
    """Raises where `-o` names what agents in its folders may not write, or may have redirected.

    Only `--permission-mode full` on the command line allows it: a resumed session may have a stricter mode
    than the configuration.
    """
    if options.target and options.permission_mode != "full":
        try:
            options.target.check(project.open_root())
        except PlanckError as failure:
            raise UsageError(failure.err.kind, f"-o {failure.err.message}") from None


def write_output(options: argparse.Namespace, result: "RunResult") -> None:
    if not options.target or not result.text:
        return
    if options.schema and result.exit_code:
        return  # whoever reads it there reads what fits, or nothing
    text = result.text if result.text.endswith("\n") else f"{result.text}\n"
    try:
        options.target.write(text.encode("utf-8", "replace"))
    except PlanckError as failure:
        print(f"planck: {failure.err.kind}: -o {make_plain(failure.err.message)}", file=sys.stderr)


async def make_input(planck_: "Planck", options: argparse.Namespace, prompt: str) -> str | UserMessage:
    """Returns what is said: a command of a file expanded, files and images that it names attached."""
    said = options.prompt or ""
    within = None
    if found := _COMMAND.fullmatch(said.strip()):
        command = planck_.resources.commands_by_call().get(found[1])
        if command is not None:
            within = planck_.workspace if command.scope == "project" else None
            expanded = command.expand((found[2] or "").strip())
            if "!`" in command.text:
                complain(f"{said.split()[0]} has !`...` in it, which is not run here")
            prompt = prompt.replace(said, expanded, 1)
            said = expanded
        elif _is_servers(planck_, found[1]):
            expanded = await planck_.say_prompt(found[1], (found[2] or "").strip())
            return prompt.replace(said, expanded, 1)  # foreign text: it names no file of ours
        elif not os.path.lexists(said.split()[0]):
            raise UsageError(
                ErrorKind.NOT_FOUND,
                f"no command {said.split()[0]!r}; they are files: .planck/commands/{found[1]}.md (a task "
                "that begins with `/` has a space before it)",
            )
    if not options.image and "@" not in said and not _names_image(said):
        return prompt
    from planck.headless import attach

    try:
        planck_.project.root.check()
        attached = attach(said, planck_.project.here, within=within, images=options.image)
    except PlanckError as failure:
        raise UsageError(failure.err.kind, failure.err.message) from None
    for note in attached.notes:
        complain(make_plain(note))
    text = prompt.replace(said, attached.text, 1) if said else prompt
    return UserMessage((Text(text), *attached.images))


def _is_servers(planck_: "Planck", name: str) -> bool:
    server, colon, _ = name.partition(":")
    return bool(colon) and bool(planck_.peers.plan.select("mcp", server))


def _names_image(text: str) -> bool:
    return any(ending in text.lower() for ending in (".png", ".jpg", ".jpeg", ".gif", ".webp"))
