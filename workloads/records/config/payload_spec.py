"""What records hold, where an application under test must be able to parse them; and functions of the user,
named "module:function" in experiments."""

from __future__ import annotations

import importlib
import os
import re
import sys
from collections.abc import Callable, Iterator
from typing import Annotated, Any, Self

from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator

from harness.model.errors import BadInput
from harness.model.frozen import Frozen

PLACEHOLDERS = ("seq", "producer", "key", "identity")
PLACEHOLDER = re.compile(r"\$(\$|[a-z_]+)")
"""`$seq` and so on in a text of a template; `$$` stands for one dollar sign."""


def _function_name(value: Any) -> Any:
    """A function as "module:name", so that an experiment with it can be saved and run again."""
    if not callable(value):
        return value
    name = getattr(value, "__qualname__", type(value).__name__)
    if not re.fullmatch(r"[A-Za-z_]\w*", name):
        raise ValueError(
            f"{name} cannot be imported by its name: define the function at the top of a module, with `def`"
        )
    return f"{value.__module__}:{name}"


def import_function(name: str, *, of: str, where: str, takes: str) -> Callable[..., Any]:
    """Import "module:function", also from the working directory.

    Args:
        of: whose function it is, for the message ("the payload").
        where: the key in the experiment.
        takes: what the function takes, for the message.

    Raises:
        BadInput: it cannot be imported, or is no function.
    """
    module, _, attribute = name.partition(":")
    here = os.getcwd()
    added = here not in sys.path
    if added:
        # As `python -m` does: the function often stands beside the experiment.
        sys.path.insert(0, here)
    try:
        function: Callable[..., Any] = getattr(importlib.import_module(module), attribute)
    except Exception as error:  # importing runs the user's module
        raise BadInput(
            f"the function of {of} cannot be imported",
            where=f"{where}: {name}",
            expected="a module on Python's path or in the working directory, and a function in it",
            found=f"{type(error).__name__}: {error}",
            next_step="correct the name, or run from the module's directory",
        ) from error
    finally:
        if added:
            sys.path.remove(here)
    if not callable(function):
        raise BadInput(
            f"the function of {of} is none",
            where=f"{where}: {name}",
            expected=f"a function of {takes}",
            found=type(function).__name__,
            next_step="name a function",
        )
    return function


def _checked_template(template: Any) -> Any:
    for text in texts(template):
        for name in PLACEHOLDER.findall(text):
            if name not in ("$", *PLACEHOLDERS):
                known = ", ".join(f"${placeholder}" for placeholder in PLACEHOLDERS)
                raise ValueError(f"${name} is none of {known}: correct it, or write $$ for a dollar sign")
    return template


def texts(template: Any) -> Iterator[str]:
    """All texts in a template, names of fields left out."""
    if isinstance(template, str):
        yield template
    elif isinstance(template, dict | list | tuple):
        for value in template.values() if isinstance(template, dict) else template:
            yield from texts(value)


Template = Annotated[Any, BeforeValidator(_checked_template), WithJsonSchema({})]
"""Data with `$seq`, `$producer`, `$key` (numbers where they are a whole text) or `$identity` in its texts."""


class AvroPayload(Frozen):
    """Values in Avro's binary encoding: `record` filled in and written with `schema`, a schema or the path of
    a file with one. With `schema_id` in the wire format of Confluent's Schema Registry: a zero byte and the
    number, big endian, before the data. Needs the package fastavro."""

    schema_: dict[str, Any] | str = Field(
        alias="schema", description="an Avro schema, or the path of its file"
    )
    record: Template
    schema_id: int | None = Field(default=None, ge=0, le=2**31 - 1)


class PayloadSpec(Frozen):
    """What records hold instead of kafka-chaos's own bytes; exactly one of the following.

    `json` is a template: any data, whose texts may hold `$seq`, `$producer` and `$key`. A text that is just
    one of these becomes a number. `avro` is the same in Avro. `python` is a function, as "module:name", that
    is called with producer and seq and returns (key, value, headers): bytes, text or None each, and a mapping
    of texts to bytes or None. A key of None leaves the workload's own.

    The identity of a record is in the header `kafka-chaos-identity`, or in its value if that has `$identity`
    in a text, or `IDENTITY_TEXT` if Python wrote it.
    """

    json_: Template | None = Field(default=None, alias="json", description="a template of JSON data")
    avro: AvroPayload | None = None
    python: Annotated[
        str | None,
        BeforeValidator(_function_name),
        WithJsonSchema({"type": ["string", "null"], "pattern": r"^[\w.]+:\w+$"}),
    ] = Field(
        default=None, pattern=r"^[A-Za-z_][\w.]*:[A-Za-z_]\w*$", description='a function, "module:name"'
    )

    @model_validator(mode="after")
    def _check(self) -> Self:
        kinds = {"json": self.json_, "avro": self.avro, "python": self.python}
        given = [name for name, value in kinds.items() if value is not None]
        if len(given) != 1:
            raise ValueError(f"expected one of json, avro and python, got {' and '.join(given) or 'none'}")
        return self
