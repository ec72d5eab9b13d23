"""An MCP server without the SDK that asks the person: `asking_server.py [old]`.

Its tool `ask` puts the questions in its arguments, and returns what was answered. `old`: as servers did
before 2026-07-28, by a request of their own; else by a result that says which input is required.
"""

import json
import os
import sys
from typing import Any

OLD = "old" in sys.argv
ASK = {
    "type": "object",
    "properties": {"questions": {"type": "array"}, "then": {"type": "string"}, "mark": {"type": "string"}},
}
answers: dict[str, Any] = {}
waiting: dict[str, Any] = {}


def say(message: dict[str, Any]) -> None:
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def result(id: Any, texts: Any) -> None:
    more = {} if OLD else {"resultType": "complete"}
    content = [{"type": "text", "text": json.dumps(texts, sort_keys=True)}]
    say({"id": id, "result": {"content": content, **more}})


def call(id: Any, params: dict[str, Any]) -> None:
    arguments = params.get("arguments", {})
    questions = {f"q{number}": one for number, one in enumerate(arguments.get("questions", []))}
    if "inputResponses" in params:
        result(id, params["inputResponses"])
        return
    if OLD:
        waiting.update(call=id, open=set(questions))
        for name, one in questions.items():
            say({"id": name, "method": "elicitation/create", "params": one})
    else:
        requests = {name: {"method": "elicitation/create", "params": one} for name, one in questions.items()}
        asked = {"resultType": "input_required", "inputRequests": requests, "requestState": "s"}
        say({"id": id, "result": asked})
    if arguments.get("then") == "die":
        with open(arguments["mark"]) as mark:  # a named pipe: until the question was seen
            mark.read()
        os._exit(1)
    if arguments.get("then") == "go on":
        result(id, "went on")


for line in sys.stdin:
    message = json.loads(line)
    id, method, params = message.get("id"), message.get("method"), message.get("params") or {}
    if method is None:
        answers[id] = message.get("result") or message.get("error")
        waiting["open"].discard(id)
        if not waiting["open"]:
            result(waiting["call"], answers)
    elif id is None:
        pass
    elif method == "initialize":
        about = {"capabilities": {"tools": {}}, "serverInfo": {"name": "asks", "version": "1"}}
        say({"id": id, "result": {"protocolVersion": params["protocolVersion"], **about}})
    elif method == "server/discover" and not OLD:
        about = {"capabilities": {"tools": {}}, "serverInfo": {"name": "asks", "version": "1"}}
        versions = {"supportedVersions": ["2026-07-28"], "resultType": "complete"}
        say({"id": id, "result": {**versions, **about, "ttlMs": 0, "cacheScope": "private"}})
    elif method == "tools/list":
        more = {} if OLD else {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
        say({"id": id, "result": {"tools": [{"name": "ask", "inputSchema": ASK}], **more}})
    elif method == "tools/call":
        call(id, params)
    else:
        say({"id": id, "error": {"code": -32601, "message": "no method"}})
