"""Where a home keeps programs, and the libraries that they downloaded: what a sandbox shows of it.

Only places without keys and histories are named. Where a folder has a `credentials` file, the folders beside
that file are named.
"""

import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from glob import glob

from planck.own_code import follow, is_inside, is_open
from planck.workspace.paths.regular import read_regular

_BY_NAME = {
    "": (
        *(".local/bin", ".local/lib", ".local/lib64", ".local/libexec", ".local/include", ".tool-versions"),
        *(".nix-profile", ".local/state/nix/profiles", ".guix-profile", ".config/guix/current", ".linuxbrew"),
        *(".fonts", ".local/share/fonts", ".terminfo", ".local/share/jupyter/kernels"),
        *(".config/git/ignore", ".config/git/attributes", ".gitignore", ".gitignore_global", ".editorconfig"),
    ),
    "JavaScript": (
        *(
            ".nvm",
            ".fnm",
            ".local/share/fnm",
            ".local/state/fnm_multishells",
            ".volta",
            ".nodenv",
            ".nvs",
        ),
        *("n/bin", "n/lib", "n/include", "n/share", "n/n"),
        *(
            ".n",
            ".nodebrew",
            ".bun/bin",
            ".bun/install/global",
            ".deno/bin",
            ".local/share/pnpm",
            ".yarn/bin",
        ),
        *(
            ".config/yarn/global",
            ".npm-global",
            ".npm-packages",
            ".proto/bin",
            ".proto/shims",
            ".proto/tools",
        ),
        *(
            ".proto/plugins",
            ".cache/node/corepack",
            ".cache/ms-playwright",
            ".cache/puppeteer",
            ".cache/Cypress",
        ),
        *(".yarn/berry/cache", ".vite-plus/bin", ".cache/deno/npm", ".cache/deno/deps", ".cache/deno/remote"),
    ),
    "Python": (
        *(".pyenv", ".local/share/uv/python", ".local/share/uv/tools", ".local/pipx", ".local/share/pipx"),
        *(".virtualenvs", ".local/share/virtualenvs", ".cache/pypoetry/virtualenvs", ".local/share/pypoetry"),
        *(".local/share/hatch/env", ".local/share/hatch/pythons", ".local/share/pdm/venvs", ".rye/py"),
        *(".rye/shims", ".rye/self", ".rye/tools", ".rye/uv", ".cache/pre-commit", ".pixi/bin", ".pixi/envs"),
        *("miniconda3", "miniconda", "anaconda3", "anaconda", "miniforge3", "mambaforge", "micromamba"),
        *(".miniconda3", ".anaconda3", ".miniforge3", ".conda/envs", ".conda/pkgs", ".local/share/mamba"),
        *(".cache/huggingface/hub", ".cache/torch", "nltk_data", ".pythonz"),
    ),
    "Ruby, Perl, PHP, Lua": (
        *(".rbenv", ".rvm", ".rubies", ".gem/ruby", ".local/share/gem/ruby", ".frum", ".phpenv", ".phpbrew"),
        *("perl5", ".perlbrew", ".plenv", ".luaenv", ".luarocks/bin", ".luarocks/lib", ".luarocks/share"),
        *(".config/composer/vendor", ".composer/vendor", ".bundle/cache", ".bundle/plugin"),
    ),
    "several languages": (
        *(".asdf", ".asdfrc", ".local/share/mise", ".local/state/mise", ".config/mise/config.toml"),
        *(".local/share/rtx", ".local/share/aquaproj-aqua", ".anyenv", ".vfox", ".local/share/devbox"),
    ),
    "Java": (
        *(".sdkman", ".jenv", ".jabba", ".jdks", ".m2/repository", ".m2/wrapper", ".gradle/wrapper"),
        *(".gradle/caches", ".gradle/jdks", ".ivy2/cache", ".ivy2/local", ".sbt/boot", ".sbt/launchers"),
        *(".cache/coursier", ".local/share/coursier/bin", ".konan", ".kotlinc"),
    ),
    "Rust, Go, Zig": (
        *(".rustup", ".cargo/bin", ".cargo/registry", ".cargo/git", ".cargo/env", ".cargo/config.toml"),
        *(".cargo/config", "go/bin", "go/pkg", "sdk/go*", ".goenv", ".gvm", ".g", ".zvm", ".zigup", ".zig"),
    ),
    "Haskell, OCaml, Lean, Julia, Elixir, Nim, Crystal, Swift": (
        *(
            ".ghcup",
            ".cabal/bin",
            ".cabal/lib",
            ".cabal/packages",
            ".cabal/store",
            ".local/state/cabal/store",
        ),
        *(".stack/programs", ".stack/snapshots", ".opam", ".elan", ".juliaup", ".julia/juliaup"),
        *(
            ".julia/packages",
            ".julia/artifacts",
            ".julia/compiled",
            ".julia/registries",
            ".julia/environments",
        ),
        *(".mix/archives", ".mix/elixir", ".hex/packages", ".kiex", ".kerl", ".cache/rebar3", ".nimble/bin"),
        *(".nimble/pkgs", ".nimble/pkgs2", ".choosenim", ".crenv", ".swiftly", ".swiftenv"),
        *(".local/share/swiftly", ".R/library", "R/*-library"),
    ),
    ".NET, Dart, Android, devices": (
        *(f".dotnet/{name}" for name in ("dotnet", "host", "sdk", "shared", "packs", "tools", "templates")),
        *(".dotnet/sdk-manifests", ".dotnet/store", ".dotnet/swidtag", ".nuget/packages"),
        *("flutter", "development/flutter", "snap/flutter/common/flutter", "fvm", ".fvm", ".pub-cache/bin"),
        *(".pub-cache/hosted", ".pub-cache/git", ".pub-cache/global_packages", ".dart-sdk", "Android/Sdk"),
        *(".platformio/penv", ".platformio/packages", ".platformio/platforms", ".espressif/tools"),
        *(".espressif/python_env", ".arduino15/packages", "emsdk", ".emsdk", ".cache/bazelisk", "vcpkg"),
    ),
    "tools of clouds and clusters": (
        *(".tfenv", ".tgenv", ".krew/bin", ".krew/store", ".arkade/bin", ".tiup/bin", ".tiup/components"),
        *("google-cloud-sdk", ".terraform.d/plugins", ".terraform.d/plugin-cache", ".pulumi/bin"),
    ),
}
_ONLY_WITH = {
    "flutter": "bin/flutter",
    "development/flutter": "bin/flutter",
    "fvm": "versions",
    "vcpkg": ".vcpkg-root",
    "emsdk": "emsdk.py",
    "google-cloud-sdk": "bin/gcloud",
}
"""Names that a project of the user's may have, too, and what tells them from one."""
_MOVED = {
    "CARGO_HOME": ".cargo",
    "RUSTUP_HOME": ".rustup",
    "NVM_DIR": ".nvm",
    "FNM_DIR": ".local/share/fnm",
    "VOLTA_HOME": ".volta",
    "PNPM_HOME": ".local/share/pnpm",
    "BUN_INSTALL": ".bun",
    "DENO_INSTALL": ".deno",
    "PYENV_ROOT": ".pyenv",
    "UV_PYTHON_INSTALL_DIR": ".local/share/uv/python",
    "UV_TOOL_DIR": ".local/share/uv/tools",
    "PIPX_HOME": ".local/share/pipx",
    "RBENV_ROOT": ".rbenv",
    "ASDF_DATA_DIR": ".asdf",
    "ASDF_DIR": ".asdf",
    "MISE_DATA_DIR": ".local/share/mise",
    "SDKMAN_DIR": ".sdkman",
    "JABBA_HOME": ".jabba",
    "GOPATH": "go",
    "GHCUP_INSTALL_BASE_PREFIX": "",
    "OPAMROOT": ".opam",
    "ELAN_HOME": ".elan",
    "PERLBREW_ROOT": "perl5",
    "DOTNET_ROOT": ".dotnet",
    "ANDROID_HOME": "Android/Sdk",
    "ANDROID_SDK_ROOT": "Android/Sdk",
    "FLUTTER_ROOT": "flutter",
    "PUB_CACHE": ".pub-cache",
    "GRADLE_USER_HOME": ".gradle",
    "XDG_DATA_HOME": ".local/share",
    "XDG_STATE_HOME": ".local/state",
    "XDG_CACHE_HOME": ".cache",
}
"""Variables that move a place elsewhere, with its usual name; empty: a home."""
_PARTS = frozenset(
    {"bin", "sbin", "shims", "scripts", "lib", "lib32", "lib64", "libexec", "share", "include", "src", "pkg"}
    | {"conf", "jmods", "legal", "jre", "jbr", "plugins", "packages", "versions", "node_modules", "vendor"}
    | {"VERSION", "go.env", "release", "pyvenv.cfg", "conda-meta", "ssl"}
)
"""What an installation is made of; keys and settings have other names."""
_PROGRAMS = frozenset({"bin", "sbin", "condabin", "shims", "scripts", "Scripts"})
_SYSTEM = ("/bin", "/sbin", "/usr/bin", "/usr/sbin")
"""Their links lead to no home, and they are large."""
_MAX_ENTRIES = 2000
"""Of a folder of programs."""
_TELLING = ("config.toml", "config", ".tool-versions", ".asdfrc")
"""Files that may hold a key as well: shown if no word in them is one of these."""
_SECRETIVE = re.compile(
    r"(?i)token|secret|passw|credential|_key|apikey|auth|/t/[\w-]{8}|\[env|\benv\s*=|://[^/\s]*@"
)
_MAX_TELLING = 64 << 10
_OF_NODE = ("etc/npmrc", "lib/node_modules/npm/npmrc", "lib/node_modules/npm/.npmrc")
_OF_PYTHON = ("pip.conf", "etc/pip.conf", ".condarc", "condarc")
_OF_GIT = (".git/config",)
_KEYS = {
    **dict.fromkeys(
        (
            *(".nvm/versions/node/*", ".local/share/fnm/node-versions/*/installation", ".nodenv/versions/*"),
            *(".fnm/node-versions/*/installation", ".volta/tools/image/node/*", ".nvs/node/*/*", "n", ".n"),
            *(".npm-global", ".npm-packages", ".asdf/installs/nodejs/*", ".proto/tools/node/*"),
            *(".local/share/mise/installs/node/*", ".local/share/rtx/installs/node/*", ".local/share/pnpm"),
        ),
        _OF_NODE,
    ),
    **dict.fromkeys((".bun/install/global", ".config/yarn/global"), (".npmrc", ".yarnrc", "bunfig.toml")),
    ".volta": ("hooks.json",),
    **dict.fromkeys(
        (
            *(".pyenv/versions/*", ".virtualenvs/*", ".local/share/virtualenvs/*", ".pythonz/pythons/*"),
            *(".cache/pypoetry/virtualenvs/*", ".local/share/uv/tools/*", ".local/share/uv/python/*"),
            *(".local/share/pipx/venvs/*", ".local/pipx/venvs/*", ".asdf/installs/python/*"),
            *(".local/share/mise/installs/python/*", ".local/share/pdm/venvs/*", ".pixi/envs/*"),
            *("miniconda3", "miniconda", "anaconda3", "anaconda", "miniforge3", "mambaforge", "micromamba"),
            *(".miniconda3", ".anaconda3", ".miniforge3", ".conda/envs/*", "miniconda3/envs/*"),
            *("anaconda3/envs/*", "miniforge3/envs/*", "mambaforge/envs/*", "micromamba/envs/*"),
        ),
        _OF_PYTHON,
    ),
    **dict.fromkeys((".rbenv/versions/*", ".rvm/rubies/*", ".asdf/installs/ruby/*"), ("etc/gemrc",)),
    **dict.fromkeys(
        (".asdf/installs/rust/*", ".local/share/mise/installs/rust/*"),
        ("credentials.toml", "credentials", "config.toml"),
    ),
    **dict.fromkeys(
        (
            *(".sdkman/candidates/maven/*", ".asdf/installs/maven/*", ".local/share/mise/installs/maven/*"),
            ".m2/wrapper/dists/*/*",
        ),
        ("conf/settings.xml",),
    ),
    ".opam": ("config", "repo/repos-config"),
    **dict.fromkeys(
        (
            *(".pyenv", ".nvm", ".rbenv", ".asdf", ".nodenv", ".goenv", ".jenv", ".phpenv", ".plenv"),
            *(".tfenv", ".crenv", ".anyenv", ".pyenv/plugins/*", ".rbenv/plugins/*", ".asdf/plugins/*"),
            *(".cache/pre-commit/*", ".local/share/mise/plugins/*", "flutter", "emsdk", "vcpkg", "fvm"),
        ),
        _OF_GIT,
    ),
}
"""By the folder of an installation: files in it that may hold a key, and are hidden if they do."""
_OF_KEYS = re.compile(
    r"(?i)^\.env|^\.(?:npmrc|netrc|pypirc)$|^id_\w+$|\.(?:pem|key|p12|pfx|kdbx|keystore)$|credential|secret"
    r"|token|passw"
)


def find_toolchains(
    own: Collection[str],
    homes: Collection[str],
    environ: Mapping[str, str],
    private: Collection[str],
    roots: Collection[str],
) -> Iterator[str]:
    """Yields those in the user's own homes, and what the user's `PATH` leads to in any; not canonical.

    `private` are places that no program makes visible as a whole. What agents may write, in the `roots`, says
    nothing: a link there could lead anywhere.
    """
    names = [name for of_language in _BY_NAME.values() for name in of_language]
    for home in own:
        yield from _find_named(home, names)
    for variable, usual in _MOVED.items():
        moved = environ.get(variable, "").partition(":")[0]
        if os.path.isabs(moved) and is_inside(os.path.realpath(moved), homes):
            below = [
                name[len(usual) :].lstrip("/") for name in names if is_inside(name, (usual,)) or not usual
            ]
            yield from _find_named(moved, below)
    look = _Look(homes, {*homes, *private}, roots)
    for entry in dict.fromkeys(environ.get("PATH", "").split(":")):
        yield from look.at_folder(entry)


def _find_named(folder: str, names: Iterable[str]) -> Iterator[str]:
    try:
        there = {*os.listdir(folder)}  # most are not there: one look instead of one at each
    except OSError:
        return
    for name in names:
        if name and name.partition("/")[0] not in there:
            continue
        for place in _list_places(folder, name):
            if os.path.basename(place) in _TELLING and _tells_a_key(place):
                continue
            mark = _ONLY_WITH.get(name)
            if mark is None or os.path.lexists(f"{place}/{mark}"):
                yield place


def _list_places(folder: str, name: str) -> list[str]:
    """Returns what is there by a name, whose last parts may be patterns."""
    place = f"{folder}/{name}".rstrip("/")
    if "*" not in name:
        return [place] if os.path.lexists(place) else []
    return [f"{folder}/{one}" for one in sorted(glob(name, root_dir=folder, include_hidden=True))]


def _tells_a_key(file: str) -> bool:
    """Whether a file of settings has a word in it that stands beside keys; one that can't be read may."""
    try:
        text = os.fsdecode(read_regular(file, _MAX_TELLING))
    except OSError:
        return True
    if file.endswith(".xml"):  # Maven's own has an example of a password in a comment
        text = re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL)
    return _SECRETIVE.search(text) is not None


def find_keys(own: Collection[str], homes: Collection[str], environ: Mapping[str, str]) -> Iterator[str]:
    """Yields files with keys in what `find_toolchains` shows: settings that installations have of their own,
    and what the user keeps beside programs."""
    bases = [(home, "") for home in own]
    for variable, usual in _MOVED.items():
        moved = environ.get(variable, "").partition(":")[0]
        if os.path.isabs(moved) and is_inside(os.path.realpath(moved), homes):
            bases.append((moved, usual))
    for base, usual in bases:
        for place, files in _KEYS.items():
            if not is_inside(place, (usual,)) and usual:
                continue
            for name in files:
                pattern = f"{place}/{name}"[len(usual) :].lstrip("/")
                if os.path.lexists(f"{base}/{pattern.partition('/')[0]}"):
                    yield from (found for found in _list_places(base, pattern) if _tells_a_key(found))
    for entry in dict.fromkeys(environ.get("PATH", "").split(":")):
        if os.path.isabs(entry) and is_inside(os.path.realpath(entry), homes):
            yield from _list_kept(entry)


def _list_kept(folder: str) -> Iterator[str]:
    """Yields files beside programs whose names say that they hold keys."""
    try:
        with os.scandir(folder) as entries:
            for number, entry in enumerate(entries):
                if number > _MAX_ENTRIES:
                    return
                if _OF_KEYS.search(entry.name) and not (entry.is_file() and os.access(entry.path, os.X_OK)):
                    yield entry.path
    except OSError:
        return


class _Look:
    """Looks for installations in homes, from the folders of a `PATH`."""

    def __init__(self, homes: Collection[str], private: Collection[str], roots: Collection[str]) -> None:
        self._homes = homes
        self._private = private
        self._roots = roots
        self._seen: set[str] = set()

    def at_folder(self, entry: str) -> Iterator[str]:
        if not os.path.isabs(entry) or entry in _SYSTEM or not os.path.isdir(entry):
            return
        if is_open(entry, self._roots):
            return
        in_home = is_inside(os.path.realpath(entry), self._homes)
        if in_home or is_inside(entry, self._homes):
            yield from self._find_installation(entry)
        if in_home or entry.startswith(("/usr/local/", "/opt/")):
            for program in _list_links(entry):
                yield from self._find_linked(program)

    def _find_linked(self, program: str) -> Iterator[str]:
        """Yields what a link to a program in a home needs: each link on the way, and the installation."""
        *links, end = follow(program)
        if not is_inside(end, self._homes) or is_open(program, self._roots):
            return
        if os.path.isdir(end) or not os.access(end, os.X_OK):
            return
        yield from (link for link in links if is_inside(link, self._homes))
        package, below, _ = end.partition("/node_modules/")
        if below and not self._holds_private(package):
            yield package + below.rstrip("/")
        elif os.path.basename(os.path.dirname(end)) in _PROGRAMS:
            yield from self._find_installation(os.path.dirname(end))
        yield end

    def _find_installation(self, folder: str) -> Iterator[str]:
        """Yields a folder of programs, and what lies beside it of the same installation."""
        real = os.path.realpath(folder)
        if folder in self._seen or self._holds_private(real):
            return
        self._seen.add(folder)
        yield folder
        around = os.path.dirname(real)
        if os.path.basename(real) == ".bin" and os.path.basename(around) == "node_modules":
            yield around
        elif os.path.basename(real) in _PROGRAMS and not self._holds_private(around):
            parts = _PARTS.intersection(os.listdir(around))
            if os.path.lexists(settings := f"{around}/conf/settings.xml") and _tells_a_key(settings):
                parts -= {"conf"}
            yield from (f"{around}/{name}" for name in sorted(parts))

    def _holds_private(self, folder: str) -> bool:
        return any(is_inside(place, (folder,)) for place in self._private)


def _list_links(folder: str) -> Iterator[str]:
    try:
        with os.scandir(folder) as entries:
            for number, entry in enumerate(entries):
                if number > _MAX_ENTRIES:
                    return
                if entry.is_symlink():
                    yield entry.path
    except OSError:
        return
