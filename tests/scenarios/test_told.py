"""What models are told in a first request: in every mode, with a person or not, for every kind of agent.

The composed texts are kept in `told/`. Write them again after a change, and read the difference:
`.venv/bin/python -m tests.scenarios.test_told`.
"""

import asyncio
import itertools
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias
from unittest.mock import patch

import pytest

from benchmarks import first_request
from benchmarks.first_request import AIMS, DIALECTS, KINDS, FirstRequest, compose
from planck.context import prompt
from planck.context.plan import make_plan_tool
from planck.context.prompt import Environment, compose_base, describe_mode
from planck.headless import wiring
from planck.headless.planck import Planck
from planck.permissions.policy import PolicyContext, Verdict, find_trial, judge
from planck.permissions.rules import Decision
from planck.records.authority import Authority, Mode
from planck.records.outcome import ErrorKind
from planck.records.specs import AgentSpec, ModelSpec
from planck.records.tools import TOOLS
from planck.team import tool_specs
from planck.toolkit.tool import Tool, ToolError
from planck.toolkit.toolset import ToolSet
from planck.tools.arguments import validate
from planck.tools.builtin import bash, glob, grep, list_dir, read
from planck.workspace.sandbox import sandbox
from tests.tools.room import Room

GOLDEN = Path(__file__).with_name("told")
SOURCES = [
    *Path(prompt.__file__).parent.glob("*.md"),
    *Path(bash.__file__).parent.glob("*.md"),
]
Around: TypeAlias = tuple[Mode, bool]
"""The mode, and whether a person answers."""
AROUND: list[Around] = list(itertools.product(Mode, (False, True)))
EVERY_MODE = frozenset(Mode)


@cache
def requests() -> dict[Around, dict[str, FirstRequest]]:
    """The first requests of a place where a sandbox works."""
    with patch.object(wiring, "list_confinable", lambda: EVERY_MODE):
        return {(mode, person): asyncio.run(compose(mode, person=person)) for mode, person in AROUND}


def each() -> Iterator[tuple[str, FirstRequest]]:
    for (mode, person), found in requests().items():
        for kind, request in found.items():
            yield f"{kind}, {mode.value}, {'a person' if person else 'nobody'}", request


def texts_of(request: FirstRequest) -> dict[str, str]:
    return {"system prompt": request.system, **{tool.name: tool.description for tool in request.tools}}


# Bytes


def test_a_first_request_keeps_to_its_diet_in_every_mode_and_dialect() -> None:
    too_long = {
        (around, kind, dialect): len(body)
        for around, found in requests().items()
        for kind, aim in AIMS.items()
        for dialect, body in found[kind].bodies.items()
        if len(body) > aim
    }
    assert not too_long


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_what_is_composed_is_what_is_sent(dialect: str) -> None:
    with patch.object(wiring, "list_confinable", lambda: EVERY_MODE):
        sent = await first_request.measure(dialect)
        found = await compose(Mode.ASK, person=False)
    assert sent == tuple(len(found[kind].bodies[dialect]) for kind in AIMS)


# One fact, one owner


def test_nothing_is_said_twice() -> None:
    for where, request in each():
        owners: dict[tuple[str, ...], str] = {}
        for name, text in texts_of(request).items():
            words = re.findall(r"[\w']+", text.lower())
            for six in zip(*(words[n:] for n in range(6)), strict=False):
                assert owners.setdefault(six, name) == name, (where, name, " ".join(six))


# Nothing is said of what an agent does not have

ALLOWED = {"bash": {"read"}, "write": {"edit"}, "list_models": {"base_url"}, "system prompt": {"workspace"}}
"""Other tools, whether the agent has them or not, keys of a result, and the mode `workspace`."""
DENIED = {"write", "edit", "web_fetch"}
"""What the line of a mode that changes nothing names."""


def test_only_tools_and_arguments_that_are_shown_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    everything = {name for _, request in each() for tool in request.tools for name in properties_of(tool)}
    monkeypatch.setattr(first_request, "WINDOW", 4_096)
    tiny = asyncio.run(compose(Mode.ASK, person=True))["small window"]
    assert "ask_agent" not in [tool.name for tool in tiny.tools]
    for where, request in [*each(), ("a tiny window", tiny)]:
        shown = {tool.name: properties_of(tool) for tool in request.tools}
        for owner, text in {**texts_of(request), **schema_texts(request)}.items():
            named = {*re.findall(r"`(\w+)`", text), *re.findall(r"\b[a-z]+_[a-z_]+\b", text)}
            named -= ALLOWED.get(owner, set())
            if owner == "system prompt":
                named -= DENIED if mode_line(text).startswith(("read-only", "plan")) else set()
                arguments = set().union(*shown.values())
            else:
                arguments = set(shown[owner.partition(".")[0]])
            assert not (named & TOOLS.keys()) - shown.keys() - arguments, (where, owner)
            assert not (named & {*everything, "max_bytes"}) - arguments - shown.keys(), (where, owner)


def properties_of(tool: Any) -> dict[str, Any]:
    found: dict[str, Any] = tool.parameters.get("properties", {})
    return found


def schema_texts(request: FirstRequest) -> dict[str, str]:
    return {
        f"{tool.name}.{name}": entry.get("description", "")
        for tool in request.tools
        for name, entry in properties_of(tool).items()
    }


def mode_line(system: str) -> str:
    found = re.search(r"^- Permission mode `(.*)$", system, re.MULTILINE)
    assert found, system
    return found[1]


# What is said of a mode is what the gate does

SAMPLES: dict[str, dict[str, Any]] = {
    "write": {"path": "a", "content": ""},
    "edit": {"path": "a", "old_string": "a", "new_string": "b"},
    "bash": {"command": "ls"},
    "web_fetch": {"url": "https://example.org/"},
}
SAYS_DENIED = {
    "write": r"`write`.* are denied|File changes .* are denied",
    "edit": r"`edit`.* are denied|File changes .* are denied",
    "bash": r"Commands are denied",
    "web_fetch": r"`web_fetch` are denied|web pages .* are denied|Nobody can approve .* web page",
}
SAYS_ASKED = {
    "write": r"changing one does",
    "edit": r"changing one does",
    "bash": r"user is asked about every command",
    "web_fetch": r"$",  # its own description says that
}
TRIED = "first runs in a read-only sandbox without network"
BOXED = r"Commands run in a sandbox(?: without network|: no network)"


@pytest.mark.parametrize("confined", [True, False])
@pytest.mark.parametrize(("mode", "person"), AROUND)
def test_the_line_of_a_mode_says_what_the_gate_does(
    tmp_path: Path, mode: Mode, person: bool, confined: bool
) -> None:
    line = describe_mode(mode, person=person, escalates=True, confined=confined)
    authority = Authority(mode, roots=("/w",), network=True)
    around = PolicyContext(no_sandbox="" if confined else "none here")
    for tool in (*Room(tmp_path, []).builtin(), make_plan_tool()):
        args = SAMPLES.get(tool.name, {})
        verdict, tried = decide(authority, around, tool, args)
        asked = verdict.decision is Decision.ASK and not tried
        denied = verdict.decision is Decision.DENY or (asked and not person)
        assert says(SAYS_DENIED, tool.name, line) is denied, (tool.name, line)
        if tool.name != "web_fetch":
            assert says(SAYS_ASKED, tool.name, line) is (asked and person), (tool.name, line)
        if tool.name == "bash":
            runs = verdict.decision is Decision.ALLOW
            free = runs and verdict.confinement.mode is Mode.FULL
            assert ("without a sandbox" in line) is free
            assert bool(re.search(BOXED, line)) is ((runs and not free) or (tried and not person))
            assert (TRIED in line) is (tried and person)
            assert verdict.confinement.network is (verdict.confinement.mode is Mode.FULL)
            more, _ = decide(authority, around, tool, {**args, "escalate": "I must"})
            helps = person and (tried or (runs and not free)) and more.decision is Decision.ASK
            assert ("`escalate`" in line) is helps


def decide(
    authority: Authority, around: PolicyContext, tool: Tool, args: dict[str, Any]
) -> tuple[Verdict, bool]:
    """Returns the gate's verdict, and whether it first tries the call where nothing can be changed."""
    verdict = judge(authority, around, tool.name, tool.effect, tool.confinable, args)
    trial = tool.probe_in_sandbox and find_trial(authority, around, verdict, tool.name, args)
    return verdict, bool(trial)


def says(patterns: dict[str, str], tool: str, line: str) -> bool:
    return tool in patterns and re.search(patterns[tool], line) is not None


def test_an_agent_that_cannot_escalate_is_not_told_to() -> None:
    for mode, person, confined in itertools.product(Mode, (False, True), (False, True)):
        line = describe_mode(mode, person=person, escalates=False, confined=confined)
        assert "escalate" not in line


async def test_the_line_follows_the_sandbox_of_this_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wiring, "list_confinable", frozenset)
    found = await compose(Mode.WORKSPACE, person=False)
    lines = {mode_line(request.system) for request in found.values()}
    assert all("Commands are denied, because no sandbox works here." in line for line in lines)


@pytest.mark.parametrize(
    ("installed", "without"),
    [("bubblewrap", set()), ("landlock", {Mode.WORKSPACE}), ("none", set(Mode))],
)
def test_which_modes_can_be_confined(installed: str, without: set[Mode]) -> None:
    with patch.object(sandbox, "name_installed", lambda: installed):
        assert sandbox.list_confinable() == set(Mode) - without


@pytest.mark.parametrize("held", [(), ("ask_agent",)])
def test_a_worker_is_told_how_it_can_ask(held: tuple[str, ...]) -> None:
    model = ModelSpec("p", "m")
    lead = AgentSpec(id="1", type="orchestrator", name="lead", role="orchestrator", model=model)
    worker = AgentSpec(id="2", type="w", name="bob", role="worker", model=model, delegator_id="1")
    place = Environment(
        workspace="/w",
        here="",
        added=(),
        platform="Linux",
        shell="bash",
        date="",
        git="",
        mode=Mode.FULL,
        person=False,
        confinable=EVERY_MODE,
    )
    tools = ToolSet(Tool(name, "", {}, lambda args, ctx: "") for name in held)
    base = compose_base(worker, [lead], place, tools)
    assert ("ask lead with `ask_agent`" in base) is bool(held)
    assert ("put the question to lead in your final text" in base) is not bool(held)


# Plain words

NAMES = {"AGENTS", "ID", "NAME", "JSON"}


def test_texts_are_easy_to_read() -> None:
    seen: set[str] = set()
    for where, request in each():
        for name, text in {**texts_of(request), **schema_texts(request)}.items():
            if text in seen:
                continue
            seen.add(text)
            assert text.replace("…", "").isascii(), (where, name)
            assert set(re.findall(r"\b[A-Z]{2,}\b", text)) <= NAMES, (where, name)
            sentences = [words for words in map(words_of, split_sentences(text)) if words]
            longest = max(sentences, key=len, default=[])
            assert len(longest) <= 25, (where, name, " ".join(longest))
            if "." in name:
                continue  # an argument's: a few words
            words = [word for sentence in sentences for word in sentence]
            mean = len(words) / len(sentences)
            ease = 206.835 - 1.015 * mean - 84.6 * sum(map(count_syllables, words)) / len(words)
            assert mean <= 12, (where, name, mean)
            assert ease >= 70, (where, name, ease)


def split_sentences(text: str) -> list[str]:
    """Code counts as one word; the end of a line ends a sentence."""
    text = re.sub(r"\b\w*_\w*\b|\S*/\S*", "code", re.sub(r"`[^`]*`", "code", text))
    return re.split(r"[.!?](?=\s|$)|\n", text)


def words_of(sentence: str) -> list[str]:
    return re.findall(r"[A-Za-z][A-Za-z']*", sentence)


def count_syllables(word: str) -> int:
    word = word.lower()
    groups = len(re.findall(r"[aeiouy]+", word))
    silent = (word.endswith("e") and not word.endswith(("le", "ee"))) or re.search(r"[^td]ed$", word)
    return max(1, groups - bool(silent))


# Numbers are the code's


def test_no_text_has_a_number_of_its_own() -> None:
    assert [path.name for path in SOURCES if re.search(r"\d", path.read_text())] == []


@pytest.mark.parametrize(
    ("module", "constant"),
    [
        (read, "MAX_LINES"),
        (read, "MAX_BYTES"),
        (bash, "TIMEOUT_MS"),
        (bash, "MAX_TIMEOUT_MS"),
        (bash, "KEEP_BYTES"),
        (glob, "MAX_FILES"),
        (grep, "MAX_SHOWN_LINE"),
        (list_dir, "MAX_ENTRIES"),
    ],
)
def test_a_description_follows_its_constant(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: Any, constant: str
) -> None:
    name = module.__name__.rpartition(".")[2]
    before = described(tmp_path, name)
    monkeypatch.setattr(module, constant, 7_654_321)
    after = described(tmp_path, name)
    assert "7654321" in after
    assert before.count(str(getattr(module, constant))) == 0


def described(folder: Path, name: str) -> str:
    return next(tool.description for tool in Room(folder, []).builtin() if tool.name == name)


def test_every_number_of_a_schema_is_a_constant(tmp_path: Path) -> None:
    known = {
        "grep.limit": {grep.LINES, grep.MAX_LINES},
        "ask_agent.timeout_ms": {tool_specs.ASK_MS},
        "read.offset": {1},
    }
    for where, request in each():
        for name, text in schema_texts(request).items():
            assert set(map(int, re.findall(r"\d+", text))) == known.get(name, set()), (where, name)
        for tool in request.tools:
            numbers = re.findall(r"\d+", tool.description)
            assert bool(numbers) is (tool.name in ("read", "bash", "glob", "grep", "list_dir")), tool.name


# The schema that is shown, and the one that validates


def test_bounds_are_not_shown_and_an_error_names_them(tmp_path: Path) -> None:
    tools = {tool.name: tool for tool in (*Room(tmp_path, []).builtin(), make_plan_tool())}
    bounds = re.compile(r"'(minLength|minimum|maximum|maxItems)'")
    for where, request in each():
        assert not bounds.search(str([tool.parameters for tool in request.tools])), where
    for name, args, bound in (
        ("bash", {"command": "ls", "timeout": 700_000}, "maximum of 600000"),
        ("bash", {"command": ""}, "shorter than 1"),
        ("read", {"path": "a", "limit": 0}, "minimum of 1"),
        ("grep", {"pattern": "a", "limit": 1_001}, "maximum of 1000"),
        ("update_plan", {"steps": [{"text": "a", "status": "pending"}] * 101}, "more than 100"),
    ):
        with pytest.raises(ToolError, match=bound) as refused:
            validate(tools[name], args)
        assert refused.value.err.kind is ErrorKind.INVALID_ARGS


def test_an_argument_that_is_not_shown_is_accepted_and_validated(tmp_path: Path) -> None:
    spawning = tool_specs.describe_spawn(("read",), ())
    spawn = Tool(spawning.name, spawning.description, spawning.parameters, lambda args, ctx: None)
    fetch = next(tool for tool in Room(tmp_path, []).builtin() if tool.name == "web_fetch")
    worker = {"type": "critic", "name": "eve", "description": "Finds faults.", "system_prompt": "Find."}
    for tool, args, key, good, bad in (
        (fetch, {"url": "https://example.org/"}, "max_bytes", 10, "ten"),
        (spawn, worker, "skills", ["pdf"], "pdf"),
    ):
        assert key not in tool.to_ai_tool().parameters["properties"]
        validate(tool, {**args, key: good})
        with pytest.raises(ToolError, match=key):
            validate(tool, {**args, key: bad})
    assert "skills" in tool_specs.describe_spawn((), ("pdf",)).parameters.shown["properties"]  # type: ignore[attr-defined]


# Small windows


@pytest.mark.parametrize(("window", "short"), [(8_192, True), (16_383, True), (16_384, False)])
async def test_a_small_window_has_the_short_rules(
    monkeypatch: pytest.MonkeyPatch, window: int, short: bool
) -> None:
    monkeypatch.setattr(first_request, "WINDOW", window)
    found = await compose(Mode.ASK, person=False)
    system, whole = (found[kind].system for kind in ("small window", "solo"))
    assert (rules_of(system) != rules_of(whole)) is short
    assert len(rules_of(system)) < 700 or not short


def rules_of(system: str) -> str:
    return system.partition("# How to work\n")[2].partition("\n\n# ")[0]


# A stable prefix


async def test_neither_a_turn_nor_a_mode_changes_what_comes_before_the_messages(tmp_path: Path) -> None:
    double = first_request.Double()
    (tmp_path / "work").mkdir()
    places = tmp_path / "home", tmp_path / "work"
    app = Planck(*places, environ={}, flags=first_request.FLAGS, providers={"here": double})
    async with app:
        session = await app.start(mode="ask", stored=False)
        await session.run("one")
        await session.run("two")
        await session.change_mode("workspace")
        await session.run("three")
    fields = {name: dialect.messages_field.encode() for name, dialect in double.dialects.items()}
    for name, field in fields.items():
        heads = {one.bodies[name].partition(b'"%b":[' % field)[0] for one in double.requests}
        assert len(heads) == 1, name
    chat = [one.bodies["chat"] for one in double.requests]
    assert all(later.startswith(sooner[: -len(b"]}")]) for sooner, later in itertools.pairwise(chat))
    assert b"Permission mode `workspace`" in chat[2]


# Golden files


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_told_is_as_it_was_reviewed(kind: str) -> None:
    assert file_of(kind).read_text() == write_down(kind), "read the difference, then write the files again"


def test_a_mode_without_a_sandbox_is_told_as_it_was_reviewed() -> None:
    assert file_of("no sandbox").read_text() == write_down_modes()


def file_of(kind: str) -> Path:
    return GOLDEN / f"{kind.replace(' ', '_')}.txt"


def write_down(kind: str) -> str:
    """The system prompt, with each line that depends on the mode once for each variant; then the tools."""
    prompts = {around: normalise(found[kind].system).splitlines() for around, found in requests().items()}
    rows = []
    for variants in zip(*prompts.values(), strict=True):
        if len(set(variants)) == 1:
            rows.append(variants[0])
            continue
        rows += group(dict(zip(prompts, variants, strict=True)))
    shown = {tuple(map(describe_tool, found[kind].tools)) for found in requests().values()}
    (tools,) = shown
    return "\n".join([*rows, "", "## Tools", *tools, ""])


def write_down_modes() -> str:
    lines = {
        (mode, person): describe_mode(mode, person=person, escalates=True, confined=False)
        for mode, person in AROUND
    }
    return "\n".join([*group(lines), ""])


def group(lines: dict[Around, str]) -> list[str]:
    """Each line once, below where it is told."""
    named: dict[str, list[str]] = {}
    for (mode, person), line in lines.items():
        named.setdefault(line, []).append(f"{mode.value}, {'a person' if person else 'nobody'}")
    return [f"<{'; '.join(where)}>\n{line}" for line, where in named.items()]


def describe_tool(tool: Any) -> str:
    required = tool.parameters.get("required", ())
    rows = [
        f"  {name}{'' if name in required else '?'}: {entry['type']} {describe_entry(entry)}".rstrip()
        for name, entry in properties_of(tool).items()
    ]
    return "\n".join([f"\n{tool.name}: {tool.description}", *rows])


def describe_entry(entry: dict[str, Any]) -> str:
    rest = {key: value for key, value in entry.items() if key not in ("type", "description")}
    return " ".join([*([str(rest)] if rest else []), entry.get("description", "")]).strip()


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("*.txt")), ids=lambda path: path.stem)
def test_a_prompt_takes_one_byte_a_character(path: Path) -> None:
    # One other character doubles what each idle agent weighs, and its UTF-8 is kept beside it.
    assert path.read_text().isascii()


def normalise(system: str) -> str:
    system = re.sub(r"^- Workspace: `[^`]*`", "- Workspace: `WORKSPACE`", system, flags=re.MULTILINE)
    return re.sub(
        r"^- \S+ \S+, shell \w+, date \S+\.$",
        "- PLATFORM, shell bash, date DATE.",
        system,
        flags=re.MULTILINE,
    )


if __name__ == "__main__":
    GOLDEN.mkdir(exist_ok=True)
    for one in KINDS:
        file_of(one).write_text(write_down(one))
    file_of("no sandbox").write_text(write_down_modes())
