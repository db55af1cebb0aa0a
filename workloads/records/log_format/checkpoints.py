"""The small text files in which a broker keeps offsets and leader epochs beside its logs.

Pure: text in, rows out. Kafka replaces such a file as a whole (a temporary file, then a rename), so that it
is either the old one or the new one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

OFFSET_FILES = (
    "replication-offset-checkpoint",
    "recovery-point-offset-checkpoint",
    "log-start-offset-checkpoint",
)
"""In a log dir: high watermarks, recovery points and log start offsets of all its partitions."""
EPOCH_FILE = "leader-epoch-checkpoint"
"""In a partition's folder: leader epochs and the offsets at which they begin (KIP-101)."""

_NUMBER = re.compile(r"-?[0-9]{1,19}$")


def offset_rows(broker: int, file: str, text: str, topic: str) -> Iterator[dict[str, Any]]:
    """Rows of `harness.model.journal.CHECKPOINTS`, of one topic, from an offset checkpoint: version 0, a
    count, then lines of `topic partition offset`. An empty file, as Kafka creates it, gives no rows.

    Raises:
        ValueError: the text has another form.
    """
    for name, partition, offset in _lines(file, text, 3):
        if name == topic:
            row = {"broker": broker, "file": file, "topic": topic, "partition": int(partition)}
            yield {**row, "leader_epoch": None, "offset": int(offset)}


def epoch_rows(broker: int, topic: str, partition: int, text: str) -> Iterator[dict[str, Any]]:
    """Rows of `harness.model.journal.CHECKPOINTS` from a partition's leader-epoch-checkpoint: version 0, a
    count, then lines of `epoch start_offset`.

    Raises:
        ValueError: the text has another form.
    """
    for epoch, offset in _lines(EPOCH_FILE, text, 2):
        row = {"broker": broker, "file": EPOCH_FILE, "topic": topic, "partition": partition}
        yield {**row, "leader_epoch": int(epoch), "offset": int(offset)}


def _lines(file: str, text: str, words: int) -> list[list[str]]:
    if not text.strip():
        return []
    lines = text.split("\n")
    rows = [line.split() for line in lines[2:] if line.strip()]
    sound = lines[0].strip() == "0" and lines[1:2] == [str(len(rows))]
    if not sound or any(len(row) != words or not _numbers(*row[-2:]) for row in rows):
        raise ValueError(f"{file} is not a complete checkpoint of version 0: {text[:200]!r}")
    return rows


def _numbers(small: str, large: str) -> bool:
    """Whether the words are a partition or epoch (32 bits) and an offset (64 bits)."""
    return all(
        _NUMBER.match(word) and abs(int(word)) < 1 << bits for word, bits in ((small, 31), (large, 63))
    )
