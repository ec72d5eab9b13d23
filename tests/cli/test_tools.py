"""`planck tools` as a user runs it."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.command import Bench
from tests.tools.external_bench import write_tool

PARAMETERS = {"type": "object", "properties": {"x": {"type": "string"}}, "required": ["x"]}


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    made = Bench(tmp_path, "http://127.0.0.1:9")
    write_tool(made.home / "tools", "echo mine {{x}}; exit 3", name="mine", parameters=PARAMETERS)
    write_tool(
        made.work / ".planck" / "tools", "echo theirs {{x}} > ran", name="theirs", parameters=PARAMETERS
    )
    return made


async def test_list_shows_every_tool_with_its_source_and_what_is_not_trusted(bench: Bench) -> None:
    done = await bench.run("tools", "list")
    assert done.code == 0
    rows = {line.split()[0]: line for line in done.out.splitlines()}
    assert {"read", "write", "bash", "mine", "theirs"} <= set(rows)
    assert "[built-in]" in rows["bash"]
    assert f"[{bench.home}/tools/mine/TOOL.json]" in rows["mine"]
    assert "not trusted" in rows["theirs"]
    assert "not trusted" not in rows["mine"]
    trusted = await bench.run("tools", "list", "--trust")
    assert "not trusted" not in trusted.out


async def test_list_names_what_could_not_be_loaded(bench: Bench) -> None:
    bad = bench.home / "tools" / "bad" / "TOOL.json"
    bad.parent.mkdir()
    bad.write_text('{"name": "bad\x1b[31m"')
    write_tool(bench.home / "tools", "echo stolen", name="bash")
    done = await bench.run("tools", "list")
    assert done.code == 0
    assert f"planck: Not loaded: invalid JSON in {bad}" in done.err
    assert "'bash' is the name of a built-in tool; use another name" in done.err
    listing = json.loads((await bench.run("tools", "list", "--json")).out)
    assert {problem["kind"] for problem in listing["problems"]} == {"invalid_args", "not_unique"}
    assert [tool["name"] for tool in listing["tools"]].count("bash") == 1


async def test_list_and_show_as_json_give_the_whole_spec(bench: Bench) -> None:
    listing = json.loads((await bench.run("tools", "list", "--json")).out)
    mine = next(tool for tool in listing["tools"] if tool["name"] == "mine")
    assert mine == {
        "name": "mine",
        "description": "A probe.",
        "parameters": PARAMETERS,
        "source": f"{bench.home}/tools/mine/TOOL.json",
        "effect": "command",
        "trusted": True,
        "command": "echo mine {{x}}; exit 3",
    }
    assert json.loads((await bench.run("tools", "show", "mine", "--json")).out) == mine


async def test_show_prints_description_and_parameters(bench: Bench) -> None:
    done = await bench.run("tools", "show", "mine")
    assert done.code == 0
    for part in ("A probe.", "command: echo mine {{x}}; exit 3", '"required": ['):
        assert part in done.out


async def test_a_command_that_ran_and_failed_is_exit_0_and_its_output_is_on_stdout(bench: Bench) -> None:
    done = await bench.run("tools", "call", "mine", "--args", '{"x": "$(id)"}')
    assert (done.code, done.out, done.err) == (0, "mine $(id)\n[exit code 3]\n", "")


async def test_call_as_json_prints_the_whole_result_map(bench: Bench) -> None:
    done = await bench.run("tools", "call", "mine", "--args", '{"x": "v"}', "--json")
    result = json.loads(done.out)
    assert done.code == 0
    assert (result["output"], result["exit_code"], result["ok"]) == ("mine v\n[exit code 3]", 3, False)


@pytest.mark.parametrize(
    ("args", "kind"),
    [
        (["call", "mine", "--args", "{"], "invalid_args"),
        (["call", "mine"], "invalid_args"),
        (["call", "mine", "--args", '{"x": "v", "y": 1}'], "invalid_args"),
        (["call", "mine", "--args", '{"x": "v", "cwd": "/"}'], "outside_workspace"),
        (["call", "mnie", "--args", "{}"], "unknown_tool"),
        (["call", "mnie", "--args", "{"], "invalid_args"),
        (["call", "read", "--args", '{"path": "/etc/passwd"}'], "outside_workspace"),
        (["call", "read", "--args", '{"path": "none"}'], "not_found"),
        (["call", "write", "--args", '{"path": ".git/config", "content": ""}'], "protected_path"),
        (["call", "theirs", "--args", '{"x": "v"}'], "permission_denied"),
        (["show", "mnie"], "unknown_tool"),
    ],
)
async def test_an_error_is_exit_1_one_line_with_its_kind_and_as_json_the_envelope(
    bench: Bench, args: list[str], kind: str
) -> None:
    done = await bench.run("tools", *args)
    assert (done.code, done.out) == (1, "")
    assert done.error_kind == kind
    assert done.err.count("\n") == 1
    assert kind != "invalid_args" or f'. Run "planck tools show {args[1]}" for its parameters. [' in done.err
    if args[0] == "call":
        enveloped = await bench.run("tools", *args, "--json")
        envelope = json.loads(enveloped.out)
        assert (enveloped.code, envelope["ok"], envelope["error"]["kind"]) == (1, False, kind)
    assert not (bench.work / "ran").exists()


async def test_a_projects_own_tool_runs_only_when_it_is_trusted(bench: Bench) -> None:
    await bench.run("tools", "call", "theirs", "--args", '{"x": "v"}')
    assert not (bench.work / "ran").exists()
    done = await bench.run("tools", "call", "theirs", "--trust", "--args", '{"x": "v"}')
    assert done.code == 0
    assert (bench.work / "ran").read_text() == "theirs v\n"


async def test_an_untrusted_project_takes_no_name_from_the_user(bench: Bench) -> None:
    write_tool(bench.work / ".planck" / "tools", "echo stolen", name="mine", parameters=PARAMETERS)
    untrusted = await bench.run("tools", "call", "mine", "--args", '{"x": "v"}')
    assert untrusted.out.startswith("mine v")
    listed = await bench.run("tools", "list")
    assert (
        f"the name 'mine' is taken by {bench.home}/tools/mine/TOOL.json, which was loaded first" in listed.err
    )
    trusted = await bench.run("tools", "call", "mine", "--trust", "--args", '{"x": "v"}')
    assert trusted.out == "stolen\n"


async def test_a_link_from_the_project_to_the_outside_is_the_projects_word(
    bench: Bench, tmp_path: Path
) -> None:
    write_tool(tmp_path / "elsewhere", "touch ran", name="linked")
    (bench.work / ".planck" / "tools" / "linked").symlink_to(tmp_path / "elsewhere" / "linked")
    done = await bench.run("tools", "call", "linked")
    assert done.error_kind == "permission_denied"


async def test_a_dry_run_prints_the_plan_and_touches_nothing(bench: Bench) -> None:
    before = sorted(bench.work.rglob("*"))
    done = await bench.run(
        "tools", "call", "theirs", "--trust", "--dry-run", "--args", '{"x": "a b"}', "--json"
    )
    assert json.loads(done.out) == {
        "output": "Would run in '.': echo theirs 'a b' > ran",
        "dry_run": True,
        "tool": "theirs",
        "args": {"x": "a b"},
    }
    for name, args in _PLANS.items():
        planned = await bench.run("tools", "call", name, "--dry-run", "--args", json.dumps(args))
        assert planned.code == 0, planned.err
    assert sorted(bench.work.rglob("*")) == before


_PLANS: dict[str, dict[str, Any]] = {
    "bash": {"command": "touch ran"},
    "write": {"path": "new", "content": "x"},
}


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("list_skills", {}),
        ("load_skill", {"name": "none"}),
        ("update_plan", {"steps": [{"text": "a", "status": "pending"}]}),
    ],
)
async def test_a_tool_without_effects_has_the_plan_of_every_tool(
    bench: Bench, name: str, args: dict[str, Any]
) -> None:
    done = await bench.run("tools", "call", name, "--dry-run", "--json", "--args", json.dumps(args))
    plan = json.loads(done.out)
    assert plan | {"output": ""} == {"output": "", "dry_run": True, "tool": name, "args": args}


async def test_the_words_of_a_file_do_not_steer_the_terminal(bench: Bench) -> None:
    hostile = "red \x1b[31m\x9b2J \u202ereversed\u2066 \x07"
    write_tool(bench.home / "tools", "echo {{x}} # \x1b[2J", name="loud", description=hostile)
    for args in (["list"], ["show", "loud"]):
        done = await bench.run("tools", *args)
        assert "red \\x1b[31m" in done.out
        assert not {"\x1b", "\x9b", "\x07", "\u202e", "\u2066"} & set(done.out)


async def test_tools_dirs_of_the_config_replace_the_default_ones(bench: Bench, tmp_path: Path) -> None:
    write_tool(tmp_path / "other", "echo other", name="other")
    config = json.loads((bench.home / "config.json").read_text())
    (bench.home / "config.json").write_text(json.dumps({**config, "tools_dirs": [str(tmp_path / "other")]}))
    names = [tool["name"] for tool in json.loads((await bench.run("tools", "list", "--json")).out)["tools"]]
    assert "other" in names
    assert not {"mine", "theirs"} & set(names)


async def test_a_workspace_that_is_no_directory_is_a_usage_error(bench: Bench) -> None:
    done = await bench.run("tools", "list", "-C", "nowhere")
    assert (done.code, done.error_kind) == (2, "not_found")


@pytest.mark.parametrize("args", [[], ["list"], ["show"], ["call"]])
async def test_every_command_has_help_with_an_example(bench: Bench, args: list[str]) -> None:
    done = await bench.run("tools", *args, "--help")
    assert done.code == 0
    assert "example: planck tools" in done.out


async def test_no_action_lists_and_an_unknown_one_is_a_usage_error(bench: Bench) -> None:
    assert (await bench.run("tools")).out == (await bench.run("tools", "list")).out
    assert (await bench.run("tools", "dance")).code == 2
