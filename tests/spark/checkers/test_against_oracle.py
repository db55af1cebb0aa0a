"""Random histories, classified by Spark and by the plain-Python oracle: they agree on every record."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from checkers.check import check_run
from harness.model.run import Deletion, FinalRead, PartitionBounds, ReaderInfo, RunMeta
from tests.support.history import (
    FINISHED,
    OTHER_RUN,
    RUN,
    History,
    Row,
    bounds,
    findings_of,
    ns,
    run_meta,
    window,
    write_run,
)
from tests.support.oracle import (
    OracleFinding,
    classify,
    corrupt_values,
    deliveries,
    diverged,
    indeterminate_present,
)
from tests.support.random_histories import examples, many

pytestmark = pytest.mark.spark

SIDE_BY_SIDE = 40
"""Histories in one run, so that one check answers for all: producers 10 and partitions 2 apart."""

CHUNK_SIZES = (6, 0)
"""As usual, so that all records of a producer are compared as a whole first; and each record by itself."""

DELETIONS = (
    (),
    (Deletion(topic="t", before=2, at_ns=ns(20) or 0),),
    (Deletion(topic="t", before=3, at_ns=ns(20) or 0, partition=0),),
    (Deletion(topic="t", before=None, at_ns=ns(5) or 0), Deletion(topic="t", before=1, at_ns=ns(20) or 0)),
    (
        Deletion(topic="t", before=None, at_ns=ns(4.5) or 0),
        Deletion(topic="t", before=None, at_ns=ns(9) or 0),
    ),
)
small = st.integers(0, 2)
offsets = st.integers(0, 5)
times = st.sampled_from([1.0, 4.0, 5.0, 8.0, 12.0, 39.0, 41.0])
keys = st.none() | small
sends = st.builds(
    dict,
    outcome=st.sampled_from(["acked", "acked", "acked", "unconfirmed", "rejected", "indeterminate"]),
    at=st.none() | offsets,
    partition=st.integers(0, 1),
    key=keys,
    sent=times,
    closed=st.none() | times,
    error=st.sampled_from([None, "_MSG_TIMED_OUT", "NOT_ENOUGH_REPLICAS"]),
    txn=st.none() | st.integers(0, 1),
    # Older and younger than the retention of a minute, before 1970, and at its first moment.
    stamp=st.none() | st.sampled_from([-7200.0, 20.0, 39.0, 41.0, 3600.0, -2e9, -1.7e9]),
)
anything = {
    "producer": small,
    "seq": st.integers(0, 3),
    "partition": st.integers(0, 1),
    "at": offsets,
    "key": keys,
    "topic": st.sampled_from(["t", "t", "t", "u"]),
}
reads = st.builds(
    dict, epoch=small, state=st.sampled_from(["ok", "ok", "ok", "foreign", "corrupt"]), **anything
)
READERS = (
    ReaderInfo(name="alone"),
    ReaderInfo(name="strict", committed=True),
    ReaderInfo(name="member-1", group="group"),
    ReaderInfo(name="member-2", group="group"),
    ReaderInfo(name="strict-member", group="strict-group", committed=True),
)
readers = st.sampled_from([reader.name for reader in READERS])
given_live = st.builds(
    dict,
    reader=readers,
    session=st.integers(0, 1),
    state=st.sampled_from(["ok", "corrupt"]),
    read=st.sampled_from([2.0, 6.0, 30.0, FINISHED]),
    **anything,
)
commits = st.builds(
    dict,
    offset=offsets,
    reader=readers,
    partition=st.integers(0, 1),
    error=st.sampled_from([None, None, "REBALANCE_IN_PROGRESS"]),
    at=st.sampled_from([3.0, 7.0, FINISHED]),
)
replicas = st.builds(
    dict,
    broker=st.integers(1, 3),
    at=offsets,
    producer=small,
    seq=st.integers(0, 3),
    state=st.sampled_from(["ok", "ok", "corrupt"]),
    epoch=st.integers(0, 1),
    crc=st.integers(0, 1),
)


@st.composite
def stories(draw: st.DrawFn) -> tuple[History, tuple[PartitionBounds, ...]]:
    """Up to six sends and what became of them as it should be, mostly, and a few reads of anything."""
    history = History()
    for producer in (0, 1):
        for seq, options in enumerate(draw(st.lists(sends, max_size=3))):
            outcome = options.pop("outcome")
            history.send(seq, outcome, producer=producer, **options)
            at = draw(offsets) if options["at"] is None else options["at"]
            where = {"producer": producer, "partition": options["partition"], "key": options["key"]}
            if draw(st.booleans()):
                history.read(seq, at=at, **where)
            if draw(st.booleans()):
                history.read_committed(seq, at=at, **where)
            for reader in draw(st.lists(readers, max_size=2)):
                history.give(seq, at=at, reader=reader, **where)
        for number in draw(st.sets(st.integers(0, 1))):
            word = draw(st.sampled_from(["committed", "committed", "aborted", "indeterminate"]))
            history.txn(number, word, producer=producer)
    for options in draw(st.lists(reads, max_size=2)):
        run = OTHER_RUN if options["state"] == "foreign" else RUN
        history.read(options.pop("seq"), run=run, **options)
    for options in draw(st.lists(given_live, max_size=3)):
        history.give(options.pop("seq"), **options)
    for options in draw(st.lists(commits, max_size=2)):
        history.commit(options.pop("offset"), **options)
    different = st.lists(replicas, max_size=5, unique_by=lambda row: (row["broker"], row["at"]))
    for options in draw(different):
        history.replica(options.pop("broker"), options.pop("seq"), **options)
    ends = [(draw(st.integers(0, 3)), draw(st.integers(2, 6))) for _ in (0, 1)]
    return history, tuple(bounds(number, start, end) for number, (start, end) in enumerate(ends))


policies = st.sampled_from(
    [
        {},
        {"retention.ms": "60000"},
        {"retention.ms": "60000", "message.timestamp.type": "LogAppendTime"},
        {"retention.bytes": "1000"},
        {"retention.ms": "-1"},
        {"cleanup.policy": "compact", "retention.ms": "0"},
        {"cleanup.policy": "compact,delete", "retention.ms": "60000"},
    ]
)


def _moved(history: History, index: int) -> History:
    """The same history among others: its producers and partitions shifted."""

    def shift(row: Row) -> Row:
        by = {"producer": 10 * index, "partition": 2 * index}
        return row | {name: row[name] + more for name, more in by.items() if name in row}

    return History(
        **{
            column.name: [shift(row) for row in getattr(history, column.name)]
            for column in fields(History)
            if column.name not in ("producer", "partition")
        }
    )


def _together(histories: list[History]) -> History:
    return History(
        **{
            column.name: [row for history in histories for row in getattr(history, column.name)]
            for column in fields(History)
            if column.name not in ("producer", "partition")
        }
    )


def _told(row: Row) -> OracleFinding:
    return OracleFinding(
        row["finding"],
        row["copies"],
        tuple(row["offsets"]),
        row["place"],
        tuple(row["held_by"] or ()),
        row["windows"],
    )


def _identity(row: Row) -> tuple[int, int, int]:
    foreign = row["finding"] == "phantom" and "another run" in row["detail"]
    return (OTHER_RUN if foreign else RUN, row["producer"], row["seq"])


def _histories(number: int) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Drawn anew for each run."""

    def drawn(test: Callable[..., None]) -> Callable[..., None]:
        given_them = given(
            drawn=st.lists(stories(), min_size=SIDE_BY_SIDE, max_size=SIDE_BY_SIDE),
            policy=policies,
            deletions=st.sampled_from(DELETIONS),
        )(test)
        return many(number)(given_them)

    return drawn


Drawn = list[tuple[History, tuple[PartitionBounds, ...]]]


@_histories(2)
def test_same_as_the_oracle(
    spark: SparkSession,
    tmp_path_factory: pytest.TempPathFactory,
    drawn: Drawn,
    policy: dict[str, str],
    deletions: tuple[Deletion, ...],
) -> None:
    _agree(spark, tmp_path_factory.mktemp("random"), drawn, policy, deletions)


@pytest.mark.soak
@_histories(examples(20, SIDE_BY_SIDE))
def test_same_as_the_oracle_for_long(
    spark: SparkSession,
    tmp_path_factory: pytest.TempPathFactory,
    drawn: Drawn,
    policy: dict[str, str],
    deletions: tuple[Deletion, ...],
) -> None:
    _agree(spark, tmp_path_factory.mktemp("random"), drawn, policy, deletions)


def _agree(
    spark: SparkSession,
    folder: Path,
    drawn: Drawn,
    policy: dict[str, str],
    deletions: tuple[Deletion, ...],
) -> None:
    histories = [_moved(history, index) for index, (history, _) in enumerate(drawn)]
    final = FinalRead(
        complete=True,
        bounds=tuple(
            bound.model_copy(update={"partition": bound.partition + 2 * index})
            for index, (_, both) in enumerate(drawn)
            for bound in both
        ),
        finished_ns=ns(FINISHED),
    )
    meta = run_meta(
        topic_config=policy,
        deletions=deletions,
        final_read=final,
        transactional=True,
        readers=READERS,
        windows=(window("a", 4, 8), window("b", 10, 40), window("c", 41, None)),
    )
    _compare(spark, folder, meta, histories)


def _compare(spark: SparkSession, folder: Path, meta: RunMeta, histories: list[History]) -> None:
    write_run(folder, *histories, meta=meta)
    answers = []
    for bits in CHUNK_SIZES:
        summary = check_run(spark, folder, chunk_bits=bits)
        answers.append((summary.model_copy(update={"check_seconds": 0.0}), findings_of(folder)))
    shutil.rmtree(folder)
    summary, rows = answers[0]
    for bits, (same, same_rows) in zip(CHUNK_SIZES, answers, strict=True):
        assert same_rows == rows, f"chunks of 2^{bits}"
        assert same == summary, f"chunks of 2^{bits}"
    assert summary.problems == ()
    assert summary.indeterminate_present == sum(map(indeterminate_present, histories))
    beside = [row for row in rows if row["finding"] in BESIDE]
    values = [row for row in rows if row["finding"] == "corrupt" and row["outcome"] is None]
    records = [row for row in rows if row not in values and row not in beside]
    expected = {identity: told for history in histories for identity, told in classify(meta, history).items()}
    assert {_identity(row): _told(row) for row in records} == expected
    assert len(records) == len(expected)
    bad = sum((corrupt_values(history) for history in histories), Counter())
    assert Counter((row["partition"], row["offsets"][0]) for row in values) == bad
    # A reader of several partitions had read the topic before it was created again if it had read one.
    given = deliveries(meta, _together(histories))
    assert given == Counter(
        (row["finding"], row["reader"], row["partition"], row["offsets"][0], row["count"])
        for row in beside
        if row["finding"] != "diverged"
    )
    logs = {place for history in histories for place in diverged(meta, history)}
    differing = [row for row in beside if row["finding"] == "diverged"]
    assert {(row["partition"], row["offsets"][0], tuple(row["held_by"])) for row in differing} == logs
    assert len(differing) == len(logs)
    totals = Counter(told.finding for told in expected.values()) + Counter({"corrupt": bad.total()})
    totals += Counter(row["finding"] for row in beside)
    assert {finding.value: count for finding, count in summary.findings.items()} == dict(totals)
    assert sum(cell.count for cell in summary.counts) == totals.total()


BESIDE = ("skipped", "nonmonotonic_read", "redelivered", "diverged")
