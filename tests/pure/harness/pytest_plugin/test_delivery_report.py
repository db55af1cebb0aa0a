"""What `assert_delivered` says of records that an application missed."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.model.run import ReaderInfo, RunMeta
from harness.pytest_plugin.delivery_report import Committed, Position, describe, ranges_of
from tests.support.history import OTHER_RUN, History, run_meta, window, write_run

pytestmark = pytest.mark.pure

WINDOWS = (window("kill-1", 10, 11), window("cut-1", 20, None), window("pause-1", 11.500000001, 12))
NO_FAULT = "no fault was open meanwhile"
ALL_FAULTS = (
    "faults of the run: kill-1 (leader) from 10.00 s to 11.00 s, cut-1 (leader) from 20.00 s never healed, "
    "pause-1 (leader) from 11.50 s to 12.00 s"
)


def _run(folder: Path, **changes: object) -> tuple[RunMeta, Path]:
    """Offset n of partition 0 was sent at second n and reported half a second later."""
    history = History()
    for number in range(30):
        history.send(number, at=number, sent=number, closed=number + 0.5).read(number, at=number)
    history.send(30, "indeterminate", partition=1, sent=30, closed=None).read(30, at=7, partition=1)
    history.read(1, at=8, partition=1, run=OTHER_RUN, state="foreign")
    meta = run_meta(windows=WINDOWS, **changes)
    return meta, write_run(folder, history, meta=meta, files=2)


def _lines(
    folder: Path,
    positions: list[Position],
    committed: Committed | str | None = None,
    *,
    missed: bool = True,
    **changes: object,
) -> list[str]:
    meta, run = _run(folder, **changes)
    return describe(positions, meta, run, committed, missed=missed).splitlines()


def test_ranges() -> None:
    positions = [(0, 1), (0, 2), (0, 3), (0, 5), (1, 6), (1, 7), (2, 8)]
    assert list(map(str, ranges_of(positions))) == ["0:1-3", "0:5", "1:6-7", "2:8"]
    assert [len(one) for one in ranges_of(positions)] == [3, 1, 2, 1]
    assert ranges_of([]) == []


def test_each_range_has_its_times_and_the_faults_that_were_open(tmp_path: Path) -> None:
    assert _lines(tmp_path, [(0, 5), (0, 9), (0, 10), (0, 11), (0, 21), (1, 7)]) == [
        "partition:offset 0:5, 0:9-11, 0:21, 1:7",
        f"  partition 0, offset 5: sent and reported from 5.00 s to 5.50 s, {NO_FAULT}",
        "  partition 0, offsets 9 to 11 (3 records): sent and reported from 9.00 s to 11.50 s, "
        "open meanwhile: kill-1 (leader)",
        "  partition 0, offset 21: sent and reported from 21.00 s to 21.50 s, open meanwhile: cut-1 (leader)",
        # It never got a report.
        "  partition 1, offset 7: sent and reported from 30.00 s to 30.00 s, open meanwhile: cut-1 (leader)",
        ALL_FAULTS,
    ]


def test_records_with_ids_of_their_own_are_named(tmp_path: Path) -> None:
    history = History()
    for number in range(8):
        own = None if number == 6 else f"order-{number}"
        history.read(number, at=number, record_id=own).send(number, at=number, sent=number, closed=number)
    history.read(8, at=1, partition=1, record_id="elsewhere")
    meta = run_meta()
    run = write_run(tmp_path, history, meta=meta, files=2)
    positions = [(0, 0), (0, 2), (0, 3), (0, 4), (0, 5), (0, 6)]

    lines = describe(positions, meta, run, None, missed=True).splitlines()

    assert [line.split(": sent")[0] for line in lines[1:3]] == [
        "  partition 0, offset 0, id order-0",
        "  partition 0, offsets 2 to 6 (5 records), ids order-2, order-3, order-4 and 1 more",
    ]


def test_only_the_first_ranges_are_shown(tmp_path: Path) -> None:
    lines = _lines(tmp_path, [(0, offset) for offset in range(0, 20, 2)])
    assert lines[0] == "partition:offset 0:0, 0:2, 0:4, 0:6, 0:8, and 5 more ranges"
    assert len(lines) == 7


def test_what_the_run_did_not_write_has_no_time(tmp_path: Path) -> None:
    lines = _lines(tmp_path, [(0, 99), (1, 8)], missed=False)
    assert lines == [
        "partition:offset 0:99, 1:8",
        "  partition 0, offset 99",
        "  partition 1, offset 8",
        ALL_FAULTS,
    ]


def test_without_journals_the_ranges_are_still_told(tmp_path: Path) -> None:
    (tmp_path / "reads").mkdir()
    (tmp_path / "reads" / "part-0.parquet").write_bytes(b"PAR1")
    assert describe([(0, 1)], run_meta(), tmp_path, None, missed=True).splitlines() == [
        "partition:offset 0:1",
        "  partition 0, offset 1",
        "faults of the run: none",
    ]


@pytest.mark.parametrize(
    ("committed", "lines"),
    [
        ({}, ["no consumer group of yours has committed an offset of this topic"]),
        ({"chaos-reader": {0: 30}}, ["no consumer group of yours has committed an offset of this topic"]),
        ("the brokers are gone", ["what consumer groups have committed is not known: the brokers are gone"]),
        (
            {"orders": {0: 4}},
            [
                "group orders has committed offset 4 of partition 0: 2 of the 3 missing here lie before it "
                "and are not read again",
                "group orders has committed no offset of partition 1",
            ],
        ),
        (
            {"orders": {0: 2, 1: 8}, "audit": {0: 3}},
            [
                "group audit has committed offset 3 of partition 0: 1 of the 3 missing here lie before it "
                "and are not read again",
                "group audit has committed no offset of partition 1",
                "group orders has committed offset 2 of partition 0: none of the 3 missing here lies before "
                "it, so the group has yet to read on",
                "group orders has committed offset 8 of partition 1: 1 of the 1 missing here lie before it "
                "and are not read again",
            ],
        ),
    ],
)
def test_what_groups_have_committed(committed: Committed | str, lines: list[str], tmp_path: Path) -> None:
    readers = (ReaderInfo(name="live", group="chaos-reader"),)
    shown = _lines(tmp_path, [(0, 2), (0, 3), (0, 4), (1, 7)], committed, readers=readers)
    assert shown[3:-1] == [f"  {line}" for line in lines]


def test_of_records_that_came_twice_only_the_offset_is_told(tmp_path: Path) -> None:
    lines = _lines(tmp_path, [(0, 2)], {"orders": {0: 4}}, missed=False)
    assert lines[2] == "  group orders has committed offset 4 of partition 0"
