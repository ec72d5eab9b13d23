"""Skills, judged by `agentskills` (PyPI's skills-ref): what Planck loads is what the standard calls valid."""

import re
import subprocess
from itertools import product
from pathlib import Path

import pytest

from planck.context.skills import SearchFolder, discover

pytestmark = [pytest.mark.heavy, pytest.mark.standards]
WAIT = 300

NAMES = {
    "pdf": True,
    "pdf-forms-2": True,
    "überprüfung": True,
    "a" * 64: True,
    "a" * 65: False,
    "Pdf": False,
    "pdf_forms": False,
    "-pdf": False,
    "pdf-": False,
    "pdf--forms": False,
    "pdf forms": False,
}
DESCRIPTIONS = {"Fill PDF forms.": True, "d" * 1024: True, "d" * 1025: False, '""': False}
FIELDS = ("", "license: MIT", "metadata:\n  author: crew", "allowed-tools: Bash(ls:*) Read")
VALIDATE = """
import sys
from pathlib import Path
from skills_ref.validator import validate
for name in sys.argv[1:]:
    print(name, *validate(Path(name)), sep="\\t")
"""


def validate(folders: list[Path], env: dict[str, str]) -> dict[str, list[str]]:
    argv = ["python", "-c", VALIDATE, *map(str, folders)]
    done = subprocess.run(argv, env=env, capture_output=True, text=True, timeout=WAIT, check=True)
    rows = [line.split("\t") for line in done.stdout.splitlines()]
    return {row[0]: row[1:] for row in rows}


def put(place: Path, name: str, description: str, more: str = "") -> Path:
    folder = place / name
    folder.mkdir(parents=True)
    fields = [f"name: {name}", f"description: {description}", *([more] if more else [])]
    (folder / "SKILL.md").write_text("---\n" + "\n".join(fields) + "\n---\n\nDo it so.\n")
    return folder


def test_every_valid_skill_is_loaded_with_what_it_says(pypi_env: dict[str, str], tmp_path: Path) -> None:
    made = {}
    for number, (name, description, more) in enumerate(product(NAMES, DESCRIPTIONS, FIELDS)):
        made[put(tmp_path / str(number), name, description, more)] = NAMES[name] and DESCRIPTIONS[description]
    judged = validate([*made], pypi_env)
    valid = {folder for folder in made if not judged[str(folder)]}
    assert valid == {folder for folder, good in made.items() if good}
    for folder in valid:
        (skill,) = discover([SearchFolder(folder.parent, "project")]).skills.values()
        text = (folder / "SKILL.md").read_text()
        described = re.search("^description: (.*)$", text, re.M)
        assert described is not None
        assert (skill.name, skill.description) == (folder.name, described[1])
    print(f"{len(valid)} of {len(valid)} valid skills are loaded; {len(made) - len(valid)} are not valid")


def test_published_skills_that_are_valid_are_loaded(
    pypi_env: dict[str, str], npm_bin: Path, pypi_bin: Path
) -> None:
    roots = (npm_bin.parent, pypi_bin.parent / "lib")
    folders = [file.parent for root in roots for file in sorted(root.rglob("SKILL.md"))]
    judged = validate(folders, pypi_env)
    valid = [folder for folder in folders if not judged[str(folder)]]
    assert len(valid) > 10
    for folder in valid:
        assert folder.name in discover([SearchFolder(folder.parent, "project")]).skills
    print(f"{len(valid)} published skills are valid, and are loaded")


def test_the_skills_in_our_guides_are_valid(pypi_env: dict[str, str], tmp_path: Path) -> None:
    guides = Path(__file__).parents[2] / "docs"
    found = [
        text
        for guide in guides.rglob("*.md")
        for text in re.findall(r"^```.*SKILL\.md\n(---\n.*?)^```$", guide.read_text(), re.S | re.M)
    ]
    folders = []
    for text in found:
        named = re.search("^name: *(.*)$", text, re.M)
        assert named is not None
        folder = tmp_path / named[1].strip()
        folder.mkdir()
        (folder / "SKILL.md").write_text(text)
        folders.append(folder)
    assert found
    assert not [problem for problems in validate(folders, pypi_env).values() for problem in problems]
