"""Event loops of others, and several of them: threads, uvloop."""

import asyncio
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import planck
from planck.testing import ScriptedProvider
from tests.library.program import make_planck
from tests.published import install_pypi

UVLOOP = """
import sys
from pathlib import Path

sys.path.append(sys.argv[1])
import uvloop

from tests.library.program import make_planck

async def main() -> None:
    script = [[("bash", {"command": "echo from a shell"})], "done"]
    async with make_planck(Path(sys.argv[2]), script) as p:
        session = await p.start(mode="full")
        seen = [event.type async for event in session.stream("go")]
        print(seen.count("tool_end"), seen[-1])

uvloop.run(main())
"""


def test_two_threads_have_each_a_planck_in_a_loop_of_its_own(tmp_path: Path) -> None:
    both = threading.Barrier(2)
    texts: dict[str, str] = {}

    async def work(name: str) -> None:
        folder = tmp_path / name
        folder.mkdir()
        script = [[("bash", {"command": f"echo {name} > {name}.txt"})], f"done in {name}"]
        async with make_planck(folder, script) as p:
            session = await p.start(mode="full")
            both.wait()
            texts[name] = (await session.run("go")).text
        assert (folder / f"work/{name}.txt").read_text() == f"{name}\n"

    threads = [threading.Thread(target=lambda name=name: asyncio.run(work(name))) for name in ("one", "two")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert texts == {"one": "done in one", "two": "done in two"}


def test_threads_run_prompts_at_once_with_the_same_home_and_workspace(tmp_path: Path) -> None:
    texts: list[str] = []

    def work(text: str) -> None:
        result = planck.run(
            "go",
            home=tmp_path / "home",
            workspace=tmp_path,
            environ={},
            providers={"double": ScriptedProvider([text])},
            model="double/m",
        )
        texts.append(result.text)

    threads = [threading.Thread(target=work, args=(str(number),)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(texts) == ["0", "1", "2", "3"]


@pytest.mark.heavy
def test_a_session_runs_in_uvloop(tmp_path: Path) -> None:
    [packages] = install_pypi("uvloop", ["uvloop==0.23.0"]).glob("lib/python*/site-packages")
    done = subprocess.run(
        [sys.executable, "-c", UVLOOP, packages, tmp_path], capture_output=True, text=True, check=False
    )
    assert done.stdout == "1 turn_end\n", done.stderr
