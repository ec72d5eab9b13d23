"""Servers that do anything at any moment, callers that leave at any moment: typed ends, nothing left."""

import asyncio
import os
import random
from collections import Counter
from contextlib import aclosing

import pytest

from planck.http.transport import HttpTransport, read_all
from planck.llm.provider import ProviderError
from planck.records.outcome import ErrorKind
from tests.llm.raw_server import HELLO, OK, Peer, raw_server

CHUNKED = OK + b"transfer-encoding: chunked\r\n\r\n3\r\none\r\n3\r\ntwo\r\n0\r\n\r\n"
ANSWERS = (
    HELLO,
    CHUNKED,
    OK + b"connection: close\r\ncontent-length: 5\r\n\r\nhello",
    b"HTTP/1.1 429 Slow\r\nretry-after: 1\r\ncontent-length: 2\r\n\r\nno",
    b"HTTP/1.1 204 None\r\n\r\n",
    OK + b"\r\nuntil the end",
)


class Unruly:
    """Answers whole, in pieces, cut, followed by rubbish, or not at all; closes or stays."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    async def __call__(self, peer: Peer) -> None:
        pick = self._random
        while True:
            await peer.request()
            answer = pick.choice(ANSWERS)
            match pick.randrange(8):
                case 0:
                    answer = answer[: pick.randrange(len(answer))]
                case 1:
                    answer += pick.randbytes(pick.randrange(1, 40))
                case 2:
                    at = pick.randrange(len(answer))
                    answer = answer[:at] + pick.randbytes(1) + answer[at + 1 :]
            at = pick.randrange(len(answer) + 1)
            await peer.send(answer[:at])
            for _ in range(pick.randrange(4)):
                await asyncio.sleep(0)
            await peer.send(answer[at:])
            if pick.randrange(3) == 0:
                return


async def one_call(transport: HttpTransport, url: str, pick: random.Random) -> str:
    """How it ended: a status, a kind, or `left`."""
    try:
        async with asyncio.timeout(0.2), aclosing(await transport.send("POST", url, {}, b"{}")) as response:
            match pick.randrange(4):
                case 0:
                    response.release()
                case 1:
                    pass
                case _:
                    await read_all(response)
            return str(response.status)
    except ProviderError as error:
        return str(error.err.kind)
    except TimeoutError:
        return "left"


async def chaos(seed: int, calls: int) -> Counter[str]:
    pick = random.Random(seed)
    complaints: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: complaints.append(context))
    async with raw_server(Unruly(seed)) as server:
        await asyncio.sleep(0)
        before = len(os.listdir("/proc/self/fd"))
        transport = HttpTransport()
        ends: Counter[str] = Counter()
        for _ in range(calls // 20):
            tasks = [asyncio.ensure_future(one_call(transport, server.url, pick)) for _ in range(20)]
            for task in tasks:
                if pick.randrange(5) == 0:
                    for _ in range(pick.randrange(12)):
                        await asyncio.sleep(0)
                    task.cancel()
            for end in await asyncio.gather(*tasks, return_exceptions=True):
                assert isinstance(end, str | asyncio.CancelledError), end
                ends[end if isinstance(end, str) else "cancelled"] += 1
        await transport.aclose()
        async with asyncio.timeout(30):
            while server.open or len(os.listdir("/proc/self/fd")) > before:
                await asyncio.sleep(0)
    assert complaints == []
    kinds = {str(ErrorKind.NETWORK), str(ErrorKind.STREAM_CUT)}
    assert {end for end in ends if not end.isdigit()} <= kinds | {"left", "cancelled"}
    return ends


@pytest.mark.parametrize("seed", [1, 2, 3])
async def test_chaos_ends_in_types_and_leaves_nothing_open(seed: int) -> None:
    print(f"seed {seed}")
    ends = await chaos(seed, 200)
    assert {"200", "429", "network"} <= ends.keys()


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(10, 20))
async def test_much_chaos(seed: int) -> None:
    print(f"seed {seed}")
    await chaos(seed, 5_000)
