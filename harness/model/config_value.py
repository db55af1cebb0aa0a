"""Values of Kafka's settings, as YAML files hold them."""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator, WithJsonSchema


def plain(value: object) -> object:
    """A YAML scalar as Kafka writes it: YAML reads 2 as a number and true as a boolean."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, int | float) else value


Setting = Annotated[
    str,
    BeforeValidator(plain),
    WithJsonSchema({"type": ["string", "integer", "number", "boolean"]}),
]
"""A value that Kafka takes as text, however YAML reads it."""
