"""The identities that outputs name, in the forms in which an application may pass them on, and paths to them
in JSON documents: `$.order.id`, `$['order id']`, `$.lines[0]`, `$.lines[*].id`.

An identity is the whole value of the input; the 28 bytes that it begins with, or that are in its header; one
of these as hexadecimal digits or Base64 in a text; or `{"producer": 0, "seq": 5}`.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from workloads.records.record.carried_identity import Headers, decode_carried
from workloads.records.record.identity import (
    CORRUPT,
    DTYPE,
    FOREIGN,
    MAGIC,
    OK,
    PREFIX,
    UNDECODABLE,
    Decoded,
    decode,
)

_MAGIC_BYTES = MAGIC.to_bytes(4, "big")
_HEX = re.compile(_MAGIC_BYTES.hex().encode() + rb"(?:[0-9a-f]{2}){%d,}" % (PREFIX - 4), re.IGNORECASE)
_BASE64 = re.compile(base64.b64encode(_MAGIC_BYTES)[:5] + rb"[A-Za-z0-9+/_-]{32,}={0,2}")
_STEP = re.compile(r"\.([^.\[\]]+)|\['([^']*)'\]|\[(\d+)\]|\[(\*)\]")

JsonStep = str | int | None
"""A member's name, an element's number, or None: every element."""


@dataclass(frozen=True, slots=True)
class InputNumbers:
    """An input by its numbers: it is one of this run."""

    producer: int
    seq: int


NamedInput = bytes | InputNumbers


class UnusableAnswer(ValueError):
    """What was found is in none of the forms of an identity."""


def named_inputs(found: Any) -> list[NamedInput]:
    """The inputs that a JSON document or a function names: one, or a list of several.

    Raises:
        UnusableAnswer: it is none of the forms of an identity.
    """
    if found is None:
        return []
    named = _one(found)
    if named is not None:
        return [named]
    if isinstance(found, Mapping) or not hasattr(found, "__iter__"):
        raise UnusableAnswer(_expectation(found))
    several = []
    for each in found:
        if (named := _one(each)) is None:
            raise UnusableAnswer(_expectation(each))
        several.append(named)
    return several


def _one(found: Any) -> NamedInput | None:
    if isinstance(found, bytes | bytearray | memoryview):
        return bytes(found)
    if isinstance(found, str):
        return found.encode(errors="replace")
    if isinstance(found, Mapping):
        found = (found.get("producer"), found.get("seq"))
    if isinstance(found, tuple) and len(found) == 2 and all(type(number) is int for number in found):
        producer, seq = found
        if 0 <= producer < 2**31 and 0 <= seq < 2**63:
            return InputNumbers(producer, seq)
    return None


def _expectation(found: Any) -> str:
    return (
        "expected an identity (bytes, or a text with its hexadecimal digits or Base64), producer and seq, or "
        f"a list of these, got {str(found)[:80]!r} ({type(found).__name__})"
    )


def decode_named(inputs: Sequence[NamedInput | None], run: int) -> Decoded:
    """Decode the identities that outputs name.

    An identity of 28 bytes without the rest of its value has nothing that its checksum could be compared to,
    and is accepted as it is.
    """
    values = [None if isinstance(named, InputNumbers) else named for named in inputs]
    decoded = decode_unchanged(values, run)
    for index in np.flatnonzero((decoded.state == UNDECODABLE) | (decoded.state == CORRUPT)).tolist():
        alone = _alone(values[index])
        if alone is not None:
            claimed = np.frombuffer(alone, DTYPE)[0]
            decoded.run[index], decoded.producer[index] = claimed["run"], claimed["producer"]
            decoded.seq[index] = claimed["seq"]
            decoded.state[index] = OK if int(claimed["run"]) == run else FOREIGN
    for index, named in enumerate(inputs):
        if isinstance(named, InputNumbers):
            decoded.set_known(index, run, named.producer, named.seq)
    return decoded


def decode_unchanged(
    values: Sequence[bytes | None], run: int, headers: Sequence[Headers] | None = None
) -> Decoded:
    """Decode values that an application passed on unchanged, or as text; their checksums must match."""
    decoded = decode_carried(values, run, lambda index: headers[index] if headers is not None else None)
    for index in np.flatnonzero((decoded.state == UNDECODABLE) | (decoded.state == CORRUPT)).tolist():
        again = decode([_unwrapped(values[index])], run)
        if again.state[0] in (OK, FOREIGN):
            decoded.replace([index], again)
    return decoded


def _unwrapped(value: bytes | None) -> bytes | None:
    """The bytes that a text holds as hexadecimal digits or Base64; None: it holds no bytes that begin with
    our magic."""
    if value is None:
        return None
    digits = _HEX.search(value)
    if digits is not None:
        return bytes.fromhex(digits.group().decode())
    letters = _BASE64.search(value)
    if letters is None:
        return None
    text = letters.group().rstrip(b"=")
    altchars = b"-_" if b"-" in text or b"_" in text else None
    try:
        return base64.b64decode(text + b"=" * (-len(text) % 4), altchars)
    except binascii.Error:
        return None


def _alone(value: bytes | None) -> bytes | None:
    """The 28 bytes of an identity without a payload, as bytes or as text."""
    if value is None:
        return None
    if len(value) != PREFIX or not value.startswith(_MAGIC_BYTES):
        value = _unwrapped(value)
    return value if value is not None and len(value) == PREFIX else None


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
        elif not isinstance(document, dict) or step not in document:
            raise LookupError(f"there is no member {step!r}")
        document = document[step]
    return document
