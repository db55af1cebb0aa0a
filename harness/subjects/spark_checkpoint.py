"""Reads the checkpoint of Spark Structured Streaming."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

CHECKPOINT = "checkpoint"
"""Its folder in the state folder."""


def processed_offsets(state: Path) -> Mapping[int, int]:
    """The offsets up to which committed batches have processed the input, by partition."""
    folder = state / CHECKPOINT
    commits = [int(one.name) for one in (folder / "commits").glob("*") if one.name.isdigit()]
    for number in sorted(commits, reverse=True):
        try:
            last = (folder / "offsets" / str(number)).read_text().splitlines()[-1]
            (partitions,) = json.loads(last).values()
            return {int(partition): int(offset) for partition, offset in partitions.items()}
        except (OSError, ValueError, IndexError):
            continue  # It is being written, or was removed meanwhile.
    return {}
