"""Skills as agents meet them: the system prompt, `load_skill`, `list_skills`, and the command line."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from planck import Err, Planck
from planck.context import frontmatter
from planck.context.skill_tools import make_skill_tools
from planck.context.skills import SearchFolder, Skill, describe_skills, discover
from planck.toolkit.tool import ToolContext
from tests.command import Bench
from tests.wire import chat
from tests.wire.server import WireServer


def put(folder: Path, name: str, text: str = "Do it so.", description: str = "What it is for.") -> Path:
    path = folder / name / "SKILL.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"---\nname: {name}\ndescription: {description}\n---\n\n{text}\n")
    return path


class Shelf:
    def __init__(self, skills: Mapping[str, Skill]) -> None:
        self._skills = skills

    def skills_for(self, agent_id: str) -> Mapping[str, Skill]:
        return self._skills


async def load(folder: Path, scope: Any = "home", within: Path | None = None, **args: str) -> Any:
    catalog = discover([SearchFolder(folder, scope, within)])
    (tool, _) = make_skill_tools(Shelf(catalog.skills))
    found: Any = tool.execute(args, ToolContext("s", "a", "c", folder))
    outcome = await found
    return outcome if isinstance(outcome, Err) else outcome.value["output"]


def test_the_prompt_names_skills_and_holds_back_their_text(tmp_path: Path) -> None:
    put(tmp_path, "pdf", "The secret of forms.", "Fill PDF forms.")
    text = describe_skills(list(discover([SearchFolder(tmp_path, "project")]).skills.values()))
    assert "- pdf (project): Fill PDF forms." in text
    assert "secret" not in text


async def test_nothing_in_a_skill_is_invisible(tmp_path: Path) -> None:
    """E19: neither in what the prompt says of it, nor in its text, nor in its files."""
    path = put(tmp_path, "pdf", "a\u200bb\x1b[2J", "Fill\u202e forms\U000e0041.")
    (path.parent / "more.md").write_text("c\u2066d")
    shown = describe_skills(list(discover([SearchFolder(tmp_path, "project")]).skills.values()))
    shown += await load(tmp_path, name="pdf") + await load(tmp_path, name="pdf", resource="more.md")
    for text in ("Fill\\u202e forms\\U000e0041.", "a\\u200bb\\x1b[2J", "c\\u2066d"):
        assert text in shown


async def test_loading_gives_the_text_and_the_names_of_the_files(tmp_path: Path) -> None:
    put(tmp_path, "pdf", "The secret of forms.")
    (tmp_path / "pdf" / "scripts").mkdir()
    (tmp_path / "pdf" / "scripts" / "fill.py").write_text("print(1)\n")
    text = await load(tmp_path, name="pdf")
    assert text.startswith("The secret of forms.")
    assert "- scripts/fill.py" in text
    assert "SKILL.md" not in text
    assert await load(tmp_path, name="pdf", resource="scripts/fill.py") == "print(1)\n"


@pytest.mark.parametrize(
    ("resource", "kind"),
    [
        ("gone.md", "resource_missing"),
        ("../other/SKILL.md", "outside_workspace"),
        ("/etc/passwd", "outside_workspace"),
        ("~/x", "outside_workspace"),
        ("link", "outside_workspace"),
        ("scripts", "read_failed"),
    ],
)
async def test_a_resource_never_leaves_the_skill(tmp_path: Path, resource: str, kind: str) -> None:
    put(tmp_path, "one")
    put(tmp_path, "other")
    (tmp_path / "one" / "scripts").mkdir()
    (tmp_path / "one" / "link").symlink_to("/etc/passwd")
    outcome = await load(tmp_path, name="one", resource=resource)
    assert (outcome.kind, outcome.ok) == (kind, False)


async def test_an_unknown_skill_gets_a_near_name(tmp_path: Path) -> None:
    put(tmp_path, "release-notes")
    outcome = await load(tmp_path, name="release-note")
    assert outcome.kind == "not_found"
    assert "'release-notes'" in outcome.message


async def test_a_projects_skill_may_not_be_a_link_out_of_it(tmp_path: Path) -> None:
    outside = put(tmp_path / "outside", "evil").parent
    project = tmp_path / "project"
    (project / "skills").mkdir(parents=True)
    (project / "skills" / "evil").symlink_to(outside)
    assert discover([SearchFolder(project / "skills", "project", project)]).skills == {}
    assert "evil" in discover([SearchFolder(project / "skills", "home")]).skills


def test_the_first_place_wins_and_the_others_are_shown(tmp_path: Path) -> None:
    put(tmp_path / "a", "same", description="first")
    put(tmp_path / "b", "same", description="second")
    catalog = discover([SearchFolder(tmp_path / "a", "project"), SearchFolder(tmp_path / "b", "home")])
    assert catalog.skills["same"].description == "first"
    assert [skill.description for skill in catalog.shadowed] == ["second"]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("no head", "no front matter"),
        ("---\nname: x\n---\nbody", "no `description`"),
        ("---\nname: ../x\ndescription: d\n---\n", "is not a skill name"),
        ("---\nname: x\ndescription: d\n", "no front matter"),
    ],
)
def test_a_file_that_is_no_skill_is_a_problem_and_not_a_failure(
    tmp_path: Path, text: str, problem: str
) -> None:
    path = put(tmp_path, "x")
    path.write_text(text)
    catalog = discover([SearchFolder(tmp_path, "home")])
    assert catalog.skills == {}
    assert problem in catalog.problems[0]


@pytest.mark.parametrize(
    ("head", "description"),
    [
        ("description: plain text", "plain text"),
        ("description: 'it''s quoted'", "it's quoted"),
        ('description: "a \\"b\\": c"', 'a "b": c'),
        ("description: Use when: the user says so", "Use when: the user says so"),
        ("description: >\n  folded\n  lines\n\n  and more", "folded lines\nand more"),
        ("description: |\n  kept\n  lines", "kept\nlines"),
        ("description: plain\n  goes on", "plain goes on"),
        ("description: x # a comment", "x"),
        ("description: C#-code", "C#-code"),
    ],
)
def test_heads_as_people_write_them(head: str, description: str) -> None:
    text = f"---\nname: x\n{head}\nmetadata:\n  author: me\nallowed-tools:\n  - Read\n  - Bash\n---\nbody"
    parsed = frontmatter.split(text)
    assert parsed is not None
    fields, body = parsed
    assert (fields["description"], body) == (description, "body")
    assert (fields["metadata"], fields["allowed-tools"]) == ({"author": "me"}, ["Read", "Bash"])


def test_all_places_of_the_contract_in_their_order(tmp_path: Path) -> None:
    work, home, user = tmp_path / "work", tmp_path / "home", tmp_path / "user"
    folders = [
        *(work / name / "skills" for name in (".planck", ".agents", ".claude")),
        home / "skills",
        *(user / name / "skills" for name in (".agents", ".claude")),
    ]
    for number, folder in enumerate(folders):
        put(folder, "same", description=str(number))
        put(folder, f"own-{number}")
    catalog = Planck(home, work, environ={"HOME": str(user)}).resources.skills()
    assert sorted(catalog.skills) == [*(f"own-{n}" for n in range(6)), "same"]
    assert [skill.scope for name, skill in sorted(catalog.skills.items()) if name != "same"] == [
        *("project",) * 3,
        *("home",) * 3,
    ]
    assert catalog.skills["same"].description == "0"
    assert [skill.description for skill in catalog.shadowed] == ["1", "2", "3", "4", "5"]


async def test_an_agent_sees_its_instructions_and_skills_anew_at_every_turn(tmp_path: Path) -> None:
    async with WireServer([chat.text("one"), chat.text("two"), chat.text("three")]) as server:
        bench = Bench(tmp_path, server.url)
        (bench.work / "AGENTS.md").write_text("Rule one.\n")
        async with Planck(bench.home, bench.work, environ={"HOME": str(tmp_path / "nobody")}) as planck:
            session = await planck.start()
            await session.run("a")
            (bench.work / "AGENTS.md").write_text("Rule two, longer.\n")
            put(bench.work / ".agents" / "skills", "fresh", description="New here.")
            await session.run("b")
            settings = json.loads((bench.home / "config.json").read_text())
            (bench.home / "config.json").write_text(json.dumps({**settings, "agents_md": "off"}))
            await session.run("c")
    systems = [asked.json["messages"][0]["content"] for asked in server.asked]
    path = bench.work / "AGENTS.md"
    base, _, rest = systems[0].partition("\n\n# Project instructions ")
    assert base.startswith("# You\nYou are ")
    assert rest == f"({path})\n\nRule one."
    assert systems[1].startswith(
        f"{base}\n\n# Project instructions ({path})\n\nRule two, longer.\n\nSkills: "
    )
    assert systems[1].endswith("\n- fresh (project): New here.")
    assert systems[2].startswith(f"{base}\n\nSkills: ")


async def test_a_config_that_became_wrong_leaves_the_last_good_one(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with WireServer([chat.text("one"), chat.text("two")]) as server:
        bench = Bench(tmp_path, server.url)
        async with Planck(bench.home, bench.work, environ={}) as planck:
            session = await planck.start()
            await session.run("a")
            (bench.home / "config.json").write_text("{broken")
            result = await session.run("b")
            assert (result.text, planck.config.default_model) == ("two", "local/m")
            assert "not valid JSON" in caplog.text


async def test_a_model_loads_a_skill_and_shows_its_plan(tmp_path: Path) -> None:
    steps = [{"text": "read", "status": "completed"}, {"text": "write", "status": "in_progress"}]
    script = [
        chat.calls(("load_skill", {"name": "pdf"}), ("list_skills", {}), ("update_plan", {"steps": steps})),
        chat.text("done"),
    ]
    async with WireServer(script) as server:
        bench = Bench(tmp_path, server.url)
        put(bench.work / ".planck" / "skills", "pdf", "The secret of forms.")
        done = await bench.run("run", "go")
    assert done.code == 0
    loaded, listed, plan = [m["content"] for m in server.asked[1].json["messages"] if m["role"] == "tool"]
    assert loaded.startswith("The secret of forms.")
    assert [row["name"] for row in json.loads(listed)] == ["pdf"]
    assert plan == "[x] read\n[>] write"


async def test_the_command_line_lists_scope_and_shadowing_and_shows_a_skill(tmp_path: Path) -> None:
    bench = Bench(tmp_path, "http://127.0.0.1:9")
    put(bench.work / ".planck" / "skills", "same", "The text.", "mine")
    put(bench.home / "skills", "same", description="yours")
    (put(bench.home / "skills", "bad")).write_text("nothing")
    env = {"HOME": str(tmp_path / "nobody")}
    listed = await bench.run("skills", "list", "--json", env=env)
    found = json.loads(listed.out)
    assert [(row["scope"], row["shadowed"]) for row in found["skills"]] == [
        ("project", False),
        ("home", True),
    ]
    assert len(found["problems"]) == 1
    shown = await bench.run("skills", "show", "same", env=env)
    assert shown.out.startswith("The text.")
    assert (await bench.run("skills", "show", "none", env=env)).code == 2
    assert "(shadowed)" in (await bench.run("skills", "list", env=env)).out


def test_a_skill_with_a_display_name_is_loaded_by_its_folder(tmp_path: Path) -> None:
    put(tmp_path, "pdf-forms").write_text("---\nname: PDF & Forms!\ndescription: d\n---\n")
    assert list(discover([SearchFolder(tmp_path, "home")]).skills) == ["pdf-forms"]


def test_a_list_that_takes_more_than_a_fiftieth_of_the_window_names_them_alone(tmp_path: Path) -> None:
    for number in range(40):
        put(tmp_path, f"skill-{number}").write_text(
            f"---\nname: skill-{number}\ndescription: {'d' * 900}\n---\n"
        )
    found = list(discover([SearchFolder(tmp_path, "home")]).skills.values())
    roomy, small = describe_skills(found, 1_000_000), describe_skills(found, 128_000)
    assert "ddd" in roomy
    assert "ddd" not in small
    assert all(skill.name in small for skill in found)
    assert len(small.encode()) < 1_000
