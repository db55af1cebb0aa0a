"""What the replicas' files hold, broker beside broker."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from checkers.journals.views import Scratch, Views
from checkers.registry import load_whole_run
from checkers.replicas.find import HOLDINGS, broker_spans, find, holdings, replica_rows, unequal_offsets
from harness.model.run import FinalRead, RunMeta
from tests.support.history import History, Row, bounds, run_meta, write_run
from tests.support.oracle import diverged

pytestmark = pytest.mark.spark

END = 40
META = run_meta(final_read=FinalRead(complete=True, bounds=(bounds(end=END),)))
Of = Callable[..., Views]
Find = Callable[..., list[Row]]


@pytest.fixture
def of(spark: SparkSession, tmp_path: Path) -> Of:
    """of(history) -> the views of a run folder written for it."""

    def run(*histories: History, meta: RunMeta = META, row_group: int = 1000) -> Views:
        folder = tmp_path / f"run-{len(list(tmp_path.iterdir()))}"
        folder.mkdir()
        write_run(folder, *histories, meta=meta, row_group=row_group)
        return Views.of(spark, load_whole_run(folder))

    return run


@pytest.fixture
def found(of: Of, spark: SparkSession, tmp_path: Path) -> Find:
    """found(history) -> findings about replicas, by partition and offset."""

    def run(*histories: History, **options: object) -> list[Row]:
        views = of(*histories, **options)
        scratch = tmp_path / f"scratch-{len(list(tmp_path.iterdir()))}"
        scratch.mkdir()
        result = find(views, Scratch(spark, scratch))
        assert result.problems == ()
        rows = [] if result.findings is None else result.findings.toArrow().to_pylist()
        return sorted(rows, key=lambda row: (row["partition"], row["offsets"]))

    return run


def _logs(**held: dict[int, int]) -> History:
    """Replicas' files: by broker (`b1`), offset and seq."""
    history = History().send(0, at=0)
    for broker, log in held.items():
        for at, seq in log.items():
            history.replica(int(broker[1:]), seq, at=at)
    return history


def test_flags_of_each_broker(of: Of) -> None:
    views = of(_logs(b1={0: 0, 1: 1, 2: 2}, b2={0: 0, 1: 9, 3: 3}, b3={1: 1, 3: 4}))
    rows = replica_rows(views)
    spans = broker_spans(rows)
    facts = holdings(rows, spans, unequal_offsets(rows, spans)).select(*HOLDINGS[1:]).collect()
    told = {(row["offset"], row["broker"]): tuple(row[name] for name in HOLDINGS[3:]) for row in facts}
    assert set(told) == {(offset, broker) for offset in range(4) for broker in (1, 2, 3)}
    # held, leader_holds, as_leader, all_alike, within
    assert told[0, 1] == (True, True, True, True, False)
    assert told[0, 2] == (True, True, True, True, False)
    assert told[1, 2] == (True, True, False, False, True)
    assert told[1, 3] == (True, True, True, False, False)
    assert told[2, 2] == (False, True, False, True, True)
    assert told[3, 2] == (True, False, False, False, False)
    assert told[0, 3] == (False, True, False, True, False)


def test_a_finding_names_the_brokers_and_since_when_they_differ(found: Find) -> None:
    same = {offset: offset for offset in range(6)}
    history = _logs(b1=same, b2=same | {3: 30, 4: 40}, b3=same | {4: 41})
    first, second = found(history)
    assert (first["finding"], first["offsets"], first["held_by"], first["partition"]) == (
        *("diverged", [3], [2]),
        0,
    )
    assert first["detail"] == "replicas of t-0 differ at offset 3: broker 2 differs from offset 3 on"
    assert (second["offsets"], second["held_by"]) == ([4], [2, 3])
    assert second["detail"] == (
        "replicas of t-0 differ at offset 4: broker 2 differs from offset 3 on, "
        "broker 3 differs from offset 4 on"
    )


def test_equal_replicas_and_ends_that_lack_are_no_finding(found: Find) -> None:
    same = {offset: offset for offset in range(10)}
    shorter = {offset: offset for offset in range(3, 7)}
    assert found(_logs(b1=same, b2=same, b3=same)) == []
    assert found(_logs(b1=same, b2=same, b3=shorter)) == []


def test_a_hole_is_a_finding_even_if_another_offset_is_there_twice(found: Find) -> None:
    same = {offset: offset for offset in range(4)}
    history = _logs(b1=same, b2=same, b3={0: 0, 2: 2, 3: 3})
    history.replica(2, 1, at=1)
    (row,) = found(history)
    assert (row["offsets"], row["held_by"]) == ([1], [3])


def test_brokers_whose_numbers_differ_by_64_are_told_apart(found: Find) -> None:
    same = {offset: offset for offset in range(4)}
    hole = {0: 0, 2: 2, 3: 3}
    (row,) = found(_logs(b1=same, b2=same, b66=hole))
    assert (row["offsets"], row["held_by"]) == ([1], [66])


def test_only_what_the_final_read_bounds_counts(found: Find) -> None:
    assert found(_logs(b1={END: 1}, b2={END: 2})) == []
    assert len(found(_logs(b1={END - 1: 1}, b2={END - 1: 2}))) == 1
    history = _logs(b1={1: 1}, b2={1: 2})
    elsewhere = run_meta(final_read=FinalRead(complete=True, bounds=(bounds(partition=1),)))
    assert found(history, meta=elsewhere) == []
    assert found(history, meta=run_meta(final_read=None)) == []


@pytest.mark.parametrize(
    "changed",
    [{"state": "corrupt"}, {"control": True}, {"epoch": 1}, {"run": 5}, {"producer": 1}, {"crc": 3}],
    ids=str,
)
def test_each_part_of_the_content_counts(found: Find, changed: dict[str, object]) -> None:
    history = History().send(0, at=0).replica(1, 4, at=1).replica(2, 4, at=1)
    assert found(history) == []
    options: dict[str, object] = {"at": 2, **changed}
    history.replica(1, 4, at=2).replica(2, 4, **options)  # type: ignore[arg-type]
    assert [row["offsets"] for row in found(history)] == [[2]]


def test_nulls_in_other_columns_are_another_record(found: Find) -> None:
    history = History().send(0, at=0).replica(1, 4, at=1).replica(2, 4, at=1)
    history.replicas[0] |= {"run": 4, "producer": None}
    history.replicas[1] |= {"run": None, "producer": 4}
    assert len(found(history)) == 1


def test_same_as_the_oracle_however_the_rows_are_laid_out(found: Find) -> None:
    draw = random.Random(3)
    histories = []
    for partition in range(4):
        history = History(partition=partition).send(0, at=0)
        for at in range(45):
            for broker in (1, 2, 3):
                if draw.random() < 0.9:
                    history.replica(broker, at + (draw.random() < 0.1), at=at)
        histories.append(history)
    final = FinalRead(
        complete=True, bounds=tuple(bounds(one, end=END, leader=max(one, 1)) for one in range(4))
    )
    meta = run_meta(final_read=final)
    rows = found(*histories, meta=meta)
    expected = {place for history in histories for place in diverged(meta, history)}
    assert {(row["partition"], row["offsets"][0], tuple(row["held_by"])) for row in rows} == expected
    assert len(rows) == len(expected) > 20
    assert all(offset < END for _, offset, _ in expected), "what is at or above the end does not count"
    assert found(*histories, meta=meta, row_group=4) == rows
