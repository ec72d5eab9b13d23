"""An approved command gets what its question named, and nothing else: in real sandboxes, on loopback."""

import os
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from planck import Planck
from planck.records.approval import Answer, Question, Scope
from planck.testing.scripted import ScriptedProvider
from planck.workspace.process.containment import sandbox_program
from tests.teams import facts

pytestmark = [pytest.mark.skipif(sandbox_program() is None, reason="bubblewrap is not installed")]
WRITE, NETWORK, OUTSIDE = ("write",), ("network",), ("write", "network", "outside")
BOTH = ("write", "network")


class Person:
    """Says yes, and remembers what it was asked."""

    def __init__(self, scope: Scope = Scope.ONCE) -> None:
        self.asked: list[Question] = []
        self._scope = scope

    async def decide(self, question: Question) -> Answer:
        self.asked.append(question)
        return Answer(question.id, question.digest, True, self._scope)


class Place:
    """A workspace, a folder beside it and a server on loopback, and commands that try all three."""

    def __init__(self, folder: Path, outside: Path, port: int) -> None:
        self.folder, self.outside = folder, outside
        self.work = folder / "work"
        self.work.mkdir()
        connect = f"(exec 3<>/dev/tcp/127.0.0.1/{port})"
        self.needs = {
            "write": "touch x || failed=1",
            "network": f"{connect} || failed=1",
            "both": f"touch x || failed=1; {connect} || failed=1",
            "outside": f"touch {outside}/x || failed=1",
            "protected": "mkdir .planck/x || failed=1",
            "socket": "python3 -c 'import socket; socket.socket(socket.AF_UNIX)' || failed=1",
        }
        self._probe = (
            f"touch did-write 2>/dev/null; {connect} 2>/dev/null && echo did-network; "
            f"touch {outside}/did-outside 2>/dev/null"
        )
        (self.work / ".planck").mkdir()

    def command(self, need: str) -> str:
        """Does what it needs, then everything that it was perhaps not given."""
        return f"{self.needs[need]}; [ -z $failed ] || exit 1; {self._probe}; true"

    def find_applied(self, output: str) -> tuple[str, ...]:
        write = ("write",) if (self.work / "did-write").exists() else ()
        network = ("network",) if "did-network" in output else ()
        outside = ("outside",) if (self.outside / "did-outside").exists() else ()
        return write + network + outside

    async def run(self, person: Person, mode: str, *calls: dict[str, Any], **flags: Any) -> list[Any]:
        script = ScriptedProvider([*([("bash", call)] for call in calls), "done"])
        async with Planck(
            self.folder / "home",
            self.work,
            environ={"PATH": "/usr/bin:/bin", "HOME": str(self.folder)},
            flags=flags,
            approver=person,
            providers={"double": script},
        ) as app:
            session = await app.start(model="double/m", mode=mode)
            assert (await session.run("go")).text == "done"
            return await facts(session)


OUTSIDE_HOMES = next(
    folder for folder in ("/opt", "/srv", "/usr/local", Path(__file__).parent) if os.access(folder, os.W_OK)
)
"""What is seen in the sandbox, and not written: a home is hidden."""


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    with socket.create_server(("127.0.0.1", 0)) as server, TemporaryDirectory(dir=OUTSIDE_HOMES) as outside:
        waiting = threading.Thread(target=_accept, args=(server,))
        waiting.start()
        yield Place(tmp_path, Path(outside), server.getsockname()[1])
        server.shutdown(socket.SHUT_RDWR)
        waiting.join()


def _accept(server: socket.socket) -> None:
    try:
        while True:
            server.accept()[0].close()
    except OSError:
        return


ASKS = [{"tool": "bash", "decision": "ask"}]


@pytest.mark.parametrize(
    ("mode", "need", "call", "rules", "named"),
    [
        # What a trial was refused is what the question names.
        ("ask", "write", {}, [], WRITE),
        ("ask", "network", {}, [], NETWORK),
        ("ask", "both", {}, [], BOTH),
        ("ask", "outside", {}, [], OUTSIDE),
        ("ask", "protected", {}, [], OUTSIDE),
        ("ask", "socket", {}, [], OUTSIDE),
        # What was not tried gets the sandbox of mode `workspace`, unless the agent asks for more.
        ("ask", "write", {}, ASKS, WRITE),
        ("workspace", "write", {}, ASKS, WRITE),
        ("ask", "write", {"escalate": "why"}, [], OUTSIDE),
        ("ask", "write", {"escalate": "why"}, ASKS, OUTSIDE),
        ("workspace", "write", {"escalate": "why"}, [], OUTSIDE),
        ("workspace", "write", {"escalate": "why"}, ASKS, OUTSIDE),
        ("full", "write", {}, ASKS, OUTSIDE),
    ],
)
async def test_a_yes_gives_the_rights_that_the_question_names(
    place: Place,
    mode: str,
    need: str,
    call: dict[str, str],
    rules: list[dict[str, str]],
    named: tuple[str, ...],
) -> None:
    person = Person()
    log = await place.run(
        person, mode, {"command": place.command(need), **call}, permissions={"rules": rules}
    )
    (end,) = [data for type, data in log if type == "tool_end"]
    (logged,) = [data for type, data in log if type == "permission_request"]
    (question,) = person.asked
    assert place.find_applied(end["output"]) == named, end["output"]
    assert (tuple(getattr(question, "rights", ())), tuple(logged.get("rights", ()))) == (named, named)
    words = {
        "write": "write in the workspace",
        "network": "use the network",
        "outside": "outside the sandbox",
    }
    expected = ["network", "outside"] if "outside" in named else list(named)
    assert [right for right, text in words.items() if text in question.adds] == expected, question.adds


PROBE = """
import os, socket, sys
need, port, outside = sys.argv[1:]
def write(): open("did-write", "w").close()
def network(): socket.create_connection(("127.0.0.1", int(port))).close(); print("did-network")
def leave(): open(outside + "/did-outside", "w").close()
steps = {"write": write, "network": network, "outside": leave}
wanted = ("write", "network") if need == "both" else (need,)
failed = []
for name in wanted:
    try:
        steps[name]()
    except OSError as problem:
        failed.append(f"probe.py: {problem}")
if failed: sys.exit("\\n".join(failed))
for name in steps:
    try:
        steps[name]()
    except OSError: pass
"""


@pytest.mark.parametrize("scope", [Scope.SESSION, Scope.RULE])
@pytest.mark.parametrize(("need", "named"), [("write", WRITE), ("network", NETWORK), ("both", BOTH)])
async def test_a_saved_rule_gives_the_rights_that_its_question_named(
    place: Place, scope: Scope, need: str, named: tuple[str, ...]
) -> None:
    (place.work / "probe.py").write_text(PROBE)
    port = place.needs["network"].rpartition("/")[2].rstrip(")").partition(")")[0]
    call = {"command": f"python3 probe.py {need} {port} {place.outside}"}
    person = Person(scope)
    log = await place.run(person, "ask", call, call)
    _, again = [data for type, data in log if type == "tool_end"]
    assert len(person.asked) == 1, again["output"]
    assert tuple(person.asked[0].rights) == named
    assert place.find_applied(again["output"]) == named, again["output"]


async def test_an_approval_for_the_network_and_one_for_writing_add_up(place: Place) -> None:
    """The rules of one command that were saved one after the other give what both of them name."""
    (place.work / "probe.py").write_text(PROBE)
    port = place.needs["network"].rpartition("/")[2].partition(")")[0]
    command = f"python3 probe.py both {port} {place.outside}"
    rule = {"tool": "bash", "command": command, "exact": True, "decision": "allow"}
    rules = [{**rule, "network": True, "write": False}, {**rule, "network": True}]
    person = Person()
    log = await place.run(person, "ask", {"command": command}, permissions={"rules": rules})
    (end,) = [data for type, data in log if type == "tool_end"]
    assert (person.asked, place.find_applied(end["output"])) == ([], BOTH), end["output"]
