"""Paths into JSON documents: `$.order.id`, `$['order id']`, `$.lines[0]`, `$.lines[*].id`."""

from __future__ import annotations

import re
from typing import Any

_STEP = re.compile(r"\.([^.\[\]]+)|\['([^']*)'\]|\[(\d+)\]|\[(\*)\]")

JsonStep = str | int | None
"""A member's name, an element's number, or None: every element."""


def parsed_path(text: str) -> tuple[JsonStep, ...]:
    """The steps of a path.

    Raises:
        ValueError: it cannot be read, with the reason.
    """
    steps: list[JsonStep] = []
    position = 1
    if not text.startswith("$"):
        raise ValueError(f"a path begins with $, got {text!r}")
    while position < len(text):
        match = _STEP.match(text, position)
        if match is None:
            raise ValueError(
                f"{text!r} cannot be read from {text[position:]!r} on: use .name, ['name'], [0] or [*]"
            )
        name, quoted, number, _ = match.groups()
        steps.append(int(number) if number else name or quoted)
        position = match.end()
    return tuple(steps)


def at_path(document: Any, steps: tuple[JsonStep, ...]) -> Any:
    """The value at the path; with `[*]` a list of values.

    Raises:
        LookupError: there is no value at the path; names the missing step.
    """
    for number, step in enumerate(steps):
        if step is None:
            if not isinstance(document, list):
                raise LookupError("[*] needs a list")
            return [at_path(each, steps[number + 1 :]) for each in document]
        if isinstance(step, int):
            if not isinstance(document, list) or step >= len(document):
                raise LookupError(f"there is no [{step}]")
            document = document[step]
        elif not isinstance(document, dict) or step not in document:
            raise LookupError(f"there is no member {step!r}")
        else:
            document = document[step]
    return document
