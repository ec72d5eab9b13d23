"""What runs with the user's rights must not lie where a confined command can write."""

import os
import shutil
from pathlib import Path

import pytest

from planck.own_code import outside_path
from planck.workspace.sandbox.programs import find_replaceable, find_replaceable_in_script


@pytest.fixture
def work(tmp_path: Path) -> Path:
    work, out = tmp_path / "work", tmp_path / "out"
    for folder in (work / "bin", work / ".planck/hooks", work / "sub", work / "hooks", out):
        folder.mkdir(parents=True)
    scripts = [work / "hook.py", work / "bin/tool", work / "run.sh", out / "fine", work / ".planck/hooks/own"]
    for path in scripts:
        path.write_text("#!/bin/sh\n")
        path.chmod(0o755)
    for name in ("data.txt", "plain.sh", "x.awk", "x.ts", "Makefile", "hooks/a.sh"):
        (work / name).write_text("data")
    (out / "link").symlink_to(work / "run.sh")
    (out / "again").symlink_to("link")
    (out / "folder").symlink_to(work / "bin")
    (work / "to-out").symlink_to(out / "fine")
    (out / "by-path").write_text("#!/usr/bin/env -S tool\n")
    (out / "by-line").write_text(f"#!{work}/bin/tool\n")
    for name in ("by-path", "by-line"):
        (out / name).chmod(0o755)
    return work


REPLACEABLE = [
    *(
        "./run.sh",
        "run.sh; ./run.sh",
        "bash run.sh",
        "sh -e ./run.sh",
        "python3 hook.py",
        "python3 -u hook.py a",
    ),
    *(
        '"$CLAUDE_PROJECT_DIR"/run.sh',
        "${CLAUDE_PROJECT_DIR}/run.sh",
        "cd sub && ../run.sh",
        "cd bin; ./tool",
    ),
    *(
        "tool",
        "env A=b tool x",
        "timeout 5 ./run.sh",
        "find . -exec ./run.sh ;",
        "true | ./run.sh",
        "$(./run.sh)",
    ),
    *("../out/link", "../out/again", "../out/folder/tool", "./to-out", "../out/by-path", "../out/by-line"),
    *("node server.js.d/x.js", "node ./not-there.js", ". ./run.sh", "source run.sh", "python3 -m json.tool"),
    *(
        "python3 -c 'import json'",
        "echo x | python3 -",
        "npx server",
        "npm run lint",
        "make check",
        "uv run x",
    ),
    *("if true; then ./run.sh; fi", "echo 'unbalanced", "A=1 B=2 ./run.sh", "python3 --flag=x hook.py"),
    *("\n./run.sh\n", "true && (./run.sh)", "exec ./run.sh", "../work/run.sh", "perl ./x.pl"),
]
BY_ANOTHER_WAY = [
    'bash -c "make lint"',
    "sh -c 'npm test'",
    'bash -lc "npm run lint"',
    "$(pwd)/run.sh",
    "python3 $(pwd)/hook.py",
    '"$(pwd)"/run.sh',
    "$(git rev-parse --show-toplevel)/run.sh",
    "bash < plain.sh",
    "cat plain.sh | bash",
    "cat plain.sh | sh -s",
    "awk -f x.awk",
    "sed -f plain.sh",
    "deno run x.ts",
    "tclsh plain.sh",
    "PYTHONPATH=. python3 ../out/fine",
    "PYTHONPATH=sub python3 -I ../out/fine",
    "LD_PRELOAD=./x.so true",
    "BASH_ENV=plain.sh bash ../out/fine",
    'NODE_OPTIONS="--require ./x.js" node ../out/fine',
    "PATH=./bin:$PATH mytool",
    "export PATH=$PWD/bin:$PATH; mytool",
    "export PYTHONPATH=sub; python3 ../out/fine",
    "for f in hooks/*.sh; do sh $f; done",
    'find hooks -name "*.sh" -exec sh {} \\;',
    "run-parts hooks",
    "ls hooks | xargs -n1 sh",
    "(cd /usr); ./run.sh",
    "cd /nonexistent; ./run.sh",
    "cd /usr & ./run.sh",
    'eval "make x"',
    'eval "./run.sh"',
    'echo "$(./run.sh)"',
    'echo "`./run.sh`"',
    'x="$(make)"',
    "sudo -u bob ./gone.sh",
    "env -C sub make",
    "flock /tmp/l make",
    "ionice -c 3 make",
    "strace make",
    "setpriv --no-new-privs ./gone",
    "eslint .",
    "prettier --check .",
    "jest",
    "mypy .",
    "pylint x",
    "docker compose up",
    "perl -I. -Mfoo -e 1",
    "perl -Isub ../out/fine",
    "ruby -I. -rfoo -e 1",
    "node -e \"require('./x')\"",
    "node -r ./x ../out/fine",
    "busybox sh plain.sh",
    "vim -S plain.sh",
    "gdb -x plain.sh",
    "git -c core.fsmonitor=./run.sh status",
    "tar --to-command=./gone -xf x",
    "find . -exec ./gone ;",
    "parallel ./gone ::: a",
    "watch ./gone",
    "x=./run.sh; $x",
    "x=run.sh; bash $x",
    'bash "$1"',
    "command -p make",
    "time -p make",
    "timeout -s KILL 5 make",
    "nohup make &",
    "! make",
    "{ make; }",
    "if make; then true; fi",
    "while ! make; do true; done",
    "case x in x) make;; esac",
    "f() { make; }; f",
    "trap make EXIT",
    ". <(cat plain.sh)",
    "source <(cat plain.sh)",
    "bash <(cat plain.sh)",
    'bash <<< "make"',
    "bash <<E\nmake\nE",
    'env -S "make x"',
    'env -S"python3 plain.sh"',
    "script -c make",
    "ssh-agent make",
    "python3 - < plain.sh",
    "python3 /dev/stdin < plain.sh",
    "~/work/run.sh",
    "pushd sub; make",
    "cd sub && make",
    "make -C .",
    "pip install .",
    "php -f plain.sh",
    "julia plain.sh",
    "Rscript plain.sh",
    "bash --rcfile plain.sh -i",
    "bash --init-file plain.sh -i",
    "xargs -a plain.sh sh",
    "direnv exec . true",
    "nix-shell",
    "terraform apply",
    "ansible-playbook x.yml",
    "go generate ./...",
    "just",
    "mise run x",
    "rake",
    "invoke x",
    "fab x",
    "gulp",
    "grunt",
    "webpack",
    "vite",
    "turbo run x",
    "nx run x",
]
"""Through a text, a variable, an input, a launcher, a folder that is left again, or a program's own files."""
FINE = [
    *(
        "true",
        "cat > seen.json",
        "cat data.txt",
        "../out/fine",
        "../out/fine data.txt",
        "/bin/sh ../out/fine",
    ),
    *(
        ".planck/hooks/own",
        "sh .planck/hooks/own",
        "jq -r .tool | tee -a log",
        "echo ./run",
        "python3 -I -c 1",
    ),
    *(
        "python3 -Pc 'import json'",
        "ls sub",
        "exit 2",
        "echo no >&2; exit 2",
        "/no/such/program",
        "git status",
    ),
    "grep -q make data.txt",
    "echo make",
    "test -f Makefile",
    "[ -f Makefile ] && echo yes",
    "notify-send 'make done'",
    "jq -r '.tool_input.command' >> log.txt",
    "if [ -f Makefile ]; then exit 2; fi",
    "curl -s http://127.0.0.1/x",
    "printf '%s' \"$x\"",
    "case $x in make) exit 2;; esac",
    'input=$(cat); echo "$input" >> log',
    "[[ $(cat) == *make* ]] && exit 2",
    "date >> log",
    "cd ../out && ./fine",
    "(cd ../out && ./fine)",
    'python3 -I ../out/fine "$file"',
    "timeout 5 ../out/fine",
    "LOG=./log ../out/fine",
    "CI=1 true",
]


def _environment(work: Path) -> dict[str, str]:
    return {"PATH": f"{work}/bin:/usr/bin:/bin", "CLAUDE_PROJECT_DIR": str(work), "HOME": str(work.parent)}


@pytest.mark.parametrize("script", [*REPLACEABLE, *BY_ANOTHER_WAY])
def test_a_script_that_runs_something_of_the_workspace_is_found(work: Path, script: str) -> None:
    assert find_replaceable_in_script(script, str(work), _environment(work), (str(work),)), script


@pytest.mark.parametrize("script", FINE)
def test_one_that_runs_nothing_of_it_is_not(work: Path, script: str) -> None:
    assert find_replaceable_in_script(script, str(work), _environment(work), (str(work),)) == ""


def test_an_argv_is_looked_at_in_the_folder_that_it_runs_in(work: Path) -> None:
    environment, roots = _environment(work), (str(work),)
    assert find_replaceable(("npx", "-y", "server"), str(work), environment, roots)
    assert not find_replaceable(("npx", "-y", "server"), str(work.parent / "out"), environment, roots)
    assert find_replaceable(("node", str(work / "server.js")), str(work.parent / "out"), environment, roots)


def test_a_variable_that_leads_into_the_workspace_is_an_order(work: Path) -> None:
    roots, out = (str(work),), str(work.parent / "out")
    for name, value in {"PYTHONPATH": f"/x:{work}/sub", "NODE_OPTIONS": f"--require {work}/x.js"}.items():
        environment = {**_environment(work), name: value}
        assert find_replaceable(("/bin/true",), out, environment, roots) == f"{name}={value}"
    environment = {**_environment(work), "LOG": f"{work}/log", "GIT_PAGER": "cat", "VIRTUAL_ENV": f"{work}/v"}
    assert find_replaceable(("/bin/true",), out, environment, roots) == ""


def test_no_program_is_looked_for_where_one_could_be_put(work: Path) -> None:
    path = f"{work}/bin::.:bin:/usr/bin:{work.parent}/out/folder:/bin"
    assert outside_path(path, (str(work),)) == "/usr/bin:/bin"
    nothing_left = outside_path(f"{work}/bin::.", (str(work),))
    assert shutil.which("tool", path=nothing_left) is None
    assert os.path.isabs(nothing_left), "an empty PATH is the current folder"


def test_a_folder_with_a_link_to_where_agents_write_is_not_searched_for_programs(tmp_path: Path) -> None:
    """Git and shells start what they find by name; a folder without such a link is searched as ever."""
    root, tools = tmp_path / "root", tmp_path / "tools"
    for folder in (root / "target", tools):
        folder.mkdir(parents=True)
    (root / "target/git-lfs").touch()
    (root / "to-tools").symlink_to(tools)
    ways = {
        "straight": root / "target/git-lfs",
        "relative": Path("../root/target/git-lfs"),
        "not there yet": root / "later",
        "by a folder": root / "target",
        "by a chain": Path("../straight/git-lfs"),
        "out again": root / "to-tools/git-lfs",
    }
    for name, target in ways.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "other").touch()
        (tmp_path / name / "git-lfs").symlink_to(target)
    (tmp_path / "fine").mkdir()
    (tmp_path / "fine/git-lfs").symlink_to(tools / "git-lfs")
    path = ":".join(str(tmp_path / name) for name in (*ways, "fine", "none"))
    assert outside_path(f"{path}:/usr/bin", (str(root),)) == f"{tmp_path}/fine:{tmp_path}/none:/usr/bin"
    (tmp_path / "fine/new").symlink_to(root / "target/git-lfs")
    assert outside_path(f"{tmp_path}/fine", (str(root),)) == os.devnull
    assert outside_path(f"{tmp_path}/fine", (str(tmp_path / "elsewhere"),)) == f"{tmp_path}/fine"
