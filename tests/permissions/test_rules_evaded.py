"""Ways past a rule that denies a command: other names of it, aliases, launchers and scripts."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from planck.permissions import scripts
from planck.permissions.rules import Decision, apply_rules, load
from planck.shell import reach
from planck.shell.plain import Segment
from planck.shell.reach import Reach
from tests.command import FULL, Bench
from tests.wire import chat
from tests.wire.server import WireServer

RULES = [{"tool": "bash", "command": command, "decision": "deny"} for command in ("git push", "npm publish")]
ALLOW = {"tool": "bash", "decision": "allow"}
SAME = [
    "git push origin main", "git -C sub push", "git-push", "/usr/lib/git-core/git-push x", "git send-pack x",
    "git-send-pack x", "git http-push x", "git subtree push -P a b c", "git --no-pager send-pack x",
    "npm publish", "npm publish --access public", "npm --prefix x publish",
]  # fmt: skip
"""Spellings that do what the rules deny, whatever is configured."""
PERHAPS = [
    "git p", "git -c alias.p=push p", "git -C x p y", "git remote-https x", "git-p", "npm publ", "npm pub",
    "npm pu", "npm --prefix x publ", "npm no-such-verb",
]  # fmt: skip
"""Spellings that may do it: an alias, an abbreviation, a verb that nobody knows."""
LAUNCHERS = [
    "", "env ", "sudo ", "nohup ", "timeout 5 ", "gtimeout 5 ", "genv A=1 ", "gnice -n 5 ", "gxargs -n1 ",
    "systemd-inhibit ", "systemd-inhibit --why x ", "flock lock ", "nice env ", "X=1 command ",
    "mise x -- ", "nix develop -c ",
]  # fmt: skip
UNKNOWN = [
    "pnpm ", "yarn ", "uv ", "gh x ", "cargo watch ", "ssh-agent ", "dotenv ", "dotenv -f .env -- ",
    "op run -- ", "made-up ", "made-up --flag value ",
]  # fmt: skip


HANDED = [
    "ssh-agent {}", "sops exec-env secrets.env '{}'", "made-up -c '{}'", "made-up --command='{}'",
    "kubectl exec pod -- {}", "docker run image {}", "vagrant ssh -c '{}'", "pee '{}'", "capsh -- -c '{}'",
]  # fmt: skip
"""Programs that nobody knows, or that run another one, with a command line in their words."""


def judge(command: str, folder: str = "") -> Decision | None:
    """What rules that deny say of a command; one that allows everything else changes nothing of that."""
    args = {"command": command}
    found = apply_rules(load(RULES, "test"), "bash", args, folder).decision
    allowed = apply_rules(load([ALLOW, *RULES], "test"), "bash", args, folder).decision
    assert found is None or allowed is found
    return found


EXPANDED = [
    "foo g?t push", "doppler run -- /usr/bin/g?t push", "doppler run -- $X push", "made-up ${X} -C sub push",
    'made-up "$TOOL" push origin', "made-up n*m publish", "made-up `which git` push",
    "made-up $(which npm) publish",
]  # fmt: skip
UNRELATED = [
    'made-up "$file"', "made-up $in $out", "made-up *.py out.txt", "made-up $X pull", "made-up push $X",
    "made-up -o $out build",
]  # fmt: skip


def test_a_denied_verb_behind_a_name_that_the_shell_expands_asks() -> None:
    assert {command: judge(command) for command in EXPANDED} == dict.fromkeys(EXPANDED, Decision.ASK)
    assert {command: judge(command) for command in UNRELATED} == dict.fromkeys(UNRELATED)


@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_another_name_of_a_denied_command_is_denied_behind_every_launcher(launcher: str) -> None:
    assert {command: judge(launcher + command) for command in SAME} == dict.fromkeys(SAME, Decision.DENY)


@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_what_may_be_a_denied_command_is_asked_about_behind_every_launcher(launcher: str) -> None:
    assert {command: judge(launcher + command) for command in PERHAPS} == dict.fromkeys(PERHAPS, Decision.ASK)


@pytest.mark.parametrize("launcher", UNKNOWN)
def test_a_denied_command_behind_a_program_that_nobody_knows_is_asked_about(launcher: str) -> None:
    assert {command: judge(launcher + command) for command in SAME} == dict.fromkeys(SAME, Decision.ASK)


@pytest.mark.parametrize(
    "command",
    [
        "git config alias.p push; git p",
        "GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=alias.p GIT_CONFIG_VALUE_0=push git p",
        *(line.format("git push") for line in HANDED),
        *(line.format("sh -c 'npm publish'") for line in HANDED if "'" not in line),
        *("ssh-agent sh deploy.sh", "kubectl exec pod -- bash ./deploy.sh", "gh alias set p '!git push'"),
        *("sqlite3 x <<< '.shell git push'", "pnpm run publish && yarn npm publish", "/dev/fd/3 3< x.sh"),
        *(f"{name} deploy.x" for name in ("tsx", "ts-node", "nu", "xonsh", "elixir", "groovy", "powershell")),
    ],
)
def test_what_may_be_a_denied_command_is_asked_about(command: str) -> None:
    assert judge(command) is Decision.ASK


INNOCENT = [
    "grep -r 'git push' .", "echo git push", "git log --grep push", "git commit -m 'npm publish'", "rg push",
    "git stash push", "npm run build", "git status", "git log push", "npm ci", "npm i left-pad", "npm t",
    "git stash", "git remote -v", "git config user.name x", "made-up push", "made-up --git push",
    "cat git push", "pytest tests/git push", "npm view publish", "git branch push", ".venv/bin/pytest -q",
    "./gradlew test", "pnpm add git", "uv pip list", "cargo +nightly build", "kubectl get push", "pip3 list",
    "yarn build", "npx eslint@9 .", "gh pr list", "made-up completion bash", "docker compose up -d",
]  # fmt: skip


@pytest.mark.parametrize("command", INNOCENT)
def test_an_innocent_command_is_neither_denied_nor_asked_about(command: str, tmp_path: Path) -> None:
    assert judge(command, str(tmp_path)) is None


FAMILIES = {
    "git push --force": {
        Decision.DENY: ["git push --force", "git send-pack --force x", "git -C x push origin --force"],
        Decision.ASK: ["git push -f", "git push origin +main", "git push --forc", "git p"],
        None: ["git push", "git push origin main", "git status"],
    },
    "git reset --hard": {
        Decision.DENY: ["git reset HEAD --hard"],
        Decision.ASK: ["git reset --har", "git rese --hard"],
        None: ["git reset --soft HEAD", "git reset file"],
    },
    "git worktree remove": {
        Decision.DENY: ["git worktree remove x", "git-worktree remove x"],
        None: ["git worktree list", "git worktree add x"],
    },
    "gh pr merge": {Decision.DENY: ["gh pr merge 1"], Decision.ASK: ["gh p 1"], None: ["gh pr list"]},
    "npm run deploy": {
        Decision.DENY: ["npm run-script deploy", "npm rum deploy", "npm --prefix x run deploy"],
        None: ["npm run build", "npm test"],
    },
    "npm test": {Decision.DENY: ["npm t", "npm run test", "npm run-script test"], None: ["npm run build"]},
    "npm install": {Decision.DENY: ["npm i", "npm it", "npm install-test", "npm add x"], None: ["npm ci"]},
    "npm publish": {
        Decision.DENY: ["npx npm@latest publish", "npx -y npm@9 publish", "npm exec npm@latest publish"],
        Decision.ASK: ["npm.cmd publish", "corepack npm publish", "npm stage publish"],
        None: ["npm pack", "npm ci"],
    },
    "cargo publish": {
        Decision.DENY: ["cargo +nightly publish", "cargo --locked publish", "cargo-publish"],
        Decision.ASK: ["cargo pub", "cargo p", "rustup run stable cargo publish", "cargo ws publish"],
        None: ["cargo +nightly build", "cargo fmt", "cargo clippy", "cargo test publish"],
    },
    "docker push": {
        Decision.DENY: [
            "docker image push x", "docker -H x push y", "docker compose push", "docker-compose push",
            "docker manifest push x",
        ],
        Decision.ASK: ["docker pus x", "docker no-such push"],
        None: ["docker ps", "docker image ls", "docker pull x", "docker-compose up"],
    },
    "kubectl delete": {
        Decision.DENY: ["kubectl -n x delete pod", "kubectl --as me delete pod", "kubectl -v 5 delete pod"],
        Decision.ASK: ["k3s kubectl delete pod", "kubectl no-such pod"],
        None: ["kubectl get pods", "kubectl logs delete"],
    },
    "helm uninstall": {Decision.DENY: ["helm delete x", "helm -n x un y"], None: ["helm list"]},
    "pip install": {
        Decision.DENY: ["pip -q install x"],
        Decision.ASK: ["pip3 install x", "pip3.11 install x", "uv pip install x", "python3 -m pip install x"],
        None: ["pip3 list", "uv pip list", "uv add install"],
    },
    "aws s3 rm": {Decision.ASK: ["aws --profile x s3 rm y"], None: ["aws s3 ls", "aws --profile x s3 ls"]},
    "rm -rf": {Decision.DENY: ["rm -r -f x"], Decision.ASK: ["grm -rf x", "rm -Rf x"], None: ["rm x"]},
    "cat .env": {Decision.DENY: ["cat .env"], Decision.ASK: ["cat x .env"], None: ["cat x"]},
    "jj git push": {Decision.DENY: ["jj git push"], None: ["jj git fetch", "git push"]},
}  # fmt: skip
"""By a rule that denies: what it denies, what may be that, and what the same program may do."""


@pytest.mark.parametrize("denied", FAMILIES)
def test_a_rule_holds_for_each_spelling_of_its_command_and_for_no_other_command(denied: str) -> None:
    rules = load([{"tool": "bash", "command": denied, "decision": "deny"}], "test")
    for decision, commands in FAMILIES[denied].items():
        found = {command: apply_rules(rules, "bash", {"command": command}).decision for command in commands}
        assert found == dict.fromkeys(commands, decision)


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)


SCRIPTS = {
    "git push": Decision.DENY,
    "#!/bin/sh\ncd x\ngit push origin": Decision.DENY,
    "#!/usr/bin/env bash\nif true; then git-push; fi": Decision.DENY,
    "#!/usr/bin/env -S bash -e\ngit send-pack x": Decision.DENY,
    "./tools/inner.sh": Decision.DENY,
    "#!/bin/busybox sh\ngit push": Decision.DENY,
    "#!/bin/sh\ngit push\n\0": Decision.DENY,
    '#!/bin/sh\nset -eu\ncd "$(dirname "$0")"\n./tools/inner.sh': Decision.DENY,
    "cd tools\n./inner.sh": Decision.DENY,
    'cd "$WHERE"\n./inner.sh': Decision.ASK,
    "echo git push > new.sh\n./new.sh": Decision.ASK,
    "cp evil new.sh\n./new.sh": Decision.ASK,
    "\n".join(f"./many-{number}.sh" for number in range(90)): Decision.ASK,
    "ls > log.txt\necho '-> done'\n./clean.sh 2>&1 | tail": None,
    "git p": Decision.ASK,
    "made-up git push": Decision.ASK,
    "$TOOL push": Decision.ASK,
    "#!/bin/sh\n" + "# long\n" * 20_000: Decision.ASK,
    "#!/bin/sh\nset -e\nnpm run build\npytest -q": None,
    "#!/usr/bin/env python3\nimport os": None,
}
LINES = [
    *("./x.sh", "tools/../x.sh a", "timeout 5 ./x.sh", "chmod +x x.sh && ./x.sh", "{}/x.sh"),
    *("cd tools && ../x.sh", "/usr/..{}/x.sh", "bash -c ./x.sh", "./x.sh > log.txt 2>&1", "./x.sh | tail -5"),
    *("./x.sh | tee log.txt", "./x.sh && git status"),
]


@pytest.mark.parametrize("number", range(len(SCRIPTS)))
def test_a_script_of_the_workspace_is_read_as_the_command_line_is(tmp_path: Path, number: int) -> None:
    text, decision = [*SCRIPTS.items()][number]
    write(tmp_path / "x.sh", text)
    write(tmp_path / "clean.sh", "ls")
    for folder in ("tools", "tools/tools"):
        write(tmp_path / folder / "inner.sh", "exec git push")
    for chained in range(text.count("many-")):
        write(tmp_path / f"many-{chained}.sh", "ls")
    lines = [line.format(tmp_path) for line in LINES]
    assert {line: judge(line, str(tmp_path)) for line in lines} == dict.fromkeys(lines, decision)


@pytest.mark.parametrize(
    "line",
    ["echo git push > x.sh; ./x.sh", "cp evil x.sh && ./x.sh", "cd $WHERE && ./x.sh", "cd a; cd b; ./x.sh",
     "printf x | tee x.sh; ./x.sh", "echo x > $FILE; ./x.sh", "./x.sh & cp evil x.sh",
     "sort -o x.sh y; ./x.sh",
     "sh -c 'echo git push > x.sh'; ./x.sh", "cat > x.sh <<'X'\ngit push\nX\n./x.sh", "git pull; ./x.sh",
     "while :; do ./x.sh; cp evil x.sh; done", "cd a; echo git push > ../x.sh; ../x.sh",
     "pushd a; ./x.sh", "env -C a ./x.sh", "find a -execdir ./x.sh \\;", "git submodule foreach ./x.sh"],
)  # fmt: skip
def test_a_script_that_the_line_itself_may_change_is_asked_about(tmp_path: Path, line: str) -> None:
    write(tmp_path / "x.sh", "ls")
    assert judge(line, str(tmp_path)) is Decision.ASK


def test_a_link_to_a_denied_program_or_a_copy_of_it_is_noticed(tmp_path: Path) -> None:
    (tmp_path / "tool").symlink_to("/usr/bin/git")
    (tmp_path / "copy").write_bytes(b"\x7fELF\0")
    os.mkfifo(tmp_path / "pipe")
    assert judge("./tool push", str(tmp_path)) is Decision.DENY
    assert judge("./copy push", str(tmp_path)) is Decision.ASK
    assert judge("./copy status", str(tmp_path)) is None
    assert judge("./pipe", str(tmp_path)) is None
    assert judge("./missing", str(tmp_path)) is None


@pytest.mark.parametrize("launcher", ["ssh-agent", "dotenv -f .env", "made-up --", "made-up -c"])
def test_a_script_behind_a_program_that_nobody_knows_is_asked_about(tmp_path: Path, launcher: str) -> None:
    write(tmp_path / "x.sh", "git push")
    write(tmp_path / "clean.sh", "ls")
    assert judge(f"{launcher} ./x.sh", str(tmp_path)) is Decision.ASK
    assert judge(f"{launcher} ./clean.sh", str(tmp_path)) is None


@pytest.mark.parametrize("kind", ["folder", "link to a folder", "pipe", "loop", "nothing"])
def test_what_is_named_like_a_script_and_holds_no_text_is_no_script(tmp_path: Path, kind: str) -> None:
    (tmp_path / "sub").mkdir()
    make: dict[str, Callable[[Path], object]] = {
        "folder": lambda path: path.mkdir(),
        "link to a folder": lambda path: path.symlink_to("sub"),
        "pipe": os.mkfifo,
        "loop": lambda path: path.symlink_to(path.name),
    }
    if kind in make:
        make[kind](tmp_path / "x")
    before = len(os.listdir("/proc/self/fd"))
    assert [judge(line, str(tmp_path)) for line in ("./x", "./x a && ls", "tini ./x")] == [None] * 3
    assert judge("./x; git push", str(tmp_path)) is Decision.DENY
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_script_that_changes_between_two_calls_is_judged_as_it_is(tmp_path: Path) -> None:
    script = tmp_path / "x.sh"
    write(script, "git pull")
    for _ in range(50):  # faster than a file's times count, in place and of the same length
        script.write_text("git push")
        assert judge("./x.sh", str(tmp_path)) is Decision.DENY
        script.write_text("git pull")
        assert judge("./x.sh", str(tmp_path)) is None


def test_a_script_that_says_the_same_is_understood_once_however_new_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []

    def find_reach(text: str, parts: tuple[Segment, ...] | None) -> Reach:
        read.append(text)
        return reach.find_reach(text, parts)

    monkeypatch.setattr(scripts, "find_reach", find_reach)
    text = f"git pull {tmp_path}"  # that of no other test
    write(tmp_path / "x.sh", text)
    assert [judge("./x.sh", str(tmp_path)) for _ in range(3)] == [None] * 3
    assert read == [text]
    write(tmp_path / "x.sh", "git push origin")
    assert judge("./x.sh", str(tmp_path)) is Decision.DENY
    write(tmp_path / "new", "git pull origin")
    os.utime(tmp_path / "new", ns=(0, os.stat(tmp_path / "x.sh").st_mtime_ns))
    os.rename(tmp_path / "new", tmp_path / "x.sh")
    assert judge("./x.sh", str(tmp_path)) is None
    write(tmp_path / "y.sh", text)
    assert judge("./y.sh", str(tmp_path)) is None
    assert read.count(text) == 1


def test_scripts_that_start_each_other_without_an_end_are_read_once(tmp_path: Path) -> None:
    write(tmp_path / "a.sh", "./b.sh\n./b.sh")
    write(tmp_path / "b.sh", "./a.sh\n./a.sh")
    for number in range(9):
        write(tmp_path / f"deep-{number}.sh", f"./deep-{number + 1}.sh")
    write(tmp_path / "deep-9.sh", "git push")
    assert judge("./a.sh", str(tmp_path)) is None
    assert judge("./deep-0.sh", str(tmp_path)) is Decision.DENY


async def test_a_real_alias_and_a_real_script_do_not_push(tmp_path: Path) -> None:
    """In mode `full`, where nothing but the rules stands between a model and the remote."""
    make = "git init -q --bare remote && git init -q . && git commit -q --allow-empty -m x"
    denied = ["git p remote HEAD:refs/heads/pushed", "./x.sh", "git-push remote HEAD"]
    lines = [make, "git config alias.p push", *denied]
    script = [*(chat.calls(("bash", {"command": line})) for line in lines), chat.text("done")]
    async with WireServer(script) as server:
        bench = Bench(tmp_path, server.url, permissions={"rules": RULES})
        write(bench.work / "x.sh", "#!/bin/sh\ngit push remote HEAD:refs/heads/pushed\n")
        people = ("GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL")
        done = await bench.run(
            "run", "go", *FULL, "--output-format", "json", env=dict.fromkeys(people, "a@b.c")
        )
    assert [*(bench.work / "remote" / "refs" / "heads").iterdir()] == []
    assert len(done.result["denials"]) == len(denied), done.out
