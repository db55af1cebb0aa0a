"""Whether what a share group has not finished is markers of transactions: hand-built logs and deliveries."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from harness.model.share_journal import DELIVERIES
from tests.support.builders.batches import batch, marker
from tests.support.builders.views import state
from workloads.records.journal.row_journal import RowJournal
from workloads.share.share_admin import ShareStart
from workloads.share.share_markers import MarkersLeft

pytestmark = pytest.mark.pure

LOG = b"".join(
    [batch(0, 5, pid=7), marker(5, pid=7, commit=True), batch(6, 3, pid=7), marker(9, pid=7, commit=True)]
)
"""Records 0 to 4 and 6 to 8, markers at 5 and 9."""
RECORDS = (*range(5), *range(6, 9))


def delivery(offset: int, **changes: Any) -> dict[str, Any]:
    return {
        "member": "q-0",
        "session": 0,
        "group": "q",
        "topic": "t",
        "partition": 0,
        "offset": offset,
        "state": "ok",
        "asked_ns": 1,
        "acquired_ns": 1,
        "acknowledgement": "accept",
        "acknowledged_ns": 2,
        "answered_ns": 3,
        **changes,
    }


def left(
    tmp_path: Path,
    *rows: dict[str, Any],
    start: ShareStart = ShareStart(0, start=2, lag=2),  # noqa: B008
    mark: int = 10,
    end: int = 10,
) -> bool:
    with RowJournal(tmp_path, DELIVERIES) as journal:
        for row in rows:
            journal.append(row)
    copied: list[int] = []

    def files(number: int, topic: str, partition: int) -> dict[str, bytes]:
        assert (number, topic, partition) == (3, "t", 0)
        copied.append(number)
        return {"00000000000000000000.log": LOG}

    found = MarkersLeft(SimpleNamespace(log_files=files), "t", tmp_path)  # type: ignore[arg-type]
    leaders = {0: state(leader=3, end=end, mark=mark)}
    answer = found.only("q", (start,), leaders)
    assert found.only("q", (start,), leaders) is answer
    assert len(copied) <= 1, "each log is read once"
    return answer


def test_only_markers_are_left(tmp_path: Path) -> None:
    assert left(tmp_path, *(delivery(offset) for offset in RECORDS if offset >= 2))


def test_without_a_lag_that_the_broker_tells_it_is_the_same(tmp_path: Path) -> None:
    rows = [delivery(offset, acknowledgement="reject") for offset in RECORDS]
    assert left(tmp_path, *rows, start=ShareStart(0, start=0))


@pytest.mark.parametrize(
    "last",
    [
        {"acknowledgement": "release"},
        {"answered_ns": None},
        {"error": "INVALID_RECORD_STATE"},
        {"group": "another"},
        {"partition": 1},
    ],
)
def test_a_record_that_is_not_finished_is_no_marker(tmp_path: Path, last: dict[str, Any]) -> None:
    rows = [delivery(offset) for offset in RECORDS[:-1]]
    assert not left(tmp_path, *rows, delivery(RECORDS[-1], **last))
    assert left(tmp_path / "again", *rows, delivery(RECORDS[-1], **last), delivery(RECORDS[-1]))


@pytest.mark.parametrize(
    "unclear",
    [
        {"start": ShareStart(0, error="NOT_COORDINATOR")},
        {"start": ShareStart(0)},
        {"mark": 9},
        # A record that the files do not show yet.
        {"mark": 11, "end": 11},
    ],
)
def test_what_is_not_known_is_not_finished(tmp_path: Path, unclear: dict[str, Any]) -> None:
    assert not left(tmp_path, *map(delivery, RECORDS), **unclear)
