"""A mistake in a call of the library is told at once, by the names of the arguments."""

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import planck
from planck import Planck, PlanckError, RunOptions, tool
from planck.testing import ScriptedProvider
from tests.library.program import make_planck, results, started

# mypy would refuse each of these; most programs are not checked.
WRONG_SETTINGS: list[Any] = [
    RunOptions(**options)
    for options in (
        {"max_steps": "3"},
        {"mode": 3},
        {"dry_run": "yes"},
        {"model": 3},
        {"name": 3},
        {"team": 3},
        {"agent": 3},
        {"effort": 3},
        {"fallback_model": 3},
        {"system_prompt": 3},
        {"append_system_prompt": 3},
        {"allowed_tools": "bash"},
        {"disallowed_tools": (3,)},
    )
]
WRONG_OPTIONS: list[dict[str, Any]] = [
    {"max_steps": "3"},
    {"max_steps": True},
    {"max_steps": 0},
    {"max_tokens": 1.5},
    {"max_budget_usd": "1"},
    {"max_budget_usd": -1},
    {"model": 3},
    {"mode": "raed-only"},
    {"mode": 3},
    {"dry_run": "yes"},
    {"tools": "bash"},
    {"tools": [len]},
    {"settings": {"mode": "ask"}},
    *({"settings": options} for options in WRONG_SETTINGS),
]
WRONG_STARTS: list[dict[str, Any]] = [
    *WRONG_OPTIONS,
    {"team": 3},
    {"name": 3},
    {"stored": "no"},
    {"id": 3},
    {"compactor": "digset"},
    *({"id": id} for id in ("../x", "a/b", "a b", "a_b", "x" * 65, "-x")),
]


@pytest.mark.parametrize("options", WRONG_STARTS)
async def test_a_wrong_option_of_a_session_is_an_error_before_there_is_one(
    tmp_path: Path, options: dict[str, Any]
) -> None:
    async with make_planck(tmp_path, []) as p:
        with pytest.raises(PlanckError) as refused:
            await p.start(**options)
        assert refused.value.err.kind == "invalid_args"
        assert list(p.archive.sessions()) == []


@pytest.mark.parametrize("options", WRONG_OPTIONS)
async def test_a_wrong_option_of_a_resume_is_an_error(tmp_path: Path, options: dict[str, Any]) -> None:
    async with make_planck(tmp_path, []) as p:
        await (await p.start(name="mine")).aclose()
        with pytest.raises(PlanckError) as refused:
            await p.resume("mine", **options)
        assert refused.value.err.kind == "invalid_args"


@pytest.mark.parametrize(
    "options",
    [
        {"approver": object()},
        {"approver": lambda question: True},
        {"providers": {"double": object()}},
        {"providers": ["double"]},
        {"providers": {"double": ScriptedProvider}},
        {"flags": {"defualt_model": "double/m"}},
        {"flags": {"limits": {"stesp": 3}}},
        {"flags": ["default_model"]},
        {"environ": "PATH"},
        {"environ": {"DEBUG": 1}},
        {"add_dirs": "other"},
        {"add_dirs": [3]},
        {"workspace": 3},
        {"home": 3},
    ],
)
def test_a_wrong_argument_of_planck_is_an_error_when_it_is_made(
    tmp_path: Path, options: dict[str, Any]
) -> None:
    with pytest.raises(PlanckError) as refused:
        Planck(**{"home": tmp_path / "home", "workspace": tmp_path, "environ": {}, **options})
    assert refused.value.err.kind == "invalid_args"


def test_a_misspelt_flag_is_named_with_the_one_that_was_meant(tmp_path: Path) -> None:
    with pytest.raises(PlanckError, match="Did you mean 'default_model'"):
        Planck(tmp_path / "home", tmp_path, environ={}, flags={"defualt_model": "x"})


@pytest.mark.parametrize("place", ["missing", "a file"])
def test_a_workspace_that_is_not_a_folder_is_an_error(tmp_path: Path, place: str) -> None:
    (tmp_path / "a file").touch()
    with pytest.raises(PlanckError) as refused:
        Planck(tmp_path / "home", tmp_path / place, environ={})
    assert refused.value.err.kind == "not_found"


async def test_a_session_id_is_used_once(tmp_path: Path) -> None:
    async with make_planck(tmp_path, ["done"]) as p:
        session = await p.start(id="order-7")
        await session.run("go")
        for stored in (True, False):
            with pytest.raises(PlanckError) as taken:
                await p.start(id="order-7", stored=stored)
            assert taken.value.err.kind == "not_unique"
    async with make_planck(tmp_path, []) as p:  # and so it is in another process
        with pytest.raises(PlanckError) as taken:
            await p.start(id="order-7")
        assert taken.value.err.kind == "not_unique"
        assert (await p.resume("order-7")).id == "order-7"


@pytest.mark.parametrize("stored", [True, False])
async def test_of_several_sessions_that_start_at_once_with_one_id_one_starts(
    tmp_path: Path, stored: bool
) -> None:
    async with make_planck(tmp_path, []) as p:
        starts = [p.start(id="order-7", stored=stored) for _ in range(4)]
        found = await asyncio.gather(*starts, return_exceptions=True)
        [session] = [one for one in found if isinstance(one, planck.OpenSession)]
        refused = [one for one in found if isinstance(one, PlanckError)]
        assert [one.err.kind for one in refused] == ["not_unique"] * 3
        await session.aclose()
        if not stored:
            assert (await p.start(id="order-7")).id == "order-7"  # none was kept


async def test_of_several_processes_that_start_one_id_at_once_one_does(tmp_path: Path) -> None:
    """Each has its own view of what is open: the folder of the sessions decides."""
    opened = [make_planck(tmp_path, []) for _ in range(4)]
    async with opened[0], opened[1], opened[2], opened[3]:
        found = await asyncio.gather(*(p.start(id="order-7") for p in opened), return_exceptions=True)
        assert sum(isinstance(one, planck.OpenSession) for one in found) == 1


def provoke_no_model(folder: Path) -> None:
    planck.run(
        "hi", home=folder / "home", workspace=folder, environ={"OLLAMA_HOST": "", "LLAMA_CPP_HOST": ""}
    )


def provoke_no_budget(folder: Path) -> None:
    planck.run("hi", home=folder / "home", workspace=folder, environ={}, model="x/y", max_budget_usd=0)


def provoke_no_steps(folder: Path) -> None:
    script: Any = [[("list_dir", {})]] * 2
    planck.run(
        "hi",
        home=folder / "home",
        workspace=folder,
        environ={},
        model="double/m",
        providers={"double": ScriptedProvider(script)},
        max_steps=1,
    ).raise_for_status()


def provoke_no_folder(folder: Path) -> None:
    (folder / "home").touch()
    planck.run(
        "hi",
        home=folder / "home",
        workspace=folder,
        environ={},
        model="double/m",
        providers={"double": ScriptedProvider([])},
    )


def provoke_a_taken_name(folder: Path) -> None:
    for _ in range(2):
        planck.run(
            "hi",
            home=folder / "home",
            workspace=folder,
            environ={},
            model="double/m",
            name="mine",
            providers={"double": ScriptedProvider(["ok"])},
        )


@pytest.mark.parametrize(
    "provoke",
    [provoke_no_model, provoke_no_budget, provoke_no_steps, provoke_no_folder, provoke_a_taken_name],
)
def test_no_error_of_the_library_speaks_of_the_command_line(
    tmp_path: Path, provoke: Callable[[Path], None]
) -> None:
    with pytest.raises(PlanckError) as refused:
        provoke(tmp_path)
    words = str(refused.value).split()
    assert [word for word in words if word.startswith("-")] == []


async def test_run_in_a_running_loop_says_what_to_use(tmp_path: Path) -> None:
    with pytest.raises(PlanckError, match=r"await planck\.run_async"):
        planck.run("hi", workspace=tmp_path)


def test_run_takes_what_planck_and_start_take(tmp_path: Path) -> None:
    import inspect

    taken = inspect.signature(planck.run).parameters
    whole = {*inspect.signature(Planck).parameters, *inspect.signature(Planck.start).parameters}
    assert whole - set(taken) <= {"self", "library", "shared", "request"}


async def test_a_misspelt_argument_is_an_error_in_the_words_of_python(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match=r"run\(\) got an unexpected keyword argument 'modle'. Did you mean"):
        planck.run("go", home=tmp_path, modle="double/m")  # type: ignore[call-overload]
    with pytest.raises(TypeError, match="unexpected keyword argument 'flgas'"):
        Planck(tmp_path, flgas={})  # type: ignore[call-arg]
    async with make_planck(tmp_path, []) as p:
        for door in (p.start, p.resume):
            with pytest.raises(TypeError, match="unexpected keyword argument 'max_step'"):
                await door("mine", max_step=3)  # type: ignore[call-arg]
        assert list(p.archive.sessions()) == []


def test_help_shows_every_argument_with_its_default() -> None:
    import pydoc

    shown = pydoc.plain(pydoc.render_doc(planck.run))
    for said in (
        "mode: ",
        "max_steps: int | None = None",
        "stored: bool = True",
        "tracer: Tracer | None = None",
    ):
        assert said in shown.replace("'", "")  # Python 3.14 shows such names without quotes
    assert "**" not in shown.partition(") ->")[0]


async def test_folders_may_come_from_a_generator(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    async with make_planck(tmp_path, [], add_dirs=(one for one in [tmp_path / "other"])) as p:
        assert (await p.start()).folders[1:] == (str(tmp_path / "other"),)


async def test_none_is_an_argument_that_was_left_out(tmp_path: Path) -> None:
    nothing: Any = dict.fromkeys(("tools", "hooks", "history", "stored", "model", "name", "id", "compactor"))
    async with make_planck(tmp_path, ["done"]) as p:
        session = await p.start(**nothing)
        assert (await session.run("go")).text == "done"
        assert len(list(p.archive.sessions())) == 1


async def test_a_sync_tool_past_its_deadline_may_still_be_running(tmp_path: Path) -> None:
    release = threading.Event()

    @tool(timeout=0.05)
    def block() -> str:
        release.wait()
        return ""

    async with started(tmp_path, [[("block", {})], "done"], tools=[block]) as session:
        await session.run("go")
        release.set()
        assert "timeout: block took longer than 0.05 s and may still be running" in results(session)[0]


@pytest.mark.parametrize("prompt", [None, 3, b"go", ["go"]])
async def test_what_is_not_a_prompt_is_an_error(tmp_path: Path, prompt: Any) -> None:
    async with started(tmp_path, []) as session:
        for ask in (session.run, session.prompt):
            with pytest.raises(PlanckError, match="must be a string or a UserMessage"):
                await ask(prompt)
        with pytest.raises(PlanckError, match="timeout must be a number of seconds"):
            await session.run("go", timeout="3")  # type: ignore[call-overload]


def test_run_takes_no_text_for_a_dry_run(tmp_path: Path) -> None:
    with pytest.raises(PlanckError, match="dry_run must be True or False"):
        planck.run("go", home=tmp_path, dry_run="yes")  # type: ignore[call-overload]


class Careless:
    def __init__(self, answer: Any) -> None:
        self.answer = answer

    async def decide(self, question: Any) -> Any:
        return self.answer


class Synchronous(Careless):
    def decide(self, question: Any) -> Any:
        return self.answer


@pytest.mark.parametrize("kind", [Careless, Synchronous])
async def test_an_approver_that_gives_no_answer_allows_nothing_and_is_told_why(
    tmp_path: Path, kind: Any
) -> None:
    script = [[("write", {"path": "a.txt", "content": "a"})], "done"]
    async with make_planck(tmp_path, script, approver=kind(True)) as p:
        session = await p.start(mode="ask")
        await session.run("go")
        assert "must be async and return an Answer, not True" in results(session)[0]
    assert not (tmp_path / "work/a.txt").exists()


def test_a_compactor_for_a_session_that_is_resumed_by_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PlanckError, match="does not take compactor"):
        planck.run("go", home=tmp_path, resume="mine", compactor="digest")
