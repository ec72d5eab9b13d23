"""No door makes a private place a root: what the sandbox hides is not a folder that agents work in."""

import json
import os
import pwd
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from planck import Planck
from planck.api.serve import ServerConfig, serve
from planck.config.private import find_homes, private_places
from planck.headless import Inbox, Project, ToolBox, Workbench, write_agents_md
from planck.headless.services.files import WorkspaceFiles
from planck.records.outcome import Err, ErrorKind, PlanckError
from planck.testing import ScriptedProvider
from planck.workspace.sandbox.closed import find_closed
from tests.acp.editor import talking
from tests.command import Bench


class User:
    """A home with every private place in it as a folder, and a project beside them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "user"
        self.home = self.folder / ".planck"
        self.project = self.folder / "project"
        self.environ = {"HOME": str(self.folder), "SSH_AUTH_SOCK": str(folder / "agent" / "socket")}
        self.logs = folder / "logs"
        private = private_places(self.home, self.environ, str(self.logs))
        self.places = [place for place in map(Path, private.masked) if place.is_relative_to(folder)]
        for place in (self.project, *self.places):
            (place / "below").mkdir(parents=True, exist_ok=True)
        (self.home / "config.json").write_text(
            json.dumps({"sessions_dir": str(self.logs), "default_model": "double/m"})
        )

    def open_planck(self, workspace: Path | str, *add_dirs: Path | str) -> Planck:
        doubles = {"double": ScriptedProvider(["hello"])}
        return Planck(self.home, workspace, environ=self.environ, providers=doubles, add_dirs=add_dirs)

    def open_project(self, workspace: Path | str) -> Project:
        return Project(self.home, workspace, self.environ)


@pytest.fixture(scope="module")
def user(tmp_path_factory: pytest.TempPathFactory) -> User:
    return User(tmp_path_factory.mktemp("private"))


Door = Callable[[User, Path | str], Awaitable[object]]


async def start(user: User, folder: Path | str) -> None:
    async with user.open_planck(folder) as planck:
        await planck.start()


async def resume(user: User, folder: Path | str) -> None:
    async with user.open_planck(folder) as planck:
        await planck.resume("any")


async def add_a_folder(user: User, folder: Path | str) -> None:
    async with user.open_planck(user.project, folder) as planck:
        await planck.start()


async def call_a_tool(user: User, folder: Path | str) -> None:
    done = await ToolBox(user.open_project(folder)).call("list_dir", '{"path": "."}')
    assert not isinstance(done, Err), done


async def serve_tools(user: User, folder: Path | str) -> None:
    Workbench(user.open_project(folder))


async def take_back(user: User, folder: Path | str) -> None:
    async with user.open_planck(folder) as planck, planck.hold("any"):
        pass


async def write_first_file(user: User, folder: Path | str) -> None:
    write_agents_md(user.open_project(folder))


async def show_files(user: User, folder: Path | str) -> None:
    WorkspaceFiles(user.open_project(folder))


async def serve_sessions(user: User, folder: Path | str) -> None:
    def stop(ready: object) -> None:
        raise AssertionError("it serves")

    await serve(user.open_planck(folder), Inbox(), ServerConfig(port=0), stop)


async def bind_a_member(user: User, folder: Path | str) -> None:
    """The workspace is the home itself, and one member is to write in a folder of it."""
    team = user.home / "teams" / "t" / "TEAM.json"
    team.parent.mkdir(parents=True, exist_ok=True)
    inside = str(Path(folder).relative_to(user.folder))
    members = [{"type": "orchestrator"}, {"type": "worker", "roots": [inside]}]
    team.write_text(json.dumps({"members": members}))
    async with user.open_planck(user.folder) as planck:
        await planck.start("t")


DOORS: list[Door] = [
    *(start, resume, add_a_folder, call_a_tool, serve_tools, show_files, serve_sessions),
    *(take_back, write_first_file),
]


@pytest.mark.parametrize("door", [*DOORS, bind_a_member], ids=lambda door: door.__name__)
async def test_no_door_makes_a_private_place_a_root(user: User, door: Door) -> None:
    opened = []
    for number, place in enumerate(user.places):
        folder = place / "below" if number % 2 else place
        if door is bind_a_member and not folder.is_relative_to(user.folder):
            continue
        try:
            await door(user, folder)
        except PlanckError as refused:
            if refused.err.kind in (ErrorKind.PERMISSION_DENIED, ErrorKind.INVALID_ARGS):
                continue
        opened.append(folder)
    assert opened == []


def spell(user: User, folder: Path, link: Path) -> list[str]:
    link.symlink_to(folder)
    (link.parent / "above").symlink_to(folder.parent)
    return [
        f"{folder}/",
        f"{folder}/.",
        f"{folder.parent}//{folder.name}",
        f"{user.project}/../{folder.relative_to(user.folder)}",
        f"{folder}/below/..",
        str(link),
        f"{link}/below",
        f"{link.parent}/above/{folder.name}",
    ]


async def test_another_spelling_of_a_private_place_is_the_same_place(user: User, tmp_path: Path) -> None:
    opened = []
    for spelled in spell(user, user.folder / ".ssh", tmp_path / "link"):
        for door in DOORS:
            try:
                await door(user, spelled)
            except PlanckError as refused:
                if refused.err.kind in (ErrorKind.PERMISSION_DENIED, ErrorKind.INVALID_ARGS):
                    continue
            opened.append((door.__name__, spelled))
    assert opened == []


async def test_a_private_place_that_is_a_link_is_private_where_it_leads(tmp_path: Path) -> None:
    user = User(tmp_path)
    (tmp_path / "kept").mkdir()
    (user.folder / ".ssh" / "below").rmdir()
    (user.folder / ".ssh").rmdir()
    (user.folder / ".ssh").symlink_to(tmp_path / "kept")
    with pytest.raises(PlanckError) as refused:
        await start(user, tmp_path / "kept")
    assert refused.value.err.kind is ErrorKind.PERMISSION_DENIED
    assert "Choose another folder." in refused.value.err.message


async def test_folders_of_projects_and_clones_of_the_pool_are_worked_in(user: User) -> None:
    clone = user.home / "work" / "0123"
    skills = user.folder / ".claude" / "skills" / "mine"
    for folder in (clone, skills, user.project / ".ssh", user.folder / ".sshx", user.folder / ".config"):
        folder.mkdir(parents=True, exist_ok=True)
        await start(user, folder)


async def test_a_socket_in_tmp_or_in_the_home_makes_no_project_private(user: User, tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    (shared / "project").mkdir(parents=True)
    shared.chmod(0o1777)
    for socket in (shared / "agent.socket", user.folder / "agent.socket"):
        environ = {**user.environ, "SSH_AUTH_SOCK": str(socket)}
        for folder in (shared / "project", user.project):
            assert Project(user.home, folder, environ).roots == (str(folder),)


WRITERS = (("init",), ("undo", "--resume", "any"), ("teams", "new", "t"), ("sidecar", "new"))
"""Commands that write into the workspace by themselves; agents write by `run`, `chat`, `acp` and `serve`."""


async def test_the_command_line_and_an_editor_refuse_a_private_folder(tmp_path: Path) -> None:
    bench = Bench(tmp_path, "http://127.0.0.1:9")
    secret = bench.home / "sessions"
    secret.mkdir()
    for words, cwd in ((("-C", str(secret)), bench.work), (("--here",), secret)):
        done = await bench.run("run", "hi", *words, cwd=cwd)
        assert (done.code, "permission_denied" in done.err) == (3, True), done.err
    before = sorted(secret.iterdir())
    for command in WRITERS:
        done = await bench.run(*command, cwd=secret)
        assert (done.code, "permission_denied" in done.err) == (3, True), (command, done.err)
        assert sorted(secret.iterdir()) == before, command
    async with talking(bench) as line:
        await line.ask(0, "initialize", protocolVersion=1)
        new = await line.ask(1, "session/new", cwd=str(secret), mcpServers=[])
        assert "private" in new["error"]["message"]


def make_account(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Lets the system say that the user's home is there."""
    (folder / ".ssh").mkdir(parents=True)
    account = pwd.struct_passwd(("u", "x", os.geteuid(), os.getegid(), "", str(folder), "/bin/sh"))
    monkeypatch.setattr(pwd, "getpwuid", lambda uid: account)
    return folder


@pytest.mark.parametrize("variable", [None, "", "relative", "~", "/other", "the home/", "the home/../listed"])
async def test_the_home_that_the_system_names_is_protected_whatever_home_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str | None
) -> None:
    """As with sudo, su or a service: as a root, its secrets in the sandbox, and as folders of an agent."""
    listed = make_account(tmp_path / "listed", monkeypatch)
    said = variable and variable.replace("the home", str(listed))
    environ = {} if said is None else {"HOME": said}
    monkeypatch.setenv("HOME", said or "")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "relative/.ssh").mkdir(parents=True)
    home = tmp_path / "own"
    homes = find_homes(home, environ)
    assert str(listed) in homes
    assert find_closed(str(listed), homes)
    assert not [place for place in homes if "relative" in place]
    assert str(listed / ".ssh") in private_places(home, environ).masked
    with pytest.raises(PlanckError):
        _ = Project(home, listed / ".ssh", environ).roots
    with pytest.raises(PlanckError):
        Project(home, tmp_path / "relative", environ, add_dirs=[listed])
    (listed / "project").mkdir()
    assert Project(home, listed / "project", environ).roots == (str(listed / "project"),)
    assert not find_closed(str(listed / "project"), homes)
