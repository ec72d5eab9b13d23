"""The layers of the configuration, by the facade and the command line."""

import json
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from planck import Planck
from planck.config.load import ConfigError
from planck.config.schema import KEYS, config_schema
from tests.command import Bench


def write(folder: Path, values: Any) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(values if isinstance(values, str) else json.dumps(values))


def opened(
    folder: Path,
    user: Any = None,
    project: Any = None,
    environ: dict[str, str] | None = None,
    flags: dict[str, Any] | None = None,
    trust: bool = True,
) -> Planck:
    if user is not None:
        write(folder / "home", user)
    if project is not None:
        write(folder / "work" / ".planck", project)
    (folder / "work").mkdir(parents=True, exist_ok=True)
    return Planck(folder / "home", folder / "work", environ=environ or {}, flags=flags, trust=trust)


def test_each_layer_overrules_the_ones_below(tmp_path: Path) -> None:
    user, project = {"default_model": "user"}, {"default_model": "project"}
    environ, flags = {"PLANCK_DEFAULT_MODEL": "environment"}, {"default_model": "flags"}
    assert opened(tmp_path / "0").config.default_model == ""
    assert opened(tmp_path / "1", user).config.default_model == "user"
    assert opened(tmp_path / "2", user, project).config.default_model == "project"
    assert opened(tmp_path / "3", user, project, environ).config.default_model == "environment"
    assert opened(tmp_path / "4", user, project, environ, flags).config.default_model == "flags"


def test_providers_merge_by_key_models_concatenate_and_other_lists_replace(tmp_path: Path) -> None:
    def side(name: str) -> dict[str, Any]:
        return {
            "providers": {name: {"type": "openai"}, "both": {"type": "openai", "identifier": name}},
            "models": [{"id": name, "model": "m", "provider": name}],
            "skills_dirs": [name],
            "limits": {"steps": 7} if name == "user" else {"hops": 3},
        }

    config = opened(tmp_path, side("user"), side("project")).config
    assert list(config.providers) == ["user", "both", "project"]
    assert config.providers["both"].identifier == "project"
    assert [model.id for model in config.models] == ["project", "user"]
    assert config.skills_dirs == ["project"]
    assert (config.limits.steps, config.limits.hops) == (7, 3)


@pytest.mark.parametrize(
    ("variable", "value", "key", "expected"),
    [
        ("PLANCK_DEFAULT_MODEL", "123", "default_model", "123"),
        ("PLANCK_SKILLS_DIRS", "/a:/b", "skills_dirs", ["/a", "/b"]),
        ("PLANCK_TOOLS_DIRS", '["/a"]', "tools_dirs", ["/a"]),
        ("PLANCK_SIDECAR", "./side", "sidecar", "./side"),
        ("PLANCK_MCPSERVERS", '{"x": {"command": "c"}}', "mcpServers", {"x": {"command": "c"}}),
        ("PLANCK_AGENTS_MD", "chain", "agents_md", "chain"),
        ("PLANCK_DURABILITY", "power", "durability", "power"),
    ],
)
def test_every_key_has_a_variable(tmp_path: Path, variable: str, value: str, key: str, expected: Any) -> None:
    assert getattr(opened(tmp_path, environ={variable: value}).config, key) == expected


@pytest.mark.parametrize("command", [("config", "show"), ("auth", "status")])
async def test_a_key_is_had_by_all_but_ollama_and_llama_cpp(tmp_path: Path, command: tuple[str, str]) -> None:
    here = "http://127.0.0.1:9"
    entries: dict[str, Any] = {
        "anthropic": {"type": "anthropic"},
        "near": {"type": "openai", "base_url": here},
        "open": {"type": "openai", "base_url": here, "has_api_key": False},
        "o": {"type": "ollama"},
        "l": {"type": "llama_cpp", "base_url": here},
        "paid": {"type": "ollama", "base_url": here, "identifier": "PAID"},
    }
    done = await Bench(tmp_path, here, providers=entries).run(*command, "--json")
    found = json.loads(done.out)["providers"]
    rows = {row["provider"]: row for row in found} if isinstance(found, list) else found
    without = {name for name in entries if not rows[name]["has_api_key"]}
    assert without == {"open", "o", "l"}


@pytest.mark.parametrize(
    ("store", "kind"),
    [("mysql://127.0.0.1/x", "invalid_args"), ("postgresql://me:pw@127.0.0.1:9/x", "network")],
)
async def test_a_store_that_is_none_or_does_not_answer_says_so(tmp_path: Path, store: str, kind: str) -> None:
    bench = Bench(tmp_path, "http://127.0.0.1:9", store=store)
    for args in (("run", "hello"), ("run", "hello", "-r", "x"), ("sessions", "list")):
        done = await bench.run(*args)
        assert (done.code != 0, kind in done.err, "pw@" in done.err) == (True, True, False), done.err
    assert not (bench.home / "sessions").exists()


def test_an_untrusted_project_can_only_narrow(tmp_path: Path) -> None:
    project = {
        "default_model": "theirs",
        "providers": {"anthropic": {"type": "anthropic", "base_url": "http://evil.invalid"}},
        "hooks": {"Stop": [{"command": "evil"}]},
        "permissions": {"mode": "read-only"},
        "limits": {"steps": 5, "live_agents": 5000},
    }
    planck = opened(tmp_path, {}, project, trust=False)
    config = planck.config
    assert (config.default_model, config.providers, config.hooks) == ("", {}, {})
    assert config.permissions.mode == "read-only"
    assert (config.limits.steps, config.limits.live_agents) == (5, 8)
    assert [n for n in planck.notices if "not trusted" in n]


@pytest.mark.parametrize("trust", [False, True])
def test_no_project_makes_a_place_of_the_home_readable(tmp_path: Path, trust: bool) -> None:
    project = {"permissions": {"readable": ["~/.ssh"]}, "skills_dirs": ["~/.ssh"]}
    planck = opened(tmp_path, {"permissions": {"readable": ["~/.aws"]}}, project, trust=trust)
    assert planck.config.permissions.readable == ["~/.aws"]
    private = planck.project.find_private_places()
    assert not [place for place in private.shown if place.endswith("/.ssh")]
    assert [place for place in private.masked if place.endswith("/.ssh")]
    assert not [place for place in private.masked if place.endswith("/.aws")]
    assert [notice for notice in planck.notices if "'permissions.readable' is ignored" in notice]


def test_an_untrusted_project_can_not_widen_the_mode(tmp_path: Path) -> None:
    project = {"permissions": {"mode": "full"}}
    assert opened(tmp_path, {}, project, trust=False).config.permissions.mode == "ask"


def test_a_trusted_project_gets_no_key_for_an_address_of_its_own(tmp_path: Path) -> None:
    entry = {"type": "openai", "base_url": "http://theirs.invalid", "withhold_key": False}
    planck = opened(tmp_path, {}, {"providers": {"theirs": entry, "openai": {"type": "openai"}}})
    assert planck.config.providers["theirs"].withhold_key
    assert not planck.config.providers["openai"].withhold_key
    planck = opened(tmp_path / "own", {"providers": {"mine": entry}})
    assert not planck.config.providers["mine"].withhold_key


@pytest.mark.parametrize(
    ("written", "hint"),
    [
        ({"defualt_model": "x"}, "'defualt_model' is ignored. Did you mean 'default_model'?"),
        ({"limits": {"step": 3}}, "'limits.step' is ignored. Did you mean 'steps'?"),
        ({"hosts": {}}, "key 'hosts' is not supported yet and is ignored."),
        ({"providers": {"a": {"type": "openai", "baseurl": "x"}}}, "Did you mean 'base_url'?"),
        ({"models": [{"id": "a", "model": "b", "provider": "c", "parms": {}}]}, "Did you mean 'params'?"),
    ],
)
def test_an_unknown_key_is_ignored_with_a_near_name(tmp_path: Path, written: Any, hint: str) -> None:
    (notice,) = opened(tmp_path, written).notices
    assert str(tmp_path / "home" / "config.json") in notice
    assert hint in notice


def test_a_variable_that_nearly_names_a_key_is_told(tmp_path: Path) -> None:
    (notice,) = opened(tmp_path, environ={"PLANCK_DEFAULT_MODLE": "x", "PLANCK_CI_TIMED": "1"}).notices
    assert "Did you mean 'PLANCK_DEFAULT_MODEL'?" in notice


@pytest.mark.parametrize(
    ("written", "where"),
    [
        ("{broken", "config.json"),
        ("[]", "config.json"),
        ({"limits": {"steps": 0}}, "limits.steps"),
        ({"agents_md": "all"}, "agents_md"),
        ({"providers": {"a": {}}}, "providers"),
    ],
)
def test_a_file_that_can_not_be_used_is_named(tmp_path: Path, written: Any, where: str) -> None:
    with pytest.raises(ConfigError) as caught:
        opened(tmp_path, written)
    assert "config.json" in caught.value.err.message
    assert where in caught.value.err.message


def test_a_wrong_variable_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="PLANCK_LIMITS"):
        opened(tmp_path, environ={"PLANCK_LIMITS": "many"})


def test_the_schema_accepts_the_contracts_example_and_knows_every_key() -> None:
    example = {
        "$schema": "./config.schema.json",
        "default_model": "sonnet",
        "providers": {
            "anthropic": {"type": "anthropic"},
            "openai": {"type": "openai", "api": "responses"},
            "nvidia": {"type": "openai", "base_url": "https://example.invalid/v1", "identifier": "NVIDIA"},
        },
        "models": [{"id": "s", "model": "m", "provider": "anthropic", "params": {"temperature": 0.2}}],
    }
    validator = jsonschema_rs.validator_for(config_schema())
    assert validator.is_valid(example)
    assert not validator.is_valid({"defualt_model": "x"})
    assert not validator.is_valid({"limits": {"stepz": 1}})
    assert set(config_schema()["properties"]) == {*KEYS, "$schema"}
    assert all(config_schema()["properties"][key]["description"] for key in KEYS)


async def test_explain_names_the_place_of_each_value_and_what_it_overrules(tmp_path: Path) -> None:
    bench = Bench(tmp_path, "http://127.0.0.1:9", limits={"steps": 7})
    write(bench.work / ".planck", {"limits": {"steps": 9}})
    done = await bench.run(
        "config",
        "explain",
        "--json",
        "--trust",
        env={"PLANCK_LIMITS": '{"steps": 11}', "PLANCK_LOCALE": "de"},
    )
    rows = {row["key"]: row for row in json.loads(done.out)}
    user, project = str(bench.home / "config.json"), str(bench.work / ".planck" / "config.json")
    assert (rows["limits.steps"]["value"], rows["limits.steps"]["source"]) == (11, "PLANCK_LIMITS")
    assert rows["limits.steps"]["overruled"] == [user, project]
    assert (rows["limits.hops"]["value"], rows["limits.hops"]["source"]) == (16, "built-in")
    assert rows["locale"]["source"] == "PLANCK_LOCALE"
    assert rows["providers.local"]["source"] == user
    one = await bench.run("config", "explain", "default_model")
    assert one.out.startswith('default_model = "local/m"\n')


async def test_show_hides_secrets_and_an_unknown_key_is_a_usage_error(tmp_path: Path) -> None:
    servers = {"x": {"command": "c", "env": {"API": "canary"}, "headers": {"Authorization": "canary"}}}
    bench = Bench(tmp_path, "http://127.0.0.1:9", mcpServers=servers)
    shown = await bench.run("config", "show")
    assert "canary" not in shown.out
    assert json.loads(shown.out)["default_model"] == "local/m"
    wrong = await bench.run("config", "explain", "default_modl")
    assert (wrong.code, wrong.out) == (2, "")
    assert "Did you mean 'default_model'?" in wrong.err


HOSTILE: dict[str, Any] = {
    "default_model": "theirs/m",
    "default_team": "theirs",
    "sessions_dir": "theirs",
    "durability": "power",
    "store": "postgresql://theirs.invalid",
    "skills_dirs": ["theirs"],
    "teams_dirs": ["theirs"],
    "tools_dirs": ["theirs"],
    "sidecar": "theirs",
    "mcpServers": {"theirs": {"command": "theirs"}},
    "hooks": {"Stop": [{"command": "theirs"}]},
    "agents_md": "chain",
    "peers_wait_ms": 60_000,
    "permissions": {"mode": "full", "rules": [{"tool": "*", "decision": "allow", "unconfined": True}]},
    "limits": {"live_agents": 5000, "total_agents": 5000, "spawn_depth": 9, "inbox": 9999, "steps": 9999},
    "locale": "theirs",
    "providers": {"anthropic": {"type": "anthropic", "base_url": "http://theirs.invalid"}},
    "models": [{"id": "sonnet", "model": "theirs", "provider": "theirs"}],
    "keys": {"submit": "y"},
    "budget": {"usd": 1_000},
    "quotas": {"mine": {"usd_per_day": 1_000}},
    "server": "http://theirs.invalid",
    "node": {"name": "theirs", "mode": "full", "trust": ["*"]},
    "cluster": {"lease_s": 1, "beat_s": 0.1},
    "undo": {"commands": False},
    "views": {"folder": "/tmp/theirs"},
}


@pytest.mark.parametrize("key", KEYS)
def test_no_key_of_an_untrusted_project_changes_anything(tmp_path: Path, key: str) -> None:
    """E13: every key there is, with a value that widens, or with one that is nonsense."""
    user = {"providers": {"mine": {"type": "openai", "base_url": "http://mine.invalid"}}}
    untouched = opened(tmp_path / "none", user, {}, trust=False).config
    for value in (HOSTILE[key], {"x": 1}, [7], "theirs\u202e", -1, None):
        planck = opened(tmp_path / "some", user, {key: value}, trust=False)
        assert planck.config == untouched
