"""Who led when, by the brokers' own word, and who acknowledged a record: by hand-built samples."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from checkers.facts.columns import NULL
from checkers.findings.leadership_history import (
    MOST_SPANS,
    LeadershipHistory,
    LeaderSpan,
    acknowledging_leaders,
    read_leadership,
)
from checkers.journals.footers import JournalFile
from harness.model.journal import SAMPLES
from harness.model.storage import place
from tests.support.history import TOPIC, Row, ns, sample

pytestmark = pytest.mark.pure

EVER = 2**63 - 1


def read(folder: Path, *files: list[Row]) -> tuple[LeaderSpan, ...]:
    journals = []
    for number, rows in enumerate(files):
        path = folder / f"part-{number}.parquet"
        pq.write_table(pa.Table.from_pylist(rows, schema=SAMPLES), path)
        journals.append(JournalFile.open(place(str(path))))
    return read_leadership(journals, TOPIC).spans


def test_a_span_begins_when_a_broker_tells_of_itself(tmp_path: Path) -> None:
    rows = [sample(1, 1, 2, 4), sample(2, 2, 2, 4), sample(3, 2, 2, 4)]
    assert read(tmp_path, rows) == ((0, ns(2), EVER, 2, 4),)


def test_it_ends_when_that_broker_tells_of_another(tmp_path: Path) -> None:
    rows = [sample(1, 1, 1, 4), sample(2, 1, 1, 4), sample(3, 1, 2, 5), sample(4, 1, 2, 5)]
    assert read(tmp_path, rows) == ((0, ns(1), ns(3), 1, 4),)


def test_what_it_told_before_ends_nothing(tmp_path: Path) -> None:
    rows = [sample(0, 1, 2, 3), sample(1, 1, 1, 4), sample(2, 1, 1, 4)]
    assert read(tmp_path, rows) == ((0, ns(1), EVER, 1, 4),)


def test_at_the_same_moment_it_is_over_at_once(tmp_path: Path) -> None:
    assert read(tmp_path, [sample(1, 1, 1, 4), sample(1, 1, 2, 5)]) == ((0, ns(1), ns(1), 1, 4),)


def test_another_epoch_of_its_own_is_another_span(tmp_path: Path) -> None:
    rows = [sample(1, 1, 1, 4), sample(5, 1, 1, 6), sample(6, 1, 1, 6)]
    assert read(tmp_path, rows) == ((0, ns(1), ns(5), 1, 4), (0, ns(5), EVER, 1, 6))


def test_between_two_epochs_it_did_not_lead(tmp_path: Path) -> None:
    rows = [sample(1, 1, 1, 4), sample(2, 1, 2, 5), sample(5, 1, 1, 6), sample(7, 1, 2, 7)]
    assert read(tmp_path, rows) == ((0, ns(1), ns(2), 1, 4), (0, ns(5), ns(7), 1, 6))


def test_one_that_is_cut_off_goes_on_to_believe(tmp_path: Path) -> None:
    rows = [sample(1, 1, 1, 4), sample(3, 2, 2, 5), sample(4, 1, 1, 4), sample(9, 1, 2, 5)]
    assert read(tmp_path, rows) == ((0, ns(1), ns(9), 1, 4), (0, ns(3), EVER, 2, 5))


def test_each_partition_by_itself(tmp_path: Path) -> None:
    rows = [
        sample(1, 1, 1, 4, partition=0),
        sample(1, 1, 1, 4, partition=1),
        sample(2, 1, 2, 5, partition=1),
        sample(2, 2, 3, 5, partition=0),
    ]
    assert read(tmp_path, rows) == ((0, ns(1), EVER, 1, 4), (1, ns(1), ns(2), 1, 4))


def test_other_topics_and_leaders_without_an_epoch_say_nothing(tmp_path: Path) -> None:
    foreign = {**sample(1, 1, 1, 4), "topic": "another"}
    old = {**sample(1, 2, 2, 4), "leader_epoch": None}
    assert read(tmp_path, [foreign, old]) == ()
    ended = {**sample(2, 3, 3, 4), "leader_epoch": None}
    assert read(tmp_path, [sample(1, 3, 3, 4), ended]) == ((0, ns(1), ns(2), 3, 4),)


def test_the_order_of_rows_and_files_does_not_matter(tmp_path: Path) -> None:
    rows = [
        sample(1, 1, 1, 4),
        sample(3, 1, 2, 5),
        sample(3, 2, 2, 5),
        sample(4, 2, 3, 6),
        sample(2, 1, 1, 4),
    ]
    expected = ((0, ns(1), ns(3), 1, 4), (0, ns(3), ns(4), 2, 5))
    assert (
        read(tmp_path, rows) == read(tmp_path, rows[::-1]) == read(tmp_path, rows[3:], rows[:3]) == expected
    )
    assert read(tmp_path) == ()


def test_of_very_many_the_first(tmp_path: Path) -> None:
    rows = [sample(1, 1, 1, 4, partition=number) for number in range(MOST_SPANS + 5)]
    spans = read(tmp_path, rows)
    assert len(spans) == MOST_SPANS
    assert spans[-1][0] == MOST_SPANS - 1


SPANS = ((0, 10, 20, 1, 4), (0, 15, EVER, 2, 5), (1, 0, EVER, 3, 7))
ACKS = [
    ("before", 0, 9, None, None),
    ("first moment", 0, 10, 1, 4),
    ("two believe", 0, 15, 1, 4),
    ("last moment", 0, 20, 1, 4),
    ("after", 0, 21, 2, 5),
    ("another partition", 1, 5, 3, 7),
    ("a partition that nobody told of", 2, 15, None, None),
    ("of the second producer", 2**32, 12, 1, 4),
]


def test_who_acknowledged() -> None:
    partition = np.array([spot % 2**32 for _, spot, _, _, _ in ACKS])
    closed = np.array([at for _, _, at, _, _ in ACKS])
    everything = np.ones(len(ACKS), bool)
    told = acknowledging_leaders(LeadershipHistory(SPANS), partition, closed, everything)
    expected = [
        [NULL if one is None else one for one in column]
        for column in zip(*(ack[3:] for ack in ACKS), strict=True)
    ]
    assert [column.tolist() for column in told] == expected
    wanted = np.array([name == "after" for name, *_ in ACKS])
    leader, epoch = acknowledging_leaders(LeadershipHistory(SPANS), partition, closed, wanted)
    assert leader[wanted].tolist() == [2]
    assert set(leader[~wanted].tolist()) == set(epoch[~wanted].tolist()) == {NULL}
    for column in acknowledging_leaders(LeadershipHistory(()), partition, closed, everything):
        assert set(column.tolist()) == {NULL}
    without = np.full(len(ACKS), NULL)
    for column in acknowledging_leaders(LeadershipHistory(SPANS), partition, without, everything):
        assert set(column.tolist()) == {NULL}
