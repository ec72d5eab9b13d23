"""The one table of programs: what each starts and by which words, which text it evaluates, what it runs.

Rules, grants, the templates of TOOL.json and the check for replaceable programs all read it. A new launcher,
evaluator or interpreter is a row here.
"""

import re
from collections.abc import Mapping
from enum import Enum

import msgspec


class Builtin(Enum):
    """What a word of bash's own does with the words that follow."""

    SCRIPT = "script"
    """Runs them as a script."""
    WORDS = "words"
    """Evaluates one: an arithmetic index, a variable's name; or changes what later words mean."""
    DECLARES = "declares"
    OTHER = "other"


class Prefix(msgspec.Struct, frozen=True):
    """How a program's own words end, behind which the command stands."""

    valued: str = ""
    """Short options whose value is a word of its own."""
    long: tuple[str, ...] = ()
    """The same of long options, without their dashes."""
    operands: int = 0
    assigns: bool = False
    starts_shell: bool = False
    """Without a command it starts a shell, which reads its input."""


class Interpreter(msgspec.Struct, frozen=True):
    """Where a program of another language takes its own program from."""

    letters: str = ""
    """Short options that take it."""
    valued: str = ""
    """Short options that take another value; only read where the language is `awk` or `sed`."""
    language: str = ""
    """`awk`, `sed` and `sql` are read; the first operand is a program in it."""
    is_guarded: bool = False
    """`--` ends its options: a value behind it is never taken for one."""
    ends_options: bool = False
    """It takes no more options behind its program, and `-m` names a module."""
    is_commanded: bool = False
    """It takes commands from its input, whatever else it is given."""
    is_client: bool = False
    """Of a database: options stand anywhere, and operands are no scripts."""
    is_editor: bool = False
    """A word that begins with `+` is a command."""


class Program(msgspec.Struct, frozen=True, kw_only=True):
    is_shell: bool = False
    is_opaque: bool = False
    """Runs a language of its own, a file, or commands elsewhere: nobody reads that here."""
    is_data: bool = False
    """Runs none of the words that follow."""
    prefix: Prefix | None = None
    launches: bool = False
    """Starts another program, which may be any of the words that follow."""
    runners: tuple[str, ...] = ()
    """Words of its own behind which the command stands."""
    scripts: tuple[str, ...] = ()
    """Options that take a command line."""
    evaluated: tuple[str, ...] = ()
    """Options that take a text in a language of its own."""
    loading: tuple[str, ...] = ()
    """Options by which it takes settings or code that may start anything."""
    way_out: re.Pattern[str] | None = None
    """What a word looks like by which it starts others."""
    interpreter: Interpreter | None = None
    runs_file: bool = False
    """Its first operand is a script; without one it runs its input."""
    reshells: bool = False
    """Hands its words, or its input, to a shell."""
    builtin: Builtin | None = None
    files: tuple[str, ...] = ()
    """Files that it finds by itself and takes commands from."""
    is_project_tool: bool = False
    """Does what a file in the folder says that it runs in."""
    verbs: frozenset[str] = frozenset()
    """Its first word says what it does; with one of these it starts any other program."""
    valued: frozenset[str] = frozenset()
    """Options before that word whose value is the next word."""
    commands: frozenset[str] = frozenset()
    """Every first word that it always knows; another one may be an alias or an abbreviation of one of them.
    Empty: not listed here."""
    synonyms: Mapping[str, str] = {}
    """First words that do what another one does, by their other name."""

    @property
    def assigns(self) -> bool:
        """Its arguments are assignments too."""
        if self.builtin is not None and self.builtin is Builtin.DECLARES:
            return True
        return self.prefix is not None and self.prefix.assigns

    @property
    def runs_anything(self) -> bool:
        """Its words, or a program in its own language, may start any other program."""
        return (
            self.is_shell
            or self.is_opaque
            or self.prefix is not None
            or self.launches
            or self.interpreter is not None
            or self.runs_file
            or self.reshells
            or self.way_out is not None
            or self.builtin is Builtin.SCRIPT
        )


def find_program(name: str) -> Program:
    """Returns what is known of a program, by its name without a folder: `python3.11` is `python`."""
    found = PROGRAMS.get(name)
    if found is None and name[-1:] in _VERSION:
        found = PROGRAMS.get(name.rstrip(_VERSION))
        return UNKNOWN if found is None or found.is_data else found
    return UNKNOWN if found is None else found


def find_family(name: str) -> str:
    """Returns what a name says without its version and ending: `pip3.11` is `pip`, `git.exe` is `git`."""
    name = _ENDING.sub("", name)
    return re.sub(r"[-_.]?\d[\d.]*$", "", name) or name


UNKNOWN = Program()
_VERSION = "0123456789."
_ENDING = re.compile(r"\.(?:exe|cmd|bat|com)$", re.IGNORECASE)

_STARTING = frozenset(
    {"run", "run-script", "exec", "x", "dlx", "create", "tool", "generate", "config", "alias", "extension"}
    | {"shell"}
)
_SHELL_IN_SQL = re.compile(r".*(?:\\!|\bsystem\b|\bPROGRAM\b)", re.DOTALL | re.IGNORECASE)
_DOT_COMMAND = re.compile(
    r"(?:.*\n)?\s*\.(?:sh|sy|re|lo)|.*\b(?:edit|load_extension)\b", re.DOTALL | re.IGNORECASE
)
_GIT_COMMANDS = """
add am annotate apply archive bisect blame branch bundle cat-file check-attr check-ignore check-mailmap
check-ref-format checkout checkout-index cherry cherry-pick clean clone column commit commit-graph commit-tree
config count-objects credential describe diff diff-files diff-index diff-tree difftool fast-export fast-import
fetch fetch-pack filter-branch fmt-merge-msg for-each-ref format-patch fsck gc get-tar-commit-id grep
hash-object help index-pack init init-db interpret-trailers log ls-files ls-remote ls-tree mailinfo mailsplit
maintenance merge merge-base merge-file merge-index merge-tree mergetool mktag mktree mv name-rev notes
pack-objects pack-redundant pack-refs patch-id prune prune-packed pull push range-diff read-tree rebase
receive-pack reflog remote repack replace request-pull rerere reset restore rev-list rev-parse revert rm
send-pack shortlog show show-branch show-index show-ref sparse-checkout stage stash status stripspace
submodule switch symbolic-ref tag unpack-file unpack-objects update-index update-ref update-server-info
upload-archive upload-pack var verify-commit verify-pack verify-tag version whatchanged worktree write-tree
"""
"""What every git of the last years has. A name that some lack is not here: there it can be an alias."""
_NPM_SYNONYMS = {
    other: name
    for name, others in {
        "install": "i in ins inst insta instal isnt isnta isntal isntall add install-test it",
        "ci": "clean-install ic install-clean isntall-clean install-ci-test cit clean-install-test sit",
        "uninstall": "r rm un unlink remove",
        "update": "up upgrade udpate",
        "list": "ls la ll",
        "login": "adduser add-user",
        "run": "run-script rum urn",
        "view": "v info show",
        "search": "s se find",
        "init": "create innit",
        "test": "t tst",
        "exec": "x",
        "config": "c",
        "link": "ln",
        "rebuild": "rb",
        "dedupe": "ddp",
        "dist-tag": "dist-tags",
        "owner": "author",
        "org": "ogr",
        "bugs": "issues",
        "docs": "home",
        "version": "verison",
        "help": "hlep",
    }.items()
    for other in others.split()
} | {f"run {script}": script for script in ("restart", "start", "stop", "test")}
_NPM_COMMANDS = """
access audit bugs cache ci completion config dedupe deprecate diff dist-tag docs doctor edit exec explain
explore find-dupes fund get help help-search init install install-ci-test install-test link list login logout
org outdated owner pack ping pkg prefix profile prune publish query rebuild repo restart root run sbom search
set shrinkwrap star stars start stop team test token undeprecate uninstall unpublish unstar update version
view whoami
"""
_CARGO_COMMANDS = """
add b bench build c check clean clippy config d doc fetch fix fmt generate-lockfile help info init install
locate-project login logout metadata miri new owner package pkgid publish r read-manifest remove report rm run
rustc rustdoc search t test tree uninstall update vendor verify-project version yank
"""
"""With what every toolchain brings. An alias could take such a name; a build script can do as much."""
_GH_COMMANDS = """
alias api attestation auth browse cache codespace completion config extension gist gpg-key help issue label
org pr project release repo ruleset run search secret ssh-key status variable version workflow
"""
_DOCKER_COMMANDS = """
ai attach bake build builder buildx checkpoint commit compose config container context cp create debug desktop
diff events exec export extension help history image images import info init inspect kill load login logout
logs manifest mcp model network node pause plugin port ps pull push rename restart rm rmi run sandbox save
sbom scout search secret service stack start stats stop swarm system tag top trust unpause update version
volume wait
"""
_OF_CONTAINERS = """
attach commit cp create diff exec export kill logs pause port rename restart rm run start stats stop top
unpause update wait
"""
_OF_IMAGES = "build history import load pull push save tag"
_DOCKER_SYNONYMS = {
    **{f"container {verb}": verb for verb in _OF_CONTAINERS.split()},
    **{f"image {verb}": verb for verb in _OF_IMAGES.split()},
    **{f"{builder} build": "build" for builder in ("builder", "buildx")},
    **{f"{what} push": "push" for what in ("compose", "manifest", "plugin")},
    **{"container remove": "rm", "image rm": "rmi", "image remove": "rmi", "image ls": "images"},
    **{"container ls": "ps", "container ps": "ps", "bake": "build", "buildx bake": "build"},
}
_KUBECTL_COMMANDS = """
alpha annotate api-resources api-versions apply attach auth autoscale certificate cluster-info completion
config cordon cp create debug delete describe diff drain edit events exec explain expose get help kustomize
label logs options patch plugin port-forward proxy replace rollout run scale set taint top uncordon version
wait
"""
_HELM_COMMANDS = """
completion create dependency env get help history install lint list package plugin pull push registry repo
rollback search show status template test uninstall upgrade verify version
"""
_HELM_SYNONYMS = {
    **{"del": "uninstall", "delete": "uninstall", "un": "uninstall", "ls": "list", "hist": "history"},
    **{"dep": "dependency", "dependencies": "dependency", "fetch": "pull", "inspect": "show"},
}
_COMPILER_PLUGINS = ("-fplugin", "-specs", "--specs")
_PACKAGE = ("package.json", ".npmrc")
_NPM_SETTINGS = ("--node-options", "--userconfig")

_PLAIN_PREFIXES = """
builtin busybox caffeinate catchsegv ccache chronic command dbus-launch dbus-run-session distcc
dumb-init eatmydata gnohup ifne nohup prlimit rlwrap sccache sem setsid tini torify torsocks toybox unbuffer
valgrind
"""
_SHELL_PREFIXES = """
fakechroot fakeroot fakeroot-sysv fakeroot-tcp firejail i386 i686 linux32 linux64 proot setarch uname26 x86_64
"""
_PROJECT_TOOLS = """
ansible-playbook ant asdf ava babel bazel behave buck2 cabal celery clj conan coverage ctest cypress
dart devenv django-admin docker-compose doit dotnet dune earthly eslint fab fastlane flake8 flask
flutter golangci-lint grunt guix gulp gunicorn husky inv invoke ipython isort jest jupyter just
lefthook lein lerna lint-staged meson mix mkdocs mocha mvn mypy ninja nix-build nox nx pants phpstan
phpunit playwright pod podman pre-commit prettier pylint pytest rake rebar3 rollup rspec rubocop sbt
scons skaffold sphinx-build stack stylelint task terraform tilt tofu tox trial turbo uvicorn vagrant
vite vitest waf webpack xcodebuild
"""
_DATA = """
[ : ag base64 basename cat cd chmod cmp cp curl cut date diff dirname echo egrep exit false fgrep
grep head hostname id jq kill ln logger ls md5sum mkdir mv notify-send printf pwd readlink realpath
rm rmdir say sha256sum sleep stat tail tee test touch tr true type uname uniq wc which whoami yq
"""

TABLE: Mapping[str, Program] = {
    # Shells, and the words of bash that evaluate others.
    "sh bash dash ash zsh ksh mksh fish csh tcsh rbash pwsh yash": Program(is_shell=True, runs_file=True),
    "eval trap": Program(builtin=Builtin.SCRIPT, launches=True),
    "alias": Program(builtin=Builtin.SCRIPT),
    "source .": Program(builtin=Builtin.SCRIPT, is_opaque=True, runs_file=True),
    "exec": Program(builtin=Builtin.OTHER, prefix=Prefix("a")),
    "coproc times": Program(builtin=Builtin.OTHER),
    "declare export local readonly typeset": Program(builtin=Builtin.DECLARES),
    "compgen complete mapfile readarray": Program(builtin=Builtin.WORDS, scripts=("-C",)),
    "bind enable fc": Program(builtin=Builtin.WORDS, is_opaque=True),
    "compopt getopts hash history jobs let read shopt unalias unset wait": Program(builtin=Builtin.WORDS),
    # Interpreters.
    "python pypy": Program(
        is_opaque=True, runs_file=True, interpreter=Interpreter("c", is_guarded=True, ends_options=True)
    ),
    "node nodejs": Program(is_opaque=True, runs_file=True, interpreter=Interpreter("ep", is_guarded=True)),
    "perl": Program(is_opaque=True, runs_file=True, interpreter=Interpreter("eE", is_guarded=True)),
    "ruby": Program(is_opaque=True, runs_file=True, interpreter=Interpreter("e", is_guarded=True)),
    "julia": Program(is_opaque=True, runs_file=True, interpreter=Interpreter("eE")),
    "php": Program(is_opaque=True, runs_file=True, interpreter=Interpreter("rBRE")),
    "guile": Program(is_opaque=True, runs_file=True, interpreter=Interpreter("c")),
    "expect": Program(is_opaque=True, runs_file=True, reshells=True, interpreter=Interpreter("c")),
    "octave": Program(is_opaque=True, runs_file=True, interpreter=Interpreter()),
    "irb lua luajit m4 osascript R Rscript tclsh": Program(
        is_opaque=True, runs_file=True, interpreter=Interpreter("e")
    ),
    "dc": Program(is_opaque=True, interpreter=Interpreter("e")),
    "clojure": Program(is_opaque=True, interpreter=Interpreter("e")),
    "ghc": Program(interpreter=Interpreter("e")),
    "elixir groovy racket scala": Program(is_opaque=True, runs_file=True, interpreter=Interpreter("e")),
    "cmd elvish erb erl ghci iex jshell nu powershell": Program(is_opaque=True, runs_file=True),
    "runghc ts-node tsx wish xonsh": Program(is_opaque=True, runs_file=True),
    "java kotlin swift": Program(runs_file=True),
    "idle lldb pdb pydoc run-parts": Program(is_opaque=True, runs_file=True),
    "deno": Program(is_opaque=True, is_project_tool=True, interpreter=Interpreter("ep")),
    "bun": Program(
        is_opaque=True,
        is_project_tool=True,
        interpreter=Interpreter("ep"),
        files=_PACKAGE,
        runners=("exec", "dlx", "x"),
    ),
    "awk mawk nawk": Program(interpreter=Interpreter(valued="Fv", language="awk")),
    "gawk": Program(interpreter=Interpreter(valued="Fvl", language="awk")),
    "sed gsed": Program(interpreter=Interpreter(valued="l", language="sed")),
    # Editors, debuggers and clients of databases.
    "vi vim nvim": Program(is_opaque=True, runs_file=True, interpreter=Interpreter("c", is_editor=True)),
    "ex": Program(
        is_opaque=True, runs_file=True, interpreter=Interpreter("c", is_editor=True, is_commanded=True)
    ),
    "ed": Program(is_opaque=True, interpreter=Interpreter("e", is_commanded=True)),
    "emacs": Program(is_opaque=True, runs_file=True, interpreter=Interpreter()),
    "gdb": Program(is_opaque=True, runs_file=True, interpreter=Interpreter(is_commanded=True)),
    "less": Program(way_out=re.compile(r"\+")),
    "psql": Program(way_out=_SHELL_IN_SQL, runs_file=True, interpreter=Interpreter("c", is_client=True)),
    "mysql mariadb": Program(way_out=_SHELL_IN_SQL, interpreter=Interpreter("e", is_client=True)),
    "duckdb": Program(way_out=_DOT_COMMAND, interpreter=Interpreter("c", is_client=True)),
    "mongosh": Program(is_opaque=True, interpreter=Interpreter(is_client=True)),
    "redis-cli": Program(interpreter=Interpreter(is_client=True)),
    "sqlite sqlite3": Program(way_out=_DOT_COMMAND, runs_file=True, interpreter=Interpreter(language="sql")),
    # What starts the command behind its own words.
    _PLAIN_PREFIXES: Program(prefix=Prefix()),
    _SHELL_PREFIXES: Program(prefix=Prefix(starts_shell=True)),
    "envdir faketime gosu s6-setuidgid setuidgid su-exec taskset": Program(prefix=Prefix(operands=1)),
    "chroot gchroot": Program(prefix=Prefix(operands=1, starts_shell=True)),
    "cross-env": Program(prefix=Prefix(assigns=True)),
    "time gtime": Program(prefix=Prefix("fo", ("format", "output"))),
    "nice gnice": Program(prefix=Prefix("n", ("adjustment",))),
    "ionice": Program(prefix=Prefix("cnpPu", ("class", "classdata"))),
    "chrt": Program(prefix=Prefix("TPD", operands=1)),
    "stdbuf gstdbuf": Program(prefix=Prefix("ioe", ("input", "output", "error"))),
    "timeout gtimeout": Program(prefix=Prefix("ks", ("kill-after", "signal"), operands=1)),
    "env genv": Program(
        prefix=Prefix("uCa", ("unset", "chdir", "argv0"), assigns=True), scripts=("-S", "--split-string")
    ),
    "sudo": Program(
        prefix=Prefix(
            "ugpChrtURTD",
            ("user", "group", "prompt", "host", "role", "type", "other-user", "chroot", "chdir"),
            assigns=True,
            starts_shell=True,
        )
    ),
    "doas": Program(prefix=Prefix("uC", assigns=True, starts_shell=True)),
    "pkexec": Program(prefix=Prefix(long=("user",))),
    "su": Program(
        is_opaque=True, launches=True, reshells=True, scripts=("-c", "--command", "--session-command")
    ),
    "runuser": Program(
        is_opaque=True,
        prefix=Prefix("ugGw", ("user", "group")),
        reshells=True,
        scripts=("-c", "--command", "--session-command"),
    ),
    "sg": Program(is_opaque=True, reshells=True, scripts=("-c",)),
    "capsh newgrp": Program(is_opaque=True, reshells=True),
    "xargs gxargs": Program(
        prefix=Prefix(
            "InPLdsEa",
            (
                "replace",
                "max-args",
                "max-procs",
                "max-lines",
                "delimiter",
                "max-chars",
                "eof",
                "arg-file",
            ),
        )
    ),
    "unshare": Program(prefix=Prefix("RwSG", starts_shell=True)),
    "chpst": Program(prefix=Prefix("uUbemdofpcrtn/nP")),
    "softlimit": Program(prefix=Prefix("amdsflcroptn")),
    "cgexec": Program(prefix=Prefix("g")),
    "proxychains proxychains4": Program(prefix=Prefix("f")),
    "choom": Program(prefix=Prefix("n", ("adjust",))),
    "setpriv": Program(
        prefix=Prefix(long=("reuid", "regid", "groups", "inh-caps", "bounding-set", "securebits"))
    ),
    "strace": Program(prefix=Prefix("oepsuabEOSIPX")),
    "ltrace": Program(prefix=Prefix("oepsunaAFl")),
    "flock": Program(
        prefix=Prefix("wE", ("wait", "timeout", "conflict-exit-code"), operands=1),
        scripts=("-c", "--command"),
    ),
    "watch": Program(prefix=Prefix("n", ("interval",)), reshells=True),
    "script": Program(is_opaque=True, prefix=Prefix(), reshells=True, scripts=("-c", "--command")),
    "entr": Program(prefix=Prefix(), scripts=("-s",)),
    "systemd-inhibit": Program(prefix=Prefix(long=("what", "who", "why", "mode"))),
    "numactl": Program(prefix=Prefix("CNmpil")),
    "xvfb-run": Program(prefix=Prefix("efnps")),
    # What starts others in a way that nobody follows here, or elsewhere.
    "bwrap nsenter systemd-run": Program(is_opaque=True, launches=True),
    "parallel": Program(is_opaque=True, launches=True, reshells=True),
    "dotenv op ssh-agent": Program(launches=True),
    "at batch crontab hyperfine mosh rsh screen socat ssh tmux": Program(is_opaque=True, reshells=True),
    "concurrently cpulimit daemonize pdsh perf start-stop-daemon watchexec": Program(is_opaque=True),
    # What starts others by an option, or behind a word of its own.
    "tar gtar bsdtar": Program(
        launches=True,
        scripts=(
            *("--to-command", "--checkpoint-action", "-I", "--use-compress-program", "--rsh-command", "-F"),
            *("--info-script", "--new-volume-script", "--rmt-command"),
        ),
    ),
    "rsync": Program(launches=True, scripts=("-e", "--rsh", "--rsync-path")),
    "zip": Program(scripts=("-TT", "--unzip-command")),
    "wget": Program(scripts=("--use-askpass", "-e", "--execute")),
    "tcpdump": Program(scripts=("-z",)),
    "bat": Program(scripts=("--pager",)),
    "split gsplit": Program(scripts=("--filter",)),
    "sort gsort": Program(scripts=("--compress-program",), is_data=True),
    "scp sftp": Program(scripts=("-S",)),
    "nc ncat": Program(scripts=("-e", "-c", "--exec", "--sh-exec")),
    "nodemon": Program(scripts=("--exec", "-x")),
    "fzf": Program(scripts=("--preview", "--bind")),
    "man": Program(scripts=("-P", "--pager", "-H", "--html"), loading=("-C", "--config-file"), is_data=True),
    "rg": Program(scripts=("--pre",), loading=("--hostname-bin",), is_data=True),
    "gcc g++ cc c++": Program(loading=(*_COMPILER_PLUGINS, "-wrapper")),
    "clang clang++": Program(loading=_COMPILER_PLUGINS),
    "apt apt-get": Program(loading=("-o", "--option"), verbs=_STARTING),
    "hg": Program(loading=("--config",), verbs=_STARTING),
    "svn": Program(
        loading=("--config-option", "--config-dir", "--diff-cmd", "--diff3-cmd", "--editor-cmd"),
        verbs=_STARTING,
    ),
    "git": Program(
        scripts=("--exec", "--upload-pack", "--receive-pack", "--extcmd", "--open-files-in-pager"),
        evaluated=("-c",),
        files=(".gitconfig",),
        verbs=_STARTING
        | {
            *("submodule", "bisect", "rebase", "filter-branch", "difftool", "mergetool", "grep", "archive"),
            *("clone", "fetch", "pull", "push", "ls-remote", "remote", "send-email", "hook", "worktree"),
            *("daemon", "upload-pack", "receive-pack"),
        },
        valued=frozenset(
            {"-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path", "--config-env"}
            | {"--attr-source"}
        ),
        commands=frozenset(_GIT_COMMANDS.split()),
        synonyms={"send-pack": "push", "http-push": "push", "subtree push": "push", "stage": "add"},
    ),
    "gh": Program(verbs=_STARTING, commands=frozenset(_GH_COMMANDS.split())),
    "aws az brew dnf gcloud gem glab jj mamba pacman rustup snap yum": Program(verbs=_STARTING),
    "pixi rye": Program(runners=("run",)),
    "docker": Program(
        is_project_tool=True,
        valued=frozenset({"-H", "--host", "-c", "--context", "-l", "--log-level", "--config"}),
        commands=frozenset(_DOCKER_COMMANDS.split()),
        synonyms=_DOCKER_SYNONYMS,
    ),
    "kubectl": Program(
        valued=frozenset(
            {"-n", "--namespace", "--context", "--kubeconfig", "--cluster", "--user", "-s", "--server"}
            | {"--as", "--as-group", "--as-uid", "--token", "--request-timeout", "-v", "--v", "--cache-dir"}
            | {"--certificate-authority", "--client-certificate", "--client-key", "--tls-server-name"}
        ),
        commands=frozenset(_KUBECTL_COMMANDS.split()),
    ),
    "helm": Program(
        valued=frozenset({"-n", "--namespace", "--kube-context", "--kubeconfig"}),
        commands=frozenset(_HELM_COMMANDS.split()) | frozenset(_HELM_SYNONYMS),
        synonyms=_HELM_SYNONYMS,
    ),
    # What does what a file of its folder says.
    "make gmake": Program(
        is_opaque=True,
        is_project_tool=True,
        evaluated=("--eval", "-E"),
        files=("Makefile", "makefile", "GNUmakefile"),
    ),
    "npm": Program(
        is_project_tool=True,
        files=_PACKAGE,
        runners=("exec", "x"),
        scripts=("-c", "--call", "--script-shell"),
        loading=_NPM_SETTINGS,
        verbs=_STARTING | {"explore"},
        valued=frozenset({"--prefix", "-C", "-w", "--workspace"}),
        commands=frozenset(_NPM_COMMANDS.split()) | frozenset(_NPM_SYNONYMS),
        synonyms=_NPM_SYNONYMS,
    ),
    "pnpm yarn": Program(
        is_project_tool=True,
        files=_PACKAGE,
        runners=("exec", "dlx", "x"),
        loading=_NPM_SETTINGS,
        verbs=_STARTING,
    ),
    "npx": Program(
        is_project_tool=True, files=_PACKAGE, prefix=Prefix(starts_shell=True), scripts=("-c", "--call")
    ),
    "bunx pnpx uvx": Program(is_project_tool=True, prefix=Prefix()),
    "cargo": Program(
        is_project_tool=True,
        loading=("--config",),
        verbs=_STARTING,
        valued=frozenset({"-C", "--config", "--color", "-Z"}),
        commands=frozenset(_CARGO_COMMANDS.split()),
        synonyms={"b": "build", "c": "check", "d": "doc", "r": "run", "t": "test", "rm": "remove"},
    ),
    "go": Program(is_project_tool=True, scripts=("-exec", "-toolexec", "-vettool"), verbs=_STARTING),
    "gradle": Program(is_project_tool=True, loading=("--init-script",)),
    "uv": Program(is_project_tool=True, runners=("run", "tool run"), verbs=_STARTING),
    "conda hatch pdm poetry": Program(is_project_tool=True, runners=("run",), verbs=_STARTING),
    "pipenv pipx": Program(is_project_tool=True, runners=("run",)),
    "bundle": Program(is_project_tool=True, runners=("exec",), verbs=_STARTING),
    "direnv": Program(is_project_tool=True, runners=("exec",)),
    "mise": Program(is_project_tool=True, runners=("exec", "x")),
    "cmake": Program(
        is_project_tool=True,
        runners=("-E env", "-E time", "-E chdir"),
        way_out=re.compile(r"-[PC]"),
    ),
    "composer pip": Program(is_project_tool=True, verbs=_STARTING),
    "nix": Program(is_project_tool=True, runners=("run", "develop", "shell"), verbs=_STARTING),
    "ansible nix-shell": Program(is_project_tool=True, is_opaque=True),
    _PROJECT_TOOLS: Program(is_project_tool=True),
    # What runs nothing.
    _DATA: Program(is_data=True),
}
"""By names that share a row, each of which stands here once."""
PROGRAMS: Mapping[str, Program] = {name: row for names, row in TABLE.items() for name in names.split()}
VERBS = frozenset({"exec", "run", "shell", "enter", "console", "ssh", "watch"})
"""Words behind which many a program has another's name: `kubectl exec p -- rm`, `doppler run -- rm`."""
WHOLE = frozenset({"--checkpoint", "--exec-path", "--diff"})
"""Options of their own, though they begin like one of those above that take a command line."""
