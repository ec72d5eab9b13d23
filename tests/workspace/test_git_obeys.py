"""What the user's next git would run, and the ways in which a confined command tries to be that."""

import os
import shutil
import subprocess
from pathlib import Path

import msgspec
import pytest

from planck.records.authority import Mode
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


OWNERS = [NOBODY, pytest.param(0, marks=pytest.mark.soak)] if os.geteuid() == 0 else [os.geteuid()]


@pytest.mark.parametrize("place", OWNERS, indirect=True, ids=lambda owner: "root" if owner == 0 else "user")
@pytest.mark.parametrize("name", CASES)
async def test_nothing_that_a_command_wrote_is_run_by_the_users_git(
    place: Place, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    case, repository, ran = CASES[name], place.ws, place.base / "ran"
    monkeypatch.setenv("HOME", str(place.base))
    _lay(place, case)
    place.ws = repository / case.workspace
    done = await place.run(Mode.WORKSPACE, (_EVIL + case.plant).replace("RAN", str(ran)) + "; touch fine")
    assert (place.ws / "fine").exists(), done.output
    said = _run(place, repository, case.git)
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
    said = _run(place, repository, case.git)
    assert ran.exists(), said


def _lay(place: Place, case: Case) -> None:
    shutil.rmtree(place.ws)
    place.ws.mkdir()
    _run(place, place.ws, "git init -q; " + case.lay)
    owner = place.base.stat()
    for path in (place.base, *place.base.rglob("*")):
        os.chown(path, owner.st_uid, owner.st_gid, follow_symlinks=False)


def _run(place: Place, folder: Path, script: str) -> str:
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
