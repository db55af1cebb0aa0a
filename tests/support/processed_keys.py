"""The source of a processed record, from its key."""

from __future__ import annotations

from workloads.transactions.processor import OFFSET_BITS


def source_of(key: int) -> tuple[int, int]:
    """(partition, offset) of the record for which the record with this key id was written."""
    return key >> OFFSET_BITS, key & (1 << OFFSET_BITS) - 1
