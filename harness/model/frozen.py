"""The base of models that are values, and the values of Kafka's settings in them."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, WithJsonSchema


class Frozen(BaseModel):
    """An immutable model. Unknown fields are refused; a field with an alias can also be set by its name."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)


def plain(value: object) -> object:
    """A YAML scalar as Kafka writes it: YAML reads 2 as a number and true as a boolean."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, int | float) else value


Setting = Annotated[
    str, BeforeValidator(plain), WithJsonSchema({"type": ["string", "integer", "number", "boolean"]})
]
"""A value that Kafka takes as text, however YAML reads it."""
