"""An address that a model names: the user's own, a local server that answers, or a question in every mode."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from planck import Planck
from planck.http.address import canonical
from planck.records.approval import Answer, Question
from planck.records.outcome import ErrorKind, PlanckError
from planck.session.result import RunResult
from planck.testing.scripted import ScriptedProvider
from tests.wire.server import Asked, Reply, WireServer

MODES = ("read-only", "ask", "workspace", "full")


class Person:
    """Answers every question alike, and keeps them."""

    def __init__(self, *, allow: bool) -> None:
        self.asked: list[Question] = []
        self._allow = allow

    async def decide(self, question: Question) -> Answer:
        self.asked.append(question)
        return Answer(question.id, question.digest, self._allow)


def ollama(asked: Asked) -> Reply:
    """Answers as Ollama does, and would drive an agent that came to it."""
    if asked.path == "/api/tags":
        return Reply([b'{"models": [{"name": "m", "model": "m"}]}'])
    if asked.path == "/api/show":
        return Reply([b'{"model_info": {}, "capabilities": ["tools"]}'])
    said = b'{"model": "m", "message": {"role": "assistant", "content": "driven"}, "done": %s}\n'
    return Reply([said % b"false", said % b'true, "done_reason": "stop"'])


async def spawn(
    tmp_path: Path, base_url: str, *, provider: str = "ollama", person: Person | None = None, **how: Any
) -> tuple[RunResult, str, list[str]]:
    """Has an orchestrator spawn at an address and ask the worker; returns what the spawn came to, too."""
    args = {"type": "w", "name": "w", "description": "d", "system_prompt": "s", "tools": ["read"]}
    args |= {"provider": provider, "model_id": "m", "base_url": base_url}
    ask = {"identifier": "w", "identifier_type": "name", "question": "what is in secret.txt?"}
    script = ScriptedProvider([[("spawn_agent", args)], [("ask_agent", ask)], "done"])
    (tmp_path / "work").mkdir()
    flags = {key: how.pop(key, {}) for key in ("providers", "permissions")}
    planck = Planck(
        tmp_path / "home",
        tmp_path / "work",
        environ={"OLLAMA_HOST": "", "LLAMA_CPP_HOST": "", **how.pop("environ", {})},
        flags=flags,
        providers={"lead": script},
        approver=person,
    )
    async with planck:
        session = await planck.start(model="lead/m", stored=False, **how)
        async with asyncio.timeout(30):
            result = await session.run("go")
        ended, started = "", []
        async for event in session.events():
            if event.type == "tool_end" and not ended:
                ended = str(event.data["output"])
            if event.type == "agent_started":
                started.append(event.data["agent"]["model"].get("base_url", ""))
            if event.seq == session.head:
                break
        return result, ended, started


@pytest.mark.parametrize("mode", MODES)
async def test_nobody_there_to_ask_means_no_byte_leaves_in_any_mode(tmp_path: Path, mode: str) -> None:
    async with WireServer(ollama) as stranger:
        result, ended, started = await spawn(tmp_path, stranger.url, mode=mode)
    assert ended.startswith("permission_denied: ")
    assert "not the address of a configured provider" in ended
    assert started == [""]
    assert stranger.asked == []
    assert [denial["tool"] for denial in result.denials] == ["spawn_agent"]


async def test_a_dry_run_asks_nobody_and_goes_nowhere(tmp_path: Path) -> None:
    async with WireServer(ollama) as stranger:
        person = Person(allow=True)
        _, ended, started = await spawn(tmp_path, stranger.url, person=person, dry_run=True)
    assert ended.startswith("permission_denied: ")
    assert (started, stranger.asked, person.asked) == ([""], [], [])


@pytest.mark.parametrize("mode", MODES)
async def test_the_user_is_asked_and_told_where_it_goes(tmp_path: Path, mode: str) -> None:
    person = Person(allow=True)
    allowed = {"rules": [{"tool": "spawn_agent", "decision": "allow"}]}
    async with WireServer(ollama) as stranger:
        named = f"http://localhost:11434@127.0.0.1:{stranger.port}"
        _, ended, started = await spawn(tmp_path, named, person=person, mode=mode, permissions=allowed)
    (question,) = person.asked
    assert f"to http://localhost:{stranger.port}; that server then controls the agent" in question.adds
    assert question.rule == ""
    assert started == ["", named]
    assert ended.startswith("{")
    assert [asked.path for asked in stranger.asked] == ["/api/show", "/api/chat"]
    assert not any("authorization" in asked.headers for asked in stranger.asked)


async def test_a_no_is_a_denial(tmp_path: Path) -> None:
    person = Person(allow=False)
    async with WireServer(ollama) as stranger:
        _, ended, started = await spawn(tmp_path, stranger.url, person=person, mode="full")
    assert ended.startswith("permission_denied: spawn_agent was not run: the user said no")
    assert (len(person.asked), started, stranger.asked) == (1, [""], [])


async def test_a_configured_address_needs_no_question_and_is_used_as_the_user_wrote_it(
    tmp_path: Path,
) -> None:
    async with WireServer(ollama) as server:
        own = {"box": {"type": "ollama", "base_url": server.url}}
        named = f"HTTP://u:p@LocalHost.:{server.port}/v1/"
        _, ended, started = await spawn(tmp_path, named, providers=own, mode="full")
    assert ended.startswith("{")
    assert started == ["", server.url]
    assert [asked.path for asked in server.asked] == ["/api/show", "/api/chat"]


async def test_a_local_server_counts_only_while_it_answers_as_one(tmp_path: Path) -> None:
    async with WireServer(ollama) as server:
        here = {"OLLAMA_HOST": f"127.0.0.1:{server.port}"}
        (tmp_path / "a").mkdir()
        _, ended, started = await spawn(tmp_path / "a", f"http://localhost:{server.port}", environ=here)
        assert ended.startswith("{")
        assert started == ["", f"http://127.0.0.1:{server.port}"]
    async with WireServer([Reply([b"<html>a page</html>"])]) as other:
        here = {"OLLAMA_HOST": f"127.0.0.1:{other.port}"}
        (tmp_path / "b").mkdir()
        _, ended, started = await spawn(tmp_path / "b", other.url, environ=here)
        assert ended.startswith("permission_denied: ")
        assert {asked.body for asked in other.asked} == {b""}


@pytest.mark.parametrize(
    "address", ["localhost:1", "ftp://h/", "http://h\u0435re/", "http://", "http://a b/"]
)
async def test_what_is_no_address_is_refused(tmp_path: Path, address: str) -> None:
    _, ended, started = await spawn(tmp_path, address, person=Person(allow=True), mode="full")
    assert ended.startswith("invalid_args: ")
    assert started == [""]


async def test_a_redirect_is_not_followed(tmp_path: Path) -> None:
    async with WireServer(ollama) as stranger:
        away = Reply([b""], 307, {"location": f"{stranger.url}/api/chat"})
        async with WireServer(lambda asked: away if asked.path == "/api/chat" else ollama(asked)) as server:
            own = {"box": {"type": "ollama", "base_url": server.url}}
            await spawn(tmp_path, server.url, providers=own, mode="full")
        assert server.asked[-1].path == "/api/chat"
    assert stranger.asked == []


async def test_an_imported_session_takes_nobody_to_an_address_of_its_author_s(tmp_path: Path) -> None:
    args = {"type": "w", "name": "w", "description": "d", "system_prompt": "s", "provider": "ollama"}
    async with WireServer(ollama) as stranger:
        spawning = ("spawn_agent", {**args, "model_id": "m", "base_url": stranger.url})
        (tmp_path / "work").mkdir()
        file = tmp_path / "x.ndjson"
        there = open_at(tmp_path / "there", tmp_path / "work", [[spawning], "done"], Person(allow=True))
        async with there:
            session = await there.start(model="lead/m", name="fox")
            await session.run("go")
        file.write_bytes(b"".join(there.archive.events("fox")))
        asking = ("ask_agent", {"identifier": "w", "identifier_type": "name", "question": "?"})
        for home, own in (("here", {}), ("known", {"box": {"type": "ollama", "base_url": stranger.url}})):
            here = open_at(tmp_path / home, tmp_path / "work", [[asking], "done"], None, own)
            async with here:
                await here.archive.import_session(file)
                if own:
                    await (await here.resume("fox")).run("go on")
                else:
                    with pytest.raises(PlanckError) as refused:
                        await here.resume("fox")
                    assert refused.value.err.kind is ErrorKind.PERMISSION_DENIED
                    assert stranger.url in refused.value.err.message
                    assert stranger.asked == []
        assert stranger.asked[-1].path == "/api/chat"


def open_at(
    home: Path, work: Path, script: list[Any], person: Person | None, own: dict[str, Any] | None = None
) -> Planck:
    return Planck(
        home,
        work,
        environ={"OLLAMA_HOST": "", "LLAMA_CPP_HOST": ""},
        flags={"providers": own or {}},
        providers={"lead": ScriptedProvider(script)},
        approver=person,
    )


SAME = [
    ("http://localhost:11434", "http://127.0.0.1:11434/", "HTTP://LOCALHOST:11434/v1", "http://[::1]:11434"),
    ("http://[0:0:0:0:0:0:0:1]:11434", "http://[::ffff:127.0.0.1]:11434", "http://x:y@localhost.:11434/v1/"),
    ("https://h.example", "https://H.EXAMPLE:443/", "https://h.example./v1"),
    ("http://h.example", "http://h.example:80", "http://h.example:80/"),
]
OTHER = [
    ("http://localhost:11434", "http://localhost:11435"),
    ("http://localhost:11434", "https://localhost:11434"),
    ("http://localhost:11434", "http://localhost:11434@h.example"),
    ("http://localhost:11434", "http://localhost:11434.h.example"),
    ("http://localhost:11434", "http://localhost.h.example:11434"),
    ("http://localhost:11434", "http://127.0.0.2:11434"),
    ("http://localhost:11434", "http://localhost:11434/other"),
    ("http://localhost:11434", "http://localhost:11434/?to=h.example"),
    ("http://h.example/one", "http://h.example/ONE"),
    ("http://h.example/one", "http://h.example/one/../two"),
    ("http://h.example", "http://h.example:8080"),
    ("http://h.example", "http://hh.example"),
]


def test_one_server_has_one_spelling_and_another_has_another() -> None:
    for spellings in SAME:
        assert len({canonical(spelling) for spelling in spellings}) == 1, spellings
    for one, other in OTHER:
        assert canonical(one) != canonical(other), (one, other)
    assert canonical("http://localhost:11434") == canonical(SAME[1][0])
