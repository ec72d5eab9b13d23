import pytest

from planck.http.address import Network, Origin, locate
from planck.llm.endpoint import openai_root
from planck.llm.provider import ProviderError
from planck.records.outcome import ErrorKind


@pytest.mark.parametrize(
    ("url", "origin", "target"),
    [
        ("https://Api.Example.com", Origin(True, "api.example.com", 443), "/"),
        ("http://h:8080/v1/x?y=1", Origin(False, "h", 8080), "/v1/x?y=1"),
        ("http://[::1]:11434/api/chat", Origin(False, "::1", 11434), "/api/chat"),
    ],
)
def test_a_url_says_where_and_what(url: str, origin: Origin, target: str) -> None:
    assert locate(url, Network()) == (origin, target)


@pytest.mark.parametrize("url", ["", "example.com", "ftp://x/", "http://", "https://ex ample", "http://ö.de"])
def test_what_is_no_address_is_refused_without_being_shown(url: str) -> None:
    with pytest.raises(ProviderError) as caught:
        locate(f"{url}?key=secret" if "://" in url else url, Network())
    assert caught.value.err.kind is ErrorKind.INVALID_ARGS
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("host", "no_proxy", "direct"),
    [
        ("api.example.com", "", False),
        ("api.example.com", "*", True),
        ("api.example.com", "example.com", True),
        ("api.example.com", ".example.com", True),
        ("api.example.com", "*.example.com", True),
        ("example.com", ".example.com", True),
        ("api.example.com", "API.Example.COM", True),
        ("badexample.com", "example.com", False),
        ("api.example.com", "other.com, api.example.com ,", True),
        ("api.example.com", "api.example.com:443", True),
        ("api.example.com", "api.example.com:8443", False),
        ("10.1.2.3", "10.0.0.0/8", True),
        ("11.1.2.3", "10.0.0.0/8", False),
        ("api.example.com", "10.0.0.0/8", False),
        ("[fe80::1]", "fe80::/10", True),
        ("[fe80::1]", "[fe80::1]:443", True),
        ("api.example.com", "10.0.0.0/99, :443, ., /", False),
        ("localhost", "", True),
        ("a.localhost", "", True),
        ("127.0.0.9", "", True),
        ("[::1]", "", True),
    ],
)
def test_no_proxy_as_curl_and_go_read_it(host: str, no_proxy: str, direct: bool) -> None:
    network = Network(https_proxy="http://proxy:3128", no_proxy=no_proxy)
    origin, _ = locate(f"https://{host}/", network)
    assert (origin.proxy is None) is direct


def test_a_proxy_may_be_written_without_a_scheme_and_its_password_is_not_shown() -> None:
    network = Network(https_proxy="me:hunter2@proxy:3128")
    origin, target = locate("https://api.example.com/v1", network)
    assert origin.proxy == Origin(False, "proxy", 3128, userinfo="me:hunter2")
    assert target == "/v1"
    assert "hunter2" not in f"{network!r} {network} {origin}"
    assert "hunter2" not in str(network.__rich_repr__())


def test_a_proxy_of_another_kind_is_refused_by_its_name() -> None:
    with pytest.raises(ProviderError, match="Cannot use the proxy in HTTPS_PROXY\\."):
        locate("https://api.example.com", Network(https_proxy="socks5://me:hunter2@proxy:1080"))


@pytest.mark.parametrize(
    ("base_url", "root"),
    [
        ("", "https://api.openai.com/v1"),
        ("http://h:8080", "http://h:8080/v1"),
        ("http://h:8080/", "http://h:8080/v1"),
        ("https://h/openai/v2/", "https://h/openai/v2"),
        ("https://h/v1", "https://h/v1"),
    ],
)
def test_an_openai_address_without_a_path_gets_v1(base_url: str, root: str) -> None:
    assert openai_root(base_url) == root
