"""`planck doctor`: looks at everything, starts nothing, and says what to do."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from planck.headless import Project, run_checks
from tests.command import Bench
from tests.tools.external_bench import write_tool


async def examined(bench: Bench, *args: str) -> tuple[int, dict[str, Any]]:
    done = await bench.run("doctor", "--json", *args, env={"HOME": str(bench.home)})
    return done.code, json.loads(done.out)


async def test_a_sound_place_is_ok_and_every_check_has_a_detail(tmp_path: Path) -> None:
    code, found = await examined(Bench(tmp_path, "http://127.0.0.1:9"))
    assert (code, found["ok"]) == (0, True)
    checks = {check["name"]: check for check in found["checks"]}
    assert {"runtime", "platform", "home", "configuration", "model", "sandbox", "sessions"} <= set(checks)
    assert all(check["detail"] for check in found["checks"])
    assert checks["model"]["detail"].startswith("local/m")


async def test_what_is_wrong_is_named_with_what_to_do(tmp_path: Path) -> None:
    bench = Bench(tmp_path, "http://127.0.0.1:9", hooks={"Stopp": []}, defualt_team="x")
    (bench.home / "tools" / "bad").mkdir(parents=True)
    (bench.home / "tools" / "bad" / "TOOL.json").write_text("{")
    (bench.home / "skills" / "bad").mkdir(parents=True)
    (bench.home / "skills" / "bad" / "SKILL.md").write_text("nothing")
    write_tool(bench.home / "tools", "echo stolen", name="bash")
    _, found = await examined(bench)
    told = " ".join(check["detail"] for check in found["checks"] if check["state"] == "warning")
    for words in ("Did you mean 'Stop'?", "Did you mean 'default_team'?", "TOOL.json", "SKILL.md"):
        assert words in told
    assert "'bash' is the name of a built-in tool; use another name" in told  # T6


async def test_a_broken_configuration_is_an_error_and_no_crash(tmp_path: Path) -> None:
    bench = Bench(tmp_path, "http://127.0.0.1:9")
    (bench.home / "config.json").write_text("{broken")
    code, found = await examined(bench)
    assert (code, found["ok"]) == (1, False)
    assert "config.json" in found["checks"][-1]["detail"]
    shown = await bench.run("doctor")
    assert shown.code == 1
    assert "✗ configuration" in shown.out


async def test_a_home_that_is_no_folder_and_keys_that_can_t_be_read_are_rows_among_the_others(
    tmp_path: Path,
) -> None:
    bench = Bench(tmp_path, "http://127.0.0.1:9")
    (bench.home / "credentials.json").write_text("{broken")
    code, found = await examined(bench)
    checks = {check["name"]: check for check in found["checks"]}
    assert (code, checks["keys"]["state"]) == (1, "error")
    assert "credentials.json" in checks["keys"]["detail"]
    assert checks["sandbox"]["detail"]
    (tmp_path / "file").write_text("")
    done = await bench.run("doctor", env={"PLANCK_HOME": str(tmp_path / "file")})
    assert (done.code, f"✗ home: {tmp_path / 'file'} is not a folder" in done.out) == (1, True)
    run = await bench.run("run", "hi", env={"PLANCK_HOME": str(tmp_path / "file")})
    assert (run.code, "is not a folder. Rename it, or set PLANCK_HOME." in run.err) == (1, True)


async def test_a_full_disk_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.disk_usage", lambda place: SimpleNamespace(free=9_999))
    (tmp_path / "home").mkdir()
    checks = await run_checks(Project(tmp_path / "home", tmp_path, environ={}))
    assert [check.detail for check in checks if check.name == "home"] == [
        f"{tmp_path / 'home'}: the disk is full (9,999 bytes left)"
    ]


async def test_a_model_that_is_not_there_is_told_with_what_to_write(tmp_path: Path) -> None:
    bench = Bench(tmp_path, "http://127.0.0.1:9", default_model="nowhere")
    _, found = await examined(bench)
    (detail,) = [check["detail"] for check in found["checks"] if check["name"] == "model"]
    assert "Write PROVIDER/MODEL" in detail


async def test_servers_and_sidecars_that_an_agent_could_replace_are_named(tmp_path: Path) -> None:
    bench = Bench(tmp_path, "http://127.0.0.1:9")
    side, apart = bench.work / "tools" / "side", tmp_path / "apart"
    for folder in (side, apart):
        folder.mkdir(parents=True)
        (folder / "sidecar.py").write_text("")
    (bench.work / "server.py").write_text("")
    servers = {
        "mine": {"command": "python3", "args": ["server.py"]},
        "safe": {"command": "/bin/true"},
        "off": {"command": "./server.py", "disabled": True},
        "wrong": {"command": 7},
    }
    config = json.loads((bench.home / "config.json").read_text())
    config |= {"mcpServers": servers, "sidecar": {"near": str(side), "far": str(apart)}}
    (bench.home / "config.json").write_text(json.dumps(config))
    _, found = await examined(bench, "--trust")
    told = [check["detail"] for check in found["checks"] if "an agent could replace" in check["detail"]]
    assert len(told) == 2, told
    assert ("near" in told[0], "mine" in told[1]) == (True, True)
