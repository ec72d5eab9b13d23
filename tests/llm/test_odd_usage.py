"""However a server writes what it counted, its answer is kept, and every number that can be read counts."""

import re
from collections.abc import Callable

import pytest

from planck.records.messages import AssistantMessage
from planck.records.usage import Usage
from tests.wire.known import KNOWN, Known, request
from tests.wire.memory import MemoryTransport
from tests.wire.samples import TEXT
from tests.wire.script import play

pytestmark = pytest.mark.parametrize("known", KNOWN, ids=lambda known: known.name)

COUNT = re.compile(rb'("\w*(?:[tT]oken|eval_)\w*"): ?(\d+)')
DETAILS = re.compile(rb'("\w*_details"): ?\{[^{}]*\}')
ALL = re.compile(rb'("usage(?:Metadata)?"): ?\{(?:[^{}]|\{[^{}]*\})*\}')

SAME: dict[str, bytes] = {"float": rb"\1:\2.0", "exponent": rb"\1:\2e0", "string": rb'\1:"\2"'}
NOTHING: dict[str, bytes] = {
    name: rb"\1:" + value
    for name, value in {
        "null": b"null",
        "true": b"true",
        "list": b"[1]",
        "object": b'{"total":1}',
        "word": b'"many"',
        "half": b"0.5",
        "negative": b"-7",
        "endless": b"9" * 40,
        "infinite": b"1e999",
    }.items()
}


async def hear(known: Known, alter: Callable[[bytes], bytes]) -> AssistantMessage:
    transport = MemoryTransport(play(known.server, [TEXT]), alter=alter)
    items = [item async for item in known.provider("http://here", transport).stream(request())]
    assert isinstance(items[-1], AssistantMessage)
    return items[-1]


@pytest.mark.parametrize("style", SAME)
async def test_a_number_counts_however_it_is_written(known: Known, style: str) -> None:
    plain = await hear(known, bytes)
    odd = await hear(known, lambda body: COUNT.sub(SAME[style], body))
    assert plain.usage != Usage()
    assert odd == plain


@pytest.mark.parametrize("style", NOTHING)
async def test_what_is_not_a_number_counts_as_nothing_and_the_answer_is_kept(
    known: Known, style: str
) -> None:
    plain = await hear(known, bytes)
    odd = await hear(known, lambda body: COUNT.sub(NOTHING[style], body))
    assert (odd.parts, odd.usage) == (plain.parts, Usage())


@pytest.mark.parametrize("value", [b"null", b"7", b'"x"', b"[]", b"{}", b"true", b"1e999"])
@pytest.mark.parametrize("where", [DETAILS, ALL], ids=["details", "all"])
async def test_a_whole_count_of_any_shape_keeps_the_answer(
    known: Known, where: re.Pattern[bytes], value: bytes
) -> None:
    plain = await hear(known, bytes)
    odd = await hear(known, lambda body: where.sub(rb"\1:" + value, body))
    assert odd.parts == plain.parts
    if where is DETAILS and value != b"1e999":  # of what no reader takes nothing can be read
        assert odd.usage.output_tokens == plain.usage.output_tokens
