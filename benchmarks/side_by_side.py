"""Planck beside other agents and libraries: `python -m benchmarks.side_by_side FOLDER [TREE ...]`.

FOLDER holds the peers, installed by hand: `npm install --prefix FOLDER @openai/codex opencode-ai
@mariozechner/pi-coding-agent @aaif/goose-binary-linux-x64`, and a virtual environment FOLDER/venv with
`openai-agents` and `pydantic-ai`. Each TREE is another checkout of Planck with a `.venv`: the same jobs,
before and after. One from before `benchmarks/jobs.py` needs a copy of it that fits.
"""

import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

ROUNDS = 3
PROMPT = "hi from the bench"
JOBS = {"one answer": "d1", "200 tool turns": "t200", "50,000 deltas": "d50000"}
SECONDS = 120
LIBRARY_SECONDS = 400
HERE = Path(__file__).parents[1]


@dataclass(frozen=True)
class Program:
    name: str
    command: Sequence[str]
    files: Mapping[str, str] = field(default_factory=dict)
    """Below its home; `{url}` is the model's address, with its job as the path."""
    environ: Mapping[str, str] = field(default_factory=dict)


def _planck(name: str, tree: Path) -> Program:
    provider = {"type": "openai", "base_url": "{url}/v1"}
    config = {"providers": {"here": provider}, "limits": {"steps": 1000, "messages": 1000}}
    command = (str(tree / ".venv/bin/planck"), "run", "-m", "here/m", "--permission-mode", "full")
    return Program(
        name, (*command, "--max-steps", "900", PROMPT), {".planck/config.json": json.dumps(config)}
    )


_PI_MODEL = {"baseUrl": "{url}/v1", "api": "openai-completions", "apiKey": "x", "models": [{"id": "m"}]}
_OPENCODE = {
    "permission": "allow",
    "provider": {
        "here": {
            "npm": "@ai-sdk/openai-compatible",
            "options": {"baseURL": "{url}/v1", "apiKey": "x"},
            "models": {"m": {}},
        }
    },
}
_CODEX = 'model_providers.here={name="here",base_url="{url}/v1",wire_api="responses",request_max_retries=0}'
_CODEX_FLAGS = (
    "--skip-git-repo-check",
    "--dangerously-bypass-approvals-and-sandbox",
    "-c",
    "model_provider=here",
)
PEERS = (
    Program("codex", ("codex", "exec", *_CODEX_FLAGS, "-c", _CODEX, "-m", "m", PROMPT)),
    Program(
        "goose",
        ("goose", "run", "--no-session", "--with-builtin", "developer", "-t", PROMPT),
        environ={
            "GOOSE_PROVIDER": "openai",
            "GOOSE_MODEL": "m",
            "GOOSE_MODE": "auto",
            "GOOSE_DISABLE_KEYRING": "1",
            "OPENAI_HOST": "{host}",
            "OPENAI_BASE_PATH": "{job}/v1/chat/completions",
            "OPENAI_API_KEY": "x",
        },
    ),
    Program(
        "pi",
        ("pi", "-p", "--provider", "here", "--model", "m", PROMPT),
        {".pi/agent/models.json": json.dumps({"providers": {"here": _PI_MODEL}})},
    ),
    Program(
        "opencode",
        ("opencode", "run", "-m", "here/m", PROMPT),
        {".config/opencode/opencode.json": json.dumps(_OPENCODE)},
    ),
)

# What the libraries share: a no-op tool, N turns of it, and N deltas that the program sees one by one.
_LIBRARY = """
import asyncio, json, sys, time
def spent(work):
    began, cpu = time.perf_counter(), time.process_time()
    asyncio.run(work)
    return time.perf_counter() - began, time.process_time() - cpu
url = sys.argv[1]
{body}
def show(name, value):
    print(json.dumps([name, value]), flush=True)
spent(turns(5))
show("tool turn @50, ms", spent(turns(50))[0] / 50 * 1e3)
show("delta to the program, us CPU", spent(deltas(20000))[1] / 20000 * 1e6)
show("tool turn @500, ms", spent(turns(500))[0] / 500 * 1e3)
"""
LIBRARIES = {
    "openai-agents": """
from agents import Agent, OpenAIChatCompletionsModel, Runner, function_tool, set_tracing_disabled
from openai import AsyncOpenAI
set_tracing_disabled(True)
@function_tool
def noop(n: int) -> str:
    return f"ok {n}"
async def run(job, wanted):
    client = AsyncOpenAI(base_url=f"{url}/{job}/v1", api_key="x")
    agent = Agent(name="a", tools=[noop], model=OpenAIChatCompletionsModel("m", client))
    result = Runner.run_streamed(agent, "go", max_turns=1000)
    seen = 0
    async for event in result.stream_events():
        seen += event.type == "raw_response_event"
    assert seen >= wanted, seen
def turns(count):
    return run(f"t{count}", count)
def deltas(count):
    return run(f"d{count}", count)
""",
    "pydantic-ai": """
from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.usage import UsageLimits
async def run(job, wanted):
    model = OpenAIChatModel("m", provider=OpenAIProvider(base_url=f"{url}/{job}/v1", api_key="x"))
    agent = Agent(model)
    @agent.tool_plain
    def noop(n: int) -> str:
        return f"ok {n}"
    seen = 0
    async def count(ctx, events):
        nonlocal seen
        async for event in events:
            seen += 1
    limits = UsageLimits(request_limit=None)
    await agent.run("go", usage_limits=limits, event_stream_handler=count)
    assert seen >= wanted, seen
def turns(count):
    return run(f"t{count}", count)
def deltas(count):
    return run(f"d{count}", count)
""",
}
_PLANCK = """
from benchmarks.jobs import LIMITS, NOOP, follow, open_planck
port = int(url.rpartition(":")[2])
async def run(job, wanted):
    async with open_planck(port, job, limits=LIMITS) as planck:
        session = await planck.start(model="bench/m", mode="full", max_steps=10_000)
        await session.add_tool(NOOP)
        following = asyncio.create_task(follow(session))
        await asyncio.sleep(0)
        result = await session.run("go")
        assert result.text
        assert await following >= wanted * 0.9
def turns(count):
    return run(f"t{count}", 1)
def deltas(count):
    return run(f"d{count}", count)
"""
_BARE = """
from benchmarks import bare
port = int(url.rpartition(":")[2])
async def turns(count):
    await bare.run_turns(port, count)
async def deltas(count):
    connection = await bare.connect(port)
    body = b'{"stream":true,"tools":[],"messages":[]}'
    chunks = await connection.post(f"/d{count}/v1/chat/completions", body)
    assert len(chunks) > count
    connection.transport.close()
"""


def main(folder: Path, trees: Sequence[Path]) -> None:
    ours = [_planck("planck", HERE), *(_planck(f"planck {tree.name}", tree) for tree in trees)]
    with _server() as port:
        url = f"http://127.0.0.1:{port}"
        for job, path in JOBS.items():
            _print_programs(job, _run_in_turns([*ours, *PEERS], url, path, folder))
        rows = [("bare loop", HERE, _BARE), ("planck", HERE, _PLANCK)]
        rows += [(f"planck {tree.name}", tree, _PLANCK) for tree in trees]
        print(f"\nin a program; {_say_load()}")
        figures: dict[str, list[dict[str, float | str]]] = {name: [] for name, _, _ in rows}
        for _ in range(ROUNDS):
            for name, tree, body in rows:
                figures[name].append(_run_library(tree / ".venv/bin/python", body, url, tree))
        # Minutes each: once is enough for what is a hundred times dearer.
        for name, body in LIBRARIES.items():
            figures[name] = [_run_library(folder / "venv/bin/python", body, url)]
        for name, found in figures.items():
            print(f"{name:<18}{_say_figures(found)}")
        print(_say_load())


@contextmanager
def _server() -> Iterator[int]:
    argv = [sys.executable, "-m", "benchmarks.peer_server"]
    with subprocess.Popen(argv, cwd=HERE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        try:
            yield int(process.stdout.readline())
        finally:
            process.kill()


Figures = tuple[float, float, float]
"""Seconds, seconds of CPU and MiB of a whole process, its children included but for the memory."""


def _run_in_turns(
    programs: Sequence[Program], url: str, path: str, folder: Path
) -> dict[str, list[Figures] | str]:
    """Each program once, then each again: what slows the machine down for a while slows all of them."""
    figures: dict[str, list[Figures] | str] = {program.name: [] for program in programs}
    for _ in range(ROUNDS):
        for program in programs:
            known = figures[program.name]
            if isinstance(known, str):
                continue
            try:
                known.append(_run(program, url, path, folder))
            except (OSError, RuntimeError) as problem:
                figures[program.name] = str(problem)
    return figures


def _run(program: Program, url: str, path: str, folder: Path) -> Figures:
    def filled(text: str) -> str:
        return text.replace("{url}", f"{url}/{path}").replace("{host}", url).replace("{job}", path)

    with tempfile.TemporaryDirectory() as place:
        home, work, output = Path(place, "home"), Path(place, "work"), Path(place, "output")
        work.mkdir()
        home.mkdir()
        for name, text in program.files.items():
            (home / name).parent.mkdir(parents=True, exist_ok=True)
            (home / name).write_text(filled(text))
        bins = f"{folder / 'node_modules/.bin'}:{folder / 'node_modules/@aaif/goose-binary-linux-x64/bin'}"
        environ = {"PATH": f"{bins}:{os.environ['PATH']}", "HOME": str(home), "NO_COLOR": "1"}
        # Nothing leaves this machine: every other address is behind a proxy that does not answer.
        environ |= {
            "http_proxy": "http://127.0.0.1:9",
            "https_proxy": "http://127.0.0.1:9",
            "no_proxy": "127.0.0.1",
        }
        environ |= {name: filled(value) for name, value in program.environ.items()}
        with output.open("wb") as out:
            began = time.perf_counter()
            process = subprocess.Popen(
                [filled(word) for word in program.command],
                cwd=work,
                env=environ,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
            )
            status, usage = _wait(process, began)
            spent = time.perf_counter() - began
        if status != 0 or b"word" not in output.read_bytes():
            last = output.read_text(errors="replace").strip().splitlines()[-1:]
            raise RuntimeError(f"status {status}: {' '.join(last)[:100]}")
    return spent, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def _wait(process: "subprocess.Popen[bytes]", began: float) -> tuple[int, resource.struct_rusage]:
    """Waits for the process alone, for its own figures: `wait4` counts what it has waited for itself too."""
    while True:
        pid, status, usage = os.wait4(process.pid, os.WNOHANG)
        if pid:
            process.returncode = os.waitstatus_to_exitcode(status)
            return process.returncode, usage
        if time.perf_counter() - began > SECONDS:
            process.kill()
        time.sleep(0.005)


def _print_programs(job: str, figures: Mapping[str, "list[Figures] | str"]) -> None:
    print(f"\n{job:<18}{'s':>8}{'CPU s':>8}{'MiB':>7}   {_say_load()}")
    for name, rows in figures.items():
        if isinstance(rows, str) or not rows:
            print(f"{name:<18}  failed: {rows}")
            continue
        wall, cpu, memory = (statistics.median(row[place] for row in rows) for place in range(3))
        print(f"{name:<18}{wall:>8.2f}{cpu:>8.2f}{memory:>7.0f}", flush=True)


def _run_library(python: Path, body: str, url: str, tree: Path = HERE) -> dict[str, float | str]:
    """Returns its figures, those it has until its time is up."""
    command = [str(python), "-c", _LIBRARY.format(body=body), url]
    environ = {**os.environ, "OPENAI_API_KEY": "x"}
    with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as errors:
        try:
            done = subprocess.run(
                command, cwd=tree, env=environ, stdout=output, stderr=errors, timeout=LIBRARY_SECONDS
            )
            problem = f"status {done.returncode}" if done.returncode else ""
        except subprocess.TimeoutExpired:
            problem = f"not within {LIBRARY_SECONDS} s"
        output.seek(0)
        errors.seek(0)
        figures: dict[str, float | str] = dict(json.loads(line) for line in output)
        if problem:
            figures["then"] = " ".join([problem, *errors.read().strip().splitlines()[-1:]])[:120]
    return figures


def _say_figures(found: Sequence[Mapping[str, float | str]]) -> str:
    said = []
    for name, value in found[0].items():
        values = [known for row in found if isinstance(known := row.get(name), float)]
        said.append(f"{name} {statistics.median(values):.2f}" if values else f"{name} {value}")
    return "   ".join(said)


def _say_load() -> str:
    return f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve(), [Path(tree).resolve() for tree in sys.argv[2:]])
