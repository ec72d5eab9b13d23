"""Checkouts of work that was handed in: cloned, put on record, and found again on another node."""

import os
import shutil
import subprocess
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from planck.records.outcome import ErrorKind
from planck.workspace.git.clones import Clone, CloneError

ENVIRONMENT = {"PATH": os.environ["PATH"], "HOME": "/nonexistent"}


def git(folder: Path, *words: str) -> str:
    identity = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main")
    done = subprocess.run(
        ["git", *identity, *words], cwd=folder, env=ENVIRONMENT, check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    folder = tmp_path / "repo"
    folder.mkdir()
    git(folder, "init", "-q")
    (folder / "a.txt").write_text("one\n")
    (folder / "gone.txt").write_text("here\n")
    (folder / ".gitignore").write_text("*.log\n")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "first")
    git(folder, "branch", "side")
    return folder


def clone(tmp_path: Path, repo: Path, node: str, id: str = "s1") -> Clone:
    return Clone(tmp_path / node / id, str(repo), id, ENVIRONMENT)


async def test_what_lay_in_the_folder_is_there_on_another_node(tmp_path: Path, repo: Path) -> None:
    first = clone(tmp_path, repo, "north")
    assert await first.prepare() == ""
    (first.folder / "a.txt").write_text("two\n")
    (first.folder / "new.txt").write_text("new\n")
    (first.folder / "x.log").write_text("noise\n")
    (first.folder / "gone.txt").unlink()
    made = await first.put_on_record()
    assert made is not None
    assert made.ref == "refs/planck/s1"
    assert git(repo, "rev-parse", made.ref) == made.commit
    assert git(repo, "status", "--porcelain") == ""
    assert git(repo, "branch", "--list", "--format=%(refname:short)").split() == ["main", "side"]

    second = clone(tmp_path, repo, "south")
    assert await second.prepare() == made.commit
    assert (second.folder / "a.txt").read_text() == "two\n"
    assert (second.folder / "new.txt").read_text() == "new\n"
    assert not (second.folder / "gone.txt").exists()
    assert not (second.folder / "x.log").exists()
    # What was not committed is not committed there either, and the branch is the same.
    assert (
        git(second.folder, "status", "--porcelain").splitlines()
        == git(first.folder, "status", "--porcelain").splitlines()
    )
    assert git(second.folder, "rev-parse", "HEAD") == git(first.folder, "rev-parse", "HEAD")
    assert git(second.folder, "branch", "--show-current") == "main"


async def test_a_node_that_gets_work_back_takes_what_others_did_meanwhile(tmp_path: Path, repo: Path) -> None:
    first, second = clone(tmp_path, repo, "north"), clone(tmp_path, repo, "south")
    await first.prepare()
    (first.folder / "a.txt").write_text("north\n")
    await first.put_on_record()
    (first.folder / "unkept.txt").write_text("never put on record\n")

    await second.prepare()
    (second.folder / "a.txt").write_text("south\n")
    made = await second.put_on_record()
    assert made is not None

    assert await first.prepare() == made.commit
    assert (first.folder / "a.txt").read_text() == "south\n"
    assert not (first.folder / "unkept.txt").exists()
    aside = first.folder.with_name(f"s1.before-{made.commit[:12]}")
    assert (aside / "unkept.txt").read_text() == "never put on record\n"


async def test_a_node_that_is_started_again_goes_on_in_its_own_folder(tmp_path: Path, repo: Path) -> None:
    one = clone(tmp_path, repo, "north")
    await one.prepare()
    made = await one.put_on_record()
    assert made is not None
    (one.folder / "a.txt").write_text("after the record\n")
    assert await clone(tmp_path, repo, "north").prepare() == made.commit
    assert (one.folder / "a.txt").read_text() == "after the record\n"


async def test_commits_of_an_agent_travel_along(tmp_path: Path, repo: Path) -> None:
    first = clone(tmp_path, repo, "north")
    await first.prepare("side")
    (first.folder / "a.txt").write_text("two\n")
    git(first.folder, "commit", "-qam", "mine")
    await first.put_on_record()
    second = clone(tmp_path, repo, "south")
    await second.prepare("side")
    assert git(second.folder, "log", "--format=%s").splitlines() == ["mine", "first"]
    assert git(second.folder, "status", "--porcelain") == ""


async def test_what_did_not_change_is_not_put_on_record_again(tmp_path: Path, repo: Path) -> None:
    one = clone(tmp_path, repo, "north")
    await one.prepare()
    assert await one.put_on_record() is not None
    assert await one.put_on_record() is None
    (one.folder / "a.txt").write_text("three\n")
    assert await one.put_on_record() is not None


async def test_a_clone_that_was_cut_off_is_made_again(tmp_path: Path, repo: Path) -> None:
    one = clone(tmp_path, repo, "north")
    half = one.folder.with_name("s1.part")
    half.mkdir(parents=True)
    (half / "junk").write_text("x")
    await one.prepare()
    assert (one.folder / "a.txt").read_text() == "one\n"
    assert not half.exists()
    assert not (one.folder / "junk").exists()


async def test_hooks_of_the_folder_do_not_run_when_it_is_put_on_record(tmp_path: Path, repo: Path) -> None:
    one = clone(tmp_path, repo, "north")
    await one.prepare()
    proof = tmp_path / "ran"
    for name in ("pre-push", "reference-transaction", "post-checkout", "post-index-change"):
        hook = one.folder / ".git" / "hooks" / name
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(f"#!/bin/sh\ntouch {proof}\n")
        hook.chmod(0o755)
    (one.folder / "a.txt").write_text("two\n")
    await one.put_on_record()
    assert not proof.exists()


async def test_a_commit_that_no_branch_has_can_be_the_beginning(tmp_path: Path, repo: Path) -> None:
    git(repo, "checkout", "-q", "--detach")
    (repo / "a.txt").write_text("loose\n")
    git(repo, "commit", "-qam", "loose")
    commit = git(repo, "rev-parse", "HEAD")
    git(repo, "update-ref", "refs/keep/me", commit)
    git(repo, "config", "uploadpack.allowAnySHA1InWant", "true")
    git(repo, "checkout", "-q", "main")
    one = clone(tmp_path, repo, "north")
    await one.prepare(commit)
    assert (one.folder / "a.txt").read_text() == "loose\n"


async def test_a_repository_that_is_not_there_is_told_without_its_password(tmp_path: Path) -> None:
    one = Clone(tmp_path / "s1", "http://me:hunter2@127.0.0.1:9/x.git", "s1", ENVIRONMENT)
    with pytest.raises(CloneError) as failed:
        await one.prepare()
    assert failed.value.err.kind is ErrorKind.COMMAND_FAILED
    assert "hunter2" not in str(failed.value.err)
    assert not (tmp_path / "s1").exists()


HOOKS = ("pre-receive", "update", "post-receive", "post-update", "reference-transaction")


@pytest.mark.parametrize("scheme", ["", "file://"])
@pytest.mark.parametrize("way", [*HOOKS, "core.alternateRefsCommand", "core.fsmonitor", "gc.auto"])
async def test_a_repository_on_this_machine_runs_nothing_that_it_brings(
    tmp_path: Path, repo: Path, way: str, scheme: str
) -> None:
    """Git serves it here, by the settings of whoever made it: that may be an agent, or whoever submitted."""
    mark = tmp_path / "ran"
    if way in HOOKS:
        hook = repo / ".git" / "hooks" / way
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(f"#!/bin/sh\ntouch {mark}\n")
        hook.chmod(0o755)
    elif way == "gc.auto":
        git(repo, "config", way, "1")
        git(repo, "config", "gc.recentObjectsHook", f"touch {mark}")
    else:
        git(repo, "config", way, f"touch {mark}; true")
        other = tmp_path / "other"
        git(tmp_path, "clone", "-q", str(repo), str(other))
        (repo / ".git" / "objects" / "info" / "alternates").write_text(f"{other}/.git/objects\n")
    made = Clone(tmp_path / "north" / "s1", f"{scheme}{repo}", "s1", ENVIRONMENT)
    await made.prepare()
    (made.folder / "new.txt").write_text("new\n")
    assert await made.put_on_record() is not None
    again = Clone(tmp_path / "south" / "s1", f"{scheme}{repo}", "s1", ENVIRONMENT)
    assert await again.prepare("side")
    assert not mark.exists()


class _Redirecting(SimpleHTTPRequestHandler):
    """Serves a repository under /other.git and redirects requests for other names there."""

    status = 302

    def do_GET(self) -> None:
        if self.path.startswith("/other.git/"):
            return super().do_GET()
        self.send_response(self.status)
        self.send_header("location", f"http://localhost:{self.server.server_port}/other.git{self.path[7:]}")  # type: ignore[attr-defined]
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@pytest.mark.parametrize(
    "status", [302, *(pytest.param(code, marks=pytest.mark.heavy) for code in (301, 307, 308))]
)
async def test_an_address_that_redirects_is_not_followed_to_another(
    tmp_path: Path, repo: Path, status: int
) -> None:
    git(tmp_path, "clone", "-q", "--bare", str(repo), str(tmp_path / "other.git"))
    git(tmp_path / "other.git", "update-server-info")
    handler = type("Handler", (_Redirecting,), {"status": status})
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(handler, directory=str(tmp_path))) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            address = f"http://127.0.0.1:{server.server_port}"
            await Clone(tmp_path / "direct", f"{address}/other.git", "s1", ENVIRONMENT).prepare()
            with pytest.raises(CloneError, match="not followed"):
                await Clone(tmp_path / "led", f"{address}/ok.git", "s1", ENVIRONMENT).prepare()
        finally:
            server.shutdown()
            thread.join()
    assert not (tmp_path / "led").exists()


@pytest.mark.parametrize("recorded", [True, pytest.param(False, marks=pytest.mark.heavy)])
async def test_a_folder_of_another_source_is_moved_aside(tmp_path: Path, repo: Path, recorded: bool) -> None:
    """The name of the folder comes from the caller; a folder from before an upgrade has no record."""
    other = Path(shutil.copytree(repo, tmp_path / "b"))
    (other / "a.txt").write_text("of b\n")
    git(other, "commit", "-qam", "b")
    work = tmp_path / "work"

    async def open_clone(source: Path, at: str = "") -> str:
        await Clone(work / "s1", str(source), "s1", ENVIRONMENT).prepare(at)
        if not recorded:
            (work / "s1.source").unlink()
        return (work / "s1" / "a.txt").read_text()

    assert await open_clone(repo) == "one\n"
    (work / "s1" / "a.txt").write_text("not on record\n")
    assert await open_clone(repo) == "not on record\n"
    assert await open_clone(other) == "of b\n"
    assert await open_clone(repo) == "one\n"
    assert await open_clone(other) == "of b\n"
    kept = sorted(path.read_text() for path in work.glob("s1.other-*/a.txt"))
    assert kept == ["not on record\n", "of b\n", "one\n"]
    if recorded:
        assert await open_clone(other, "side") == "one\n", "another ref is another source"
