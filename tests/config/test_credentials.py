"""Where keys come from, where they are kept, and how they are renewed."""

import asyncio
import json
import stat
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from planck import Planck
from planck.config.keys.credentials import CredentialFile, KeyAccess, Keyring, Saved
from planck.config.schema import OAuthEntry, ProviderEntry
from planck.http.errors import AuthError
from planck.http.transport import HttpTransport
from planck.llm.authorized import Authorized
from planck.llm.dialects.table import open_provider
from planck.llm.provider import ProviderError
from planck.records.messages import AssistantMessage, Text
from planck.records.outcome import ErrorKind
from planck.records.specs import ModelSpec
from planck.toolkit.clock import SystemClock
from tests.command import Bench
from tests.wire.known import request
from tests.wire.openai_chat import OpenAIChat
from tests.wire.script import Answer, Fault, reply
from tests.wire.server import Asked, Reply, WireServer, json_reply


@pytest.fixture
async def transport() -> AsyncIterator[HttpTransport]:
    transport = HttpTransport()
    yield transport
    await transport.aclose()


def ring(home: Path, environ: dict[str, str] | None = None) -> Keyring:
    return Keyring(CredentialFile(home), environ or {}, SystemClock())


def test_the_file_is_only_its_owners_and_other_entries_stay(tmp_path: Path) -> None:
    file = CredentialFile(tmp_path / "new" / "home")
    file.put("anthropic", Saved(key="sk-1"))
    file.put("openai", Saved(key="sk-2"))
    file.put("anthropic", None)
    assert file.read() == {"openai": Saved(key="sk-2")}
    assert stat.S_IMODE(file.path.stat().st_mode) == 0o600
    assert "sk-2" not in repr(file.read())
    assert sorted(path.name for path in file.path.parent.iterdir()) == [
        "credentials.json",
        "credentials.lock",
    ]


def test_a_file_that_others_could_read_is_closed(tmp_path: Path) -> None:
    file = CredentialFile(tmp_path)
    file.put("x", Saved(key="k"))
    file.path.chmod(0o644)
    assert file.read() == {"x": Saved(key="k")}
    assert stat.S_IMODE(file.path.stat().st_mode) == 0o600


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"providers": 3}', b"\xff", b"[" * 5000])
def test_a_damaged_file_is_corrupt_auth_and_is_not_overwritten(tmp_path: Path, content: bytes) -> None:
    file = CredentialFile(tmp_path)
    file.path.write_bytes(content)
    for act in (file.read, lambda: file.put("x", Saved(key="k"))):
        with pytest.raises(AuthError) as caught:
            act()
        assert caught.value.err.kind == ErrorKind.CORRUPT_AUTH
    assert file.path.read_bytes() == content


def test_a_file_that_can_not_be_read_or_written_has_its_kind(tmp_path: Path) -> None:
    file = CredentialFile(tmp_path)
    file.path.mkdir()
    with pytest.raises(AuthError) as caught:
        file.read()
    assert caught.value.err.kind == ErrorKind.AUTH_READ_FAILED
    blocked = tmp_path / "blocked"
    blocked.write_text("a file where the home should be")
    with pytest.raises(AuthError) as caught:
        CredentialFile(blocked / "home").put("x", Saved(key="sk-secret"))
    assert caught.value.err.kind == ErrorKind.AUTH_WRITE_FAILED
    assert "sk-secret" not in str(caught.value)


def test_writers_in_several_processes_lose_no_entry(tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from planck.config.keys.credentials import *;"
        "[CredentialFile(Path(sys.argv[1])).put(f'{sys.argv[2]}-{n}', Saved(key='k')) for n in range(20)]"
    )
    running = [
        subprocess.Popen([sys.executable, "-c", program, str(tmp_path), str(number)]) for number in range(4)
    ]
    assert [process.wait(30) for process in running] == [0, 0, 0, 0]
    assert len(CredentialFile(tmp_path).read()) == 80


@pytest.mark.parametrize(
    ("entry", "environ", "source"),
    [
        (ProviderEntry("anthropic"), {"ANTHROPIC_API_KEY": "e"}, "ANTHROPIC_API_KEY"),
        (ProviderEntry("google"), {"GEMINI_API_KEY": "e"}, "GEMINI_API_KEY"),
        (ProviderEntry("google"), {"GEMINI_API_KEY": "e", "GOOGLE_API_KEY": "e"}, "GOOGLE_API_KEY"),
        (ProviderEntry("openai", identifier="nvidia"), {"NVIDIA_API_KEY": "e"}, "NVIDIA_API_KEY"),
        (ProviderEntry("openai", identifier="nvidia"), {"OPENAI_API_KEY": "e"}, "file"),
        (ProviderEntry("openai"), {}, "file"),
        (ProviderEntry("openai", withhold_key=True), {"OPENAI_API_KEY": "e"}, ""),
        (ProviderEntry("ollama"), {"OLLAMA_API_KEY": "e"}, ""),
        (ProviderEntry("llama_cpp", identifier="mine"), {"MINE_API_KEY": "e"}, "MINE_API_KEY"),
    ],
)
def test_the_environment_comes_before_the_file(
    tmp_path: Path, entry: ProviderEntry, environ: dict[str, str], source: str
) -> None:
    keys = ring(tmp_path, environ)
    keys.file.put("p", Saved(key="f"))
    assert keys.source("p", entry) == source
    endpoint, _ = keys.endpoint("p", entry, "")
    assert endpoint.key == {"": "", "file": "f"}.get(source, "e")


class Vendor:
    """A model server that takes one token at a time, and the authorization server that gives the next."""

    def __init__(self) -> None:
        self.valid = "at-0"
        self.renewals = 0
        self.refused = 0

    def __call__(self, asked: Asked) -> Reply:
        if asked.path == "/token":
            self.renewals += 1
            self.valid = f"at-{self.renewals}"
            return json_reply({"access_token": self.valid, "refresh_token": "rt", "expires_in": 3600})
        if asked.headers.get("authorization") != f"Bearer {self.valid}":
            self.refused += 1
            return reply(OpenAIChat(), Fault("auth"), asked)
        return reply(OpenAIChat(), Answer((Text(self.valid),)), asked)


def signing(server: WireServer) -> ProviderEntry:
    client = OAuthEntry("planck", f"{server.url}/device", f"{server.url}/token")
    return ProviderEntry("openai", "chat", server.url, oauth=client)


async def answer(keys: Keyring, entry: ProviderEntry, transport: HttpTransport) -> str:
    access = KeyAccess(keys, "corp", entry, transport, entry.base_url)
    model = ModelSpec("corp", "m")
    provider = Authorized(access, lambda endpoint: open_provider(endpoint, model, transport))
    items = [item async for item in provider.stream(request())]
    assert isinstance(items[-1], AssistantMessage)
    return items[-1].text


async def test_fifty_agents_that_meet_an_ended_token_renew_it_once(
    tmp_path: Path, transport: HttpTransport
) -> None:
    vendor = Vendor()
    vendor.valid = "none yet"
    keys = ring(tmp_path)
    keys.file.put("corp", Saved(access_token="at-old", refresh_token="rt-0"))
    async with WireServer(vendor) as server, asyncio.timeout(30):
        entry = signing(server)
        said = await asyncio.gather(*(answer(keys, entry, transport) for _ in range(50)))
    assert set(said) == {"at-1"}
    assert vendor.renewals == 1
    assert keys.file.read()["corp"].access_token == "at-1"


async def test_a_token_near_its_end_is_renewed_before_it_is_refused(
    tmp_path: Path, transport: HttpTransport
) -> None:
    vendor = Vendor()
    keys = ring(tmp_path)
    keys.file.put("corp", Saved(access_token="at-0", refresh_token="rt", expires="2020-01-01T00:00:00.000Z"))
    async with WireServer(vendor) as server:
        assert await answer(keys, signing(server), transport) == "at-1"
    assert (vendor.renewals, vendor.refused) == (1, 0)
    assert keys.file.read()["corp"].expires > "2026"


async def test_a_key_that_was_replaced_in_the_file_is_taken_up(
    tmp_path: Path, transport: HttpTransport
) -> None:
    vendor = Vendor()
    keys = ring(tmp_path)
    keys.file.put("corp", Saved(key="old"))
    async with WireServer(vendor) as server:
        entry = ProviderEntry("openai", "chat", server.url)
        model = ModelSpec("corp", "m")
        access = KeyAccess(keys, "corp", entry, transport, entry.base_url)
        provider = Authorized(access, lambda endpoint: open_provider(endpoint, model, transport))
        with pytest.raises(ProviderError) as caught:
            [item async for item in provider.stream(request())]
        assert caught.value.err.kind == ErrorKind.NOT_AUTHENTICATED
        keys.file.put("corp", Saved(key="at-0"))
        assert [item async for item in provider.stream(request())]


@pytest.mark.parametrize("token_reply", [json_reply({"error": "invalid_grant"}, 400), json_reply({}, 500)])
async def test_a_renewal_that_fails_ends_the_request_with_its_kind(
    tmp_path: Path, transport: HttpTransport, token_reply: Reply
) -> None:
    def script(asked: Asked) -> Reply:
        return token_reply if asked.path == "/token" else reply(OpenAIChat(), Fault("auth"), asked)

    keys = ring(tmp_path)
    keys.file.put("corp", Saved(access_token="at-secret", refresh_token="rt-secret"))
    async with WireServer(script) as server:
        with pytest.raises(ProviderError) as caught:
            await answer(keys, signing(server), transport)
    kind = ErrorKind.NOT_AUTHENTICATED if token_reply.status == 400 else ErrorKind.TOKEN_REQUEST_FAILED
    assert caught.value.err.kind == kind
    assert "secret" not in repr(caught.value) + str(caught.value.err)


async def test_a_token_goes_to_no_address_of_a_project(tmp_path: Path, transport: HttpTransport) -> None:
    keys = ring(tmp_path, {"OPENAI_API_KEY": "sk-secret"})
    keys.file.put("corp", Saved(access_token="at-secret", refresh_token="rt-secret"))
    async with WireServer([json_reply({"error": "no"}, 401)]) as server:
        theirs = ProviderEntry("openai", "chat", server.url, oauth=signing(server).oauth, withhold_key=True)
        with pytest.raises(ProviderError):
            await answer(keys, theirs, transport)
        assert [asked.path for asked in server.asked] == ["/v1/chat/completions"]
        assert "secret" not in str(server.asked)


async def test_a_project_can_not_name_the_server_that_gets_a_token(tmp_path: Path) -> None:
    async with WireServer([json_reply({}, 500)]) as server:
        oauth = {"client_id": "p", "device_url": f"{server.url}/device", "token_url": f"{server.url}/token"}
        (tmp_path / ".planck").mkdir()
        theirs = {"providers": {"anthropic": {"type": "anthropic", "oauth": oauth}}}
        (tmp_path / ".planck" / "config.json").write_text(json.dumps(theirs))
        async with Planck(tmp_path / "home", tmp_path, environ={}, trust=True) as planck:
            with pytest.raises(AuthError) as caught:
                await planck.auth.sign_in("anthropic", lambda address, code: None)
        assert caught.value.err.kind == ErrorKind.DEVICE_CODE_UNSUPPORTED
        assert server.asked == []


def auth_server(asked: Asked) -> Reply:
    if asked.path == "/device":
        code: dict[str, Any] = {"device_code": "d", "user_code": "ABCD", "verification_uri": "http://v"}
        return json_reply({**code, "interval": 0})
    return json_reply({"access_token": "at-secret", "refresh_token": "rt-secret", "expires_in": 60})


async def test_the_command_line_signs_in_shows_and_signs_out(tmp_path: Path) -> None:
    async with WireServer(auth_server) as server:
        oauth = {"client_id": "p", "device_url": f"{server.url}/device", "token_url": f"{server.url}/token"}
        corp = {"type": "openai", "base_url": server.url, "oauth": oauth}
        bench = Bench(tmp_path, server.url, providers={"corp": corp})
        signed = await bench.run("auth", "login", "corp")
        stored = await bench.run("auth", "login", "anthropic", stdin=b"sk-typed-secret\n")
        shown = await bench.run("auth", "status", "--json")
        gone = await bench.run("auth", "logout", "corp")
        after = await bench.run("auth", "status", "--json")
    assert (signed.code, stored.code, gone.code) == (0, 0, 0)
    assert "http://v" in signed.err
    assert "ABCD" in signed.err
    sources = {row["provider"]: row["source"] for row in json.loads(shown.out)["providers"]}
    assert sources == {"anthropic": "file", "openai": "", "google": "", "corp": "sign-in"}
    assert json.loads(after.out)["providers"][3]["authenticated"] is False
    everything = "".join(done.out + done.err for done in (signed, stored, shown, gone, after))
    assert "secret" not in everything


@pytest.mark.parametrize(
    ("args", "stdin", "kind", "code"),
    [
        (("login", "nobody"), b"k", "error: Unknown provider: nobody. ", 2),
        (("login",), b"k", "invalid_args", 2),
        (("login", "anthropic"), b"", "invalid_args", 2),
        (("login", "anthropic"), b"two words\n", "invalid_args", 2),
        (("login", "anthropic", "--device"), b"", "device_code_unsupported", 1),
    ],
)
async def test_a_sign_in_that_can_not_be_says_why(
    tmp_path: Path, args: tuple[str, ...], stdin: bytes, kind: str, code: int
) -> None:
    done = await Bench(tmp_path, "http://127.0.0.1:9").run("auth", *args, stdin=stdin)
    assert done.code == code
    assert kind in done.err
    assert done.out == ""
