"""A program beside a `planck serve`, in the shape of `Planck`.

async with Client(url, token) as planck:
    session = await planck.start(mode="workspace")
    result = await session.run("fix the failing test")
"""

from planck.client.client import Client, ClientError, RemoteSession

__all__ = ["Client", "ClientError", "RemoteSession"]
