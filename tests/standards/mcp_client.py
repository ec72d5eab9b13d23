"""What the MCP conformance suite runs as a client: `planck mcp` and `planck tools`, as a user types them.

`mcp_client.py --play SOCKET URL` asks the test that listens there to play one scenario against a server: it
starts commands without the time that each takes to import what it needs. `mcp_client.py --browse URL` is the
browser.
"""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

WAIT = 100
LOGINS = 3
"""How often the person signs in before giving up."""
CLIENT = ("client_id", "client_secret", "issuer")
DOCUMENT = "https://conformance-test.local/client-metadata.json"
"""The client that describes itself, which the suite names in no context."""
FOCAL, ECHO = "mcp__it__json_schema_2020_12_tool", "mcp__it__json_schema_echo"
VALUES: dict[Any, Any] = {"string": "text", "integer": 1, "number": 1.5, "boolean": True, "array": []}


class Scene(NamedTuple):
    """What the suite tells its client."""

    url: str
    name: str
    context: dict[str, Any]


class Refused(Exception):
    """A command failed where a user would stop."""


def browse(url: str) -> None:
    """Agrees at once, as the suite's authority does, and goes where it is sent."""
    import urllib.error
    import urllib.request

    class Stay(urllib.request.HTTPRedirectHandler):
        def redirect_request(self, *_: Any) -> None:
            return None

    try:
        urllib.request.build_opener(Stay).open(url, timeout=WAIT)
    except urllib.error.HTTPError as answer:
        urllib.request.urlopen(answer.headers["Location"], timeout=WAIT).read()


def ask(door: str, url: str) -> int:
    scene = Scene(
        url,
        os.environ["MCP_CONFORMANCE_SCENARIO"],
        json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT", "{}")),
    )
    with socket.socket(socket.AF_UNIX) as line, line.makefile("rw") as file:
        line.connect(door)
        print(json.dumps(scene), file=file, flush=True)
        answer = json.loads(file.readline())
    print(answer["said"])
    return int(answer["code"])


class User:
    def __init__(self, folder: Path, entry: dict[str, Any]) -> None:
        self.said: list[str] = []
        home = folder / ".planck"
        home.mkdir()
        (home / "config.json").write_text(json.dumps({"mcpServers": {"it": entry}}))
        (folder / "work").mkdir()
        browser = f"{sys.executable} {os.path.abspath(__file__)} --browse %s"
        own = {"HOME": str(folder), "DISPLAY": ":0", "BROWSER": browser}
        self._environ = {"PATH": os.environ["PATH"], **own}
        self._folder = folder / "work"
        self._logins = 0

    def planck(self, *words: str) -> "subprocess.CompletedProcess[str]":
        argv = [sys.executable, "-m", "planck", *words]
        done = subprocess.run(
            argv, cwd=self._folder, env=self._environ, capture_output=True, text=True, timeout=WAIT
        )
        self.said += [f"$ planck {' '.join(words)}", done.stdout, done.stderr]
        if "Traceback" in done.stderr:
            raise Refused("a traceback is not an answer to a user")
        return done

    def do(self, *words: str) -> "subprocess.CompletedProcess[str]":
        """Runs a command, and signs in where it says that this is to be done first."""
        done = self.planck(*words)
        while "planck mcp login" in done.stdout + done.stderr and self._logins < LOGINS:
            self._logins += 1
            if self.planck("mcp", "login", "it").returncode:
                return done
            done = self.planck(*words)
        return done


def make_arguments(schema: dict[str, Any]) -> dict[str, Any]:
    properties = schema.get("properties", {})
    return {name: VALUES.get(one.get("type"), {}) for name, one in properties.items()}


def play(scene: Scene, folder: Path) -> tuple[int, list[str]]:
    """Returns the worst exit code and what was said; call it in a thread."""
    entry = {"url": scene.url, **{key: scene.context[key] for key in CLIENT if key in scene.context}}
    if scene.name == "auth/basic-cimd":
        entry["client_id"] = DOCUMENT
    user = User(folder, entry)
    try:
        return _use_tools(user, scene), user.said
    except (Refused, subprocess.TimeoutExpired) as failure:
        return 1, [*user.said, str(failure)]


def _use_tools(user: User, scene: Scene) -> int:
    tested = user.do("mcp", "test", "it", "--json")
    if tested.returncode:
        return tested.returncode
    (server,) = json.loads(tested.stdout)["peers"]
    schemas: dict[str, Any] = {name: {} for name in server["tools"]}
    if not scene.name.startswith("auth/"):  # whose tools take nothing
        listed = json.loads(user.planck("tools", "list", "--json").stdout)["tools"]
        schemas |= {tool["name"]: tool["parameters"] for tool in listed if tool["name"] in schemas}
    calls = {name: make_arguments(schema) for name, schema in schemas.items()}
    # A null for a flag does not fit its schema, so a user is told to leave it out, and does.
    calls |= {
        f"mcp__it__{call['name']}": {key: one for key, one in call["arguments"].items() if one is not None}
        for call in scene.context.get("toolCalls", ())
    }
    if ECHO in calls:
        calls = {ECHO: {"schema": schemas[FOCAL]}}
    return max(
        (
            user.do("tools", "call", name, "--args", json.dumps(given)).returncode
            for name, given in calls.items()
        ),
        default=0,
    )


if __name__ == "__main__":
    if sys.argv[1] == "--browse":
        browse(sys.argv[2])
    else:
        sys.exit(ask(*sys.argv[2:]))
