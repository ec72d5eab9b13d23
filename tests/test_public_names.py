"""What a program may import from `planck`, and what that costs."""

import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import planck

NAMES = [
    *["Tool", "tool", "ToolContext", "Ok", "Err", "ErrorKind", "error", "truncate", "from_file", "load_all"],
    *["Sidecar", "Planck", "PlanckError", "worker_tools", "orchestrator_tools"],
    *["RunOptions", "RunResult", "SessionEvent", "UserMessage", "Mode", "Approver", "Question", "Answer"],
]


def test_every_name_of_the_contract_can_be_imported() -> None:
    for name in NAMES:
        assert getattr(planck, name) is not None
    assert set(NAMES) <= set(planck.__all__) & set(dir(planck))


def test_every_name_is_what_its_home_calls_by_that_name() -> None:
    assert [getattr(planck, name).__name__ for name in NAMES] == NAMES


def test_import_planck_loads_nothing_else_of_it() -> None:
    loaded = _loaded("import planck")
    assert loaded == {"planck"}


def test_a_tool_author_loads_neither_a_store_nor_a_provider_nor_a_frontend() -> None:
    packages = {
        name.split(".")[1] for name in _loaded("from planck import Tool, tool, truncate, Ok") if "." in name
    }
    assert packages <= {"records", "toolkit", "own_code"}


@pytest.mark.parametrize(
    ("identifier", "identifier_type", "kind"),
    [("bob", "name", "not_found"), ("", "name", "invalid_args"), ("bob", "role", "invalid_args")],
)
async def test_team_tools_that_are_called_outside_of_a_team_say_what_is_wrong(
    identifier: str, identifier_type: str, kind: str
) -> None:
    ctx = planck.ToolContext(session_id="s", agent_id="a", call_id="c", workspace=Path.cwd())
    target = {"identifier": identifier, "identifier_type": identifier_type, "question": "?", "task": "?"}
    tools = [*planck.worker_tools("t", None), *planck.orchestrator_tools("s", "t", [])]
    for tool in (tool for tool in tools if "identifier" in tool.parameters["properties"]):
        outcome = tool.execute(target, ctx)
        assert inspect.isawaitable(outcome)
        outcome = await outcome
        assert isinstance(outcome, planck.Err), tool.name
        assert outcome.kind == kind, tool.name


def test_an_unknown_name_is_an_attribute_error() -> None:
    assert not hasattr(planck, "nonsense")


def _loaded(code: str) -> set[str]:
    program = f"{code}\nimport sys\nprint(*(name for name in sys.modules if name.split('.')[0] == 'planck'))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


@pytest.mark.parametrize(
    "way", ["from planck.cli.main import main; sys.exit(main(['run', 'x']))", "import planck; planck.Planck"]
)
def test_on_windows_one_line_says_where_planck_runs(way: str) -> None:
    program = f"import sys; sys.platform = 'win32'; {way}"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert (
        done.stderr.strip()
        .splitlines()[-1]
        .removesuffix(" [session_start_failed]")
        .endswith("On Windows, install it inside WSL 2.")
    )
