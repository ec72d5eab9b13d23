"""How a model is reached: the usual variables of the environment, through the command line."""

from pathlib import Path

import pytest
import trustme

from planck import Planck
from tests.command import Bench, Done
from tests.llm.raw_server import Proxy, bundle, raw_server, server_tls
from tests.wire import chat
from tests.wire.server import WireServer

OK = [chat.text("ok")]


async def run(folder: Path, url: str, **env: str) -> Done:
    folder.mkdir(exist_ok=True)
    return await Bench(folder, url).run("run", "go", "--no-session", "--output-format", "json", env=env)


@pytest.mark.parametrize("name", ["HTTP_PROXY", "http_proxy", "ALL_PROXY"])
async def test_a_model_is_reached_through_the_proxy_of_the_environment(tmp_path: Path, name: str) -> None:
    async with WireServer(OK) as proxy:
        done = await run(tmp_path, "http://model.test", **{name: proxy.url})
    assert (done.code, done.result["text"]) == (0, "ok")
    assert [asked.path for asked in proxy.asked] == ["http://model.test/v1/chat/completions"]


VARIABLES = [(scheme, name) for scheme in ("http", "https") for name in (f"{scheme}_proxy", "all_proxy")]


@pytest.mark.parametrize(
    ("scheme", "name"),
    [(scheme, case(name)) for scheme, name in VARIABLES for case in (str.lower, str.upper)],
)
async def test_a_proxy_that_cannot_be_used_names_the_variable_that_it_came_from(
    tmp_path: Path, scheme: str, name: str
) -> None:
    (tmp_path / "work").mkdir()
    models = {"local": {"type": "openai", "api": "chat", "base_url": f"{scheme}://model.test"}}
    environ = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin", name: "socks5h://me:hunter2@proxy:1080"}
    place = (tmp_path / "home", tmp_path / "work")
    async with Planck(*place, environ=environ, flags={"providers": models}) as app:
        session = await app.start(model="local/m")
        (error,) = (await session.run("go")).errors
    assert error["message"].startswith(f"Cannot use the proxy in {name}. The scheme 'socks5h'")
    assert "hunter2" not in str(error)


async def test_what_no_proxy_names_is_reached_directly(tmp_path: Path) -> None:
    async with WireServer([chat.text("proxied")]) as proxy, WireServer(OK) as server:
        here = f"http://0.0.0.0:{server.port}"  # reaches this machine, and is not one of its names
        variables = {"HTTP_PROXY": proxy.url, "NO_PROXY": "x.test, 0.0.0.0"}
        assert (await run(tmp_path / "a", here, **variables)).result["text"] == "ok"
        assert proxy.asked == []
        assert (await run(tmp_path / "b", here, HTTP_PROXY=proxy.url)).result["text"] == "proxied"


async def test_tls_goes_through_the_proxy_and_is_verified_with_the_user_s_bundle(tmp_path: Path) -> None:
    ca = trustme.CA()
    async with WireServer(OK, server_tls(ca, "model.test")) as server:
        proxy = Proxy(server.port)
        async with raw_server(proxy) as via:
            variables = {"HTTPS_PROXY": f"http://127.0.0.1:{via.port}"}
            unknown = await run(tmp_path / "a", "https://model.test", **variables)
            assert (unknown.code, server.asked) == (75, [])
            assert "certificate" in unknown.err
            known = {**variables, "SSL_CERT_FILE": bundle(ca, tmp_path)}
            done = await run(tmp_path / "b", "https://model.test", **known)
    assert (done.code, done.result["text"]) == (0, "ok")
    assert {line for line, _ in proxy.asked} == {"CONNECT model.test:443 HTTP/1.1"}


async def test_the_system_s_certificates_need_an_extra_which_is_named(tmp_path: Path) -> None:
    hidden = tmp_path / "hidden"
    hidden.mkdir()
    # By PYTHONPATH Planck itself imports nothing, but Python runs this before Planck starts.
    (hidden / "sitecustomize.py").write_text("import sys; sys.modules['truststore'] = None")
    variables = {"PLANCK_SYSTEM_CERTS": "1", "PYTHONPATH": str(hidden)}
    done = await run(tmp_path / "a", "https://127.0.0.1:9", **variables)
    assert (done.code, "pip install '.[certificates]'" in done.err) == (75, True)
