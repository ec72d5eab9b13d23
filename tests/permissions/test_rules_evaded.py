"""Ways past a rule that denies a command: other names of it, aliases, launchers and scripts."""

import json
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
    '#!/bin/sh\nAPP=`dirname "$0"`\neval set -- $OPTS\nexec "$JAVA" -jar "$APP/x.jar" "$@"': None,
    "#!/bin/sh\nsource .venv/bin/activate\npython tools/x.py\nmake all && node x.js": None,
    "#!/bin/sh\nmake push": Decision.ASK,
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


@pytest.mark.parametrize("rule", ["rm", "rm -rf", "git reset --hard", "sudo", "docker push", "npm publish"])
def test_a_script_is_not_asked_about_for_what_it_has_no_word_of(tmp_path: Path, rule: str) -> None:
    write(
        tmp_path / "run.sh", '#!/bin/sh\nfor arg in "$@"; do eval `echo a$i`="$arg"; done\nexec "$JAVA" "$@"'
    )
    rules = load([{"tool": "bash", "command": rule, "decision": "deny"}], "test")
    for line in ("./run.sh", "npm ci && ./run.sh build", "gcc -o x x.c && ./x", "cargo build && ./run.sh"):
        assert apply_rules(rules, "bash", {"command": line}, str(tmp_path)).decision is None, line


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


FED = [
    "newgrp root", "fakeroot", "fakeroot-sysv", "i386", "linux32", "linux64", "x86_64", "setarch x86_64",
    "setarch", "unshare", "unshare -r", "unshare -m --", "nsenter", "chroot /", "su", "su root", "su -",
    "npx",
    "runuser root", "runuser -l root", "script", "script -q /dev/null", "sudo -s", "sudo -i", "doas -s",
    "sg x",
    "capsh --", "capsh --print --", "setsid sh", "timeout 5 sh", "flock l sh", "env sh", "env -i sh",
    "xargs sh",
    "dbus-run-session sh", "systemd-inhibit sh", "setpriv sh", "proot", "firejail", "sh -s", "sh -", "ed",
    "ex",
    "tclsh", "expect", "python3", "node", "perl", "ruby", "gdb",
]  # fmt: skip
"""What takes commands from its input."""
SAYING = [
    "npx --version", "fakeroot --version", "sudo -l", "unshare --help", "linux64 ls", "unshare -r ls", "env",
    "nice", "xargs", "nohup true", "sudo -k", "chroot / ls", "fakeroot make-it", "npx tsc",
    "setarch x86_64 ls",
]  # fmt: skip


def test_a_program_that_takes_commands_from_its_input_is_asked_about() -> None:
    lines = [line.format(fed) for fed in FED for line in ("{} < push.txt", "cat push.txt | {}")]
    assert {line: judge(line) for line in lines} == dict.fromkeys(lines, Decision.ASK)
    assert {line: judge(line) for line in SAYING} == dict.fromkeys(SAYING)


SETTINGS = [
    "core.pager", "core.editor", "core.sshCommand", "core.fsmonitor", "core.askPass", "core.gitProxy",
    "sequence.editor", "diff.external", "diff.x.textconv", "diff.x.command", "filter.x.clean",
    "filter.x.smudge",
    "filter.x.process", "merge.x.driver", "difftool.x.cmd", "mergetool.x.cmd", "credential.helper",
    "man.x.cmd",
    "gpg.program", "gpg.ssh.program", "gpg.ssh.defaultKeyCommand", "remote.origin.uploadpack", "pager.log",
    "remote.origin.receivepack", "uploadpack.packObjectsHook", "interactive.diffFilter", "trailer.x.command",
    "submodule.x.update", "browser.x.cmd",
]  # fmt: skip
"""Settings of git whose value it runs."""


def test_a_setting_that_git_runs_is_judged_as_the_command_that_it_is(tmp_path: Path) -> None:
    write(tmp_path / "x.sh", "git push")
    for setting in SETTINGS:
        for line in ("git -c {}='git push origin' status", "git -c {}=./x.sh status", "git config {} ./x.sh"):
            assert judge(line.format(setting), str(tmp_path)) is Decision.DENY, setting
        assert judge(f"git -c {setting}=less status", str(tmp_path)) is None, setting


GIVEN = ("CC=./x.sh ninja", "FOO='./x.sh now' ninja", "export FOO=./x.sh; ninja", "FOO='git push' ninja",
         "export FOO='sh -c \"git push\"'; ninja", "env FOO=./x.sh ninja", "env -i FOO='git push' ninja",
         "RUSTC=./x.sh cargo build", "npm_config_script_shell=./x.sh npm run x", "FOO=1 BAR=./x.sh ninja",
         "NPM_CONFIG_SCRIPT_SHELL=./x.sh npm test", "declare -x FOO=./x.sh; ninja", "CC='env ./x.sh' ninja",
         "timeout 9 env CC=./x.sh ninja", "sh -c 'CC=./x.sh ninja'", "sudo CC=./x.sh ninja")  # fmt: skip


@pytest.mark.parametrize("line", GIVEN)
def test_a_denied_command_in_a_variable_that_a_program_is_given_is_asked_about(
    tmp_path: Path, line: str
) -> None:
    write(tmp_path / "x.sh", "git push")
    assert judge(line, str(tmp_path)) is Decision.ASK


PACKAGE = {
    "push": "git push origin", "prepushed": "git-push", "pushed": "true", "via": "npm run push",
    "build": "tsc",
    "file": "./x.sh", "perhaps": "git p", "version": "git push --tags", "test": "vitest run",
    "start": "node .",
    "postpublish": "git push", "lint": "eslint . && prettier -c .", "prepare": "husky",
    "other": "yarn run via",
}  # fmt: skip
PACKAGED: dict[Decision | None, list[str]] = {
    Decision.DENY: [
        "npm run push", "npm run-script push", "npm rum push", "npm --silent run push", "npm run push -- -f",
        "npm run pushed", "npm run via", "npm run file", "npm version patch", "env npm run push", "yarn push",
        "pnpm push", "yarn run push", "pnpm run push", "sh -c 'npm run push'", "npm --prefix . run push",
        "npm --prefix=sub run push", "cd sub && npm run push", "npm -C sub run push", "npm run push -w sub",
        "timeout 9 npm run push", "npm run build && npm run push", "./run.sh", "pnpm -C sub push",
        "npm run other",
        "npm run push --workspaces", "yarn workspace sub push",
    ],
    Decision.ASK: ["npm run $x", "npm run perhaps", "npm run $(cat x)", "cp x package.json && npm run build",
                   "echo '{}' > package.json; npm test", "sed -i s/a/b/ package.json; npm test"],
    None: [
        "npm run build", "npm test", "npm t", "npm start", "npm ci", "npm install", "npm i x", "npm run lint",
        "yarn build", "pnpm test", "yarn", "pnpm i", "npm run", "npm view push", "cd sub && npm run build",
        "cd a && cd b && npm test", "npm ci && npm test", "npm run missing", "npm --prefix nowhere run push",
        "cat package.json && npm test", "npm test > out.txt",
    ],
}  # fmt: skip


@pytest.mark.parametrize("decision", PACKAGED)
def test_a_script_of_a_package_is_judged_as_its_command_line(
    tmp_path: Path, decision: Decision | None
) -> None:
    for folder in (tmp_path, tmp_path / "sub"):
        write(folder / "package.json", json.dumps({"scripts": PACKAGE, "workspaces": ["sub", "lib/*"]}))
        write(folder / "x.sh", "git push")
    write(tmp_path / "run.sh", "npm run push")
    lines = PACKAGED[decision]
    assert {line: judge(line, str(tmp_path)) for line in lines} == dict.fromkeys(lines, decision)


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"scripts": 1}', '{"scripts": {"push": 1}}',
"["*9999,
                                  '{"scripts": {"push": ""}, "workspaces": {"packages": [1]}}'])  # fmt: skip
def test_a_package_that_can_not_be_read_starts_nothing(tmp_path: Path, text: str) -> None:
    write(tmp_path / "package.json", text)
    assert judge("npm run push -w x", str(tmp_path)) is None


EVERYDAY = """
git commit -m 'push it' && git status; git log --oneline | head; git diff HEAD~1 -- src; git add -A
cargo build --release; cargo test -- --nocapture; go test ./... -run X; go build -o bin/x ./cmd/x;
go vet ./...
pytest -q tests/x.py::y; .venv/bin/pytest -x; uv run pytest; uv sync; poetry run pytest -q; tox -e py311
CI=1 pytest; DATABASE_URL=postgres://u:p@h/db pytest; PYTHONPATH=src/lib pytest; NODE_ENV=test npx jest
CFLAGS='-O2 -Wall' ninja; LDFLAGS=-L/usr/lib ninja; CC=/usr/bin/gcc cmake -B build;
CXX=clang++ cmake -S . -B b
cmake -DCMAKE_BUILD_TYPE=Release -B build; cmake --build build --parallel 4; ctest --test-dir build;
ninja -C b
ruff check . && mypy src; black --check .; eslint src --fix; prettier -w .; tsc --noEmit; npx eslint .;
npx -y x
docker build -t x .; docker compose up -d; docker run --rm -v .:/w x ls; kubectl get pods; terraform plan
mvn -q test; ./gradlew build; ./mvnw verify; dotnet test; bundle exec rspec; composer install; mix test
psql -c 'select 1'; sqlite3 x.db .tables; echo 'select 1;' | sqlite3 x.db; sqlite3 x.db < schema.sql;
redis-cli ping
for f in *.py; do wc -l $f; done; find . -name '*.c' -exec grep -l x {} +; ls | xargs -n1 basename;
sort x | uniq -c
curl -s https://example.org/install | head; tar czf x.tgz src; unzip -q x.zip; sed -n 1,20p x;
awk '{print $1}' x
gcc -Wall -o x x.c; g++ -std=c++20 x.cc; clang -c x.c; ld -o x x.o; strip x; objdump -d x; nm x
export FOO=bar; export PATHS=a/b; FOO=src/x.py ls; MSG='fix: a thing' git commit -m x;
GOFLAGS=-mod=mod go build
"""


def test_everyday_commands_are_not_asked_about_because_of_a_rule_for_others(tmp_path: Path) -> None:
    write(tmp_path / "package.json", json.dumps({"scripts": {"test": "jest", "postpublish": "git push"}}))
    (tmp_path / "src").mkdir()
    for name in ("gradlew", "mvnw", "src/x.py"):
        write(tmp_path / name, '#!/bin/sh\nexec java -jar "$0.jar" "$@"')
    lines = [line.strip() for part in EVERYDAY.splitlines() for line in part.split("; ") if line]
    lines += [part for part in EVERYDAY.splitlines() if part]
    assert {line: judge(line, str(tmp_path)) for line in lines} == dict.fromkeys(lines)


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
