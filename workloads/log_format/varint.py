"""Variable-length integers of the record format (KIP-98: zig-zag, 7 bits per byte, least significant
first)."""

from __future__ import annotations


def read_varint(data: bytes | memoryview, position: int) -> tuple[int, int]:
    """(value, position after it).

    Raises:
        IndexError: the data ends within the number.
        ValueError: the number has more than 10 bytes.
    """
    shift = raw = 0
    while True:
        byte = data[position]
        position += 1
        raw |= (byte & 0x7F) << shift
        if byte < 0x80:
            return (raw >> 1) ^ -(raw & 1), position
        shift += 7
        if shift > 63:
            raise ValueError("a varint of more than 10 bytes")


def write_varint(number: int) -> bytes:
    """The bytes of a number of at most 64 bits."""
    raw = (number << 1) ^ (number >> 63)
    out = bytearray()
    while raw > 0x7F:
        out.append(raw & 0x7F | 0x80)
        raw >>= 7
    out.append(raw)
    return bytes(out)
