"""Sessions with scripted agents in a real folder, for what is checked and what is claimed."""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from planck import Planck
from planck.headless import OpenSession
from planck.llm.provider import Request
from planck.records import codec
from planck.testing import ScriptedProvider

TOOLS = ["bash", "write", "edit", "read"]
Lines = Sequence[Any] | Callable[[Request], Any]


def bash(command: str, **more: Any) -> list[tuple[str, dict[str, Any]]]:
    return [("bash", {"command": command, **more})]


def write(path: str, content: str) -> list[tuple[str, dict[str, Any]]]:
    return [("write", {"path": path, "content": content})]


def delegate(task: str = "do it", **more: Any) -> list[tuple[str, dict[str, Any]]]:
    args = {"identifier": "builder", "identifier_type": "name", "task": task, **more}
    return [("delegate_task", args)]


def respond(text: str, *claims: Mapping[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    return [("send_response", {"response": text, "claims": list(claims)})]


class Script:
    """What each agent says, by its name; one that has no more to say repeats its last text."""

    def __init__(self, lines: Mapping[str, Lines]) -> None:
        self._lines = {name: iter(said) for name, said in lines.items() if not callable(said)}
        self._functions = {name: said for name, said in lines.items() if callable(said)}
        self.shown: list[tuple[str, str]] = []
        """By request: who asked, and the newest message that it was shown."""

    def __call__(self, request: Request) -> Any:
        found = re.search(r"You are ([\w-]+),", request.system)
        name = found[1] if found else "orchestrator"
        self.shown.append((name, str(request.history.messages[-1])))
        if name in self._functions:
            return self._functions[name](request)
        return next(self._lines.get(name, _nothing()), f"{name} is done")


def _nothing() -> Iterator[Any]:
    return iter(())


def open_planck(
    folder: Path, script: Mapping[str, Lines] | Script, *, mode: str = "full", **config: Any
) -> Planck:
    work = folder / "work"
    work.mkdir(exist_ok=True)
    home = folder / "home"
    (home / "teams/pair").mkdir(parents=True, exist_ok=True)
    team = {
        "name": "pair",
        "members": [
            {"type": "orchestrator", "name": "lead", "tools": TOOLS},
            {"type": "builder", "tools": TOOLS, **config.pop("builder", {})},
        ],
    }
    (home / "teams/pair/TEAM.json").write_text(json.dumps(team))
    double = ScriptedProvider(script if isinstance(script, Script) else Script(script))
    flags = {"default_model": "double/m", "permissions": {"mode": mode}, **config}
    environ = {"PATH": "/usr/bin:/bin", "HOME": str(folder)}
    return Planck(home, work, environ=environ, flags=flags, providers={"double": double})


def facts(session: OpenSession, type: str) -> list[dict[str, Any]]:
    found = [event for event in session.recorded() if event.type == type]
    return [{"agent_id": event.agent_id, "seq": event.seq, **codec.decode(event.data)} for event in found]


def reports(session: OpenSession) -> list[dict[str, Any]]:
    """The responses to tasks that settle them."""
    rows = facts(session, "message")
    return [
        one
        for one in rows
        if one["kind"] == "response" and one["correlation_id"] and one.get("outcome") != "in progress"
    ]
