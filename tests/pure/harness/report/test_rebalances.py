"""Rebalances on the timeline of a report, the time without an owner, and what share groups were given."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from harness.model.group_journal import ASSIGNMENTS, ASSIGNMENTS_DIR
from harness.model.result import OwnerlessTime, ShareCount
from harness.model.run import ReaderInfo
from harness.report import arm_tables
from harness.report.timeline import read_timeline
from harness.report.timeline_chart import lay_out
from tests.support.builders.results import meta, summary
from tests.support.builders.run_folders import run_folder
from workloads.groups.group_words import ownerless
from workloads.share.share_words import shares

pytestmark = pytest.mark.pure

READERS = (ReaderInfo(name="a", group="g"), ReaderInfo(name="alone"))


def assigned(folder: Path, *moments: tuple[str, float]) -> None:
    began = meta().started_ns
    rows = [
        {"reader": reader, "session": 0, "at_ns": began + int(at * 1e9), "event": "assigned"}
        | {"topic": "t", "partition": 0}
        for reader, at in moments
    ]
    path = folder / ASSIGNMENTS_DIR
    path.mkdir()
    pq.write_table(pa.Table.from_pylist(rows, schema=ASSIGNMENTS), path / "part-00000.parquet")


def test_rebalances_of_groups_are_counted_and_drawn(tmp_path: Path) -> None:
    folder = run_folder(tmp_path)
    assigned(folder, ("a", 2.3), ("a", 2.4), ("alone", 1.0))
    run = meta().model_copy(update={"readers": READERS})
    found = read_timeline(folder, run)
    assert {index: count for index, count in enumerate(found.rebalances) if count} == {9: 2}
    (row,) = lay_out(found, run).mark_rows
    assert (row.label, row.marks[0].kind) == ("rebal.", "rebalanced")
    assert arm_tables.rebalances(found, run).rows == [("2.25 s", "2.50 s", "2", "kill-1")]
    assert arm_tables.moments(found, run).rows == [], "they are no findings"


def test_a_run_without_groups_has_none(tmp_path: Path) -> None:
    folder = run_folder(tmp_path)
    assigned(folder, ("alone", 1.0))
    found = read_timeline(folder, meta().model_copy(update={"readers": READERS[1:]}))
    assert found.rebalances == ()
    assert lay_out(found, meta()).mark_rows == ()


def test_the_time_without_an_owner_is_a_table() -> None:
    told = OwnerlessTime(group="g", partition=3, seconds=6.94, longest=4.5)
    found = summary().model_copy(update={"ownerless": (told,)})
    assert ownerless(found).rows == [("g", "3", "6.9", "4.5")]


def test_what_share_groups_were_given_is_a_table() -> None:
    told = ShareCount(
        group="q",
        records=1500,
        deliveries=1600,
        accepted=1490,
        released=60,
        rejected=10,
        failed=4,
        unanswered=3,
    )
    found = summary().model_copy(update={"shares": (told,)})
    assert shares(found).rows == [("q", "1,500", "1,600", "1,490", "60", "10", "4", "3")]
    assert shares(summary()).rows == []
