"""Files in the shapes of other agents, texts of our own: 40 agents, 20 commands, 30 `.mcp.json`, 15 hooks."""

import json
from typing import Any

_BODY = "You do one thing, and say what you did.\n"
_LONG = "Use it when a diff is there.\\n\\n<example>\\nuser: look\\nassistant: I call it\\n</example>"


def _agent(*head: str, body: str = _BODY) -> str:
    return "\n".join(["---", *head, "---", "", body])


AGENTS: dict[str, str] = {
    # Claude Code
    "reviewer.md": _agent("name: reviewer", "description: Reads a diff."),
    "tools-line.md": _agent("name: tools-line", "description: d", "tools: Read, Grep, Glob, Bash"),
    "tools-list.md": _agent("name: tools-list", "description: d", "tools:", "  - Read", "  - Edit"),
    "tools-flow.md": _agent("name: tools-flow", "description: d", "tools: [Read, Write, WebFetch]"),
    "tools-all.md": _agent("name: tools-all", "description: d", 'tools: "*"'),
    "tools-narrow.md": _agent("name: tools-narrow", "description: d", "tools: Bash(git diff:*), Read"),
    "tools-mcp.md": _agent("name: tools-mcp", "description: d", "tools: Read, mcp__github__get_issue"),
    "tools-foreign.md": _agent("name: tools-foreign", "description: d", "tools: WebSearch, TodoWrite, Task"),
    "without.md": _agent("name: without", "description: d", "disallowedTools: Write, Edit"),
    "model-inherit.md": _agent("name: model-inherit", "description: d", "model: inherit"),
    "model-sonnet.md": _agent("name: model-sonnet", "description: d", "model: sonnet"),
    "model-opus.md": _agent("name: model-opus", "description: d", "model: opus"),
    "model-haiku.md": _agent("name: model-haiku", "description: d", "model: haiku"),
    "model-full.md": _agent("name: model-full", "description: d", "model: claude-sonnet-4-5-20250929"),
    "color.md": _agent("name: color", "description: d", "color: purple", "permissionMode: plan"),
    "long.md": _agent("name: long", f'description: "{_LONG}"'),
    "long-bare.md": _agent("name: long-bare", f"description: {_LONG}"),
    "block.md": _agent("name: block", "description: |", "  Reads a diff.", "  Says what is wrong."),
    "folded.md": _agent("name: folded", "description: >-", "  Reads a diff", "  and says it."),
    "quoted.md": _agent("name: 'quoted'", "description: 'It''s careful'"),
    "colon.md": _agent("name: colon", "description: Use for: reviews, checks"),
    "hash.md": _agent("name: hash # a comment", "description: d"),
    "skills.md": _agent("name: skills", "description: d", "skills: pdf, forms"),
    "hooks.md": _agent("name: hooks", "description: d", "hooks:", "  PreToolUse:", "    - matcher: Bash"),
    "memory.md": _agent("name: memory", "description: d", "memory: user", "isolation: worktree"),
    "display.md": _agent("name: The Display Name", "description: d"),
    "emoji.md": _agent("name: emoji", "description: 🚀 fast"),
    "unnamed.md": _agent("description: Only described."),
    "named-only.md": _agent("name: named-only"),
    "team/nested.md": _agent("name: nested", "description: d"),
    "crlf.md": _agent("name: crlf", "description: d").replace("\n", "\r\n"),
    "bom.md": "\ufeff" + _agent("name: bom", "description: d"),
    "headings.md": _agent(
        "name: headings", "description: d", body="# Role\n\n## Steps\n1. a\n\n---\n\nend\n"
    ),
    # opencode, Copilot, others
    "opencode.md": _agent("description: d", "mode: subagent", "tools:", "  write: false", "  bash: false"),
    "helper.agent.md": _agent("name: helper.agent", "description: d", "tools: ['search', 'edit']"),
    "temperature.md": _agent("description: d", "mode: primary", "temperature: 0.1"),
    # What is none
    "README.md": "# About the agents of this folder\n",
    "empty.md": "",
    "no-words.md": _agent("color: red"),
    "huge.md": _agent("name: huge", "description: d", body="x" * (10 << 20)),
}
NO_AGENTS = {
    "README.md": "no front matter",
    "empty.md": "no front matter",
    "no-words.md": "neither",
    "huge.md": "KiB",
}

COMMANDS: dict[str, str] = {
    "plain.md": "Fix the tests.",
    "arguments.md": "Fix issue $ARGUMENTS.",
    "words.md": "Review $1 with care for $2.",
    "described.md": "---\ndescription: Makes a commit\n---\nCommit.",
    "hinted.md": "---\nargument-hint: [issue] [priority]\ndescription: d\n---\nFix $1.",
    "allowed.md": "---\nallowed-tools: Bash(git add:*), Bash(git status:*)\n---\nCommit.",
    "model.md": "---\nmodel: haiku\n---\nShort answer.",
    "file.md": "Explain @src/a.py.",
    "two-files.md": "Compare @a.py with @b.py.",
    "itself.md": "I am @.claude/commands/itself.md and /itself.",
    "bash.md": "Status: !`git status`\nGo on.",
    "git/commit.md": "Commit.",
    "git/flow/start.md": "Start $1.",
    "heading.md": "# Title\n\nText.",
    "fenced.md": "```sh\nmake test\n```",
    "dollar.md": "It costs $100, or $0.",
    "crlf.md": "---\r\ndescription: d\r\n---\r\nFix it.\r\n",
    "umlaut.md": "Prüfe es.",
    "empty.md": "",
    "my command.md": "A name with a blank.",
}
NO_COMMANDS = ("empty.md", "my command.md")

_NPX = {"command": "npx", "args": ["-y", "@scope/server"]}
_URL = {"url": "https://mcp.example/mcp"}
SERVERS: list[Any] = [
    {"mcpServers": {"a": _NPX}},
    {"mcpServers": {"a": _NPX, "b": _URL}},
    {"mcpServers": {"a": {**_NPX, "env": {"TOKEN": "${TOKEN}"}}}},
    {"mcpServers": {"a": {**_NPX, "env": {"TOKEN": "${TOKEN:-none}", "DEBUG": "1"}}}},
    {"mcpServers": {"a": {"type": "stdio", **_NPX}}},
    {"mcpServers": {"a": {"type": "http", **_URL}}},
    {"mcpServers": {"a": {"type": "streamable-http", **_URL}}},
    {"mcpServers": {"a": {**_URL, "headers": {"Authorization": "Bearer ${TOKEN}"}}}},
    {"mcpServers": {"my server": _NPX}},
    {"mcpServers": {"@scope/name": _NPX}},
    {"mcpServers": {"a": {**_NPX, "disabled": True}}},
    {"mcpServers": {"a": {**_NPX, "enabled": False}}},
    {"mcpServers": {"a": {**_NPX, "enabled": True}}},
    {"mcpServers": {"a": {**_NPX, "alwaysAllow": ["x"], "autoApprove": []}}},
    {"mcpServers": {"a": {**_NPX, "timeout": 60_000, "trust": False}}},
    {"mcpServers": {"a": {**_NPX, "cwd": "tools"}}},
    {"mcpServers": {"a": {"serverUrl": "https://mcp.example/mcp"}}},
    {"mcpServers": {"a": {"httpUrl": "https://mcp.example/mcp"}}},
    {"mcpServers": {"a": {"command": "docker", "args": ["run", "-i", "--rm", "x"], "env": {"PORT": 8080}}}},
    {"mcpServers": {"a": _NPX}, "$schema": "https://schema.example"},
    {"servers": {"a": {"type": "stdio", **_NPX}}, "inputs": []},
    {"mcp": {"a": {"type": "local", "command": ["npx", "-y", "x"], "environment": {"A": "b"}}}},
    {"mcp": {"a": {"type": "remote", **_URL, "enabled": True}}},
    {"a": _NPX},
    {"a": _NPX, "b": _URL},
    {"mcpServers": {}},
    {"mcpServers": {"a": {**_NPX, "description": "d", "icon": "x", "metadata": {"k": 1}}}},
    # What is none
    {"mcpServers": {"a": {"type": "sse", "url": "https://mcp.example/sse"}}},
    {"mcpServers": {"a": {"comand": "npx"}}},
    {"version": 1, "tools": []},
]
NO_SERVERS = {27: "SSE", 28: "command", 29: "mcpServers"}


def _hook(command: str = "true", **more: Any) -> dict[str, Any]:
    return {"type": "command", "command": command, **more}


HOOKS: list[tuple[dict[str, Any], int, str]] = [
    ({"PreToolUse": [{"matcher": "Bash", "hooks": [_hook()]}]}, 1, ""),
    ({"PreToolUse": [{"matcher": "Edit|MultiEdit|Write", "hooks": [_hook()]}]}, 1, ""),
    ({"PreToolUse": [{"matcher": "mcp__.*__write.*", "hooks": [_hook()]}]}, 1, ""),
    ({"PreToolUse": [{"matcher": "*", "hooks": [_hook(), _hook("false")]}]}, 2, ""),
    ({"PostToolUse": [{"matcher": "Write", "hooks": [_hook(timeout=30)]}]}, 1, ""),
    ({"PostToolUseFailure": [{"hooks": [_hook()]}], "SessionEnd": [{"hooks": [_hook()]}]}, 2, ""),
    ({"UserPromptSubmit": [{"hooks": [_hook()]}], "Stop": [{"hooks": [_hook()]}]}, 2, ""),
    ({"SessionStart": [{"matcher": "startup", "hooks": [_hook()]}]}, 1, ""),
    ({"SubagentStart": [{"hooks": [_hook()]}], "SubagentStop": [{"hooks": [_hook()]}]}, 2, ""),
    ({"PreCompact": [{"matcher": "auto", "hooks": [_hook()]}], "PostCompact": [{"hooks": [_hook()]}]}, 2, ""),
    ({"Notification": [{"matcher": "permission_prompt", "hooks": [_hook()]}]}, 1, ""),
    ({"PermissionRequest": [{"matcher": "Bash", "hooks": [_hook()]}]}, 1, ""),
    (
        {"TeammateIdle": [{"hooks": [_hook()]}], "PreToolUse": [{"hooks": [_hook()]}]},
        1,
        "so its hooks do not run",
    ),
    (
        {"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "prompt", "prompt": "ok?"}]}]},
        0,
        "not supported",
    ),
    ({"PreToolUse": [{"matcher": "(", "hooks": [_hook()]}]}, 1, "matches every tool"),
]


def write_json(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)
