"""What is known of the vendors' models: windows, abilities and prices, from a snapshot with its date.

Made by `scripts/make_catalog.py`: a line of JSON that says where each provider's models are in the rest.
A question unpacks the models of its provider alone. Nothing is downloaded.
"""

import re
from functools import cache
from pathlib import Path
from typing import NamedTuple
from zlib import decompress

import msgspec

from planck.records.usage import Usage

_SNAPSHOT = Path(__file__).with_name("data") / "catalog.bin"
_IMAGES, _REASONING, _TOOLS = 1, 2, 4
_MILLION = 1_000_000


DEFAULTS = {"anthropic": "claude-sonnet-5-5", "openai": "gpt-6.1-sol", "google": "gemini-3.8-flash"}
"""What a vendor's key alone gives, chosen with the snapshot: good at tools, of a middling price."""


class Price(NamedTuple):
    """USD per million tokens, for requests of at least `start` input tokens; None: as ordinary input."""

    start: int
    input: float
    output: float
    cache_read: float | None
    cache_write: float | None


class CatalogModel(msgspec.Struct, frozen=True):
    id: str
    name: str
    context_window: int
    """0: not known."""
    max_output: int
    images: bool
    reasoning: bool
    tools: bool
    prices: tuple[Price, ...]
    """By `start`, lowest first; empty: not known."""

    def cost_usd(self, usage: Usage) -> float | None:
        """None where no price is known. Beyond a threshold all tokens of a request pay the higher rate."""
        entered = usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens
        price = next((price for price in reversed(self.prices) if entered >= price.start), None)
        if price is None:
            return None
        read = price.input if price.cache_read is None else price.cache_read
        write = price.input if price.cache_write is None else price.cache_write
        tokens = usage.input_tokens * price.input + usage.output_tokens * price.output
        return (tokens + usage.cache_read_tokens * read + usage.cache_write_tokens * write) / _MILLION


def snapshot_date() -> str:
    """The day on which the snapshot was made, as `2026-11-15`."""
    return _snapshot()[0].date


def find(provider: str, model: str, base_url: str = "") -> CatalogModel | None:
    """By the vendor's own name, a dated version as its family; `base_url` finds a compatible vendor."""
    known = _models(_by_address(base_url) or provider if base_url else provider)
    if not known:  # a server of the user's own: nothing of its is dated
        return None
    for name in (model, model.removeprefix("models/"), re.sub(_DATED, "", model)):
        if name in known:
            return known[name]
    return None


def models(provider: str) -> list[CatalogModel]:
    return list(_models(provider).values())


_DATED = r"(-\d{8}|-\d{4}-\d{2}-\d{2}|-latest)$"

_Row = tuple[str, int, int, int, list[Price] | None]


class _Provider(msgspec.Struct, frozen=True, array_like=True):
    api: str
    start: int
    """Where its models are in the packed part, and how many bytes."""
    size: int


class _Index(msgspec.Struct, frozen=True):
    date: str
    providers: dict[str, _Provider]


@cache
def _snapshot() -> tuple[_Index, bytes]:
    index, _, packed = _SNAPSHOT.read_bytes().partition(b"\n")
    return msgspec.json.decode(index, type=_Index), packed


@cache
def _models(provider: str) -> dict[str, CatalogModel]:
    index, packed = _snapshot()
    entry = index.providers.get(provider)
    if entry is None:
        return {}
    unpacked = decompress(packed[entry.start : entry.start + entry.size])
    rows = msgspec.json.decode(unpacked, type=dict[str, _Row])
    return {id: _model(id, row) for id, row in rows.items()}


def _model(id: str, row: _Row) -> CatalogModel:
    name, window, output, abilities, prices = row
    can = (bool(abilities & _IMAGES), bool(abilities & _REASONING), bool(abilities & _TOOLS))
    return CatalogModel(id, name, window, output, *can, tuple(prices or ()))


@cache
def _by_address(base_url: str) -> str:
    """The provider whose API is at this address; empty where none is."""
    wanted = base_url.rstrip("/")
    found = (id for id, entry in _snapshot()[0].providers.items() if entry.api.rstrip("/") == wanted)
    return next(found, "")
