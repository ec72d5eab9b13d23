"""A child in a sidecar's place that keeps to nothing."""

import json
import os
import sys
import time
from typing import Any


def say(message: dict[str, Any]) -> None:
    raw(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")


def raw(data: bytes) -> None:
    while data:
        data = data[os.write(1, data) :]


def text(value: str) -> dict[str, Any]:
    outcome = {"ok": True, "value": {"output": value}}
    return {"content": [{"type": "text", "text": value}], "_meta": {"planck/outcome": outcome}}


def call(id: int, name: str, arguments: dict[str, Any]) -> None:
    if name == "flood":
        while True:
            say({"method": "notifications/message", "params": {"data": "x" * 1000}})
    if name == "ask":
        while True:  # and reads no answer
            say({"id": os.urandom(4).hex(), "method": "roots/list", "params": {"pad": "x" * 1000}})
    if name == "garbage":
        raw(b"\xff\xfe is not UTF-8\n" * 30)
    if name == "half":
        raw(b'{"jsonrpc":"2.0","id":%d,"result":{"cont' % id)
        os._exit(3)
    if name == "odd":
        raw(b"\xff\xfe\n\n{}\n[]\nnull\n" + b"[" * 10_000 + b"\n")
        say({"id": id + 1000, "result": text("not yours")})
        say({"id": str(id), "result": text("not yours")})
        raw(b'{"jsonrpc":"2.0","id":%d.0,"result":{"content":[]}}\n' % id)
        say({"id": None, "error": {"code": 1, "message": "whose?"}})
        say({"id": id, "result": text("yours")})
        return say({"id": id, "result": text("again")})
    if name == "giant":
        raw(b'{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":"' % id)
        for _ in range(9):
            raw(b"x" * (1 << 20))
        raw(b'"}]}}\n')
    if name == "shape":
        return say({"id": id, "result": {"content": 7}})
    if name == "nothing":
        return say({"id": id})
    if name == "error":
        return say({"id": id, "error": {"code": -32000, "message": "no"}})
    if name == "kind":
        value = {"ok": False, "error": {"kind": "made_up", "message": "a kind of its own"}}
        return say({"id": id, "result": {"content": [], "_meta": {"planck/outcome": value}}})
    if name == "exit":
        os._exit(7)
    if name == "close":
        os.close(1)
        time.sleep(3600)
    if name == "deaf":
        time.sleep(3600)
    if name == "late":
        return late.append(id)
    if name == "changes":
        say({"method": "notifications/tools/list_changed"})
    return say({"id": id, "result": text(json.dumps(arguments))})


late: list[int] = []
cancelled: list[int] = []


def main() -> None:
    listed = 0
    while line := sys.stdin.buffer.readline():
        message = json.loads(line)
        id, method = message.get("id"), message.get("method")
        if method == "initialize":
            say({"id": id, "result": {"protocolVersion": "2025-11-25", "capabilities": {}}})
        elif method == "tools/list":
            listed += 1
            schema = {"type": "object"}
            tools = [{"name": name, "inputSchema": schema} for name in ("echo", f"edition-{listed}")]
            say({"id": id, "result": {"tools": tools}})
        elif method == "tools/call" and message["params"]["name"] == "heard":
            heard = {"late": late, "cancelled": cancelled, "listed": listed}
            say({"id": id, "result": text(json.dumps(heard))})
        elif method == "tools/call":
            call(id, message["params"]["name"], message["params"].get("arguments") or {})
        elif method == "notifications/cancelled":
            cancelled.append(message["params"]["requestId"])
            # It does not stop, and answers what nobody waits for any more.
            say({"id": cancelled[-1], "result": text("late")})
        elif method == "ping":
            say({"id": id, "result": {}})


main()
