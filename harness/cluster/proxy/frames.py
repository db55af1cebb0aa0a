"""The beginnings of Kafka's requests and answers, read from bytes that may not be complete yet.

Each is a length of four bytes and as many bytes. A request begins with API key, version, correlation id and
client.id, whatever its version; an answer with the correlation id (Kafka's protocol guide, "Request header").
"""

from __future__ import annotations

import struct
from typing import NamedTuple

PRODUCE, FETCH, SASL_HANDSHAKE = 0, 1, 17
_HIGHEST_KEY = 1000
"""API keys above are taken for garbage; Kafka 4.1 has them up to 92."""
_REQUEST = struct.Struct(">ihhih")
_ANSWER = struct.Struct(">ii")
_INT16 = struct.Struct(">h")


class NotKafka(Exception):
    """The bytes are no message of Kafka's protocol, or one above the limit; says what they are."""


class RequestHead(NamedTuple):
    """The header of a request. `size` is that of the whole frame, with its length. Nothing answers a request
    that is not `answered`: a Produce with acks=0."""

    size: int
    key: int
    version: int
    correlation: int
    client: str | None
    answered: bool


class AnswerHead(NamedTuple):
    size: int
    correlation: int


def request_head(data: memoryview, most: int) -> RequestHead | int:
    """The head of the request that begins here, or how many bytes are needed to tell.

    Raises:
        NotKafka: no request begins here, or one of more than `most` bytes.
    """
    if len(data) < _REQUEST.size:
        if len(data) >= 4:
            _check_length(data, most, 8)
        return _REQUEST.size
    length, key, version, correlation, letters = _REQUEST.unpack_from(data)
    _check_length(data, most, 8)
    end = _REQUEST.size + max(0, letters)
    if not 0 <= key <= _HIGHEST_KEY or version < 0 or letters < -1 or end > length + 4:
        raise NotKafka(f"no request of Kafka: API key {key}, version {version}")
    # A Produce says after its header whether it is answered.
    wanted = min(length + 4, end + 3) if key == PRODUCE else end
    if len(data) < wanted:
        return int(wanted)
    answered = True
    if key == PRODUCE:
        acks = _acks(data, end, version, length + 4)
        if acks is None:
            return len(data) + 1
        answered = acks != 0
    name = None if letters < 0 else bytes(data[_REQUEST.size : end]).decode(errors="replace")
    return RequestHead(length + 4, key, version, correlation, name, answered)


def answer_head(data: memoryview, most: int) -> AnswerHead | int:
    """The head of the answer that begins here, or how many bytes are needed to tell; raises as
    `request_head`."""
    if len(data) >= 4:
        _check_length(data, most, 4)
    if len(data) < _ANSWER.size:
        return _ANSWER.size
    length, correlation = _ANSWER.unpack_from(data)
    return AnswerHead(length + 4, correlation)


def _check_length(data: memoryview, most: int, least: int) -> None:
    (length,) = struct.unpack_from(">i", data)
    if least <= length <= most:
        return
    begin = bytes(data[:4])
    if begin[:2] == b"\x16\x03":
        raise NotKafka("TLS, which this listener does not speak")
    if length > most and not begin.isalpha() and begin[0] < 0x20:
        raise NotKafka(f"a frame of {length} bytes, above the limit of {most}")
    raise NotKafka(f"no message of Kafka: it begins with {begin!r}")


def _acks(data: memoryview, at: int, version: int, end: int) -> int | None:
    """The acks of a Produce request whose header's client.id ends at `at`; None: not all bytes are here.

    Version 9 is the first with tagged fields and compact strings (KIP-482), 3 the first with a transactional
    id.
    """
    try:
        if version >= 9:
            tags, at = _varint(data, at)
            for _ in range(tags):
                _, at = _varint(data, at)
                size, at = _varint(data, at)
                at += size
            size, at = _varint(data, at)
            at += max(0, size - 1)
        elif version >= 3:
            at += 2 + max(0, _INT16.unpack_from(data, at)[0])
        return int(_INT16.unpack_from(data, at)[0])
    except (IndexError, struct.error):
        if len(data) >= end:
            raise NotKafka("a Produce request that ends before its acks") from None
        return None


def _varint(data: memoryview, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
        if shift > 28:
            raise NotKafka("a length that does not end")
