"""What a command in the sandbox sees of homes, on the real kernel: programs and its workspace, no secret."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from planck.config.private import private_places
from planck.records.authority import Confinement, Mode
from planck.workspace.process.containment import sandbox_program
from planck.workspace.process.environment import allowed
from planck.workspace.process.process import Command, Completed, run, shell
from planck.workspace.sandbox.landlock import Landlock
from planck.workspace.sandbox.refusal import explain_refusal
from planck.workspace.sandbox.root_only import list_root_only
from planck.workspace.sandbox.sandbox import SandboxError
from tests.workspace.conftest import AS

pytestmark = [pytest.mark.skipif(sandbox_program() is None, reason="bubblewrap is not installed")]

CANARY = "canary-of-a-secret"
SECRETS = """
.ssh/id_ed25519 .ssh/config .gnupg/private-keys-v1.d/x .password-store/mail.gpg .vault-token
.config/op/config .local/share/keyrings/login.keyring .config/keepassxc/keepassxc.ini Passwords.kdbx
.config/Bitwarden/data.json .config/Bitwarden%20CLI/data.json .local/share/kwalletd/kdewallet.kwl
.config/sops/age/keys.txt .age/key.txt .aws/credentials .azure/msal_token_cache.json
.config/gcloud/credentials.db .boto .kube/config .docker/config.json .config/containers/auth.json
.terraform.d/credentials.tfrc.json .terraformrc .oci/config .config/doctl/config.yaml
.config/hcloud/cli.toml .config/linode-cli .config/scw/config.yaml .fly/config.yml .config/heroku/x
.netlify/config.json .config/netlify/config.json .local/share/com.vercel.cli/auth.json
.wrangler/config/default.toml .railway/config.json .config/configstore/firebase-tools.json
.pulumi/credentials.json .ansible/vault .vagrant.d/data/vagrant_login_token .s3cfg
.config/rclone/rclone.conf .mc/config.json .config/stripe/config.toml .config/ngrok/ngrok.yml
.ngrok2/ngrok.yml .netrc .npmrc .yarnrc .yarnrc.yml .bunfig.toml .pypirc .config/pip/pip.conf .pip/pip.conf
.config/pypoetry/auth.toml .local/share/uv/credentials/credentials.toml .rye/credentials
.cargo/credentials.toml .cargo/credentials .gem/credentials .local/share/gem/credentials .bundle/config
.m2/settings.xml .m2/settings-security.xml .gradle/gradle.properties .ivy2/.credentials
.sbt/1.0/credentials.sbt .nuget/NuGet/NuGet.Config .composer/auth.json .config/composer/auth.json
.hex/hex.config .cabal/config .pub-cache/credentials.json .config/dart/pub-credentials.json
.conan2/credentials.json .condarc .continuum/anaconda-client/tokens/x .julia/servers/x/auth.toml
.rattler/credentials.json .wasmer/wasmer.toml .dotnet/corefx/cryptography/x509stores/my/x.pfx
.git-credentials .config/git/credentials .config/gh/hosts.yml .config/glab-cli/config.yml .config/hub
.config/tea/config.yml .subversion/auth/svn.simple/x .hgrc .bash_history .zsh_history .python_history
.node_repl_history .psql_history .mysql_history .sqlite_history .lesshst .viminfo .rediscli_history
.local/share/fish/fish_history .local/share/atuin/history.db .bashrc .zshenv .profile .envrc .env
.mozilla/firefox/p/logins.json .config/google-chrome/Default/Cookies .config/chromium/Default/Cookies
.config/BraveSoftware/Brave-Browser/Default/Cookies .config/microsoft-edge/Default/Cookies .config/vivaldi/x
.var/app/org.mozilla.firefox/x snap/firefox/common/x .thunderbird/p/key4.db .mutt/muttrc .muttrc .mbsyncrc
.config/neomutt/x .msmtprc .fetchmailrc .local/share/evolution/x Mail/inbox .pgpass .my.cnf .mylogin.cnf
.mongorc.js .config/pgcli/log .dbeaver4/x .local/share/DBeaverData/x .config/Slack/Cookies .config/discord/x
.config/Signal/x .config/Element/x .local/share/TelegramDesktop/x .irssi/config .weechat/sec.conf
.purple/accounts.xml .config/zoom/x .claude.json .claude/.credentials.json .codex/auth.json
.gemini/oauth_creds.json .config/github-copilot/hosts.json .local/share/opencode/auth.json .cursor/x
.continue/x .aider.conf.yml .config/io.datasette.llm/keys.json .openai .cache/huggingface/token
.config/anthropic/x .planck/credentials.json .planck/sessions/x.db .bitcoin/wallet.dat .ethereum/keystore/x
.foundry/keystores/x .config/solana/id.json .electrum/wallets/x .monero/x .config/Exodus/x .vscode/x
.config/Code/User/settings.json .config/JetBrains/IdeaIC/options/x .config/sublime-text/x .emacs.d/x
.jupyter/jupyter_server_config.json .ipython/profile_default/history.sqlite .kaggle/kaggle.json .wandb/x
.config/wandb/x .config/openvpn/x .config/wireguard/x .cisco/x .rdp/x .vnc/passwd .config/remmina/x .cert/x
.pki/nssdb/key4.db .keys/x .android/adbkey .android/debug.keystore .config/syncthing/key.pem .dropbox/x
.config/Nextcloud/x Documents/taxes.pdf Downloads/statement.csv Desktop/notes.txt projects/other/.env
.local/state/x .local/share/x .something-new/token x.pem
"""
TOOLS = {
    "nvm": (".nvm/versions/node/v20/bin/node-of-nvm", ".nvm/versions/node/v20/bin"),
    "fnm": (
        ".local/share/fnm/node-versions/v20/installation/bin/node-of-fnm",
        ".local/state/fnm_multishells/1/bin",
    ),
    "volta": (".volta/tools/image/node/20/bin/node-of-volta", ".volta/bin"),
    "pyenv": (".pyenv/versions/3.12/bin/py-of-pyenv", ".pyenv/shims"),
    "uv": (".local/share/uv/python/cpython-3.12/bin/py-of-uv", ".local/bin"),
    "uv-tool": (".local/share/uv/tools/ruff/bin/tool-of-uv", ".local/bin"),
    "pipx": (".local/share/pipx/venvs/black/bin/tool-of-pipx", ".local/bin"),
    "old-pipx": (".local/pipx/venvs/black/bin/tool-of-old-pipx", ".local/bin"),
    "rbenv": (".rbenv/versions/3.3/bin/ruby-of-rbenv", ".rbenv/shims"),
    "rvm": (".rvm/rubies/ruby-3/bin/ruby-of-rvm", ".rvm/rubies/ruby-3/bin"),
    "asdf": (".asdf/installs/lua/5/bin/lua-of-asdf", ".asdf/shims"),
    "mise": (".local/share/mise/installs/zig/1/bin/zig-of-mise", ".local/share/mise/shims"),
    "sdkman": (".sdkman/candidates/java/21/bin/java-of-sdkman", ".sdkman/candidates/java/current/bin"),
    "rustup": (".rustup/toolchains/stable/bin/cargo-of-rustup", ".cargo/bin"),
    "go": ("go/bin/tool-of-go", "go/bin"),
    "go-sdk": ("sdk/go1.22/bin/go-of-sdk", "sdk/go1.22/bin"),
    "deno": (".deno/bin/deno-of-deno", ".deno/bin"),
    "bun": (".bun/bin/bun-of-bun", ".bun/bin"),
    "pnpm": (".local/share/pnpm/global/5/bin/tool-of-pnpm", ".local/share/pnpm"),
    "npm": (".npm-global/lib/node_modules/x/bin/tool-of-npm", ".npm-global/bin"),
    "ghcup": (".ghcup/ghc/9/bin/ghc-of-ghcup", ".ghcup/bin"),
    "miniconda": ("miniconda3/envs/data/bin/py-of-conda", "miniconda3/envs/data/bin"),
    "miniforge": ("miniforge3/bin/py-of-forge", "miniforge3/bin"),
    "perlbrew": ("perl5/perlbrew/perls/5/bin/perl-of-brew", "perl5/perlbrew/perls/5/bin"),
    "flutter": ("flutter/bin/flutter-of-flutter", "flutter/bin"),
    "dotnet": (".dotnet/tools/tool-of-dotnet", ".dotnet/tools"),
    "opam": (".opam/default/bin/ocaml-of-opam", ".opam/default/bin"),
    "elan": (".elan/toolchains/x/bin/lean-of-elan", ".elan/bin"),
    "juliaup": (".julia/juliaup/julia-1/bin/julia-of-up", ".juliaup/bin"),
    "krew": (".krew/store/ns/bin/tool-of-krew", ".krew/bin"),
    "nobody knows it": (".unheard-of/1.0/bin/tool-of-nobody", ".unheard-of/1.0/bin"),
    "in ~/bin": ("opt/thing/bin/tool-of-opt", "bin"),
    "a file in ~/bin": ("opt/single/run-tool", "bin"),
}
"""By manager: where a tool is, and the folder of `PATH` that has it or a link to it."""


class Home:
    """A user's home on the real disk, with a project in it."""

    def __init__(self, base: Path) -> None:
        self.path = base / "ann"
        self.other = base / "bob"
        self.ws = self.path / "projects" / "mine"
        self.ws.mkdir(parents=True)
        self.secrets = [self.path / name.replace("%20", " ") for name in SECRETS.split()]
        for place in (*self.secrets, self.other / "secret"):
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(CANARY)
        (self.path / ".gitconfig").write_text(
            f"[user]\n\tname = Ann B\n\temail = ann@example.org\n[http]\n\textraheader = {CANARY}\n"
            f'[url "https://ann:{CANARY}@example.org/"]\n\tinsteadOf = x\n[include]\n\tpath = .gitmore\n'
        )
        (self.path / ".gitmore").write_text(
            f"[core]\n\tquotepath = false\n[credential]\n\thelper = {CANARY}\n"
        )
        (self.path / "link").symlink_to(".ssh/id_ed25519")
        (self.ws / "link").symlink_to(self.path / ".something-new")
        (self.ws / "file").write_text("mine")
        self.environ = {"HOME": str(self.path), "PATH": "/usr/bin:/bin"}

    def install(self, program: str, folder: str) -> str:
        """Puts a script there that reads a file of its installation, and links it in a folder of `PATH`."""
        file = self.path / program
        data = file.parent.parent / "lib" / f"{file.name}.txt"
        for place in (file, data, self.path / folder / "x"):
            place.parent.mkdir(parents=True, exist_ok=True)
        if file.parent.name == "bin":
            data.write_text(f"{file.name} works")
            file.write_text('#!/bin/sh\nme=$(readlink -f "$0")\ncat "${me%/bin/*}/lib/${me##*/}.txt"\necho\n')
        else:
            file.write_text(f"#!/bin/sh\necho {file.name} works\n")
        file.chmod(0o755)
        if not (self.path / folder / file.name).exists():
            (self.path / folder / file.name).symlink_to(file)
        if str(self.path / folder) not in self.environ["PATH"].split(":"):
            self.environ["PATH"] = f"{self.path / folder}:{self.environ['PATH']}"
        return file.name

    def rights(self, mode: Mode = Mode.WORKSPACE, *readable: str) -> Confinement:
        ws = (str(self.ws),)
        private = private_places(self.path / ".planck", self.environ, "", readable, ws)
        hidden = (*private.hidden, str(self.other))
        writable = ws if mode is Mode.WORKSPACE else ()
        return Confinement(mode, ws, writable, masked=private.masked, shown=private.shown, hidden=hidden)

    def git(self, script: str) -> str:
        """Runs git, and what else stands in a script, as the user."""
        who = {f"GIT_{name}_{what}": "x@y" for name in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
        own = {} if "var " in script else who
        done = subprocess.run(
            ["sh", "-c", f"git {script}"],
            cwd=self.ws,
            env={**os.environ, **own},
            capture_output=True,
            text=True,
        )
        return done.stdout + done.stderr

    async def run(self, command: str, rights: Confinement | None = None) -> Completed:
        rights = rights or self.rights()
        return await run(
            Command(shell(command), self.ws, allowed(self.environ), confinement=rights), timeout=30
        )

    def run_in_landlock(self, command: str) -> str:
        try:
            wrapped = Landlock().wrap(self.rights(Mode.READ_ONLY))
        except SandboxError as missing:
            pytest.skip(missing.err.message)
        try:
            argv = [*wrapped.prefix, *shell(command)]
            done = subprocess.run(
                argv, cwd=self.ws, env=allowed(self.environ), capture_output=True, check=False
            )
        finally:
            wrapped.release()
        return done.stdout.decode() + done.stderr.decode()


@pytest.fixture(params=AS)
def home(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Home]:
    place = next(folder for folder in ("/opt", str(Path.home()), "/tmp") if os.access(folder, os.W_OK))
    base = Path(tempfile.mkdtemp(prefix="planck-homes-", dir=place)).resolve()
    base.chmod(0o755)
    try:
        made = Home(base)
        monkeypatch.setenv("HOME", str(made.path))
        yield _give(made, base, request.param)
    finally:
        shutil.rmtree(base)


def _give(home: Home, base: Path, owner: int) -> Home:
    if owner != os.geteuid():
        subprocess.run(["chown", "-Rh", f"{owner}:{owner}", str(base)], check=True)
    return home


def _list_spellings(home: Home) -> list[str]:
    """Every secret by its path, by links and by the root of a process; and all of what lies around."""
    files = [str(place) for place in home.secrets]
    files += [f"/proc/self/root{file}" for file in files] + [f"{home.ws}/../../{file}" for file in files[:2]]
    return [*files, str(home.path / "link"), "link/token", str(home.path), str(home.other), "/home"]


LOOK = f'xargs -0 -a list grep -rsl {CANARY}; head -c 99 "$HOME/.bash_history"; ls; cat file'


async def test_a_command_reads_no_secret_of_a_home_by_any_spelling(home: Home) -> None:
    assert len(home.secrets) >= 118
    (home.ws / "list").write_text("\0".join(_list_spellings(home)))
    done = await home.run(LOOK)
    found = [line for line in done.output.splitlines() if line.startswith(("/", "link/"))]
    assert found == []
    assert done.output.endswith("mine")
    assert CANARY not in done.output
    outside = subprocess.run(["grep", "-rsl", CANARY, str(home.path)], capture_output=True, check=True)
    assert len(outside.stdout.splitlines()) >= len(home.secrets)  # the look would find them


def test_landlock_reads_no_secret_of_a_home_either(home: Home) -> None:
    (home.ws / "list").write_text("\0".join(_list_spellings(home)))
    said = home.run_in_landlock(LOOK)
    assert said.endswith("mine") or "mine" in said
    assert CANARY not in said
    assert [line for line in said.splitlines() if line.startswith(("/", "link/"))] == []


async def test_tools_of_every_version_manager_run_without_configuration(home: Home) -> None:
    names = [home.install(*where) for where in TOOLS.values()]
    done = await home.run("; ".join(names))
    assert done.output.split("\n")[:-1] == [f"{name} works" for name in names]


def test_tools_of_every_version_manager_run_in_landlock(home: Home) -> None:
    names = [home.install(*where) for where in TOOLS.values()]
    assert home.run_in_landlock("; ".join(names)).splitlines() == [f"{name} works" for name in names]


async def test_a_link_that_an_agent_could_make_shows_nothing(home: Home) -> None:
    key = home.path / ".something-new" / "bin" / "key"
    key.parent.mkdir()
    key.write_text(CANARY)
    key.chmod(0o755)
    (home.ws / "bin").mkdir()
    (home.ws / "bin" / "x").symlink_to(key)
    home.environ["PATH"] = f"{home.ws}/bin:/usr/bin:/bin"
    assert CANARY not in (await home.run(f"cat bin/x {key}; ls -R {home.path}")).output


async def test_a_workspace_below_the_home_is_written_in_mode_workspace_only(home: Home) -> None:
    done = await home.run("echo more >> file && cat file")
    assert (done.output, done.exit_code) == ("minemore\n", 0)
    done = await home.run("echo x >> file", home.rights(Mode.READ_ONLY))
    assert done.exit_code
    assert (home.ws / "file").read_text() == "minemore\n"


async def test_caches_can_be_written_for_one_command_and_the_home_can_not(home: Home) -> None:
    done = await home.run("mkdir -p ~/.cache/go && echo x > ~/.cache/go/y && cat ~/.cache/go/y")
    assert (done.output, done.exit_code) == ("x\n", 0)
    assert not (home.path / ".cache" / "go").exists()
    for place in ("~/.bashrc", "~/new", "~/.config/new", "~/.local/new", "~/projects/new"):
        done = await home.run(f"echo x >> {place}")
        assert "denied" in done.output.lower() or "No such file" in done.output, place
        assert done.exit_code, place


async def test_git_knows_who_commits_and_no_password(home: Home) -> None:
    done = await home.run(
        "git init -q $TMPDIR/r && cd $TMPDIR/r && git commit -q --allow-empty -m one "
        "&& git log --format='%an <%ae>'; git config --list; cat ~/.gitconfig ~/.gitmore"
    )
    assert done.output.startswith("Ann B <ann@example.org>\n")
    assert "core.quotepath=false" in done.output
    assert CANARY not in done.output


ANN = "[user]\n\tname = Ann B\n\temail = ann@example.org\n"
WHO = {
    "the usual file": {".gitconfig": ANN},
    "the other usual file": {".config/git/config": ANN},
    "XDG_CONFIG_HOME": {".cfg/git/config": ANN},
    "GIT_CONFIG_GLOBAL": {".own": ANN, ".gitconfig": "[user]\n\tname = no\n"},
    "an include": {".gitconfig": "[include]\n\tpath = .a\n", ".a": "[include]\n\tpath = ~/.b\n", ".b": ANN},
    **{
        f'includeIf "{condition}"': {".gitconfig": f'[includeIf "{condition}"]\n\tpath = .w\n', ".w": ANN}
        for condition in (
            *("gitdir:~/projects/", "gitdir:projects/*/", "gitdir:~/**/mine/.git", "gitdir/i:~/PROJECTS/"),
            *(
                "gitdir:./projects/",
                "gitdir:**/m?ne/**",
                "gitdir:",
                "hasconfig:remote.*.url:git@example.org:work/**",
            ),
        )
    },
}
"""By where the user's git finds a name: files below the home."""
NOBODY_THERE = (
    *("gitdir:~/other/", "gitdir:~/project/", "gitdir:~/*/x/", "gitdir:~/PROJECTS/", "gitdir:[z"),
    *(
        "hasconfig:remote.*.url:git@example.org:play/**",
        "hasconfig:user.name:x",
        "onbranch:other",
        "made-up:x",
    ),
)
"""Conditions that do not hold in the workspace."""
VARIABLES = {"XDG_CONFIG_HOME": ".cfg", "GIT_CONFIG_GLOBAL": ".own"}


@pytest.mark.parametrize("home", [os.geteuid()], indirect=True)
async def test_git_in_the_sandbox_knows_the_same_person_as_the_users_git(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    home.git("init -q; git remote add origin git@example.org:work/mine.git")
    for where, files in WHO.items():
        for variable, name in VARIABLES.items():
            monkeypatch.delenv(variable, raising=False)
            if variable == where:
                monkeypatch.setenv(variable, str(home.path / name))
        for file in (".gitconfig", ".config/git/config"):
            (home.path / file).unlink(missing_ok=True)
        for name, text in files.items():
            (home.path / name).parent.mkdir(parents=True, exist_ok=True)
            (home.path / name).write_text(text)
        assert home.git("var GIT_COMMITTER_IDENT").startswith("Ann B <ann@example.org>"), where
        assert (await home.run("git var GIT_COMMITTER_IDENT")).output.startswith("Ann B <ann@"), where


@pytest.mark.parametrize("home", [os.geteuid()], indirect=True)
async def test_a_condition_for_another_repository_hands_over_nothing(home: Home) -> None:
    (home.path / ".w").write_text(ANN)
    home.git("init -q; git remote add origin git@example.org:work/mine.git")
    for condition in NOBODY_THERE:
        (home.path / ".gitconfig").write_text(f'[includeIf "{condition}"]\n\tpath = .w\n')
        assert home.git("config user.name") == "", condition
        assert (await home.run("git config user.name")).exit_code == 1, condition


LINKED = {
    "a linked worktree": "worktree add -q ../mine -b b",
    "a submodule": "-c protocol.file.allow=always submodule add -q ../sub mine; git commit -qm s; "
    "rmdir ../mine; ln -sT main/mine ../mine",
    "a folder of a repository": "checkout -q -b b; mkdir mine; rmdir ../mine; ln -sT main/mine ../mine",
}


@pytest.mark.parametrize("home", [os.geteuid()], indirect=True)
@pytest.mark.parametrize("what", LINKED)
async def test_git_works_in_a_workspace_whose_repository_lies_beside_it_in_the_home(
    home: Home, what: str
) -> None:
    shutil.rmtree(home.ws)
    script = "mkdir ../sub ../main; {0}; cd ../sub; {1}; cd ../main; git init -q; {1}; git {2}"
    one = "git init -q; git commit -q --allow-empty -m one"
    home.ws.mkdir()
    home.git("--version; " + script.format("true", one, LINKED[what].replace("../mine;", "../mine ;")))
    (home.path / "projects/main/other.txt").write_text(CANARY)
    home.ws = home.ws.resolve()
    done = await home.run(f"git log --format=%s; cat {home.path}/projects/main/other.txt; git status")
    assert done.output.startswith("one\n"), done.output
    assert done.exit_code == 0
    assert CANARY not in done.output


@pytest.mark.parametrize("home", [os.geteuid()], indirect=True)
@pytest.mark.parametrize(
    "target", ["projects/main/.git", "projects/main/.git/worktrees/w", ".password-store/.git"]
)
async def test_a_git_file_from_elsewhere_shows_no_repository_of_the_users(home: Home, target: str) -> None:
    for name in ("projects/main", ".password-store"):
        (home.path / name).mkdir(parents=True, exist_ok=True)
        home.git(
            f"-C {home.path / name} init -q; git -C {home.path / name} commit -q --allow-empty -m {CANARY}"
        )
    home.git(f"-C {home.path}/projects/main worktree add -q ../w")
    (home.ws / ".git").write_text(f"gitdir: {home.path / target}\n")
    done = await home.run(
        f"git log; cat {home.path}/projects/main/.git/COMMIT_EDITMSG; ls {home.path / target}"
    )
    assert CANARY not in done.output
    assert done.exit_code


@pytest.mark.parametrize("home", [os.geteuid()], indirect=True)
async def test_a_repository_of_the_home_itself_is_not_shown(home: Home) -> None:
    home.git(f"-C {home.path} init -q; git -C {home.path} commit -q --allow-empty -m {CANARY}")
    done = await home.run("git log; ls ~/.git")
    assert CANARY not in done.output
    assert done.exit_code


KEYS = {
    ".nvm/versions/node/v20/etc/npmrc": "//registry.example.org/:_authToken=",
    ".nvm/.git/config": "url = https://ann:pw@example.org/",
    ".npm-global/etc/npmrc": "_authToken=",
    ".local/share/fnm/node-versions/v20/installation/etc/npmrc": "_password=",
    ".volta/tools/image/node/20/etc/npmrc": "_authToken=",
    ".volta/hooks.json": "token",
    ".nodenv/versions/20/etc/npmrc": "_authToken=",
    "n/etc/npmrc": "_authToken=",
    ".asdf/installs/nodejs/20/etc/npmrc": "_authToken=",
    ".asdf/installs/rust/1/credentials.toml": "token=",
    ".asdf/plugins/x/.git/config": "url = https://u:p@",
    ".local/share/mise/installs/node/20/etc/npmrc": "_authToken=",
    ".pyenv/versions/3.12/pip.conf": "index-url = https://u:p@",
    ".virtualenvs/a/pip.conf": "index-url = https://u:p@",
    ".local/share/uv/tools/ruff/pip.conf": "password",
    "miniconda3/.condarc": "https://conda.example.org/t/tk-12345678-",
    "miniconda3/envs/a/pip.conf": "https://u:p@",
    ".rbenv/versions/3/etc/gemrc": "https://u:p@",
    ".sdkman/candidates/maven/3/conf/settings.xml": "<password>",
    ".cache/pre-commit/repo1/.git/config": "https://u:p@",
    ".bun/install/global/bunfig.toml": "token=",
    ".config/yarn/global/.npmrc": "_authToken=",
    ".opam/config": "https://u:p@",
    ".cargo/config.toml": "token=",
    ".config/mise/config.toml": "[env]",
    "bin/.env": "X=",
    "bin/api.key": "",
    "bin/credentials.json": "",
    ".local/bin/token.txt": "",
    "apache-maven/conf/settings.xml": "<password>",
    "opt/node/etc/npmrc": "_authToken=",
    # Projects with the names of toolchains.
    "sdk/notes/x": "", "n/x": "", "R/project/.Renviron": "", "flutter/x": "", "vcpkg/x": "", "fvm/x": "",
}  # fmt: skip
"""Files with keys among programs, each with the words before the key."""
PLAIN = {
    ".nvm/versions/node/v21/etc/npmrc": "fund=false\n",
    ".sdkman/candidates/maven/4/conf/settings.xml": "<settings><!-- <password>x</password> --></settings>\n",
    ".pyenv/versions/3.13/pip.conf": "[global]\ntimeout = 9\n",
    "bin/notes.txt": "plain\n",
}


@pytest.mark.parametrize("home", [os.geteuid()], indirect=True)
async def test_keys_among_programs_are_hidden_and_the_programs_work(home: Home) -> None:
    for name, text in {**{name: before + CANARY for name, before in KEYS.items()}, **PLAIN}.items():
        (home.path / name).parent.mkdir(parents=True, exist_ok=True)
        (home.path / name).write_text(text)
    programs = ["bin/get-token", "apache-maven/bin/mvn", "opt/node/bin/node-of-opt", ".local/bin/x"]
    for program in programs:
        home.install(program, os.path.dirname(program))
        (home.path / program).write_text(f"#!/bin/sh\necho {os.path.basename(program)} works\n")
    names = [os.path.basename(program) for program in programs]
    files = " ".join(f"~/{name}" for name in (*KEYS, *PLAIN))
    done = await home.run(f"{'; '.join(names)}; cat {files}")
    lines = done.output.splitlines()
    assert lines[: len(names)] == [f"{name} works" for name in names]
    assert CANARY not in done.output
    assert [line for line in PLAIN.values() if line not in done.output] == []


async def test_what_the_user_names_is_readable_and_nothing_around_it(home: Home) -> None:
    rights = home.rights(Mode.WORKSPACE, "~/.config/gh", str(home.path / "Documents"), "~/.planck")
    done = await home.run(
        "cat ~/.config/gh/hosts.yml; echo; cat ~/Documents/taxes.pdf; echo; cat ~/.ssh/config "
        "~/.config/hub ~/.planck/credentials.json; echo x > ~/Documents/y",
        rights,
    )
    assert done.output.splitlines()[:2] == [CANARY, CANARY]
    assert done.output.count(CANARY) == 2
    assert not (home.path / "Documents" / "y").exists()
    named = home.rights(Mode.WORKSPACE, "~/.config")
    done = await home.run("cat ~/.config/hub; echo; cat ~/.config/gh/hosts.yml", named)
    assert done.output.count(CANARY) == 1  # a known secret is named by itself


@pytest.mark.skipif(os.geteuid() != 0, reason="only root could read them")
async def test_a_command_of_root_reads_no_file_that_is_closed_to_others(home: Home) -> None:
    places = list_root_only()
    assert "/etc/shadow" in places
    look = f"head -qc 99 {' '.join(places)}; find {' '.join(places)} -type f -size +0 -readable"
    done = await home.run(look)
    assert [line for line in done.output.splitlines() if "head:" not in line and "find:" not in line] == []


NEEDS = [
    "cat ~/.something-new/token", "cat ../../.something-new/token", "ls ~/Documents", "cd ~/Documents",
    "python3 -c 'open(\"'$HOME'/Downloads/statement.csv\")'", "PYTHONPATH=~/Documents python3 -c 'import x'",
    "test -f ~/Documents/taxes.pdf", "[ -d $HOME/Documents ]", "touch ${HOME}/Documents/new",
    "echo x > ~/Documents/new", "mkdir ~/Documents/new", "git -C ~/Documents status", "make -f ~/x.pem",
    "git clone -q ~/Documents c", "cp ~/x.pem .", "perl -e 'require \"$ENV{HOME}/x.pem\"'", "cat link/token",
    "printf '#include \"%s/x.pem\"\\n' $HOME > a.sh; . ~/x.pem", "sh ~/x.pem", "~/x.pem", "stat ~/x.pem",
    "env -C ~/Documents ls", "find ~/Documents", "diff ~/x.pem file", "python3 ~/Documents/x.py",
    "tar cf x.tar ~/x.pem",
]  # fmt: skip
"""Commands that fail because of what is hidden, in the words of many programs."""


async def test_a_command_that_needed_a_hidden_place_is_told_so(home: Home) -> None:
    rights = home.rights()
    for command in NEEDS:
        done = await home.run(command, rights)
        why = explain_refusal(done.output, rights, command)
        assert why, f"{command}: {done.output}"
        assert why.text.endswith(' is hidden here (the user can add it to "permissions.readable")'), command
    for command in (
        "cat ~/.never-there",
        "false",
        f"ls {home.ws}/nothing",
        "touch ~/x",
        "cd ~/projects; false",
    ):
        done = await home.run(command, rights)
        assert done.exit_code
        assert "is hidden" not in str(explain_refusal(done.output, rights, command)), command


async def test_this_python_and_planck_run_from_below_a_home(home: Home) -> None:
    """As `uv tool install` does it: an environment in the home, with links to an interpreter elsewhere."""
    tools = home.path / ".local/share/uv/tools/planck"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tools)], check=True)
    done = await home.run(f"{tools}/bin/python -c 'import sys; print(sys.prefix)'")
    if os.stat(home.path).st_uid == os.geteuid():  # another user can't reach our interpreter
        assert done.output == f"{tools}\n"
        done = await home.run(f"{sys.executable} -c 'import planck; print(planck.__name__)'")
        assert done.output == "planck\n"
