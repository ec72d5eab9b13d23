"""The published schema as the judge of every message, whoever sent it."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema_rs

HERE = Path(__file__).parent
UPDATE, ASK = "session/update", "session/request_permission"


@cache
def _definitions(unstable: bool) -> dict[str, Any]:
    name = "schema.unstable.json" if unstable else "schema.json"
    found: dict[str, Any] = json.loads((HERE / name).read_text())["$defs"]
    return found


@cache
def _by_method(unstable: bool) -> dict[tuple[str, str], str]:
    """By method and `Request`, `Response` or `Notification`: the definition."""
    found = {}
    for name, definition in _definitions(unstable).items():
        if method := definition.get("x-method"):
            for kind in ("Request", "Response", "Notification"):
                if name.endswith(kind):
                    found[method, kind] = name
    return found


@cache
def _validator(name: str, unstable: bool) -> Any:
    whole = {"$ref": f"#/$defs/{name}", "$defs": _definitions(unstable)}
    return jsonschema_rs.Draft202012Validator(whole)


class Judge:
    """Sees the messages of one connection in their order, and keeps them."""

    def __init__(self, *, unstable: bool = False) -> None:
        self.said: list[dict[str, Any]] = []
        """By the agent."""
        self.methods: set[str] = set()
        """That the agent asked of its client, or told it."""
        self._unstable = unstable
        self._asked: dict[tuple[bool, Any], str] = {}

    def see(self, message: dict[str, Any], *, by_agent: bool) -> None:
        if by_agent:
            self.said.append(message)
        assert message["jsonrpc"] == "2.0"
        method = message.get("method")
        if method is None:
            asked = self._asked.pop((not by_agent, message["id"]), "")
            self._check_answer(asked, message)
            return
        if by_agent:
            self.methods.add(method)
        if "id" in message:
            self._asked[by_agent, message["id"]] = method
        self._check(method, "Request" if "id" in message else "Notification", message.get("params"))

    def expect(self, id: Any, method: str) -> None:
        """A client asks something that may be out of form: its answer must not be."""
        self._asked[False, id] = method

    def _check_answer(self, asked: str, message: dict[str, Any]) -> None:
        assert ("result" in message) != ("error" in message)
        if "error" in message:
            _validate("Error", message["error"], False)
        else:
            self._check(asked, "Response", message["result"])

    def _check(self, method: str, kind: str, value: Any) -> None:
        unstable = self._unstable or (method, kind) not in _by_method(False)
        name = _by_method(unstable)[method, kind]
        _validate(name, value, unstable)


def _validate(name: str, value: Any, unstable: bool) -> None:
    problems = [str(one) for one in _validator(name, unstable).iter_errors(value)]
    assert problems == [], (name, value)
