"""T8 to T11, T13: whatever a model sends as arguments, one result comes back and nothing invalid runs."""

import asyncio
import json
import random
from pathlib import Path
from typing import Any

import pytest

from planck import Err, ErrorKind, Ok, Tool, ToolContext, load_all
from planck.toolkit.tool import Outcome
from tests.tools.external_bench import finished, write_tool

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "path": {"type": "string", "minLength": 1, "maxLength": 40},
        "count": {"type": "integer", "minimum": 0, "maximum": 100},
        "mode": {"enum": ["fast", "slow"]},
        "tags": {"type": "array", "items": {"type": "string"}, "maxItems": 3},
        "point": {"type": "object", "properties": {"x": {"type": "number"}}, "required": ["x"]},
    },
    "required": ["path"],
}


def is_valid(args: Any) -> bool:
    """The schema again, by hand: an oracle that shares no code with the validator."""

    def text(value: Any) -> bool:
        return isinstance(value, str) and 1 <= len(value) <= 40

    def count(value: Any) -> bool:
        number = isinstance(value, int | float) and not isinstance(value, bool)
        return number and 0 <= value <= 100 and value == int(value)

    def tags(value: Any) -> bool:
        return isinstance(value, list) and len(value) <= 3 and all(isinstance(tag, str) for tag in value)

    def point(value: Any) -> bool:
        x = value.get("x") if isinstance(value, dict) else None
        return isinstance(x, int | float) and not isinstance(x, bool) and abs(x) != float("inf")

    checks: dict[str, Any] = {
        "path": text,
        "count": count,
        "mode": lambda value: value in ("fast", "slow"),
        "tags": tags,
        "point": point,
    }
    known = isinstance(args, dict) and set(args) <= set(checks) and "path" in args
    return known and all(checks[key](value) for key, value in args.items())


class Probe:
    """A tool that remembers what it was run with."""

    def __init__(self) -> None:
        self.ran: list[dict[str, Any]] = []
        self.tool = Tool("probe", "A probe.", SCHEMA, self._run)

    async def _run(self, args: dict[str, Any], ctx: ToolContext) -> Outcome:
        self.ran.append(args)
        return Ok({"output": "ran"})


ATOMS: list[Any] = [
    *[None, True, False, 0, 1, -1, 100, 101, 1.0, 1.5, 1e300, -0.0, 2**63, "", "a", "x" * 41, "fast", "slow"],
    *["é", "\0", "😀", "../etc", "'; id", [], ["a"], ["a", 1], ["a"] * 4, {}, {"x": 1}, {"x": "1"}, {"y": 2}],
]
KEYS = ["path", "count", "mode", "tags", "point", "cwd", "timeout", "Path", "pth", "", "__proto__", "é"]
TAILS = ["", "", "", "}", "]", ",", " // c", "\n{}", "```", "\0", '"', " trailing", "\ud800"]
WHOLE = [
    *[
        "",
        " ",
        "null",
        "[]",
        "1",
        '"text"',
        "{",
        "}",
        "{]",
        "{'path': 'a'}",
        '{"path": a}',
        "NaN",
        "undefined",
    ],
    *[
        '{"path": "a", "path": "b"}',
        '{"path": NaN}',
        '{"count": Infinity, "path": "a"}',
        '{"path": "\\ud800"}',
    ],
    *['{"path": "a"', '{"path": "a",}', '/* c */ {"path": "a"}', '{"path": "a"} {"path": "b"}', "\ufeff{}"],
    *['{"count": 1e999, "path": "a"}', '{"path": "a", "count": 1' + "0" * 5_000 + "}", '{"path": "\x01"}'],
    *["[" * 100_000, '{"path":' * 5_000, '{"tags": ' + "[" * 70 + "]" * 70 + ', "path": "a"}', "-", "0x1"],
]


def payload(source: random.Random) -> str:
    choice = source.random()
    if choice < 0.1:
        return source.choice(WHOLE)
    args = {source.choice(KEYS): source.choice(ATOMS) for _ in range(source.randrange(5))}
    if source.random() < 0.7:
        args["path"] = source.choice(["a", "b c", "é"])
    text = json.dumps(args, ensure_ascii=source.random() < 0.5)
    if choice < 0.45:
        return text
    if choice < 0.6:
        return text + source.choice(TAILS)
    at = source.randrange(len(text) + 1)
    if choice < 0.75:
        return text[:at]
    if choice < 0.9:
        return text[:at] + source.choice('{}[]",:\\0e-.\x00\x1f é😀') + text[at + source.randrange(2) :]
    cut = sorted(source.choices(range(len(text) + 1), k=2))
    return text[: cut[0]] + text[cut[1] :] + text[cut[0] : cut[1]]


async def run_payloads(workspace: Path, count: int, seed: int) -> tuple[int, int]:
    source = random.Random(seed)
    probe = Probe()
    ok = 0
    for start in range(0, count, 250):
        texts = [payload(source) for _ in range(250)]
        probe.ran.clear()
        results = await finished([probe.tool], workspace, [("probe", text) for text in texts])
        assert [result.call.id for result in results] == [f"c{i}" for i in range(250)], (
            f"seed {seed}, {start}"
        )
        for text, result in zip(texts, results, strict=True):
            assert result.output.encode().decode() == result.output
            if isinstance(result.outcome, Err):
                assert result.outcome.kind in {ErrorKind.INVALID_ARGS, ErrorKind.LIMIT_EXCEEDED}, text[:200]
                json.dumps(result.outcome.envelope()).encode()
            else:
                ok += 1
                assert _strictly_valid(text), f"seed {seed}: {text[:200]!r} ran"
        assert all(is_valid(args) for args in probe.ran), f"seed {seed}, from {start}"
        assert len(probe.ran) == sum(isinstance(result.outcome, Ok) for result in results)
    return ok, count


@pytest.mark.parametrize("count", [4_000, pytest.param(100_000, marks=pytest.mark.soak)])
async def test_fuzzed_payloads_give_one_result_each_and_nothing_invalid_runs(
    tmp_path: Path, count: int
) -> None:
    ok, count = await run_payloads(tmp_path, count, seed=11)
    assert 0.05 * count < ok < 0.8 * count


async def test_a_valid_payload_is_never_refused(tmp_path: Path) -> None:
    source = random.Random(13)
    texts = [payload(source) for _ in range(4_000)]
    valid = [text for text in texts if _strictly_valid(text)]
    assert len(valid) > 200
    probe = Probe()
    results = await finished([probe.tool], tmp_path, [("probe", text) for text in valid])
    refused = [text for text, result in zip(valid, results, strict=True) if isinstance(result.outcome, Err)]
    assert refused == []


def _strictly_valid(text: str) -> bool:
    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len(dict(pairs)) != len(pairs):
            raise ValueError("twice")
        return dict(pairs)

    def never(constant: str) -> None:
        raise ValueError(constant)

    try:
        text.encode()
        args = json.loads(text, object_pairs_hook=unique, parse_constant=never)
        json.dumps(args, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        return False
    return is_valid(args)


async def test_fuzzed_payloads_never_start_a_command_with_other_values(tmp_path: Path) -> None:
    """The same door with TOOL.json behind it: what the command prints is the argument that was sent."""
    write_tool(tmp_path / "tools", "printf %s {{path}}", parameters=SCHEMA)
    [tool] = load_all([tmp_path / "tools"])
    source = random.Random(14)
    texts = [payload(source) for _ in range(600)]
    async with asyncio.timeout(120):
        results = await finished([tool], tmp_path, [("probe", text) for text in texts])
    for text, result in zip(texts, results, strict=True):
        if isinstance(result.outcome, Ok):
            args = json.loads(text)
            assert result.outcome.value["output"] == args["path"], text
            assert set(args) - {"cwd", "timeout"} <= set(SCHEMA["properties"])
