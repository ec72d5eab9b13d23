"""What a token of a pool may do: on whichever node, with whatever it sends, until it is taken back."""

import asyncio
import hashlib
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from planck.api.operations import PREFIX
from planck.headless import Joining
from planck.store.postgres.roster import PostgresRoster
from planck.store.roster import Command, Role, TokenRow
from tests.api.bench import Answer, Served, parse, serving
from tests.command import WAIT
from tests.wire import chat
from tests.wire.server import WireServer

pytestmark = pytest.mark.heavy

ROLES: tuple[Role, ...] = ("view", "submit", "approve", "admin")


@dataclass
class Bench:
    """A server of a pool, and tokens of every role."""

    server: Served
    roster: PostgresRoster
    model: WireServer

    async def send(self, role: str, method: str, path: str, body: Any = None, **headers: str) -> Answer:
        """Returns the status, and the body of what ends by itself."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.server.port)
        try:
            writer.write(self.write_head(role, method, path, body, **headers))
            async with asyncio.timeout(WAIT):
                head = await reader.readuntil(b"\r\n\r\n")
                rest = b"" if b"text/event-stream" in head else await reader.read()
            return parse(head + rest)
        finally:
            writer.close()

    def write_head(self, role: str, method: str, path: str, body: Any = None, **headers: str) -> bytes:
        data = b"" if body is None else json.dumps(body).encode()
        given = {"host": f"127.0.0.1:{self.server.port}", "authorization": f"Bearer {role}", **headers}
        given |= {"connection": "close", "content-length": str(len(data))}
        given |= {"content-type": "application/json"} if data else {}
        lines = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in given.items())
        return f"{method} {PREFIX}{path} HTTP/1.1\r\n{lines}\r\n".encode() + data

    async def start(self, **body: Any) -> str:
        answer = await self.send("admin", "POST", "/sessions", body)
        assert answer.status == 201, answer
        return str(answer.json["id"])

    async def read(self, id: str) -> dict[str, Any]:
        row: dict[str, Any] = (await self.send("view", "GET", f"/sessions/{id}")).json
        return row

    async def wait_for(self, id: str, text: str) -> None:
        """Until the log of a session has it."""
        async with asyncio.timeout(WAIT):
            while text not in (await self.send("view", "GET", f"/sessions/{id}/events")).body.decode():
                await asyncio.sleep(0.02)

    async def revoke(self, *roles: Role) -> None:
        """Takes tokens back; the server knows once it is asked with one that it does not know."""
        for role in roles:
            await self.roster.revoke_token(hashlib.sha256(role.encode()).hexdigest())
        assert (await self.send("nobody", "GET", "/me")).status == 401


@asynccontextmanager
async def node(
    folder: Path, database: str, model: WireServer, name: str, mode: str = "ask", work: int = 8
) -> AsyncIterator[Bench]:
    folder.mkdir(exist_ok=True)
    config = {
        "providers": {"local": {"type": "openai", "base_url": model.url}},
        "permissions": {"mode": mode},
        "node": {"accept": [f"{folder.parent}/*"]},
    }
    joining = Joining(name=name, work=work)
    async with serving(folder, config=config, store=database, joining=joining) as server:
        roster = PostgresRoster(database)
        await roster.start()
        try:
            for role in ROLES:
                digest = hashlib.sha256(role.encode()).hexdigest()
                await roster.add_token(TokenRow(digest=digest, who=role, role=role))
            yield Bench(server, roster, model)
        finally:
            await roster.aclose()


def is_refused(answer: Answer) -> bool:
    return answer.status == 403 and answer.kind == "permission_denied"


async def test_a_session_on_another_node_is_checked_there_and_no_role_can_be_forged(
    tmp_path: Path, database: str
) -> None:
    async with (
        WireServer([chat.text("well")]) as model,
        node(tmp_path / "north", database, model, "north") as north,
        node(tmp_path / "south", database, model, "south", work=0) as south,
    ):
        id = await north.start(mode="full")
        forged: tuple[dict[str, str], ...] = ({}, {"planck_role": "admin"}, {"planck_forwarded": "north"})
        for headers in forged:
            for asked in (north, south):
                for method, path, body in (
                    ("POST", "/prompts", {"text": "x"}),
                    ("POST", "/fork", {}),
                    ("POST", "/interrupt", {}),
                    ("PATCH", "", {"mode": "workspace"}),
                    ("DELETE", "", None),
                ):
                    answer = await asked.send("submit", method, f"/sessions/{id}{path}", body, **headers)
                    assert is_refused(answer), (headers, method, path, answer)
        assert (await south.send("approve", "POST", f"/sessions/{id}/prompts", {"text": "x"})).status == 202
        await north.wait_for(id, '"turn_end"')


async def test_a_token_gets_no_more_by_waiting_and_nothing_once_it_is_taken_back(
    tmp_path: Path, database: str
) -> None:
    work = tmp_path / "work"
    work.mkdir()
    async with (
        WireServer([chat.text("well")]) as model,
        node(tmp_path / "north", database, model, "north", mode="full") as bench,
    ):
        # Handed in without a mode: the node's own is `full`.
        handed_in = {"prompt": "x", "repo": str(work)}
        made = (await bench.send("submit", "POST", "/submissions", handed_in)).json
        await bench.wait_for(made["id"], '"turn_end"')
        assert (await bench.read(made["id"]))["mode"] == "workspace"
        assert is_refused(await bench.send("submit", "POST", "/submissions", {**handed_in, "mode": "full"}))

        # Opened again, it has no more than it was left with; by whomever it was begun.
        own = (await bench.send("submit", "POST", "/sessions", {})).json
        theirs = await bench.start()
        await bench.send("admin", "PATCH", f"/sessions/{theirs}", {"mode": "read-only"})
        for id, mode in ((own["id"], "workspace"), (theirs, "read-only")):
            for path in ("close", "open"):
                row = (await bench.send("admin", "POST", f"/sessions/{id}/{path}", {})).json
            assert row["mode"] == mode

        # A prompt that was left in the database meets the mode of the session as it is then.
        wide, asked = await bench.start(mode="full"), len(model.asked)
        left = Command(id="late", session=wide, kind="prompt", data={"text": "x"}, by="submit")
        await bench.roster.post(left)
        await bench.wait_for(wide, '"permission_denied"')
        assert len(model.asked) == asked

        # Taken back while a stream is open, and while a body is on its way.
        reader, writer = await asyncio.open_connection("127.0.0.1", bench.server.port)
        answer, half = await asyncio.open_connection("127.0.0.1", bench.server.port)
        try:
            writer.write(bench.write_head("view", "GET", "/inbox/events"))
            whole = bench.write_head("submit", "POST", "/sessions", {"mode": "full"})
            half.write(whole[:-5])
            async with asyncio.timeout(WAIT):
                await reader.readuntil(b"event: live")
                await bench.revoke("view", "submit")
                await reader.read()  # to its end
                half.write(whole[-5:])
                assert parse(await answer.read()).status == 401
        finally:
            writer.close()
            half.close()
