"""Record batches (v2) and segment files built by hand."""

from __future__ import annotations

import struct

from crc32c import crc32c

_HEAD = struct.Struct(">hiqqqhii")
"""attributes, last offset delta, base timestamp, max timestamp, producer id, epoch, sequence, records"""


def batch(base: int, count: int, payload: int = 40, *, control: bool = False) -> bytes:
    """A batch of `count` offsets from `base` with `payload` bytes of records (whatever they may be)."""
    covered = _HEAD.pack(0x20 if control else 0, count - 1, 0, 0, -1, -1, -1, count) + b"r" * payload
    head = struct.pack(">qiibI", base, len(covered) + 9, 0, 2, crc32c(covered))
    return head + covered


def segment(base: int, *sizes: int) -> bytes:
    """Batches of 10 offsets with these payloads."""
    return b"".join(batch(base + 10 * index, 10, payload) for index, payload in enumerate(sizes))
