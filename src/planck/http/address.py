"""A URL -> where to connect, through which proxy, and what to ask for."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import httptools
import msgspec

from planck.http.errors import ProviderError
from planck.records.outcome import ErrorKind


class Network(msgspec.Struct, frozen=True):
    """How to reach the outside, as the user's environment has it; whoever reads the environment fills it."""

    http_proxy: str = ""
    https_proxy: str = ""
    no_proxy: str = ""
    http_proxy_variable: str = "HTTP_PROXY"
    https_proxy_variable: str = "HTTPS_PROXY"
    """Where each was found, as the user spells it: what is wrong with one is said of that."""
    ca_bundle: str = ""
    """A PEM file that is trusted instead of the system's certificates."""
    system_certificates: bool = False
    """Whether the operating system decides which certificates are trusted, and not OpenSSL's files."""
    connect_timeout: float = 30.0

    def __repr__(self) -> str:  # a proxy's address may carry a password
        return f"Network(no_proxy={self.no_proxy!r}, ca_bundle={self.ca_bundle!r})"

    def __rich_repr__(self) -> list[tuple[str, Any]]:
        return [("no_proxy", self.no_proxy), ("ca_bundle", self.ca_bundle)]


def read_network(environ: Mapping[str, str]) -> Network:
    """Takes the usual variables, in either case; a bundle of certificates replaces the system's."""
    http_proxy = _find_variable(environ, "HTTP_PROXY", "ALL_PROXY")
    https_proxy = _find_variable(environ, "HTTPS_PROXY", "ALL_PROXY")
    return Network(
        http_proxy=environ.get(http_proxy, ""),
        http_proxy_variable=http_proxy,
        https_proxy=environ.get(https_proxy, ""),
        https_proxy_variable=https_proxy,
        no_proxy=environ.get(_find_variable(environ, "NO_PROXY"), ""),
        ca_bundle=environ.get(_find_variable(environ, "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE"), ""),
        system_certificates=environ.get("PLANCK_SYSTEM_CERTS", "") not in ("", "0"),
    )


def _find_variable(environ: Mapping[str, str], *names: str) -> str:
    """Returns the first of them that is set, in either case; the first one where none is."""
    spelled = [spelling for name in names for spelling in (name, name.lower())]
    return next((name for name in spelled if environ.get(name)), names[0])


class Origin(msgspec.Struct, frozen=True):
    tls: bool
    host: str
    port: int
    proxy: "Origin | None" = None
    userinfo: str = ""

    @property
    def authority(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"

    @property
    def host_header(self) -> str:
        default = 443 if self.tls else 80
        return self.authority.removesuffix(f":{default}") if self.port == default else self.authority

    def __str__(self) -> str:
        return f"{'https' if self.tls else 'http'}://{self.host_header}"


def locate(url: str, network: Network) -> tuple[Origin, str]:
    """The origin and the request target; no error here shows the URL, whose query may hold a key."""
    origin, target = _origin(url)
    proxy = network.https_proxy if origin.tls else network.http_proxy
    if proxy and not _direct(origin, network.no_proxy):
        variable = network.https_proxy_variable if origin.tls else network.http_proxy_variable
        origin = msgspec.structs.replace(origin, proxy=_proxy(proxy, variable))
        if not origin.tls:
            target = f"{origin}{target}"
    return origin, target


def canonical(url: str) -> str:
    """One spelling for all that reach the same server and path, read as the transport reads them.

    For comparing only: a name and a password in it are left out. Empty: it is no address.
    """
    try:
        origin, target = _origin(url)
    except ProviderError:
        return ""
    path = target.rstrip("/").removesuffix("/v1").rstrip("/")
    return f"{'https' if origin.tls else 'http'}://{_canonical_host(origin.host)}:{origin.port}{path}"


def read_host(url: str) -> str:
    """The host that a URL is sent to, in lower case; empty: it is no address."""
    try:
        return _origin(url)[0].host.lower().rstrip(".")
    except ProviderError:
        return ""


def is_loopback(host: str) -> bool:
    """Whether a host is this machine, by its name or its number alone."""
    return host in ("localhost", "::1") or host.startswith("127.")


def without_userinfo(url: str) -> str:
    """The address as it may be shown: no name and no password in it."""
    scheme, separator, rest = url.partition("://")
    authority, slash, path = rest.partition("/")
    return f"{scheme}{separator}{authority.rpartition('@')[2]}{slash}{path}"


_THIS_MACHINE = frozenset({"localhost", "127.0.0.1", "::1", "0.0.0.0", "::"})


def _canonical_host(host: str) -> str:
    from ipaddress import IPv6Address, ip_address

    host = host.removesuffix(".")
    try:
        address = ip_address(host)
    except ValueError:
        pass
    else:
        mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
        host = str(mapped or address)
    return "localhost" if host in _THIS_MACHINE else f"[{host}]" if ":" in host else host


def _proxy(url: str, variable: str) -> Origin:
    try:
        return _origin(url if "://" in url else f"http://{url}")[0]
    except ProviderError as error:
        raise ProviderError(
            ErrorKind.INVALID_ARGS,
            f"Cannot use the proxy in {variable}. {error.err.message} To use no proxy, unset the variable.",
        ) from None


@lru_cache(64)
def _origin(url: str) -> tuple[Origin, str]:
    try:
        parsed = httptools.parse_url(url.encode("ascii"))
        scheme, host = parsed.schema.decode().lower(), parsed.host.decode().lower()
    except (httptools.HttpParserInvalidURLError, AttributeError, UnicodeEncodeError):
        scheme, separator, _ = url.partition("://")
        # The parser knows no scheme with a digit in it, such as socks5h.
        if separator and scheme.isascii() and scheme.isalnum() and scheme.lower() not in _SCHEMES:
            raise _refuse_scheme(scheme.lower()) from None
        raise ProviderError(
            ErrorKind.INVALID_ARGS, "The address is not a URL. Use the form http://host:port or https://host."
        ) from None
    if scheme not in _SCHEMES:
        raise _refuse_scheme(scheme)
    port = parsed.port or (443 if scheme == "https" else 80)
    target = (parsed.path or b"/").decode()
    if parsed.query:
        target += f"?{parsed.query.decode()}"
    userinfo = parsed.userinfo.decode() if parsed.userinfo else ""
    return Origin(scheme == "https", host, port, userinfo=userinfo), target


_SCHEMES = frozenset({"http", "https"})


def _refuse_scheme(scheme: str) -> ProviderError:
    return ProviderError(
        ErrorKind.INVALID_ARGS, f"The scheme {scheme!r} is not supported. Use http or https."
    )


def _direct(origin: Origin, no_proxy: str) -> bool:
    """This machine is never reached through a proxy; else as curl reads NO_PROXY, networks as Go does."""
    host = origin.host
    if host == "localhost" or host.endswith(".localhost") or host == "::1" or host.startswith("127."):
        return True
    entries = (entry.strip().lower() for entry in no_proxy.split(","))
    return any(_exempt(host, origin.port, entry) for entry in entries if entry)


def _exempt(host: str, port: int, entry: str) -> bool:
    if entry == "*":
        return True
    if "/" in entry:
        return _in_network(host, entry)
    name, colon, number = entry.rpartition(":")
    if colon and number.isdigit() and (":" not in name or name.startswith("[")):
        if int(number) != port:
            return False
        entry = name
    entry = entry.strip("[]").removeprefix("*").removeprefix(".")
    return bool(entry) and (host == entry or host.endswith(f".{entry}"))


def _in_network(host: str, network: str) -> bool:
    from ipaddress import ip_address, ip_network

    try:
        return ip_address(host) in ip_network(network, strict=False)
    except ValueError:
        return False
