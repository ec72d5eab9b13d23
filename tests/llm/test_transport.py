"""What our own client does beyond the contract in `tests/contracts`: hostile servers, and leaks."""

import asyncio
import gc
import ssl
import weakref
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path

import pytest
import trustme
import truststore

from planck.http.address import Network
from planck.http.connection import HttpResponse
from planck.http.transport import HttpTransport, read_all
from planck.llm.provider import ProviderError
from planck.records.outcome import ErrorKind
from tests.llm.raw_server import HELLO, OK, Peer, bundle, raw_server, server_tls
from tests.virtual_time import run_virtual

CHUNKED = OK + b"transfer-encoding: chunked\r\n\r\n"


@pytest.fixture
async def transport() -> AsyncIterator[HttpTransport]:
    transport = HttpTransport()
    yield transport
    await transport.aclose()


async def ask(transport: HttpTransport, url: str) -> bytes:
    async with aclosing(await transport.send("POST", url, {}, b"{}")) as response:
        return await read_all(response)


async def test_a_second_answer_to_one_request_reaches_nobody(transport: HttpTransport) -> None:
    async def handler(peer: Peer) -> None:
        await peer.request()
        if peer.number == 1:
            await peer.send(HELLO + OK + b"content-length: 4\r\n\r\nevil")
            await peer.gone()
        else:
            await peer.send(HELLO)

    async with raw_server(handler) as server:
        assert [await ask(transport, server.url) for _ in range(2)] == [b"hello", b"hello"]
    assert server.accepted == 2


async def test_compression_is_declined_and_a_name_given_unless_the_caller_says_otherwise(
    transport: HttpTransport,
) -> None:
    asked = []

    async def handler(peer: Peer) -> None:
        while True:
            _, headers, _ = await peer.request()
            asked.append((headers["accept-encoding"], headers["user-agent"]))
            await peer.send(HELLO)

    async with raw_server(handler) as server:
        await ask(transport, server.url)
        await read_all(await transport.send("POST", server.url, {"user-agent": "me"}, b""))
    assert asked == [("identity", "planck"), ("identity", "me")]


async def test_answers_that_arrive_at_once_in_pieces_do_not_mix(transport: HttpTransport) -> None:
    """All connections read into one buffer."""

    async def handler(peer: Peer) -> None:
        line, _, _ = await peer.request()
        body = line.encode() * 10
        answer = OK + b"x-line: %s\r\ncontent-length: %d\r\n\r\n" % (line.encode(), len(body)) + body
        for at in range(0, len(answer), 7):
            await peer.send(answer[at : at + 7])
            await asyncio.sleep(0)

    async def get(url: str) -> tuple[str, bytes]:
        async with aclosing(await transport.send("GET", url, {})) as response:
            return response.headers["x-line"], await read_all(response)

    async with raw_server(handler) as server:
        got = await asyncio.gather(*(get(f"{server.url}/{number}") for number in range(20)))
    lines = [f"GET /{number} HTTP/1.1" for number in range(20)]
    assert got == [(line, line.encode() * 10) for line in lines]
    assert server.accepted == 20


async def test_bytes_on_an_idle_connection_end_it(transport: HttpTransport) -> None:
    idle, gone = asyncio.Event(), asyncio.Event()

    async def handler(peer: Peer) -> None:
        await peer.request()
        await peer.send(HELLO)
        if peer.number == 1:
            await idle.wait()
            await peer.send(b"HTTP/1.1 408 Request Timeout\r\ncontent-length: 0\r\n\r\n")
            await peer.gone()
            gone.set()

    async with raw_server(handler) as server:
        assert await ask(transport, server.url) == b"hello"
        idle.set()
        async with asyncio.timeout(30):
            await gone.wait()
        assert await ask(transport, server.url) == b"hello"
    assert server.accepted == 2


async def test_an_interim_answer_is_passed_over(transport: HttpTransport) -> None:
    async def handler(peer: Peer) -> None:
        await peer.request()
        await peer.send(b"HTTP/1.1 100 Continue\r\nx: interim\r\n\r\nHTTP/1.1 103 Early\r\n\r\n" + HELLO)

    async with raw_server(handler) as server:
        response = await transport.send("POST", server.url, {}, b"")
        assert (response.status, await read_all(response)) == (200, b"hello")
        assert "x" not in response.headers


@pytest.mark.parametrize(
    ("start", "again", "kind"),
    [
        (OK, b"x-%d: " + b"y" * 200 + b"\r\n", ErrorKind.NETWORK),
        (OK + b"x: ", b"y" * 200, ErrorKind.NETWORK),
        (b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 9, ErrorKind.NETWORK),
        (CHUNKED + b"5\r\nhello\r\n0\r\nx: ", b"y" * 200, ErrorKind.STREAM_CUT),
    ],
    ids=["many-headers", "a-long-header", "interim-answers", "trailers"],
)
async def test_a_flood_without_an_answer_in_it_is_cut_off(
    transport: HttpTransport, start: bytes, again: bytes, kind: ErrorKind
) -> None:
    sent, total = 0, 200_000

    async def handler(peer: Peer) -> None:
        nonlocal sent
        await peer.request()
        await peer.send(start)
        while sent < total:
            await peer.send(again.replace(b"%d", b"%d" % sent))
            sent += 1

    async with raw_server(handler) as server:
        with pytest.raises(ProviderError) as caught:
            await ask(transport, server.url)
    assert caught.value.err.kind is kind
    assert sent < total


def test_a_request_that_a_server_worked_on_is_not_sent_again_in_silence() -> None:
    async def handler(peer: Peer) -> None:
        await peer.request()
        await peer.send(HELLO)
        await peer.request()
        await asyncio.sleep(10)

    async def main() -> int:
        transport = HttpTransport()
        async with raw_server(handler) as server:
            assert await ask(transport, server.url) == b"hello"
            with pytest.raises(ProviderError) as caught:
                await ask(transport, server.url)
            await transport.aclose()
        assert caught.value.err.kind is ErrorKind.NETWORK
        return server.accepted

    assert run_virtual(main()) == 1


async def test_a_released_answer_gives_its_connection_back_if_it_ends_by_itself(
    transport: HttpTransport,
) -> None:
    end = asyncio.Event()

    async def handler(peer: Peer) -> None:
        await peer.request()
        await peer.send(CHUNKED + b"3\r\none\r\n")
        await end.wait()
        await peer.send(b"3\r\ntwo\r\n0\r\n\r\n")
        await say_hello(peer)

    async with raw_server(handler) as server:
        response = await transport.send("POST", server.url, {}, b"")
        assert await anext(response.chunks()) == b"one"
        response.release()
        await response.aclose()
        end.set()
        async with asyncio.timeout(30):
            while not idle(transport):
                await asyncio.sleep(0)
        assert await ask(transport, server.url) == b"hello"
    assert server.accepted == 1


def idle(transport: HttpTransport) -> int:
    """The pool as its `repr` tells it: there is no other sign of a connection that went back by itself."""
    return int(repr(transport).removeprefix("HttpTransport(").split()[0])


async def test_a_released_answer_that_goes_on_is_closed(transport: HttpTransport) -> None:
    gone = asyncio.Event()

    async def handler(peer: Peer) -> None:
        await peer.request()
        await peer.send(CHUNKED + b"3\r\none\r\n")
        try:
            while True:
                await peer.send(b"1000\r\n" + b"x" * 4096 + b"\r\n")
        except ConnectionError:
            gone.set()

    async with raw_server(handler) as server:
        response = await transport.send("POST", server.url, {}, b"")
        await anext(response.chunks())
        response.release()
        async with asyncio.timeout(30):
            await gone.wait()


async def test_closing_a_finished_answer_again_leaves_the_next_one_alone(transport: HttpTransport) -> None:
    go_on = asyncio.Event()

    async def handler(peer: Peer) -> None:
        await peer.request()
        await peer.send(HELLO)
        await peer.request()
        await peer.send(CHUNKED + b"3\r\none\r\n")
        await go_on.wait()
        await peer.send(b"3\r\ntwo\r\n0\r\n\r\n")

    async with raw_server(handler) as server:
        first = await transport.send("POST", server.url, {}, b"")
        assert await read_all(first) == b"hello"
        second = await transport.send("POST", server.url, {}, b"")
        await first.aclose()
        first.release()
        go_on.set()
        assert await read_all(second) == b"onetwo"
    assert server.accepted == 1


async def test_a_connection_with_an_unsent_body_is_not_used_again(transport: HttpTransport) -> None:
    async def handler(peer: Peer) -> None:
        if peer.number == 1:
            await peer.head()
            await peer.send(b"HTTP/1.1 400 Bad\r\ncontent-length: 2\r\n\r\nno")
            await peer.reader.read(1)
            await asyncio.Event().wait()
        else:
            await say_hello(peer)

    async with raw_server(handler) as server:
        async with aclosing(await transport.send("POST", server.url, {}, b"x" * 50_000_000)) as response:
            assert (response.status, await read_all(response)) == (400, b"no")
        assert await ask(transport, server.url) == b"hello"
    assert server.accepted == 2


async def say_hello(peer: Peer) -> None:
    while True:
        await peer.request()
        await peer.send(HELLO)


@pytest.mark.parametrize("where", ["handshake", "tunnel"])
async def test_cancelling_while_connecting_closes_the_socket(where: str, tmp_path: Path) -> None:
    here, gone = asyncio.Event(), asyncio.Event()

    async def handler(peer: Peer) -> None:
        here.set()
        await peer.gone()  # neither TLS nor a proxy: it never answers
        gone.set()

    async with raw_server(handler) as server:
        proxied = Network(https_proxy=f"http://127.0.0.1:{server.port}")
        transport = HttpTransport(proxied if where == "tunnel" else None)
        url = "https://model.test" if where == "tunnel" else f"https://127.0.0.1:{server.port}"
        sending = asyncio.ensure_future(transport.send("POST", url, {}, b""))
        async with asyncio.timeout(30):
            await here.wait()
        sending.cancel()
        with pytest.raises(asyncio.CancelledError):
            await sending
        async with asyncio.timeout(30):
            await gone.wait()
        await transport.aclose()


async def test_a_certificate_that_is_not_trusted_is_not_worth_another_try(transport: HttpTransport) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    trustme.CA().issue_cert("127.0.0.1").configure_cert(context)
    async with raw_server(say_hello, context) as server:
        with pytest.raises(ProviderError) as caught:
            await ask(transport, server.url)
    assert caught.value.err.details == {"permanent": True}


async def test_a_bundle_that_is_not_there_says_so(tmp_path: Path) -> None:
    transport = HttpTransport(Network(ca_bundle=str(tmp_path / "none.pem")))
    with pytest.raises(ProviderError, match=r"none\.pem"):
        await ask(transport, "https://127.0.0.1:1")


async def test_the_system_s_own_store_decides_where_it_was_asked_for(tmp_path: Path) -> None:
    ca = trustme.CA()
    async with raw_server(say_hello, server_tls(ca, "127.0.0.1")) as server:
        unknown = HttpTransport(Network(system_certificates=True))
        with pytest.raises(ProviderError) as refused:
            await ask(unknown, server.url)
        known = HttpTransport(Network(system_certificates=True, ca_bundle=bundle(ca, tmp_path)))
        assert await ask(known, server.url) == b"hello"
        await unknown.aclose()
        await known.aclose()
    assert refused.value.err.details == {"permanent": True}
    assert "is not trusted" in refused.value.err.message


async def test_the_system_s_store_is_asked_about_a_certificate(monkeypatch: pytest.MonkeyPatch) -> None:
    ca = trustme.CA()

    class Store(truststore.SSLContext):
        """A machine whose administrator added an authority."""

        def __init__(self, protocol: int) -> None:
            super().__init__(protocol)
            self.load_verify_locations(cadata=ca.cert_pem.bytes().decode())

    monkeypatch.setattr(truststore, "SSLContext", Store)
    async with raw_server(say_hello, server_tls(ca, "127.0.0.1")) as server:
        transport = HttpTransport(Network(system_certificates=True))
        assert await ask(transport, server.url) == b"hello"
        await transport.aclose()


async def test_a_closed_transport_says_so(transport: HttpTransport) -> None:
    await transport.aclose()
    with pytest.raises(ProviderError, match="closed"):
        await ask(transport, "http://127.0.0.1:1")


async def test_no_answer_is_left_for_the_collector(transport: HttpTransport) -> None:
    async def handler(peer: Peer) -> None:
        while True:
            line, *_ = await peer.request()
            await peer.send(HELLO if "keep" in line else CHUNKED + b"3\r\none\r\n")

    alive: weakref.WeakSet[HttpResponse] = weakref.WeakSet()
    async with raw_server(handler) as server:
        gc.disable()
        try:
            for path in ("keep", "cut") * 50:
                async with aclosing(
                    await transport.send("POST", f"{server.url}/{path}", {}, b"")
                ) as response:
                    alive.add(response)
                    assert await anext(response.chunks()) in (b"hello", b"one")
                del response
            async with asyncio.timeout(30):
                while len(alive):
                    await asyncio.sleep(0)  # the last one closes on the loop's next turn
        finally:
            gc.enable()


async def test_a_proxy_may_itself_be_reached_by_tls(tmp_path: Path) -> None:
    authority = trustme.CA()
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    asked = []

    def tls(name: str) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        authority.issue_cert(name).configure_cert(context)
        return context

    async with raw_server(say_hello, tls("model.test")) as server:

        async def proxy(peer: Peer) -> None:
            asked.append((await peer.head())[0])
            reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
            await peer.send(OK + b"\r\n")
            try:
                await asyncio.gather(pump(peer.reader, writer), pump(reader, peer.writer))
            finally:
                writer.close()

        async with raw_server(proxy, tls("127.0.0.1")) as via:
            network = Network(https_proxy=f"https://127.0.0.1:{via.port}", ca_bundle=str(tmp_path / "ca.pem"))
            transport = HttpTransport(network)
            assert [await ask(transport, "https://model.test") for _ in range(2)] == [b"hello"] * 2
            await transport.aclose()
    assert asked == ["CONNECT model.test:443 HTTP/1.1"]


async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(65_536):
        writer.write(data)
        await writer.drain()
    writer.close()
