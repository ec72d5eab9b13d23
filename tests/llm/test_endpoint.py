import pickle
import traceback

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planck.http.transport import HttpTransport
from planck.llm.dialects.table import open_provider
from planck.llm.endpoint import Endpoint
from planck.llm.provider import ProviderError
from planck.records import codec
from planck.records.redact import REDACTED, Redactor, redact
from planck.records.specs import ModelSpec
from tests.wire.known import request

KEY = 'sk-"quoted\\key-123'
SECRETS = {"x-api-key": "header-secret", "x-team": "planck-team"}


def endpoint(**fields: str) -> Endpoint:
    return Endpoint("p", fields.pop("type", "openai"), key=fields.pop("key", KEY), headers=SECRETS, **fields)


def test_an_endpoint_does_not_show_or_lose_its_key() -> None:
    made = endpoint()
    assert "123" not in f"{made!r} {made}"
    assert "header-secret" not in repr(made)
    with pytest.raises(TypeError):
        codec.encode(made)
    with pytest.raises(TypeError):
        pickle.dumps(made)
    with pytest.raises(AttributeError):
        made.key = "other"


def test_what_counts_as_a_secret() -> None:
    assert set(endpoint().secrets) == {KEY, "header-secret"}


async def test_a_key_that_can_not_be_sent_is_not_in_the_error() -> None:
    for bad in ("sk-secret\n-1", "sk-secret-é\u2019"):
        model = open_provider(
            endpoint(key=bad, base_url="http://127.0.0.1:9"),
            ModelSpec(provider="p", model="m"),
            HttpTransport(),
        )
        with pytest.raises(ProviderError) as caught:
            await anext(model.stream(request()))
        shown = "".join(traceback.format_exception(caught.value))
        assert "sk-secret" not in shown


@pytest.mark.parametrize("type", ["telepathy", ""])
def test_a_type_that_there_is_none_of_is_refused_with_the_ones_there_are(type: str) -> None:
    with pytest.raises(ProviderError, match="anthropic, openai, google, ollama, llama_cpp"):
        open_provider(endpoint(type=type), ModelSpec(provider="p", model="m"), HttpTransport())


def test_an_api_that_there_is_none_of_is_refused() -> None:
    with pytest.raises(ProviderError, match="'chat' or 'responses'"):
        open_provider(endpoint(api="soap"), ModelSpec(provider="p", model="m"), HttpTransport())


def test_redacting_takes_every_known_value_the_longest_first() -> None:
    assert redact("a key-12345678-long b key-12345678 c", ["key-12345678", "key-12345678-long"]) == (
        f"a {REDACTED} b {REDACTED} c"
    )
    assert redact("short values stay: abc", ["abc", ""]) == "short values stay: abc"


def test_a_redactor_finds_a_key_in_json_also_where_it_is_escaped() -> None:
    redactor = Redactor([KEY, "plain-key-1"])
    data = codec.encode({"text": f"my key {KEY}", "also": "plain-key-1", "n": 1})
    assert codec.decode(redactor(data)) == {"text": f"my key {REDACTED}", "also": REDACTED, "n": 1}
    assert redactor(b'{"nothing": 1}') == b'{"nothing": 1}'
    assert "plain" not in repr(redactor)
    assert msgspec.Raw(redactor(data))


@given(st.lists(st.text("ab-", min_size=8, max_size=12), min_size=1, max_size=3), st.data())
def test_a_text_in_pieces_is_redacted_wherever_it_is_cut(secrets: list[str], data: st.DataObject) -> None:
    redactor = Redactor(secrets)
    words = st.sampled_from([*secrets, *(secret[:-1] for secret in secrets), "a", "b-", "x"])
    text = "".join(data.draw(st.lists(words, max_size=8)))
    whole, end = redactor.split(text)
    shown = kept = ""
    at = 0
    while at < len(text):
        size = data.draw(st.integers(1, 10))
        more, kept = redactor.split(kept + text[at : at + size])
        assert len(kept) < max(map(len, secrets))
        shown += more
        at += size
    assert (shown, kept) == (whole, end)
    assert not [secret for secret in secrets if secret in shown]
