"""What the user's next git would run, and the ways in which a confined command tries to be that."""

import os
import shutil
import subprocess
from pathlib import Path

import msgspec
import pytest

from planck.records.authority import Mode
from planck.records.outcome import ErrorKind
from planck.workspace.git.repository import is_obeyed
from planck.workspace.paths.paths import Root, WorkspaceError
from planck.workspace.process.containment import sandbox_program
from tests.workspace.place import NOBODY, Place

pytestmark = [
    pytest.mark.skipif(sandbox_program() is None, reason="bubblewrap is not installed"),
    pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed"),
]


class Case(msgspec.Struct, frozen=True):
    """`lay` is what the user has, `plant` what the command does, `git` what the user then types."""

    lay: str
    plant: str
    git: str = "git status"
    workspace: str = "."
    """Below the repository's own folder."""
    variable: str = ""
    """What names the folder `conf` of the workspace, or a file in it, as git's configuration."""


_EVIL = """evil() {
  mkdir -p "$(dirname "$1")"; printf '#!/bin/sh\ntouch %s\nexit 0\n' RAN > "$1"; chmod +x "$1"
}
"""
_COMMIT = "git commit -q --allow-empty -m x"
_CONFIG = "printf '[core]\\nrepositoryformatversion = 0\\nfsmonitor = \"touch RAN; false\"\\n'"
_REPOSITORY = (
    "mkdir -p @/objects @/refs; echo ref: refs/heads/x > @/HEAD; "
    f"{_CONFIG[:-1]}worktree = %\\nbare = false\\n' > @/config"
)

CASES = {
    "a hook that is a link into the workspace": Case(
        "mkdir scripts; echo > scripts/check; chmod +x scripts/check;"
        "ln -s ../../scripts/check .git/hooks/pre-commit",
        "rm -f scripts/check; evil scripts/check; mv scripts s; evil scripts/check",
        _COMMIT,
    ),
    "a hook that is a link to nothing": Case(
        "mkdir scripts; ln -s ../../scripts/check .git/hooks/pre-commit", "evil scripts/check", _COMMIT
    ),
    "hooks that are a link": Case(
        "rm -r .git/hooks; mkdir shared; ln -s ../shared .git/hooks", "evil shared/pre-commit", _COMMIT
    ),
    "a configuration that is a link": Case(
        "mv .git/config my-config; ln -s ../my-config .git/config", f"{_CONFIG} > my-config"
    ),
    "hooks in a folder with a comment behind it": Case(
        "mkdir h; printf '[core]\\nhooksPath = h # ours\\n' >> .git/config", "evil h/pre-commit", _COMMIT
    ),
    "hooks in a folder with another comment behind it": Case(
        "mkdir h; printf '[core]\\nhooksPath = \"h\" ; ours\\n' >> .git/config", "evil h/pre-commit", _COMMIT
    ),
    "hooks in a folder that is not there": Case(
        "git config core.hooksPath deep/er/hooks", "evil deep/er/hooks/pre-commit", _COMMIT
    ),
    "hooks below the home": Case("git config core.hooksPath '~/ws/h'", "evil h/pre-commit", _COMMIT),
    "hooks that an included file names": Case(
        "echo > team; git config include.path ../team; git config -f team core.hooksPath h",
        "evil h/pre-commit",
        _COMMIT,
    ),
    "hooks that a file names which an included file includes": Case(
        "git config include.path ../a; git config -f a include.path b; git config -f b core.hooksPath h",
        "evil h/pre-commit",
        _COMMIT,
    ),
    "an included file below the home": Case(
        "git config include.path '~/ws/team'; echo > team", f"{_CONFIG} > team"
    ),
    "an included file that is not there": Case("git config include.path ../team", f"{_CONFIG} > team"),
    "an included file in a folder that is not there": Case(
        "git config include.path ../conf/team", f"mkdir conf; {_CONFIG} > conf/team"
    ),
    "a file that is included on a condition": Case(
        "git config 'includeIf.gitdir:~/.path' ../team; echo > team", f"{_CONFIG} > team"
    ),
    "a monitor that is not there": Case("git config core.fsmonitor ./mon.sh", "evil mon.sh"),
    "a monitor in a folder that is not there": Case(
        "git config core.fsmonitor dev/mon.sh", "evil dev/mon.sh"
    ),
    "a monitor that a shell starts": Case(
        "echo > mon.sh; git config core.fsmonitor \"sh -c 'sh mon.sh' x\"", "evil mon.sh"
    ),
    "an editor": Case(
        "echo > p; chmod +x p; git config core.editor ./p", "evil p", "git commit -q --allow-empty"
    ),
    "an editor of a list": Case(
        "echo > p; git config sequence.editor 'sh ./p'", "evil p", f"{_COMMIT}; git rebase -i --root"
    ),
    "an alias": Case("echo > p; git config alias.st '!sh p'", "evil p", "git st"),
    "a filter": Case(
        "echo > f; git config filter.x.clean 'sh ./f %f'",
        "evil f; echo '* filter=x' > .gitattributes; echo > n",
        "git add n",
    ),
    "a signing program": Case(
        "echo > p; chmod +x p; git config gpg.program ./p; git config commit.gpgSign true", "evil p", _COMMIT
    ),
    "a signing program for ssh": Case(
        "echo > p; chmod +x p; git config gpg.format ssh; git config gpg.ssh.program ./p;"
        "git config user.signingKey /x; git config commit.gpgSign true",
        "evil p",
        _COMMIT,
    ),
    "a transport": Case(
        "echo > p; git config remote.origin.url x:y; git config remote.origin.uploadpack ./p;"
        "git config core.sshCommand 'sh ./p'",
        "evil p",
        "git fetch",
    ),
    "a remote of a local path": Case(
        "git init -q other; echo > p; chmod +x p; git config remote.origin.url ./other;"
        "git config remote.origin.uploadpack ./p",
        "evil p",
        "git fetch",
    ),
    "a helper of a remote": Case(
        "echo > p; git config remote.origin.url 'ext::sh ./p'; git config protocol.ext.allow always",
        "evil p",
        "git fetch",
    ),
    "a template's hooks": Case(
        "mkdir -p t/hooks; git config -f \"$HOME/.gitconfig\" init.templateDir '~/ws/t'",
        "evil t/hooks/post-checkout; rm -rf /tmp/x",
        "cd .. && git init -q fresh && cd fresh && git commit -q --allow-empty -m x && git checkout -q -b y",
    ),
    "a difference tool": Case(
        "echo > p; echo a > n; git add n; git config diff.external 'sh ./p'", "evil p; echo b > n", "git diff"
    ),
    "a difference driver": Case(
        "echo > p; echo a > n; git add n; git config diff.x.command 'sh ./p'",
        "evil p; echo b > n; echo 'n diff=x' > .gitattributes",
        "git diff",
    ),
    "a text conversion": Case(
        "echo > p; echo a > n; git add n; git config diff.x.textconv 'sh ./p'",
        "evil p; echo b > n; echo 'n diff=x' > .gitattributes",
        "git diff",
    ),
    "a trailer": Case(
        "echo > p; git config trailer.x.key X; git config trailer.x.command 'sh ./p'",
        "evil p",
        "echo m | git interpret-trailers --trailer x=1",
    ),
    "the configuration of all worktrees": Case(
        "git config extensions.worktreeConfig true; git config --worktree core.hooksPath h",
        "evil h/pre-commit",
        _COMMIT,
    ),
    "the user's own configuration": Case(
        'git config -f "$HOME/.gitconfig" core.hooksPath h', "evil h/pre-commit", _COMMIT
    ),
    "what the user's own configuration includes": Case(
        'git config -f "$HOME/.gitconfig" include.path more; git config -f "$HOME/more" core.hooksPath h',
        "evil h/pre-commit",
        _COMMIT,
    ),
    "the repository around the workspace": Case(
        "mkdir pkg; git config core.hooksPath pkg/h", "evil h/pre-commit", _COMMIT, workspace="pkg"
    ),
    "a monitor of the repository around the workspace": Case(
        "mkdir pkg; echo > pkg/mon; git config core.fsmonitor 'sh pkg/mon'", "evil mon", workspace="pkg"
    ),
    "a submodule of the repository around the workspace": Case(
        f"mkdir -p pkg/sub; git update-index --add --cacheinfo 160000,{'1' * 40},pkg/sub",
        _REPOSITORY.replace("@", "sub/.git").replace("%", "../"),
        workspace="pkg",
    ),
    "a submodule whose folder is not there": Case(
        f"git update-index --add --cacheinfo 160000,{'1' * 40},a/b/sub",
        _REPOSITORY.replace("@", "a/b/sub/.git").replace("%", "../"),
    ),
    "a submodule of a repository of longer names": Case(
        "rm -r .git; git init -q --object-format=sha256;"
        f"git update-index --add --cacheinfo 160000,{'1' * 64},sub; mkdir sub",
        _REPOSITORY.replace("@", "sub/.git").replace("%", "../"),
    ),
    "a submodule in a split index": Case(
        f"git update-index --add --cacheinfo 160000,{'1' * 40},sub; mkdir sub;git update-index --split-index",
        _REPOSITORY.replace("@", "sub/.git").replace("%", "../"),
    ),
    "a file that names a folder which is not there": Case(
        "rm -r .git; echo gitdir: real/git > .git", _REPOSITORY.replace("@", "real/git").replace("%", "../..")
    ),
    "a nested file that names a folder which is not there": Case(
        "mkdir n; echo gitdir: ../real > n/.git",
        _REPOSITORY.replace("@", "real").replace("%", "../n"),
        "cd n && git status",
    ),
    "a repository that the workspace itself is to be": Case(
        "rm -r .git", _REPOSITORY.replace("@", ".").replace("%", ".")
    ),
    "a repository that the workspace itself is": Case(
        "rm -r .git; git init -q --bare; git config core.bare false; git config core.worktree .",
        f"{_CONFIG[:-1]}worktree = .\\nbare = false\\n' > config",
    ),
    "the common folder of a worktree": Case(
        f"{_COMMIT}; mv .git real; git --git-dir=real worktree add -q wt; rm -rf .git",
        "printf '[core]\\nfsmonitor = \"touch RAN; false\"\\n' >> real/config",
        "cd wt && git status",
    ),
    "the configuration of a bare repository": Case(
        "git init -q --bare store; mkdir h; git -C store config core.hooksPath ../h",
        "evil h/pre-receive; evil h/update",
        f"{_COMMIT}; git push -q ./store HEAD:x",
    ),
    "a bare repository with links in it": Case(
        "git init -q --bare store; mv store/objects o; ln -s ../o store/objects",
        f"{_CONFIG[:-1]}worktree = ..\\nbare = false\\n' > store/config",
        "cd store && git status",
    ),
}


def _hook(body: str, script: str = "tools/check.sh", *, where: str = ".git/hooks/pre-commit") -> Case:
    """A hook of the user's that runs a script of the workspace, which a command then replaces."""
    lay = f"mkdir -p $(dirname {where}) $(dirname {script}); echo exit 0 > {script}; chmod +x {script};"
    write = f"cat > {where} <<'END'\n#!/bin/sh\n{body}\nEND\nchmod +x {where}\n"
    folder = script.partition("/")[0]
    plant = f"rm -f {script}; evil {script}; mv {folder} away; evil {script}"
    return Case(f"{lay}\n{write}", plant, _COMMIT)


_TOP = "$(git rev-parse --show-toplevel)"
HOOKS = {
    "as a program": _hook("./tools/check.sh"),
    "without a dot": _hook("tools/check.sh --fix"),
    "that is not there": msgspec.structs.replace(
        _hook("[ -x ./tools/check.sh ] && ./tools/check.sh; exit 0"),
        lay=_hook("[ -x ./tools/check.sh ] && ./tools/check.sh; exit 0").lay + "rm -r tools",
    ),
    "for a shell": _hook("sh tools/check.sh"),
    "for a shell with options": _hook("bash -e -o pipefail tools/check.sh"),
    "for Python": msgspec.structs.replace(
        _hook("python3 -W ignore tools/check.py", "tools/check.py"),
        plant='printf \'open("%s", "w")\n\' RAN > tools/check.py',
    ),
    "as a module of Python": msgspec.structs.replace(
        _hook("python3 -m tools.check", "tools/check.py"),
        plant='printf \'open("%s", "w")\n\' RAN > tools/check.py',
    ),
    "by exec": _hook('exec ./tools/check.sh "$@"'),
    "by a dot": _hook(". ./tools/check.sh"),
    "by a dot below its own folder": _hook('. "$(dirname "$0")/../../tools/check.sh"'),
    "after cd": _hook("cd tools && ./check.sh"),
    "after cd to the top": _hook(f'cd "{_TOP}/tools"\n./check.sh'),
    "from the top": _hook(f'"{_TOP}"/tools/check.sh'),
    "from the top that a variable has": _hook(f'ROOT="{_TOP}"\n"$ROOT/tools/check.sh"'),
    "that a variable has": _hook('SCRIPT=tools/check.sh\nsh "$SCRIPT"'),
    "from where it runs": _hook('"$PWD/tools/check.sh"'),
    "in a function": _hook("check() {\n  tools/check.sh\n}\ncheck"),
    "in a branch": _hook('if true; then\n  case "$0" in *) tools/check.sh;; esac\nfi'),
    "in a pipe": _hook("echo x | xargs ./tools/check.sh"),
    "in a text for a shell": _hook("env X=1 timeout 20 sh -c 'tools/check.sh'"),
    "in a substitution": _hook('said="$(tools/check.sh)"'),
    **{
        f"by {body}": _hook(body)
        for body in (
            *("for s in tools/check.sh; do sh $s; done", 'for s in ./tools/check.sh; do "$s"; done'),
            *('for s in tools/*.sh; do sh "$s"; done', "ls tools/*.sh | while read s; do sh $s; done"),
            *("sh < tools/check.sh", "cat tools/check.sh | sh", "sh -s < ./tools/check.sh"),
            *('run() { "$@"; }; run ./tools/check.sh', "sh -c 'exec \"$0\"' ./tools/check.sh"),
            *("PATH=tools:$PATH check.sh", 'export PATH="$PWD/tools:$PATH"; check.sh'),
            *(
                "CHECK=${CHECK:-./tools/check.sh}; $CHECK",
                "${CHECK:-./tools/check.sh}",
                "run-parts --regex . tools",
            ),
            *('sh "$(dirname "$(readlink -f "$0")")/../../tools/check.sh"', "T=${T:=tools}; $T/check.sh"),
            *("$(git rev-parse --git-dir)/../tools/check.sh", "cp tools/check.sh .git/q.sh; sh .git/q.sh"),
        )
    },
    "that another script runs": msgspec.structs.replace(
        _hook("sh first.sh"), lay=_hook("sh first.sh").lay + "echo ./tools/check.sh > first.sh"
    ),
    "in a hook of another language": msgspec.structs.replace(
        _hook("x"),
        lay=_hook("x").lay
        + "printf '#!/usr/bin/env python3\\nimport os\\nos.system(\"sh tools/check.sh\")\\n'"
        " > .git/hooks/pre-commit",
    ),
    "in a hook in a folder of the workspace": msgspec.structs.replace(
        _hook("./tools/check.sh", where="h/pre-commit"),
        lay=_hook("./tools/check.sh", where="h/pre-commit").lay + "git config core.hooksPath h",
    ),
    "in a hook as husky lays it": msgspec.structs.replace(
        _hook("./tools/check.sh", where=".husky/pre-commit"),
        lay=_hook("./tools/check.sh", where=".husky/pre-commit").lay
        + "mkdir .husky/_; git config core.hooksPath .husky/_;"
        'printf \'#!/bin/sh\\nsh -e "$(dirname "$(dirname "$0")")/$(basename "$0")"\\n\''
        " > .husky/_/pre-commit; chmod +x .husky/_/pre-commit",
    ),
    "in the hook of the user's own configuration": msgspec.structs.replace(
        _hook("./tools/check.sh", where="../home-hooks/pre-commit"),
        lay=_hook("./tools/check.sh", where="../home-hooks/pre-commit").lay
        + "git config -f \"$HOME/.gitconfig\" core.hooksPath '~/home-hooks'",
    ),
}
CASES |= {
    f"{what} that {variable} names": Case(
        f"mkdir -p {os.path.dirname(file)}; git config -f {file} {lay}",
        plant.replace("@", file),
        git,
        ".",
        variable,
    )
    for variable, file in {
        "GIT_CONFIG_GLOBAL": "conf/file",
        "GIT_CONFIG_SYSTEM": "conf/file",
        "XDG_CONFIG_HOME": "conf/git/config",
    }.items()
    for what, lay, plant, git in (
        ("the configuration", "x.y z", f"{_CONFIG} > @", "git status"),
        ("the hooks in a configuration", "core.hooksPath h", "evil h/pre-commit", _COMMIT),
        ("a program in a configuration", "core.fsmonitor ./mon.sh", "evil mon.sh", "git status"),
        ("an included file of a configuration", "include.path ~/ws/more", f"{_CONFIG} > more", "git status"),
    )
}
CASES |= {f"a script that a hook names {how}": case for how, case in HOOKS.items()}
_REBASE = f"{_COMMIT}; {_COMMIT}; git rebase -q -i HEAD~1"
_ASKS = r"printf 'protocol=https\nhost=h\n\n' | git credential fill"
_DIFF = "git add f; echo x >> f; git diff"
VARIABLES = {
    "GIT_EDITOR": "git commit -q --allow-empty",
    "EDITOR": "TERM=xterm git commit -q --allow-empty",
    "VISUAL": "TERM=xterm git commit -q --allow-empty",
    "GIT_SEQUENCE_EDITOR": _REBASE,
    "GIT_EXTERNAL_DIFF": _DIFF,
    "GIT_SSH": "git fetch ssh://h/x",
    "GIT_SSH_COMMAND": "git fetch ssh://h/x",
    "GIT_PROXY_COMMAND": "git fetch git://h/x",
    "GIT_ASKPASS": _ASKS,
    "SSH_ASKPASS": _ASKS,
}
"""By a variable of the user's that names a script of the workspace: what starts it."""
CASES |= {
    f"a script that {variable} names": Case(
        "mkdir tools; echo > tools/run.sh; chmod +x tools/run.sh; echo x > f",
        "rm -f tools/run.sh; mv tools t; evil tools/run.sh",
        git,
        ".",
        variable,
    )
    for variable, git in VARIABLES.items()
}
CASES["hooks that GIT_TEMPLATE_DIR names"] = Case(
    "mkdir -p tools/hooks", "evil tools/hooks/post-commit", f"git init -q sub; cd sub; {_COMMIT}", ".",
    "GIT_TEMPLATE_DIR",
)  # fmt: skip
CASES["hooks that GIT_CONFIG_VALUE_1 names"] = Case(
    "mkdir tools; echo > tools/run.sh", "rm tools/run.sh; evil tools/pre-commit", _COMMIT, ".",
    "GIT_CONFIG_VALUE_1",
)  # fmt: skip


OWNERS = [NOBODY, pytest.param(0, marks=pytest.mark.soak)] if os.geteuid() == 0 else [os.geteuid()]


@pytest.mark.parametrize("place", OWNERS, indirect=True, ids=lambda owner: "root" if owner == 0 else "user")
@pytest.mark.parametrize("name", CASES)
async def test_nothing_that_a_command_wrote_is_run_by_the_users_git(
    place: Place, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    case, repository, ran = CASES[name], place.ws, place.base / "ran"
    monkeypatch.setenv("HOME", str(place.base))
    if case.variable:
        monkeypatch.setenv(case.variable, _find_value(place, case.variable))
        monkeypatch.setenv("GIT_CONFIG_COUNT", "2")
        monkeypatch.setenv("GIT_CONFIG_KEY_1", "core.hooksPath" if "VALUE" in case.variable else "x.y")
    _lay(place, case)
    place.ws = repository / case.workspace
    done = await place.run(Mode.WORKSPACE, (_EVIL + case.plant).replace("RAN", str(ran)) + "; touch fine")
    assert (place.ws / "fine").exists(), done.output
    said = _run(place, repository, case.git, case.variable)
    assert not ran.exists(), f"{done.output}\n{said}"


async def test_a_workspace_does_not_become_a_repository_step_by_step(place: Place) -> None:
    case = CASES["a repository that the workspace itself is to be"]
    ran = place.base / "ran"
    _lay(place, case)
    for step in case.plant.replace("RAN", str(ran)).split("; ", 1):
        assert (await place.run(Mode.WORKSPACE, step)).exit_code == 0
    for step in ("mv objects o", "mv HEAD* HEAD", "mkdir objects"):
        assert (await place.run(Mode.WORKSPACE, step)).exit_code == 0
    assert "not a git repository" in _run(place, place.ws, "git status")
    assert not ran.exists()


@pytest.mark.soak
@pytest.mark.parametrize("place", [os.geteuid()], indirect=True)
@pytest.mark.parametrize("name", CASES)
def test_these_would_run(place: Place, name: str) -> None:
    """Without the sandbox each of them does: what is shown above is not that git was misunderstood."""
    case, repository, ran = CASES[name], place.ws, place.base / "ran"
    _lay(place, case)
    _run(place, repository / case.workspace, (_EVIL + case.plant).replace("RAN", str(ran)))
    said = _run(place, repository, case.git, case.variable)
    assert ran.exists(), said


@pytest.mark.parametrize("place", [os.geteuid()], indirect=True)
@pytest.mark.parametrize("name", HOOKS)
def test_no_file_tool_writes_what_a_hook_runs(
    place: Place, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("HOME", str(place.base))
    _lay(place, HOOKS[name])
    root = Root(place.ws)
    script = "tools/check.py" if "Python" in name else "tools/check.sh"
    with pytest.raises(WorkspaceError) as refused, root.writing(script):
        pass
    assert refused.value.err.kind is ErrorKind.PROTECTED_PATH
    with root.writing("src/main.sh") as slot:
        slot.replace(b"fine", None)


DATA = [
    "npx lint-staged", "cat src/main.sh | python3 -c 'import sys'", "shellcheck src/*.sh",
    "black src/main.sh",
    "for f in src/*.sh; do shellcheck $f; done", "ls src/*.sh | while read f; do bash -n $f; grep x $f; done",
    "for f in $(git diff --cached --name-only); do cat $f; done", "python3 -m py_compile src/main.sh",
    "PATH=node_modules/.bin:$PATH eslint .", 'export PATH="$PWD/.venv/bin:$PATH"; pytest',
    "cat < src/main.sh",
    "git diff --cached -- src/main.sh", "wc -l < src/main.sh", "cp src/main.sh.in src/other; make test",
    "sh -c 'cat \"$1\"' sh src/main.sh", "python3 -c 'print(1)' < src/main.sh",
    "jq . package.json | sh -c cat",
]  # fmt: skip
"""Hooks that read files of the workspace, and do not run them."""


@pytest.mark.parametrize("place", [os.geteuid()], indirect=True)
def test_what_a_hook_only_reads_stays_writable(place: Place) -> None:
    _lay(place, Case("mkdir -p src node_modules/.bin .venv/bin; echo > src/main.sh; echo > package.json", ""))
    for body in DATA:
        hook = place.ws / ".git/hooks/pre-commit"
        hook.unlink(missing_ok=True)
        hook.write_text(f"#!/bin/sh\n{body}\n")
        for file in ("src/main.sh", "src/new.sh", "package.json", "node_modules/.bin/x", ".venv/bin/y"):
            assert not is_obeyed(str(place.ws / file), str(place.ws)), f"{body}: {file}"


@pytest.mark.parametrize("place", [os.geteuid()], indirect=True)
@pytest.mark.parametrize("is_repository", [True, False])
@pytest.mark.parametrize("variable", ["GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "XDG_CONFIG_HOME"])
def test_no_file_tool_writes_the_configuration_that_a_variable_names(
    place: Place, monkeypatch: pytest.MonkeyPatch, variable: str, is_repository: bool
) -> None:
    monkeypatch.setenv(variable, _find_value(place, variable))
    _lay(place, Case("" if is_repository else "rm -r .git", ""))
    file = "conf/git/config" if variable.startswith("XDG") else "conf/file"
    with pytest.raises(WorkspaceError, match="run or read by the user's git"), Root(place.ws).writing(file):
        pass


@pytest.mark.parametrize("place", [os.geteuid()], indirect=True)
@pytest.mark.parametrize(
    ("hook", "files"),
    [
        (
            "lefthook run pre-commit",
            ("lefthook.yml", "lefthook-local.yml", ".lefthook/pre-commit/x", "tools/x.sh"),
        ),
        (
            "exec pre-commit hook-impl --config=.pre-commit-config.yaml",
            (".pre-commit-config.yaml", "tools/x.sh"),
        ),
    ],
    ids=["lefthook", "pre-commit"],
)
def test_no_file_tool_writes_what_a_program_for_hooks_reads(
    place: Place, hook: str, files: tuple[str, ...]
) -> None:
    config = "      - run: sh tools/x.sh\n" if "lefthook" in hook else "    entry: ./tools/x.sh --fast\n"
    _lay(place, Case(f"echo '{hook}' > .git/hooks/pre-commit; printf '{config}' > {files[0]}", ""))
    for file in files:
        with pytest.raises(WorkspaceError), Root(place.ws).writing(file):
            pass
    with Root(place.ws).writing("tools/y.sh") as slot:
        slot.replace(b"fine", None)


def _lay(place: Place, case: Case) -> None:
    shutil.rmtree(place.ws)
    place.ws.mkdir()
    _run(place, place.ws, "git init -q; " + case.lay)
    owner = place.base.stat()
    for path in (place.base, *place.base.rglob("*")):
        os.chown(path, owner.st_uid, owner.st_gid, follow_symlinks=False)


def _find_value(place: Place, variable: str) -> str:
    if variable in ("GIT_TEMPLATE_DIR", "GIT_CONFIG_VALUE_1"):
        return str(place.base / "ws/tools")
    if variable in VARIABLES:
        return str(place.base / "ws/tools/run.sh")
    return str(place.base / "ws/conf" / ("" if variable.startswith("XDG") else "file"))


def _run(place: Place, folder: Path, script: str, variable: str = "") -> str:
    """As the owner, who trusts the folder."""
    names = ("AUTHOR", "COMMITTER")
    environment = {
        "PATH": "/usr/bin:/bin",
        "HOME": str(place.base),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "safe.directory",
        "GIT_CONFIG_VALUE_0": "*",
        **{f"GIT_{name}_{what}": "x@y" for name in names for what in ("NAME", "EMAIL")},
    }
    if variable:
        environment[variable] = _find_value(place, variable)
    if variable == "GIT_CONFIG_VALUE_1":
        environment |= {"GIT_CONFIG_COUNT": "2", "GIT_CONFIG_KEY_1": "core.hooksPath"}
    if variable == "GIT_CONFIG_SYSTEM":
        del environment["GIT_CONFIG_NOSYSTEM"]
    done = subprocess.run(
        ["/bin/sh", "-c", script],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    return done.stdout + done.stderr


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("sub/.git", "gitdir: ../a\0b\n"),
        ("sub/.git/commondir", "../a\0b\n"),
        ("sub/.git/config", "[include]\n\tpath = ../a\0b\n"),
        ("sub/.git/config", '[includeIf "gitdir:x"]\n\tpath = a\0b\n'),
        ("sub/.git/config", "[core]\n\thooksPath = a\0b\n\tfsmonitor = ./a\0b\n\tattributesFile = a\0b\n"),
        ("sub/.git/config.worktree", "[core]\n\tpager = ./a\0b\n"),
        ("sub/.git/hooks/pre-commit", "#!/bin/a\0b\n./run\0it.sh\n"),
        ("sub/.git/hooks/post-merge", "#!/usr/bin/env python3\nopen('x/a\0b.py')\n"),
    ],
)
def test_a_nul_in_a_file_of_gits_keeps_no_command_from_running(tmp_path: Path, file: str, text: str) -> None:
    from planck.workspace.git.repository import places_of

    git = tmp_path / "sub/.git"
    (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
    if git.is_dir():
        (git / "HEAD").write_text("ref: refs/heads/main\n")
    (tmp_path / file).write_text(text)
    places = [*places_of(str(git), str(git.parent), (str(tmp_path),))]
    assert all("\0" not in place for place in places)
