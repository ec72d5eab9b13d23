"""TOOL.json: what is loaded, what is refused and said, and how the command runs."""

import json
import os
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from planck import Err, ErrorKind, Ok, from_file, load_all
from planck.tools.external import MAX_FILE_BYTES, discover
from tests.tools.external_bench import called, finished, loaded, write_tool
from tests.tools.room import processes, until

GOOD: dict[str, Any] = {
    "name": "good",
    "description": "d",
    "command": "echo {{x}}",
    "parameters": {"type": "object", "properties": {"x": {"type": "string"}}},
}


def without(field: str) -> str:
    return json.dumps({key: value for key, value in GOOD.items() if key != field})


def with_(**fields: Any) -> str:
    return json.dumps({**GOOD, **fields})


MALFORMED: dict[str, tuple[str | bytes, ErrorKind, str]] = {
    "empty": ("", ErrorKind.INVALID_ARGS, "invalid JSON in {path}: "),
    "blank": (" \n", ErrorKind.INVALID_ARGS, "invalid JSON in {path}: "),
    "cut short": ('{"name": "x"', ErrorKind.INVALID_ARGS, "invalid JSON in {path}: "),
    "trailing comma": ('{"name": "x",}', ErrorKind.INVALID_ARGS, "invalid JSON in {path}: "),
    "comment": (json.dumps(GOOD) + "// no", ErrorKind.INVALID_ARGS, "invalid JSON in {path}: "),
    "single quotes": ("{'name': 'x'}", ErrorKind.INVALID_ARGS, "invalid JSON in {path}: "),
    "two documents": (json.dumps(GOOD) * 2, ErrorKind.INVALID_ARGS, "invalid JSON in {path}: "),
    "not a number": ('{"name": NaN}', ErrorKind.INVALID_ARGS, "invalid JSON in {path}: "),
    "latin-1": (b'{"name": "\xe9"}', ErrorKind.INVALID_ARGS, "invalid JSON in {path}: "),
    "utf-16": (json.dumps(GOOD).encode("utf-16"), ErrorKind.INVALID_ARGS, "invalid JSON in {path}: "),
    "half a surrogate pair": ('{"name": "\\ud800"}', ErrorKind.INVALID_ARGS, "invalid JSON in {path}: "),
    "deeply nested": ("[" * 100_000, ErrorKind.INVALID_ARGS, "invalid JSON in {path}: "),
    "10 MB": ('{"name": "' + "x" * 10_000_000, ErrorKind.LIMIT_EXCEEDED, "cannot read {path}: "),
    "a list": (
        "[]",
        ErrorKind.INVALID_ARGS,
        "TOOL.json at {path} missing required fields: name, description, command, parameters",
    ),
    "a string": ('"name"', ErrorKind.INVALID_ARGS, "TOOL.json at {path} missing required fields: name,"),
    "null": ("null", ErrorKind.INVALID_ARGS, "TOOL.json at {path} missing required fields: name,"),
    "no name": (without("name"), ErrorKind.INVALID_ARGS, "TOOL.json at {path} missing required fields: name"),
    "no description": (
        without("description"),
        ErrorKind.INVALID_ARGS,
        "TOOL.json at {path} missing required fields: description",
    ),
    "no command": (
        without("command"),
        ErrorKind.INVALID_ARGS,
        "TOOL.json at {path} missing required fields: command",
    ),
    "no parameters": (
        without("parameters"),
        ErrorKind.INVALID_ARGS,
        "TOOL.json at {path} missing required fields: parameters",
    ),
    "name is a number": (
        with_(name=1),
        ErrorKind.INVALID_ARGS,
        "TOOL.json at {path} missing required fields: name (name must be a string)",
    ),
    "command is a list": (
        with_(command=["echo"]),
        ErrorKind.INVALID_ARGS,
        "TOOL.json at {path} missing required fields: command (command must be a non-empty string)",
    ),
    "command is blank": (with_(command=" "), ErrorKind.INVALID_ARGS, "TOOL.json at {path} missing required"),
    "parameters are text": (
        with_(parameters="{}"),
        ErrorKind.INVALID_ARGS,
        "TOOL.json at {path} missing required fields: parameters (parameters must be an object)",
    ),
    "description is null": (
        with_(description=None),
        ErrorKind.INVALID_ARGS,
        "TOOL.json at {path} missing required fields: description (description must be a string)",
    ),
    "empty name": (with_(name=""), ErrorKind.INVALID_ARGS, "TOOL.json at {path}: the name ''"),
    "name with a space": (with_(name="a b"), ErrorKind.INVALID_ARGS, "TOOL.json at {path}: the name 'a b'"),
    "name with an escape": (with_(name="a\x1b[31m"), ErrorKind.INVALID_ARGS, "TOOL.json at {path}: the name"),
    "name with a path": (with_(name="../x"), ErrorKind.INVALID_ARGS, "TOOL.json at {path}: the name '../x'"),
    "name of 65 letters": (with_(name="n" * 65), ErrorKind.INVALID_ARGS, "TOOL.json at {path}: the name"),
    "parameters of an array": (
        with_(parameters={"type": "array"}),
        ErrorKind.INVALID_ARGS,
        "TOOL.json at {path}: parameters must be",
    ),
    "no JSON Schema": (
        with_(parameters={"type": "object", "properties": {"x": {"type": "strin"}}}),
        ErrorKind.INVALID_ARGS,
        "TOOL.json at {path}: the parameters of 'good' are not a valid JSON Schema",
    ),
    "properties are a list": (
        with_(parameters={"type": "object", "properties": []}),
        ErrorKind.INVALID_ARGS,
        "TOOL.json at {path}: ",
    ),
    "a schema from the network": (
        with_(parameters={"type": "object", "$ref": "http://127.0.0.1:9/s.json"}),
        ErrorKind.INVALID_ARGS,
        "TOOL.json at {path}: the parameters of 'good' are not a valid JSON Schema",
    ),
    "a broken pattern": (
        with_(parameters={"type": "object", "properties": {"x": {"pattern": "("}}}),
        ErrorKind.INVALID_ARGS,
        "TOOL.json at {path}: the parameters of 'good' are not a valid JSON Schema",
    ),
    "an evaluated placeholder": (
        with_(command="eval {{x}}"),
        ErrorKind.INVALID_ARGS,
        "TOOL.json at {path}: a placeholder's value must not be passed to 'eval', which would evaluate it; "
        "correct the command, or put it in a script file",
    ),
    "a deep nest of substitutions": (
        with_(command="echo " + "$(" * 5_000 + "{{x}}"),
        ErrorKind.INVALID_ARGS,
        "TOOL.json at {path}: the command is nested too deeply",
    ),
    "a command of 40,000 characters": (
        with_(command="echo {{x}} " + "bash " * 8_000),
        ErrorKind.LIMIT_EXCEEDED,
        "TOOL.json at {path}: the command has 40011 characters",
    ),
    "an unclosed quote": (
        with_(command="echo '{{x}}"),
        ErrorKind.INVALID_ARGS,
        "TOOL.json at {path}: a single quote is never closed",
    ),
}


@pytest.mark.parametrize(("content", "kind", "message"), MALFORMED.values(), ids=MALFORMED)
def test_t6_a_malformed_file_is_an_error_that_names_it_and_is_skipped_beside_good_ones(
    tmp_path: Path, content: str | bytes, kind: ErrorKind, message: str
) -> None:
    path = tmp_path / "bad" / "TOOL.json"
    path.parent.mkdir()
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    result = from_file(path)
    assert isinstance(result, Err)
    assert result.kind is kind
    assert result.message.startswith(message.replace("{path}", str(path)))
    json.dumps(result.envelope()).encode()

    write_tool(tmp_path, "echo", name="good")
    assert [tool.name for tool in load_all([tmp_path])] == ["good"]
    assert [(problem.path, problem.error) for problem in discover([tmp_path]).problems] == [
        (str(path), result)
    ]


def test_there_are_at_least_25_kinds_of_malformed_files() -> None:
    assert len(MALFORMED) >= 25


@pytest.mark.parametrize(
    "kind", ["missing", "folder", "fifo", "device", "dangling link", "looping link", "NUL"]
)
def test_what_is_no_readable_file_is_an_error_and_nobody_waits_for_it(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "odd" / "TOOL.json"
    path.parent.mkdir()
    match kind:
        case "folder":
            path.mkdir()
        case "fifo":
            os.mkfifo(path)
        case "device":
            path.symlink_to("/dev/zero")
        case "dangling link":
            path.symlink_to("nowhere")
        case "looping link":
            path.symlink_to(path)
    result = from_file(f"{path}\0" if kind == "NUL" else path)
    assert isinstance(result, Err)
    assert "cannot read" in result.message
    assert str(path) in result.message
    assert result.kind in {ErrorKind.NOT_FOUND, ErrorKind.READ_FAILED, ErrorKind.INVALID_ARGS}
    assert load_all([tmp_path]) == []


def test_a_file_at_the_limit_is_read_and_one_byte_more_is_not(tmp_path: Path) -> None:
    path = write_tool(tmp_path, "echo")
    text = path.read_text()
    path.write_text(text + " " * (MAX_FILE_BYTES - len(text)))
    assert isinstance(from_file(path), Ok)
    path.write_text(text + " " * (MAX_FILE_BYTES - len(text) + 1))
    assert isinstance(from_file(path), Err)


def test_missing_directories_files_beside_folders_and_folders_without_a_tool_are_no_problem(
    tmp_path: Path,
) -> None:
    (tmp_path / "tools" / "empty").mkdir(parents=True)
    (tmp_path / "tools" / "README").write_text("")
    write_tool(tmp_path / "tools", "echo", name="b")
    write_tool(tmp_path / "tools", "echo", name="a")
    found = discover([tmp_path / "nowhere", tmp_path / "tools", tmp_path / "tools" / "README"])
    assert [tool.name for tool in found.tools] == ["a", "b"]
    assert found.problems == []


def test_the_first_of_a_name_wins_and_the_other_is_reported(tmp_path: Path) -> None:
    first = write_tool(tmp_path / "first", "echo first")
    second = write_tool(tmp_path / "second", "echo second")
    found = discover([tmp_path / "first", tmp_path / "second"])
    assert [tool.command for tool in found.tools] == ["echo first"]
    [problem] = found.problems
    assert (problem.path, problem.error.kind) == (str(second), ErrorKind.NOT_UNIQUE)
    assert str(first) in problem.error.message


def test_a_built_in_tool_is_never_shadowed(tmp_path: Path) -> None:
    write_tool(tmp_path, "echo stolen", name="bash")
    found = discover([tmp_path], taken=["bash"])
    assert found.tools == []
    assert found.problems[0].error.kind is ErrorKind.NOT_UNIQUE


def test_a_home_that_is_not_there_is_a_path_like_any_other() -> None:
    result = from_file("~nobody-of-that-name/TOOL.json")
    assert isinstance(result, Err)
    assert result.message.startswith("cannot read ~nobody-of-that-name/TOOL.json: ")


def test_a_leading_tilde_in_a_directory_is_the_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    write_tool(tmp_path / "mine", "echo")
    assert [tool.name for tool in load_all(["~/mine"])] == ["probe"]
    assert isinstance(from_file("~/mine/probe/TOOL.json"), Ok)


def test_a_folder_whose_name_is_not_utf8_is_loaded_and_its_error_can_be_stored(tmp_path: Path) -> None:
    odd = os.fsencode(tmp_path) + b"/tools/\xff\xfe name"
    os.makedirs(odd)
    with open(odd + b"/TOOL.json", "w") as file:
        file.write(with_(name="odd"))
    assert [tool.name for tool in load_all([tmp_path / "tools"])] == ["odd"]
    with open(odd + b"/TOOL.json", "w") as file:
        file.write("{")
    [problem] = discover([tmp_path / "tools"]).problems
    assert "\\xff\\xfe name" in problem.error.message
    json.dumps(problem.error.envelope()).encode()


async def test_a_file_name_that_is_not_utf8_reaches_the_program_through_a_glob_and_not_as_an_argument(
    tmp_path: Path,
) -> None:
    with open(os.fsencode(tmp_path) + b"/\xff.txt", "w") as file:
        file.write("found")
    tool = loaded(tmp_path / "tools", "cat *.txt; printf %s {{x}}")
    outcome = await called(tool, tmp_path, x="é")
    assert isinstance(outcome, Ok)
    assert outcome.value["output"] == "foundé"
    [result] = await finished([tool], tmp_path, [("probe", '{"x": "\\udcff"}')])
    assert isinstance(result.outcome, Err)
    assert result.outcome.kind is ErrorKind.INVALID_ARGS


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("as it is", "as it is"),
        (True, "true"),
        (False, "false"),
        (0, "0"),
        (-1.5, "-1.5"),
        (1e20, "1e20"),
        (None, ""),
        ([], "[]"),
        (["a b", 1, None], '["a b",1,null]'),
        ({"k": {"é": "'"}}, '{"k":{"é":"\'"}}'),
    ],
)
async def test_t5_values_that_are_no_strings_are_passed_as_the_contract_says(
    tmp_path: Path, value: Any, text: str
) -> None:
    tool = loaded(tmp_path / "tools", "printf '<%s>' {{x}} \"{{x}}\" '{{x}}' {{x}}.")
    outcome = await called(tool, tmp_path, x=value)
    assert isinstance(outcome, Ok)
    assert outcome.value["output"] == f"<{text}><{text}><{text}><{text}.>"


async def test_t5_an_absent_value_is_empty_and_as_a_whole_word_no_word(tmp_path: Path) -> None:
    tool = loaded(tmp_path / "tools", "printf '<%s>' {{x}} \"{{x}}\" '{{y}}' {{x}}. {{unknown}} end")
    outcome = await called(tool, tmp_path)
    assert isinstance(outcome, Ok)
    assert outcome.value["output"] == "<><><.><end>"
    empty = await called(tool, tmp_path, x="")
    assert isinstance(empty, Ok)
    assert empty.value["output"] == "<><><><.><end>"


OPTIONS = [
    *["-", "--", "-n", "-e", "-exec", "-rf", "-i", "-o", "-x", "-c", "-v", "-s", "-0", "-C", "-f", "-h"],
    *["--help", "--version", "--output=/etc/x", "--upload-pack=touch CANARY", "--exec=touch CANARY"],
    *["-oProxyCommand=touch CANARY", "--to-command=touch CANARY", "--checkpoint-action=exec=touch CANARY"],
    *["-I{}", "--post-file=/etc/passwd", "-T/etc/passwd", "-K.", "@file", "+x", "-XPOST", "--config=x"],
]


@pytest.mark.parametrize("value", OPTIONS)
async def test_t3_a_leading_dash_passes_as_it_is_and_as_one_argument(tmp_path: Path, value: str) -> None:
    python = shlex.quote(sys.executable)
    tool = loaded(tmp_path / "tools", python + " -I -c 'import sys; print(sys.argv[1:])' {{x}} \"{{x}}\"")
    outcome = await called(tool, tmp_path, x=value)
    assert isinstance(outcome, Ok)
    assert outcome.value["output"] == f"{[value, value]!r}\n"
    assert not (tmp_path / "CANARY").exists()


async def test_t4_a_value_with_a_placeholder_is_not_filled_in_again(tmp_path: Path) -> None:
    tool = loaded(tmp_path / "tools", "echo {{a}} '{{a}}' \"{{a}}\"")
    outcome = await called(tool, tmp_path, a="{{b}}", b="filled")
    assert isinstance(outcome, Ok)
    assert outcome.value["output"] == "{{b}} {{b}} {{b}}\n"


async def test_t7_a_file_that_changes_after_it_was_loaded_changes_nothing_until_it_is_loaded_again(
    tmp_path: Path,
) -> None:
    path = write_tool(tmp_path / "tools", "echo approved")
    [before] = discover([tmp_path / "tools"]).tools
    write_tool(tmp_path / "tools", "echo swapped")
    outcome = await called(before, tmp_path)
    assert isinstance(outcome, Ok)
    assert outcome.value["output"] == "approved\n"
    path.unlink()
    assert isinstance(await called(before, tmp_path), Ok)
    write_tool(tmp_path / "tools", "echo swapped")
    [after] = discover([tmp_path / "tools"]).tools
    assert after.fingerprint != before.fingerprint


async def test_p17_a_command_sees_no_secret_of_the_runtime(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FOO_API_KEY", "canary-7261")
    path = write_tool(tmp_path / "tools", "env; cat /proc/self/environ /proc/$PPID/environ 2>&1; true {{x}}")
    result = from_file(path)
    assert isinstance(result, Ok)
    outcome = await called(result.value, tmp_path, x="not-in-the-environment")
    assert isinstance(outcome, Ok)
    assert "PATH=" in outcome.value["output"]
    assert "canary-7261" not in outcome.value["output"]
    assert "not-in-the-environment" not in outcome.value["output"]


@pytest.mark.parametrize(
    "cwd", ["/etc", "..", "sub/../..", "~", "link", 7, ["a"], "no\0pe", "nowhere", "file"]
)
async def test_cwd_must_be_a_folder_inside_the_workspace(tmp_path: Path, cwd: Any) -> None:
    work = tmp_path / "work"
    (work / "sub").mkdir(parents=True)
    (work / "link").symlink_to("/etc")
    (work / "file").write_text("")
    tool = loaded(tmp_path / "tools", "touch ran")
    outcome = await called(tool, work, cwd=cwd)
    assert isinstance(outcome, Err)
    assert outcome.kind in {
        ErrorKind.OUTSIDE_WORKSPACE,
        ErrorKind.INVALID_ARGS,
        ErrorKind.NOT_FOUND,
        ErrorKind.READ_FAILED,
    }
    assert not list(tmp_path.rglob("ran"))


async def test_cwd_is_the_workspace_by_default_and_a_folder_of_it_on_request(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    tool = loaded(tmp_path / "tools", "pwd -P")
    for args, where in (({}, tmp_path), ({"cwd": "sub"}, tmp_path / "sub"), ({"cwd": None}, tmp_path)):
        outcome = await called(tool, tmp_path, **args)
        assert isinstance(outcome, Ok)
        assert outcome.value["output"] == f"{where.resolve()}\n"


@pytest.mark.parametrize("timeout", [0, -1, 600_001, 1e300, "100", True, [], {}])
async def test_a_timeout_that_is_no_number_of_milliseconds_in_range_is_refused(
    tmp_path: Path, timeout: Any
) -> None:
    outcome = await called(loaded(tmp_path / "tools", "touch ran"), tmp_path, timeout=timeout)
    assert isinstance(outcome, Err)
    assert outcome.kind is ErrorKind.INVALID_ARGS
    assert not (tmp_path / "ran").exists()


async def test_cwd_and_timeout_pass_a_schema_that_allows_nothing_else(tmp_path: Path) -> None:
    closed = {"type": "object", "properties": {}, "additionalProperties": False}
    tool = loaded(tmp_path / "tools", "echo {{cwd}} {{timeout}}", parameters=closed)
    outcome = await called(tool, tmp_path, cwd=".", timeout=5000)
    assert isinstance(outcome, Ok)
    assert outcome.value["output"] == ". 5000\n"
    refused = await called(tool, tmp_path, other=1)
    assert isinstance(refused, Err)


async def test_an_author_may_declare_and_require_cwd_and_timeout(tmp_path: Path) -> None:
    schema = {
        "type": "object",
        "properties": {"timeout": {"type": "integer", "maximum": 60_000}},
        "required": ["timeout"],
    }
    tool = loaded(tmp_path / "tools", "echo {{timeout}}", parameters=schema)
    assert isinstance(await called(tool, tmp_path, timeout=60_000), Ok)
    assert isinstance(await called(tool, tmp_path, timeout=60_001), Err)
    assert isinstance(await called(tool, tmp_path), Err)


@pytest.mark.serial
async def test_on_timeout_the_partial_output_is_kept_and_no_process_is_left(tmp_path: Path) -> None:
    tag = f"86399.{os.getpid()}"
    script = "echo before; (setsid sleep {{n}} &) ; (sleep {{n}} & disown); sleep {{n}}; echo after"
    tool = loaded(tmp_path / "tools", script)
    outcome = await called(tool, tmp_path, n=tag, timeout=1500)
    assert isinstance(outcome, Err)
    assert outcome.kind is ErrorKind.TIMEOUT
    assert outcome.details["output"] == "before\n"
    assert outcome.details["timeout_ms"] == 1500
    await until(lambda: not processes(tag))


async def test_a_command_that_fails_is_a_result_with_its_exit_code(tmp_path: Path) -> None:
    outcome = await called(loaded(tmp_path / "tools", "echo no >&2; exit {{n}}"), tmp_path, n=3)
    assert isinstance(outcome, Ok)
    assert (outcome.value["output"], outcome.value["exit_code"], outcome.value["ok"]) == (
        "no\n[exit code 3]",
        3,
        False,
    )


async def test_a_dry_run_shows_the_command_and_runs_nothing(tmp_path: Path) -> None:
    tool = loaded(tmp_path / "tools", "touch {{x}}")
    [result] = await finished([tool], tmp_path, [("probe", '{"x": "a b"}')], dry_run=True)
    assert result.outcome == Ok(
        {
            "output": "Would run in '.': touch 'a b'",
            "dry_run": True,
            "tool": "probe",
            "args": {"x": "a b"},
        }
    )
    [outside] = await finished([tool], tmp_path, [("probe", '{"cwd": "/"}')], dry_run=True)
    assert isinstance(outside.outcome, Err)
    assert outside.outcome.kind is ErrorKind.OUTSIDE_WORKSPACE
    assert list(tmp_path.iterdir()) == [tmp_path / "tools"]


@pytest.mark.parametrize("size", [119_000, 120_001, 1_000_000])
async def test_a_long_value_arrives_whole_or_is_refused_with_a_kind(tmp_path: Path, size: int) -> None:
    tool = loaded(tmp_path / "tools", "env printf %s {{x}} | wc -c")
    outcome = await called(tool, tmp_path, x="v" * size)
    if size < 120_000:
        assert isinstance(outcome, Ok)
        assert outcome.value["output"].strip() == str(size)
    else:
        assert isinstance(outcome, Err)
        assert outcome.kind is ErrorKind.LIMIT_EXCEEDED


async def test_a_script_that_is_too_long_for_the_system_is_an_error_with_a_kind(tmp_path: Path) -> None:
    outcome = await called(loaded(tmp_path / "tools", "echo " + "{{x}} " * 5_400), tmp_path, x="v")
    assert isinstance(outcome, Err)
    assert (outcome.kind, "too long" in outcome.message) == (ErrorKind.INVALID_ARGS, True)


async def test_many_long_values_together_are_refused_before_the_system_does(tmp_path: Path) -> None:
    tool = loaded(tmp_path / "tools", "true " + " ".join(f"{{{{v{i}}}}}" for i in range(10)))
    outcome = await called(tool, tmp_path, **{f"v{i}": "x" * 104_000 for i in range(10)})
    assert isinstance(outcome, Err)
    assert outcome.kind is ErrorKind.LIMIT_EXCEEDED


@pytest.mark.parametrize("text", ["x", "\\u0000", "é"])
async def test_50_mb_of_arguments_are_refused_before_they_are_parsed(tmp_path: Path, text: str) -> None:
    tool = loaded(tmp_path / "tools", "touch ran")
    huge = '{"x": "' + text * (50_000_000 // len(text)) + '"}'
    [result] = await finished([tool], tmp_path, [("probe", huge)])
    assert isinstance(result.outcome, Err)
    assert result.outcome.kind is ErrorKind.LIMIT_EXCEEDED
    assert len(result.output) < 17_000
    assert not (tmp_path / "ran").exists()


async def test_a_nul_character_is_refused_by_name(tmp_path: Path) -> None:
    outcome = await called(loaded(tmp_path / "tools", "echo {{x}}"), tmp_path, x="a\0b")
    assert isinstance(outcome, Err)
    assert (outcome.kind, "'x'" in outcome.message) == (ErrorKind.INVALID_ARGS, True)


def test_loading_runs_nothing(tmp_path: Path) -> None:
    write_tool(tmp_path, "$(touch CANARY); {{x}} `touch CANARY`")
    load_all([tmp_path])
    assert not list(tmp_path.rglob("CANARY"))
