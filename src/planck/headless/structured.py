"""A final answer that fits a JSON Schema: the model is told of it, checked, and once told what was wrong."""

import json
import re
from pathlib import Path
from typing import Any

import msgspec

from planck.config.load import ConfigError
from planck.headless.open_session import OpenSession
from planck.records.events import Origin, TurnStatus
from planck.records.messages import UserMessage
from planck.records.outcome import Err, ErrorKind
from planck.session.result import Exit, RunResult
from planck.toolkit.tool import make_validator
from planck.workspace.paths.regular import read_regular

_MAX_BYTES = 256 * 1024
_MAX_PROBLEMS = 5
_FENCED = re.compile(r"\s*```(?:json)?\s*\n(.*?)\n?```\s*", re.DOTALL | re.IGNORECASE)


_AGAIN = "Give the final answer again, as JSON that fits the schema, and nothing else."


class AnswerSchema:
    def __init__(self, schema: Any, name: str) -> None:
        """Raises where it is none: nothing was sent then."""
        if not isinstance(schema, dict):
            raise _refuse(f"{name!r} holds no JSON Schema: it must be an object")
        try:
            self._validator = make_validator(schema)
        except (ValueError, TypeError) as problem:
            said = (str(problem).splitlines() or [""])[0]
            raise _refuse(f"{name!r} is no JSON Schema: {said}") from None
        self._schema = schema

    @classmethod
    def read(cls, path: Path) -> "AnswerSchema":
        try:
            content = read_regular(path, _MAX_BYTES)
        except OSError as failure:
            raise ConfigError(
                ErrorKind.READ_FAILED,
                f"cannot read the schema {str(path)!r}: {failure.strerror or failure}; name a file with a "
                "JSON Schema",
            ) from None
        try:
            schema = json.loads(content)
        except (ValueError, RecursionError) as problem:
            raise _refuse(f"{str(path)!r} is no JSON: {problem}") from None
        return cls(schema, str(path))

    @property
    def instructions(self) -> str:
        """What the model is told at the end of its system prompt."""
        text = json.dumps(self._schema, ensure_ascii=False, separators=(",", ":"))
        return (
            "# Final answer\nYour final answer of each turn is JSON that fits this schema, and nothing "
            f"beside it: no words around it, no code fence.\n{text}"
        )

    def check(self, text: str) -> "str | Err":
        """Returns the JSON of an answer as it was written, or what is wrong with it."""
        fenced = _FENCED.fullmatch(text)
        body = (fenced[1] if fenced else text).strip()
        try:
            value = json.loads(body)
        except (ValueError, RecursionError) as problem:
            return Err(ErrorKind.INVALID_RESPONSE, f"the answer is no JSON: {problem}")
        problems = []
        for error in self._validator.iter_errors(value):
            where = "/".join(map(str, error.instance_path)) or "the whole"
            problems.append(f"{where}: {error.message}")
            if len(problems) == _MAX_PROBLEMS:
                break
        if problems:
            return Err(ErrorKind.INVALID_RESPONSE, f"the answer does not fit: {'; '.join(problems)}")
        return body

    async def run(
        self, session: OpenSession, prompt: str | UserMessage, *, timeout: float | None = None
    ) -> RunResult:
        """Runs as `OpenSession.run` does; an answer that does not fit is asked for once more, and no more."""
        after = session.head
        result = await session.run(prompt, timeout=timeout)
        if result.status is not TurnStatus.COMPLETED or not result.text.strip():
            return result
        answer = self.check(result.text)
        took = result.duration_ms
        if isinstance(answer, Err):
            left = max(timeout - took / 1000, 0.001) if timeout is not None else None
            last = await session.run(
                f"{answer.message}. {_AGAIN}",
                timeout=left,
                origin=Origin.PLANCK,
            )
            took += last.duration_ms
            # Of both turns: what they cost, and what was denied in them.
            whole = session.result(after, took) if not session.closed else last
            result = msgspec.structs.replace(whole, status=last.status, exit_code=last.exit_code)
            if result.status is not TurnStatus.COMPLETED or not result.text.strip():
                return result
            answer = self.check(result.text)
        if isinstance(answer, Err):
            message = f"{answer.message}, twice; simplify the schema, or use another model"
            error: dict[str, Any] = {
                "agent_id": None,
                "kind": str(answer.kind),
                "message": message,
                "details": {},
            }
            return msgspec.structs.replace(
                result,
                status=TurnStatus.FAILED,
                errors=(*result.errors, error),
                exit_code=int(Exit.FAILURE),
            )
        return msgspec.structs.replace(result, text=answer)


def _refuse(message: str) -> ConfigError:
    return ConfigError(ErrorKind.INVALID_ARGS, f"{message}; see https://json-schema.org")
