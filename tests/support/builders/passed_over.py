"""What a group passed over: the log, and what is found."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

from checkers.journals.views import Scratch, Views
from checkers.registry import find_deliveries, load_whole_run
from harness.model.run import ReaderInfo, RunMeta
from tests.support.history import History, Row, run_meta, write_run

LATEST = (ReaderInfo(name="a", group="g", reset="latest"), ReaderInfo(name="b", group="g", reset="latest"))

META = run_meta(readers=LATEST, partitions=100)

Written = tuple[float, int, int]
"""When records were sent, and the offsets from which and to which."""


def history_of_log(*written: Written, history: History | None = None, partition: int = 0) -> History:
    """Records that were sent at these times and are all in the log."""
    history = history or History()
    for sent, first, last in written:
        for seq in range(first, last + 1):
            history.send(seq, at=seq, sent=sent, closed=sent + 0.5, partition=partition)
            history.read(seq, at=seq, partition=partition)
    return history


def findings_of_readers(
    spark: SparkSession, folder: Path, *histories: History, meta: RunMeta = META
) -> list[Row]:
    """The findings about what was passed over or given wrongly."""
    views = Views.of(spark, load_whole_run(write_run(folder / "run", *histories, meta=meta)))
    result = find_deliveries(views, Scratch(spark, folder / "scratch"))
    assert result.problems == ()
    rows = [] if result.findings is None else result.findings.toArrow().to_pylist()
    return sorted(rows, key=lambda row: (row["partition"], row["finding"], row["offsets"]))
