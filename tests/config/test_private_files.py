"""No door to files shows a private place, though it lies in the workspace: a server or a call in the home."""

import ast
import json
import os
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

import pytest

from planck.api.operations import PREFIX
from planck.config.private import private_places
from planck.headless import Project, ToolBox, Workbench
from planck.mcp import meta
from planck.records.messages import ToolCall
from planck.records.outcome import Ok
from planck.tools.results import Finished
from tests.api.bench import Served, serving
from tests.api.test_roles import ask

SRC = Path(__file__).parents[2] / "src" / "planck"
SECRET = "the private key"

UNMASKED = {
    "config/keys/credentials.py": "one file of Planck's own home, by a fixed name",
    "config/load.py": "the user's own configuration, by a fixed name",
    "config/trust.py": "one file of Planck's own home, by a fixed name",
    "context/skills.py": "the folder of one skill, which was found before; no path leaves it",
    "headless/services/survey.py": "AGENTS.md of the workspace, by a fixed name, once the place is checked",
    "permissions/gate.py": "says only whether a write is refused, and reads nothing",
    "team/by_id.py": "names a folder, and opens nothing in it",
    "tools/builtin/catalog.py": "tools of a caller without views; each call has its permissions",
    "tools/external.py": "the folder that a command begins in; its sandbox hides the places",
    "workspace/paths/output_file.py": "names the folder of one file that the user chose; opens nothing in it",
    "workspace/paths/paths.py": "others of a root get its rights; the machine is read in mode `full` only",
}
"""Files that make a `Root` without the masks of private places, and why they may. Others: `open_root`."""


def test_a_root_that_is_opened_without_masks_has_a_reason() -> None:
    found = set()
    for path in SRC.rglob("*.py"):
        text = path.read_text()
        if "Root(" not in text:
            continue
        calls = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)]
        if any(isinstance(call.func, ast.Name) and call.func.id == "Root" for call in calls):
            found.add(str(path.relative_to(SRC)))
    assert found - {"config/project.py"} == set(UNMASKED)


def hide_secrets(user: Path) -> list[str]:
    """Puts a file into every private place of a home, and returns their paths there, in some spellings."""
    (user / "home").mkdir()
    private = private_places(user / "home", {"HOME": str(user)})
    # Not those of the home that the system names: that is the home of the person who runs the tests.
    places = [place for place in map(Path, private.masked) if place.is_relative_to(user)]
    files = [place / "below" / "id_rsa" for place in places if place.name != ".netrc"]
    for file in (*files, user / ".netrc"):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(SECRET)
    (user / "link").symlink_to(".ssh/below/id_rsa")
    (user / "over").symlink_to(".ssh/below")
    paths = [str(file.relative_to(user)) for file in (*files, user / ".netrc")]
    return [*paths, "link", "over/id_rsa", "./home/../.netrc", str(files[0])]


async def look(server: Served, route: str, path: str) -> tuple[int, bytes]:
    answer = await ask(server, "submit", "GET", f"{route}?path={quote(path)}")
    return answer.status, answer.body


async def test_a_server_in_the_home_shows_no_private_place(tmp_path: Path) -> None:
    paths = hide_secrets(tmp_path)
    (tmp_path / "notes").write_text("mine")
    async with serving(tmp_path, ["well"], of_user=True) as server:
        assert server.model
        token = str(server.token_file.relative_to(tmp_path))
        shown = [path for path in (*paths, token) if (await look(server, "/files/content", path))[0] != 403]
        folders = {os.path.dirname(path) for path in paths if path.endswith("id_rsa")}
        listed = [path for path in sorted(folders) if (await look(server, "/files", path))[0] != 403]
        assert (shown, listed) == ([], [])
        assert (await look(server, "/files/content", "notes"))[0] == 200
        assert b"notes" in (await look(server, "/files", "."))[1]
        named = " ".join(f"@{path}" for path in paths)
        started = await server.post(f"{PREFIX}/sessions", {"prompt": named})
        await server.send("GET", f"{PREFIX}/sessions/{started.json['id']}/result")
        assert SECRET not in repr(server.model.asked)


CALLS: dict[str, Callable[[str], dict[str, str]]] = {
    "read": lambda path: {"path": path},
    "edit": lambda path: {"path": path, "old_string": "private", "new_string": "x"},
    "write": lambda path: {"path": path, "content": "x"},
    "list_dir": lambda path: {"path": os.path.dirname(path) or "."},
    "grep": lambda path: {"path": ".", "pattern": "private"},
    "glob": lambda path: {"pattern": "**/id_rsa"},
}


@pytest.mark.parametrize("dry", [False, True], ids=["call", "dry run"])
async def test_a_tool_called_by_hand_in_the_home_shows_no_private_place(tmp_path: Path, dry: bool) -> None:
    paths = [path for path in hide_secrets(tmp_path) if path.endswith("id_rsa")][:4]
    project = Project(tmp_path / "home", tmp_path, {"HOME": str(tmp_path)})
    (tmp_path / "home" / "config.json").write_text("{}")
    shown = []
    for name, make in CALLS.items():
        for path in paths:
            done = await ToolBox(project).call(name, json.dumps(make(path)), dry_run=dry)
            assert isinstance(done, Finished)
            if SECRET in done.output or (
                isinstance(done.outcome, Ok) and not dry and "id_rsa" in done.output
            ):
                shown.append((name, path, done.output))
    assert shown == []
    assert all((tmp_path / path).read_text() == SECRET for path in paths)


async def test_a_client_of_our_tools_sees_no_private_place(tmp_path: Path) -> None:
    path = next(path for path in hide_secrets(tmp_path) if path.endswith("id_rsa"))
    (tmp_path / "home" / "config.json").write_text("{}")
    bench = Workbench(Project(tmp_path / "home", tmp_path, {"HOME": str(tmp_path)}), "read-only")
    for name, make in CALLS.items():
        for dry in (False, True):
            call = ToolCall("1", "1", name, json.dumps(make(path)))
            async for done in bench.run(call, {meta.DRY_RUN: dry}, None):
                assert SECRET not in repr(done), (name, dry)
