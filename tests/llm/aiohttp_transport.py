"""The transport contract on aiohttp: proof that it is not ours alone, and the fallback if ours fails."""

import io
import ssl
from collections.abc import AsyncIterator, Mapping, Sequence

import aiohttp

from planck.http.address import Network, Origin, locate
from planck.http.connection import request_head
from planck.http.transport import Transport
from planck.llm.provider import ProviderError
from planck.records.outcome import ErrorKind


class AiohttpTransport:
    def __init__(self, network: Network | None = None) -> None:
        self._network = network or Network()
        self._session: aiohttp.ClientSession | None = None

    async def send(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        body: Sequence[bytes] | bytes = b"",
        on_sent: object = None,
    ) -> "AiohttpResponse":
        origin, target = locate(url, self._network)
        content = body if isinstance(body, bytes) else b"".join(body)
        request_head(method, origin, target, headers, len(content))  # for its check of the headers
        for attempt in range(2):
            try:
                return await self._request(method, url, headers, content, origin.proxy)
            except (aiohttp.ClientError, OSError) as error:
                if attempt or isinstance(error, aiohttp.ClientConnectorError | aiohttp.ClientResponseError):
                    raise ProviderError(ErrorKind.NETWORK, type(error).__name__) from None
        raise AssertionError

    async def _request(
        self, method: str, url: str, headers: Mapping[str, str], content: bytes, proxy: Origin | None
    ) -> "AiohttpResponse":
        login = proxy.userinfo.partition(":") if proxy and proxy.userinfo else None
        response = await self._open().request(
            method,
            url,
            headers=headers,
            data=io.BytesIO(content),
            proxy=f"http://{proxy.authority}" if proxy else None,
            proxy_headers={"Proxy-Authorization": aiohttp.encode_basic_auth(login[0], login[2])}
            if login
            else None,
            allow_redirects=False,
        )
        return AiohttpResponse(response)

    async def aclose(self) -> None:
        if self._session is not None:
            await self._session.close()

    def _open(self) -> aiohttp.ClientSession:
        if self._session is None:
            tls = ssl.create_default_context(cafile=self._network.ca_bundle or None)
            connector = aiohttp.TCPConnector(limit=0, ssl=tls)
            timeout = aiohttp.ClientTimeout(total=None, connect=self._network.connect_timeout)
            self._session = aiohttp.ClientSession(
                connector=connector, timeout=timeout, auto_decompress=False, trust_env=False
            )
        return self._session


class AiohttpResponse:
    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self._response = response
        self.status = response.status
        self.headers: dict[str, str] = {}
        for name, value in response.headers.items():
            known = self.headers.get(name.lower())
            self.headers[name.lower()] = value if known is None else f"{known}, {value}"

    async def chunks(self) -> AsyncIterator[bytes]:
        try:
            async for chunk in self._response.content.iter_any():
                yield chunk
        except (aiohttp.ClientError, OSError, RuntimeError) as error:
            raise ProviderError(ErrorKind.STREAM_CUT, type(error).__name__) from None

    def release(self) -> None:
        self._response.release()

    async def aclose(self) -> None:
        self._response.close()


_: type[Transport] = AiohttpTransport
