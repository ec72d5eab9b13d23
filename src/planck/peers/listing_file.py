"""What a peer listed last is kept below the home: the first request of the next session offers it at once.

It is bound to the digest of the peer's files or settings. What is kept is an offer and no promise: a call
waits for the peer, and reaches it only if the tool is still there.
"""

import hashlib
import logging
import os
from pathlib import Path
from tempfile import NamedTemporaryFile

import msgspec

from planck.mcp.listing import ListedTool, Listing
from planck.records import codec

log: logging.Logger = logging.getLogger(__name__)

_MAX_BYTES = 4 << 20


class _Stored(msgspec.Struct, frozen=True):
    digest: str
    tools: tuple[ListedTool, ...]


class ListingFile:
    """The last listing of one peer: a file of its own, which only the user can read."""

    def __init__(self, home: Path, component: str, name: str, where: str) -> None:
        key = hashlib.sha256(codec.encode([component, name, where])).hexdigest()[:32]
        self._file = home / "listings" / f"{key}.json"

    def read(self, digest: str) -> Listing | None:
        """None: it never listed anything with these files or settings, as far as can be known."""
        try:
            if self._file.stat().st_size > _MAX_BYTES:
                return None
            stored = codec.decode_as(self._file.read_bytes(), _Stored)
        except (OSError, codec.DecodeError):
            return None
        return Listing(stored.tools) if stored.digest == digest else None

    def write(self, digest: str, listing: Listing) -> None:
        """A home that can't be written costs the next start a wait, and nothing else."""
        content = codec.encode(_Stored(digest, listing.tools))
        try:
            if self._file.is_file() and self._file.read_bytes() == content:
                return
            self._file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            with NamedTemporaryFile(dir=self._file.parent, delete=False) as temporary:  # 0600
                temporary.write(content)
            os.replace(temporary.name, self._file)
        except OSError as problem:
            log.info("Could not save a tool list: %s", problem)
