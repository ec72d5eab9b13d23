"""What a transport must do, proven over ours and over aiohttp."""

import asyncio
import os
import resource
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import aclosing
from pathlib import Path

import pytest
import trustme

from planck.http.address import Network
from planck.http.transport import HttpTransport, Response, Transport, read_all
from planck.llm.provider import ProviderError
from planck.records.outcome import ErrorKind
from tests.llm.aiohttp_transport import AiohttpTransport
from tests.llm.raw_server import HELLO, OK, Peer, Proxy, bundle, raw_server, server_tls

Make = Callable[[Network | None], Transport]

CHUNKED = OK + b"transfer-encoding: chunked\r\n\r\n"


@pytest.fixture(params=[HttpTransport, AiohttpTransport], ids=["ours", "aiohttp"])
async def make(request: pytest.FixtureRequest) -> AsyncIterator[Make]:
    made: list[Transport] = []

    def make(network: Network | None = None) -> Transport:
        made.append(request.param(network))
        return made[-1]

    yield make
    for transport in made:
        await transport.aclose()


async def post(transport: Transport, url: str, body: bytes = b"{}") -> Response:
    return await transport.send("POST", f"{url}/v1/x?y=1", {"x-key": "k"}, body)


async def body_of(transport: Transport, url: str, body: bytes = b"{}") -> bytes:
    async with aclosing(await post(transport, url, body)) as response:
        return await read_all(response, 1 << 30)


async def within(awaitable: Awaitable[object]) -> None:
    """A bound that is paid only on failure."""
    await asyncio.wait_for(awaitable, 30)


async def test_a_request_and_its_answer_cross_whole(make: Make) -> None:
    asked = []

    async def handler(peer: Peer) -> None:
        asked.append(await peer.request())
        await peer.send(OK + b"A: 1\r\nX-Two: b\r\nx-two: c\r\ntransfer-encoding: chunked\r\n\r\n")
        await peer.send(b"3\r\nabc\r\n")
        await peer.send(b"2\r\nde\r\n0\r\n\r\n")

    async with raw_server(handler) as server:
        response = await make(None).send(
            "POST", f"{server.url}/v1/x?y=1", {"x-key": "k"}, [b"12", b"", b"345"]
        )
        assert await read_all(response) == b"abcde"
    assert response.status == 200
    assert {"a": "1", "x-two": "b, c"}.items() <= response.headers.items()
    line, headers, body = asked[0]
    assert (line, body) == ("POST /v1/x?y=1 HTTP/1.1", b"12345")
    assert {"host": f"127.0.0.1:{server.port}", "x-key": "k"}.items() <= headers.items()


async def test_an_answer_streams_before_it_is_complete(make: Make) -> None:
    go_on = asyncio.Event()

    async def handler(peer: Peer) -> None:
        await peer.request()
        await peer.send(CHUNKED + b"3\r\none\r\n")
        await go_on.wait()
        await peer.send(b"3\r\ntwo\r\n0\r\n\r\n")

    async with raw_server(handler) as server:
        response = await post(make(None), server.url)
        chunks = response.chunks()
        assert await anext(chunks) == b"one"
        go_on.set()
        assert [chunk async for chunk in chunks] == [b"two"]


async def test_a_connection_is_used_again_after_a_complete_answer(make: Make) -> None:
    async def handler(peer: Peer) -> None:
        while True:
            await peer.request()
            await peer.send(HELLO)

    async with raw_server(handler) as server:
        transport = make(None)
        assert [await body_of(transport, server.url) for _ in range(5)] == [b"hello"] * 5
    assert server.accepted == 1


@pytest.mark.parametrize(
    "answer",
    [
        OK + b"connection: close\r\ncontent-length: 5\r\n\r\nhello",
        OK + b"\r\nhello",
        b"HTTP/1.0 200 OK\r\ncontent-length: 5\r\n\r\nhello",
    ],
    ids=["connection-close", "until-close", "http-1.0"],
)
async def test_an_answer_that_ends_its_connection_is_complete_and_not_reused(
    make: Make, answer: bytes
) -> None:
    async def handler(peer: Peer) -> None:
        await peer.request()
        await peer.send(answer)

    async with raw_server(handler) as server:
        transport = make(None)
        assert [await body_of(transport, server.url) for _ in range(2)] == [b"hello"] * 2
    assert server.accepted == 2


async def test_closing_an_answer_early_closes_the_connection(make: Make) -> None:
    gone = asyncio.Event()

    async def handler(peer: Peer) -> None:
        await peer.request()
        await peer.send(CHUNKED + b"3\r\none\r\n")
        await peer.gone()
        gone.set()

    async with raw_server(handler) as server:
        async with aclosing(await post(make(None), server.url)) as response:
            assert await anext(response.chunks()) == b"one"
        await within(gone.wait())


@pytest.mark.parametrize("prefix", [b"", CHUNKED + b"3\r\none\r\n"], ids=["before-the-head", "in-the-body"])
async def test_cancelling_closes_the_connection(make: Make, prefix: bytes) -> None:
    asked, gone = asyncio.Event(), asyncio.Event()

    async def handler(peer: Peer) -> None:
        await peer.request()
        await peer.send(prefix)
        asked.set()
        await peer.gone()
        gone.set()

    async with raw_server(handler) as server:
        reading = asyncio.ensure_future(body_of(make(None), server.url))
        await within(asked.wait())
        for _ in range(10):
            await asyncio.sleep(0)
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading
        await within(gone.wait())


async def test_a_server_that_closes_an_idle_connection_as_it_is_chosen_is_asked_again(make: Make) -> None:
    async def handler(peer: Peer) -> None:
        await peer.request()
        await peer.send(HELLO)
        if peer.number == 1:
            await peer.head()  # the second request has come: now the idle timeout of this server strikes
            return
        while True:
            await peer.request()
            await peer.send(HELLO)

    async with raw_server(handler) as server:
        transport = make(None)
        assert await body_of(transport, server.url) == b"hello"
        assert await body_of(transport, server.url) == b"hello"
    assert server.accepted == 2


async def test_a_connection_that_was_closed_while_idle_is_not_chosen(make: Make) -> None:
    async def handler(peer: Peer) -> None:
        await peer.request()
        await peer.send(HELLO)

    async with raw_server(handler) as server:
        transport = make(None)
        for _ in range(3):
            assert await body_of(transport, server.url) == b"hello"
            async with asyncio.timeout(30):
                while server.open:
                    await asyncio.sleep(0)
    assert server.accepted == 3


@pytest.mark.parametrize(
    ("answer", "kinds"),
    [
        (b"", {ErrorKind.NETWORK}),
        (b"HTTP/1.1 20", {ErrorKind.NETWORK}),
        (OK + b"content-length: 9\r\n\r\nhello", {ErrorKind.STREAM_CUT}),
        (CHUNKED + b"5\r\nhel", {ErrorKind.STREAM_CUT}),
        (CHUNKED + b"5\r\nhello\r\n", {ErrorKind.STREAM_CUT}),
        (CHUNKED, {ErrorKind.STREAM_CUT}),
        (b"SSH-2.0-OpenSSH_9.2\r\n", {ErrorKind.NETWORK}),
        (CHUNKED + b"zz\r\nhello\r\n", {ErrorKind.STREAM_CUT, ErrorKind.NETWORK}),
    ],
    ids=[
        "nothing",
        "half-a-head",
        "short",
        "in-chunk",
        "between-chunks",
        "no-chunk",
        "not-http",
        "bad-chunk",
    ],
)
async def test_a_premature_end_and_garbage_are_typed_errors(
    make: Make, answer: bytes, kinds: set[ErrorKind]
) -> None:
    async def handler(peer: Peer) -> None:
        await peer.request()
        await peer.send(answer)

    async with raw_server(handler) as server:
        with pytest.raises(ProviderError) as caught:
            await body_of(make(None), server.url)
    assert caught.value.err.kind in kinds


async def test_nobody_listening_is_a_network_error(make: Make) -> None:
    async def handler(peer: Peer) -> None:
        pass

    async with raw_server(handler) as server:
        pass
    with pytest.raises(ProviderError) as caught:
        await body_of(make(None), server.url)
    assert caught.value.err.kind is ErrorKind.NETWORK


@pytest.mark.parametrize("lingers", [True, False], ids=["closing-politely", "staying-open"])
async def test_an_error_before_the_body_is_sent_is_seen(make: Make, lingers: bool) -> None:
    answer = b"HTTP/1.1 413 Too Large\r\nconnection: close\r\ncontent-length: 3\r\n\r\nbig"
    done = asyncio.Event()

    async def handler(peer: Peer) -> None:
        await peer.head()
        await peer.send(answer)
        if lingers:
            await peer.gone()
        else:
            await done.wait()

    async with raw_server(handler) as server:
        async with aclosing(await post(make(None), server.url, b"x" * 16_000_000)) as response:
            assert (response.status, await read_all(response)) == (413, b"big")
        done.set()


async def test_a_slow_reader_slows_the_server_down(make: Make) -> None:
    total, piece = 128_000_000, b"x" * 250_000
    sent = 0

    async def handler(peer: Peer) -> None:
        nonlocal sent
        await peer.request()
        await peer.send(OK + f"content-length: {total}\r\n\r\n".encode())
        while sent < total:
            await peer.send(piece)
            sent += len(piece)
        await peer.gone()

    async with raw_server(handler) as server, aclosing(await post(make(None), server.url)) as response:
        for _ in range(2_000):  # enough turns of the loop to swallow it all, if nothing held it back
            await asyncio.sleep(0)
        assert sent < total / 2
        assert sum([len(chunk) async for chunk in response.chunks()]) == total


async def test_closing_the_transport_ends_what_is_in_flight(make: Make) -> None:
    gone = asyncio.Event()

    async def handler(peer: Peer) -> None:
        await peer.request()
        await peer.send(CHUNKED + b"3\r\none\r\n")
        await peer.gone()
        gone.set()

    async with raw_server(handler) as server:
        transport = make(None)
        response = await post(transport, server.url)
        await transport.aclose()
        await within(gone.wait())
        with pytest.raises(ProviderError) as caught:
            await read_all(response)
        await response.aclose()
    assert caught.value.err.kind is ErrorKind.STREAM_CUT


async def test_a_line_break_in_a_header_never_leaves(make: Make) -> None:
    async def handler(peer: Peer) -> None:
        raise AssertionError("nobody should come")

    async with raw_server(handler) as server:
        with pytest.raises(ProviderError) as caught:
            await make(None).send("POST", server.url, {"authorization": "secret\r\nx-evil: 1"}, b"")
    assert caught.value.err.kind is ErrorKind.INVALID_ARGS
    assert "secret" not in str(caught.value)
    assert server.accepted == 0


@pytest.fixture(scope="module")
def ca() -> trustme.CA:
    return trustme.CA()


async def say_hello(peer: Peer) -> None:
    while True:
        await peer.request()
        await peer.send(HELLO)


async def test_tls_is_verified_against_a_bundle_of_the_users_own(
    make: Make, ca: trustme.CA, tmp_path: Path
) -> None:
    async with raw_server(say_hello, server_tls(ca, "127.0.0.1")) as server:
        transport = make(Network(ca_bundle=bundle(ca, tmp_path)))
        assert [await body_of(transport, server.url) for _ in range(2)] == [b"hello"] * 2
    assert server.accepted == 1


async def test_tls_from_an_unknown_authority_is_refused(make: Make, ca: trustme.CA) -> None:
    async with raw_server(say_hello, server_tls(ca, "127.0.0.1")) as server:
        with pytest.raises(ProviderError) as caught:
            await body_of(make(None), server.url)
    assert caught.value.err.kind is ErrorKind.NETWORK


async def test_tls_for_another_name_is_refused(make: Make, ca: trustme.CA, tmp_path: Path) -> None:
    async with raw_server(say_hello, server_tls(ca, "other.test")) as server:
        with pytest.raises(ProviderError) as caught:
            await body_of(make(Network(ca_bundle=bundle(ca, tmp_path))), server.url)
    assert caught.value.err.kind is ErrorKind.NETWORK


async def test_cancelling_closes_a_tls_connection_too(make: Make, ca: trustme.CA, tmp_path: Path) -> None:
    gone = asyncio.Event()

    async def handler(peer: Peer) -> None:
        await peer.request()
        await peer.send(CHUNKED + b"3\r\none\r\n")
        await peer.gone()
        gone.set()

    async with raw_server(handler, server_tls(ca, "127.0.0.1")) as server:
        transport = make(Network(ca_bundle=bundle(ca, tmp_path)))
        async with aclosing(await post(transport, server.url)) as response:
            assert await anext(response.chunks()) == b"one"
        await within(gone.wait())


async def test_https_goes_through_a_proxy_by_connect(make: Make, ca: trustme.CA, tmp_path: Path) -> None:
    async with raw_server(say_hello, server_tls(ca, "model.test")) as server:
        proxy = Proxy(server.port)
        async with raw_server(proxy) as via:
            network = Network(
                https_proxy=f"http://me:pass@127.0.0.1:{via.port}", ca_bundle=bundle(ca, tmp_path)
            )
            transport = make(network)
            assert [await body_of(transport, "https://model.test") for _ in range(2)] == [b"hello"] * 2
            await transport.aclose()
    ((line, headers),) = proxy.asked
    assert line == "CONNECT model.test:443 HTTP/1.1"
    assert headers["proxy-authorization"] == "Basic bWU6cGFzcw=="


async def test_plain_http_goes_through_a_proxy_by_its_whole_address(make: Make) -> None:
    proxy = Proxy(0)
    async with raw_server(proxy) as via:
        transport = make(Network(http_proxy=f"http://127.0.0.1:{via.port}"))
        assert await body_of(transport, "http://model.test") == b"hello"
    assert proxy.asked[0][0] == "POST http://model.test/v1/x?y=1 HTTP/1.1"


async def test_a_proxy_that_refuses_is_a_network_error(make: Make) -> None:
    proxy = Proxy(0, refuse=b"HTTP/1.1 407 Who are you\r\ncontent-length: 0\r\n\r\n")
    async with raw_server(proxy) as via:
        with pytest.raises(ProviderError) as caught:
            await body_of(make(Network(https_proxy=f"http://127.0.0.1:{via.port}")), "https://model.test")
    assert caught.value.err.kind is ErrorKind.NETWORK


async def test_no_proxy_and_this_machine_are_reached_directly(make: Make) -> None:
    proxy = Proxy(0)
    async with raw_server(proxy) as via, raw_server(say_hello) as server:
        address = f"http://127.0.0.1:{via.port}"
        here = f"http://0.0.0.0:{server.port}"  # reaches this machine, and is not one of its names
        transport = make(Network(http_proxy=address, no_proxy="x.test, 0.0.0.0"))
        assert await body_of(transport, server.url) == b"hello"
        assert await body_of(transport, here) == b"hello"
        assert proxy.asked == []
        assert await body_of(make(Network(http_proxy=address, no_proxy="x.test")), here) == b"hello"
        assert len(proxy.asked) == 1


@pytest.fixture
def many_files() -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.usefixtures("many_files")
async def test_a_thousand_connections_at_once_and_none_left(make: Make) -> None:
    all_here, waiting = asyncio.Event(), 0

    async def handler(peer: Peer) -> None:
        nonlocal waiting
        await peer.request()
        waiting += 1
        if waiting == 1_000:
            all_here.set()
        await all_here.wait()
        await peer.send(HELLO)
        await peer.gone()

    async with raw_server(handler) as server:
        before = len(os.listdir("/proc/self/fd"))
        transport = make(None)
        answers = await asyncio.gather(*(body_of(transport, server.url) for _ in range(1_000)))
        assert answers == [b"hello"] * 1_000
        assert server.accepted == 1_000
        await transport.aclose()
        async with asyncio.timeout(30):
            while len(os.listdir("/proc/self/fd")) > before:
                await asyncio.sleep(0)
