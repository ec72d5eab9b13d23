"""Where a model is reached and with which key; neither its repr nor its encoding shows the key."""

from collections.abc import Mapping
from typing import NoReturn

OPENAI_ROOT = "https://api.openai.com/v1"
LOCAL_ROOTS = {"ollama": "http://127.0.0.1:11434", "llama_cpp": "http://127.0.0.1:8080"}
"""Where a local server is when nobody says otherwise. A number: `localhost` may be looked up elsewhere."""


_SECRETIVE = ("auth", "key", "token", "secret", "cookie", "password")


class Endpoint:
    """A plain class, not a record: nothing can encode it into a log by accident."""

    __slots__ = ("api", "base_url", "headers", "key", "name", "type", "variable")

    name: str
    """A key of the configuration's `providers`."""
    type: str
    api: str
    """`chat`, `responses` or empty; for type `openai` only."""
    base_url: str
    """Empty: the vendor's own address."""
    key: str
    headers: Mapping[str, str]
    variable: str
    """The environment variable that holds the key, if one does."""

    def __init__(
        self,
        name: str,
        type: str,
        api: str = "",
        base_url: str = "",
        key: str = "",
        headers: Mapping[str, str] | None = None,
        variable: str = "",
    ) -> None:
        fields = (name, type, api, base_url.rstrip("/"), key.strip(), dict(headers or {}), variable)
        names = ("name", "type", "api", "base_url", "key", "headers", "variable")
        for field, value in zip(names, fields, strict=True):
            object.__setattr__(self, field, value)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"Cannot set {name!r}: an Endpoint is immutable. Create a new one.")

    def __repr__(self) -> str:
        return f"Endpoint({self.name!r}, {self.type!r}, {self.api!r}, {self.base_url!r})"

    def __reduce__(self) -> NoReturn:
        raise TypeError("An Endpoint contains a key and cannot be pickled.")

    @property
    def secrets(self) -> tuple[str, ...]:
        """What no error and no log may show: the key, and the headers that carry one."""
        headers = [
            value for name, value in self.headers.items() if any(word in name.lower() for word in _SECRETIVE)
        ]
        words = [value.rsplit(" ", 1)[-1] for value in headers]  # a token without its `Bearer`
        return tuple(value for value in (self.key, *headers, *words) if value)

    @property
    def bearer(self) -> dict[str, str]:
        """The headers of a JSON request to a server that takes the key as most do."""
        key = {"authorization": f"Bearer {self.key}"} if self.key else {}
        return {"content-type": "application/json", **key, **self.headers}

    @property
    def is_vendor(self) -> bool:
        """The vendor's own server, which takes what compatible ones refuse."""
        return not self.base_url or f"{self.base_url}/".startswith("https://api.openai.com/")


def openai_root(base_url: str) -> str:
    """An address without a path gets `/v1`."""
    root = (base_url or OPENAI_ROOT).rstrip("/")
    scheme, _, rest = root.partition("://")
    return root if "/" in rest else f"{scheme}://{rest}/v1"
