"""Under which addresses a browser finds the page: on this machine, and on a phone."""

import asyncio
import ipaddress
import socket
import threading

_OWN_NAME = "planck.localhost"
"""Its cookies are not those of every other server that runs on `localhost`."""
_PATIENCE = 1.0
"""Seconds for the system to say what it knows of the name: no network may hold up a start."""


def is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def show_host(host: str) -> str:
    return f"[{host}]" if ":" in host else host


async def find_own(host: str, port: int) -> str:
    """Returns where a browser on this machine finds it; empty: it listens on a network's address only."""
    if host not in ("127.0.0.1", "localhost", "0.0.0.0", "::"):
        return f"http://{show_host(host)}:{port}/" if is_loopback(host) else ""
    name = _OWN_NAME if await _resolves(_OWN_NAME) else "127.0.0.1"
    return f"http://{name}:{port}/"


def find_public(names: tuple[str, ...], *, proxied: bool) -> str:
    """Returns where another device finds it: by the proxy that the user has put in front, by TLS."""
    return f"https://{names[0]}/" if names and proxied else ""


async def _resolves(name: str) -> bool:
    """Whether the system knows it as this machine; browsers do by themselves, other programs ask it."""
    loop, answer = asyncio.get_running_loop(), asyncio.Event()
    found: list[str] = []

    def look_up() -> None:
        try:
            found.extend(str(row[4][0]) for row in socket.getaddrinfo(name, None, type=socket.SOCK_STREAM))
        except OSError:
            pass
        try:
            loop.call_soon_threadsafe(answer.set)
        except RuntimeError:
            pass  # the server has ended before the answer

    # A thread that nobody waits for at the end: the system may take as long as it likes.
    threading.Thread(target=look_up, name="planck-name", daemon=True).start()
    try:
        async with asyncio.timeout(_PATIENCE):
            await answer.wait()
    except TimeoutError:
        return False
    return bool(found) and all(map(is_loopback, found))
