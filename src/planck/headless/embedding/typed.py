"""`run(output_type=T)`: the answer of a run as an object of a Python type."""

import dataclasses
import json
import sys
from typing import Any, Generic, TypeVar

import msgspec

from planck.headless.embedding.arguments import refuse
from planck.headless.open_session import OpenSession
from planck.headless.structured import AnswerSchema
from planck.records.messages import Image, Text, UserMessage, user_text
from planck.records.outcome import Err, ErrorKind, PlanckError
from planck.session.result import RunResult
from planck.toolkit.decorator import decode_path, describe_path

T = TypeVar("T")


class TypedResult(RunResult, Generic[T], frozen=True, kw_only=True):
    """The result of `run(output_type=T)`.

    Example:

        result = planck.run("Name two cities.", output_type=list[str])
        for city in result.require_data():
            print(city)
    """

    data: T | None = None
    """The answer; None where the run did not complete with one. `require_data` raises there."""

    def require_data(self) -> T:
        """Returns the answer, or raises `PlanckError` with the run's first error."""
        self.raise_for_status()
        if not self.ok:
            raise PlanckError(ErrorKind.INVALID_RESPONSE, "The run ended without an answer. Prompt it again.")
        return self.data  # type: ignore[return-value]  # T may allow None


class OutputType(AnswerSchema, Generic[T]):
    """Any type that msgspec or pydantic reads: dataclasses, TypedDict, structs, models, lists of them."""

    def __init__(self, kind: type[T]) -> None:
        self._kind = kind
        self._model: Any = None
        name = getattr(kind, "__name__", str(kind))
        try:
            if "pydantic" in sys.modules:
                from planck.toolkit.models import Model, uses_pydantic

                if uses_pydantic(kind) or _has_pydantic_fields(kind, uses_pydantic):
                    self._model = Model(kind)
            schema = self._model.schema if self._model else _make_schema(kind)
        except (TypeError, NameError) as problem:
            raise refuse(f"output_type cannot be {name}: {problem}. Use another type.") from None
        super().__init__(schema, name)

    def check(self, text: str) -> str | Err:
        """As of any schema; what validators of the type refuse is told to the model, too."""
        found = super().check(text)
        if isinstance(found, Err):
            return found
        try:
            self.convert(found)
        except ValueError as problem:
            return Err(ErrorKind.INVALID_RESPONSE, f"The answer does not fit: {problem}")
        return found

    def convert(self, answer: str) -> T:
        value = json.loads(answer)
        found: T = (
            self._model.read(value)
            if self._model
            else msgspec.convert(value, self._kind, str_keys=True, dec_hook=decode_path)
        )
        return found

    def instruct(self, prompt: str | UserMessage) -> UserMessage:
        """Returns the prompt with the schema behind it, which frontends do not show."""
        message = user_text(prompt) if isinstance(prompt, str) else prompt
        images = [part for part in message.parts if isinstance(part, Image)]
        text = Text(f"{message.text}\n\n{self.instructions}")
        return UserMessage((text, *images), typed=message.typed or message.text)

    async def run_typed(
        self, session: OpenSession, prompt: str | UserMessage, *, timeout: float | None = None
    ) -> TypedResult[T]:
        result = await self.run(session, self.instruct(prompt), timeout=timeout)
        fields = {name: getattr(result, name) for name in RunResult.__struct_fields__}
        return TypedResult(**fields, data=self.convert(result.text) if result.ok else None)


def _make_schema(kind: Any) -> dict[str, Any]:
    """Returns the schema with what it refers to inside; its top says which type it is."""
    schema = msgspec.json.schema(kind, schema_hook=describe_path)
    name = schema.get("$ref", "").removeprefix("#/$defs/")
    if not name:
        return schema
    definitions = schema["$defs"]
    top: dict[str, Any] = definitions[name]
    recursive = f'"#/$defs/{name}"' in json.dumps(definitions)
    rest = {key: value for key, value in definitions.items() if recursive or key != name}
    return {**top, "$defs": rest} if rest else top


def _has_pydantic_fields(kind: Any, uses_pydantic: Any) -> bool:
    """Whether a dataclass or a TypedDict has a model of pydantic in it."""
    hints = getattr(kind, "__annotations__", {})
    return (dataclasses.is_dataclass(kind) or hasattr(kind, "__total__")) and any(
        uses_pydantic(hint) for hint in hints.values()
    )
