"""How an output names the inputs that made it, as data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag

from harness.model.frozen import Frozen

_FUNCTION = r"^[A-Za-z_][\w.]*:[A-Za-z_]\w*$"


class HeaderIdentity(Frozen):
    """The identity is in a header of the output."""

    header: str = Field(min_length=1)


class JsonIdentity(Frozen):
    """The identity is a text (Base64 or hexadecimal of the input's value) at a path of the output's JSON."""

    json_: str = Field(alias="json", pattern=r"^\$", description="path, for example `$.order.id`")


class CallableIdentity(Frozen):
    """A function from an output record to the inputs that made it."""

    callable: str = Field(pattern=_FUNCTION, description='"module:function"')


def _kind(value: Any) -> str | None:
    if isinstance(value, str):
        return "word"
    if isinstance(value, Mapping) and len(value) == 1:
        return str(next(iter(value)))
    name = type(value).__name__
    return {"HeaderIdentity": "header", "JsonIdentity": "json", "CallableIdentity": "callable"}.get(name)


Identity = Annotated[
    Annotated[Literal["value", "key"], Tag("word")]
    | Annotated[HeaderIdentity, Tag("header")]
    | Annotated[JsonIdentity, Tag("json")]
    | Annotated[CallableIdentity, Tag("callable")],
    Discriminator(_kind),
]
"""How an output names the inputs that made it."""
