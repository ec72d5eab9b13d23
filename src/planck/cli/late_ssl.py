"""`ssl` when it is needed: asyncio imports it at once, and http to a model on this machine never uses it."""

import sys
from types import ModuleType
from typing import Any


def import_asyncio() -> None:
    """Imports asyncio with a stand-in for `ssl`, which gives way to the real module at the first use of TLS.

    Where either is loaded already, nothing is gained and nothing is done.
    """
    if "asyncio" in sys.modules or "ssl" in sys.modules:
        return
    sys.modules["ssl"] = _NotYet("ssl")
    try:
        import asyncio  # noqa: F401
    finally:
        del sys.modules["ssl"]  # whoever imports it gets the real one; only asyncio keeps the stand-in


class _NoError(Exception):
    """Nobody raises it: it holds the place of the errors that `asyncio.sslproto` names when it is loaded."""


class _NotYet(ModuleType):
    SSLWantReadError = SSLSyscallError = _NoError

    @property
    def SSLSocket(self) -> Any:
        """For the check of every socket that asyncio connects: before `ssl` is loaded, none can be one."""
        real = sys.modules.get("ssl")
        return () if real is None else real.SSLSocket

    def __getattr__(self, name: str) -> Any:
        import ssl

        for module in [module for key, module in sys.modules.items() if key.startswith("asyncio.")]:
            if vars(module).get("ssl") is self:
                vars(module)["ssl"] = ssl
            if "SSLAgainErrors" in vars(module):
                vars(module)["SSLAgainErrors"] = (ssl.SSLWantReadError, ssl.SSLSyscallError)
        return getattr(ssl, name)
