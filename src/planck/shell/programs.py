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

    @property
    def assigns(self) -> bool:
        """Its arguments are assignments too."""
        return self.builtin is Builtin.DECLARES or (self.prefix is not None and self.prefix.assigns)

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


UNKNOWN = Program()
_VERSION = "0123456789."

_STARTING = frozenset(
    {"run", "run-script", "exec", "x", "dlx", "create", "tool", "generate", "config", "alias", "extension"}
    | {"shell"}
)
_SHELL_IN_SQL = re.compile(r".*(?:\\!|\bsystem\b|\bPROGRAM\b)", re.DOTALL | re.IGNORECASE)
_DOT_COMMAND = re.compile(
    r"(?:.*\n)?\s*\.(?:sh|sy|re|lo)|.*\b(?:edit|load_extension)\b", re.DOTALL | re.IGNORECASE
)
_COMPILER_PLUGINS = ("-fplugin", "-specs", "--specs")
_PACKAGE = ("package.json", ".npmrc")
_NPM_SETTINGS = ("--node-options", "--userconfig")

_PLAIN_PREFIXES = """
builtin busybox caffeinate catchsegv ccache chronic command dbus-launch dbus-run-session distcc
dumb-init eatmydata fakechroot fakeroot firejail i386 i686 ifne linux32 linux64 nohup prlimit proot
rlwrap sccache sem setarch setsid tini torify torsocks toybox uname26 unbuffer valgrind x86_64
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
    "clojure ghc": Program(interpreter=Interpreter("e")),
    "elixir groovy racket scala": Program(runs_file=True, interpreter=Interpreter("e")),
    "cmd elvish erb erl ghci iex java jshell kotlin nu powershell": Program(runs_file=True),
    "runghc swift ts-node tsx wish xonsh": Program(runs_file=True),
    "lldb run-parts": Program(is_opaque=True, runs_file=True),
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
    "duckdb": Program(interpreter=Interpreter("c", is_client=True)),
    "mongosh redis-cli": Program(interpreter=Interpreter(is_client=True)),
    "sqlite sqlite3": Program(way_out=_DOT_COMMAND, runs_file=True, interpreter=Interpreter(language="sql")),
    # What starts the command behind its own words.
    _PLAIN_PREFIXES: Program(prefix=Prefix()),
    "envdir faketime gosu s6-setuidgid setuidgid su-exec chroot taskset": Program(prefix=Prefix(operands=1)),
    "cross-env": Program(prefix=Prefix(assigns=True)),
    "time": Program(prefix=Prefix("fo", ("format", "output"))),
    "nice": Program(prefix=Prefix("n", ("adjustment",))),
    "ionice": Program(prefix=Prefix("cnpPu", ("class", "classdata"))),
    "chrt": Program(prefix=Prefix("TPD", operands=1)),
    "stdbuf": Program(prefix=Prefix("ioe", ("input", "output", "error"))),
    "timeout": Program(prefix=Prefix("ks", ("kill-after", "signal"), operands=1)),
    "env": Program(
        prefix=Prefix("uCa", ("unset", "chdir", "argv0"), assigns=True), scripts=("-S", "--split-string")
    ),
    "sudo": Program(
        prefix=Prefix(
            "ugpChrtURTD",
            ("user", "group", "prompt", "host", "role", "type", "other-user", "chroot", "chdir"),
            assigns=True,
        )
    ),
    "doas": Program(prefix=Prefix("uC", assigns=True)),
    "pkexec": Program(prefix=Prefix(long=("user",))),
    "su": Program(launches=True, reshells=True, scripts=("-c", "--command", "--session-command")),
    "runuser": Program(
        prefix=Prefix("ugGw", ("user", "group")),
        reshells=True,
        scripts=("-c", "--command", "--session-command"),
    ),
    "sg": Program(is_opaque=True, reshells=True, scripts=("-c",)),
    "xargs": Program(
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
    "unshare": Program(prefix=Prefix("RwSG")),
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
    "script": Program(prefix=Prefix(), reshells=True, scripts=("-c", "--command")),
    "entr": Program(prefix=Prefix(), scripts=("-s",)),
    "numactl": Program(prefix=Prefix("CNmpil")),
    "xvfb-run": Program(prefix=Prefix("efnps")),
    # What starts others in a way that nobody follows here, or elsewhere.
    "bwrap nsenter systemd-run": Program(is_opaque=True, launches=True),
    "parallel": Program(is_opaque=True, launches=True, reshells=True),
    "dotenv op ssh-agent": Program(launches=True),
    "at batch crontab hyperfine mosh rsh screen socat ssh tmux": Program(is_opaque=True, reshells=True),
    "concurrently cpulimit daemonize pdsh perf start-stop-daemon watchexec": Program(is_opaque=True),
    # What starts others by an option, or behind a word of its own.
    "tar": Program(
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
    "split": Program(scripts=("--filter",)),
    "sort": Program(scripts=("--compress-program",), is_data=True),
    "scp sftp": Program(scripts=("-S",)),
    "nc ncat": Program(scripts=("-e", "-c", "--exec", "--sh-exec")),
    "nodemon": Program(scripts=("--exec", "-x")),
    "fzf": Program(scripts=("--preview", "--bind")),
    "man": Program(scripts=("-P", "--pager", "-H", "--html"), loading=("-C", "--config-file"), is_data=True),
    "rg": Program(scripts=("--pre",), loading=("--hostname-bin",), is_data=True),
    "gcc g++ cc c++": Program(scripts=("-wrapper",), loading=_COMPILER_PLUGINS),
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
    ),
    "aws az brew dnf gcloud gem gh glab jj mamba pacman rustup snap yum": Program(verbs=_STARTING),
    "pixi rye": Program(runners=("run",)),
    "docker": Program(
        is_project_tool=True,
        valued=frozenset({"-H", "--host", "-c", "--context", "-l", "--log-level", "--config"}),
    ),
    "kubectl": Program(
        valued=frozenset({"-n", "--namespace", "--context", "--kubeconfig", "--cluster", "--user", "-s"})
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
        verbs=_STARTING,
        valued=frozenset({"--prefix", "-C", "-w", "--workspace"}),
    ),
    "pnpm yarn": Program(
        is_project_tool=True,
        files=_PACKAGE,
        runners=("exec", "dlx", "x"),
        loading=_NPM_SETTINGS,
        verbs=_STARTING,
    ),
    "npx": Program(is_project_tool=True, files=_PACKAGE, prefix=Prefix(), scripts=("-c", "--call")),
    "bunx pnpx uvx": Program(is_project_tool=True, prefix=Prefix()),
    "cargo": Program(
        is_project_tool=True,
        loading=("--config",),
        verbs=_STARTING,
        valued=frozenset({"-C", "--config", "--color", "-Z"}),
    ),
    "go": Program(is_project_tool=True, scripts=("-exec", "-toolexec", "-vettool"), verbs=_STARTING),
    "gradle": Program(is_project_tool=True, loading=("--init-script",)),
    "uv": Program(is_project_tool=True, runners=("run", "tool run"), verbs=_STARTING),
    "conda hatch pdm poetry": Program(is_project_tool=True, runners=("run",), verbs=_STARTING),
    "pipenv pipx": Program(is_project_tool=True, runners=("run",)),
    "bundle": Program(is_project_tool=True, runners=("exec",), verbs=_STARTING),
    "direnv mise": Program(is_project_tool=True, runners=("exec",)),
    "cmake": Program(is_project_tool=True, runners=("-E env", "-E time", "-E chdir")),
    "composer nix pip": Program(is_project_tool=True, verbs=_STARTING),
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
