"""glob, grep and list_dir, with ripgrep and without it; attacks W12 and W17."""

import os
import random
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from planck.toolkit.tool import Tool
from planck.tools.builtin.files import Shared, Spills, Views
from planck.tools.builtin.glob import glob_tool
from planck.tools.builtin.grep import grep_tool
from planck.tools.builtin.list_dir import list_dir_tool
from planck.tools.builtin.patterns import matcher
from planck.tools.builtin.search import Engine
from planck.workspace.paths.paths import Root
from planck.workspace.process.jobs import Jobs
from tests.tools.room import ENVIRONMENT, Room, kind, open_folder, value

FILES = {
    "top.py": "TODO top\n",
    "readme.md": "nothing\n",
    "src/a.py": "def a():\n    return 1  # TODO a\n",
    "src/deep/b.py": "todo lower\nTODO upper\n",
    "src/deep/c.txt": "TODO text\r\nlast",
    ".hidden/x.py": "TODO hidden\n",
    "build/out.py": "TODO ignored\n",
    "src/trace.log": "TODO ignored\n",
    "src/keep.log": "TODO kept\n",
    "src/deep/only/d.py": "TODO ignored\n",
    ".git/config.py": "TODO git\n",
}
IGNORES = {".gitignore": "/build/\n*.log\n!keep.log\n", "src/deep/.gitignore": "only/\n# a comment\n"}


@pytest.fixture(params=[True, False], ids=["ripgrep", "python"])
def room(request: pytest.FixtureRequest, tmp_path: Path) -> Room:
    ws = tmp_path / "ws"
    room = Room(tmp_path, search_tools(ws, ripgrep=request.param))
    for name, text in {**FILES, **IGNORES}.items():
        (ws / name).parent.mkdir(parents=True, exist_ok=True)
        (ws / name).write_bytes(text.encode())
    return room


def search_tools(ws: Path, ripgrep: bool) -> list[Tool]:
    root = Root(ws)
    engine = Engine(root, ENVIRONMENT, ripgrep=ripgrep)
    assert (engine.program is not None) is ripgrep
    shared = share(root, engine)
    return [glob_tool(shared), grep_tool(shared), list_dir_tool(shared)]


def share(root: Root, engine: Engine) -> Shared:
    return Shared(Views(root), Spills(root.path), ENVIRONMENT, Jobs(), engine)


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        ({"pattern": "*.py"}, ["top.py"]),
        ({"pattern": "**/*.py"}, [".hidden/x.py", "src/a.py", "src/deep/b.py", "top.py"]),
        (
            {"pattern": "src/**"},
            ["src/a.py", "src/deep/.gitignore", "src/deep/b.py", "src/deep/c.txt", "src/keep.log"],
        ),
        ({"pattern": "src/*"}, ["src/a.py", "src/keep.log"]),
        ({"pattern": "**/*.{md,txt}"}, ["readme.md", "src/deep/c.txt"]),
        ({"pattern": "[rt]*"}, ["readme.md", "top.py"]),
        ({"pattern": "*.py", "path": "src"}, ["src/a.py"]),
        ({"pattern": "**/b.py", "path": "src/deep"}, ["src/deep/b.py"]),
        ({"pattern": "./src/a.py"}, ["src/a.py"]),
        ({"pattern": "**/*.log"}, ["src/keep.log"]),
        ({"pattern": "build/**"}, ["[no files match; ignored files were not searched]"]),
        ({"pattern": ".git/**"}, ["[no files match; ignored files were not searched]"]),
        ({"pattern": "nope"}, ["[no files match; ignored files were not searched]"]),
    ],
)
async def test_glob(args: dict[str, Any], expected: list[str], room: Room) -> None:
    assert (await room.call("glob", args)).output.splitlines() == expected


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        (
            {"pattern": "TODO"},
            [
                ".hidden/x.py:1:TODO hidden",
                "src/a.py:2:    return 1  # TODO a",
                "src/deep/b.py:2:TODO upper",
                "src/deep/c.txt:1:TODO text",
                "src/keep.log:1:TODO kept",
                "top.py:1:TODO top",
            ],
        ),
        ({"pattern": "todo", "path": "src/deep", "ignore_case": True, "glob": "*.py"},
         ["src/deep/b.py:1:todo lower", "src/deep/b.py:2:TODO upper"]),
        ({"pattern": "TODO", "glob": "src/**/*.py"},
         ["src/a.py:2:    return 1  # TODO a", "src/deep/b.py:2:TODO upper"]),
        ({"pattern": "TODO", "glob": "*.{md,txt}"}, ["src/deep/c.txt:1:TODO text"]),
        ({"pattern": "TODO", "glob": "*.log"}, ["src/keep.log:1:TODO kept"]),
        ({"pattern": "^def \\w+", "path": "src/a.py"}, ["src/a.py:1:def a():"]),
        ({"pattern": "(TODO|nothing) ?t", "glob": "*.py"}, ["top.py:1:TODO top"]),
        ({"pattern": "-e"}, ["[no lines match; ignored files were not searched]"]),
        ({"pattern": "last$"}, ["src/deep/c.txt:2:last"]),
        ({"pattern": "text$"}, ["src/deep/c.txt:1:TODO text"]),
    ],
)  # fmt: skip
async def test_grep(args: dict[str, Any], expected: list[str], room: Room) -> None:
    result = await room.call("grep", args)
    assert result.output.splitlines() == expected
    assert value(result)["more"] is False


async def test_grep_stops_at_its_limit_and_says_so(room: Room) -> None:
    result = await room.call("grep", {"pattern": "TODO", "limit": 2})
    assert result.output.splitlines() == [
        ".hidden/x.py:1:TODO hidden",
        "src/a.py:2:    return 1  # TODO a",
        "[more than 2 lines match; narrow the pattern, the path or the glob]",
    ]
    assert value(result)["count"] == 2


async def test_a_pattern_that_is_none_is_invalid(room: Room) -> None:
    for pattern in ("(", "[z-a]", "*a"):
        assert kind(await room.call("grep", {"pattern": pattern})) == "invalid_args", pattern


async def test_binaries_and_long_lines_do_not_flood_the_result(room: Room) -> None:
    (room.ws / "bin").write_bytes(b"TODO\0" * 1000)
    (room.ws / "min.js").write_text("x" * 100_000 + " NEEDLE\n")
    result = await room.call("grep", {"pattern": "NEEDLE|TODO", "glob": "{bin,min.js}"})
    assert result.output == f"min.js:1:{'x' * 500}…[100007 bytes]"
    assert (
        await room.call("grep", {"pattern": "TODO", "path": "bin"})
    ).output == "[no lines match; ignored files were not searched]"


async def test_links_are_listed_but_not_searched(room: Room) -> None:
    (room.ws / "out").symlink_to(room.out)
    (room.ws / "file").symlink_to(room.out / "secret")
    assert (
        await room.call("grep", {"pattern": "the secret"})
    ).output == "[no lines match; ignored files were not searched]"
    assert "secret" not in (await room.call("glob", {"pattern": "**/*"})).output
    assert f"out -> {room.out}" in (await room.call("list_dir")).output


async def test_a_fifo_in_the_tree_does_not_block_a_search(room: Room) -> None:
    os.mkfifo(room.ws / "src" / "fifo")
    assert (await room.call("grep", {"pattern": "TODO upper"})).output == "src/deep/b.py:2:TODO upper"


async def test_more_files_than_fit_are_cut_and_said(room: Room) -> None:
    (room.ws / "many").mkdir()
    for number in range(1_100):
        (room.ws / "many" / f"{number:04}").touch()
    result = await room.call("glob", {"pattern": "many/*"})
    lines = (value(result)["output"] if "truncated" not in result.output else "").splitlines()
    assert value(result) | {"output": ""} == {"output": "", "count": 1_000, "more": True}
    assert lines[0] == "many/0000"
    assert lines[-1] == "[more than 1000 files match; narrow the pattern or the path]"
    listed = (await room.call("list_dir", {"path": "many"})).output.splitlines()
    assert (len(listed), listed[-1]) == (501, "[showing 500 of 1100 entries; use glob to find the others]")


@pytest.mark.parametrize(
    "pattern", ["**/" * 30 + "x", "**/**/**", "*" * 500, "{a,b}" * 5 + "*", "a*" * 60 + "b"]
)
async def test_a_glob_bomb_is_bounded(pattern: str, room: Room) -> None:
    """W17."""
    (room.ws / ("d/" * 40)).mkdir(parents=True)
    (room.ws / ("d/" * 40) / ("a" * 200)).touch()
    assert kind(await room.call("glob", {"pattern": pattern})) == "ok"


@pytest.mark.parametrize("pattern", ["{a,b}" * 10, "x" * 2_000])
async def test_a_pattern_with_too_many_meanings_is_invalid(pattern: str, room: Room) -> None:
    assert kind(await room.call("glob", {"pattern": pattern})) == "invalid_args"


async def test_a_regex_bomb_is_linear_in_ripgrep(tmp_path: Path) -> None:
    """W17: `(a+)+$` over 64 KB of `a`."""
    room = Room(tmp_path, search_tools(tmp_path / "ws", ripgrep=True))
    (room.ws / "bomb").write_text("a" * 65_536 + "!\n")
    assert (
        await room.call("grep", {"pattern": "(a+)+$"})
    ).output == "[no lines match; ignored files were not searched]"


@pytest.mark.serial
async def test_a_regex_bomb_without_ripgrep_ends_at_the_deadline(tmp_path: Path) -> None:
    """W17: the engine is a process of its own, and killed."""
    ws = tmp_path / "ws"
    root = Root(ws)
    engine = Engine(root, ENVIRONMENT, ripgrep=False, timeout=3.0)
    room = Room(tmp_path, [grep_tool(share(root, engine))])
    (ws / "a").write_text("aaa\n")
    (ws / "bomb").write_text("a" * 65_536 + "!\n")
    result = await room.call("grep", {"pattern": "(a+)+$"})
    assert value(result)["more"] is True
    assert result.output.splitlines() == ["a:1:aaa", "[the search ran out of time; narrow the path]"]


async def test_a_planted_ripgrep_is_not_run(tmp_path: Path) -> None:
    """A PATH that leads into the workspace is not where the engine comes from."""
    ws = tmp_path / "ws"
    (ws / "bin").mkdir(parents=True)
    (ws / "bin" / "rg").write_text("#!/bin/sh\ntouch pwned\n")
    (ws / "bin" / "rg").chmod(0o755)
    root = Root(ws)
    engine = Engine(root, {"PATH": f"{ws}/bin:/usr/bin:/bin"})
    room = Room(tmp_path, [glob_tool(share(root, engine))])
    await room.call("glob", {"pattern": "*"})
    assert not (ws / "pwned").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to become nobody")
async def test_a_folder_that_may_not_be_read_takes_no_other_file_along() -> None:
    """ripgrep complains of it; its words are no part of a path, and not about the pattern."""
    with open_folder() as folder:
        room = Room(folder)
        (room.ws / "m" / "inner").mkdir(parents=True)
        for name in ("a", "m/hidden", "n"):
            (room.ws / name).write_text("needle\n")
        (room.ws / "m").chmod(0)
        shutil.copy(str(Engine(Root(room.ws), ENVIRONMENT).program), folder / "ripgrep")
        (folder / "rg").write_text(
            f'#!/bin/sh\nexec setpriv --reuid=65534 --clear-groups {folder}/ripgrep "$@"\n'
        )
        (folder / "rg").chmod(0o755)
        root = Root(room.ws)
        engine = Engine(root, {"PATH": f"{folder}:/usr/bin:/bin"})
        assert engine.program == str(folder / "rg")
        searching = Room(folder, [glob_tool(share(root, engine)), grep_tool(share(root, engine))])
        assert (await searching.call("grep", {"pattern": "needle"})).output == "a:1:needle\nn:1:needle"
        assert (await searching.call("glob", {"pattern": "**"})).output == "a\nn"
        assert (
            await searching.call("grep", {"pattern": "absent"})
        ).output == "[no lines match; ignored files were not searched]"
        unmatched = await searching.call("grep", {"pattern": "needle", "glob": "{x,y}"})
        assert unmatched.output == "[no lines match; ignored files were not searched]"
        assert kind(await searching.call("grep", {"pattern": "needle\\n"})) == "invalid_args"


async def test_what_the_engine_says_is_not_shown_without_a_confined_look(tmp_path: Path) -> None:
    """An engine that was led outside by a swapped folder reports places there: nothing of them appears."""
    room = Room(tmp_path)
    (room.ws / "link").symlink_to(room.out)
    (room.ws / "real").write_text("one\ntwo\n")
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "rg").write_text(
        "#!/bin/sh\ncase \"$*\" in *--files*) end= ;; *) end='1:leaked secret\\n' ;; esac\n"
        'for p in link/secret ../out/secret /etc/passwd gone real; do printf "./$p\\000$end"; done\n'
    )
    (programs / "rg").chmod(0o755)
    root = Root(room.ws)
    engine = Engine(root, {"PATH": f"{programs}:/usr/bin:/bin"})
    assert engine.program == str(programs / "rg")
    searching = Room(tmp_path, [glob_tool(share(root, engine)), grep_tool(share(root, engine))])
    assert (await searching.call("glob", {"pattern": "**"})).output == "real"
    assert (await searching.call("grep", {"pattern": "x"})).output == "real:1:one"


GITIGNORES = [
    "*.log", "/a.log", "a.log/", "sub/", "/sub", "sub/*.log", "**/b.log", "sub/**", "!a.log", "*.log\n!a.log",
    "a?log", "[ab].log", "[!a].log", "a.*", "*", "*\n!*/\n!b.log", "sub/deep", "**/deep/", "deep/**/x",
    "/*/b.log", "a\\.log", "\\#x", "#x", "x ", "x\\ ", "sub/**/x", "d*p", "s[u-w]b", "*.LOG", "sub//a.log",
    "sub/*\n!sub/deep", "/*\n!/sub\n/sub/*\n!/sub/deep/", "deep\n!deep/", "deep/\n!deep", "**", "**/", "*/",
    "sub/**/", "/**/x", "**/sub/**", "!*", "x  \\ ", "\\!x", "\\x", "[]x]", "a[!]b", "sub/[!a]*", "*\\",
    "sub\\/a.log", "?.log", "**x", "x**", "a**b", "sub/d**", "/", "//", "!/", "!", "./x", "sub/./x", " x",
    "x\\", "[a.log", "*\n!sub/\n!sub/a.log", "*.log\r\n!a.log\r", "\ufeffx", "sub/deep/**\n!sub/deep/x",
    "**/n/**", "deep/*/x", "*/*/x", "/**", "a.log \\", "[^a].log", "\\*.log", "sub/**.log", "é", "?", "[é]",
    "*\n!**/\n!*.log", "/**\n!/deep", "*\\ \n!/**/**/***", "x\vy",
]  # fmt: skip
OF_THEIR_OWN = ["x\t", "[a-", "[\\]x]", "[[:alpha:]].log"]
"""Both engines read these alike, and not as git does."""
TREE = [
    *("a.log", "b.log", "x", "#x", "x ", "deep/n/x"),
    *("sub/a.log", "sub/b.log", "sub/deep/x", "sub/deep/b.log"),
]
HARD = ["!x", "x\t", "]x", "é", "[a-", "a!b", "a.log ", "\\x", "*", "y", " x", "sub/x", "sub/deep/deep/x"]


def make_gitignore(source: random.Random) -> str:
    def segment() -> str:
        if source.random() < 0.65:
            return source.choice(["a.log", "b.log", "x", "sub", "deep", "n", "**", "*"])
        parts = ["*", "?", "a", "x", "s", "u", "b", "d", "[ab]", "[a-d]", "\\x", ".log", "**", "deep", "\\*"]
        return re.sub(r"\*{3,}", "**", "".join(source.choices(parts, k=source.randint(1, 3))))

    def line() -> str:
        path = "/".join(segment() for _ in range(source.choice((1, 1, 1, 2, 2, 3))))
        ends = source.choice(("", "", "", "!", "!/", "/")), source.choice(("", "", "", "/", " ", "\\ "))
        return path.join(ends)

    return "\n".join(line() for _ in range(source.randint(1, 5)))


@pytest.fixture(scope="module")
def ignoring(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, tuple[str, str]], set[str]]:
    """A folder for each pair of ignore files, one inside the other; the files that git shows there."""
    ws, source = tmp_path_factory.mktemp("ignoring"), random.Random(7)
    pairs = [(rules, "!b.log") for rules in (*GITIGNORES, *OF_THEIR_OWN)]
    pairs += [(make_gitignore(source), make_gitignore(source)) for _ in range(300)]
    cases = {f"{number:03}": pair for number, pair in enumerate(pairs)}
    for name, (outer, inner) in cases.items():
        (ws / name / "deep/n").mkdir(parents=True)
        (ws / name / "sub/deep/deep").mkdir(parents=True)
        for file in (*TREE, *HARD):
            (ws / name / file).touch()
        (ws / name / ".gitignore").write_bytes(f"{outer}\n".encode())
        (ws / name / "sub/.gitignore").write_bytes(f"{inner}\n".encode())
    git = ["git", "-c", "core.excludesFile=/dev/null", "-C", str(ws)]
    subprocess.run([*git, "init", "-q"], check=True)
    listed = subprocess.run(
        [*git, "ls-files", "-co", "--exclude-standard", "-z"], capture_output=True, check=True
    )
    shutil.rmtree(ws / ".git")
    return ws, cases, {os.fsdecode(name) for name in listed.stdout.split(b"\0")[:-1]}


async def list_files(ws: Path, ripgrep: bool) -> set[str]:
    found = await Engine(Root(ws), ENVIRONMENT, ripgrep=ripgrep).files(".", lambda path: True, 1_000_000)
    assert found.finished
    return {path for path, _ in found.places}


@pytest.mark.parametrize("ripgrep", [True, False], ids=["ripgrep", "python"])
async def test_ignore_files_are_read_as_git_reads_them(
    ignoring: tuple[Path, dict[str, tuple[str, str]], set[str]], ripgrep: bool
) -> None:
    ws, cases, expected = ignoring
    found = await list_files(ws, ripgrep)
    wrong = {cases[path.partition("/")[0]][0] for path in found ^ expected}
    assert wrong == {*OF_THEIR_OWN}


async def test_both_engines_list_the_same_files(
    ignoring: tuple[Path, dict[str, tuple[str, str]], set[str]],
) -> None:
    ws, _, _ = ignoring
    assert await list_files(ws, ripgrep=True) == await list_files(ws, ripgrep=False)


@pytest.mark.parametrize("ripgrep", [True, False])
@pytest.mark.parametrize("start", ["", "sub"])
async def test_what_a_clone_excludes_for_itself_is_left_out_as_git_does(
    tmp_path: Path, start: str, ripgrep: bool
) -> None:
    """`.git/info/exclude`, which any .gitignore overrules: against git itself."""
    ws = tmp_path / "ws"
    for name in TREE:
        (ws / name).parent.mkdir(parents=True, exist_ok=True)
        (ws / name).touch()
    git = ["git", "-c", "core.excludesFile=/dev/null", "-C", str(ws)]
    subprocess.run([*git, "init", "-q"], check=True)
    (ws / ".git/info").mkdir(exist_ok=True)
    (ws / ".git/info/exclude").write_text("# mine\n*.log\n/sub/deep/x\n")
    (ws / "sub" / ".gitignore").write_text("!b.log\n")
    listed = subprocess.run(
        [*git, "ls-files", "-co", "--exclude-standard", "-z", "--", start or "."],
        capture_output=True,
        check=True,
    )
    expected = sorted(listed.stdout.decode().split("\0")[:-1])
    room = Room(tmp_path, search_tools(ws, ripgrep=ripgrep))
    found = await room.call("glob", {"pattern": "**", **({"path": start} if start else {})})
    assert sorted(found.output.splitlines()) == expected
    assert "sub/b.log" in expected


@pytest.mark.parametrize(
    ("pattern", "path", "expected"),
    [
        ("*.py", "a.py", True),
        ("*.py", "d/a.py", False),
        ("**/*.py", "a.py", True),
        ("**/*.py", "d/e/a.py", True),
        ("d/**", "d/e/f", True),
        ("d/**", "e/d/f", False),
        ("d/**/f", "d/f", True),
        ("d/**/f", "d/x/y/f", True),
        ("{a,b}/*.{x,y}", "b/1.y", True),
        ("{a,b}/*.{x,y}", "c/1.y", False),
        ("a?c", "abc", True),
        ("a?c", "a/c", False),
        ("[!a]*", "b", True),
        ("**", "any/thing", True),
    ],
)
def test_patterns(pattern: str, path: str, expected: bool) -> None:
    assert matcher(pattern)(path) is expected
