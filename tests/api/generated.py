"""Writes a client of the standard library alone from `openapi.json`, as generators of other languages do."""

from collections.abc import Iterator
from typing import Any

_HEAD = '''\
"""Made from openapi.json; it knows nothing else of the server."""

import json
import urllib.error
import urllib.parse
import urllib.request


class Client:
    def __init__(self, url, token):
        self._url, self._token = url, token

    def _send(self, method, path, query, headers, body, statuses):
        query = {name: value for name, value in query.items() if value is not None}
        url = self._url + path + ("?" + urllib.parse.urlencode(query) if query else "")
        sent = {"Authorization": f"Bearer {self._token}", **{k: v for k, v in headers.items() if v}}
        data = None
        if body is not None:
            sent["Content-Type"], data = "application/json", json.dumps(body).encode()
        request = urllib.request.Request(url, data, sent, method=method)
        try:
            answer = urllib.request.urlopen(request, timeout=60)
        except urllib.error.HTTPError as refused:
            answer = refused
        with answer:
            status, text = answer.status, answer.read()
        assert str(status) in statuses, (method, path, status, text)
        assert status < 400, json.loads(text)["error"]
        return json.loads(text) if text else None
'''


def write_client(document: dict[str, Any]) -> str:
    return "\n".join([_HEAD, *_write_methods(document)])


def _write_methods(document: dict[str, Any]) -> Iterator[str]:
    for path, methods in document["paths"].items():
        for method, entry in methods.items():
            places: dict[str, list[str]] = {"path": [], "query": [], "header": []}
            for parameter in entry.get("parameters", ()):
                places[parameter["in"]].append(parameter["name"])
            names = {name: name.lower().replace("-", "_") for found in places.values() for name in found}
            taken = [names[name] for name in places["path"]]
            body = "requestBody" in entry
            optional = [f"{names[name]}=None" for name in (*places["query"], *places["header"])]
            given = ", ".join(["self", *taken, *(["body"] if body else []), *optional])
            filled = path
            for name in places["path"]:
                filled = filled.replace(f"{{{name}}}", f"{{urllib.parse.quote({names[name]}, safe='')}}")
            query, headers = (
                "{" + ", ".join(f"{name!r}: {names[name]}" for name in places[place]) + "}"
                for place in ("query", "header")
            )
            statuses = sorted(entry["responses"])
            yield f"    def {entry['operationId']}({given}):"
            yield f'        path = f"{filled}"'
            sent = f"{method.upper()!r}, path, {query}, {headers}, {'body' if body else None}"
            yield f"        return self._send({sent}, {statuses})\n"
