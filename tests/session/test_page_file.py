"""A session as one file: the same log gives the same bytes, and what is hidden, cut or changed shows."""

import base64
import json
import re
from pathlib import Path
from random import Random
from typing import Any

import pytest

from planck import Planck
from planck.records.outcome import PlanckError
from planck.testing import ScriptedProvider
from planck.testing.scripted import Say, Scripted
from tests.session.made_log import make_log

HOSTILE = "</script><script>alert(1)</script><!--<script>\u2028\u2029]]>&lt;"
OUTPUT, ARGUMENT, ADDED = "the-output-marker", "the-argument-marker", "the-diff-marker"
KEY = "sk-test-0123456789abcdef"
SCRIPT: list[Scripted] = [
    Say(
        text=f"I look at notes/secret_plan.txt. {HOSTILE}",
        calls=[
            ("bash", {"command": f"echo {OUTPUT[:4]}''{OUTPUT[4:]} {KEY} # {ARGUMENT}"}),
            ("write", {"path": "notes/secret_plan.txt", "content": f"{ADDED}\n{'x' * 9000}\n"}),
            ("edit", {"path": "notes/secret_plan.txt", "old_string": ADDED, "new_string": f"{ADDED}-2"}),
        ],
    ),
    f"Done: secret_plan.txt is written. {HOSTILE}",
]


def open_planck(folder: Path, **environ: str) -> Planck:
    config = {
        "default_model": "offline/m",
        "providers": {"vendor": {"type": "openai", "base_url": "http://127.0.0.1:9", "identifier": "VENDOR"}},
    }
    (folder / "home").mkdir(exist_ok=True)
    (folder / "work").mkdir(exist_ok=True)
    (folder / "home/config.json").write_text(json.dumps(config))
    provider = ScriptedProvider([*SCRIPT, "again"])
    return Planck(
        folder / "home",
        folder / "work",
        environ=environ,
        providers={"offline": provider},
        flags={"permissions": {"mode": "full"}},
    )


@pytest.fixture
async def stored(tmp_path: Path) -> tuple[Planck, str]:
    async with open_planck(tmp_path) as planck:
        session = await planck.start(name="first-one")
        await session.run(f"Write it. {HOSTILE}")
    return open_planck(tmp_path), session.id


def read_block(page: bytes, id: str) -> Any:
    found = re.search(rf'<script type="application/json" id="{id}">(.*?)</script>'.encode(), page, re.S)
    assert found
    return json.loads(found[1])


async def test_the_same_log_gives_the_same_bytes_with_all_its_events_and_its_hash(
    stored: tuple[Planck, str], tmp_path: Path
) -> None:
    planck, id = stored
    page = planck.export_page("first-one")
    assert page == open_planck(tmp_path).export_page(id)
    events = [json.loads(line) for line in planck.archive.events(id)]
    trailer = events[-1]["data"]
    facts = read_block(page, "planck-session")
    assert (facts["id"], facts["hash"], facts["events"]) == (id, trailer["hash"], trailer["events"])
    assert trailer["hash"].encode() in page.partition(b"<script")[0]
    shown = read_block(page, "planck-events")
    assert [e["seq"] for e in shown] == [*range(1, trailer["events"] + 1)]
    prompts = [e["data"]["text"] for e in shown if e["type"] == "message"]
    assert prompts == [f"Write it. {HOSTILE}"]
    assert (facts["left_out"], facts["shortened"] > 0) == (0, True)  # 9,000 characters are not all shown


async def test_no_text_of_a_session_leaves_its_place_in_the_document(stored: tuple[Planck, str]) -> None:
    page = stored[0].export_page(stored[1])
    assert b"alert(1)" in page
    assert b"<script>alert" not in page
    for element in re.findall(rb'<script type="application/json"[^>]*>(.*?)</script>', page, re.S):
        assert b"<" not in element
        assert "\u2028" not in element.decode()
        assert "\u2029" not in element.decode()
    policy = re.search(rb'http-equiv="Content-Security-Policy" content="([^"]+)"', page)
    assert policy
    assert policy[1].startswith(b"default-src 'none'; script-src 'sha256-")
    assert b"unsafe" not in policy[1]
    assert len(re.findall(rb"<script(?! type=.application/json)", page)) == 1


@pytest.mark.parametrize(
    ("hide", "gone", "left"),
    [
        ("outputs", [OUTPUT], [ARGUMENT, ADDED, "secret_plan"]),
        ("args", [ARGUMENT, ADDED], [OUTPUT, "secret_plan"]),
        ("diffs", [ADDED], [OUTPUT, ARGUMENT, "secret_plan"]),
        ("paths", ["secret_plan", "/work", "/home"], [OUTPUT, ARGUMENT, ADDED]),
        ("outputs,args,diffs,paths", [OUTPUT, ARGUMENT, ADDED, "secret_plan", "/work"], ["I look at"]),
    ],
)
async def test_what_is_hidden_is_nowhere_in_the_file(
    stored: tuple[Planck, str], hide: str, gone: list[str], left: list[str]
) -> None:
    page = stored[0].export_page(stored[1], hide=hide.split(",")).decode()
    data = page.partition('id="planck-session"')[2].partition("<script>")[0]
    assert [word for word in gone if word in data] == []
    assert [word for word in left if word not in data] == []
    about = page.partition("Hidden by the owner: ")[2]
    assert about.startswith(", ".join(hide.split(",")))


async def test_events_and_fields_that_nobody_knows_are_not_shown_where_something_is_hidden(
    tmp_path: Path,
) -> None:
    planck = open_planck(tmp_path)
    end = {"id": "c", "name": "bash", "ok": True, "output": "", "duration_ms": 1, "later": "a-later-marker"}
    facts = [
        ("session_started", {"id": "x", "name": "x"}),
        ("later", {"what": "a-later-marker"}),
        ("tool_end", end),
    ]
    make_log(tmp_path / "home/sessions", tmp_path / "work", facts)
    assert b"a-later-marker" in planck.export_page("made")
    hidden = planck.export_page("made", hide=["outputs"])
    assert b"a-later-marker" not in hidden
    assert [event["type"] for event in read_block(hidden, "planck-events")] == [type for type, _ in facts]


async def test_a_key_that_is_known_is_not_in_it_whenever_it_became_known(
    stored: tuple[Planck, str], tmp_path: Path
) -> None:
    planck, id = stored
    assert KEY.encode() in planck.export_page(id)
    knowing = open_planck(tmp_path, VENDOR_API_KEY=KEY)
    assert KEY.encode() not in knowing.export_page(id)
    with pytest.raises(PlanckError, match="without --with-log"):
        knowing.export_page(id, with_log=True)


async def test_a_file_that_hides_something_never_has_the_log(stored: tuple[Planck, str]) -> None:
    for hide in ("outputs", "args", "diffs", "paths"):
        with pytest.raises(PlanckError, match="invalid_args"):
            stored[0].export_page(stored[1], hide=[hide], with_log=True)
    with pytest.raises(PlanckError, match="Cannot hide"):
        stored[0].export_page(stored[1], hide=["words"])


async def test_a_file_is_proven_by_the_stored_session_also_when_that_went_on(
    stored: tuple[Planck, str], tmp_path: Path
) -> None:
    planck, id = stored
    file = tmp_path / "page.html"
    for hide in ((), ("paths", "outputs")):
        file.write_bytes(planck.export_page(id, hide=hide))
        assert planck.verify_page(file).by == ("session",)
    async with open_planck(tmp_path) as again:
        session = await again.resume(id)
        await session.run("and now?")
        await session.rename("another")
    proof = open_planck(tmp_path).verify_page(file)
    assert (proof.id, proof.name, proof.by) == (id, "first-one", ("session",))


async def test_a_file_with_its_log_is_proven_where_the_session_is_not_stored(
    stored: tuple[Planck, str], tmp_path: Path
) -> None:
    planck, id = stored
    file = tmp_path / "page.html"
    file.write_bytes(planck.export_page(id, with_log=True))
    assert planck.verify_page(file).by == ("log", "session")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    assert open_planck(elsewhere).verify_page(file).by == ("log",)
    file.write_bytes(planck.export_page(id))
    with pytest.raises(PlanckError, match="This file cannot be verified"):
        open_planck(elsewhere).verify_page(file)


async def test_no_byte_of_a_file_can_be_changed(
    stored: tuple[Planck, str], tmp_path: Path, seed: int
) -> None:
    planck, id = stored
    file, random = tmp_path / "page.html", Random(seed)
    for with_log in (False, True):
        page = planck.export_page(id, with_log=with_log)
        marks = [
            page.index(b'id="planck-session"'),
            page.index(b'id="planck-events"'),
            page.index(b'"hash":'),
        ]
        places = [0, len(page) - 2, *(at + 30 for at in marks), *random.sample(range(len(page)), 40)]
        for at in places:
            file.write_bytes(page[:at] + bytes([page[at] ^ 1]) + page[at + 1 :])
            with pytest.raises(PlanckError):
                planck.verify_page(file)
        for changed in (page[:-1], page + b" ", b"", page.replace(b"Write it.", b"Erase it.")):
            file.write_bytes(changed)
            with pytest.raises(PlanckError):
                planck.verify_page(file)


async def test_another_log_in_a_file_does_not_prove_it(stored: tuple[Planck, str], tmp_path: Path) -> None:
    """What the file shows was changed, and its log with it; the chain in it adds up to another hash."""
    planck, id = stored
    file = tmp_path / "page.html"
    async with open_planck(tmp_path) as other:
        session = await other.start(name="second")
        await session.run("something else")
    mine, theirs = (planck.export_page(one, with_log=True) for one in (id, session.id))
    log = re.compile(rb'(id="planck-log">)([^<]*)')
    swapped = log.search(theirs)
    assert swapped
    file.write_bytes(log.sub(rb"\g<1>" + swapped[2], mine))
    with pytest.raises(PlanckError, match="not verified"):
        planck.verify_page(file)
    bomb = base64.b64encode(b"\x1f\x8b" + bytes(100))
    file.write_bytes(log.sub(rb"\g<1>" + bomb, mine))
    with pytest.raises(PlanckError, match="unpacked"):
        planck.verify_page(file)


async def test_a_file_keeps_to_its_size_and_says_what_it_left_out(tmp_path: Path) -> None:
    """The newest events stay, and what names agents; a file that can't hold even a few is refused."""
    answers = [Say(text=f"step {n} " + "long " * 400, calls=[("list_dir", {})]) for n in range(60)]
    planck = open_planck(tmp_path)
    planck = Planck(
        tmp_path / "home",
        tmp_path / "work",
        environ={},
        providers={"offline": ScriptedProvider([*answers, "end"])},
    )
    async with planck:
        session = await planck.start(name="long")
        await session.run("go")
    whole = planck.export_page(session.id)
    shell = len(whole) - len(json.dumps(read_block(whole, "planck-events")))
    small = (shell + (60 << 10)) / (1 << 20)
    page = planck.export_page(session.id, max_mb=small)
    assert len(page) <= small * (1 << 20) < len(whole)
    facts, events = read_block(page, "planck-session"), read_block(page, "planck-events")
    assert facts["left_out"] > 0
    assert f"Older events left out to limit the size of the file: {facts['left_out']:,}.".encode() in page
    assert len(events) + facts["left_out"] == facts["events"]
    assert {"session_started", "agent_started"} <= {event["type"] for event in events}
    assert events[-1]["seq"] == facts["events"]
    assert any("characters omitted" in json.dumps(event, ensure_ascii=False) for event in events)
    file = tmp_path / "page.html"
    file.write_bytes(page)
    assert planck.verify_page(file).by == ("session",)
    with pytest.raises(PlanckError, match="--max-mb"):
        planck.export_page(session.id, max_mb=0.001)
