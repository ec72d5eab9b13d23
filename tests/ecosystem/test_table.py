"""How much of what others bring is at home here: the table of docs/guides/coming-from.md, counted anew."""

import json
import re
from pathlib import Path
from typing import Any

from planck import Planck
from planck.headless import read_servers
from planck.headless.hooks.reading import read_hooks
from planck.peers.server import read_server
from planck.records.outcome import PlanckError
from tests.ecosystem import shapes

GUIDE = Path(__file__).parents[2] / "docs/guides/coming-from.md"


def write_all(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode())


def open_planck(folder: Path) -> Planck:
    (folder / "work").mkdir(exist_ok=True)
    return Planck(folder / "home", folder / "work", environ={"PATH": "/usr/bin:/bin", "HOME": str(folder)})


def count_agents(folder: Path) -> tuple[int, int]:
    write_all(folder / "work/.claude/agents", shapes.AGENTS)
    found = open_planck(folder).resources.agents()
    said = {file.name: why for file, why in found.problems.items()}
    assert {name for name, why in shapes.NO_AGENTS.items() if why in said[name]} == set(shapes.NO_AGENTS)
    assert set(said) == set(shapes.NO_AGENTS)
    return len(shapes.AGENTS), len(found.agents)


def count_commands(folder: Path) -> tuple[int, int]:
    write_all(folder / "work/.claude/commands", shapes.COMMANDS)
    found = open_planck(folder).resources.commands()
    names = {
        name.removesuffix(".md").replace("/", ":")
        for name in shapes.COMMANDS
        if name not in shapes.NO_COMMANDS
    }
    assert set(found) == names
    assert found["dollar"].expand("") == "It costs $100, or $0."
    return len(shapes.COMMANDS), len(found)


def count_servers() -> tuple[int, int]:
    taken = 0
    for number, raw in enumerate(shapes.SERVERS):
        why = find_problem(raw)
        assert bool(why) is (number in shapes.NO_SERVERS), (raw, why)
        assert shapes.NO_SERVERS.get(number, "") in why
        taken += not why
    return len(shapes.SERVERS), taken


def find_problem(raw: Any) -> str:
    try:
        for name, entry in read_servers(json.dumps(raw)).items():
            read_server(name, entry, {"TOKEN": "x"})
    except PlanckError as refused:
        return refused.err.message
    return ""


def count_hooks() -> tuple[int, int]:
    taken = 0
    for raw, wanted, why in shapes.HOOKS:
        found, problems = read_hooks(raw)
        assert sum(map(len, found.values())) == wanted, raw
        assert bool(problems) is bool(why)
        assert why in " ".join(problems)
        taken += wanted > 0
    return len(shapes.HOOKS), taken


def test_the_table_of_the_guide_is_what_is_counted(tmp_path: Path) -> None:
    counted = {
        "agents": count_agents(tmp_path),
        "commands": count_commands(tmp_path),
        "`.mcp.json`": count_servers(),
        "hook files": count_hooks(),
    }
    assert {kind: shapes_of for kind, (shapes_of, _) in counted.items()} == {
        "agents": 40,
        "commands": 20,
        "`.mcp.json`": 30,
        "hook files": 15,
    }
    rows = re.findall(r"^\| (.+?) \| (\d+) \| (\d+) \|", GUIDE.read_text(), flags=re.M)
    assert {kind: (int(files), int(load)) for kind, files, load in rows} == counted
