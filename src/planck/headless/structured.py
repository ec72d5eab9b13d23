"""A final answer that fits a JSON Schema: the model is told of it, checked, and once told what was wrong."""

import json
import re
from collections.abc import Sequence
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
from planck.workspace.paths.regular import LeadsOutside, read_named

_MAX_BYTES = 256 * 1024
_MAX_PROBLEMS = 5
_FENCED = re.compile(r"\s*```(?:json)?\s*\n(.*?)\n?```\s*", re.DOTALL | re.IGNORECASE)


_AGAIN = "Give the final answer again. Write only JSON that matches the schema."


class AnswerSchema:
    def __init__(self, schema: Any, name: str) -> None:
        """Raises where it is none: nothing was sent then."""
        if not isinstance(schema, dict):
            raise _refuse(f"{name!r} is not a JSON Schema: it must be an object")
        try:
            self._validator = make_validator(schema)
        except (ValueError, TypeError) as problem:
            said = (str(problem).splitlines() or [""])[0]
            raise _refuse(f"{name!r} is not a JSON Schema: {said}") from None
        self._schema = schema

    @classmethod
    def read(cls, path: Path, roots: Sequence[str] = ()) -> "AnswerSchema":
        """Reads a file that the user named; in the `roots` others write, so that no link there leads out of
        them: models are told all of a schema."""
        try:
            content = read_named(path, _MAX_BYTES, roots)
        except LeadsOutside as refused:
            raise ConfigError(
                ErrorKind.OUTSIDE_WORKSPACE,
                f"{str(path)!r} is a link to {refused.real!r}, outside the workspace. Nothing was sent. "
                "To use that file as the schema, name its own path.",
            ) from None
        except OSError as failure:
            raise ConfigError(
                ErrorKind.READ_FAILED,
                f"Cannot read the schema {str(path)!r}: {failure.strerror or failure}. "
                "Pass a file with a JSON Schema.",
            ) from None
        try:
            schema = json.loads(content)
        except (ValueError, RecursionError) as problem:
            raise ConfigError(
                ErrorKind.INVALID_ARGS, f"{str(path)!r} is not valid JSON: {problem}. Fix the file."
            ) from None
        return cls(schema, str(path))

    @property
    def instructions(self) -> str:
        """What the model is told at the end of its system prompt."""
        text = json.dumps(self._schema, ensure_ascii=False, separators=(",", ":"))
        return (
            "# Final answer\nThe final answer of each turn must be JSON that matches this schema, without "
            f"any other text and without a code fence.\n{text}"
        )

    def check(self, text: str) -> "str | Err":
        """Returns the JSON of an answer as it was written, or what is wrong with it."""
        fenced = _FENCED.fullmatch(text)
        body = (fenced[1] if fenced else text).strip()
        try:
            value = json.loads(body)
        except (ValueError, RecursionError) as problem:
            return Err(ErrorKind.INVALID_RESPONSE, f"The answer is not valid JSON: {problem}")
        problems = []
        for error in self._validator.iter_errors(value):
            where = "/".join(map(str, error.instance_path)) or "the whole answer"
            problems.append(f"{where}: {error.message}")
            if len(problems) == _MAX_PROBLEMS:
                break
        if problems:
            why = f"The answer does not match the schema: {'; '.join(problems)}"
            return Err(ErrorKind.INVALID_RESPONSE, why)
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
            # But its text as it was given out: a hook may have withheld it.
            result = msgspec.structs.replace(
                whole,
                status=last.status,
                exit_code=last.exit_code,
                text=last.text,
                errors=(*result.errors, *last.errors),
            )
            if result.status is not TurnStatus.COMPLETED or not result.text.strip():
                return result
            answer = self.check(result.text)
        if isinstance(answer, Err):
            message = (
                f"{answer.message}. The second attempt failed too. Simplify the schema, or use another model."
            )
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
    return ConfigError(ErrorKind.INVALID_ARGS, f"{message}. See https://json-schema.org.")
