"""What a command may know of the user's environment: names on a list, and those that the user named.

Never a list of exceptions: a variable that nobody thought of may hold a key.
"""

import re
from collections.abc import Collection, Mapping

_ALLOWED = frozenset(
    {"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TMPDIR"}
    | {"XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"}
    | {"SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS"}
    # Who commits. The other `GIT_*` name programs, folders and settings.
    | {"GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL", "EMAIL"}
    # Whether nobody watches, and how output looks.
    | {"CI", "CONTINUOUS_INTEGRATION", "GITHUB_ACTIONS", "GITLAB_CI", "CIRCLECI", "BUILDKITE", "TRAVIS"}
    | {"TF_BUILD", "NO_COLOR", "SOURCE_DATE_EPOCH"}
    # Where toolchains and their caches are, and which of them is in use.
    | {"VIRTUAL_ENV", "CONDA_PREFIX", "CONDA_DEFAULT_ENV", "PYENV_ROOT", "PYENV_VERSION", "PIPX_HOME"}
    | {"UV_PYTHON_INSTALL_DIR", "UV_TOOL_DIR", "UV_CACHE_DIR", "PIP_CACHE_DIR", "POETRY_CACHE_DIR"}
    | {"CARGO_HOME", "CARGO_TARGET_DIR", "RUSTUP_HOME", "RUSTUP_TOOLCHAIN", "GOPATH", "GOROOT", "GOCACHE"}
    | {"GOMODCACHE", "GOOS", "GOARCH", "CGO_ENABLED", "NVM_DIR", "NVM_BIN", "FNM_DIR", "VOLTA_HOME"}
    | {"PNPM_HOME", "BUN_INSTALL", "DENO_INSTALL", "DENO_DIR", "NODE_ENV", "RBENV_ROOT", "RBENV_VERSION"}
    | {"GEM_HOME", "BUNDLE_PATH", "ASDF_DIR", "ASDF_DATA_DIR", "MISE_DATA_DIR", "SDKMAN_DIR", "JABBA_HOME"}
    | {"JAVA_HOME", "JDK_HOME", "M2_HOME", "MAVEN_HOME", "GRADLE_HOME", "GRADLE_USER_HOME", "KOTLIN_HOME"}
    | {
        "OPAMROOT",
        "ELAN_HOME",
        "GHCUP_INSTALL_BASE_PREFIX",
        "STACK_ROOT",
        "PERLBREW_ROOT",
        "JULIA_DEPOT_PATH",
    }
    | {"DOTNET_ROOT", "NUGET_PACKAGES", "ANDROID_HOME", "ANDROID_SDK_ROOT", "ANDROID_NDK_HOME"}
    | {"FLUTTER_ROOT", "PUB_CACHE", "CUDA_HOME", "CUDA_PATH", "VCPKG_ROOT", "CCACHE_DIR"}
    # What a build is made with.
    | {"CC", "CXX", "CPP", "AR", "LD", "CFLAGS", "CXXFLAGS", "CPPFLAGS", "LDFLAGS", "ARCHFLAGS"}
    | {"PKG_CONFIG_PATH", "CPATH", "LIBRARY_PATH", "CMAKE_PREFIX_PATH", "MACOSX_DEPLOYMENT_TARGET"}
)
_PROXIES = frozenset({"HTTP_PROXY", "HTTPS_PROXY", "FTP_PROXY", "ALL_PROXY", "NO_PROXY"})
"""In small letters too; one with a name and a password in its address is a key."""
_FIXED = {
    "TERM": "dumb",
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_DISCOVERY_ACROSS_FILESYSTEM": "1",
    "EDITOR": "false",
    "VISUAL": "false",
}
"""Nobody is there to page, to type or to edit. In the sandbox, a folder above the workspace is on another
file system, and git looks there for a repository."""


class UserEnvironment(dict[str, str]):
    """The user's environment, with the names of those variables that commands get besides the usual ones."""

    def __init__(self, variables: Mapping[str, str], passed: Collection[str] = ()) -> None:
        super().__init__(variables)
        self.passed: frozenset[str] = frozenset(passed)


def allowed(environment: Mapping[str, str]) -> dict[str, str]:
    """Returns the part of the user's environment that a command gets."""
    passed = environment.passed if isinstance(environment, UserEnvironment) else frozenset()
    kept = {name: text for name, text in environment.items() if name in passed or _is_harmless(name, text)}
    return {"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8", **kept, **_FIXED}


def _is_harmless(name: str, text: str) -> bool:
    if name.upper() in _PROXIES:
        return "@" not in text
    return name in _ALLOWED or name.startswith("LC_")


def find_withheld(environment: Mapping[str, str]) -> frozenset[str]:
    """Returns the names of the user's variables that a command does not get."""
    return frozenset(environment).difference(allowed(environment), _OURS)


_OURS = frozenset({"PWD", "OLDPWD", "SHLVL", "_"})
"""A shell sets these itself."""


def explain_missing(output: str, withheld: Collection[str]) -> str:
    """Returns which variable a failed command complains of that it did not get; empty: of none."""
    for line in reversed(output[-_LAST_OUTPUT:].splitlines()):
        if re.search(_COMPLAINS, line):
            for name in re.findall(r"[A-Za-z_][A-Za-z0-9_]*", line):
                if name in withheld:
                    return str(name)
    return ""


_LAST_OUTPUT = 8_000
_COMPLAINS = (
    r"(?i)unbound variable|parameter (not set|null)|not (set|defined|found)|undefined|KeyError|missing"
    r"|required|must be|environment"
)
