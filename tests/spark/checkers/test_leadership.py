"""Who led when, as the brokers themselves reported, and who acknowledged a record."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable

import pytest
from pyspark.sql import SparkSession

from checkers.evidence.leadership import (
    MOST_SPANS,
    LeaderSpan,
    leader_changes,
    leader_spans,
    leaders_in_time,
)
from harness.model.journal import SAMPLES
from tests.spark.conftest import Check
from tests.support.builders.frames import frame
from tests.support.history import TOPIC, History, Row, ns, sample

pytestmark = pytest.mark.spark

EVER = 2**63 - 1
Read = Callable[[Iterable[Row]], tuple[LeaderSpan, ...]]


@pytest.fixture
def read(spark: SparkSession) -> Read:
    """read(samples) -> the spans in them."""
    return lambda rows: leader_spans(frame(spark, rows, SAMPLES), TOPIC)


def test_a_span_begins_when_a_broker_tells_of_itself(read: Read) -> None:
    rows = [sample(1, 1, 2, 4), sample(2, 2, 2, 4), sample(3, 2, 2, 4)]
    assert read(rows) == ((0, ns(2), EVER, 2, 4),)


def test_it_ends_when_that_broker_tells_of_another(read: Read) -> None:
    rows = [sample(1, 1, 1, 4), sample(2, 1, 1, 4), sample(3, 1, 2, 5), sample(4, 1, 2, 5)]
    assert read(rows) == ((0, ns(1), ns(3), 1, 4),)


def test_it_ends_when_that_broker_does_not_answer(read: Read) -> None:
    """As a killed one, which acknowledges nothing; what it leads after that is another span."""
    silent = [sample(at, 1, 0, 0, answered=False) for at in (3, 4)]
    back = [sample(9, 1, 1, 6), sample(2, 2, 1, 4), sample(10, 2, 1, 6)]
    other = [sample(3, 2, 0, 0, answered=False), sample(5, 2, 2, 5), sample(8, 2, 1, 6)]
    assert read([sample(1, 1, 1, 4), *silent, *back, *other]) == (
        (0, ns(1), ns(3), 1, 4),
        (0, ns(5), ns(8), 2, 5),
        (0, ns(9), EVER, 1, 6),
    )


def test_what_it_told_before_ends_nothing(read: Read) -> None:
    rows = [sample(0, 1, 2, 3), sample(1, 1, 1, 4), sample(2, 1, 1, 4)]
    assert read(rows) == ((0, ns(1), EVER, 1, 4),)


def test_at_the_same_moment_it_is_over_at_once(read: Read) -> None:
    assert read([sample(1, 1, 1, 4), sample(1, 1, 2, 5)]) == ((0, ns(1), ns(1), 1, 4),)


def test_another_epoch_of_its_own_is_another_span(read: Read) -> None:
    rows = [sample(1, 1, 1, 4), sample(5, 1, 1, 6), sample(6, 1, 1, 6)]
    assert read(rows) == ((0, ns(1), ns(5), 1, 4), (0, ns(5), EVER, 1, 6))


def test_between_two_epochs_it_did_not_lead(read: Read) -> None:
    rows = [sample(1, 1, 1, 4), sample(2, 1, 2, 5), sample(5, 1, 1, 6), sample(7, 1, 2, 7)]
    assert read(rows) == ((0, ns(1), ns(2), 1, 4), (0, ns(5), ns(7), 1, 6))


def test_one_that_is_cut_off_goes_on_to_believe(read: Read) -> None:
    rows = [sample(1, 1, 1, 4), sample(3, 2, 2, 5), sample(4, 1, 1, 4), sample(9, 1, 2, 5)]
    assert read(rows) == ((0, ns(1), ns(9), 1, 4), (0, ns(3), EVER, 2, 5))


def test_each_partition_by_itself(read: Read) -> None:
    rows = [
        sample(1, 1, 1, 4, partition=0),
        sample(1, 1, 1, 4, partition=1),
        sample(2, 1, 2, 5, partition=1),
        sample(2, 2, 3, 5, partition=0),
    ]
    assert read(rows) == ((0, ns(1), EVER, 1, 4), (1, ns(1), ns(2), 1, 4))


def test_other_topics_and_leaders_without_an_epoch_say_nothing(read: Read) -> None:
    foreign = {**sample(1, 1, 1, 4), "topic": "another"}
    old = {**sample(1, 2, 2, 4), "leader_epoch": None}
    assert read([foreign, old]) == ()
    ended = {**sample(2, 3, 3, 4), "leader_epoch": None}
    assert read([sample(1, 3, 3, 4), ended]) == ((0, ns(1), ns(2), 3, 4),)


def test_the_order_of_rows_does_not_matter(read: Read) -> None:
    rows = [
        sample(1, 1, 1, 4),
        sample(3, 1, 2, 5),
        sample(3, 2, 2, 5),
        sample(4, 2, 3, 6),
        sample(2, 1, 1, 4),
    ]
    expected = ((0, ns(1), ns(3), 1, 4), (0, ns(3), ns(4), 2, 5))
    assert read(rows) == read(rows[::-1]) == read(rows[3:] + rows[:3]) == expected
    assert read([]) == ()


def test_of_very_many_the_first(read: Read) -> None:
    rows = [sample(1, 1, 1, 4, partition=number) for number in range(MOST_SPANS + 5)]
    random.Random(3).shuffle(rows)
    spans = read(rows)
    assert [span.partition for span in spans] == list(range(MOST_SPANS))


def test_epochs_after_the_first_are_changes() -> None:
    spans = [LeaderSpan(*one) for one in ((0, 10, 20, 1, 4), (0, 15, 30, 2, 5), (0, 12, 40, 3, 5))]
    assert leader_changes([*spans, LeaderSpan(1, 7, EVER, 1, 9)]) == [12]


SPANS = tuple(LeaderSpan(*one) for one in ((0, 10, 20, 1, 4), (0, 15, EVER, 2, 5), (1, 0, EVER, 3, 7)))
ACKS = [
    ("before", 0, 9, None, None),
    ("first moment", 0, 10, 1, 4),
    ("two believe", 0, 15, 1, 4),
    ("last moment", 0, 20, 1, 4),
    ("after", 0, 21, 2, 5),
    ("another partition", 1, 5, 3, 7),
    ("a partition that nobody told of", 2, 15, None, None),
]


@pytest.mark.parametrize(("name", "partition", "at", "broker", "epoch"), ACKS)
def test_who_acknowledged(name: str, partition: int, at: int, broker: int | None, epoch: int | None) -> None:
    led = [
        (one.broker, one.epoch)
        for one in leaders_in_time(SPANS)
        if one.partition == partition and one.begun <= at <= one.ended
    ]
    assert led == ([] if broker is None else [(broker, epoch)]), name


def test_at_every_moment_at_most_one_leads_that_of_the_lowest_epoch() -> None:
    """Random spans that overlap in every way, against the definition at each moment."""
    for seed in range(300):
        draw = random.Random(seed)
        spans = []
        for _ in range(draw.randrange(7)):
            begun = draw.randrange(12)
            ended = draw.choice([begun, begun + draw.randrange(8), EVER])
            broker, epoch = draw.randrange(1, 4), draw.randrange(1, 5)
            spans.append(LeaderSpan(draw.randrange(2), begun, ended, broker, epoch))
        found = leaders_in_time(spans)
        assert found == sorted(found)
        for partition in (0, 1):
            for at in (*range(-1, 22), EVER):
                there = [one for one in spans if one.partition == partition and one.begun <= at <= one.ended]
                least = min(((one.epoch, one.begun, one.ended, one.broker) for one in there), default=None)
                told = [one for one in found if one.partition == partition and one.begun <= at <= one.ended]
                assert [(one.epoch, one.broker) for one in told] == (
                    [] if least is None else [(least[0], least[3])]
                ), (seed, partition, at)


def test_findings_name_the_leader_that_acknowledged(check: Check) -> None:
    """Brokers 1 and 2 both believe that they lead between 15 and 20 seconds."""
    history = History()
    closed = {0: 9, 1: 10, 2: 15, 3: 20, 4: 20.000000001, 5: 90, 6: None}
    for seq, at in closed.items():
        history.send(seq, at=seq, sent=1, closed=at)
    history.send(7, at=7, closed=15, partition=1)
    samples = [sample(10, 1, 1, 4), sample(20, 1, 2, 5), sample(15, 2, 2, 5)]
    _, rows = check(history, samples=samples)
    led = {row["seq"]: (row["acked_by"], row["acked_epoch"]) for row in rows}
    nobody, first, second = (None, None), (1, 4), (2, 5)
    assert led == dict(enumerate((nobody, first, first, first, second, second, nobody, nobody)))
    assert {row["finding"] for row in rows} == {"lost"}
