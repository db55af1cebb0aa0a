"""Who led when, as the brokers themselves reported, and who acknowledged a record."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable

import pytest
from pyspark.sql import SparkSession

from checkers.evidence.leadership import (
    MOST_SPANS,
    NOBODY_TOLD,
    LeaderSpan,
    leader_changes,
    leader_spans,
    tenures,
)
from harness.model.journal import SAMPLES
from harness.model.run import FinalRead
from tests.support.builders.frames import frame
from tests.support.history import TOPIC, Check, History, Row, bounds, ns, run_meta, sample
from tests.support.leadership_oracle import acknowledged_by, reports_of

pytestmark = pytest.mark.spark

EVER = 2**63 - 1
NEVER = -(2**63)
Read = Callable[[Iterable[Row]], tuple[LeaderSpan, ...]]


@pytest.fixture
def read(spark: SparkSession) -> Read:
    """read(samples) -> the spans in them."""
    return lambda rows: leader_spans(frame(spark, rows, SAMPLES), TOPIC)


def span(
    begun: float | None,
    sampled: float,
    certain: float | None,
    ended: float | None,
    broker: int,
    epoch: int,
    partition: int = 0,
) -> LeaderSpan:
    """A span of these seconds; None: from the beginning, or without end."""
    times = (ns(sampled), *(EVER if one is None else ns(one) for one in (certain, ended)))
    return LeaderSpan(partition, NEVER if begun is None else ns(begun), *times, broker, epoch)  # type: ignore[arg-type]


def test_a_span_begins_after_a_broker_last_told_of_another(read: Read) -> None:
    rows = [sample(1, 1, 2, 4), sample(2, 2, 2, 4), sample(3, 2, 2, 4)]
    assert read(rows) == (span(None, 2, 3, None, 2, 4),)
    assert read([*rows, sample(1, 2, 1, 3)]) == (span(1, 2, 3, None, 2, 4),)


def test_it_ends_with_the_answer_after_that_in_which_the_broker_tells_of_another(read: Read) -> None:
    """What a broker says of a moment it said at any time until its next answer."""
    rows = [sample(1, 1, 1, 4), sample(2, 1, 1, 4), sample(3, 1, 2, 5), sample(4, 1, 2, 5)]
    assert read(rows) == (span(None, 1, 2, 4, 1, 4),)
    assert read(rows[:3]) == (span(None, 1, 2, None, 1, 4),)


def test_silence_ends_nothing(read: Read) -> None:
    """A broker that is frozen or cut off still believes that it leads, and answers what is in its sockets."""
    silent = [sample(at, 1, 0, 0, answered=False) for at in (3, 4)]
    thawed = [sample(9, 1, 2, 5), sample(10, 1, 2, 5)]
    other = [sample(2, 2, 1, 4), sample(3, 2, 0, 0, answered=False), sample(5, 2, 2, 5)]
    assert read([sample(1, 1, 1, 4), *silent, *thawed, *other]) == (
        span(None, 1, 9, 10, 1, 4),
        span(2, 5, None, None, 2, 5),
    )


def test_another_epoch_of_its_own_is_another_span(read: Read) -> None:
    rows = [sample(1, 1, 1, 4), sample(5, 1, 1, 6), sample(6, 1, 1, 6)]
    assert read(rows) == (span(None, 1, 5, 6, 1, 4), span(1, 5, 6, None, 1, 6))


def test_between_two_epochs_it_did_not_lead(read: Read) -> None:
    rows = [
        sample(1, 1, 1, 4),
        sample(2, 1, 2, 5),
        sample(5, 1, 1, 6),
        sample(7, 1, 2, 7),
        sample(8, 1, 2, 7),
    ]
    assert read(rows) == (span(None, 1, 2, 5, 1, 4), span(2, 5, 7, 8, 1, 6))


def test_each_partition_by_itself(read: Read) -> None:
    rows = [
        sample(1, 1, 1, 4, partition=0),
        sample(1, 1, 1, 4, partition=1),
        sample(2, 1, 2, 5, partition=1),
        sample(2, 2, 3, 5, partition=0),
    ]
    assert read(rows) == (span(None, 1, None, None, 1, 4), span(None, 1, 2, None, 1, 4, partition=1))


def test_other_topics_and_leaders_without_an_epoch_say_nothing(read: Read) -> None:
    foreign = {**sample(1, 1, 1, 4), "topic": "another"}
    old = {**sample(1, 2, 2, 4), "leader_epoch": None}
    assert read([foreign, old]) == ()
    ended = [{**sample(at, 3, 3, 4), "leader_epoch": None} for at in (2, 3)]
    assert read([sample(1, 3, 3, 4), *ended]) == (span(None, 1, 2, 3, 3, 4),)


def test_the_order_of_rows_does_not_matter(read: Read) -> None:
    rows = [
        sample(1, 1, 1, 4),
        sample(3, 1, 2, 5),
        sample(3, 2, 2, 5),
        sample(4, 2, 3, 6),
        sample(2, 1, 1, 4),
    ]
    expected = (span(None, 1, 2, None, 1, 4), span(None, 3, 4, None, 2, 5))
    assert read(rows) == read(rows[::-1]) == read(rows[3:] + rows[:3]) == expected
    assert read([]) == ()


def test_of_very_many_the_first_partitions_whole(read: Read) -> None:
    rows = [sample(1, 1, 1, 4, partition=number) for number in range(MOST_SPANS - 1)]
    # The last partition has two spans, of which only one is among the first.
    rows += [sample(at, 1, 1, at, partition=MOST_SPANS - 1) for at in (1, 2)]
    random.Random(3).shuffle(rows)
    assert [one.partition for one in read(rows)] == list(range(MOST_SPANS - 1))


def test_epochs_after_the_first_are_changes() -> None:
    spans = [span(None, 10, 11, 20, 1, 4), span(9, 15, 16, 30, 2, 5), span(9, 12, 14, 40, 3, 5)]
    assert leader_changes([*spans, span(None, 7, 8, None, 1, 9, partition=1)]) == [ns(12)]


def test_an_epoch_that_was_not_sampled_is_nobodys() -> None:
    spans = [span(None, 1, 2, 8, 1, 0), span(5, 6, 7, None, 2, 3)]
    found = tenures(spans)[0]
    assert {one for one in found if one.broker == NOBODY_TOLD} == {
        (NEVER, ns(7), NOBODY_TOLD, n) for n in (1, 2)
    }
    assert len(found) == 4
    assert NOBODY_TOLD not in [one.broker for one in tenures([spans[0], spans[1]._replace(epoch=1)])[0]]


def test_a_leader_that_died_before_it_answered_is_nobody() -> None:
    """The first epoch of a topic is 0; here that of the first answer is 2."""
    found = tenures([span(None, 6, 7, None, 2, 2)])[0]
    assert found == [*((NEVER, ns(7), NOBODY_TOLD, n) for n in (0, 1)), (NEVER, EVER, 2, 2)]


def history_of(*sends: tuple[float, float | None], replaced_in: int | None = None) -> History:
    """Lost records 0, 1, ... of these times (sent, closed); others of epoch `replaced_in` stand there."""
    history = History()
    for seq, (sent, closed) in enumerate(sends):
        history.send(seq, at=seq, sent=sent, closed=closed)
        if replaced_in is not None:
            history.send(100 + seq, at=seq, sent=90, closed=91).read(100 + seq, at=seq, epoch=replaced_in)
    return history


def answers(broker: int, *told: tuple[float, float, int, int], silent: tuple[float, ...] = ()) -> list[Row]:
    """Samples of a broker every second from each first to each last: leader and epoch."""
    rows = [
        sample(at, broker, leader, epoch)
        for first, last, leader, epoch in told
        for at in range(int(first), int(last) + 1)
    ]
    return rows + [sample(at, broker, 0, 0, answered=False) for at in silent]


# Broker 1 leads, is paused from 10 to 30, and learns at 32 that it does not lead any more.
PAUSE = [
    *answers(1, (0, 9, 1, 0), (32, 40, 2, 1), silent=tuple(range(10, 31))),
    *answers(2, (0, 18, 1, 0), (19, 40, 2, 1)),
]
FIRST, SECOND, NOBODY = (1, 0), (2, 1), (None, None)
CASES: list[tuple[str, list[Row], tuple[float, float | None], int | None, tuple[int | None, int | None]]] = [
    ("thawed: it answered what was in its sockets", PAUSE, (12, 31), 1, FIRST),
    ("and after the other one has led for long", PAUSE, (25, 31), 1, FIRST),
    ("the same, and nothing replaced it: it may be either", PAUSE, (25, 31), None, NOBODY),
    ("before the pause", PAUSE, (5, 6), 1, FIRST),
    ("before the pause, and nothing replaced it", PAUSE, (5, 6), None, FIRST),
    ("when it had learned", PAUSE, (34, 35), None, SECOND),
    ("when it had learned, replaced in a later epoch", PAUSE, (34, 35), 2, SECOND),
    ("when it had learned, yet in the epoch that replaced it: nobody", PAUSE, (34, 35), 1, NOBODY),
    ("replaced in the first epoch: nobody can have", PAUSE, (5, 6), 0, NOBODY),
    ("without a report", PAUSE, (5, None), 1, NOBODY),
    ("long in the queue", PAUSE, (5, 35), 2, NOBODY),
    ("sent when it had learned, replaced in an epoch that was not sampled", PAUSE, (34, 35), 3, SECOND),
    ("between two samples the leader may have changed", PAUSE, (18.2, 18.4), 2, NOBODY),
]


@pytest.mark.parametrize(("what", "samples", "times", "replaced_in", "expected"), CASES)
def test_who_acknowledged(
    check: Check,
    what: str,
    samples: list[Row],
    times: tuple[float, float | None],
    replaced_in: int | None,
    expected: tuple[int | None, int | None],
) -> None:
    history = history_of(times, replaced_in=replaced_in)
    _, rows = check(history, samples=samples)
    lost = next(row for row in rows if row["finding"] == "lost")
    assert (lost["acked_by"], lost["acked_epoch"]) == expected, what
    assert acknowledged_by(history.sends[0], history, samples) == expected, what


def test_of_a_broker_that_led_twice_only_the_broker_is_named(check: Check) -> None:
    """Between two samples the epoch rose, as older versions do when the ISR shrinks."""
    samples = [*answers(1, (0, 9, 1, 4), (10, 20, 1, 5)), *answers(2, (0, 20, 1, 4))]
    summary, rows = check(history_of((9.2, 9.4), replaced_in=7), samples=samples)
    assert [(row["acked_by"], row["acked_epoch"]) for row in rows] == [(1, None)]
    assert summary.blame == (
        "1 lost: sent in write to partition 0, acknowledged by broker 1, overwritten in epoch 7",
    )


def test_a_damaged_value_at_the_offset_may_be_the_record_itself(check: Check) -> None:
    history = History().send(0, at=0, sent=5, closed=6)
    history.read(None, producer=None, at=0, epoch=0, state="undecodable", run=None, value=b"x")
    _, rows = check(history, samples=PAUSE)
    lost = next(row for row in rows if row["finding"] == "lost")
    assert (lost["acked_by"], lost["acked_epoch"]) == FIRST


def random_samples(draw: random.Random) -> list[Row]:
    """What three brokers tell of one partition: mostly what is so, some late, some silent."""
    epoch = draw.choice([0, 0, 1, 2])
    leaders = [(0, draw.randrange(1, 4), epoch)]
    for _ in range(draw.randrange(4)):
        epoch += draw.choice([1, 1, 1, 2])
        leaders.append((leaders[-1][0] + draw.randrange(1, 9), draw.randrange(1, 4), epoch))
    rows = []
    for broker in (1, 2, 3):
        silent, late = draw.randrange(25), draw.randrange(4)
        for at in range(25):
            if silent <= at < silent + draw.randrange(9):
                rows.append(sample(at, broker, 0, 0, answered=False))
                continue
            _, leader, of_epoch = max(one for one in leaders if one[0] <= max(at - late, 0))
            rows.append(sample(at, broker, leader, of_epoch))
    return rows


def random_history(draw: random.Random) -> History:
    history = History()
    for seq in range(6):
        sent = draw.randrange(24) + draw.choice([0, 0.25, 0.5])
        closed = draw.choice([None, sent, sent + 0.25, sent + 1, sent + draw.randrange(20)])
        history.send(seq, at=seq, sent=sent, closed=closed)
        for again in range(draw.choice([0, 0, 0, 1, 4])):
            history.send(10 * (again + 1) + seq, at=seq, sent=sent, closed=draw.choice([None, sent + 1]))
        if draw.random() < 0.6:
            later = 60 + seq
            history.send(later, at=seq, sent=draw.choice([sent, 40]), closed=41)
            history.read(later, at=seq, epoch=draw.choice([None, *range(6)]))
    return history


@pytest.mark.parametrize("seed", [1, 2, pytest.param(3, marks=pytest.mark.soak)])
def test_same_as_the_oracle(check: Check, seed: int) -> None:
    """Random histories side by side, a partition each."""
    draw = random.Random(seed)
    histories, samples, expected, ends = [], [], {}, []
    for number in range(250):
        history, told = random_history(draw), draw.choice([random_samples(draw), []])
        last = draw.choice([None, -1, 0, 1, 6])
        if last is not None:
            ends.append(bounds(number).model_copy(update={"leader_epoch": last}))
        for send in history.sends:
            by = acknowledged_by(send, history, told)
            expected[number, send["seq"]] = by + reports_of(send, history, told, None if last == -1 else last)
        for row in (*history.sends, *history.reads):
            row["producer"] = row["partition"] = number
        samples += [row | {"partition": number} if row["answered"] else row for row in told]
        histories.append(history)
    final = FinalRead(complete=True, bounds=tuple(ends), finished_ns=ns(100), replicas_inspected=(1, 2, 3))
    _, rows = check(*histories, meta=run_meta(final_read=final), samples=samples)
    names = ("acked_by", "acked_epoch", "reports", "true_reports")
    lost = {
        (row["producer"], row["seq"]): tuple(row[name] for name in names)
        for row in rows
        if row["finding"] == "lost"
    }
    assert lost == {identity: expected[identity] for identity in lost}
    assert len(set(lost.values())) > 20
