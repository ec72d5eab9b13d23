"""Several `planck serve` on one PostgreSQL: what is handed in is worked on once, by whoever is there."""

import asyncio
import hashlib
import json
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from planck.client import Client, ClientError
from planck.records.outcome import ErrorKind
from planck.store.postgres.roster import PostgresRoster
from planck.store.roster import Role, TokenRow
from tests.pool.nodes import Machine, hall, make_repository, until
from tests.wire import chat
from tests.wire.server import Asked, Reply, WireServer

pytestmark = pytest.mark.heavy


def said(asked: Asked) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = asked.json["messages"]
    return messages


def writes_then_says(asked: Asked) -> Reply:
    if said(asked)[-1]["role"] == "tool":
        return chat.text("it is done")
    return chat.calls(("write", {"path": "note.txt", "content": "by an agent\n"}))


async def submit(machine: Machine, repo: Path, *more: str, prompt: str = "do it") -> dict[str, Any]:
    done = await machine.planck("submit", prompt, "--repo", str(repo), "--json", *more)
    assert done.code == 0, done.err
    made: dict[str, Any] = json.loads(done.out)
    return made


async def wait_for_state(machine: Machine, id: str, *states: str) -> dict[str, Any]:
    async with machine.client() as client:

        async def look() -> dict[str, Any] | None:
            row: dict[str, Any] = await client.session(id).ask("GET")
            return row if row["state"] in states and row["node"] is None else None

        found: dict[str, Any] = await until(look, f"{id} is {states}")
        return found


async def read_log(machine: Machine, id: str) -> list[dict[str, Any]]:
    async with machine.client() as client:
        answer = await client.ask("GET", f"/sessions/{id}/events", limit=10_000)
        return [json.loads(line) for line in answer.data.splitlines()]


async def test_what_is_handed_in_is_done_and_its_files_are_on_record(tmp_path: Path, database: str) -> None:
    repo = make_repository(tmp_path / "repo")
    async with WireServer(writes_then_says) as model, hall(tmp_path, database, model.url) as nodes:
        gate = await nodes.start("gate", "--work", "0")
        await nodes.start("north", "--work", "2")
        made = await submit(gate, repo)
        assert set(made) == {"id", "name"}
        watched = await gate.planck("watch", made["id"])
        assert (watched.code, watched.out.strip()) == (0, "it is done"), watched.err
        assert "write" in watched.err
        row = await wait_for_state(gate, made["id"], "done")
        assert row["first_prompt"] == "do it"
        log = await read_log(gate, made["id"])
        (snapshot,) = [event["data"] for event in log if event["type"] == "snapshot"]
        ref = f"refs/planck/{made['id']}"
        assert snapshot["ref"] == ref
        shown = subprocess.run(
            ["git", "show", f"{ref}:note.txt"], cwd=repo, check=True, capture_output=True, text=True
        )
        assert shown.stdout == "by an agent\n"
        listed = json.loads((await gate.planck("nodes", "list", "--json")).out)
        assert [(node["name"], node["sessions"]) for node in listed] == [("gate", []), ("north", [])]


async def test_the_same_key_hands_in_one_session_and_another_text_is_refused(
    tmp_path: Path, database: str
) -> None:
    repo = make_repository(tmp_path / "repo")
    async with WireServer([chat.text("done")]) as model, hall(tmp_path, database, model.url) as nodes:
        north = await nodes.start("north")
        first = await submit(north, repo, "--key", "k1")
        again = await submit(north, repo, "--key", "k1")
        assert first == again
        other = await north.planck("submit", "something else", "--repo", str(repo), "--key", "k1")
        assert other.code != 0
        assert "not_unique" in other.err
        await wait_for_state(north, first["id"], "done")
        prompts = [
            event["data"]["text"]
            for event in await read_log(north, first["id"])
            if event["type"] == "message" and event["data"]["kind"] == "prompt"
        ]
        assert prompts == ["do it"]


def hangs_once(flag: Path) -> Callable[[Asked], Reply]:
    """The first to ask runs a command that never ends; whoever is told of a loss goes on."""

    def answer(asked: Asked) -> Reply:
        last = said(asked)[-1]
        if last["role"] == "user" and "was lost" in str(last["content"]):
            return chat.text("went on elsewhere")
        return chat.calls(("bash", {"command": f"echo started >> {flag}; sleep 600"}))

    return answer


async def test_a_node_that_dies_loses_nothing_and_another_goes_on(tmp_path: Path, database: str) -> None:
    repo, flag = make_repository(tmp_path / "repo"), tmp_path / "flag"
    async with WireServer(hangs_once(flag)) as model, hall(tmp_path, database, model.url) as nodes:
        gate = await nodes.start("gate", "--work", "0")
        one = await nodes.start("north", "--work", "4")
        made = await submit(gate, repo)
        await until(lambda: asyncio.to_thread(flag.exists), "the command runs")
        other = await nodes.start("south", "--work", "4")
        one.kill()
        row = await wait_for_state(gate, made["id"], "done")
        log = await read_log(gate, made["id"])
        assert row["head"] == log[-1]["seq"]
        assert [event["seq"] for event in log] == [*range(1, len(log) + 1)]
        assert flag.read_text() == "started\n", "no call is run twice"
        told = [
            event["data"]
            for event in log
            if event["type"] == "message" and event["data"]["origin"] == "planck"
        ]
        assert [message["id"].startswith("loss-") for message in told] == [True]
        assert "bash" in told[0]["text"]
        ends = [event["data"]["status"] for event in log if event["type"] == "turn_end"]
        assert ends == ["interrupted", "completed"]
        assert other.process.returncode is None


async def test_a_node_that_comes_back_takes_up_its_own_at_once(tmp_path: Path, database: str) -> None:
    repo, flag = make_repository(tmp_path / "repo"), tmp_path / "flag"
    config = {"cluster": {"lease_s": 600, "beat_s": 1}}
    async with WireServer(hangs_once(flag)) as model, hall(tmp_path, database, model.url, **config) as nodes:
        gate = await nodes.start("gate", "--work", "0")
        one = await nodes.start("north", "--work", "4")
        made = await submit(gate, repo)
        await until(lambda: asyncio.to_thread(flag.exists), "the command runs")
        one.kill()
        await one.process.wait()
        await nodes.start("north", "--work", "4")
        await wait_for_state(gate, made["id"], "done")  # long before the lease of ten minutes


async def test_a_question_is_answered_from_another_node(tmp_path: Path, database: str) -> None:
    repo = make_repository(tmp_path / "repo")
    config = {"permissions": {"mode": "ask"}}
    async with WireServer(writes_then_says) as model, hall(tmp_path, database, model.url, **config) as nodes:
        gate = await nodes.start("gate", "--work", "0")
        await nodes.start("north", "--work", "1")
        made = await submit(gate, repo)

        async def asked() -> Any:
            return json.loads((await gate.planck("answer", made["id"], "--json")).out)

        (question,) = await until(asked, "it asks")
        assert question["tool"] == "write"
        done = await gate.planck("answer", made["id"], "--allow", "--question", question["id"])
        assert done.code == 0, done.err
        await wait_for_state(gate, made["id"], "done")


async def test_a_prompt_for_a_session_at_rest_wakes_it_on_any_node(tmp_path: Path, database: str) -> None:
    repo = make_repository(tmp_path / "repo")
    answers = [chat.text("one"), chat.text("two")]
    async with WireServer(answers) as model, hall(tmp_path, database, model.url) as nodes:
        if True:
            gate = await nodes.start("gate", "--work", "0")
            await nodes.start("north", "--work", "1")
            made = await submit(gate, repo)
            await wait_for_state(gate, made["id"], "done")
            async with gate.client() as client:
                taken = await client.session(made["id"]).prompt("and now?", key="k2")
                again = await client.session(made["id"]).prompt("and now?", key="k2")
                assert taken["message_id"] == again["message_id"] == "k2"

                async def answered() -> Any:
                    result = await client.session(made["id"]).ask("GET", "/result", after=taken["seq"])
                    return result and result["text"] == "two"

                await until(answered, "the second answer")


async def test_a_token_may_do_what_its_role_says(tmp_path: Path, database: str) -> None:
    async with WireServer([chat.text("one")]) as model, hall(tmp_path, database, model.url) as nodes:
        north = await nodes.start("north")
        roster, digest = PostgresRoster(database), hashlib.sha256(b"fresh").hexdigest()
        await roster.start()
        async with Client(north.told["url"], "fresh") as early:
            with pytest.raises(ClientError):
                await early.ask("GET", "/nodes")
            await roster.add_token(TokenRow(digest=digest, who="late", role="view"))
            await early.ask("GET", "/nodes")  # good at once, however lately somebody asked for the tokens
        await roster.aclose()
        made = await north.planck("store", "token", "add", "ci", "--role", "view", "--store", database)
        file = tmp_path / "token"
        file.write_text(made.out.strip())
        reads = await north.planck("nodes", "list", "--server", north.told["url"], "--token-file", str(file))
        assert reads.code == 0, reads.err
        refused = await north.planck(
            "nodes", "drain", "north", "--server", north.told["url"], "--token-file", str(file)
        )
        assert refused.code == 3
        assert "permission_denied" in refused.err
        await north.planck("store", "token", "revoke", "ci", "--store", database)

        async def is_gone() -> bool:
            args = ("nodes", "list", "--server", north.told["url"], "--token-file", str(file))
            return "unauthorized" in (await north.planck(*args)).err

        await until(is_gone, "the token is good for nothing")


async def test_nobody_gets_more_rights_than_a_role_or_a_node_gives(tmp_path: Path, database: str) -> None:
    """Mode `full` asks nobody: whoever may not answer questions can't choose it, by no request."""
    repo = make_repository(tmp_path / "repo")
    async with WireServer([chat.text("one")] * 4) as model, hall(tmp_path, database, model.url) as nodes:
        north = await nodes.start("north", permissions={"mode": "ask"})
        south = await nodes.start("south", "--work", "0", node={"mode": "workspace", "accept": ["*"]})
        made = await north.planck("store", "token", "add", "ci", "--role", "submit", "--store", database)
        work = {"prompt": "x", "repo": str(repo), "mode": "workspace"}
        async with Client(north.told["url"], made.out.strip()) as guest:
            begun = (await guest.ask("POST", "/submissions", work)).data
            assert begun["mode"] == "workspace"
            for method, path, body in (
                ("POST", "/submissions", {**work, "mode": "full"}),
                ("POST", "/sessions", {"mode": "full"}),
                ("PATCH", f"/sessions/{begun['id']}", {"mode": "full"}),
            ):
                with pytest.raises(ClientError) as refused:
                    await guest.ask(method, path, body)
                assert refused.value.err.kind is ErrorKind.PERMISSION_DENIED, path
                assert "approve" in refused.value.err.message
        async with south.client() as owner:
            own = (await owner.ask("POST", "/sessions", {"mode": "full"})).data
            assert own["mode"] == "workspace"
            with pytest.raises(ClientError) as refused:
                await owner.ask("PATCH", f"/sessions/{own['id']}", {"mode": "full"})
            assert refused.value.err.kind is ErrorKind.PERMISSION_DENIED
            assert "node.mode" in refused.value.err.message


async def test_two_processes_of_one_machine_are_not_one_node(tmp_path: Path, database: str) -> None:
    async with WireServer([chat.text("one")]) as model, hall(tmp_path, database, model.url) as nodes:
        north = await nodes.start("north")
        with pytest.raises(AssertionError, match=r"not_unique|serves this workspace|writer_conflict"):
            await nodes.start("north")
        assert north.process.returncode is None
        async with north.client() as client:
            assert (await client.ask("GET", "/health")).status == 200


async def test_a_server_that_works_alone_takes_no_submissions(tmp_path: Path, database: str) -> None:
    async with WireServer([chat.text("one")]) as model, hall(tmp_path, database, model.url) as nodes:
        north = await nodes.start("north")
        async with north.client() as client:
            with pytest.raises(ClientError) as refused:
                await client.ask("POST", "/submissions", {"prompt": " ", "repo": "/x"})
            assert refused.value.err.kind is ErrorKind.NO_PROMPT
            with pytest.raises(ClientError) as refused:
                await client.ask("POST", "/submissions", {"prompt": "x", "repo": "ext::sh -c id"})
            assert refused.value.err.kind is ErrorKind.INVALID_ARGS


async def is_running_on(machine: Machine, id: str, node: str) -> None:
    async with machine.client() as client:

        async def look() -> bool:
            row = await client.session(id).ask("GET")
            return bool(row["state"] == "running" and row["node"] == node)

        await until(look, f"{id} runs on {node}")


async def test_a_node_that_is_stopped_hands_its_work_on(tmp_path: Path, database: str) -> None:
    repo, flag = make_repository(tmp_path / "repo"), tmp_path / "flag"

    def answer(asked: Asked) -> Reply:
        last = said(asked)[-1]
        if last["role"] == "user" and "was stopped" in str(last["content"]):
            return chat.text("went on elsewhere")
        return chat.calls(("bash", {"command": f"echo started >> {flag}; sleep 600"}))

    config = {"cluster": {"lease_s": 600, "beat_s": 1}}
    async with WireServer(answer) as model, hall(tmp_path, database, model.url, **config) as nodes:
        one = await nodes.start("north", "--work", "4")
        made = await submit(one, repo)
        await until(lambda: asyncio.to_thread(flag.exists), "the command runs")
        await is_running_on(one, made["id"], "north")
        other = await nodes.start("south", "--work", "4")
        one.process.terminate()
        async with asyncio.timeout(60):
            assert await one.process.wait() == 143
        await wait_for_state(other, made["id"], "done")
        assert flag.read_text() == "started\n"


async def test_a_node_that_drains_finishes_and_takes_nothing_new(tmp_path: Path, database: str) -> None:
    repo, flag, gone = make_repository(tmp_path / "repo"), tmp_path / "flag", tmp_path / "go"

    def answer(asked: Asked) -> Reply:
        if said(asked)[-1]["role"] == "tool":
            return chat.text("finished")
        wait = f"touch {flag}; until test -e {gone}; do sleep 0.1; done"
        return chat.calls(("bash", {"command": wait}))

    async with WireServer(answer) as model, hall(tmp_path, database, model.url) as nodes:
        gate = await nodes.start("gate", "--work", "0")
        await nodes.start("north", "--work", "4")
        first = await submit(gate, repo)
        await until(lambda: asyncio.to_thread(flag.exists), "the command runs")
        drained = await gate.planck("nodes", "drain", "north")
        assert drained.code == 0, drained.err

        async def drains() -> Any:
            rows = json.loads((await gate.planck("nodes", "list", "--json")).out)
            return any(row["name"] == "north" and row["draining"] for row in rows)

        await until(drains, "it drains")
        gone.touch()
        await wait_for_state(gate, first["id"], "done")
        ends = [
            event["data"]["status"]
            for event in await read_log(gate, first["id"])
            if event["type"] == "turn_end"
        ]
        assert ends == ["completed"]
        second = await submit(gate, repo, prompt="another")
        await nodes.start("south", "--work", "4")
        await wait_for_state(gate, second["id"], "done")


async def test_a_node_that_stood_still_writes_nothing_when_it_wakes(tmp_path: Path, database: str) -> None:
    repo, flag = make_repository(tmp_path / "repo"), tmp_path / "flag"
    async with WireServer(hangs_once(flag)) as model, hall(tmp_path, database, model.url) as nodes:
        gate = await nodes.start("gate", "--work", "0")
        one = await nodes.start("north", "--work", "4")
        made = await submit(gate, repo)
        await until(lambda: asyncio.to_thread(flag.exists), "the command runs")
        await nodes.start("south", "--work", "4")
        one.process.send_signal(signal.SIGSTOP)
        await wait_for_state(gate, made["id"], "done")
        before = await read_log(gate, made["id"])
        one.process.send_signal(signal.SIGCONT)

        async def lives() -> Any:
            rows = json.loads((await gate.planck("nodes", "list", "--json")).out)
            return {row["name"] for row in rows} == {"gate", "north", "south"}

        await until(lives, "it is a node again")
        assert await read_log(gate, made["id"]) == before
        assert flag.read_text() == "started\n"


async def test_a_session_of_the_servers_own_folder_works_there(tmp_path: Path, database: str) -> None:
    async with WireServer(writes_then_says) as model, hall(tmp_path, database, model.url) as nodes:
        north = await nodes.start("north")
        async with north.client() as client:
            session = await client.start(prompt="write it")

            async def done() -> Any:
                result = await session.ask("GET", "/result")
                return result and result["text"] == "it is done"

            await until(done, "the answer")
        assert (north.home / "here" / "note.txt").read_text() == "by an agent\n"


async def give_token(database: str, role: Role) -> str:
    roster, token = PostgresRoster(database), f"token of a {role}"
    await roster.start()
    try:
        digest = hashlib.sha256(token.encode()).hexdigest()
        await roster.add_token(TokenRow(digest=digest, who=f"a {role}", role=role))
    finally:
        await roster.aclose()
    return token


def write_hook(folder: Path, mark: Path) -> None:
    (folder / ".planck").mkdir(parents=True, exist_ok=True)
    hook = {"PreToolUse": [{"hooks": [{"type": "command", "command": f"touch {mark}"}]}]}
    (folder / ".planck" / "config.json").write_text(json.dumps({"hooks": hook}))


def lists_then_says(asked: Asked) -> Reply:
    if said(asked)[-1]["role"] == "tool":
        return chat.text("it is done")
    return chat.calls(("list_dir", {"path": "."}))


async def test_a_submit_token_gets_no_private_folder_and_no_hook_that_nobody_trusted(
    tmp_path: Path, database: str
) -> None:
    repo, mark = make_repository(tmp_path / "repo"), tmp_path / "mark"
    secret, own = tmp_path / "north" / ".ssh", tmp_path / "north" / "here"
    secret.mkdir(parents=True)
    write_hook(own, mark)
    write_hook(repo, mark)
    for words in (("checkout", "-q", "--detach"), ("add", "-A"), ("commit", "-qm", "theirs")):
        git = ["git", "-c", "user.name=a", "-c", "user.email=a@b", *words]
        subprocess.run(git, cwd=repo, check=True)
    subprocess.run(["git", "update-ref", "refs/pull/7/head", "HEAD"], cwd=repo, check=True)
    subprocess.run(["git", "checkout", "-q", "main"], cwd=repo, check=True)
    node = {"accept": [f"{tmp_path}/repo", f"{tmp_path}/ok/*"], "trust": [f"{tmp_path}/repo"]}
    async with (
        WireServer(lists_then_says) as model,
        hall(tmp_path, database, model.url, node=node) as nodes,
    ):
        north = await nodes.start("north")
        async with Client(north.told["url"], await give_token(database, "submit")) as client:
            private = {"prompt": "read", "repo": str(secret)}
            with pytest.raises(ClientError) as refused:
                await client.ask("POST", "/submissions", private)
            assert refused.value.err.kind is ErrorKind.PERMISSION_DENIED

            around = {"prompt": "go", "repo": f"{tmp_path}/ok/../north"}
            made = await client.ask("POST", "/submissions", around)
            row = await wait_for_state(north, made.data["id"], "failed")
            assert row["state"] == "failed"

            pull = {"prompt": "go", "repo": str(repo), "ref": "refs/pull/7/head", "mode": "read-only"}
            made = await client.ask("POST", "/submissions", pull)
            await wait_for_state(north, made.data["id"], "done")

            made = await client.ask("POST", "/sessions", {"prompt": "go", "mode": "read-only"})
            result = await client.session(made.data["id"]).ask("GET", "/result", after=0)
            assert result["text"] == "it is done"
    assert not mark.exists()
