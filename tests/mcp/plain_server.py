"""A small MCP server without the SDK: `python plain_server.py COUNT`, that many tools, resources, prompts."""

import json
import sys
from typing import Any

COUNT = int(sys.argv[1])
SCHEMA = {
    "type": "object",
    "properties": {"place": {"type": "string", "description": "Where, by its name " * 8}},
}
RESOURCE = {"uri": "note://one", "name": "note", "description": "A note.", "mimeType": "text/plain"}
PROMPT = {
    "name": "greet",
    "description": "Says hello.",
    "arguments": [{"name": "who", "required": True}, {"name": "how"}],
}


def answer(method: str, params: dict[str, Any]) -> Any:
    match method:
        case "initialize":
            capabilities: dict[str, Any] = {"tools": {}, "resources": {}, "prompts": {}}
            return {
                "protocolVersion": params["protocolVersion"],
                "capabilities": capabilities,
                "serverInfo": {"name": "plain", "version": "1"},
            }
        case "tools/list":
            names = [*(f"tool_{number}" for number in range(COUNT - 1)), "weather_forecast"]
            text = "Does one thing among many, which takes a sentence to describe. " * 2
            forecast = "Says what the sky will do tomorrow."
            return {
                "tools": [
                    {"name": n, "description": forecast if "w" in n else text, "inputSchema": SCHEMA}
                    for n in names
                ]
            }
        case "tools/call":
            place = (params.get("arguments") or {}).get("place", "")
            return {"content": [{"type": "text", "text": f"{params['name']}: sunny in {place}"}]}
        case "resources/list":
            return {"resources": [RESOURCE]}
        case "resources/read":
            return {"contents": [{"uri": params["uri"], "mimeType": "text/plain", "text": "buy milk"}]}
        case "prompts/list":
            return {"prompts": [PROMPT]}
        case "prompts/get":
            said = f"Greet {params['arguments']}"
            return {"messages": [{"role": "user", "content": {"type": "text", "text": said}}]}
    return None


for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    result = answer(message["method"], message.get("params") or {})
    reply = {"result": result} if result is not None else {"error": {"code": -32601, "message": "no method"}}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **reply}), flush=True)
