"""Hooks as people wrote them for Claude Code: its names, keys and decisions, and no guard fails open."""

import json
from pathlib import Path
from typing import Any

import pytest

from planck import Planck
from planck.records.approval import Answer, Question
from planck.testing.scripted import ScriptedProvider
from tests.teams import facts

GUARD = """import json, sys
data = json.load(sys.stdin)
name, given = data["tool_name"], data["tool_input"]
if name not in ("Bash", "Read", "Edit", "MultiEdit", "Write"):
    sys.exit(0)
if name == "Bash" and "rm -rf" in given["command"]:
    print("rm -rf is not for you", file=sys.stderr)
    sys.exit(2)
if given.get("file_path", "").endswith("/.env"):
    print(json.dumps({"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "deny",
                                             "permissionDecisionReason": "secrets stay here"}}))
"""
"""In the shape of the examples of its documentation."""


class Person:
    def __init__(self, allow: bool) -> None:
        self.asked: list[Question] = []
        self._allow = allow

    async def decide(self, question: Question) -> Answer:
        self.asked.append(question)
        return Answer(question.id, question.digest, self._allow)


class Place:
    """A workspace, and sessions in it whose agent calls as scripted."""

    def __init__(self, folder: Path, person: Person | None = None) -> None:
        self.work = folder / "work"
        self.work.mkdir(parents=True)
        self._folder = folder
        self._person = person

    def write_guard(self) -> str:
        (self._folder / "guard.py").write_text(GUARD)
        return f"python3 {self._folder}/guard.py"

    async def call(self, hooks: dict[str, Any], *calls: tuple[str, Any], mode: str = "full") -> list[Any]:
        """What came of each call: `ok`, or the kind of its error."""
        script = ScriptedProvider([*([call] for call in calls), "done"])
        async with Planck(
            self._folder / "home",
            self.work,
            environ={"PATH": "/usr/bin:/bin", "HOME": str(self._folder)},
            flags={"hooks": hooks},
            approver=self._person,
            providers={"double": script},
        ) as app:
            session = await app.start(model="double/m", mode=mode)
            await session.run("go")
            self.log = await facts(session)
            self.notices = app.notices
        self.ends = [data for type, data in self.log if type == "tool_end"]
        return [end["error"]["kind"] if end.get("error") else "ok" for end in self.ends]


def on(event: str, command: str, matcher: str = "") -> dict[str, Any]:
    return {event: [{"matcher": matcher, "hooks": [{"type": "command", "command": command}]}]}


CALLS: list[tuple[tuple[str, Any], str]] = [
    (("bash", {"command": "rm -rf /tmp/nothing-here"}), "permission_denied"),
    (("bash", {"command": "echo fine"}), "ok"),
    (("read", {"path": ".env"}), "permission_denied"),
    (("write", {"path": "sub/.env", "content": "x"}), "permission_denied"),
    (("edit", {"path": ".env", "old_string": "a", "new_string": "b"}), "permission_denied"),
    (("write", {"path": "fine.txt", "content": "x"}), "ok"),
]


@pytest.mark.parametrize(
    "matcher",
    [
        "",
        "*",
        "Bash|Read|Edit|MultiEdit|Write",
        "bash|read|edit|write",
        "Bash(rm:*)|Read(.env)|MultiEdit|Write",
        "Bash, Read, Edit, Write",
        "^(Bash|Read|.*Edit|Write)$",
        "Bas|Rea|NotebookE|rit",
        "[",
    ],
)
async def test_a_guard_in_claudes_shape_blocks_whatever_its_matcher_calls_the_tools(
    tmp_path: Path, matcher: str
) -> None:
    place = Place(tmp_path)
    (place.work / ".env").write_text("a")
    wanted = [ended for _, ended in CALLS]
    if matcher.startswith("Bas|"):  # plain names are whole names, as there
        wanted = ["ok", "ok", "ok", "ok", "ok", "ok"]
    assert (
        await place.call(on("PreToolUse", place.write_guard(), matcher), *(call for call, _ in CALLS))
        == wanted
    )
    if wanted[0] != "ok":
        assert "rm -rf is not for you" in place.ends[0]["output"]
        assert "secrets stay here" in place.ends[2]["output"]
    if matcher == "[":
        assert any("so it matches every tool" in notice for notice in place.notices)


@pytest.mark.parametrize(
    ("event", "entry", "said"),
    [
        ("PreToolUse", {"matcher": None}, ""),
        ("PreToolUse", {"matcher": ["Bash", "Read", "Edit", "Write"]}, ""),
        ("PreToolUse", {"matcher": {"tools": ["Bash"]}}, "is not a string, so it matches every tool"),
        ("preToolUse", {}, ""),
        ("pre_tool_use", {}, ""),
        ("PreToolUse", {"timeout": 60_000}, "; using 600"),
        ("PreToolUse", {"timeout": "soon"}, "; using 60"),
        ("PreToolUse", {"if": "Bash(rm *)"}, "`if` is ignored"),
        ("PreToolUse", {"sibling": {"type": "prompt", "prompt": "fine?"}}, "type 'prompt' is not supported"),
        ("PreToolUse", {"sibling": 7}, "hooks: 7: "),
        ("PreToolUse", {"args": ["${CLAUDE_PROJECT_DIR}/guard.py", "a b"]}, ""),
    ],
)
async def test_no_guard_is_left_out_because_of_what_stands_beside_it(
    tmp_path: Path, event: str, entry: dict[str, Any], said: str
) -> None:
    place = Place(tmp_path)
    (place.work / ".env").write_text("a")
    guard = {"type": "command", "command": place.write_guard()}
    guard |= {key: entry[key] for key in ("timeout", "if") if key in entry}
    if "args" in entry:
        (place.work / "guard.py").write_text(GUARD)
        guard |= {"command": "python3", "args": entry["args"]}
    beside = [entry["sibling"]] if "sibling" in entry else []
    matcher = {"matcher": entry["matcher"]} if "matcher" in entry else {}
    hooks = {event: [{**matcher, "hooks": [*beside, guard]}]}
    assert await place.call(hooks, *(call for call, _ in CALLS)) == [ended for _, ended in CALLS]
    assert said in " ".join(notice for notice in place.notices if notice.startswith("hooks: "))


async def test_a_guard_of_another_name_for_a_tool_is_told_that_name_and_its_keys(tmp_path: Path) -> None:
    place = Place(tmp_path)
    (place.work / "a.ipynb").write_text("a")
    hooks = on("PreToolUse", f"cat > {tmp_path}/seen.json", "MultiEdit|NotebookEdit")
    edit = {"path": "a.ipynb", "old_string": "a", "new_string": "b"}
    assert await place.call(hooks, ("edit", edit)) == ["ok"]
    seen = json.loads((tmp_path / "seen.json").read_text())
    assert (seen["tool_name"], seen["tool"]) == ("MultiEdit", "edit")
    assert seen["tool_input"]["edits"] == [{"old_string": "a", "new_string": "b"}]
    assert seen["tool_input"]["notebook_path"] == str(place.work / "a.ipynb")


async def test_a_decision_that_is_too_long_to_be_read_is_no_yes(tmp_path: Path) -> None:
    place = Place(tmp_path)
    long = "import json; print(json.dumps({'decision': 'block', 'reason': 'x' * 200_000}))"
    hooks = on("PreToolUse", f'python3 -c "{long}"')
    assert await place.call(hooks, ("bash", {"command": "true"})) == ["permission_denied"]
    assert "more than 64 KiB" in place.ends[0]["output"]


async def test_a_hook_is_told_both_names_the_mode_and_where_the_log_is(tmp_path: Path) -> None:
    place = Place(tmp_path)
    hooks = on("PreToolUse", f"cat > {tmp_path}/seen.json")
    await place.call(hooks, ("write", {"path": "a.txt", "content": "x"}))
    seen = json.loads((tmp_path / "seen.json").read_text())
    assert (seen["tool_name"], seen["tool"], seen["permission_mode"], seen["mode"]) == (
        "Write",
        "write",
        "bypassPermissions",
        "full",
    )
    assert seen["tool_input"] == {"path": "a.txt", "content": "x", "file_path": str(place.work / "a.txt")}
    assert Path(seen["transcript_path"]).name.startswith(seen["session_id"])
    assert Path(seen["transcript_path"]).exists()


def say(**specific: Any) -> str:
    return f"echo '{json.dumps({'hookSpecificOutput': specific})}'"


@pytest.mark.parametrize("key", ["path", "file_path"])
async def test_a_hook_changes_the_arguments_and_log_and_model_are_told(tmp_path: Path, key: str) -> None:
    place = Place(tmp_path)
    script = (
        "import json, sys; given = json.load(sys.stdin)['tool_input']; "
        f"given['{key}'] = '{place.work}/other.txt'; "
        "print(json.dumps({'hookSpecificOutput': {'updatedInput': given}}))"
    )
    hooks = on("PreToolUse", f'python3 -c "{script}"')
    assert await place.call(hooks, ("write", {"path": "a.txt", "content": "x"})) == ["ok"]
    assert sorted(path.name for path in place.work.iterdir()) == ["other.txt"]
    assert "Hook: a hook changed the arguments to {" in place.ends[0]["output"]


REWRITES: list[tuple[tuple[str, Any], dict[str, Any], dict[str, Any]]] = [
    (("bash", {"command": "true"}), {"command": "exit 3"}, {"command": "exit 3"}),
    (("read", {"path": "a", "limit": 1}), {"path": "b"}, {"path": "b"}),
    (
        ("write", {"path": "a", "content": "x"}),
        {"file_path": "b", "content": "y" * 9_000},
        {"path": "b", "content": "y" * 9_000},
    ),
]


@pytest.mark.parametrize(("call", "updated", "ran"), REWRITES)
async def test_a_hook_after_a_call_is_told_the_arguments_that_ran(
    tmp_path: Path, call: tuple[str, Any], updated: dict[str, Any], ran: dict[str, Any]
) -> None:
    """The next call of the same step, which nobody changed, keeps its own."""
    place = Place(tmp_path)
    (place.work / "b").write_text("b")
    (tmp_path / "new.json").write_text(json.dumps({"hookSpecificOutput": {"updatedInput": updated}}))
    plain = ("glob", {"pattern": "*"})
    kept = {"type": "command", "command": f"cat >> {tmp_path}/seen; echo >> {tmp_path}/seen"}
    hooks = {
        **on("PreToolUse", f"cat {tmp_path}/new.json", call[0]),
        **{event: [{"hooks": [kept]}] for event in ("PostToolUse", "PostToolUseFailure")},
    }
    await place.call(hooks, call, plain)
    seen = [json.loads(line) for line in (tmp_path / "seen").read_text().splitlines() if line]
    ours = [
        {key: one["tool_input"][key] for key in (*call[1], *ran) if key in one["tool_input"]} for one in seen
    ]
    assert (ours[:-1], seen[-1]["tool_input"]) == ([ran] * (len(seen) - 1), plain[1])


async def test_changed_arguments_are_validated_judged_and_guarded_like_the_models_own(tmp_path: Path) -> None:
    place = Place(tmp_path)
    wrong = on("PreToolUse", say(updatedInput={"command": 7}))
    assert await place.call(wrong, ("bash", {"command": "true"})) == ["invalid_args"]
    outside = on("PreToolUse", say(updatedInput={"path": "/etc/passwd2", "content": "x"}))
    assert await place.call(outside, ("write", {"path": "a", "content": "x"}), mode="workspace") == [
        "outside_workspace"
    ]
    entry = {"type": "command", "command": place.write_guard()}
    changer = {"type": "command", "command": say(updatedInput={"command": "rm -rf x"})}
    for order in ([entry, changer], [changer, entry]):
        hooks = {"PreToolUse": [{"matcher": "Bash", "hooks": order}]}
        assert await place.call(hooks, ("bash", {"command": "true"})) == ["permission_denied"]
    two = {"PreToolUse": [{"hooks": [changer, {**changer, "command": say(updatedInput={"command": "ls"})}]}]}
    assert await place.call(two, ("bash", {"command": "true"})) == ["permission_denied"]


@pytest.mark.parametrize(
    ("person", "ended"), [(True, "ok"), (False, "permission_denied"), (None, "permission_denied")]
)
async def test_ask_is_a_question_to_the_user_even_in_mode_full(
    tmp_path: Path, person: bool | None, ended: str
) -> None:
    somebody = None if person is None else Person(person)
    place = Place(tmp_path, somebody)
    hooks = on("PreToolUse", say(permissionDecision="ask", permissionDecisionReason="is it wise?"))
    assert await place.call(hooks, ("bash", {"command": "touch ran"})) == [ended]
    assert (place.work / "ran").exists() is (ended == "ok")
    if somebody is not None:
        assert ["is it wise?" in question.reason for question in somebody.asked] == [True]


async def test_a_failed_call_and_the_end_of_a_session_have_their_events(tmp_path: Path) -> None:
    place = Place(tmp_path)
    hooks = on("PostToolUseFailure", "echo look at the log >&2; exit 2", "Bash") | on(
        "SessionEnd", f"cat > {tmp_path}/end.json"
    )
    assert await place.call(hooks, ("bash", {"command": "exit 3"}), ("bash", {"command": "true"})) == [
        "ok",
        "ok",
    ]
    assert [end["output"].endswith("Hook: look at the log") for end in place.ends] == [True, False]
    assert json.loads((tmp_path / "end.json").read_text())["hook_event_name"] == "SessionEnd"


async def test_an_event_of_others_is_known_elsewhere_and_a_typo_is_a_typo(tmp_path: Path) -> None:
    place = Place(tmp_path)
    await place.call(on("TeammateIdle", "true") | on("PreToolUze", "true"), ("bash", {"command": "true"}))
    told = [notice for notice in place.notices if notice.startswith("hooks: ")]
    assert told[0] == "hooks: TeammateIdle is not supported, so its hooks do not run"
    assert "Did you mean 'PreToolUse'?" in told[1]
