"""What a command is for, as far as its words say: tests, a build, a lint; and whether for all files."""

import re
from collections.abc import Sequence
from typing import Literal

from planck.session.evidence import is_test

CommandKind = Literal["test", "build", "lint", "other"]
Scope = Literal["full", "targeted", "unknown"]

_LINTERS = frozenset(
    {"ruff", "flake8", "pylint", "mypy", "pyright", "eslint", "biome", "oxlint", "shellcheck", "stylelint"}
    | {"golangci-lint", "staticcheck", "rubocop", "ktlint", "hadolint", "yamllint", "markdownlint", "ty"}
)
_BUILDERS = frozenset({"gcc", "g++", "clang", "cc", "rustc", "javac", "tsc", "cmake", "ninja", "webpack"})
_TOLD = frozenset(
    {"npm", "pnpm", "yarn", "bun", "deno", "cargo", "go", "make", "gmake", "just", "task", "gradle", "mvn"}
    | {"gradlew", "mvnw", "dotnet", "mix", "swift", "bazel", "zig", "hatch", "poetry", "uv", "docker"}
)
"""Programs that build or lint when they are told to."""
_LINT_VERB = re.compile(r"(?:.*:)?(?:lint|typecheck|type-check|clippy|vet|fmt-check)(?:[:_-].*)?")
_BUILD_VERB = re.compile(r"(?:.*:)?(?:build|compile|package|assemble|bundle)(?:[:_-].*)?")
_SELECTS = re.compile(r"-k|-m|-t|-run|--run|--grep|--filter|--tests?|--testNamePattern|--lf|--last-failed")
_WHOLE = frozenset({".", "./", "./...", "..."})
_PART = re.compile(r".*(?:/|::|\.\w+$).*")
"""A word that names a file, a folder or one test."""


def find_kind(command: str) -> CommandKind:
    """Returns `other` for whatever is not known; of a command with several parts, tests count first."""
    if is_test(command):
        return "test"
    kinds = [_find_kind(words) for words in _read_words(command)]
    return next((kind for kind in ("build", "lint") if kind in kinds), "other")


def find_scope(command: str) -> Scope:
    """Returns whether tests or a lint cover everything or what the command names."""
    parts = [words for words in _read_words(command) if words[0] != "cd"]
    if len(parts) != 1 or find_kind(command) not in ("test", "lint"):
        return "unknown"
    words = parts[0]
    names = [word for word in words[1:] if not word.startswith("-") and word not in _WHOLE]
    selects = any(_SELECTS.fullmatch(word.partition("=")[0]) for word in words[1:] if word not in names)
    named = any(_PART.fullmatch(word) for word in names if "=" not in word)
    return "targeted" if selects or named else "full"


def _find_kind(words: Sequence[str]) -> CommandKind:
    programs = [word.rpartition("/")[2] for word in words if not word.startswith("-")]
    if _LINTERS.intersection(programs) or (programs[:1] in (["black"], ["prettier"]) and "--check" in words):
        return "lint"
    if "tsc" in programs and "--noEmit" in words:
        return "lint"
    if _BUILDERS.intersection(programs[:2]):
        return "build"
    if not _TOLD.intersection(programs[:2]):
        return "other"
    if any(_LINT_VERB.fullmatch(word) for word in programs[1:]):
        return "lint"
    builds = any(_BUILD_VERB.fullmatch(word) for word in programs[1:]) or programs in (["make"], ["ninja"])
    return "build" if builds else "other"


def _read_words(command: str) -> list[list[str]]:
    from planck.shell.plain import segments  # few runs have commands

    return [words for part in segments(command) or () if (words := [word.text for word in part])]
