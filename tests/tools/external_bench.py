"""A folder with TOOL.json tools, and one call of one of them through the real executor."""

import json
import random
from collections.abc import Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Any

from planck.records.messages import ToolCall
from planck.records.outcome import Err, Ok
from planck.toolkit.clock import SystemClock
from planck.toolkit.journal import Unrecorded
from planck.toolkit.permit import Allowed
from planck.toolkit.scribe import Scribe
from planck.toolkit.tool import Outcome, Tool
from planck.toolkit.toolset import ToolSet
from planck.tools.executor import Executor, Site, read_calls
from planck.tools.external import from_file
from planck.tools.results import Finished

ANY_OBJECT: dict[str, Any] = {"type": "object", "additionalProperties": True}


def write_tool(folder: Path, command: str, name: str = "probe", **fields: Any) -> Path:
    path = folder / name / "TOOL.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    definition = {"name": name, "description": "A probe.", "command": command, "parameters": ANY_OBJECT}
    path.write_text(json.dumps({**definition, **fields}))
    return path


def loaded(folder: Path, command: str, **fields: Any) -> Tool:
    result = from_file(write_tool(folder, command, **fields))
    assert isinstance(result, Ok), result
    return result.value


def refusal(folder: Path, command: str, **fields: Any) -> Err:
    result = from_file(write_tool(folder, command, **fields))
    assert isinstance(result, Err), f"{command!r} was accepted"
    return result


async def finished(
    tools: Sequence[Tool], workspace: Path, calls: Sequence[tuple[str, str]], *, dry_run: bool = False
) -> list[Finished]:
    held = ToolSet(tools)
    scribe = Scribe(Unrecorded(), "agent")
    site = Site("session", workspace, dry_run)
    executor = Executor(held, site, permit=Allowed(), scribe=scribe, clock=SystemClock())
    made = [ToolCall(f"c{i}", f"p{i}", name, text) for i, (name, text) in enumerate(calls)]
    async with aclosing(executor.run(read_calls(held, made))) as results:
        return [result async for result in results]


async def called(tool: Tool, workspace: Path, **args: Any) -> Outcome:
    [result] = await finished([tool], workspace, [(tool.name, json.dumps(args))])
    return result.outcome


HOSTILE = [
    ";touch CANARY",
    "$(touch CANARY)",
    "`touch CANARY`",
    "&& touch CANARY",
    "|touch CANARY",
    "\ntouch CANARY\n",
    "> CANARY",
    "<(touch CANARY)",
    "${x:-$(touch CANARY)}",
    "a[$(touch CANARY)]",
    "x[`touch CANARY`]=1",
    "' ; touch CANARY ; '",
    '" ; touch CANARY ; "',
    "'\"'\"$(touch CANARY)",
    "$'\\x27; touch CANARY'",
    "() { :; }; touch CANARY",
    "-v a[$(touch CANARY)]",
    "eval touch CANARY",
    "{{other}}",
    "{{v0}}",
    "$0 $@ $# $$ $IFS",
    "~ ~root *  ? [a-z] {a,b} !!",
    "--output=/etc/x",
    "-exec",
    "-",
    "--",
    "",
    " ",
    "\\",
    "\\\\'\"",
    "é€😀\u202e\u200b",
    "\x01\x02\x7f\x1b[31m",
    "\r\n\t",
    "#comment",
    "/dev/tcp/127.0.0.1/9",
    "EOF",
]


def values(source: random.Random, count: int) -> list[str]:
    """Hostile texts, joined and mixed with noise; no NUL, which no program can be given."""
    noise = "abc $`\\\"'();&|<>*?[]{}!~#=%\n\t\r\x01\x7fé€😀"
    made = list(HOSTILE[:count])
    while len(made) < count:
        parts = source.choices(HOSTILE, k=source.randrange(3))
        parts += ["".join(source.choices(noise, k=source.randrange(12)))]
        source.shuffle(parts)
        made.append("".join(parts))
    return made
