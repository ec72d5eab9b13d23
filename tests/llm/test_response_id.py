"""The vendor's own name for an answer, in every dialect: kept where it is a plain text."""

from functools import partial

import msgspec
import pytest

from tests.llm.test_other_types import change, hear
from tests.wire.known import KNOWN, Known
from tests.wire.samples import TEXT

PLACES = {
    "anthropic": ("message", "id"),
    "google": ("responseId",),
    "openai-chat": ("id",),
    "llama_cpp": ("id",),
    "openai-responses": ("response", "id"),
    "ollama": ("id",),
}


@pytest.mark.parametrize("known", KNOWN, ids=lambda known: known.name)
@pytest.mark.parametrize(
    ("id", "kept"), [("resp-1", "resp-1"), (7, ""), ({"a": 1}, ""), ("\x1b[2J", ""), ("x" * 201, "")]
)
async def test_a_response_id_is_kept_if_it_is_a_short_plain_text(known: Known, id: object, kept: str) -> None:
    alter = partial(change, where=PLACES[known.name], put=lambda _: id)
    message = await hear(known, TEXT, alter)
    assert message.response_id == (kept if kept and known.name != "ollama" else msgspec.UNSET)
