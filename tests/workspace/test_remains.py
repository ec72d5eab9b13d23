"""What a command leaves where Python or git would obey it is taken away, whatever it puts in the way."""

import asyncio
import os
import re
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest

from planck.records.authority import Confinement, Mode
from planck.records.outcome import ErrorKind
from planck.workspace.process.environment import allowed
from planck.workspace.process.process import Command, run, shell
from planck.workspace.sandbox.sandbox import SandboxError
from tests.command import PLAIN, Bench, Done, finish
from tests.wire import chat
from tests.wire.server import Asked, Reply, WireServer

SRC = Path(__file__).parents[2] / "src"
SITE = Path(pytest.__file__).parents[1]
BOUND = (
    ("setpriv", "--bounding-set=-dac_override,-dac_read_search,-fowner")
    if os.geteuid() == 0 and shutil.which("setpriv")
    else ()
)
"""As root, without the capabilities that make permissions of files meaningless."""

FORMS = {
    "sitecustomize.py": "echo $trap > {name}",
    "sitecustomize.pyc": "echo $trap > {name}",
    "usercustomize.so": "echo $trap > {name}",
    "usercustomize.abi3.so": "echo $trap > {name}",
    "importlib.py": "ln -s $PWD/trap {name}",
    "collections": "ln -s . {name}",
    "encodings": "mkdir -p {name}; echo $trap > {name}/__init__.py; chmod 0 {name}",
    "planck": "mkdir -p {name}/{deep}; echo $trap > {name}/__init__.py",
    f"sitecustomize.{'a' * 238}.py": "echo $trap > {name}",
}
"""Every form of a module that Python takes before our first line, and how a command makes it."""

OBSTACLES = {
    "nothing": "",
    "folder": "mkdir -p {away}/x",
    "file": "touch {away}",
    "link": "ln -s / {away}",
}
"""What stands at the name that the entry was once renamed to."""

CLOSED = {
    "read-only": "chmod a-w {folder}",
    "not-listed": "chmod a-r {folder}",
    "closed": "chmod 0 {folder}",
    "all/closed": "chmod 0 {folder} all",
    "to-closed": "mkdir -p a/b; rmdir a/b; mv {folder} a/b; ln -s a/b {folder}; chmod 0 a/b a",
}
"""Permissions that a command takes from the folder, from one above, or from those behind a link."""

HEADS = {
    **OBSTACLES,
    "read-only": "chmod a-w .",
    "closed": "chmod 0 .",
}


def attack_python() -> str:
    lines = ["trap=$(cat trap)"]
    for folder in (*OBSTACLES, *CLOSED):
        lines.append(f"mkdir -p {folder}")
        for name, make in FORMS.items():
            if folder in OBSTACLES and len(name) < 240:
                lines.append(OBSTACLES[folder].format(away=f"{folder}/{name}.of-no-agent"))
            lines.append(make.format(name=f"{folder}/{name}", deep="/".join("d" * 100)))
        lines.append(CLOSED.get(folder, "").format(folder=folder))
    return "\n".join(lines)


def attack_git(roots: Path) -> str:
    lines = []
    for name, hinder in HEADS.items():
        lines += [f"cd {roots}/{name}", "mkdir -p objects refs", "echo 'ref: refs/heads/x' > HEAD"]
        lines.append(hinder.format(away="HEAD.of-no-repository"))
    return "\n".join(lines)


class Site:
    """A workspace whose folders Python looks in at its start, and more roots, which are not repositories."""

    def __init__(self, folder: Path, url: str) -> None:
        self.bench = Bench(folder, url)
        self.mark, self.trap, self.roots = folder / "mark", self.bench.work / "trap", folder / "roots"
        self.trap.write_text(f"open({str(self.mark)!r}, 'a').write(__name__)\n")
        for name in HEADS:
            (self.roots / name).mkdir(parents=True)
        self.folders = [self.bench.work / name for name in (*OBSTACLES, *CLOSED)]
        for place in self.folders[:-2]:
            place.mkdir()
        self.env = {"PYTHONPATH": ":".join(map(str, self.folders)), "HOME": str(folder)}

    async def start(self, *words: str) -> str:
        added = [f"--add-dir={self.roots / name}" for name in HEADS] if words[0] == "run" else []
        done = await self.bench.run(*words, *added, env=self.env, before=BOUND)
        assert done.code == 0, done.err
        return done.out

    def list_left(self) -> list[str]:
        """Returns what of the attack Python or git would obey, once everything is readable again."""
        left = [place / name for place in self.folders for name in FORMS]
        left += [self.roots / name / "HEAD" for name in HEADS]
        return [str(path) for path in left if os.path.lexists(path)]


async def test_no_obstacle_keeps_a_module_or_a_repository_in_its_place(tmp_path: Path) -> None:
    """By every form of a module, and for git's `HEAD` in a root."""
    asked: list[tuple[str, dict[str, Any]]] = []

    def answer(request: Asked) -> Reply:
        return chat.text("done") if len(server.asked) > 1 else chat.calls(*asked, size=4000)

    async with WireServer(answer) as server:
        site = Site(tmp_path, server.url)
        asked += [("bash", {"command": attack_python()})]
        asked += [("bash", {"command": attack_git(site.roots)})]
        assert await site.start("run", "go", "--permission-mode", "workspace") == "done\n"
    assert site.list_left() == []
    kept = [path.name for place in site.folders for path in place.iterdir()]
    renamed = [name for name in kept if re.search(r"\.[0-9a-f]{16}\.of-no-agent$", name)]
    assert len(renamed) == len(site.folders) * len(FORMS)
    assert "planck" in await site.start("--version")
    assert not site.mark.exists()


ENTRIES = {
    "lib/sub": "mkdir lib; cp made.zip lib/sub",
    "lib2/sub": "cp made.zip lib2",
    "there": "mv there was; cp made.zip there",
    "linked": "ln -s made.zip linked",
    "dangling": "ln -s later.zip dangling",
    "absent.zip": "cp made.zip absent.zip",
    "absent.egg/sub": "cp made.zip absent.egg",
    "present.zip": "cp made.zip present.zip; rm present.zip; mv present.zip x; cp made.zip present.zip",
    "kept/present": "mv kept x; mkdir kept; cp made.zip kept/present",
}
"""Places in the workspace that `PYTHONPATH` names, and how a command makes a zip file of each."""
USER_SITE = "user/lib/python{}.{}/site-packages".format(*sys.version_info)


async def test_nobody_makes_an_archive_or_a_site_folder_that_python_looks_in(tmp_path: Path) -> None:
    """With commands and with file tools; other files can still be made in an absent folder."""
    mark = tmp_path / "mark"
    evil = f"open({str(mark)!r}, 'a').write(__file__ + chr(10))\n"
    script = [
        *ENTRIES.values(),
        f"mkdir -p {USER_SITE}; cp evil.pth {USER_SITE}/",
        "mkdir new; echo 1 > new/a.py",
    ]
    written = [*ENTRIES, "lib2", "absent.egg", f"{USER_SITE}/evil.pth"]
    asked = [("write", {"path": path, "content": "PK"}) for path in written]
    asked += [("bash", {"command": "; ".join(script)}), ("bash", {"command": "ls"})]

    def answer(request: Asked) -> Reply:
        return chat.text("done") if len(server.asked) > 1 else chat.calls(*asked, size=4000)

    async with WireServer(answer) as server:
        bench = Bench(tmp_path, server.url)
        work = bench.work
        for name in ("there", "kept"):
            (work / name).mkdir()
        for path in ("present.zip", "kept/present", "made.zip"):
            with ZipFile(work / path, "w") as archive:
                archive.writestr("sitecustomize.py", evil if path == "made.zip" else "")
        before = (work / "present.zip").read_bytes(), (work / "kept/present").read_bytes()
        (work / "evil.pth").write_text(f"import sys; {evil.replace('__file__', 'sys.path[0]')}")
        entries = [*map(str, (SRC, SITE)), *(str(work / entry) for entry in ENTRIES), str(work / "new")]
        env = {"PYTHONPATH": ":".join(entries), "PYTHONUSERBASE": str(work / "user"), "HOME": str(tmp_path)}
        # Not the Python of an environment, which knows no folder of the user.
        python = os.path.realpath(sys.executable)

        async def start(*words: str) -> Done:
            return await finish(
                await asyncio.create_subprocess_exec(
                    *(python, "-m", "planck", *words),
                    cwd=work,
                    env={**PLAIN, "PLANCK_HOME": str(bench.home), **env},
                    stdin=asyncio.subprocess.PIPE,
                    stdout=asyncio.subprocess.PIPE,
                    stderr=asyncio.subprocess.PIPE,
                )
            )

        done = await start("run", "go", "--permission-mode", "workspace")
    assert done.out == "done\n", done.err
    said = [message["content"] for message in server.asked[1].json["messages"] if message["role"] == "tool"]
    assert [text.partition(":")[0] for text in said[: len(written)]] == ["protected_path"] * len(written)
    (work / "later.zip").write_bytes((work / "made.zip").read_bytes())
    again = await start("--version")
    assert (again.out[:6], mark.exists() and mark.read_text()) == ("planck", False), again.err
    assert before == ((work / "present.zip").read_bytes(), (work / "kept/present").read_bytes())
    assert (work / "new/a.py").read_text() == "1\n"
    assert not [name for name in ("absent.zip", "absent.egg", "user") if (work / name).exists()]


async def test_what_another_command_had_made_can_not_be_made_again(tmp_path: Path) -> None:
    """A second command begins while the module of the first is there, and takes over after its end."""
    first = "cp trap sitecustomize.py; until [ -e begun ]; do sleep 0.02; done"
    second = "touch begun; until cp trap sitecustomize.py 2>/dev/null; do sleep 0.02; done"

    def answer(request: Asked) -> Reply:
        if len(server.asked) == 1:
            return chat.calls(("bash", {"command": first, "background": True}))
        if len(server.asked) == 2:
            until = time.monotonic() + 20
            while not (bench.work / "sitecustomize.py").exists() and time.monotonic() < until:
                time.sleep(0.01)  # the command in the background has only just been started
            return chat.calls(("bash", {"command": second}))
        return chat.text("done")

    async with WireServer(answer) as server:
        bench = Bench(tmp_path, server.url)
        (bench.work / "trap").write_text("")
        done = await bench.run("run", "go", "--permission-mode", "workspace")
    assert done.out == "done\n", done.err
    assert not (bench.work / "sitecustomize.py").exists()
    assert len([*bench.work.glob("sitecustomize.py.*.of-no-agent")]) == 2


async def test_nothing_is_started_while_a_command_left_what_cant_be_taken_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(way: Callable[..., None]) -> Callable[..., None]:
        def act(name: str, *more: Any, **options: Any) -> None:
            if name == "HEAD":
                raise PermissionError("as on a disk that was made read-only")
            way(name, *more, **options)

        return act

    (work := tmp_path / "work").mkdir()
    rights = Confinement(Mode.WORKSPACE, (str(work),), (str(work),))

    async def start(script: str, rights: Confinement | None) -> str:
        return (await run(Command(shell(script), work, allowed({}), rights), timeout=30)).output

    with monkeypatch.context() as failing:
        failing.setattr(os, "rename", refuse(os.rename))
        failing.setattr(os, "unlink", refuse(os.unlink))
        for script, confined in (
            ("mkdir objects refs; touch HEAD", rights),
            ("touch ran", rights),
            ("touch ran", None),
        ):
            with pytest.raises(SandboxError, match=f"{work}/HEAD.* Delete it") as refused:
                await start(script, confined)
            assert refused.value.err.kind is ErrorKind.SANDBOX_UNAVAILABLE
    assert not (work / "ran").exists()
    (work / "HEAD").unlink()
    assert [await start("echo on", rights), await start("echo on", None)] == ["on\n", "on\n"]
