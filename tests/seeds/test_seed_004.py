"""Every statement of seed 004 (the tool behaviour and its error kinds), each in our words."""

import ast
import inspect
import json
from pathlib import Path
from typing import Any

import pytest

from planck import Err, ErrorKind, Ok, Tool, ToolContext, error, tool, truncate
from tests.tools.external_bench import called, finished

SRC = Path(__file__).parent.parent.parent / "src" / "planck"
PARAMETERS = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}

KINDS = {
    "tools": [
        *["invalid_args", "unknown_tool", "outside_workspace", "not_found", "resource_missing", "no_match"],
        *["not_unique", "read_failed", "write_failed", "command_failed", "timeout", "permission_denied"],
        "detached",
    ],
    "turn loop": ["iteration_cap", "tool_result_record_failed"],
    "log": [
        *["corrupt_log_line", "ephemeral_not_loggable", "log_encode_failed", "log_read_failed"],
        "log_write_failed",
    ],
    "provider": [
        *["provider_http_error", "model_not_supported", "usage_limit_reached", "rate_limited", "network"]
    ],
    "auth": [
        *["not_authenticated", "token_request_failed", "no_account_id", "invalid_response", "corrupt_auth"],
        *["auth_read_failed", "auth_write_failed", "device_auth_failed", "device_code_unsupported"],
        "session_start_failed",
    ],
    "cli": ["no_prompt", "stdin_error"],
}


class Writes:
    """A tool with an effect that can be seen."""

    def __init__(self) -> None:
        self.ran: list[tuple[dict[str, Any], ToolContext]] = []
        self.planned: list[tuple[dict[str, Any], ToolContext]] = []

    def execute(self, args: dict[str, Any], ctx: ToolContext) -> Ok[dict[str, Any]] | Err:
        self.ran.append((args, ctx))
        return Ok({"output": "written", "bytes": 3})

    def plan(self, args: dict[str, Any], ctx: ToolContext) -> Ok[dict[str, Any]] | Err:
        self.planned.append((args, ctx))
        return Ok({"output": f"would write {args['path']}"})


async def dry(tool: Tool, workspace: Path, text: str) -> Ok[dict[str, Any]] | Err:
    [result] = await finished([tool], workspace, [(tool.name, text)], dry_run=True)
    return result.outcome


def test_a_tool_declares_name_description_and_parameters() -> None:
    """`__tool__/0`: name, description, and a JSON Schema with string keys."""
    tool = Tool("read", "Read a file from the workspace", PARAMETERS, Writes().execute)
    assert (tool.name, tool.description, tool.parameters) == (
        "read",
        "Read a file from the workspace",
        PARAMETERS,
    )


async def test_every_tool_is_dry_runnable_by_default_without_side_effects(tmp_path: Path) -> None:
    """The default dry run reports the planned action."""
    writes = Writes()
    outcome = await dry(Tool("w", "d", PARAMETERS, writes.execute), tmp_path, '{"path": "a"}')
    assert isinstance(outcome, Ok)
    assert outcome.value.pop("output")
    assert outcome.value == {"dry_run": True, "tool": "w", "args": {"path": "a"}}
    assert writes.ran == []


async def test_a_tool_with_side_effects_overrides_it_with_a_richer_plan(tmp_path: Path) -> None:
    """Still free of effects."""
    writes = Writes()
    outcome = await dry(Tool("w", "d", PARAMETERS, writes.execute, writes.plan), tmp_path, '{"path": "a"}')
    assert outcome == Ok({"output": "would write a"})
    assert writes.ran == []


async def test_execute_and_dry_run_get_validated_arguments_and_a_context(tmp_path: Path) -> None:
    """args is a string-keyed map; ctx has session_id, workspace, call_id and dry_run."""
    writes = Writes()
    tool = Tool("w", "d", PARAMETERS, writes.execute, writes.plan)
    await called(tool, tmp_path, path="a")
    await dry(tool, tmp_path, '{"path": "b"}')
    refused = await called(tool, tmp_path, path=["a"])
    assert isinstance(refused, Err)
    [(args, ctx)], [(_, planned)] = writes.ran, writes.planned
    assert args == {"path": "a"}
    assert (ctx.session_id, ctx.workspace, ctx.call_id, ctx.dry_run) == ("session", tmp_path, "c0", False)
    assert planned.dry_run is True


async def test_an_ok_result_is_a_string_keyed_map_whose_output_the_model_reads(tmp_path: Path) -> None:
    """ "output" is the model-facing payload."""
    tool = Tool("w", "d", PARAMETERS, Writes().execute)
    [result] = await finished([tool], tmp_path, [("w", '{"path": "a"}')])
    assert result.outcome == Ok({"output": "written", "bytes": 3})
    assert result.output == "written"


async def test_the_output_for_the_model_is_bounded(tmp_path: Path) -> None:
    """By truncate/2: 16,000 bytes and a marker."""
    tool = Tool("w", "d", {"type": "object"}, lambda args, ctx: Ok({"output": "x" * 100_000}))
    [result] = await finished([tool], tmp_path, [("w", "{}")])
    assert result.output == truncate("x" * 100_000)


def test_an_error_is_the_standard_envelope() -> None:
    """%{ok: false, error: %{kind, message, details}}."""
    assert error(ErrorKind.NOT_FOUND, "gone", {"id": 7}).envelope() == {
        "ok": False,
        "error": {"kind": "not_found", "message": "gone", "details": {"id": 7}},
    }
    assert error("timeout", "slow").envelope()["error"]["details"] == {}
    json.dumps(error("timeout", "slow").envelope())


@pytest.mark.parametrize("kind", [kind for group in KINDS.values() for kind in group])
def test_each_kind_of_the_vocabulary_can_be_built(kind: str) -> None:
    """The curated set of 37, grouped by origin."""
    built = error(kind, "m")
    assert (built.kind, built.kind.value, built.kind.name) == (ErrorKind(kind), kind, kind.upper())


def test_there_are_37_kinds_from_the_seed() -> None:
    """Adding one is a deliberate change."""
    assert sum(len(group) for group in KINDS.values()) == 37


def test_a_kind_outside_the_vocabulary_can_not_be_built() -> None:
    """Callers and the model branch on kinds."""
    with pytest.raises(ValueError, match="oops"):
        error("oops", "m")
    with pytest.raises(ValueError, match="oops"):
        Err("oops", "m")  # type: ignore[arg-type]


def test_no_source_file_names_a_kind_outside_the_vocabulary() -> None:
    """Every `ErrorKind.X` is a member, and every literal kind given to `error`, `Err` or a `kind` is one."""
    found = [
        (f"{path.relative_to(SRC)}:{node.lineno}", kind)
        for path in SRC.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if (kind := _named_kind(node)) is not None and isinstance(node, ast.expr)
    ]
    assert len(found) > 50
    assert [(where, kind) for where, kind in found if kind not in ErrorKind.__members__] == []


def _named_kind(node: ast.AST) -> str | None:
    """The member's name, for `ErrorKind.X`, `ErrorKind("x")`, `error("x", ...)` and `Err("x", ...)`."""
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "ErrorKind":
        return None if node.attr.startswith("_") else node.attr
    if isinstance(node, ast.Call) and node.args and isinstance(node.func, ast.Name):
        first = node.args[0]
        if node.func.id in {"error", "Err", "ErrorKind"} and isinstance(first, ast.Constant):
            return str(first.value).upper()
    return None


def test_the_scan_finds_a_kind_that_is_none() -> None:
    """Or it would prove nothing."""
    bad = ast.parse('ErrorKind.MADE_UP; error("made_up", "m"); Err("made_up", "m")')
    kinds = [kind for node in ast.walk(bad) if (kind := _named_kind(node))]
    assert kinds == ["MADE_UP"] * 3


async def test_a_command_that_exits_nonzero_is_no_error(tmp_path: Path) -> None:
    """A result with output, exit_code and ok false, so that the model can read it (a no-match grep is 1)."""
    from planck.tools.builtin.catalog import builtin_tools

    tools = builtin_tools(tmp_path, spill=tmp_path / "spill", environment={})
    bash = next(tool for tool in tools if tool.name == "bash")
    outcome = await called(bash, tmp_path, command="echo text | grep absent")
    assert isinstance(outcome, Ok)
    assert (outcome.value["exit_code"], outcome.value["ok"]) == (1, False)
    assert outcome.value["output"].endswith("[exit code 1]")


def test_truncate_bounds_to_max_bytes_with_an_explicit_marker() -> None:
    """The default is 16,000; the model knows that output was cut."""
    assert truncate("short") == "short"
    assert truncate("x" * 16_000) == "x" * 16_000
    assert truncate("x" * 20_000) == "x" * 16_000 + "\n…[truncated, showing up to 16000 of 20000 bytes]"
    assert truncate("abcdef", 3) == "abc\n…[truncated, showing up to 3 of 6 bytes]"


@pytest.mark.parametrize(
    ("returned", "ok", "output"),
    [
        ("text", True, "text"),
        (Ok({"output": "text"}), True, "text"),
        (Ok({"lines": 2}), True, '{"lines":2}'),
        (Ok([1, 2]), True, "[1,2]"),
        ({"output": "text", "lines": 2}, True, "text"),
        (("ok", "text"), True, "text"),
        (("error", "no such file"), False, "command_failed: no such file"),
        (error("not_found", "gone"), False, "not_found: gone"),
        (error("not_found", "gone").envelope(), False, "not_found: gone"),
        (Ok(error("not_found", "gone").envelope()), False, "not_found: gone"),
        ({"ok": False, "error": {"kind": "odd", "message": "m"}}, False, 'command_failed: m\n{"kind":"odd"}'),
    ],
)
async def test_an_error_that_is_returned_is_recorded_as_one_in_every_form_of_function(
    tmp_path: Path, returned: Any, ok: bool, output: str
) -> None:
    """Both forms, and a typed function, may return the envelope that `error` builds."""

    async def later(args: dict[str, Any], ctx: ToolContext) -> Any:
        return returned

    def typed(path: str) -> Any:
        return returned

    functions: list[Any] = [lambda args, ctx: returned, lambda agent, call, args=None: returned, later]
    tools = [Tool("probe", "", PARAMETERS, function) for function in functions]
    for one in [*tools, tool(name="probe")(typed)]:
        [done] = await finished([one], tmp_path, [("probe", '{"path": "a"}')])
        assert (done.ok, done.output) == (ok, output)
        assert isinstance(done.outcome, Ok if ok else Err)
        called = one.execute({"path": "a"}, ToolContext("s", "a", "c", tmp_path))
        called = await called if inspect.isawaitable(called) else called
        assert called in (done.outcome, Ok({"lines": 2}))  # which is none yet: the executor adds the output
