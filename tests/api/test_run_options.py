"""Every option of a run is taken by each door that should take it, recorded and restored."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from planck.cli.commands.run import add_options
from planck.cli.parser import Parser
from planck.cli.session import read_options as read_flags
from planck.client import RemoteSession
from planck.headless import Joining, Planck
from planck.records import codec
from planck.records.events import SessionStarted, view
from planck.records.outcome import PlanckError
from planck.records.specs import RECORDED, RunOptions, SharedOptions
from planck.testing import ScriptedProvider
from tests.api.bench import Served, serving
from tests.api.test_reopening import read_options
from tests.command import Bench
from tests.postgres import run_sql

EVERYWHERE: dict[str, Any] = {
    "team": "crew",
    "model": "local/m",
    "name": "tried",
    "mode": "plan",
    "max_budget_usd": 2.5,
    "max_steps": 7,
    "max_tokens": 9_000,
    "checks": ("make test",),
    "require_proof": True,
}
"""What every door takes."""
HERE: dict[str, Any] = {
    "dry_run": True,
    "agent": "critic",
    "system_prompt": "",
    "append_system_prompt": "Be brief.",
    "effort": "low",
    "fallback_model": "local/other",
    "allowed_tools": ("edit", "read"),
    "disallowed_tools": ("Bash(rm:*)",),
}
"""What the command line and the library alone take; a server takes `dry_run` too."""
IN_LOG = {
    **{name: EVERYWHERE[name] for name in RECORDED if name in EVERYWHERE},
    "checks": ["make test"],
    "dry_run": True,
}
"""What the log keeps of them; the budget in USD has another name there."""
FLAGS = {"mode": "permission_mode", "checks": "check"}
"""Flags with another name than their option."""
DIGEST = "9acbc870e3695aae81f02a14e9854be92b8cb8a4f7592df8814f650ef314ba51"
"""Of a submission, as the version before `max_tokens` made it."""


def make_flags(options: dict[str, Any]) -> list[str]:
    words: list[str] = []
    for name, value in options.items():
        flag = f"--{FLAGS.get(name, name).replace('_', '-')}"
        if value is True:
            words.append(flag)
        for one in value if isinstance(value, tuple) else () if value is True else (value,):
            words += [flag, str(one)]
    return words


def test_the_tables_of_this_test_have_every_option() -> None:
    assert {*EVERYWHERE} == {*SharedOptions.__struct_fields__}
    assert {*EVERYWHERE, *HERE} == {*RunOptions.__struct_fields__}


def test_every_option_is_a_flag_of_run() -> None:
    parser = Parser()
    add_options(parser)
    read = read_flags(parser.parse_args(make_flags({**EVERYWHERE, **HERE})))
    assert read == RunOptions(**EVERYWHERE, **HERE)
    assert read_flags(parser.parse_args([])) == RunOptions()


async def test_a_keyword_of_the_library_replaces_what_its_settings_say(tmp_path: Path) -> None:
    model = ScriptedProvider(lambda request: "yes")
    home, work = tmp_path / "home", tmp_path / "work"
    work.mkdir()
    async with Planck(home, work, environ={}, providers={"local": model}) as planck:
        settings = RunOptions(**{**EVERYWHERE, "team": ""})
        session = await planck.start(settings=settings, mode="ask", max_steps=9)
        (started,) = [view(event) for event in session.recorded() if event.type == SessionStarted.type]
        assert isinstance(started, SessionStarted)
        assert started.options is not None
        kept = started.options
        assert (kept.mode, kept.max_steps, kept.budget, kept.max_tokens) == ("ask", 9, 2.5, 9_000)
        for nothing in (0, -1):
            with pytest.raises(PlanckError, match="max_steps"):
                await planck.start(settings=settings, max_steps=nothing)


def make_team(folder: Path) -> None:
    team = folder / "home" / "teams" / "crew"
    team.mkdir(parents=True)
    (team / "TEAM.json").write_text(json.dumps({"name": "Crew", "members": [{"type": "orchestrator"}]}))


async def test_a_server_takes_records_and_restores_every_option(tmp_path: Path) -> None:
    make_team(tmp_path)
    async with serving(tmp_path) as server, server.client() as client:
        session = await client.start(**EVERYWHERE, dry_run=True)
        first = await session.ask("GET", "/events", type="session_started")
        started = codec.decode(first.splitlines()[0])["data"]
        assert (started["name"], started["team"]) == ("tried", "crew")
        assert (await session.ask("GET"))["model"] == "local/m"
        for options in (started["options"], await reopen(session)):
            assert options["budget"] == 2.5
            assert {name: options.get(name) for name in IN_LOG} == IN_LOG


async def reopen(session: RemoteSession) -> dict[str, Any]:
    await session.close()
    await session.ask("POST", "/open", {})
    return await read_options(session)


async def submit(server: Served, folder: Path, *words: str) -> str:
    bench = Bench(folder, "http://127.0.0.1:9")
    where = ("--server", server.url, "--token-file", str(server.token_file), "--json")
    done = await bench.run("submit", "go", "--repo", "https://git.example/r", *words, *where)
    assert done.code == 0, done.err
    return str(json.loads(done.out)["id"])


async def test_a_pool_takes_every_option_and_keeps_it_for_the_node_that_opens_the_session(
    tmp_path: Path, database: str
) -> None:
    make_team(tmp_path)
    (tmp_path / "user").mkdir()
    async with (
        serving(tmp_path, store=database, joining=Joining(name="north", work=0)) as server,
        server.client() as client,
    ):
        id = await submit(server, tmp_path / "user", *make_flags(EVERYWHERE))
        ((kept, name),) = run_sql(database, f"SELECT options, name FROM sessions WHERE id = '{id}'")
        row = msgspec.convert(codec.decode(str(kept)), RunOptions)
        assert (row, name) == (RunOptions(**{**EVERYWHERE, "name": ""}), "tried")
        session = await client.start(**{**EVERYWHERE, "name": "here"}, dry_run=True)
        of_each_run = {name: value for name, value in IN_LOG.items() if name != "max_tokens"}
        for options in (await read_options(session), await reopen(session)):
            assert options["session_budget"] == {"usd": 2.5, "tokens": 9_000}
            assert {name: options.get(name) for name in of_each_run} == of_each_run


async def test_a_task_that_an_earlier_version_took_is_known_by_its_key(tmp_path: Path, database: str) -> None:
    body = {"prompt": "go", "repo": "https://git.example/r", "need": ["gpu"], "max_steps": 3}
    async with serving(tmp_path, store=database, joining=Joining(name="north", work=0)) as server:
        key = {"Idempotency-Key": "k"}
        assert (await server.post("/api/v1/submissions", body, key)).status == 201
        ((kept,),) = run_sql(database, "SELECT options FROM sessions")
        assert codec.decode(str(kept))["digest"] == DIGEST
        other = await server.post("/api/v1/submissions", {**body, "max_tokens": 9_000}, key)
        assert (other.status, other.kind) == (409, "not_unique")
