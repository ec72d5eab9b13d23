"""Files that other agents left in a project: what of them holds here, what not, and why."""

import json
from collections.abc import Iterator
from pathlib import Path

import msgspec

from planck.config.files import find_servers
from planck.config.project import Project
from planck.context.texts import MAX_BYTES
from planck.headless.hooks import reading
from planck.records.amounts import say
from planck.workspace.paths.paths import Root, WorkspaceError
from planck.workspace.paths.regular import read_regular


class FoundFile(msgspec.Struct, frozen=True):
    path: str
    what: str
    taken: bool
    why: str


_TRUST = 'once you trust this folder (run "planck permissions trust")'


def survey_files(project: Project) -> list[FoundFile]:
    """Looks at the usual places, and runs nothing of them."""
    return [*_list_texts(project), *_list_claude(project), *_list_servers(project), *_list_others(project)]


def _list_texts(project: Project) -> Iterator[FoundFile]:
    work = project.workspace
    if (work / "CLAUDE.md").is_file():
        beside = (work / "AGENTS.md").is_file()
        why = (
            "AGENTS.md is read instead. Copy anything that it lacks into AGENTS.md."
            if beside
            else "Read as project instructions."
        )
        yield FoundFile("CLAUDE.md", "instructions", not beside, why)
    for name in (
        "GEMINI.md",
        ".github/copilot-instructions.md",
        ".cursorrules",
        ".cursor/rules",
        ".windsurfrules",
    ):
        if (work / name).exists():
            yield FoundFile(
                name,
                "instructions",
                False,
                "Only AGENTS.md and CLAUDE.md are read. Copy the relevant parts into one of them.",
            )


def _list_claude(project: Project) -> Iterator[FoundFile]:
    resources, work = project.resources, project.workspace
    agents = resources.agents()
    for folder in (".agents", ".claude"):
        count = sum(one.file.is_relative_to(work / folder) for one in agents.agents.values())
        if count:
            text = "Available to --agent NAME, spawn_agent and team members."
            yield FoundFile(f"{folder}/agents", say("agents", count), True, text)
        for file, why in agents.problems.items():
            if file.is_relative_to(work / folder):
                yield FoundFile(str(file.relative_to(work)), "agent", False, why)
        count = sum(one.file.is_relative_to(work / folder) for one in resources.commands().values())
        if count:
            text = (
                'Run a command with /name in a conversation, or with "planck run /name". '
                "Shell commands in these files (!`...`) are not run."
            )
            yield FoundFile(f"{folder}/commands", say("commands", count), True, text)
        count = sum(one.folder.is_relative_to(work / folder) for one in resources.skills().skills.values())
        if count:
            yield FoundFile(
                f"{folder}/skills",
                say("skills", count),
                True,
                "Agents see the list and load a skill when they need it.",
            )
    for name in (".claude/settings.json", ".claude/settings.local.json"):
        yield from _list_settings(work, name)


def _list_settings(work: Path, name: str) -> Iterator[FoundFile]:
    if not (work / name).is_file():
        return
    try:
        raw = json.loads(read_regular(work / name, MAX_BYTES))
    except (OSError, ValueError, RecursionError) as problem:
        yield FoundFile(name, "settings", False, f"Cannot read the file: {problem}. Fix or remove it.")
        return
    if not isinstance(raw, dict):
        yield FoundFile(name, "settings", False, "The file is not a JSON object. Fix or remove it.")
        return
    if isinstance(raw.get("hooks"), dict):
        known, problems = reading.read_hooks(raw["hooks"])
        count = sum(map(len, known.values()))
        why = "Copy the `hooks` object unchanged into .planck/config.json, then trust the folder."
        yield FoundFile(name, say("hooks", count), False, " ".join([why, *map(_end_sentence, problems)]))
    if "permissions" in raw:
        why = "The rule format differs. Use `permissions` in the configuration, or --allowed-tools."
        yield FoundFile(name, "permissions", False, why)
    if rest := sorted(set(raw) - {"hooks", "permissions", "$schema"}):
        yield FoundFile(name, ", ".join(rest), False, "Settings for another program.")


def _list_servers(project: Project) -> Iterator[FoundFile]:
    file = project.workspace / ".mcp.json"
    if not file.is_file():
        return
    try:
        servers = find_servers(json.loads(read_regular(file, MAX_BYTES)))
    except (OSError, ValueError, RecursionError) as problem:
        why = f"Cannot read the file: {str(problem).rstrip('.')}. Fix or remove it."
        yield FoundFile(".mcp.json", "MCP servers", False, why)
        return
    trusted = project.resources.loaded.trusted
    why = "Started with each session." if trusted else f"Started {_TRUST}."
    yield FoundFile(".mcp.json", f"{say('MCP servers', len(servers))}: {', '.join(servers)}", trusted, why)


def _list_others(project: Project) -> Iterator[FoundFile]:
    work = project.workspace
    if (work / ".codex/config.toml").is_file():
        import tomllib

        try:
            raw = tomllib.loads(read_regular(work / ".codex/config.toml", MAX_BYTES).decode())
        except (OSError, ValueError) as problem:
            yield FoundFile(
                ".codex/config.toml", "settings", False, f"Cannot read the file: {problem}. Fix or remove it."
            )
        else:
            servers = raw.get("mcp_servers")
            if isinstance(servers, dict) and servers:
                why = 'Add each server with "planck mcp add NAME -- COMMAND", or to .mcp.json.'
                yield FoundFile(".codex/config.toml", say("MCP servers", len(servers)), False, why)
            if rest := sorted(set(raw) - {"mcp_servers"}):
                yield FoundFile(".codex/config.toml", ", ".join(rest), False, "Settings for another program.")
    prompts = work / ".codex/prompts"
    if prompts.is_dir() and (count := len(list(prompts.glob("*.md")))):
        why = "Copy the files unchanged into .agents/commands."
        yield FoundFile(".codex/prompts", say("commands", count), False, why)
    for name in ("opencode.json", ".gemini/settings.json", ".cursor/mcp.json", ".vscode/mcp.json"):
        if (work / name).exists():
            yield FoundFile(
                name,
                "settings",
                False,
                "Settings for another program. To use the MCP servers in this file, "
                "pass it with --mcp-config.",
            )


def _end_sentence(text: str) -> str:
    return text if text.endswith((".", "?")) else f"{text}."


def write_agents_md(project: Project) -> Path | None:
    """Writes a first one of what can be seen here; None: there is one, or CLAUDE.md says it already."""
    project.check_place()
    work = project.workspace
    if any((work / name).exists() for name in ("AGENTS.md", "CLAUDE.md")):
        return None
    lines = [
        f"# {work.name}",
        "",
        "What an agent working here must know. Keep it short.",
        "",
        "## Commands",
    ]
    lines += [f"- {what}: `{command}`" for what, command in _find_commands(work)] or [
        "- tests: (how to run them)"
    ]
    lines += ["", "## Layout"]
    folders = sorted(one.name for one in work.iterdir() if one.is_dir() and not one.name.startswith("."))
    lines += [f"- `{name}/`: (contents)" for name in folders[:20]] or ["- (where to find things)"]
    lines += ["", "## Rules", "- (common mistakes to avoid)", ""]
    try:
        with Root(work, protected=False).writing("AGENTS.md") as slot:
            slot.replace("\n".join(lines).encode(), 0o644)
    except WorkspaceError as failure:
        from planck.config.load import ConfigError

        raise ConfigError(failure.err.kind, failure.err.message) from None
    return work / "AGENTS.md"


def _find_commands(work: Path) -> Iterator[tuple[str, str]]:
    if (work / "Makefile").is_file():
        text = (work / "Makefile").read_text(errors="replace")[:MAX_BYTES]
        for target in ("test", "check", "lint", "build"):
            if f"\n{target}:" in f"\n{text}":
                yield target, f"make {target}"
    if (work / "package.json").is_file():
        try:
            raw = json.loads((work / "package.json").read_text())
            scripts = raw.get("scripts") if isinstance(raw, dict) else {}
        except (OSError, ValueError, RecursionError):
            scripts = {}
        for name in ("test", "lint", "build"):
            if isinstance(scripts, dict) and name in scripts:
                yield name, f"npm run {name}"
    for file, command in (
        ("pyproject.toml", "python -m pytest"),
        ("Cargo.toml", "cargo test"),
        ("go.mod", "go test ./..."),
    ):
        if (work / file).is_file():
            yield f"tests ({file})", command
