"""A submission that waits for a node: whoever follows it sees all of it, however late it begins."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.pool.nodes import Machine, hall, make_repository, until
from tests.pool.test_pool import submit, wait_for_state
from tests.wire import chat
from tests.wire.server import WireServer

pytestmark = pytest.mark.heavy


class Follower:
    """One request for the events of a session, read to its end."""

    def __init__(self, machine: Machine, id: str) -> None:
        self.text = ""
        self.ended = False
        self._task = asyncio.ensure_future(self._follow(machine, id))

    async def _follow(self, machine: Machine, id: str) -> None:
        async with machine.client() as client:
            headers = {"accept": "text/event-stream"}
            response = await client.send("GET", f"/sessions/{id}/events", headers)
            try:
                async for chunk in response.chunks():
                    self.text += chunk.decode()
            finally:
                self.ended = True
                await response.aclose()

    async def sees(self, what: str) -> None:
        async def look() -> bool:
            assert not self.ended or what in self.text, f"the stream ended: {self.text[-300:]!r}"
            return what in self.text

        await until(look, f"the stream has {what!r}")

    async def close(self) -> None:
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)


async def read_why(machine: Machine, id: str) -> list[str]:
    async with machine.client() as client:
        lines: list[str] = (await client.session(id).ask("GET", "/why"))["lines"]
        return lines


def wait_line(name: str) -> str:
    return f'{name} waits for a node that has room. Run "planck nodes list".'


async def test_the_stream_of_a_queued_submission_goes_on_until_its_work_has_run(
    tmp_path: Path, database: str
) -> None:
    repo = make_repository(tmp_path / "repo")
    async with WireServer([chat.text("it is done")]) as model, hall(tmp_path, database, model.url) as nodes:
        gate = await nodes.start("gate", "--work", "0")
        made = await submit(gate, repo)
        assert await read_why(gate, made["id"]) == [wait_line(made["name"])]
        follower, gone = Follower(gate, made["id"]), Follower(gate, made["id"])
        try:
            await follower.sees("event: live")
            await gone.sees("event: live")
            await gone.close()
            await nodes.start("north", "--work", "1")
            await wait_for_state(gate, made["id"], "done")
            await follower.sees('"type":"turn_end"')
            assert follower.text.count('"type":"session_started"') == 1
            assert not follower.ended
            last: list[Any] = [machine.process for machine in nodes.machines]
            for process in last:
                process.terminate()
            for process in last:
                await asyncio.wait_for(process.wait(), 60)  # a stream that waits holds up no stop
        finally:
            await follower.close()


async def test_a_prompt_that_is_queued_again_says_what_it_waits_for_and_is_followed(
    tmp_path: Path, database: str
) -> None:
    repo, answers = make_repository(tmp_path / "repo"), [chat.text("it is done"), chat.text("that too")]
    async with WireServer(answers) as model, hall(tmp_path, database, model.url) as nodes:
        gate = await nodes.start("gate", "--work", "0")
        north = await nodes.start("north", "--work", "1")
        made = await submit(gate, repo)
        await wait_for_state(gate, made["id"], "done")
        north.process.terminate()
        await north.process.wait()
        follower = Follower(gate, made["id"])
        try:
            await follower.sees("event: live")
            async with gate.client() as client:
                said = await client.session(made["id"]).prompt("and another thing")
                assert await read_why(gate, made["id"]) == [wait_line(made["name"])]
                asking = asyncio.ensure_future(
                    client.session(made["id"]).ask("GET", "/result", after=said["seq"])
                )
                await nodes.start("south", "--work", "1")
                assert (await asking)["text"] == "that too"
            await follower.sees("that too")
            assert not follower.ended
        finally:
            await follower.close()
