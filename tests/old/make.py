"""Makes the corpus of this folder. Only commit 67eafc8 may run it, in a checkout of its own:

    git worktree add /tmp/planck-67 67eafc8 --detach
    cd /tmp/planck-67 && make .venv/.ready
    .venv/bin/python /path/to/tests/old/make.py /path/to/tests/old

The model is scripted; team, log, tools, permissions and files are real. The second half of this module looks
at a session by public names alone: 67eafc8 uses it to say what it saw, and the tests to see the same again.
"""

import asyncio
import base64
import hashlib
import inspect
import io
import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tarfile
import zlib
from collections.abc import Awaitable, Callable, Sequence
from contextlib import aclosing, closing, redirect_stdout
from enum import EnumMeta
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec

import planck
from planck import Err, ErrorKind, Planck
from planck.records.events import View
from planck.records.messages import Image, Text, UserMessage
from planck.records.specs import RunOptions
from planck.records.usage import Usage
from planck.testing import Say, ScriptedProvider

COMMIT = "67eafc8a4f5971177dbbcabf9583b8aac85dd38e"
ROOT = Path("/tmp/planck-of-67eafc8")
"""Where the homes and workspaces were when they were made: some files have their paths in them."""

Scripts = dict[str, list[Any]]

PRICE = {"input": 1.0, "output": 4.0, "cache_read": 0.1, "cache_write": 1.25}
CONFIG: dict[str, Any] = {
    "default_model": "small",
    "providers": {"double": {"type": "openai", "base_url": "http://127.0.0.1:9", "identifier": "DOUBLE"}},
    "models": [
        {
            "id": id,
            "model": f"{id}-1",
            "provider": "double",
            "name": f"The {id} one",
            "context_window": window,
            "max_output": 1_000,
            "price": PRICE,
        }
        for id, window in (("small", 200_000), ("large", 400_000), ("narrow", 20_000))
    ],
    "permissions": {"mode": "full"},
}


class Stage:
    """A home and a workspace, and agents that say what their script has for them."""

    def __init__(self, name: str, **config: Any) -> None:
        self.name = name
        self.folder = ROOT / name
        self.home, self.work = self.folder / "home", self.folder / "work"
        self.home.mkdir(parents=True, mode=0o700)
        self.work.mkdir()
        self.put("home/config.json", {**CONFIG, **config})

    @classmethod
    def at(cls, name: str, folder: Path) -> "Stage":
        """Returns one that is there already."""
        self = cls.__new__(cls)
        self.name, self.folder = name, folder
        self.home, self.work = folder / "home", folder / "work"
        return self

    def copy(self, name: str) -> "Stage":
        copy = Stage.at(self.name, ROOT / "copies" / name)
        shutil.rmtree(copy.folder, ignore_errors=True)
        shutil.copytree(self.folder, copy.folder, symlinks=True)
        move(copy.folder, self.name)
        return copy

    def put(self, path: str, content: Any) -> None:
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content if isinstance(content, str) else json.dumps(content, indent=2) + "\n")

    def open(self, scripts: Scripts, approver: Any = None) -> Planck:
        return open_planck(self.folder, ScriptedProvider(speak(scripts)), approver)

    def command(self, *words: str, stdin: str = "", check: bool = True) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "planck", *words],
            cwd=self.work,
            env={**environment(self.folder), "PLANCK_HOME": str(self.home)},
            input=stdin,
            capture_output=True,
            text=True,
            check=False,
        )
        if check and done.returncode:
            raise SystemExit(f"planck {' '.join(words)}: {done.stdout}{done.stderr}")
        return done.stdout


def speak(scripts: Scripts) -> Callable[[Any], Any]:
    """Each agent is known by its name in the system prompt."""

    def say(request: Any) -> Any:
        known = (
            one for one in scripts if f"You are {one}," in request.system or f"Be {one}." in request.system
        )
        name = next(known, "")
        script = scripts.get(name, [])
        said = script.pop(0) if script else f"{name or 'It'} is done."
        return said() if callable(said) else said

    return say


def ask(name: str, **more: Any) -> tuple[str, dict[str, Any]]:
    return "ask_agent", {"identifier": name, "identifier_type": "name", "question": f"{name}?", **more}


def delegate(name: str, **more: Any) -> tuple[str, dict[str, Any]]:
    return "delegate_task", {"identifier": name, "identifier_type": "name", "task": f"work, {name}", **more}


def at(name: str, tool: str) -> tuple[str, dict[str, Any]]:
    return tool, {"identifier": name, "identifier_type": "name"}


def write(path: str, content: str) -> tuple[str, dict[str, Any]]:
    return "write", {"path": path, "content": content}


def edit(path: str, old: str, new: str) -> tuple[str, dict[str, Any]]:
    return "edit", {"path": path, "old_string": old, "new_string": new}


def bash(command: str) -> tuple[str, dict[str, Any]]:
    return "bash", {"command": command}


async def see(session: Any, type: str, *, times: int = 1, **data: Any) -> None:
    """Returns once that was recorded."""
    async with aclosing(session.events()) as events:
        async for event in events:
            if event.type == type and data.items() <= event.data.items():
                times -= 1
                if not times:
                    return


def make_png() -> bytes:
    """Four red pixels."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return len(data).to_bytes(4, "big") + kind + data + zlib.crc32(kind + data).to_bytes(4, "big")

    rows = b"\0\xff\0\0\xff\0\0" * 2
    head = (2).to_bytes(4, "big") * 2 + b"\x08\x02\0\0\0"
    parts = chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + parts


async def play_solo() -> Stage:
    """One agent at a time: edits, undo, rewind, fork, another name, a long output, images, compaction."""
    stage = Stage("solo")
    stage.put("work/README.md", "# A project\n")
    (stage.work / "red.png").write_bytes(make_png())
    steps = [{"text": "write it", "status": "completed"}, {"text": "check it", "status": "in_progress"}]
    scripts: Scripts = {
        "orchestrator": [
            [("list_dir", {"path": "."}), ("no_such_tool", {})],
            [write("src/prices.py", "def total(prices):\n    return 0\n"), write("notes.txt", "one\n")],
            Say(
                text="Now the sum.",
                thinking="The sum of nothing is nothing.",
                calls=[edit("src/prices.py", "return 0", "return sum(prices)")],
                usage=Usage(900, 40, 300, 20, 15),
            ),
            [bash("wc -l src/prices.py; exit 3"), ("update_plan", {"steps": steps})],
            [("glob", {"pattern": "**/*.py"}), ("grep", {"pattern": "sum", "path": "src"})],
            "The prices are summed.",
            [("read", {"path": "src/prices.py"}), ("bash", "{broken")],
            "It says sum.",
        ]
    }
    async with stage.open(scripts) as p:
        session = await p.start(name="edits", max_steps=30)
        await session.run("Write a module that sums prices.")
        await session.run("What does it say?")
    before = [
        [write("undone.txt", "first\n"), edit("notes.txt", "one", "two")],
        "Written.",
        [edit("undone.txt", "first", "second")],
        "Changed.",
    ]
    async with stage.open({"orchestrator": before}) as p:
        session = await p.start(name="undone")
        await session.run("Write.")
        await session.run("Change it.")
    stage.command("undo", "-r", "undone", "-y")
    async with stage.open({"orchestrator": ["One.", "Two.", "Three."]}) as p:
        session = await p.start(name="rewound")
        await session.run("First.")
        head = session.head
        await session.run("Second.")
        assert await session.rewind(head) is None
        await session.run("Third.")
    stage.command("sessions", "fork", "edits", "--at", "20", "--name", "forked")
    async with stage.open({"orchestrator": [[("list_dir", {})], "The fork goes on."]}) as p:
        await (await p.resume("forked")).run("Go another way.")
    async with stage.open({"orchestrator": ["Here.", "There."]}) as p:
        session = await p.start(name="first-name", mode="ask")
        await session.run("Where are you?")
        await session.change_mode("workspace")
        await session.change_model("large")
        await session.rename("second-name")
        await session.run("And now?")
    red = base64.b64encode(make_png()).decode()
    looking = [
        [bash("seq 1 9000"), ("read", {"path": "red.png"})],
        "Red, and many numbers.",
        "Red again.",
    ]
    async with stage.open({"orchestrator": looking}) as p:
        session = await p.start(name="long-output")
        await session.run("Look at red.png, and count.")
        await session.run(UserMessage((Text("And this one?"), Image("image/png", red))))
    stage.put("work/big.txt", "a line of text\n" * 900)
    reads = [Say(calls=[("read", {"path": "big.txt"})], usage=Usage(n, 20)) for n in (6_000, 12_000, 19_000)]
    script = [reads[0], "one", reads[1], "two", reads[2], "What was said, in short.", "three", "four"]
    async with stage.open({"orchestrator": script}) as p:
        session = await p.start(name="compacted", model="narrow")
        for word in ("One.", "Two.", "Three.", "Four."):
            await session.run(word)
        assert any(event.type == "compacted" for event in session.recorded())
    cut = Say(text="half a", error=Err(ErrorKind.STREAM_CUT, "the stream was cut"))
    missing = Err(ErrorKind.MODEL_NOT_SUPPORTED, "no such model")
    async with stage.open({"orchestrator": [cut, "It went well.", missing]}) as p:
        session = await p.start(name="failed")
        for word in ("Try.", "Again.", "And again."):
            await session.run(word)
    never = Say(text="never", wait=asyncio.Event())
    async with stage.open({"orchestrator": [never]}) as p:
        session = await p.start(name="stopped")
        await session.prompt("First.", id="request-1")
        await session.prompt("Second.")
        await see(session, "turn_start")
        await session.stop()
    async with stage.open({"orchestrator": ["Step one, step two."]}) as p:
        await (await p.start(name="planned", mode="plan")).run("Plan it.")
    exports = ROOT / "exports"
    exports.mkdir()
    for file, *flags in (
        ("edits.ndjson",),
        ("edits.md", "--format", "md"),
        ("edits.html", "--format", "html", "--with-log"),
    ):
        (exports / file).write_text(stage.command("sessions", "export", "edits", *flags))
    other = Stage("elsewhere")
    async with other.open({"orchestrator": [[write("there.txt", "there\n")], "Done there."]}) as p:
        await (await p.start(name="imported")).run("Work elsewhere.")
    (exports / "imported.ndjson").write_text(other.command("sessions", "export", "imported"))
    stage.command("sessions", "import", str(exports / "imported.ndjson"))
    stage.command("sessions", "list", "--all")  # writes listing.json
    return stage


CREW: dict[str, Any] = {
    "name": "Crew",
    "description": "One leads, one builds, one tests.",
    "members": [
        {
            "type": "orchestrator",
            "name": "lead",
            "system_prompt": "prompts/lead.md",
            "tools": ["read", "bash"],
        },
        {
            "type": "builder",
            "name": "bob",
            "description": "Builds.",
            "provider": "double",
            "model_id": "small",
            "system_prompt": "You build.",
            "opts": {"temperature": 0.2},
            "tools": ["read", "write", "edit"],
            "skills": ["house-style"],
            "compactor": "digest",
            "budget": {"usd": 2.0, "tokens": 500_000, "ms": 3_600_000, "steps": 40, "calls": 200},
            "roots": ["src"],
        },
        {
            "type": "tester",
            "name": "tess",
            "description": "Tests.",
            "system_prompt": "Be tess.",
            "base_prompt": False,
            "tools": ["read", "list_dir"],
        },
    ],
}
FOREIGN = {
    "name": "Mixed",
    "members": [
        {"type": "orchestrator", "name": "lead", "tools": ["read"]},
        {
            "type": "reviewer",
            "description": "Reviews.",
            "acp": {
                "command": ["goose", "acp"],
                "env": ["GOOSE_MODEL"],
                "mode": "read-only",
                "network": False,
            },
        },
    ],
}
SKILL = "---\nname: {}\ndescription: Says how {} is done here. Use it for that.\n---\n\nShort lines.\n"


def put_team(stage: Stage) -> None:
    stage.put("home/teams/crew/TEAM.json", CREW)
    stage.put("home/teams/crew/prompts/lead.md", "You lead.\n")
    stage.put("home/teams/mixed/TEAM.json", FOREIGN)
    stage.put("home/skills/house-style/SKILL.md", SKILL.format("house-style", "writing"))
    stage.put("work/src/a.txt", "a\n")


class Answering:
    """Answers each question as its script says: allow, scope, reason."""

    def __init__(self, *answers: tuple[bool, str, str]) -> None:
        self._answers = list(answers)

    async def decide(self, question: Any) -> Any:
        approval: Any = import_module("planck.records.approval")
        allow, scope, reason = self._answers.pop(0)
        return approval.Answer(question.id, question.digest, allow, approval.Scope(scope), reason)


async def play_team() -> Stage:
    """A team that asks, delegates, lends, spawns, interrupts and destroys; budgets, quotas, permissions."""
    stage = Stage(
        "team",
        quotas={"double": {"usd_per_day": 50, "tokens_per_day": 10_000_000}},
        budget={"usd": 20, "steps": 500},
        default_team="crew",
    )
    put_team(stage)
    release = asyncio.Event()
    never = Say(text="never", wait=release)
    eve = {
        "type": "eve",
        "name": "eve",
        "description": "helps",
        "system_prompt": "Be eve.",
        "provider": "double",
        "model_id": "small",
        "base_url": "",
        "tools": ["read"],
    }
    scripts: Scripts = {
        "lead": [
            [ask("tess"), ("list_team", {}), ("list_models", {})],
            [delegate("bob", budget={"usd": 0.5})],
            "Bob works.",
            [("spawn_agent", eve)],
            [delegate("eve"), delegate("bob")],
            [at("bob", "interrupt_agent"), at("eve", "destroy_agent")],
            "Both have ended.",
            "I know.",
        ],
        "bob": [[write("src/b.txt", "b\n")], "I built it.", never],
        "tess": [[("read", {"path": "src/a.txt"})], "It says a."],
        "eve": [never],
    }
    async with stage.open(scripts) as p:
        session = await p.start(name="crew-at-work", max_budget_usd=5.0)
        await session.run("Let the crew work.")
        await session.run("Get help, then do without.")
    hanging = Say(text="late", wait=release)
    scripts = {"lead": [[ask("bob", timeout_ms=50)], "No answer.", "It came late."], "bob": [hanging]}
    async with stage.open(scripts) as p:
        session = await p.start(name="timed-out")
        running = asyncio.ensure_future(session.run("Ask bob."))
        await see(session, "tool_end")
        release.set()
        await running
    looks = [Say(calls=[("list_dir", {"path": f"{n}"})], usage=Usage(2_000, 500)) for n in range(20)]
    stage.put(
        "work/solo/TEAM.json",
        {"name": "alone", "members": [{"type": "orchestrator", "name": "lead", "tools": ["list_dir"]}]},
    )
    async with stage.open({"lead": [*looks, "Half of it."]}) as p:
        session = await p.start(str(stage.work / "solo"), name="capped", max_budget_usd=0.06)
        await session.run("Spend.")
    answers = Answering(
        (True, "once", ""), (True, "rule", ""), (True, "session", ""), (False, "once", "not that")
    )
    calls = [
        [write("once.txt", "x\n")],
        [bash("mkdir made")],
        [edit("once.txt", "x", "y")],
        [bash("touch never")],
        "Three of four.",
    ]
    stage.put(
        "work/asks/TEAM.json",
        {
            "name": "asks",
            "members": [{"type": "orchestrator", "name": "lead", "tools": ["bash", "write", "edit"]}],
        },
    )
    async with stage.open({"lead": calls}, answers) as p:
        session = await p.start(str(stage.work / "asks"), name="permitted", mode="ask")
        await session.run("Ask first.")
    return stage


async def play_killed() -> Stage:
    """Two processes that were killed with SIGKILL: at work, and while a question was open."""
    stage = Stage("killed")
    put_team(stage)
    for way in DEATHS:
        subprocess.run([sys.executable, __file__, "die", way], check=False)
    return stage


def _die_soon() -> None:
    asyncio.get_running_loop().call_later(0.5, os.kill, os.getpid(), signal.SIGKILL)


async def _die_at_work(stage: Stage) -> None:
    never = Say(text="never", wait=asyncio.Event())

    def die() -> Any:
        _die_soon()
        return never

    scripts: Scripts = {
        "lead": [[("read", {"path": "src/a.txt"})], [delegate("bob"), ask("tess"), bash("sleep 600")]],
        "bob": [[write("src/b.txt", "b\n")], never],
        "tess": [die],
    }
    async with stage.open(scripts) as p:
        await (await p.start("crew", name="killed")).run("Go.")


async def _die_asking(stage: Stage) -> None:
    class Patient:
        async def decide(self, question: Any) -> Any:
            _die_soon()
            await asyncio.Event().wait()

    scripts: Scripts = {"orchestrator": [[write("asked.txt", "x\n"), ("list_dir", {})]]}
    async with stage.open(scripts, Patient()) as p:
        await (await p.start(name="asking", mode="ask")).run("Write it.")


DEATHS = {"at-work": _die_at_work, "asking": _die_asking}


HOOK = {
    "matcher": "bash|write",
    "hooks": [{"type": "command", "command": "cat >> ../hook.log", "timeout": 30}],
}
RULES = [
    {
        "tool": "bash",
        "command": "git status",
        "decision": "allow",
        "match": ["git status -s"],
        "not_match": ["git stash"],
    },
    {"tool": "bash", "command": "pip install", "decision": "allow", "network": True},
    {"tool": "bash", "command": "git push", "decision": "deny"},
    {"tool": "bash", "command": "make test", "decision": "allow", "exact": True, "unconfined": True},
    {"tool": "web_fetch", "host": "*.python.org", "decision": "allow"},
    {"tool": "mcp__time__*", "decision": "ask"},
]
EVERY_KEY: dict[str, Any] = {
    "$schema": "https://example.org/config.schema.json",
    "default_model": "small",
    "default_team": "crew",
    "durability": "power",
    "mcpServers": {
        "time": {"command": "uvx", "args": ["mcp-server-time"], "env": {"TZ": "UTC"}, "disabled": True},
        "search": {
            "url": "https://mcp.example.org/mcp",
            "headers": {"X-Api-Key": "fake-header"},
            "disabled": True,
        },
    },
    "hooks": {"PreToolUse": [HOOK], "Notification": [{"hooks": [{"type": "command", "command": "true"}]}]},
    "agents_md": "nearest",
    "permissions": {"mode": "workspace", "rules": RULES},
    "limits": {
        **{"live_agents": 6, "total_agents": 32, "spawn_depth": 1, "inbox": 50, "messages": 150, "calls": 64},
        **{"answer_bytes": 8 << 20, "envelope_bytes": 128 << 10, "hops": 12, "steps": 80, "wait_s": 60},
        "providers": {"double": {"rpm": 1000, "tpm": 10_000_000, "concurrent": 8}},
    },
    "locale": "de",
    "providers": {
        "double": {
            "type": "openai",
            "base_url": "http://127.0.0.1:9",
            "identifier": "DOUBLE",
            "headers": {"x-team": "old"},
            "api": "chat",
        },
        "anthropic": {"type": "anthropic"},
        "openai": {"type": "openai", "api": "responses"},
        "google": {"type": "google"},
        "here": {"type": "ollama", "base_url": "http://127.0.0.1:9"},
        "near": {"type": "llama_cpp", "base_url": "http://127.0.0.1:9", "has_api_key": False},
        "corp": {
            "type": "openai",
            "base_url": "https://models.example.org",
            "oauth": {
                "client_id": "planck",
                "device_url": "https://login.example.org/device",
                "token_url": "https://login.example.org/token",
                "scope": "models",
                "account_header": "x-account",
            },
        },
    },
    "models": [
        {**CONFIG["models"][0], "params": {"temperature": 0.5, "effort": "high"}},
        {"id": "sonnet", "model": "claude-sonnet-4-6", "provider": "anthropic"},
    ],
    "peers_wait_ms": 60_000,
    "keys": {"submit": "a-enter", "older": ["up", "c-p"], "editing": "vi", "bell": "off"},
    "budget": {"usd": 5, "tokens": 2_000_000, "ms": 36_000_000, "steps": 900, "calls": 5_000},
    "quotas": {"double": {"usd_per_day": 20, "tokens_per_day": 5_000_000}, "anthropic": {"usd_per_day": 1}},
    "server": "http://127.0.0.1:4040",
    "node": {
        **{"name": "left", "labels": ["gpu"], "work": 2, "mode": "workspace", "drain_s": 60},
        **{"accept": ["https://git.example.org/*"], "trust": ["https://git.example.org/shop.git"]},
    },
    "cluster": {"lease_s": 20, "beat_s": 4},
}
PROJECT: dict[str, Any] = {
    "limits": {"steps": 40},
    "permissions": {"mode": "workspace", "rules": [{"tool": "bash", "command": "rm", "decision": "ask"}]},
    "hooks": {"PreToolUse": [{**HOOK, "matcher": "Bash"}]},
    "mcpServers": {"docs": {"command": "docs-server", "disabled": True}},
    "peers_wait_ms": 50_000,
}
TOOL = {
    "name": "longest",
    "description": "Show the longest lines of a file.",
    "command": "awk '{ print length, $0 }' {{path}} | sort -rn | head -n {{count}}",
    "parameters": {
        "type": "object",
        "properties": {"path": {"type": "string"}, "count": {"type": "integer", "minimum": 1}},
        "required": ["path", "count"],
    },
}
AGENT = "---\nname: {0}\ndescription: The {0} of this place.\ntools: Read, Grep, Bash\n---\nBe {0}.\n"
KEYS = {"anthropic": "fake-key-anthropic-67eafc8", "openai": "fake-key-openai-67eafc8"}
TOKEN = "fake-token-of-search-67eafc8"
SECRETS = [*KEYS.values(), TOKEN, "fake-access-67eafc8", "fake-refresh-67eafc8"]
TYPED = ["two\n  lines", "what is this?", "!ls -la"]


def use_every_tool() -> list[Any]:
    """Calls a sidecar, a TOOL.json, a skill, a command with a hook, and an agent that a file describes."""
    return [
        [("count_words", {"text": "three words here"}), ("longest", {"path": "AGENTS.md", "count": 1})],
        [("load_skill", {"name": "release"}), bash("echo hooked")],
        [("spawn_agent", {"type": "reviewer", "name": "reviewer"})],
        f"Used all of it; the keys are {', '.join(SECRETS)}.",
    ]


async def play_settings() -> Stage:
    """Every key of the configuration, and every file that a user or a project may have."""
    stage = Stage("settings")
    stage.put("home/config.json", EVERY_KEY)
    put_team(stage)
    stage.put("home/AGENTS.md", "Be brief.\n")
    stage.put("home/tools/longest/TOOL.json", TOOL)
    stage.put("home/agents/helper.md", AGENT.format("helper"))
    stage.put(
        "home/commands/greet.md", "---\ndescription: Greets.\nargument-hint: NAME\n---\nSay hello to $1.\n"
    )
    stage.put("work/AGENTS.md", "Run the tests.\n")
    stage.put("work/.planck/config.json", PROJECT)
    stage.put("work/.planck/tools/shout/TOOL.json", {**TOOL, "name": "shout", "command": "echo {{path}}"})
    stage.put("work/.planck/skills/release/SKILL.md", SKILL.format("release", "a release"))
    stage.put("work/.planck/skills/release/references/groups.md", "Added, Fixed.\n")
    stage.put("work/.agents/skills/shared/SKILL.md", SKILL.format("shared", "sharing"))
    stage.put("work/.planck/agents/reviewer.md", AGENT.format("reviewer"))
    stage.put("work/.claude/agents/guest.md", AGENT.format("guest"))
    stage.put("work/.planck/commands/review.md", "Review $ARGUMENTS.\n")
    stage.put("work/.planck/teams/pair/TEAM.json", {**CREW, "name": "Pair", "members": CREW["members"][:1]})
    stage.put("work/.planck/teams/pair/prompts/lead.md", "You lead a pair.\n")
    stage.put("work/.planck/hooks/check.sh", "#!/bin/sh\nexit 0\n")
    stage.put("work/.mcp.json", {"mcpServers": {"shared": {"command": "shared-server", "disabled": True}}})
    stage.command("sidecar", "new")
    stage.command("permissions", "trust", "--yes")
    for provider, key in KEYS.items():
        stage.command("auth", "login", provider, stdin=f"{key}\n")
    _keep_files(stage)
    stage.put("home/config.json", {**EVERY_KEY, "default_team": ""})
    async with stage.open({"orchestrator": use_every_tool()}) as p:
        session = await p.start(name="tooled", mode="full")
        await session.run("Use every tool.")
    stage.put("home/config.json", EVERY_KEY)
    shutil.rmtree(stage.home / "cache", ignore_errors=True)
    return stage


def _keep_files(stage: Stage) -> None:
    """What is written by a sign-in in a browser, and by somebody who types."""
    credentials: Any = import_module("planck.config.credentials")
    saved = credentials.Saved(access_token=SECRETS[-2], refresh_token=SECRETS[-1], account_id="acme")
    credentials.CredentialFile(stage.home).put("corp", saved)
    tokens: Any = import_module("planck.peers.tokens")
    file = tokens.TokenFile(stage.home, "search", "https://mcp.example.org/mcp")
    file.update("tokens", {"access_token": TOKEN, "token_type": "Bearer", "refresh_token": f"{TOKEN}-again"})
    file.update("client", {"client_id": "planck", "redirect_uris": ["http://127.0.0.1:1/callback"]})
    history: Any = import_module("planck.cli.screen.history").History()
    history.keep_in(stage.home / "history")
    for line in TYPED:
        history.add(line)


async def play_folders() -> Stage:
    """A home whose configuration says where skills, teams, tools, sidecars and sessions are."""
    root = ROOT / "folders"
    stage = Stage(
        "folders",
        sessions_dir=str(root / "logs"),
        skills_dirs=[str(root / "skills")],
        teams_dirs=[str(root / "teams")],
        tools_dirs=[str(root / "tools")],
        sidecar={"mine": str(root / "mine")},
        peers_wait_ms=60_000,
    )
    stage.put("skills/house-style/SKILL.md", SKILL.format("house-style", "writing"))
    stage.put("teams/crew/TEAM.json", CREW)
    stage.put("teams/crew/prompts/lead.md", "You lead.\n")
    stage.put("tools/longest/TOOL.json", TOOL)
    stage.put("work/src/a.txt", "a\n")
    stage.command("sidecar", "new", str(root / "mine"))
    script = [[("longest", {"path": "src/a.txt", "count": 1}), ("count_words", {"text": "a b"})], "Found."]
    async with stage.open({"orchestrator": script}) as p:
        await (await p.start(name="apart")).run("Use the tools.")
    shutil.rmtree(stage.home / "cache", ignore_errors=True)
    return stage


PLAYS: tuple[Callable[[], Awaitable[Stage]], ...] = (
    play_solo,
    play_team,
    play_killed,
    play_settings,
    play_folders,
)


# What a version sees of a home: these functions use public names alone.


def environment(folder: Path) -> dict[str, str]:
    return {"PATH": "/usr/bin:/bin", "HOME": str(folder), "OLLAMA_HOST": "", "LLAMA_CPP_HOST": ""}


def open_planck(folder: Path, provider: Any, approver: Any = None, **environ: str) -> Planck:
    return Planck(
        folder / "home",
        folder / "work",
        environ={**environment(folder), **environ},
        providers={"double": provider},
        approver=approver,
    )


def move(folder: Path, name: str) -> None:
    """Makes a copy of a home the home of its own workspace, in the files that say where that is."""
    for file in (folder / "home" / "config.json", folder / "home" / "trust.json"):
        if file.exists():
            file.write_text(file.read_text().replace(str(ROOT / name), str(folder)))
    for log in folder.rglob("*_*.db"):
        wal = Path(f"{log}-wal")
        if not wal.exists() or not wal.stat().st_size:  # the log of a killed process stays as it is
            with closing(sqlite3.connect(log)) as db, db:
                where = (str(folder / "work"), str(ROOT / name / "work"))
                db.execute("UPDATE meta SET value = ? WHERE key = 'workspace' AND value = ?", where)


def look_at(planck: Planck, id: str) -> dict[str, Any]:
    """What a stored session says of itself, without opening it for writing."""
    archive = planck.archive
    detail = archive.detail(id)
    info = {key: value for key, value in plain(detail.info).items() if key not in ("workspace", "holder")}
    costs = plain(archive.costs(id))
    lines = [*archive.events(id)]
    return {
        "info": info,
        "agents": [[row.name, row.type, row.model, row.turns, plain(row.usage)] for row in detail.agents],
        "last_text": detail.last_text,
        "rows": [[row["agent"], row["model"], row["usage"], row["cost_usd"]] for row in costs["rows"]],
        "verified": plain(archive.verify_session(id)),
        "types": [json.loads(line)["type"] for line in lines],
        "events": hashlib.sha256(b"".join(lines[:-1])).hexdigest(),
    }


async def go_on(planck: Planck, id: str, provider: ScriptedProvider) -> dict[str, Any]:
    """What becomes of a session that is resumed and given one more prompt."""
    session = await planck.reopen(id, RunOptions())  # a resume keeps the options
    before = [spec.name for spec in session.members]
    changes = [
        [one.path, one.agent, one.turn, one.added, one.removed, one.undone] for one in session.changes()
    ]
    result = await session.run("Go on.")
    lead = session.orchestrator.id
    shown = next((one for one in reversed(provider.asked) if one.agent_id == lead), None)
    return {
        "members": before,
        "changes": changes,
        "status": str(result.status),
        "text": result.text,
        "tools": dict.fromkeys(sorted(shown.tools), True) if shown else {},
        "shown": [_outline(message) for message in plain(shown.messages)] if shown else [],
    }


def plain(value: Any) -> Any:
    return json.loads(msgspec.json.encode(value))


def _outline(message: dict[str, Any]) -> Any:
    """A message in short; of errors and of what Planck itself says the words may change."""
    if "results" in message:
        return [
            [one["name"], one["ok"], _shorten(one["output"]) if one["ok"] else ""]
            for one in message["results"]
        ]
    if message.get("sender"):
        return ["message", message["sender"]]
    return [
        _shorten(part.get("text") or part.get("name") or part.get("media_type", ""))
        for part in message["parts"]
    ]


def _shorten(text: str) -> str:
    return text if len(text) < 100 else hashlib.sha256(text.encode()).hexdigest()


def list_files(folder: Path) -> dict[str, str]:
    """What lies in a workspace, but for Planck's own files."""
    files = (file for file in sorted(folder.rglob("*.*")) if file.is_file() and ".planck" not in file.parts)
    return {str(file.relative_to(folder)): _shorten(file.read_bytes().decode("latin-1")) for file in files}


SETTINGS: dict[str, tuple[tuple[str, ...], Callable[[Any], Any]]] = {
    "config": (("config", "show", "--json"), lambda said: said),
    "tools": (
        ("tools", "list", "--json"),
        lambda said: {row["name"]: sorted(row["parameters"].get("properties", ())) for row in said["tools"]},
    ),
    "skills": (
        ("skills", "list", "--json"),
        lambda said: {row["name"]: row["scope"] for row in said["skills"]},
    ),
    "teams": (("teams", "list", "--json"), lambda said: {row["alias"]: row["members"] for row in said}),
    "servers": (
        ("mcp", "list", "--json"),
        lambda said: {row["name"]: [row["how"], row["disabled"]] for row in said["servers"]},
    ),
    "keys": (
        ("auth", "status", "--json"),
        lambda said: {row["provider"]: [row["authenticated"], row["source"]] for row in said["providers"]},
    ),
}
"""Commands that say something of the files of a home, and what is kept of it."""
CALLS = {
    "settings": ("git status -s", "git push origin", "rm a"),
    "team": ("mkdir made", "mkdir made2"),
}
"""Commands that the rules of a home decide about."""


def explain(call: str) -> tuple[str, ...]:
    return "permissions", "explain", "--json", "bash", call, "--permission-mode", "ask"


async def describe(stage: Stage) -> dict[str, Any]:
    """Says what 67eafc8 sees of a home, and of each session in it; what changes something works on a copy."""
    sessions: dict[str, Any] = {}
    async with open_planck(stage.folder, ScriptedProvider([])) as p:
        found: dict[str, Any] = {"notices": list(p.notices), "trusted": p.trust.state.trusted}
        if stage.name in ("team", "settings", "folders"):
            found["problems"] = await p.check_team("crew")
        for info in p.archive.sessions(everywhere=True):
            sessions[info.name] = look_at(p, info.id)
    for name, seen in sessions.items():
        copy = stage.copy(name)
        provider = ScriptedProvider(lambda request: "On we go.")
        without = {"PLANCK_SIDECAR": "{}"} if stage.name == "folders" else {}
        async with open_planck(copy.folder, provider, **without) as p:
            seen["resumed"] = await go_on(p, seen["info"]["id"], provider)
        if seen["resumed"]["changes"]:
            copy = stage.copy(name)
            copy.command("undo", "-r", seen["info"]["id"], "-y", check=False)
            seen["undone"] = list_files(copy.work)
    copy = stage.copy("settings")
    said = {kind: brief(json.loads(copy.command(*words))) for kind, (words, brief) in SETTINGS.items()}
    decisions = {
        call: json.loads(copy.command(*explain(call)))["decision"] for call in CALLS.get(stage.name, ())
    }
    whole = json.dumps({**found, "said": said, "decisions": decisions, "sessions": sessions})
    return json.loads(whole.replace(str(copy.folder), str(stage.folder)))  # type: ignore[no-any-return]


def pack(stage: Stage, target: Path) -> None:
    """With modes, links and times, which git would lose."""

    def anonymous(entry: tarfile.TarInfo) -> tarfile.TarInfo:
        entry.uid = entry.gid = 0
        entry.uname = entry.gname = ""
        return entry

    whole = io.BytesIO()
    with tarfile.open(fileobj=whole, mode="w:gz", compresslevel=9) as tar:
        tar.add(stage.folder, stage.name, filter=anonymous)
    target.write_bytes(whole.getvalue())


# What a version calls things: the same functions make the snapshots and are compared with them.


def list_names(root: Path) -> dict[str, Any]:
    """Every recorded or public name, by kind. A test holds the pages under docs/reference current."""
    pages = root / "docs" / "reference"
    return {
        "events": describe_events(),
        "openapi": json.loads((pages / "openapi.json").read_text()),
        "config": json.loads((pages / "config.schema.json").read_text()),
        "exports": describe_exports(),
        "commands": describe_commands(),
    }


def describe_events() -> dict[str, Any]:
    """The JSON Schema of each event's data, by its type."""
    views = {view.type: view for view in View.__subclasses__()}
    found, shapes = msgspec.json.schema_components(views.values(), ref_template="#/$defs/{name}")
    return {"events": dict(zip(views, found, strict=True)), "$defs": shapes}


def describe_exports() -> dict[str, Any]:
    """What `planck` exports, and the sessions that it opens, with the parameters of what can be called."""
    found = {name: _describe_export(getattr(planck, name)) for name in sorted(planck.__all__)}
    opened = _describe_export(inspect.get_annotations(Planck.start)["return"])
    return {**found, "Planck.start()": {"parameters": None, "members": opened["members"]}}


def _describe_export(value: Any) -> dict[str, Any]:
    own = [one for one in getattr(value, "__mro__", ()) if one.__module__.startswith("planck.")]
    public = sorted(name for name in {name for one in own for name in vars(one)} if not name.startswith("_"))
    is_enum = isinstance(value, EnumMeta)  # each Python calls one otherwise
    return {
        "parameters": None if is_enum else _list_parameters(value),
        "members": {name: _list_parameters(getattr(value, name)) for name in public},
    }


def _list_parameters(value: Any) -> list[list[Any]] | None:
    """Name, whether it can be given by position, and whether it must be given; None: not callable."""
    try:
        parameters = inspect.signature(value).parameters.values()
    except (TypeError, ValueError):
        return None
    return [
        [one.name, one.kind is not one.KEYWORD_ONLY, one.default is one.empty and one.kind not in (2, 4)]
        for one in parameters
        if one.name != "self"
    ]


def describe_commands() -> dict[str, list[str]]:
    """What `--help` of each command lists: its options, whether they take a value, and which words."""
    words = re.findall(r"(?m)^  ([a-z]+) ", _read_help())
    found = {"": words}
    for name in words:
        text = _read_help(name)
        found[name], actions = _read_options(text), _read_actions(text)
        if " ..." in text.partition("\n\n")[0]:  # each action has options of its own
            found.update({f"{name} {action}": _read_options(_read_help(name, action)) for action in actions})
    return found


def _read_help(*command: str) -> str:
    main: Any = import_module("planck.cli.main").main
    with redirect_stdout(io.StringIO()) as out:
        assert main([*command, "--help"]) == 0
    return out.getvalue()


def _read_options(text: str) -> list[str]:
    found = {f"action {action}" for action in _read_actions(text)}
    for line in re.findall(r"(?m)^  (-.*)$", text):
        head = re.split(r"\s{2,}", line)[0]
        flags = [word.rstrip(",") for word in head.split() if word.startswith("-")]
        choices = re.search(r"\{(.*)\}", head)
        takes = "" if len(flags) == len(head.split()) else " VALUE"
        found.update(f"{flag}{takes}" for flag in flags)
        found.update(
            f"{flag} {choice}"
            for flag in flags
            for choice in (choices[1] if choices else "").split(",")
            if choice
        )
    return sorted(found)


def _read_actions(text: str) -> list[str]:
    """The words of a command's first argument, where it takes only some."""
    _, _, listed = text.partition("positional arguments:\n")
    head = re.split(r"\s{2,}", listed.strip())[0].strip("{}")
    return re.split(r"[|,]", head) if re.fullmatch(r"[a-z-]+([|,][a-z-]+)+", head) else []


def snapshot_names(root: Path, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for kind, names in list_names(root).items():
        (folder / f"{kind}.json").write_text(
            json.dumps(names, indent=1, ensure_ascii=False, sort_keys=True) + "\n"
        )


async def make(out: Path, names: Sequence[str]) -> None:
    shutil.rmtree(ROOT, ignore_errors=True)
    homes = out / "homes"
    homes.mkdir(parents=True, exist_ok=True)
    for play in PLAYS:
        name = play.__name__.removeprefix("play_")
        if names and name not in names:
            continue
        stage = await play()
        if name == "solo":
            shutil.copytree(ROOT / "exports", out / "exports", dirs_exist_ok=True)
        pack(stage, homes / f"{name}.tar.gz")
        seen = await describe(stage)
        (homes / f"{name}.json").write_text(json.dumps(seen, indent=1, ensure_ascii=False) + "\n")
        print(f"{name}: {', '.join(seen['sessions'])}")


def main() -> None:
    where = Path(planck.__file__).parents[2]
    found = subprocess.run(
        ["git", "-C", where, "rev-parse", "HEAD"], capture_output=True, text=True, check=True
    )
    if found.stdout.strip() != COMMIT:
        raise SystemExit(f"this is not {COMMIT[:7]}: {where}")
    out, *names = sys.argv[1:]
    if out == "die":
        asyncio.run(DEATHS[names[0]](Stage.at("killed", ROOT / "killed")))
    asyncio.run(make(Path(out), names))
    if not names or "names" in names:
        snapshot_names(where, Path(out) / "names")


if __name__ == "__main__":
    main()
