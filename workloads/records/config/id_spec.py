"""The place of the id that a user's records have of their own."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from pydantic import Field, ValidationError, model_validator

from harness.model.errors import BadInput
from harness.model.frozen import Frozen

_BYTES = re.compile(r"(\d+)\+(\d+)")
PLACES = "json:FIELD, json:FIELD,FIELD, header:NAME, key, or bytes:OFFSET+LENGTH"
"""How a place is written in one word."""


class ByteRange(Frozen):
    """`length` bytes of the value, from `offset` on; as an id they are written in hexadecimal digits."""

    offset: int = Field(0, ge=0, description="the first of them, from 0")
    length: int = Field(ge=1, le=256, description="how many they are")


class IdSpec(Frozen):
    """Where a record of the user's has its own id, such as the number of an order, and how often each id is
    meant to be in the log. One of `json`, `header`, `key` and `bytes` is given.

    A record without it has no id, and is judged as every record is.
    """

    json_field: str | tuple[str, ...] | None = Field(
        None,
        alias="json",
        description="a field of a JSON value, `order.id` for one within another; of several fields the id "
        "is their values, joined by a slash",
    )
    header: str | None = Field(None, min_length=1, description="the name of a header, whose text it is")
    key: bool = Field(False, description="true: the key, as text")
    bytes_of_value: ByteRange | None = Field(None, alias="bytes", description="bytes of the value")
    times: int = Field(1, ge=1, description="how often each id is meant to be in the log")

    @model_validator(mode="after")
    def _one_location(self) -> IdSpec:
        given = [self.json_field, self.header, self.key or None, self.bytes_of_value]
        if sum(one is not None for one in given) != 1:
            raise ValueError("one of json, header, key and bytes says where the id is")
        if self.json_field is not None and not (self.fields and all(self.fields)):
            raise ValueError("json names a field, or several")
        return self

    @property
    def fields(self) -> tuple[str, ...]:
        """The fields of a JSON value."""
        named = self.json_field or ()
        return (named,) if isinstance(named, str) else named

    def words(self) -> str:
        """Where the id is, for people."""
        if self.json_field is not None:
            return f"the field {' with '.join(self.fields)} of the value"
        if self.header is not None:
            return f"the header {self.header}"
        if self.bytes_of_value is not None:
            first = self.bytes_of_value.offset
            return f"bytes {first} to {first + self.bytes_of_value.length - 1} of the value"
        return "the key"


def id_of_program(given: Mapping[str, Any], where: str) -> IdSpec:
    """The place of an id as a program names it: the mapping that stands below `own: {id: ...}` in a file.

    Raises:
        BadInput: it names none; `where` is the function that was called.
    """
    try:
        return IdSpec.model_validate(given)
    except ValidationError as error:
        raise BadInput(
            "this is no place of an id",
            where=where,
            expected='{"json": "order.id"}, {"header": "order-id"}, {"key": True} or {"bytes": {"offset": 4, '
            '"length": 8}}; beside it "times"',
            found=repr(given),
            next_step="name the place where each record has its id",
        ) from error


def parse_id_location(text: str, times: int = 1) -> IdSpec:
    """The place of an id, written in one word (`PLACES`).

    Raises:
        BadInput: the text names none.
    """
    kind, _, rest = text.partition(":")
    given: dict[str, object] = {"key": True} if text == "key" else {}
    if kind == "json":
        names = rest.split(",")
        given = {"json": names[0] if len(names) == 1 else names}
    elif kind == "header":
        given = {"header": rest}
    elif kind == "bytes" and (numbers := _BYTES.fullmatch(rest)) is not None:
        given = {"bytes": {"offset": int(numbers[1]), "length": int(numbers[2])}}
    try:
        return IdSpec.model_validate({**given, "times": times})
    except ValidationError as error:
        raise BadInput(
            "this is no place of an id", expected=PLACES, found=text, next_step="write one of these"
        ) from error
