"""Homes that 67eafc8 made open, resume, export and verify: see README.md in this folder."""

import hashlib
import json
import sqlite3
import tarfile
from collections.abc import Callable
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from planck import Planck
from planck.cli.main import main
from planck.records.events import view
from planck.testing import ScriptedProvider
from tests.command import Bench, Done
from tests.old import make
from tests.terminal import on_terminal

HOMES, EXPORTS = Path(__file__).parent / "homes", Path(__file__).parent / "exports"
THEN: dict[str, Any] = {file.stem: json.loads(file.read_text()) for file in HOMES.glob("*.json")}
"""What 67eafc8 saw of each home."""
SESSIONS = [(home, name) for home, seen in sorted(THEN.items()) for name in seen["sessions"]]
NO_SIDECAR = {"PLANCK_SIDECAR": "{}"}
"""One takes longer to start than all else: the one of `settings` is started once, further below."""
RESUMED = [(home, name) for home, name in SESSIONS if home != "settings"]
CHANGED = [(home, name) for home, name in SESSIONS if "undone" in THEN[home]["sessions"][name]]

each_home = pytest.mark.parametrize("home", sorted(THEN))
each_session = pytest.mark.parametrize(("home", "name"), SESSIONS)


def unpack(home: str, folder: Path) -> Path:
    """Returns a copy of a home with its workspace beside it, as if both had always been there."""
    with tarfile.open(HOMES / f"{home}.tar.gz") as tar:
        tar.extractall(folder, filter="tar")
    make.move(folder / home, home)
    return folder / home


@pytest.fixture(scope="module")
def read_only(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Copies that the tests of this module share, for those that only read."""
    return cache(lambda home: unpack(home, tmp_path_factory.mktemp("old")))


def open_home(folder: Path, provider: ScriptedProvider | None = None, **environ: str) -> Planck:
    return make.open_planck(folder, provider or ScriptedProvider([]), **environ)


def id_of(home: str, name: str) -> str:
    return str(THEN[home]["sessions"][name]["info"]["id"])


class OldBench(Bench):
    """The command line in an old home."""

    def __init__(self, folder: Path) -> None:
        self.home, self.work = folder / "home", folder / "work"

    async def plain(self, *words: str) -> Done:
        return await self.run(*words, env=make.environment(self.home.parent))


class Here:
    """The same within this process, which takes a tenth of the time."""

    def __init__(self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
        self._capsys = capsys
        self._patch = monkeypatch

    def run(self, folder: Path, *words: str) -> Done:
        for name, value in {**make.environment(folder), "PLANCK_HOME": str(folder / "home")}.items():
            self._patch.setenv(name, value)
        self._patch.chdir(folder / "work")
        code = main(words)
        return Done(code, *self._capsys.readouterr())

    def json(self, folder: Path, *words: str) -> Any:
        done = self.run(folder, *words)
        assert (done.code, done.err) == (0, "")
        return json.loads(done.out)


@pytest.fixture
def here(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Here:
    return Here(capsys, monkeypatch)


def find_loss(old: Any, new: Any, path: str = "") -> str:
    """Says where something old is gone or is another; empty: there is only more."""
    if isinstance(old, dict) and isinstance(new, dict):
        losses = (find_loss(value, new.get(key), f"{path}.{key}") for key, value in old.items())
        return next(filter(None, losses), "")
    return "" if old == new else f"{path}: {old!r} is {new!r} now"


@each_home
def test_every_session_is_listed(home: str, read_only: Callable[[str], Path], here: Here) -> None:
    rows = here.json(read_only(home), "sessions", "list", "--all", "--json")
    assert {row["name"]: row["id"] for row in rows} == {
        name: seen["info"]["id"] for name, seen in THEN[home]["sessions"].items()
    }
    assert [row["problem"] for row in rows] == [""] * len(rows)


@each_session
async def test_a_session_reads_as_it_did(home: str, name: str, read_only: Callable[[str], Path]) -> None:
    """Without a writer: its row, agents, costs, hash chain, and every byte of its export."""
    async with open_home(read_only(home)) as planck:
        seen = make.look_at(planck, id_of(home, name))
        unknown = [event.type for event in planck.archive.recorded(id_of(home, name)) if view(event) is None]
    then = {key: THEN[home]["sessions"][name][key] for key in seen}
    assert find_loss(then, seen) == ""
    assert unknown == []


@each_session
async def test_a_session_is_exported_in_every_format_and_verified(
    home: str, name: str, read_only: Callable[[str], Path], tmp_path: Path
) -> None:
    id, then = id_of(home, name), THEN[home]["sessions"][name]
    async with open_home(read_only(home)) as planck:
        page = "".join(planck.archive.render_markdown(id))
        (tmp_path / "page.html").write_bytes(planck.export_page(id, with_log=True))
        proof = planck.verify_page(tmp_path / "page.html")
    assert then["info"]["first_prompt"] in page
    assert then["last_text"] in page
    assert proof.by == ("log", "session")
    assert (proof.events, proof.hash) == (then["verified"]["events"], then["verified"]["hash"])


@pytest.mark.parametrize(("home", "name"), RESUMED)
async def test_a_session_resumes_and_runs_a_turn(home: str, name: str, tmp_path: Path) -> None:
    folder, id = unpack(home, tmp_path), id_of(home, name)
    then = THEN[home]["sessions"][name]
    provider = ScriptedProvider(lambda request: "On we go.")
    async with open_home(folder, provider, **NO_SIDECAR) as planck:
        before = [*planck.archive.events(id)][: then["verified"]["events"]]
        assert find_loss(then["resumed"], await make.go_on(planck, id, provider)) == ""
        assert planck.archive.verify_session(id).events > then["verified"]["events"]
        assert [*planck.archive.events(id)][: then["verified"]["events"]] == before


@pytest.mark.parametrize(("home", "name"), RESUMED)
async def test_a_session_is_forked_and_the_fork_runs_a_turn(home: str, name: str, tmp_path: Path) -> None:
    folder, id = unpack(home, tmp_path), id_of(home, name)
    middle = THEN[home]["sessions"][name]["verified"]["events"] // 2
    provider = ScriptedProvider(lambda request: "Another way.")
    async with open_home(folder, provider, **NO_SIDECAR) as planck:
        forked = await planck.archive.fork(id, at=middle, name="another-way")
        assert (forked.parent, forked.forked_at) == (id, middle)
        result = await (await planck.resume(forked.id)).run("Go another way.")
        assert (result.status, result.text) == ("completed", "Another way.")
        planck.archive.verify_session(forked.id)


@pytest.mark.parametrize(("home", "name"), CHANGED)
def test_undo_restores_the_same_files(home: str, name: str, tmp_path: Path, here: Here) -> None:
    folder = unpack(home, tmp_path)
    here.run(folder, "undo", "-r", id_of(home, name), "-y")
    assert make.list_files(folder / "work") == THEN[home]["sessions"][name]["undone"]


async def test_a_session_is_found_by_its_name_and_exported_as_its_own_version_did(tmp_path: Path) -> None:
    bench = OldBench(unpack("solo", tmp_path))
    exported = (await bench.plain("sessions", "export", "edits")).out.splitlines()
    then = (EXPORTS / "edits.ndjson").read_text().splitlines()
    assert exported[:-1] == then[:-1]  # the last line says which workspace it is of
    assert (await bench.plain("sessions", "verify", "edits")).code == 0


def test_an_end_that_was_cut_off_a_log_is_noticed(tmp_path: Path, here: Here) -> None:
    folder, id = unpack("solo", tmp_path), id_of("solo", "edits")
    with closing(sqlite3.connect(folder / "home" / "sessions" / f"{id}_edits.db")) as db, db:
        db.execute("DELETE FROM events WHERE seq > 40")
    done = here.run(folder, "sessions", "verify", id)
    assert done.code == 1
    assert "corrupt_log_line" in done.err


@pytest.mark.parametrize("file", ["edits.ndjson", "imported.ndjson"])
def test_an_exported_file_is_imported_byte_for_byte(file: str, tmp_path: Path, here: Here) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "work").mkdir()
    assert here.run(tmp_path, "sessions", "import", str(EXPORTS / file)).code == 0
    again = here.run(tmp_path, "sessions", "export", id_of("solo", file.removesuffix(".ndjson")))
    assert again.out == (EXPORTS / file).read_text()


def test_a_page_of_another_version_is_not_proven_and_says_why(tmp_path: Path, here: Here) -> None:
    """Its own version proves it; another one has another page, and can't make the same bytes."""
    done = here.run(unpack("solo", tmp_path), "sessions", "verify", str(EXPORTS / "edits.html"))
    assert done.code == 1
    assert "its script or styles were changed, or the file was made by another version of Planck" in done.err
    assert "another version of Planck (the file says 0.1.0)" in done.err


async def test_an_output_that_was_too_long_and_an_image_are_still_there(tmp_path: Path) -> None:
    folder, id = unpack("solo", tmp_path), id_of("solo", "long-output")
    provider = ScriptedProvider(lambda request: "Seen.")
    async with open_home(folder, provider) as planck:
        events = [json.loads(line) for line in planck.archive.events(id)]
        ends = {one["data"]["name"]: one["data"] for one in events if one["type"] == "tool_end"}
        output = planck.find_output(id, ends["bash"]["id"])
        assert output is not None
        assert output.read_text().splitlines()[-1] == "9000"
        await (await planck.resume(id)).run("And now?")
    shown = str(make.plain(provider.asked[-1].messages))
    assert ends["read"]["images"][0]["data"] in shown


@each_home
async def test_a_configuration_loads_with_its_values_and_without_a_new_notice(
    home: str, read_only: Callable[[str], Path]
) -> None:
    async with open_home(read_only(home)) as planck:
        assert set(planck.notices) <= set(THEN[home]["notices"])
        assert planck.trust.state.trusted is THEN[home]["trusted"]


@pytest.mark.parametrize(
    ("home", "kind"),
    [
        ("solo", "tools"),
        *((home, kind) for home in ("settings", "folders") for kind in make.SETTINGS if kind != "tools"),
    ],
)
def test_a_command_says_the_same_of_the_files_of_a_home(
    home: str, kind: str, read_only: Callable[[str], Path], here: Here
) -> None:
    """Keys, tools, skills, teams, servers, and where each credential comes from."""
    folder = read_only(home)
    words, brief = make.SETTINGS[kind]
    said = json.dumps(brief(here.json(folder, *words)))
    now = json.loads(said.replace(str(folder), str(make.ROOT / home)))
    assert find_loss(THEN[home]["said"][kind], now) == ""


@pytest.mark.parametrize(
    ("home", "call"), [(home, call) for home, calls in make.CALLS.items() for call in calls]
)
def test_a_rule_decides_as_it_did(home: str, call: str, read_only: Callable[[str], Path], here: Here) -> None:
    """Also the one that the user approved for good: `mkdir made` in the home of the team."""
    explained = here.json(read_only(home), *make.explain(call))
    assert explained["decision"] == THEN[home]["decisions"][call]


@pytest.mark.parametrize("home", ["team", "settings", "folders"])
async def test_a_team_of_the_user_is_checked_as_it_was(home: str, read_only: Callable[[str], Path]) -> None:
    async with open_home(read_only(home)) as planck:
        assert set(await planck.check_team("crew")) <= set(THEN[home]["problems"])


async def test_a_team_starts_with_the_members_that_its_file_describes(tmp_path: Path) -> None:
    """As 67eafc8 recorded them; ids are new, and Planck's own prompt and the folders may be others."""
    own = ("id", "delegator_id", "base", "authority")
    async with open_home(unpack("team", tmp_path)) as planck:
        events = [json.loads(line) for line in planck.archive.events(id_of("team", "crew-at-work"))]
        session = await planck.start("crew")
        members = [make.plain(spec) for spec in session.members]
    started = [one["data"]["agent"] for one in events if one["type"] == "agent_started"]
    then = [{key: value for key, value in spec.items() if key not in own} for spec in started]
    assert [find_loss(old, new) for old, new in zip(then, members, strict=False)] == [""] * len(members)
    assert [spec["name"] for spec in members] == ["lead", "bob", "tess"]


async def test_a_trusted_folder_is_trusted_until_a_file_changes(tmp_path: Path) -> None:
    folder = unpack("settings", tmp_path)
    with (folder / "work/.planck/hooks/check.sh").open("a") as file:
        file.write("exit 1\n")
    async with open_home(folder) as planck:
        assert not planck.trust.state.trusted
        assert planck.trust.state.changed == (".planck/hooks/check.sh",)


async def test_tools_sidecar_skills_agents_and_hooks_of_an_old_folder_work(tmp_path: Path) -> None:
    folder, id = unpack("settings", tmp_path), id_of("settings", "tooled")
    (folder / "hook.log").unlink()
    (kept,) = (folder / "home" / "listings").iterdir()
    listed = json.loads(kept.read_bytes())["tools"]
    config = folder / "home" / "config.json"
    config.write_text(json.dumps({**json.loads(config.read_text()), "default_team": ""}))
    provider = ScriptedProvider(make.speak({"orchestrator": ["On we go.", *make.use_every_tool()]}))
    async with open_home(folder, provider) as planck:
        resumed = await make.go_on(planck, id, provider)
        session = await planck.start(mode="full")
        result = await session.run("Use every tool.")
        events = [json.loads(line) for line in planck.archive.events(session.id)]
    assert find_loss(THEN["settings"]["sessions"]["tooled"]["resumed"], resumed) == ""
    ends = {one["data"]["name"]: one["data"]["ok"] for one in events if one["type"] == "tool_end"}
    assert ends == dict.fromkeys(("count_words", "longest", "load_skill", "bash", "spawn_agent"), True)
    assert result.text == f"Used all of it; the keys are {', '.join(['[redacted]'] * len(make.SECRETS))}."
    assert json.loads((folder / "hook.log").read_text().splitlines()[0])["tool_name"] == "Bash"
    where = ["sidecar", "sidecar", str(folder / "work/.planck/sidecar")]
    key = hashlib.sha256(json.dumps(where, separators=(",", ":")).encode()).hexdigest()[:32]
    now = json.loads((folder / "home" / "listings" / f"{key}.json").read_bytes())
    assert now["tools"] == listed


def test_a_sign_in_at_a_server_is_known_and_can_be_ended(tmp_path: Path, here: Here) -> None:
    folder = unpack("settings", tmp_path)
    assert make.TOKEN in (folder / "home" / "mcp-auth.json").read_text()
    assert here.run(folder, "mcp", "logout", "search").code == 0
    assert make.TOKEN not in (folder / "home" / "mcp-auth.json").read_text()


async def test_a_quota_counts_on_in_the_same_file(tmp_path: Path) -> None:
    folder, id = unpack("team", tmp_path), id_of("team", "crew-at-work")

    def read_days() -> dict[str, tuple[int, int]]:
        with closing(sqlite3.connect(folder / "home" / "quotas.db")) as db:
            rows = db.execute("SELECT day, micro_usd, tokens FROM days WHERE provider = 'double'")
            return {day: (usd, tokens) for day, usd, tokens in rows}

    before = read_days()
    async with open_home(folder, ScriptedProvider(lambda request: "On we go.")) as planck:
        await (await planck.resume(id)).run("Go on.")
    after = read_days()
    assert before.keys() <= after.keys()
    assert sum(tokens for _, tokens in after.values()) == sum(tokens for _, tokens in before.values()) + 15


async def test_what_was_typed_is_found_again_by_the_keys_of_the_configuration(tmp_path: Path) -> None:
    folder = unpack("settings", tmp_path)
    (tmp_path / "elsewhere" / "src").mkdir(parents=True)
    run = await on_terminal(home=folder / "home", work=tmp_path / "elsewhere")
    await run.until("? keys")
    for line in reversed(make.TYPED):
        run.type("\x10")
        shown = "> " + line.replace("\n", "\n  ")
        await run.until_seen(lambda rows, shown=shown: shown in "\n".join(rows))  # type: ignore[misc]
    run.process.terminate()
    await run.end()
