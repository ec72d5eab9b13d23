"""What the MCP conformance suite runs as a client: `planck mcp` and `planck tools`, as a user types them.

`mcp_client.py URL` plays one scenario against a server. `mcp_client.py --browse URL` is its browser.
"""

import json
import os
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

WAIT = 60
LOGINS = 3
"""How often the person signs in before giving up."""
CLIENT = ("client_id", "client_secret", "issuer")
DOCUMENT = "https://conformance-test.local/client-metadata.json"
"""The client that describes itself, which the suite names in no context."""
FOCAL, ECHO = "mcp__it__json_schema_2020_12_tool", "mcp__it__json_schema_echo"
VALUES: dict[Any, Any] = {"string": "text", "integer": 1, "number": 1.5, "boolean": True, "array": []}


class _Stay(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        return None


def browse(url: str) -> None:
    """Agrees at once, as the suite's authority does, and goes where it is sent."""
    try:
        urllib.request.build_opener(_Stay).open(url, timeout=WAIT)
    except urllib.error.HTTPError as answer:
        urllib.request.urlopen(answer.headers["Location"], timeout=WAIT).read()


class User:
    def __init__(self, folder: Path, entry: dict[str, Any]) -> None:
        home = folder / ".planck"
        home.mkdir()
        (home / "config.json").write_text(json.dumps({"mcpServers": {"it": entry}}))
        (folder / "work").mkdir()
        browser = f"{sys.executable} {os.path.abspath(__file__)} --browse %s"
        dropped = ("SSH_CONNECTION", "PLANCK_HOME")
        inherited = {name: value for name, value in os.environ.items() if name not in dropped}
        self._environ = {**inherited, "HOME": str(folder), "DISPLAY": ":0", "BROWSER": browser}
        self._folder = folder / "work"
        self._logins = 0

    def planck(self, *words: str) -> "subprocess.CompletedProcess[str]":
        argv = [sys.executable, "-m", "planck", *words]
        done = subprocess.run(
            argv, cwd=self._folder, env=self._environ, capture_output=True, text=True, timeout=WAIT
        )
        print(f"$ planck {' '.join(words)}", done.stdout, done.stderr, sep="\n")
        if "Traceback" in done.stderr:
            sys.exit("a traceback is no answer to a user")
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


def play(url: str) -> int:
    context = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT", "{}"))
    entry = {"url": url, **{key: context[key] for key in CLIENT if key in context}}
    if os.environ["MCP_CONFORMANCE_SCENARIO"] == "auth/basic-cimd":
        entry["client_id"] = DOCUMENT
    with tempfile.TemporaryDirectory() as folder:
        user = User(Path(folder), entry)
        tested = user.do("mcp", "test", "it", "--json")
        if tested.returncode:
            return tested.returncode
        (server,) = json.loads(tested.stdout)["peers"]
        schemas: dict[str, Any] = {name: {} for name in server["tools"]}
        if not os.environ["MCP_CONFORMANCE_SCENARIO"].startswith("auth/"):  # whose tools take nothing
            listed = json.loads(user.planck("tools", "list", "--json").stdout)["tools"]
            schemas |= {tool["name"]: tool["parameters"] for tool in listed if tool["name"] in schemas}
        calls = {name: make_arguments(schema) for name, schema in schemas.items()}
        # A null for a flag does not fit its schema, so a user is told to leave it out, and does.
        calls |= {
            f"mcp__it__{call['name']}": {
                key: one for key, one in call["arguments"].items() if one is not None
            }
            for call in context.get("toolCalls", ())
        }
        if ECHO in calls:
            calls = {ECHO: {"schema": schemas[FOCAL]}}
        worst = 0
        for name, arguments in calls.items():
            worst = max(worst, user.do("tools", "call", name, "--args", json.dumps(arguments)).returncode)
        return worst


if __name__ == "__main__":
    if sys.argv[1] == "--browse":
        browse(sys.argv[2])
    else:
        sys.exit(play(sys.argv[1]))
