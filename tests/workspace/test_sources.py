"""A repository has one spelling, by which lists of repositories are compared and by which it is cloned."""

import itertools
import json
from pathlib import Path

import pytest

from planck.config.load import ConfigError, load, set_user_value
from planck.headless import Project
from planck.records.outcome import ErrorKind
from planck.workspace.git.sources import SourceError, read_source, split_entry

HIDDEN = ["..", "%2e%2e", "%2E.", ".%2e", "./..", "x/../.."]
ADDRESSES = ["https://git.internal", "ssh://git@git.internal", "git://git.internal", "git@git.internal:"]


@pytest.mark.parametrize(
    ("spelled", "canonical"),
    [
        ("https://git.internal/ok/../evil", "https://git.internal/evil"),
        ("https://git.internal/ok/%2e%2e/evil", "https://git.internal/evil"),
        ("https://git.internal/ok%2f..%2fevil", "https://git.internal/evil"),
        ("HTTPS://Git.Internal.:0443//ok//./shop.git/", "https://git.internal/ok/shop.git"),
        ("http://git.internal:80/shop", "http://git.internal/shop"),
        ("https://git.internal:8443/shop", "https://git.internal:8443/shop"),
        ("https://git.internal@evil.example/shop", "https://git.internal@evil.example/shop"),
        ("ssh://git@git.internal:22/ok/../evil", "ssh://git@git.internal/evil"),
        ("git@GIT.internal:ok/../evil.git", "git@git.internal:evil.git"),
        ("https://git.internal/~me/%7Ea%20b", "https://git.internal/~me/~a%20b"),
        ("https://[::1]:443/shop", "https://[::1]/shop"),
        ("file:///srv/%6fk/../evil", "/srv/evil"),
        ("FILE:///srv/ok", "/srv/ok"),
        ("/srv//ok/./x/..", "/srv/ok"),
    ],
)
def test_an_address_is_cloned_in_its_canonical_form(spelled: str, canonical: str) -> None:
    source = read_source(spelled)
    assert source.address == canonical
    assert read_source(canonical) == source


@pytest.mark.parametrize(
    "repo",
    [
        *("", "-u/x", "--upload-pack=touch /tmp/x", "ext::sh -c touch%20/tmp/x", "relative/path", "a b"),
        *("/x\n/y", "/x\0", "file://host/srv/ok", "file:/srv/ok", "scp://git@host/x", "host:path", "~/x"),
        *("https://host", "https://host/", "https://host/..", "https://host/ok/../../evil", "git@host:../x"),
        *("https://host/ok%252f..%252fevil", "https://host/ok/..%5c/evil", "https://host/ok/..;/evil"),
        *("https://host/ok?/x", "https://host/ok#x", "https://ok.internal\\@evil/x", "https://a@b@host/x"),
        *("https://host%2eevil/x", "https://höst/x", "ssh://-oProxyCommand=x/y", "ssh://-x@host/y"),
        *("https://host:44x/y", "https://host/a%00b", "https://host/a%0ab", "https:///x"),
    ],
)
def test_what_is_not_a_clear_address_is_refused(repo: str) -> None:
    with pytest.raises(SourceError) as refused:
        read_source(repo)
    assert refused.value.err.kind is ErrorKind.INVALID_ARGS


@pytest.mark.parametrize("ref", ["--orphan", "-b", "a..b", "a b", "x\n"])
def test_what_is_not_a_ref_is_refused(ref: str) -> None:
    with pytest.raises(SourceError):
        read_source("/srv/repo", ref)


def test_no_spelling_leaves_the_folder_that_a_list_names() -> None:
    passed = []
    for address, hidden, slash in itertools.product(ADDRESSES, HIDDEN, ["/", "//", "%2f"]):
        base = address if address.endswith(":") else f"{address}/"
        repo = slash.join((f"{base}ok", "x", hidden, "..", "..", "evil"))
        try:
            source = read_source(repo)
        except SourceError:
            continue
        passed += [repo] if source.matches(f"{base}ok/*") else []
    assert passed == []


@pytest.mark.parametrize(
    ("pattern", "matching", "others"),
    [
        (
            "https://git.internal/*",
            ["https://git.internal/a/b.git", "HTTPS://GIT.INTERNAL:443/a"],
            [
                *("http://git.internal/a", "https://git.internal:8443/a", "https://x@git.internal/a"),
                *("https://git.internal@evil.example/a", "https://evil.example/https://git.internal/a"),
                *("ssh://git.internal/a", "https://git.internal.evil.example/a", "/git.internal/a"),
            ],
        ),
        (
            "https://*.internal/*",
            ["https://git.internal/a"],
            ["https://evil.example/.internal/a", "https://x.internal@evil.example/a"],
        ),
        (
            "HTTPS://Git.internal:443/shop.git/",
            ["https://git.internal/shop.git"],
            ["https://git.internal/shop"],
        ),
        (
            "git@git.internal:ok/*",
            ["git@git.internal:ok/x"],
            ["git@git.internal:ok/../evil", "me@git.internal:ok/x"],
        ),
        ("/srv/ok/*", ["/srv/ok/x", "file:///srv/ok/x"], ["/srv/ok/../evil", "/srv/okay/x", "/srv/ok"]),
        ("https://*", ["https://a/b", "https://b:8443/c"], ["http://a/b", "/srv/a"]),
        ("*", ["https://a/b", "/srv/x", "git@h:x"], []),
        ("", [], ["https://a/b", "/srv/x"]),
    ],
)
def test_a_pattern_is_compared_part_by_part(pattern: str, matching: list[str], others: list[str]) -> None:
    assert [repo for repo in matching if not read_source(repo).matches(pattern)] == []
    assert [repo for repo in others if read_source(repo).matches(pattern)] == []


def test_links_are_followed_in_a_path_and_in_a_pattern(tmp_path: Path) -> None:
    for name in ("ok/shop", "evil/shop"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "ok" / "out").symlink_to(tmp_path / "evil")
    (tmp_path / "alias").symlink_to(tmp_path / "ok")
    for pattern in (f"{tmp_path}/ok/*", f"{tmp_path}/alias/*"):
        assert read_source(f"{tmp_path}/ok/shop").matches(pattern)
        assert read_source(f"{tmp_path}/alias/shop").matches(pattern)
        assert not read_source(f"{tmp_path}/ok/out/shop").matches(pattern)


@pytest.mark.parametrize(
    ("entry", "repo", "ref"),
    [
        ("https://h/x.git", "https://h/x.git", "HEAD"),
        ("https://h/x.git#", "https://h/x.git", "HEAD"),
        ("https://h/x.git#release-*", "https://h/x.git", "refs/heads/release-*"),
        ("/srv/x#refs/tags/v1", "/srv/x", "refs/tags/v1"),
        ("/srv/c#/x", "/srv/c#/x", "HEAD"),
    ],
)
def test_an_entry_of_trust_names_a_ref_or_means_the_default_branch(entry: str, repo: str, ref: str) -> None:
    assert split_entry(entry) == (repo, ref)


ADDRESS = "https://git.internal/shop"
UNCLEAR = [
    "*git.internal/*",
    "*.internal/*",
    "*git.internal*",
    "*/shop",
    "**",
    "h*",
    "git.internal/*",
    "?*",
    "[a-z]*",
]


@pytest.mark.parametrize("entry", UNCLEAR)
def test_an_entry_without_a_scheme_names_nothing(entry: str) -> None:
    """It would match a path on any host."""
    found = [
        ADDRESS,
        "/srv/git.internal/shop",
        "https://evil.example/x.internal/shop",
        "git@git.internal:shop",
    ]
    assert [repo for repo in found if read_source(repo).matches(entry)] == []


@pytest.mark.parametrize("entry", UNCLEAR)
@pytest.mark.parametrize("key", ["accept", "trust"])
def test_an_entry_without_a_scheme_is_reported_when_it_is_read_and_refused_when_it_is_set(
    tmp_path: Path, key: str, entry: str
) -> None:
    home = tmp_path / "home"
    with pytest.raises(ConfigError, match="SCHEME://HOST/PATH") as refused:
        set_user_value(home, f"node.{key}", json.dumps([ADDRESS, entry]))
    assert refused.value.err.kind is ErrorKind.INVALID_ARGS
    (home / "config.json").write_text(json.dumps({"node": {key: [ADDRESS, entry]}}))
    trust = Project(home, tmp_path, {"HOME": str(tmp_path)}).trust
    loaded = load(home, tmp_path, {}, {}, trust.state)
    assert getattr(loaded.config.node, key) == [ADDRESS, entry], "the rest of the file still counts"
    assert [repr(entry) in notice for notice in loaded.notices] == [True]


@pytest.mark.parametrize(
    "entry",
    [
        "*",
        "/srv/*",
        "/",
        "file:///srv/x",
        ADDRESS,
        "https://*",
        "*://git.internal/*",
        "git@*:x",
        "*@git.internal:*",
    ],
)
def test_a_clear_entry_is_not_reported(tmp_path: Path, entry: str) -> None:
    set_user_value(tmp_path, "node.accept", json.dumps([entry]))
    set_user_value(tmp_path, "node.trust", json.dumps([f"{entry}#main"]))
