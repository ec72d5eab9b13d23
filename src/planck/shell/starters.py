"""Programs that start others, and how: by words behind their own, by options, or in a language of theirs."""

import re
from collections.abc import Mapping

import msgspec

SHELLS = frozenset(
    {"sh", "bash", "dash", "ash", "zsh", "ksh", "mksh", "fish", "csh", "tcsh", "rbash", "pwsh", "yash"}
)
OPAQUE = frozenset(
    {"python", "pypy", "perl", "ruby", "node", "nodejs", "lua", "luajit", "php", "tclsh", "expect", "julia"}
    | {"octave", "deno", "bun", "irb", "guile", "Rscript", "R", "osascript", "make", "gmake", "gdb", "lldb"}
    | {
        "vi",
        "vim",
        "nvim",
        "ex",
        "ed",
        "emacs",
        "m",
        "dc",
        "source",
        ".",
        "ssh",
        "rsh",
        "mosh",
        "at",
        "batch",
    }
    | {"crontab", "tmux", "screen", "parallel", "nsenter", "systemd-run", "enable", "bind", "socat", "fc"}
    | {
        "run-parts",
        "start-stop-daemon",
        "bwrap",
        "perf",
        "hyperfine",
        "cpulimit",
        "watchexec",
        "concurrently",
    }
    | {"sg", "nix-shell", "ansible", "pdsh", "daemonize"}
)
"""Programs that run a language of their own, a file, or commands elsewhere: nobody reads that here."""


AWKS = frozenset({"awk", "gawk", "mawk", "nawk"})
SEDS = frozenset({"sed", "gsed"})
WAYS_OUT = {
    "less": re.compile(r"\+"),
    **dict.fromkeys(
        ("psql", "mysql", "mariadb"), re.compile(r".*(?:\\!|\bsystem\b|\bPROGRAM\b)", re.S | re.I)
    ),
    "sqlite3": re.compile(r"(?:.*\n)?\s*\.(?:sh|sy|re|lo)|.*\b(?:edit|load_extension)\b", re.S | re.I),
}
"""What a word of a program looks like by which it starts others."""


class Prefix(msgspec.Struct, frozen=True):
    """How a program's own words end, behind which the command stands."""

    valued: str = ""
    """Short options whose value is a word of its own."""
    long: frozenset[str] = frozenset()
    operands: int = 0
    assigns: bool = False


def _long(names: str) -> frozenset[str]:
    return frozenset(names.split())


PREFIXES: Mapping[str, Prefix] = {
    **dict.fromkeys(("command", "builtin", "nohup", "setsid", "fakeroot", "eatmydata", "unbuffer"), Prefix()),
    **dict.fromkeys(("linux32", "linux64", "dbus-run-session", "torsocks", "catchsegv", "busybox"), Prefix()),
    "toybox": Prefix(),
    "exec": Prefix("a"),
    "time": Prefix("fo", _long("format output")),
    "nice": Prefix("n", _long("adjustment")),
    "ionice": Prefix("cnpPu", _long("class classdata")),
    "chrt": Prefix("TPD", operands=1),
    "taskset": Prefix(operands=1),
    "stdbuf": Prefix("ioe", _long("input output error")),
    "timeout": Prefix("ks", _long("kill-after signal"), operands=1),
    "env": Prefix("uCa", _long("unset chdir argv0"), assigns=True),
    "sudo": Prefix(
        "ugpChrtURTD", _long("user group prompt host role type other-user chroot chdir"), assigns=True
    ),
    "doas": Prefix("uC"),
    "pkexec": Prefix(long=_long("user")),
    "runuser": Prefix("ugGw", _long("user group")),
    "xargs": Prefix(
        "InPLdsEa", _long("replace max-args max-procs max-lines delimiter max-chars eof arg-file")
    ),
    "chroot": Prefix(operands=1),
    "unshare": Prefix("RwSG"),
    **dict.fromkeys(("setarch", "x86_64", "i386", "i686", "uname26", "npx", "bunx", "uvx", "pnpx"), Prefix()),
    **dict.fromkeys(("proot", "fakechroot", "dbus-launch", "torify", "chronic", "ifne", "sem"), Prefix()),
    **dict.fromkeys(("caffeinate", "ccache", "distcc", "sccache", "tini", "dumb-init"), Prefix()),
    **dict.fromkeys(("gosu", "su-exec", "setuidgid", "s6-setuidgid", "envdir"), Prefix(operands=1)),
    "cross-env": Prefix(assigns=True),
    "chpst": Prefix("uUbemdofpcrtn/nP"),
    "softlimit": Prefix("amdsflcroptn"),
    "cgexec": Prefix("g"),
    "proxychains4": Prefix("f"),
    "choom": Prefix("n", _long("adjust")),
    "setpriv": Prefix(long=_long("reuid regid groups inh-caps bounding-set securebits")),
    "strace": Prefix("oepsuabEOSIPX"),
    "ltrace": Prefix("oepsunaAFl"),
    "flock": Prefix("wE", _long("wait timeout conflict-exit-code"), operands=1),
    "watch": Prefix("n", _long("interval")),
    "script": Prefix(),
    "faketime": Prefix(operands=1),
    "prlimit": Prefix(),
    "numactl": Prefix("CNmpil"),
    "valgrind": Prefix(),
    "rlwrap": Prefix(),
    "entr": Prefix(),
    "xvfb-run": Prefix("efnps"),
    "proxychains": Prefix("f"),
    "firejail": Prefix(),
}
RUNNERS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("poetry", "pipenv", "pdm", "hatch", "conda", "rye", "pixi", "pipx"), ("run",)),
    **dict.fromkeys(("bundle", "mise", "direnv"), ("exec",)),
    "uv": ("run", "tool run"),
    "npm": ("exec", "x"),
    **dict.fromkeys(("pnpm", "yarn", "bun"), ("exec", "dlx", "x")),
    "cmake": ("-E env", "-E time", "-E chdir"),
}
"""Programs that start another only behind one of these words."""
SCRIPT_OPTIONS: Mapping[str, tuple[str, ...]] = {
    "su": ("-c", "--command", "--session-command"),
    "runuser": ("-c", "--command", "--session-command"),
    "sg": ("-c",),
    "script": ("-c", "--command"),
    "flock": ("-c", "--command"),
    "compgen": ("-C",),
    "complete": ("-C",),
    "mapfile": ("-C",),
    "readarray": ("-C",),
    "env": ("-S", "--split-string"),
    "tar": (
        *("--to-command", "--checkpoint-action", "-I", "--use-compress-program", "--rsh-command", "-F"),
        *("--info-script", "--new-volume-script", "--rmt-command"),
    ),
    "rsync": ("-e", "--rsh", "--rsync-path"),
    "zip": ("-TT", "--unzip-command"),
    "go": ("-exec", "-toolexec", "-vettool"),
    "wget": ("--use-askpass", "-e", "--execute"),
    "tcpdump": ("-z",),
    "bat": ("--pager",),
    **dict.fromkeys(("gcc", "g++", "cc", "c++"), ("-wrapper",)),
    "split": ("--filter",),
    "sort": ("--compress-program",),
    "scp": ("-S",),
    "sftp": ("-S",),
    "git": ("--exec", "--upload-pack", "--receive-pack", "--extcmd", "--open-files-in-pager"),
    "rg": ("--pre",),
    "npx": ("-c", "--call"),
    "npm": ("-c", "--call", "--script-shell"),
    "nc": ("-e", "-c", "--exec", "--sh-exec"),
    "ncat": ("-e", "-c", "--exec", "--sh-exec"),
    "entr": ("-s",),
    "nodemon": ("--exec", "-x"),
    "fzf": ("--preview", "--bind"),
    "man": ("-P", "--pager", "-H", "--html"),
}
"""Options of programs that take a command line, by which a program starts another."""
VERBS = frozenset({"exec", "run", "shell", "enter", "console", "ssh", "watch"})
"""Words behind which many a program has another's name: `kubectl exec p -- rm`, `doppler run -- rm`."""
LOADING: Mapping[str, tuple[str, ...]] = {
    "hg": ("--config",),
    "svn": ("--config-option", "--config-dir", "--diff-cmd", "--diff3-cmd", "--editor-cmd"),
    "cargo": ("--config",),
    **dict.fromkeys(("gcc", "g++", "cc", "c++", "clang", "clang++"), ("-fplugin", "-specs", "--specs")),
    **dict.fromkeys(("apt", "apt-get"), ("-o", "--option")),
    "rg": ("--hostname-bin",),
    "man": ("-C", "--config-file"),
    **dict.fromkeys(("npm", "pnpm", "yarn"), ("--node-options", "--userconfig")),
    "gradle": ("--init-script",),
}
"""Options by which a program takes settings or code that may start anything."""
WHOLE = frozenset({"--checkpoint", "--exec-path", "--diff"})
"""Options of their own, though they begin like one of the above."""
