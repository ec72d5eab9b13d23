"""Every statement of seed 002 (tools from TOOL.json files), each in our words."""

import json
from pathlib import Path
from typing import Any

import pytest

from planck import Err, ErrorKind, Ok, PlanckError, Tool, from_file, load_all
from tests.tools.external_bench import called, write_tool

EXAMPLE = {
    "name": "check_complexity",
    "description": "Check cyclomatic complexity of a file using radon.",
    "command": "radon cc {{path}} -s",
    "parameters": {
        "type": "object",
        "properties": {"path": {"type": "string", "description": "File to analyse"}},
        "required": ["path"],
    },
}


def put(folder: Path, name: str, content: str) -> Path:
    path = folder / name / "TOOL.json"
    path.parent.mkdir(parents=True)
    path.write_text(content)
    return path


async def output(tmp_path: Path, command: str, **args: Any) -> str:
    [tool] = load_all([write_tool(tmp_path / "tools", command).parent.parent])
    outcome = await called(tool, tmp_path, **args)
    assert isinstance(outcome, Ok), outcome
    text: str = outcome.value["output"]
    return text


def test_each_tool_lives_in_a_folder_of_its_own_below_a_tools_directory(tmp_path: Path) -> None:
    """<tools_dir>/check_complexity/TOOL.json and <tools_dir>/run_linter/TOOL.json are two tools."""
    put(tmp_path, "check_complexity", json.dumps(EXAMPLE))
    put(tmp_path, "run_linter", json.dumps({**EXAMPLE, "name": "run_linter"}))
    assert [tool.name for tool in load_all([tmp_path])] == ["check_complexity", "run_linter"]


def test_the_format_is_name_description_command_and_parameters(tmp_path: Path) -> None:
    """The four fields of the seed's own example become the tool's."""
    result = from_file(put(tmp_path, "check_complexity", json.dumps(EXAMPLE)))
    assert isinstance(result, Ok)
    tool = result.value
    assert isinstance(tool, Tool)
    assert (tool.name, tool.description, tool.parameters) == (
        EXAMPLE["name"],
        EXAMPLE["description"],
        EXAMPLE["parameters"],
    )


async def test_placeholders_are_replaced_by_the_arguments_at_call_time(tmp_path: Path) -> None:
    """`{{key}}` in `command` is the value of that argument."""
    assert await output(tmp_path, "echo {{a}}-{{b}} {{a}}", a="x", b=2) == "x-2 x\n"


async def test_unknown_placeholders_are_replaced_by_an_empty_string(tmp_path: Path) -> None:
    """A key that no argument has leaves nothing behind."""
    assert await output(tmp_path, "echo [{{nope}}] '{{nope}}' \"{{nope}}\"|tr ' ' _") == "[]__\n"


async def test_cwd_can_always_be_passed_beside_the_declared_parameters(tmp_path: Path) -> None:
    """The command runs in `cwd`; our addition: inside the workspace only."""
    (tmp_path / "sub").mkdir()
    assert await output(tmp_path, "pwd -P", cwd="sub") == f"{(tmp_path / 'sub').resolve()}\n"


async def test_timeout_in_milliseconds_can_always_be_passed_and_ends_the_whole_process_group(
    tmp_path: Path,
) -> None:
    """Processes are cleaned up on timeout; that nothing survives is shown in tests/tools/test_external.py."""
    [tool] = load_all([write_tool(tmp_path / "tools", "sleep 60 & sleep 60").parent.parent])
    outcome = await called(tool, tmp_path, timeout=200)
    assert isinstance(outcome, Err)
    assert outcome.kind is ErrorKind.TIMEOUT
    assert outcome.details["timeout_ms"] == 200


async def test_the_default_timeout_is_30_seconds(tmp_path: Path) -> None:
    """Without a `timeout` the plan and the limit are the seed's 30,000 ms."""
    from planck.tools.external import TIMEOUT_MS

    assert TIMEOUT_MS == 30_000


async def test_without_cwd_the_command_runs_in_the_current_directory(tmp_path: Path) -> None:
    """Which in Planck is the workspace."""
    assert await output(tmp_path, "pwd -P") == f"{tmp_path.resolve()}\n"


def test_load_all_takes_a_list_of_directories_and_skips_missing_ones(tmp_path: Path) -> None:
    """Missing directories are silently skipped."""
    put(tmp_path / "here", "a", json.dumps(EXAMPLE))
    assert len(load_all([tmp_path / "missing", tmp_path / "here"])) == 1
    assert load_all([tmp_path / "missing"]) == []
    assert load_all([]) == []


def test_load_all_skips_malformed_entries(tmp_path: Path) -> None:
    """Malformed entries are silently skipped (`discover` and `planck tools list` name them)."""
    put(tmp_path, "bad", "{")
    put(tmp_path, "worse", json.dumps({"name": "x"}))
    put(tmp_path, "good", json.dumps(EXAMPLE))
    assert [tool.name for tool in load_all([tmp_path])] == ["check_complexity"]


def test_directories_with_a_tilde_are_expanded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`load_all(["~/.planck/tools"])` is the seed's own example."""
    monkeypatch.setenv("HOME", str(tmp_path))
    put(tmp_path / ".planck" / "tools", "a", json.dumps(EXAMPLE))
    assert len(load_all(["~/.planck/tools"])) == 1


def test_from_file_gives_ok_with_the_tool(tmp_path: Path) -> None:
    """`{:ok, tool}`."""
    result = from_file(str(put(tmp_path, "a", json.dumps(EXAMPLE))))
    assert result.ok
    assert isinstance(result, Ok)


def test_from_file_says_that_it_can_not_read_the_file(tmp_path: Path) -> None:
    """`cannot read <path>: <reason>`, with the path as it was given."""
    path = f"{tmp_path}/none/TOOL.json"
    assert from_file(path) == Err(ErrorKind.NOT_FOUND, f"cannot read {path}: no such file or directory")


def test_from_file_says_that_the_json_is_invalid(tmp_path: Path) -> None:
    """`invalid JSON in <path>: <where>`."""
    path = put(tmp_path, "a", '{"name": }')
    result = from_file(path)
    assert isinstance(result, Err)
    assert result.message.startswith(f"invalid JSON in {path}: ")
    assert len(result.message) > len(f"invalid JSON in {path}: ")


@pytest.mark.parametrize(
    ("fields", "missing"),
    [
        ((), "name, description, command, parameters"),
        (("name", "command"), "description, parameters"),
        (("name", "description", "command"), "parameters"),
    ],
)
def test_from_file_lists_the_required_fields_that_are_missing(
    tmp_path: Path, fields: tuple[str, ...], missing: str
) -> None:
    """`TOOL.json at <path> missing required fields: a, b`, in the order of the format."""
    path = put(tmp_path, "a", json.dumps({field: EXAMPLE[field] for field in fields}))
    result = from_file(path)
    assert isinstance(result, Err)
    assert result.message == f"TOOL.json at {path} missing required fields: {missing}"


@pytest.mark.parametrize("field", ["name", "description", "command"])
def test_name_description_and_command_must_be_strings(tmp_path: Path, field: str) -> None:
    """The seed matches on `is_binary`; ours names the field."""
    path = put(tmp_path, "a", json.dumps({**EXAMPLE, field: 7}))
    result = from_file(path)
    assert isinstance(result, Err)
    assert result.message.startswith(f"TOOL.json at {path} missing required fields: {field}")


async def test_a_placeholder_is_a_word_in_double_braces_and_nothing_else(tmp_path: Path) -> None:
    r"""`\{\{(\w+)\}\}`, one pass: `{{ x }}`, `{x}` and `{{a-b}}` are text."""
    command = "printf '%s|' '{{ x }}' '{x}' '{{a-b}}' '{{x_1}}'"
    assert await output(tmp_path, command, x="no", x_1="yes", a="no") == "{{ x }}|{x}|{{a-b}}|yes|"


async def test_values_that_are_no_strings_are_turned_into_text(tmp_path: Path) -> None:
    """`to_string` of the seed; ours is JSON, and null is nothing."""
    command = "printf '%s|' '{{a}}' '{{b}}' '{{c}}' '{{d}}'"
    assert await output(tmp_path, command, a=7, b=True, c=None, d=[1, "x"]) == '7|true||[1,"x"]|'


async def test_the_command_is_run_by_a_shell(tmp_path: Path) -> None:
    """As `run_bash` does: pipes, lists and redirections are the author's to use."""
    assert await output(tmp_path, "echo {{a}} | tr a-z A-Z && echo end > f; cat f", a="up") == "UP\nend\n"


@pytest.mark.parametrize("one", ["tools", Path("tools")])
def test_one_folder_in_the_place_of_a_list_is_an_error_that_says_so(one: Any) -> None:
    with pytest.raises(PlanckError, match=r"load_all\(\['tools'\]\)") as refused:
        load_all(one)
    assert refused.value.err.kind is ErrorKind.INVALID_ARGS
