"""Live readers of one topic with their journals."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from harness.model.group_journal import ASSIGNMENTS, COMMITS
from harness.model.journal import READS
from workloads.records.config.reader_spec import ReaderSpec
from workloads.records.journal.row_journal import RowJournal
from workloads.records.reader.reader_journal import ReaderSinks, Source
from workloads.records.reader.readers import Readers

PARTITIONS = 4

RUN = 77

Rows = list[dict[str, Any]]

PATIENCE = 90.0

QUICK = {"session.timeout.ms": "6000", "heartbeat.interval.ms": "300"}
"""The mock cluster takes a member that left for dead after its session only."""


class LiveReaders:
    """Readers of one topic, and their journals once they are closed."""

    def __init__(self, folder: Path, bootstrap: str, topic: str, *specs: ReaderSpec) -> None:
        self._folder = folder
        self._sinks = (
            RowJournal(folder / "assignments", ASSIGNMENTS),
            RowJournal(folder / "commits", COMMITS),
        )
        source = Source(
            bootstrap=bootstrap,
            topic=topic,
            partitions=PARTITIONS,
            run_id=RUN,
            folder=folder / "live",
            sinks=ReaderSinks(*self._sinks),
        )
        self.readers = Readers(specs, source)

    def until(self, seen: Callable[[], bool]) -> None:
        deadline = time.monotonic() + PATIENCE
        while not seen():
            assert time.monotonic() < deadline
            time.sleep(0.02)

    def end(self) -> None:
        assert self.readers.catch_up(time.monotonic() + PATIENCE)
        self.close()
        assert self.readers.problems == ()

    def close(self) -> None:
        self.readers.close()
        for sink in self._sinks:
            sink.close()

    def rows(self, name: str) -> Rows:
        table = pq.read_table(self._folder / "live" / name)
        assert table.schema == READS
        found: Rows = table.to_pylist()
        assert [row["position"] for row in found] == list(range(len(found))), "in the order of the files"
        assert {row["reader"] for row in found} <= {name}
        for row in found:
            assert (row["state"], row["producer"], row["seq"]) == ("ok", row["partition"], row["offset"])
        return found

    def table(self, name: str) -> Rows:
        found: Rows = pq.read_table(self._folder / name).to_pylist()
        return found


def rising(rows: Rows) -> None:
    """Within a session each partition's offsets must rise."""
    last: dict[tuple[int, int], int] = defaultdict(lambda: -1)
    for row in rows:
        place = (row["session"], row["partition"])
        assert row["offset"] > last[place], row
        last[place] = row["offset"]


def everything(count: int) -> set[tuple[int, int]]:
    """Partition and offset of all that was written, `count` to each partition."""
    return {(number, offset) for number in range(PARTITIONS) for offset in range(count)}


def places(rows: Rows) -> list[tuple[int, int]]:
    """Partition and offset of each row."""
    return [(row["partition"], row["offset"]) for row in rows]
