"""A partition in words."""

from __future__ import annotations

NO_PARTITION = -1
"""What journals have if the client did not say to which partition a record was sent."""
UNNAMED_PARTITION = "a partition that the client did not name"


def partition_in_words(partition: int) -> str:
    """ "partition 3"; of a send of which the client said no partition, that."""
    return UNNAMED_PARTITION if partition == NO_PARTITION else f"partition {partition}"
