import json
from pathlib import Path

import pytest

from tests.command import Bench
from tests.wire import chat
from tests.wire.server import WireServer


async def test_a_new_team_is_listed_checked_and_runs(tmp_path: Path) -> None:
    async with WireServer([chat.text("the team says hello")]) as server:
        bench = Bench(tmp_path, server.url)
        made = await bench.run("teams", "new", "crew", "-m", "local/m")
        listed = await bench.run("teams", "list", "--json")
        checked = await bench.run("teams", "check", "crew")
        ran = await bench.run("run", "hello", "--team", "crew", "--output-format", "json")
    assert (made.code, checked.code, ran.code) == (0, 0, 0)
    (row,) = json.loads(listed.out)
    assert (row["alias"], row["members"]) == ("crew", ["orchestrator", "builder", "tester"])
    assert ran.result["text"] == "the team says hello"
    again = await bench.run("teams", "new", "crew", "-m", "local/m")
    assert (again.code, "not_unique" in again.err) == (2, True)


async def test_a_model_that_is_named_is_for_the_teams_orchestrator(tmp_path: Path) -> None:
    async with WireServer([chat.text("hello")]) as server:
        bench = Bench(tmp_path, server.url)
        await bench.run("teams", "new", "crew", "-m", "local/m")
        ran = await bench.run(
            "run", "hi", "--team", "crew", "-m", "local/mine", "--output-format", "stream-json"
        )
    models = [
        line["data"]["agent"]["model"]["model"] for line in ran.lines if line["type"] == "agent_started"
    ]
    assert (models, server.asked[-1].json["model"]) == (["mine", "m", "m"], "mine")


async def test_check_names_everything_that_would_go_wrong(tmp_path: Path) -> None:
    bench = Bench(tmp_path, "http://127.0.0.1:9")
    folder = bench.work / ".planck" / "teams" / "odd"
    folder.mkdir(parents=True)
    model = {"provider": "local", "model_id": "m"}
    (folder / "TEAM.json").write_text(
        json.dumps(
            {
                "name": "odd",
                "members": [
                    {"type": "worker", "tools": ["raed"], "skills": ["nothing"], **model},
                    {"type": "worker", "provider": "nowhere", "model_id": "m"},
                    {"type": "reader", "system_prompt": "missing.md", **model},
                    {"type": "thief", "system_prompt": "../../../../etc/passwd.txt", **model},
                    {"type": "windy", "system_prompt": "x" * 600_000, **model},
                    {"type": "hasty", "host": "x", "roots": ["src"], "budgte": {}, **model},
                    {"type": "split", "name": "a\nb", **model},
                ],
            }
        )
    )
    done = await bench.run("teams", "check", "odd", "--json")
    problems = "\n".join(json.loads(done.out)["problems"])
    assert done.code == 1
    for expected in (
        "Exactly one member must have type 'orchestrator', not 0.",
        "Two members are named 'worker'.",
        "unknown tool 'raed'. Did you mean 'read'?",
        "unknown skill 'nothing'",
        "Unknown provider: nowhere.",
        "Cannot read the prompt 'missing.md'",
        "is outside",
        "does not fit",
        "hasty: `host` is not supported yet and has no effect.",
        "hasty: root 'src' must be an existing folder in the workspace",
        "hasty: unknown key 'budgte'. Did you mean 'budget'?",
        "'a\\nb': a name must have 1 to 64 printable characters",
    ):
        assert expected in problems


async def test_what_a_team_asks_for_and_does_not_get_is_said_and_comments_are_no_mistake(
    tmp_path: Path,
) -> None:
    async with WireServer([chat.text("ok")]) as server:
        bench = Bench(tmp_path, server.url)
        (bench.home / "teams" / "solo").mkdir(parents=True)
        (bench.home / "teams" / "solo" / "TEAM.json").write_text(
            '{"members": [{"type": "orchestrator"}, /* later */ {"type": "w", "host": "x",},]}'
        )
        done = await bench.run("run", "hi", "--team", "solo")
    assert (done.code, done.out) == (0, "ok\n")
    assert "w: `host` is not supported yet and has no effect." in done.err


@pytest.mark.parametrize("text", ['{"members": [1]}', '{"members": ["x"]}', '{"members": [{}]}', "[]", "{"])
async def test_a_run_with_a_file_that_is_no_team_says_what_is_wrong_with_it(
    tmp_path: Path, text: str
) -> None:
    bench = Bench(tmp_path, "http://127.0.0.1:9")
    (bench.home / "teams" / "odd").mkdir(parents=True)
    (bench.home / "teams" / "odd" / "TEAM.json").write_text(text)
    done = await bench.run("run", "hi", "--team", "odd")
    assert (done.code, "invalid_args" in done.err, "Traceback" in done.err) == (2, True, False)


async def test_a_team_file_that_is_no_text_is_named(tmp_path: Path) -> None:
    bench = Bench(tmp_path, "http://127.0.0.1:9")
    (bench.home / "teams" / "odd").mkdir(parents=True)
    file = bench.home / "teams" / "odd" / "TEAM.json"
    for content in (b'{"name": "\xff", "members": []}', b'{"name": ' + b"[" * 99_999):
        file.write_bytes(content)
        done = await bench.run("run", "hi", "--team", "odd")
        assert (done.code, done.err.count("\n")) == (2, 1), done.err
        assert (done.error_kind, done.err.startswith(f"error: {file} is not a valid team file: ")) == (
            "invalid_args",
            True,
        )


async def test_a_team_that_is_not_there_is_a_clear_error(tmp_path: Path) -> None:
    bench = Bench(tmp_path, "http://127.0.0.1:9")
    done = await bench.run("run", "hello", "--team", "nobody")
    assert (done.error_kind, "'nobody'" in done.err) == ("not_found", True)
    assert done.code == 2


async def test_prompts_in_files_are_read_from_the_teams_folder(tmp_path: Path) -> None:
    async with WireServer([chat.text("ok")]) as server:
        bench = Bench(tmp_path, server.url)
        folder = bench.home / "teams" / "solo"
        (folder / "prompts").mkdir(parents=True)
        (folder / "prompts" / "lead.md").write_text("Speak like a sailor.\n")
        member = {
            "type": "orchestrator",
            "provider": "local",
            "model_id": "m",
            "system_prompt": "prompts/lead.md",
        }
        (folder / "TEAM.json").write_text(json.dumps({"name": "solo", "members": [member]}))
        done = await bench.run("run", "hello", "--team", "solo")
    assert done.code == 0
    assert "Speak like a sailor." in server.asked[0].json["messages"][0]["content"]


async def test_a_team_of_an_untrusted_folder_sets_no_address(tmp_path: Path) -> None:
    async with WireServer([chat.text("caught")]) as server:
        bench = Bench(tmp_path, "http://127.0.0.1:9")
        folder = bench.work / ".planck" / "teams" / "trap"
        folder.mkdir(parents=True)
        member = {"type": "orchestrator", "provider": "llama_cpp", "model_id": "m", "base_url": server.url}
        (folder / "TEAM.json").write_text(json.dumps({"name": "trap", "members": [member]}))
        refused = await bench.run("run", "hello", "--team", "trap")
        asked = len(server.asked)
        trusted = await bench.run("run", "hello", "--team", "trap", "--trust")
    assert (refused.code, asked) == (3, 0)
    assert refused.err.endswith(" [permission_denied]\n")
    assert (trusted.code, trusted.out) == (0, "caught\n")


async def test_the_default_team_works_where_none_is_named(tmp_path: Path) -> None:
    async with WireServer([chat.text("I am Ada.")]) as server:
        bench = Bench(tmp_path, server.url, default_team="mine")
        folder = bench.home / "teams" / "mine"
        folder.mkdir(parents=True)
        lead = {"type": "orchestrator", "name": "Ada", "provider": "local", "model_id": "m"}
        (folder / "TEAM.json").write_text(
            json.dumps({"members": [{**lead, "system_prompt": "You are Ada."}]})
        )
        done = await bench.run("run", "who?", "--output-format", "stream-json")
    assert done.code == 0, done.err
    assert [agent["name"] for agent in done.lines[0]["data"]["agents"]] == ["Ada"]
    assert "You are Ada." in server.asked[0].json["messages"][0]["content"]
