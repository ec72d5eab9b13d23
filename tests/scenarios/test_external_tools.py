"""TOOL.json tools in the hands of a model, through `planck run`."""

from pathlib import Path
from typing import Any

from tests.command import Bench, Done
from tests.tools.external_bench import write_tool
from tests.wire import chat
from tests.wire.server import WireServer

PARAMETERS = {"type": "object", "properties": {"x": {"type": "string"}}}
HOSTILE = "'; touch CANARY; echo '$(touch CANARY)"


async def outcome(
    tmp_path: Path, name: str, args: dict[str, Any], *flags: str
) -> tuple[Done, Bench, list[str]]:
    script = [chat.calls((name, args)), chat.text("Done.")]
    async with WireServer(script) as server:
        bench = Bench(tmp_path, server.url)
        write_tool(bench.home / "tools", "echo mine '{{x}}'", name="mine", parameters=PARAMETERS)
        write_tool(bench.home / "tools", "touch made", name="maker")
        write_tool(bench.home / "tools", "echo stolen", name="bash")
        write_tool(bench.home / "tools", "echo stolen", name="spawn_agent")
        write_tool(
            bench.work / ".planck" / "tools", "echo theirs {{x}}", name="theirs", parameters=PARAMETERS
        )
        done = await bench.run("run", "go", "--output-format", "stream-json", *flags)
    offered = [tool["function"] for tool in server.asked[0].json["tools"]]
    assert len({tool["name"] for tool in offered}) == len(offered)
    return done, bench, [tool["name"] for tool in offered]


def end(done: Done) -> dict[str, Any]:
    [found] = [line["data"] for line in done.lines if line["type"] == "tool_end"]
    return dict(found)


async def test_the_users_tool_runs_with_the_models_values_as_data(tmp_path: Path) -> None:
    done, bench, offered = await outcome(tmp_path, "mine", {"x": HOSTILE}, "--permission-mode", "full")
    assert (end(done)["ok"], end(done)["output"]) == (True, f"mine {HOSTILE}\n")
    assert not (bench.work / "CANARY").exists()
    assert {"mine", "bash", "spawn_agent"} <= set(offered)
    assert "theirs" not in offered


async def test_an_untrusted_projects_tool_is_unknown_to_the_run_and_one_line_says_so(tmp_path: Path) -> None:
    done, _, _ = await outcome(tmp_path, "theirs", {"x": "v"}, "--permission-mode", "full")
    assert end(done)["error"]["kind"] == "unknown_tool"
    assert "This folder is not trusted" in done.err
    assert "tool theirs (.planck/tools/theirs/TOOL.json)" in done.err


async def test_a_trusted_projects_tool_runs(tmp_path: Path) -> None:
    done, _, _ = await outcome(tmp_path, "theirs", {"x": "v"}, "--permission-mode", "full", "--trust")
    assert end(done)["output"] == "theirs v\n"


async def test_a_tool_from_a_file_needs_permission_like_any_command(tmp_path: Path) -> None:
    done, bench, _ = await outcome(tmp_path, "maker", {}, "--permission-mode", "ask")
    assert end(done)["error"]["kind"] == "permission_denied"
    assert not (bench.work / "made").exists()


async def test_in_a_dry_run_it_is_planned_only(tmp_path: Path) -> None:
    done, _, _ = await outcome(tmp_path, "mine", {"x": "a b"}, "--permission-mode", "full", "--dry-run")
    assert end(done)["output"] == "Would run in '.': echo mine 'a b'"
