"""Pages from the public web: no address of this machine or its networks is ever connected to.

A host is resolved when a connection is made, and the connection goes to the very address that was looked at:
what a name means a moment later, or after a redirect, is looked at again.
"""

import asyncio
from collections.abc import Sequence
from contextlib import aclosing
from typing import Protocol
from urllib.parse import urljoin

import msgspec

from planck.http.address import Network, Origin, locate
from planck.http.connection import Connection
from planck.http.errors import ProviderError
from planck.http.transport import HttpTransport, read_all
from planck.records.outcome import ErrorKind
from planck.toolkit.tool import ArgumentError, ToolError

_REDIRECTS = 5
_MOVED = (301, 302, 303, 307, 308)
_HEADERS = {
    "accept": "text/html, text/plain, application/json, application/xml;q=0.9, */*;q=0.1",
    "accept-encoding": "identity",
    "user-agent": "planck",
    "connection": "close",
}


class Resolver(Protocol):
    async def find(self, host: str, port: int) -> Sequence[str]:
        """Returns the addresses of a host; raises `OSError` where there is none."""

    def reach(self, address: str, port: int) -> tuple[str, int]:
        """Returns where a public address is connected to: itself, but in tests."""


class SystemNames:
    async def find(self, host: str, port: int) -> Sequence[str]:
        import socket

        loop = asyncio.get_running_loop()
        found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        return [str(entry[4][0]) for entry in found]

    def reach(self, address: str, port: int) -> tuple[str, int]:
        return address, port


class Page(msgspec.Struct, frozen=True):
    url: str
    """Where it was in the end."""
    status: int
    type: str
    """The media type, in lower case; empty: the server did not say."""
    charset: str
    body: bytes
    whole: bool
    moved: str = ""
    """Where it is said to be now, on another host: nobody has allowed that one."""


def _read_origin(url: str) -> Origin:
    scheme = url.partition("://")[0].lower()
    if scheme not in ("http", "https") or any(char <= " " or char == "\\" for char in url):
        raise ArgumentError(f"web_fetch: {url[:200]!r} is not a web address; use https://host/path")
    try:
        origin, _ = locate(url, Network())
    except ProviderError as failure:
        raise ArgumentError(f"web_fetch: {failure.err.message}") from None
    if origin.userinfo:
        raise ArgumentError(
            "web_fetch: an address must not contain a user name or a password; leave them out"
        )
    return msgspec.structs.replace(origin, host=origin.host.lower().rstrip("."))


async def fetch(url: str, names: Resolver, most: int) -> Page:
    """One page, at most so many bytes of it; redirects are followed as long as they stay on its host."""
    first = _read_origin(url)
    for _ in range(_REDIRECTS + 1):
        page = await _get(url, names, most)
        if not page.moved:
            return page
        target = urljoin(url, page.moved)
        origin = _read_origin(target)
        if origin.host != first.host or (first.tls and not origin.tls):
            if _is_named_private(origin.host):
                raise _refuse(origin.host, [origin.host])
            return msgspec.structs.replace(page, moved=target)
        url = target
    raise ToolError(
        ErrorKind.READ_FAILED, f"{url[:200]} redirects more than {_REDIRECTS} times; use another address"
    )


async def _get(url: str, names: Resolver, most: int) -> Page:
    transport = _Public(names)
    try:
        response = await transport.send("GET", url.partition("#")[0], _HEADERS)
        async with aclosing(response):
            body = await read_all(response, most + 1)
        kind, _, rest = response.headers.get("content-type", "").partition(";")
        charset = rest.lower().partition("charset=")[2].split(";")[0].strip(" \"'")
        return Page(
            url,
            response.status,
            kind.strip().lower(),
            charset,
            body[:most],
            len(body) <= most,
            response.headers.get("location", "") if response.status in _MOVED else "",
        )
    except ProviderError as failure:
        why = failure.err.message.rstrip(".")
        raise ToolError(ErrorKind.NETWORK, f"{why}; try once more, then continue without the page") from None
    finally:
        await transport.aclose()


class _Public(HttpTransport):
    """Dials public addresses alone, and no proxy: what one would connect to nobody could look at."""

    def __init__(self, names: Resolver) -> None:
        super().__init__(Network())
        self._names = names

    async def _dial(self, connection: Connection, to: Origin) -> None:
        found = list(dict.fromkeys(await self._names.find(to.host, to.port)))
        private = [address for address in found if not is_public(address)]
        if private or not found:
            raise _refuse(to.host, private)
        last: OSError | None = None
        for address in found:
            place, port = self._names.reach(address, to.port)
            try:
                return await self._dial_address(connection, to, place, port)
            except OSError as failure:
                last = failure
        assert last is not None
        raise last

    async def _dial_address(self, connection: Connection, to: Origin, place: str, port: int) -> None:
        made, _ = await asyncio.get_running_loop().create_connection(
            asyncio.Protocol if to.tls else lambda: connection, place, port
        )
        if to.tls:
            await self._secure(made, connection, to)


def _refuse(host: str, private: list[str]) -> ToolError:
    if private:
        what = "is" if private[0] == host else f"is at {private[0]}, which is"
        why = (
            f"{what} not a public address, and web_fetch connects to public addresses only; "
            "use `bash` for a local server, with `escalate` if the sandbox blocks the network"
        )
    else:
        why = "has no address; check the host name"
    return ToolError(
        ErrorKind.PERMISSION_DENIED,
        f"{host[:200]!r} {why}",
        {"host": host[:200], "addresses": private},
    )


def _is_named_private(host: str) -> bool:
    """Whether the name alone says that it is of this machine or its networks: nobody has to look it up."""
    import ipaddress

    try:
        return not is_public(str(ipaddress.ip_address(host.strip("[]"))))
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def is_public(address: str) -> bool:
    """Whether it is of the open internet; one that carries another inside is as that one is."""
    import ipaddress  # few sessions fetch anything

    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    if isinstance(found, ipaddress.IPv6Address):
        inner = found.ipv4_mapped or found.sixtofour or (found.teredo[1] if found.teredo else None)
        if inner is None and (
            found in ipaddress.ip_network("64:ff9b::/96") or int(found) >> 32 & 0xFDFFFFFF == _ISATAP
        ):
            inner = ipaddress.IPv4Address(int(found) & 0xFFFFFFFF)
        if inner is not None:
            return is_public(str(inner))
        if found not in ipaddress.ip_network("2000::/3") or found in ipaddress.ip_network("3fff::/20"):
            return False  # of the rest nothing is given out to anybody: it can only mean something near
    return found.is_global and not found.is_multicast


_ISATAP = 0x00005EFE
"""What stands before the IPv4 address that such an interface has; another bit says whether that is unique."""
