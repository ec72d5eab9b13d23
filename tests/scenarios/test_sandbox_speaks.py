"""The sandbox says that it was the reason; an agent asks for more, and mode `ask` tries before it asks."""

import asyncio
import json
import os
import shlex
import shutil
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from planck import Planck
from planck.records.approval import Answer, Question, Scope
from planck.records.authority import Right
from planck.testing.scripted import ScriptedProvider
from planck.workspace.process.containment import sandbox_program
from tests.command import until
from tests.teams import facts

pytestmark = [
    pytest.mark.skipif(sandbox_program() is None, reason="bubblewrap is not installed"),
]
COMMIT = "git commit -q --allow-empty -m one"


class Person:
    """Says yes for as long as it was told, or no; remembers what it was asked."""

    def __init__(self, scope: Scope | None = Scope.ONCE) -> None:
        self.asked: list[Question] = []
        self._scope = scope

    async def decide(self, question: Question) -> Answer:
        self.asked.append(question)
        if self._scope is None:
            return Answer(question.id, question.digest, False, reason="not today")
        return Answer(question.id, question.digest, True, self._scope)


class Run:
    """A session of one agent that calls bash as scripted; what came of it."""

    def __init__(self, folder: Path, person: Person | None = None, **flags: Any) -> None:
        self.work = folder / "work"
        self.work.mkdir()
        self._folder = folder
        self._person = person
        self._flags = flags
        self.ends: list[dict[str, Any]] = []
        self.log: list[tuple[str, dict[str, Any]]] = []

    def make_repository(self) -> None:
        for words in (["init", "-q"], ["config", "user.name", "u"], ["config", "user.email", "u@localhost"]):
            subprocess.run(["git", *words], cwd=self.work, check=True)

    def count_commits(self) -> int:
        done = subprocess.run(["git", "rev-list", "--all", "--count"], cwd=self.work, capture_output=True)
        return int(done.stdout)

    async def bash(self, mode: str, *calls: dict[str, Any], tool: str = "bash", **options: Any) -> str:
        script = ScriptedProvider([*([(tool, call)] for call in calls), "done"])
        async with Planck(
            self._folder / "home",
            self.work,
            environ={"PATH": "/usr/bin:/bin", "HOME": str(self._folder)},
            flags=self._flags,
            approver=self._person,
            providers={"double": script},
        ) as app:
            session = await app.start(model="double/m", mode=mode, **options)
            result = await session.run("go")
            self.log = await facts(session)
        assert result.text == "done"
        self.ends = [data for type, data in self.log if type == "tool_end"]
        return str(self.ends[-1]["output"])

    def count(self, type: str) -> int:
        return sum(one == type for one, _ in self.log)


async def test_a_commit_in_workspace_mode_by_escalation(tmp_path: Path) -> None:
    person = Person()
    run = Run(tmp_path, person)
    run.make_repository()
    output = await run.bash(
        "workspace",
        {"command": COMMIT},
        {"command": COMMIT, "escalate": "the user\nwants it \x1b[2Kcommitted"},
        {"command": COMMIT},
    )
    first, second, third = run.ends
    said = '[sandbox: .git is read-only here; to ask for permission, pass "escalate"]'
    assert first["output"].splitlines()[-2:] == [said, f"[exit code {first['exit_code']}]"]
    assert (second["ok"], third["ok"]) == (True, False), "a yes is for that call alone"
    assert said in output
    assert run.count_commits() == 1
    (question,) = person.asked
    assert question.text == COMMIT
    assert question.reason.endswith('than the sandbox gives: "the user wants it committed"')
    assert "outside the sandbox" in question.adds
    only = f"bash {COMMIT} (outside the sandbox)"
    assert (question.rule, question.wider) == (only, "bash git commit * (outside the sandbox)"), (
        "what may be remembered is that command, or all commits: no word of theirs names a program"
    )


async def test_an_escalation_that_nobody_can_answer_is_denied_and_the_turn_goes_on(tmp_path: Path) -> None:
    run = Run(tmp_path)
    run.make_repository()
    await run.bash("workspace", {"command": COMMIT, "escalate": "to commit"})
    assert run.ends[0]["error"]["kind"] == "permission_denied"
    assert "nobody can be asked" in run.ends[0]["error"]["message"]
    assert run.count_commits() == 0


@pytest.mark.parametrize(
    ("mode", "flags"),
    [
        ("read-only", {}),
        ("workspace", {"permissions": {"rules": [{"tool": "bash", "command": "touch", "decision": "deny"}]}}),
    ],
)
async def test_what_the_mode_or_a_rule_denies_is_not_asked_about(
    tmp_path: Path, mode: str, flags: dict[str, Any]
) -> None:
    person = Person()
    run = Run(tmp_path, person, **flags)
    await run.bash(mode, {"command": "touch x", "escalate": "please"})
    assert run.ends[0]["error"]["kind"] == "permission_denied"
    assert person.asked == []
    assert not (run.work / "x").exists()


async def test_an_escalation_in_a_dry_run_or_in_full_asks_nobody(tmp_path: Path) -> None:
    person = Person()
    run = Run(tmp_path, person)
    planned = await run.bash("workspace", {"command": "touch x", "escalate": "please"}, dry_run=True)
    assert planned == "Would ask for more permissions, then run in '.': touch x"
    await run.bash(
        "full", {"command": "touch y", "escalate": "please"}, {"command": "touch z", "escalate": " "}
    )
    assert [end["ok"] for end in run.ends] == [True, True]
    assert person.asked == []


async def test_a_session_wide_yes_is_for_that_very_command(tmp_path: Path) -> None:
    person = Person(Scope.SESSION)
    run = Run(tmp_path, person)
    outside = tmp_path / "outside"
    wish = {"command": f"touch {outside}", "escalate": "why not"}
    await run.bash("workspace", wish, wish, {**wish, "command": f"touch {outside} {outside}"})
    assert [question.text for question in person.asked] == [
        f"touch {outside}",
        f"touch {outside} {outside}",
    ]


async def test_an_allowed_but_confined_command_asks_for_more(tmp_path: Path) -> None:
    person = Person()
    rules = [{"tool": "bash", "command": "touch", "decision": "allow"}]
    run = Run(tmp_path, person, permissions={"rules": rules})
    await run.bash(
        "ask", {"command": "touch in"}, {"command": f"touch {tmp_path}/out", "escalate": "it is there"}
    )
    assert [question.text for question in person.asked] == [f"touch {tmp_path}/out"]
    assert (run.work / "in").exists()
    assert (tmp_path / "out").exists()


async def test_ask_tries_a_command_and_asks_for_what_the_sandbox_refuses(tmp_path: Path) -> None:
    person = Person()
    run = Run(tmp_path, person)
    (run.work / "seen").touch()
    await run.bash("ask", {"command": "ls"}, {"command": "false"}, {"command": "touch x && echo made"})
    assert [end["output"] for end in run.ends] == ["seen\n", "[no output]\n[exit code 1]", "made\n"]
    (question,) = person.asked
    assert question.text == "touch x && echo made"
    assert "a trial run in the read-only sandbox" in question.reason
    assert "Read-only file system" in question.reason
    assert (run.work / "x").exists()
    assert (run.count("tool_start"), run.count("tool_end")) == (3, 3)


WRITE, NETWORK, OUTSIDE = Right.WRITE, Right.NETWORK, Right.OUTSIDE
EVERYTHING = (WRITE, NETWORK, OUTSIDE)
PORT = "http://127.0.0.1:9"
NEEDED: dict[tuple[Right, ...], list[str]] = {
    (WRITE,): [
        "touch new", "echo a >> f", "mkdir made", "rm f", "mv f g", "cp f g", "chmod +x f", "sed -i s/a/b/ f",
        "tee g < f", "ln -s f g", "python3 -c \"open('g','w')\"", "git init -q sub", "cd sub && touch y",
        "cd sub && echo a > ../f", "tar cf x.tar f", "echo x: Read-only file system; false", "mkfifo pipe",
    ],
    (NETWORK,): [
        f"python3 -c \"import urllib.request as u; u.urlopen('{PORT}')\"", f"curl {PORT}", f"curl -s {PORT}",
        f"git ls-remote {PORT}/x", "echo Could not resolve host: x; false", "exec 3<>/dev/tcp/127.0.0.1/9",
    ],
    (WRITE, NETWORK): [f"curl -o x {PORT}", f"wget {PORT}", f"curl {PORT}; touch new", f"git clone {PORT}/x"],
    EVERYTHING: [
        "touch /usr/x", "touch ../x", "touch ~/x", "touch .git/x", "git add f", "git stash -q",
        "mkdir .planck",
        "git checkout -q -b x", "git config user.name y", "git commit -qm x --allow-empty", "touch .mcp.json",
        "python3 -c \"import socket; socket.socket(socket.AF_UNIX)\"", "touch f; touch /usr/x",
        f"git fetch {PORT}/x", "cat /etc/shadow",
    ],
    (): ["false", "ls nothing", "grep -q zzz f", "test -f nothing && git stash", "cat f", "true",
    "echo denied; false"],
}  # fmt: skip
"""By the rights that a question names: commands that the first try refuses."""


@pytest.mark.parametrize("rights", NEEDED, ids=lambda rights: "+".join(rights) or "nothing")
async def test_a_question_names_the_rights_that_the_command_lacked_and_no_other(
    tmp_path: Path, rights: tuple[Right, ...]
) -> None:
    person = Person(None)
    run = Run(tmp_path, person)
    run.make_repository()
    (run.work / "sub").mkdir()
    (run.work / "f").write_text("a\n")
    subprocess.run(["git", "add", "f"], cwd=run.work, check=True)
    subprocess.run(["git", "commit", "-qm", "1"], cwd=run.work, check=True)
    (run.work / "f").write_text("b\n")
    out = tmp_path / "out"
    out.mkdir()
    commands = [
        one.format(out=out) for one in NEEDED[rights] if shutil.which(one.split()[0]) or "/dev" in one
    ]
    await run.bash("ask", *({"command": command} for command in commands))
    asked = {question.text: question.rights for question in person.asked}
    assert asked == (dict.fromkeys(commands, rights) if rights else {})


@pytest.mark.parametrize("rights", [(WRITE,), (NETWORK,), (WRITE, NETWORK), EVERYTHING], ids="+".join)
async def test_a_yes_gives_a_command_the_rights_in_the_question_and_no_other(
    tmp_path: Path, rights: tuple[Right, ...]
) -> None:
    """The command says why it fails as it likes, and then tries everything."""
    lacks = {WRITE: "touch in", NETWORK: "exec 3<>/dev/tcp/127.0.0.1/{port}", OUTSIDE: "touch {out}"}
    says = "; ".join(f"( {lacks[right]} ) || bad=1" for right in rights)
    tries = "; ".join(f"( {lack} ) 2>/dev/null && echo may-{right}" for right, lack in lacks.items())
    with socket.create_server(("127.0.0.1", 0)) as server:
        command = f"{says}; {tries}; exit $bad".format(port=server.getsockname()[1], out=tmp_path / "out")
        person = Person()
        run = Run(tmp_path, person)
        await run.bash("ask", {"command": command})
    (question,) = person.asked
    assert question.rights == rights
    assert [line for line in run.ends[0]["output"].splitlines() if line.startswith("may-")] == [
        f"may-{right}" for right in rights
    ]
    assert (tmp_path / "out").exists() is (OUTSIDE in rights)


async def test_what_the_try_could_not_do_and_nobody_allows_comes_with_its_output(tmp_path: Path) -> None:
    for who, person in (("nobody", None), ("no", Person(None))):
        folder = tmp_path / who
        folder.mkdir()
        run = Run(folder, person)
        await run.bash("ask", {"command": "echo before; touch x"})
        (end,) = run.ends
        assert end["error"]["kind"] == "permission_denied"
        kept = end["error"]["details"]["output"].splitlines()
        assert (kept[0], kept[-1]) == ("before", "[exit code 1]")
        assert "Read-only file system" in kept[1]
        assert "before" in end["output"], "the model reads it"
        assert "escalate" not in end["output"]
        assert not (run.work / "x").exists()


@pytest.mark.parametrize(
    "failure", ["touch x", "echo fatal: permission denied", "echo Connection refused by 10.0.0.1"]
)
async def test_a_refused_try_keeps_every_line_that_the_command_printed(tmp_path: Path, failure: str) -> None:
    """Whether or not Planck blamed the sandbox, and even if a line looks like one of its own."""
    ours = '[sandbox: everything is read-only here; to ask for permission, pass "escalate"]'
    cases = [["None"], ["a", "None", "b"], [ours, "None"], ["[exit code 1]"]]
    run = Run(tmp_path, Person(None))
    prints = [f"printf '%s\\n' {shlex.join(printed)}; {failure}; exit 1" for printed in cases]
    await run.bash("ask", *({"command": command} for command in prints))
    kept = [end["error"]["details"]["output"].splitlines() for end in run.ends]
    assert [lines[:-2] for lines in kept] == cases
    assert {lines[-1] for lines in kept} == {"[exit code 1]"}


async def test_what_is_not_tried_asks_at_once_or_runs(tmp_path: Path) -> None:
    """In the background nothing has failed yet; a rule that asks wants a question; one that allows runs."""
    rules = [
        {"tool": "bash", "command": "echo", "decision": "ask"},
        {"tool": "bash", "command": "touch", "decision": "allow"},
    ]
    person = Person(None)
    run = Run(tmp_path, person, permissions={"rules": rules})
    await run.bash(
        "ask", {"command": "echo a"}, {"command": "true", "background": True}, {"command": "touch x"}
    )
    assert [end["ok"] for end in run.ends] == [False, False, True]
    assert [question.text for question in person.asked] == ["echo a", 'true\n{"background":true}']
    assert not any("tried" in question.reason for question in person.asked)
    assert (run.work / "x").exists()


async def test_hooks_see_a_tried_call_once(tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    hook = [{"command": f"cat >> {seen}"}]
    run = Run(tmp_path, Person(), hooks={"PreToolUse": hook, "PostToolUse": hook})
    await run.bash("ask", {"command": "touch x"})
    events = [json.loads(line)["hook_event_name"] for line in seen.read_text().splitlines()]
    assert events == ["PreToolUse", "PostToolUse"]
    assert (run.work / "x").exists()


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("touch /etc/x; echo x > /etc/planck-test", "[sandbox: /etc/planck-test is outside the workspace"),
        ("mkdir .planck/x", ".planck is read-only here"),
        ("echo x > sub/.git/config", "sub/.git is read-only here"),
        ("exec 3<>/dev/tcp/127.0.0.1/9", "there is no network here"),
        ("getent hosts x.invalid || { echo 'Could not resolve host: x.invalid'; exit 6; }", "no network"),
        ("cat ~/.ssh/id", "~/.ssh is hidden here"),
        ("python3 -c 'import socket; socket.socket(socket.AF_UNIX)'", "Unix sockets"),
        ("head -c 15990 /dev/zero | tr '\\0' x; echo; touch /etc/x", "outside the workspace"),
        ("ls missing", ""),
        ("touch closed/x || exit 1", ""),
        ("touch /etc/x; true", ""),
    ],
)
async def test_a_command_that_the_sandbox_made_fail_says_so_in_one_line(
    tmp_path: Path, command: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    run = Run(tmp_path)
    (run.work / "sub" / ".git").mkdir(parents=True)
    (tmp_path / ".ssh").mkdir()
    (tmp_path / ".ssh" / "id").touch()
    if os.geteuid() != 0:
        (run.work / "closed").mkdir(mode=0o500)
    output = await run.bash("workspace", {"command": command})
    lines = [line for line in output.splitlines() if line.startswith("[sandbox: ")]
    assert len(lines) == (1 if said else 0), output
    if said:
        assert said in lines[0]
        assert output.splitlines()[-2] == lines[0]
        assert output.splitlines()[-1].startswith("[exit code ")


async def test_while_a_command_runs_git_shows_the_user_nothing_of_the_sandbox(tmp_path: Path) -> None:
    """The mount points of absent protected names are on the disk then, as what git does not show."""
    run = Run(tmp_path)
    run.make_repository()
    waiting = asyncio.create_task(
        run.bash("workspace", {"command": "touch begun; until [ -e go ]; do sleep 0.02; done"})
    )
    await until(run.work / "begun")
    status = ["git", "status", "--porcelain", "--untracked-files=all"]
    during = subprocess.run(status, cwd=run.work, capture_output=True, text=True, check=True)
    added = subprocess.run(["git", "add", "-A"], cwd=run.work, capture_output=True, text=True, check=True)
    (run.work / "go").touch()
    await waiting
    assert (during.stdout, during.stderr) == ("?? begun\n", "")
    assert (added.stdout, added.stderr) == ("", "")
    assert sorted(path.name for path in run.work.iterdir()) == [".git", "begun", "go"]


@pytest.mark.parametrize("blank", ["x", "\\n", "ä"])
async def test_what_the_sandbox_says_and_the_exit_code_end_even_a_long_output(
    tmp_path: Path, blank: str
) -> None:
    run = Run(tmp_path)
    run.make_repository()
    flood = f"printf '{blank}%.0s' $(seq 60000)"
    for command in (f"{flood}; {COMMIT}", f"{COMMIT} 2>&1; {flood} >&2; touch .git/x"):
        said = await run.bash("workspace", {"command": command})
        assert "…[truncated, showing up to " in said
        *_, whole, sandbox, code = said.splitlines()
        assert whole.startswith("[full output ("), said[-400:]
        assert sandbox.startswith("[sandbox: ")
        assert sandbox.endswith('to ask for permission, pass "escalate"]')
        assert code.startswith("[exit code ")


async def test_a_command_that_would_change_planck_itself_hears_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the file's name, not the shell's; and it is not told to ask for what nobody can allow."""
    run = Run(tmp_path, Person())
    (run.work / ".venv").mkdir()
    monkeypatch.setattr(sys, "prefix", str(run.work / ".venv"))
    commands = ("echo x > .venv/new", "touch .venv/new", f"sh -c 'echo x > {run.work}/.venv/new'")
    await run.bash("workspace", *({"command": command} for command in commands))
    for end in run.ends:
        said = end["output"].splitlines()[-2]
        assert said.startswith("[sandbox: "), said
        assert said.endswith(".venv/new is part of the running Planck, which agents cannot change]"), said
