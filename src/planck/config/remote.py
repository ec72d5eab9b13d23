"""Which server a command speaks to: the one named, the configured one, or the only one of this home."""

import os
from pathlib import Path

import msgspec

from planck.config.load import ConfigError
from planck.config.project import Project
from planck.records import codec
from planck.records.outcome import ErrorKind


class Remote(msgspec.Struct, frozen=True):
    """Where a server of ours is, and what lets one in."""

    url: str
    token: str


class _Record(msgspec.Struct, frozen=True):
    """What `planck serve` leaves in the home while it runs."""

    url: str
    token_file: str
    pid: int


def find_server(url: str = "", token_file: str = "") -> Remote:
    """Raises where no server is named and none, or more than one, runs in this home."""
    project = Project()
    url = url or project.config.server
    token_file = token_file or project.environ.get("PLANCK_TOKEN_FILE", "")
    running = _list_running(project.home)
    if not url:
        if len(running) != 1:
            urls = ", ".join(one.url for one in running)
            text = f"{len(running)} servers are running: {urls}. Choose one with --server URL."
            if not running:
                text = (
                    "No running server was found. Pass the address of one with --server URL, "
                    'or start one with "planck serve --store dev".'
                )
            raise ConfigError(ErrorKind.NOT_FOUND, text)
        url = running[0].url
    if not token_file:
        token_file = next((one.token_file for one in running if one.url == url.rstrip("/")), "")
    if not token_file:
        raise ConfigError(
            ErrorKind.UNAUTHORIZED,
            f"No token for {url}. Pass the token file with --token-file or PLANCK_TOKEN_FILE.",
        )
    return Remote(url, _read_token(Path(token_file)))


def _list_running(home: Path) -> list[_Record]:
    found = []
    for path in sorted(home.glob("servers/*/server.json")):
        try:
            record = codec.decode_as(path.read_bytes(), _Record)
            os.kill(record.pid, 0)
        except PermissionError:
            pass  # somebody else's process: it lives
        except (OSError, codec.DecodeError):
            continue
        found.append(record)
    return found


def _read_token(path: Path) -> str:
    try:
        token = path.expanduser().read_text().strip()
    except (OSError, UnicodeDecodeError) as problem:
        raise ConfigError(
            ErrorKind.READ_FAILED,
            f"Cannot read the token file {str(path)!r}: {problem}. Check the path and its permissions.",
        ) from None
    if not token.isascii() or not token.isprintable() or not token or " " in token:
        raise ConfigError(
            ErrorKind.INVALID_ARGS,
            f"{str(path)!r} does not contain a token. The file must contain the token alone, on one line.",
        )
    return token
