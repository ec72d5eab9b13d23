"""Types of pydantic in annotations: their schema, and values read by them; loaded where pydantic is."""

import inspect
import typing
from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import BaseModel, PydanticUserError, TypeAdapter
from pydantic.fields import FieldInfo


class Model:
    """A type that pydantic reads."""

    def __init__(self, hint: Any) -> None:
        """Raises `TypeError` for what pydantic cannot represent."""
        try:
            self._adapter: TypeAdapter[Any] = TypeAdapter(hint)
            self.schema: dict[str, Any] = _drop_titles(
                self._adapter.json_schema(ref_template="#/$defs/{model}")
            )
        except PydanticUserError as problem:
            raise TypeError(str(problem).partition(". ")[0].splitlines()[0]) from problem

    def read(self, value: Any) -> Any:
        """Raises `ValueError` for what does not fit."""
        return self._adapter.validate_python(value)


def uses_pydantic(hint: Any) -> bool:
    """Whether a model of pydantic, or a `Field`, is anywhere in an annotation."""
    if isinstance(hint, type) and not typing.get_args(hint):
        return issubclass(hint, BaseModel)
    metadata = getattr(hint, "__metadata__", ())
    return any(isinstance(one, FieldInfo) for one in metadata) or any(
        uses_pydantic(inner) for inner in typing.get_args(hint)
    )


def read_pydantic(
    parameters: Sequence[inspect.Parameter], hints: dict[str, Any]
) -> tuple[list[inspect.Parameter], dict[str, Model]]:
    """Returns the parameters with values instead of `Field(...)`, and those that pydantic reads."""
    kept: list[inspect.Parameter] = []
    models: dict[str, Model] = {}
    for parameter in parameters:
        hint = hints.get(parameter.name, Any)
        if isinstance(field := parameter.default, FieldInfo):
            hint = hints[parameter.name] = Annotated[hint, field]
            default = parameter.empty if field.is_required() else field.get_default(call_default_factory=True)
            parameter = parameter.replace(default=default)
            # By its name: one without a default may stand behind one that has a default.
            parameter = parameter.replace(kind=parameter.KEYWORD_ONLY)
        if uses_pydantic(hint):
            models[parameter.name] = Model(hint)
        kept.append(parameter)
    return sorted(kept, key=lambda parameter: parameter.kind), models


def _drop_titles(schema: Any) -> Any:
    """A title repeats the name, which costs a model tokens."""
    if isinstance(schema, list):
        return [_drop_titles(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: {name: _drop_titles(one) for name, one in value.items()}
        if key in ("properties", "$defs")
        else _drop_titles(value)
        for key, value in schema.items()
        if not (key == "title" and isinstance(value, str))
    }
