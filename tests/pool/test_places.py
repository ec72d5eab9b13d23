"""Which folders of a node are worked in, and whose files run there: only what the node's owner named."""

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from planck.config.load import ConfigError
from planck.config.private import private_places
from planck.config.schema import NodeEntry
from planck.headless import Project, ToolBox
from planck.headless.pool.places import Places, describe_source
from planck.records.outcome import ErrorKind, PlanckError
from tests.pool.nodes import make_repository


def places(tmp_path: Path, *accept: str, trust: tuple[str, ...] = (), own: Path | None = None) -> Places:
    for name in ("user/.planck/work/s1", "user/project", "shared"):
        (tmp_path / name).mkdir(parents=True, exist_ok=True)
    if not (tmp_path / "link").is_symlink():
        (tmp_path / "link").symlink_to(tmp_path / "user")
    terms = NodeEntry(accept=[*accept], trust=[*trust])
    return Places(tmp_path / "user" / ".planck", terms, environ(tmp_path), own=own)


def environ(tmp_path: Path) -> dict[str, str]:
    return {"HOME": str(tmp_path / "user"), "PATH": os.environ["PATH"]}


async def find_refusal(here: Places, workspace: dict[str, Any]) -> ErrorKind | None:
    try:
        await here.prepare("s2", workspace)
    except PlanckError as refused:
        return refused.err.kind
    return None


def describe_each_way(folder: str) -> list[dict[str, Any]]:
    """What a row may say of a folder: as this version writes it, and as any other may have."""
    kinds = [{"kind": "shared", "path": folder}, {"kind": "host", "path": folder, "node": "n"}]
    return [*kinds, *({"kind": "git", "repo": f"{sign}{folder}", "ref": ""} for sign in ("", "file://"))]


@pytest.mark.parametrize("name", ["user/.planck", "user/.planck/work/s1", "user", "link", "."])
async def test_a_shared_folder_is_not_the_home_of_the_node_s_user(tmp_path: Path, name: str) -> None:
    here, folder = places(tmp_path, "*"), str(tmp_path / name)
    for workspace in (describe_source(folder, ""), {"kind": "shared", "path": folder}):
        with pytest.raises(ConfigError) as refused:
            await here.prepare("s2", workspace)
        assert refused.value.err.kind is ErrorKind.PERMISSION_DENIED


@pytest.mark.parametrize("name", ["user/project", "shared"])
async def test_a_folder_is_shared_if_the_node_names_it_and_only_then(tmp_path: Path, name: str) -> None:
    folder = str(tmp_path / name)
    place = await places(tmp_path, folder).prepare("s2", describe_source(folder, ""))
    assert (place.folder, place.own) == (tmp_path / name, False)
    for workspace in describe_each_way(folder):
        assert await find_refusal(places(tmp_path), workspace) is ErrorKind.PERMISSION_DENIED


async def test_a_node_that_names_its_home_works_there(tmp_path: Path) -> None:
    here = places(tmp_path, str(tmp_path / "user"))
    place = await here.prepare("s2", describe_source(str(tmp_path / "user"), ""))
    assert place.folder == tmp_path / "user"


async def test_no_submission_reaches_a_private_place_even_if_it_is_accepted(tmp_path: Path) -> None:
    home = tmp_path / "user" / ".planck"
    opened = []
    masked = map(Path, private_places(home, environ(tmp_path)).masked)
    for place in (place for place in masked if place.is_relative_to(tmp_path)):
        (place / "below" / ".git").mkdir(parents=True, exist_ok=True)
        (tmp_path / "way").unlink(missing_ok=True)
        (tmp_path / "way").symlink_to(place)
        spelled = [str(place), f"{tmp_path}/shared/../way/below/"]
        here = places(tmp_path, "*", *spelled)
        for workspace in (way for folder in spelled for way in describe_each_way(folder)):
            if await find_refusal(here, workspace) is not ErrorKind.PERMISSION_DENIED:
                opened.append(workspace)
    assert opened == []


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_repository(tmp_path_factory.mktemp("plain") / "repo")


def point_at(plain: Path, repo: Path, way: str, target: Path) -> None:
    """Makes a repository that reads the git data of another one."""
    for folder in (repo, target):
        shutil.copytree(plain, folder)
    git = repo / ".git"
    if way == "commondir":
        (git / "commondir").write_text(f"{target}/.git\n")
    elif way == "alternates":
        (git / "objects" / "info" / "alternates").write_text(f"{target}/.git/objects\n")
    elif way in ("objects", "refs"):
        (git / way).rename(repo / "before")
        (git / way).symlink_to(target / ".git" / way)
    else:
        git.rename(repo / "before")
        git.symlink_to(target / ".git") if way == "link" else git.write_text(f"gitdir: {target}/.git\n")


@pytest.mark.parametrize("way", ["link", "file", "commondir", "alternates", "objects", "refs"])
async def test_an_accepted_repository_does_not_lead_to_a_private_one(
    tmp_path: Path, plain: Path, way: str
) -> None:
    here = places(tmp_path, f"{tmp_path}/ok")
    point_at(plain, tmp_path / "ok", way, tmp_path / "user" / ".password-store")
    found = await find_refusal(here, {"kind": "git", "repo": f"{tmp_path}/ok", "ref": ""})
    assert found is ErrorKind.PERMISSION_DENIED


@pytest.mark.parametrize("way", ["link", "file", "commondir"])
async def test_an_accepted_folder_does_not_lead_to_a_repository_that_is_not(
    tmp_path: Path, plain: Path, way: str
) -> None:
    point_at(plain, tmp_path / "ok", way, tmp_path / "other")
    workspace = {"kind": "git", "repo": f"{tmp_path}/ok", "ref": ""}
    here = places(tmp_path, f"{tmp_path}/ok")
    assert await find_refusal(here, workspace) is ErrorKind.PERMISSION_DENIED
    if way == "file":
        assert await find_refusal(places(tmp_path, f"{tmp_path}/ok", f"{tmp_path}/other"), workspace) is None


async def test_a_name_without_git_is_the_repository_that_it_stands_for(tmp_path: Path, plain: Path) -> None:
    shutil.copytree(plain, tmp_path / "shop.git")
    workspace = {"kind": "git", "repo": f"{tmp_path}/shop", "ref": ""}
    assert await find_refusal(places(tmp_path, f"{tmp_path}/shop"), workspace) is ErrorKind.PERMISSION_DENIED
    place = await places(tmp_path, f"{tmp_path}/shop.git").prepare("s2", workspace)
    assert (place.folder / "prices.py").exists()


BROKEN = ["no .git", "empty .git", "HEAD", "file", "file of a file", "link", "HEAD and objects"]


def break_repository(folder: Path, way: str) -> None:
    """Makes a folder that looks like a repository and is not one to git, which then tries other names."""
    folder.mkdir(parents=True)
    if way == "empty .git":
        (folder / ".git").mkdir()
    elif way == "HEAD":
        (folder / "HEAD").write_text("no")
    elif way == "HEAD and objects":
        (folder / "HEAD").write_text("ref: refs/heads/main")
        (folder / "objects").mkdir()
    elif way == "link":
        (folder / ".git").symlink_to("nowhere")
    elif way.startswith("file"):
        (folder / ".git").write_text("gitdir: nowhere\n" if way == "file" else "gitdir: other\n")
        (folder / "other").write_text("gitdir: .\n")


@pytest.mark.parametrize("way", BROKEN)
@pytest.mark.parametrize("beside", [".git", ".git/.git", "/.git/.git"])
async def test_git_is_never_left_to_guess_another_repository(
    tmp_path: Path, plain: Path, way: str, beside: str
) -> None:
    """Git looks for NAME/.git, NAME, NAME.git/.git and NAME.git, in this order."""
    name = tmp_path / "open" / "x"
    break_repository(name, way)
    private = tmp_path / "user" / ".planck" / "work" / "other"
    shutil.copytree(plain, private)
    found = Path(f"{name}{beside}")
    if beside == "/.git/.git":
        (found.parent.unlink if found.parent.is_file() or found.parent.is_symlink() else str)()
        found.parent.mkdir(exist_ok=True)
    elif beside == ".git/.git":
        found.parent.mkdir()
    found.symlink_to(private / ".git")
    for accept in (f"{tmp_path}/open/*", str(name)):
        workspace = {"kind": "git", "repo": str(name), "ref": ""}
        assert await find_refusal(places(tmp_path, accept), workspace) is not None
    assert not (tmp_path / "user" / ".planck" / "work" / "s2").exists()


async def test_a_repository_within_the_git_folder_is_not_cloned_instead(tmp_path: Path, plain: Path) -> None:
    shutil.copytree(plain / ".git", tmp_path / "shop.git")
    shutil.copytree(plain, tmp_path / "other")
    (tmp_path / "shop.git" / ".git").write_text(f"gitdir: {tmp_path}/other/.git\n")
    (tmp_path / "shop" / "nested").mkdir(parents=True)
    shutil.copytree(tmp_path / "shop.git", tmp_path / "shop" / ".git")
    for name in ("shop.git", "shop"):
        workspace = {"kind": "git", "repo": f"{tmp_path}/{name}", "ref": ""}
        here = places(tmp_path, f"{tmp_path}/{name}")
        assert await find_refusal(here, workspace) is ErrorKind.PERMISSION_DENIED


PARTS = [
    *("HEAD", "config", "packed-refs", "shallow", "refs", "refs/heads", "refs/heads/main", "refs/tags"),
    *("objects", "objects/pack", "objects/info", "objects/ab", "objects/ab/cdef", "objects/info/packs"),
    *("logs", "logs/refs/planck/s2", "worktrees/x/HEAD", "commondir", "info/grafts", "config.worktree"),
]


@pytest.mark.parametrize("bare", [False, pytest.param(True, marks=pytest.mark.heavy)])
@pytest.mark.parametrize("part", PARTS)
async def test_a_link_in_a_git_folder_is_refused(tmp_path: Path, plain: Path, part: str, bare: bool) -> None:
    data = tmp_path / "ok" if bare else tmp_path / "ok" / ".git"
    shutil.copytree(plain / ".git", data)
    (data / part).parent.mkdir(parents=True, exist_ok=True)
    if (data / part).exists():
        (data / part).rename(tmp_path / "before")
    (data / part).symlink_to(tmp_path / "before")
    with pytest.raises(PlanckError, match=r"link|not a repository") as refused:
        await places(tmp_path, f"{tmp_path}/*").prepare("s2", {"kind": "git", "repo": f"{tmp_path}/ok"})
    assert refused.value.err.kind in (ErrorKind.PERMISSION_DENIED, ErrorKind.NOT_FOUND)


@pytest.mark.parametrize(
    "written", ["{}\n", "# {}\n", '"{}"\n', "../../mid/objects\n", "#" * 70_000 + "\n{}\n", ""]
)
@pytest.mark.parametrize("way", ["folder", "worktree"])
async def test_a_repository_that_borrows_objects_is_refused(
    tmp_path: Path, plain: Path, written: str, way: str
) -> None:
    shutil.copytree(plain, tmp_path / "ok")
    if way == "worktree":
        git(tmp_path / "ok", "worktree", "add", "-q", "--detach", str(tmp_path / "side"))
    (tmp_path / "ok/.git/objects/info/alternates").write_text(written.format(f"{tmp_path}/mid/objects"))
    workspace = {"kind": "git", "repo": f"{tmp_path}/{'ok' if way == 'folder' else 'side'}"}
    with pytest.raises(ConfigError, match="git repack -a -d") as refused:
        await places(tmp_path, f"{tmp_path}/*").prepare("s2", workspace)
    assert refused.value.err.kind is ErrorKind.PERMISSION_DENIED


@pytest.mark.parametrize("written", ["{} ", " {}", "{}\t\n", "{}\0", "{}" + " " * 70_000])
async def test_a_common_folder_that_git_reads_differently_is_refused(
    tmp_path: Path, plain: Path, written: str
) -> None:
    """Git removes line breaks only from the end of what it reads there."""
    shutil.copytree(plain, tmp_path / "ok")
    (tmp_path / "ok" / ".git" / "commondir").write_text(written.format(f"{tmp_path}/ok/.git"))
    workspace = {"kind": "git", "repo": f"{tmp_path}/ok"}
    with pytest.raises(ConfigError, match="no Git repository"):
        await places(tmp_path, f"{tmp_path}/*").prepare("s2", workspace)


@pytest.mark.parametrize(
    "way",
    [
        "worktree",
        *(
            pytest.param(way, marks=pytest.mark.heavy)
            for way in ("folder", "git folder", "bare", "link", "file URL")
        ),
    ],
)
async def test_ordinary_repositories_are_cloned_and_put_on_record(
    tmp_path: Path, plain: Path, way: str
) -> None:
    repo, data = tmp_path / "a b=c%41", tmp_path / "a b=c%41" / ".git"
    shutil.copytree(plain, repo)
    (data / "hooks" / "pre-commit").unlink(missing_ok=True)
    (data / "hooks").mkdir(exist_ok=True)
    (data / "hooks" / "pre-commit").symlink_to("/nowhere")
    name = {"git folder": str(data), "file URL": f"file://{repo}".replace("%", "%25")}.get(way, str(repo))
    if way == "bare":
        data = data.rename(tmp_path / "bare.git")
        name = str(tmp_path / "bare")
    elif way == "worktree":
        name = str(tmp_path / "side")
        git(repo, "worktree", "add", "-q", "-b", "side", name)
    elif way == "link":
        data.rename(tmp_path / "elsewhere")
        data.symlink_to(tmp_path / "elsewhere")
    here = places(tmp_path, f"{tmp_path}/*")
    place = await here.prepare("s2", {"kind": "git", "repo": name, "ref": ""})
    assert place.clone
    (place.folder / "new.txt").write_text("new")
    made = await place.clone.put_on_record()
    assert made
    assert git(data, "rev-parse", "refs/planck/s2") == made.commit
    again = await here.prepare("s2", {"kind": "git", "repo": name, "ref": ""})
    assert again.record == made.commit


@pytest.mark.parametrize("when", ["before the start", "after the start"])
@pytest.mark.parametrize("way", ["link", "relative", "folder above", "chain"])
@pytest.mark.parametrize(
    "outer",
    ["{}", *(pytest.param(way, marks=pytest.mark.heavy) for way in ("{}/", "{}/../wor*", "*", "own"))],
)
async def test_a_link_that_agents_made_does_not_widen_the_list(
    tmp_path: Path, plain: Path, outer: str, way: str, when: str
) -> None:
    """Agents write in an accepted folder, and another entry of the list leads through that folder."""
    work, other, entry = tmp_path / "work", tmp_path / "user" / "other", tmp_path / "work" / "current"
    work.mkdir()
    shutil.copytree(plain, other)

    def put_link() -> None:
        target = {"relative": "../user", "chain": str(work / "more")}.get(way, str(tmp_path / "user"))
        entry.symlink_to(target)
        if way == "chain":
            (work / "more").symlink_to(tmp_path / "user")

    if when == "before the start":
        put_link()
    if way == "chain":
        (tmp_path / "first").symlink_to(entry)
    named = str({"folder above": entry / "other", "chain": tmp_path / "first"}.get(way, entry))
    own = work if outer == "own" else None
    listed = [named] if own else [outer.format(work), named]
    here = places(tmp_path, *listed, trust=(named, f"{named}/*"), own=own)
    if when == "after the start":
        put_link()
    accepted = outer == "*"  # then everything is, but for the home
    for workspace in ({"kind": "shared", "path": named}, {"kind": "git", "repo": named, "ref": ""}):
        if way == "folder above" and accepted:
            place = await here.prepare("s2", workspace)
            write_hook(place.folder, "true")
            assert not Project(tmp_path / "user/.planck", place.folder, environ(tmp_path)).trust.holds
        else:
            assert await find_refusal(here, workspace) is ErrorKind.PERMISSION_DENIED


@pytest.mark.parametrize("way", ["nested", "link beside", "link to a link", "pattern"])
async def test_links_and_nested_entries_of_the_owner_keep_their_meaning(tmp_path: Path, way: str) -> None:
    (tmp_path / "work" / "shop").mkdir(parents=True)
    (tmp_path / "alias").symlink_to(tmp_path / "work")
    (tmp_path / "again").symlink_to("alias")
    entry = {"nested": "work/shop", "link beside": "alias/shop", "link to a link": "again/shop"}.get(
        way, "alias/*"
    )
    here = places(tmp_path, f"{tmp_path}/work", f"{tmp_path}/{entry}")
    for name in ("work", "work/shop", "alias/shop"):
        place = await here.prepare("s2", {"kind": "shared", "path": f"{tmp_path}/{name}"})
        assert place.folder == (tmp_path / name).resolve()


async def test_an_entry_without_effect_is_said_at_the_start(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "current").symlink_to(tmp_path)
    places(tmp_path, f"{tmp_path}/work", f"{tmp_path}/work/current", "*git.internal/*")
    said = [record.getMessage() for record in caplog.records]
    assert [f"{tmp_path}/work/current" in said[0], "*git.internal/*" in said[1], len(said)] == [True, True, 2]


def git(folder: Path, *words: str) -> str:
    identity = ("-c", "user.name=a", "-c", "user.email=a@b")
    done = subprocess.run(["git", *identity, *words], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def write_hook(folder: Path, command: str) -> None:
    (folder / ".planck").mkdir(exist_ok=True)
    hook = {"PreToolUse": [{"hooks": [{"type": "command", "command": command}]}]}
    (folder / ".planck" / "config.json").write_text(json.dumps({"hooks": hook}))


@pytest.fixture(scope="module")
def refs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """A repository where each ref has a hook of its own; returns what may be submitted, by a name."""
    repo = make_repository(tmp_path_factory.mktemp("refs") / "repo")
    commits = {}
    for name in ("old", "main"):
        write_hook(repo, name)
        git(repo, "add", "-A")
        git(repo, "commit", "-qm", name)
        commits[name] = git(repo, "rev-parse", "HEAD")
    for name, ref in (
        ("side", "heads/side"),
        ("tag", "tags/v1"),
        ("pull", "pull/7/head"),
        ("kept", "planck/x"),
    ):
        git(repo, "checkout", "-q", "--detach", "main")
        write_hook(repo, name)
        git(repo, "commit", "-qam", name)
        commits[name] = git(repo, "rev-parse", "HEAD")
        git(repo, "update-ref", f"refs/{ref}", "HEAD")
    git(repo, "checkout", "-q", "main")
    git(repo, "config", "uploadpack.allowAnySHA1InWant", "true")
    return {
        "repo": str(repo),
        **{"default": "", "HEAD": "HEAD", "main": "main", "full main": "refs/heads/main"},
        **{"main's commit": commits["main"], "old commit": commits["old"], "old by name": "main@{1}"},
        **{"side": "side", "full side": "refs/heads/side", "remote side": "origin/side"},
        **{"tag": "v1", "full tag": "refs/tags/v1"},
        **{"pull": "refs/pull/7/head", "short pull": "pull/7/head", "pull's commit": commits["pull"]},
        **{"record": "refs/planck/x", "short pull's commit": commits["pull"][:12]},
    }


MAIN = {"default", "HEAD", "main", "full main", "main's commit"}


@pytest.mark.parametrize(
    ("entry", "trusted"),
    [
        ("", MAIN),
        ("#main", MAIN),
        ("#side", {"side", "full side", "remote side"}),
        ("#refs/tags/*", {"tag", "full tag"}),
    ],
)
@pytest.mark.heavy
async def test_trust_for_a_repository_is_for_the_refs_that_are_named(
    tmp_path: Path, refs: dict[str, str], entry: str, trusted: set[str]
) -> None:
    names = {name for name in refs if name != "repo"}
    assert await find_trusted(tmp_path, refs, entry, names) == trusted


@pytest.mark.parametrize(("entry", "trusted"), [("", {"default"}), ("#side", {"side"})])
async def test_trust_for_a_repository_covers_no_pull_request(
    tmp_path: Path, refs: dict[str, str], entry: str, trusted: set[str]
) -> None:
    names = {"pull", "old commit", *trusted}
    assert await find_trusted(tmp_path, refs, entry, names) == trusted


async def find_trusted(tmp_path: Path, refs: dict[str, str], entry: str, names: set[str]) -> set[str]:
    repo, home = refs["repo"], tmp_path / "user" / ".planck"
    here = places(tmp_path, repo, trust=(f"{repo}{entry}",))
    found = set()
    for number, name in enumerate(sorted(names)):
        workspace = {"kind": "git", "repo": repo, "ref": refs[name]}
        try:
            place = await here.prepare(f"s{number}", workspace)
        except PlanckError:
            continue  # the ref does not exist
        project = Project(home, place.folder, environ(tmp_path))
        found |= {name} if project.trust.holds else set()
        assert bool(project.config.hooks) is project.trust.holds
    return found


async def test_trust_for_a_clone_ends_with_a_change_and_with_the_entry(
    tmp_path: Path, refs: dict[str, str]
) -> None:
    repo = refs["repo"]
    workspace = {"kind": "git", "repo": repo, "ref": ""}
    home = tmp_path / "user" / ".planck"

    async def holds(session: str, *trust: str) -> bool:
        place = await places(tmp_path, repo, trust=trust).prepare(session, workspace)
        return Project(home, place.folder, environ(tmp_path)).trust.holds

    assert await holds("one", repo)
    write_hook(home / "work" / "one", "what an agent wrote")
    assert not await holds("one", repo), "a folder that is taken up again is examined"
    assert await holds("two", repo)
    assert not await holds("two"), "the node no longer names it"


async def test_a_record_that_brings_other_files_is_not_trusted(tmp_path: Path, refs: dict[str, str]) -> None:
    repo = refs["repo"]
    here = places(tmp_path, repo, trust=(repo,))
    place = await here.prepare("x", {"kind": "git", "repo": repo, "ref": ""})
    assert "kept" in (place.folder / ".planck" / "config.json").read_text()
    assert not Project(tmp_path / "user" / ".planck", place.folder, environ(tmp_path)).trust.holds


async def test_tools_and_teams_of_a_clone_run_nothing_until_the_clone_is_trusted(
    tmp_path: Path, refs: dict[str, str]
) -> None:
    """Clones lie in Planck's home, whose own files are the user's word: those of a clone are not."""
    repo, home = refs["repo"], tmp_path / "user" / ".planck"
    place = await places(tmp_path, repo).prepare("s1", {"kind": "git", "repo": repo, "ref": ""})
    project = Project(home, place.folder, environ(tmp_path))
    assert "not trusted" in project.doubt(place.folder / ".planck" / "teams" / "t" / "TEAM.json")
    assert project.doubt(home / "teams" / "t" / "TEAM.json") == ""
    tool = place.folder / ".planck" / "tools" / "mine" / "TOOL.json"
    tool.parent.mkdir(parents=True)
    tool.write_text('{"name": "mine", "description": "A tool.", "command": "true", "parameters": {}}')
    inventory = ToolBox(project).inventory()
    assert [row.trusted for row in inventory.entries if row.tool.name == "mine"] == [False], inventory
    assert {".planck/config.json", ".planck/tools/mine/TOOL.json"} == {
        *project.trust.examine().content.hashes
    }


@pytest.mark.parametrize("kind", ["shared", "host"])
async def test_a_folder_is_trusted_by_a_look_at_its_files_only(tmp_path: Path, kind: str) -> None:
    folder = tmp_path / "shared"
    here = places(tmp_path, str(folder), trust=(str(folder), "*"), own=folder)
    write_hook(folder, "true")
    place = await here.prepare("s2", {"kind": kind, "path": str(folder), "node": "n"})
    project = Project(tmp_path / "user" / ".planck", place.folder, environ(tmp_path))
    assert (place.own, project.trust.holds) == (kind == "host", False)
    project.trust.give(project.trust.examine().content)
    assert project.trust.holds
