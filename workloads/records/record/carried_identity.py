"""Identity of records whose values have another form: an application under test must be able to parse them.

The identity is then in a record header, or in the value as text. Its content is the same in both cases: the
28 bytes with which our own values begin (`workloads.records.record.identity`), whose CRC-32C covers the rest
of the value:

    header   `kafka-chaos-identity`: the 28 bytes; the CRC covers the whole value
    text     the 28 bytes as 56 lower-case hexadecimal digits anywhere in the value; the CRC covers the value
             without these digits
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from crc32c import crc32c

from workloads.records.record.identity import HEAD, MAGIC, PREFIX, UNDECODABLE, Decoded, decode

IDENTITY_HEADER = "kafka-chaos-identity"
"""Name of the record header that holds an identity."""

Headers = Sequence[tuple[str, Any]] | None
"""As clients and logs give them; only an identity's content is looked at, which is bytes."""

_TEXT_BYTES = 2 * PREFIX
_MAGIC_TEXT = f"{MAGIC:08x}".encode()
_TEXT = re.compile(_MAGIC_TEXT + rb"[0-9a-f]{%d}" % (_TEXT_BYTES - len(_MAGIC_TEXT)))
IDENTITY_TEXT = _MAGIC_TEXT.decode() + "0" * (_TEXT_BYTES - len(_MAGIC_TEXT))
"""Stands in a value for the identity, which replaces it: of the same length, since formats write lengths."""


@dataclass(frozen=True, slots=True)
class Carried:
    """A value and its identity of 28 bytes; `in_value`: the value holds it, so that no header has to."""

    value: bytes | None
    identity: bytes
    in_value: bool = False

    @property
    def header(self) -> bytes | None:
        """Content of the header; None if the value holds the identity."""
        return None if self.in_value else self.identity


def identity_of(content: bytes, run: int, producer: int, seq: int) -> bytes:
    """The 28 bytes of record `seq`, whose CRC covers this content."""
    head = HEAD.pack(MAGIC, run, producer, seq)
    return head + crc32c(head + content).to_bytes(4, "big")


def carry(value: bytes | None, run: int, producer: int, seq: int) -> Carried:
    """Put the identity of record `seq` where `IDENTITY_TEXT` stands in its value; without it, in a header."""
    before, mark, behind = (value or b"").partition(IDENTITY_TEXT.encode())
    identity = identity_of(before + behind, run, producer, seq)
    if not mark:
        return Carried(value, identity)
    return Carried(before + identity.hex().encode() + behind, identity, in_value=True)


def decode_carried(values: Sequence[bytes | None], run: int, headers: Callable[[int], Headers]) -> Decoded:
    """As `workloads.records.record.identity.decode`, for values of any form; `headers(n)` gives the headers
    of the n-th record, and is called only for those whose value is not of our own form."""
    decoded = decode(values, run)
    indexes: list[int] = []
    own: list[bytes] = []
    for index in np.flatnonzero(decoded.state == UNDECODABLE).tolist():
        form = _own_form(values[index], headers(index))
        if form is not None:
            indexes.append(index)
            own.append(form)
    if indexes:
        decoded.replace(indexes, decode(own, run))
    return decoded


def _own_form(value: bytes | None, headers: Headers) -> bytes | None:
    """The identity followed by what its CRC covers; None if there is no identity."""
    content = value or b""
    for name, identity in headers or ():
        if name == IDENTITY_HEADER and isinstance(identity, bytes) and len(identity) == PREFIX:
            return identity + content
    match = _TEXT.search(content)
    if match is None:
        return None
    return bytes.fromhex(match.group().decode()) + content[: match.start()] + content[match.end() :]
