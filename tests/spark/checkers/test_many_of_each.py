"""Runs with hundreds of whatever there may be many of: partitions, faults, topics, groups and so on.

An expression or a plan that grows with their number must stay flat: the client of Spark Connect refuses
expressions that are nested fifty deep, and engines run out of stack for plans that are nested hundreds deep.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from checkers.check import check_run
from harness.model.journal import SENDS_DIR
from harness.model.run import (
    ChangedConfig,
    Deletion,
    FinalRead,
    PartitionBounds,
    ReaderInfo,
    ShareInfo,
)
from harness.model.share_journal import DELIVERIES, DELIVERIES_DIR, SHARE_OFFSETS, SHARE_OFFSETS_DIR
from tests.support.history import (
    FINISHED,
    TOPIC,
    History,
    Row,
    application,
    bounds,
    event,
    findings_of,
    ns,
    run_meta,
    sample,
    step,
    window,
    write_part,
    write_run,
)
from tests.support.share_history import ShareStory
from tests.support.transaction_history import Story, Txn

pytestmark = pytest.mark.spark

MANY = 500
NUMBERS = range(MANY)


def final(*of: PartitionBounds) -> FinalRead:
    return FinalRead(complete=True, bounds=of, finished_ns=ns(FINISHED), replicas_inspected=(1, 2, 3))


def partitions_of_delete_records(folder: Path) -> dict[str, int]:
    """Of each partition two records are below its log start; a fault has deleted the first one, and in every
    other partition the second one, too. The application has an output of neither."""
    history = History()
    for number in NUMBERS:
        first, second = 2 * number, 2 * number + 1
        history.send(first, at=number, partition=number, sent=40)
        history.send(second, at=number + 1, partition=number, sent=40)
    deleted = [number + 1 + number % 2 for number in NUMBERS]
    meta = run_meta(
        partitions=MANY,
        application=application(),
        deletions=tuple(
            Deletion(topic=TOPIC, before=before, at_ns=ns(50) or 0, partition=number)
            for number, before in enumerate(deleted)
        ),
        final_read=final(*(bounds(number, number + 2, number + 2) for number in NUMBERS)),
    )
    write_run(folder, history, meta=meta)
    expired = MANY + MANY // 2
    return {"expired": expired, "unprocessed": expired, "lost": MANY // 2}


def faults(folder: Path) -> dict[str, int]:
    """A record is lost during each fault, and all others have begun after it or ended before it."""
    history = History()
    for number in NUMBERS:
        history.send(number, at=number, sent=10 * number + 1, closed=10 * number + 2)
    windows = tuple(window(f"kill-{number}", 10 * number, 10 * number + 5) for number in NUMBERS)
    write_run(folder, history, meta=run_meta(windows=windows))
    return {"lost": MANY}


def topics(folder: Path) -> dict[str, int]:
    """A record was sent to each topic, and read from the next one."""
    names = [f"{TOPIC}-{number:03}" for number in NUMBERS]
    history = History()
    for number in NUMBERS:
        history.send(number, at=0, topic=names[number]).read(number, at=0, topic=names[number - 1])
    write_run(folder, history, meta=run_meta(topic=names[0]))
    return {"misplaced": MANY}


def restarts(folder: Path) -> dict[str, int]:
    """An input has two outputs before and after each time at which an instance was started again."""
    history = History()
    events = []
    for number in NUMBERS:
        begun = 10.0 * number
        history.send(number, at=number, sent=begun, closed=begun + 1).read(number, at=number)
        history.output(number, at=2 * number, made=begun + 2)
        history.output(number, at=2 * number + 1, made=begun + 4)
        checkpoint = json.dumps({"checkpoint": {"0": number}})
        events.append(event(begun + 3, "restarted", instance=number, detail=checkpoint))
    write_run(folder, history, meta=run_meta(application=application()), events=events)
    return {"reprocessed": MANY}


def groups(folder: Path) -> dict[str, int]:
    """The reader of each group passes over one record."""
    history = History()
    for offset in range(3):
        history.send(offset, at=offset).read(offset, at=offset)
    readers = []
    for number in NUMBERS:
        name = f"reader-{number}"
        readers.append(ReaderInfo(name=name, group=f"group-{number}", commits="manual", reset="latest"))
        history.give(0, at=0, reader=name, read=1).give(2, at=2, reader=name, read=2)
        history.own(name, 0.5).commit(3, reader=name)
    write_run(folder, history, meta=run_meta(readers=tuple(readers)))
    return {"skipped": MANY}


def readers(folder: Path) -> dict[str, int]:
    """Each reader, none of which has a group, goes back once and gets a record that the log does not hold."""
    history = History()
    for offset in range(3):
        history.send(offset, at=offset).read(offset, at=offset)
    names = [f"reader-{number}" for number in NUMBERS]
    for number, name in enumerate(names):
        history.give(1, at=1, reader=name).give(0, at=0, reader=name)
        history.send(3 + number, "indeterminate", closed=None).give(3 + number, at=3 + number, reader=name)
    meta = run_meta(readers=tuple(ReaderInfo(name=name, committed=False) for name in names))
    write_run(folder, history, meta=meta)
    return {"nonmonotonic_read": MANY, "vanished": MANY}


def share_groups(folder: Path) -> dict[str, int]:
    """Each share group was given a record twice."""
    story = ShareStory().give(0, 0, 5, word="release").give(0, 1, 6, count=2).begins(1, lag=0)
    names = [f"share-{number}" for number in NUMBERS]
    infos = tuple(
        ShareInfo(name=name, group=name, members=("q-0", "q-1"), lock_seconds=3.0, deliveries=2, closed=True)
        for name in names
    )
    history = History().send(0, at=0).read(0, at=0)
    write_run(folder, history, meta=run_meta(share=infos))

    def of_all(rows: list[Row]) -> list[Row]:
        return [row | {"group": name} for name in names for row in rows]

    write_part(folder / DELIVERIES_DIR / "part-00000.parquet", of_all(story.given), DELIVERIES)
    write_part(folder / SHARE_OFFSETS_DIR / "part-00000.parquet", of_all(story.asked), SHARE_OFFSETS)
    return {"share_redelivered": MANY}


def brokers(folder: Path) -> dict[str, int]:
    """Of many replicas each one differs at an offset of its own."""
    few = MANY // 10
    history = History()
    for offset in range(few):
        history.send(offset, at=offset).read(offset, at=offset)
        for broker in range(MANY):
            history.replica(broker, offset, at=offset, epoch=int(broker == offset + 1))
    write_run(folder, history, meta=run_meta(final_read=final(bounds(end=few, leader=0))))
    return {"diverged": few}


def leaders(folder: Path) -> dict[str, int]:
    """A record is lost in each leader epoch, each of another broker."""
    history, samples = History(), []
    for number in NUMBERS:
        history.send(number, at=number, sent=number, closed=number + 0.5)
        samples.append(sample(number, number, number, number))
    write_run(folder, history, meta=run_meta(), samples=samples)
    return {"lost": MANY}


def transactions(folder: Path) -> dict[str, int]:
    """Transactions have polled each other's records, two and two."""
    pair = Story((Txn(polled=((1, 0),)), Txn(polled=((0, 0),))), ((0,), (1,)))
    histories = [pair.history(first=2 * n, partition=2 * n) for n in range(MANY // 2)]
    readers = [one for n in range(MANY // 2) for one in pair.readers(first=2 * n)]
    meta = run_meta(
        readers=tuple(readers),
        transactional=True,
        final_read=final(*(bounds(number, 0, 1) for number in NUMBERS)),
    )
    write_run(folder, *histories, meta=meta)
    return {"circular_information_flow": MANY // 2}


def steps(folder: Path) -> dict[str, int]:
    """A record is lost in each step, and a fault has set another retention in each."""
    history = History()
    for number in NUMBERS:
        history.send(number, at=number, step=number, sent=number, closed=number + 0.5)
    meta = run_meta(
        steps=tuple(step(number, f"write-{number}", number, number + 1) for number in NUMBERS),
        changed_configs=tuple(
            ChangedConfig(config={"retention.ms": str(number + 100_000)}, until_ns=ns(number))
            for number in NUMBERS
        ),
    )
    write_run(folder, history, meta=meta)
    return {"lost": MANY}


def files_with_categories(folder: Path) -> dict[str, int]:
    """Each journal file has columns of categories, which Sail does not read as strings."""
    history = History()
    for number in NUMBERS:
        history.send(number, at=number)
    write_run(folder, history, files=MANY)
    for path in (folder / SENDS_DIR).glob("part-*.parquet"):
        table = pq.read_table(path)
        coded = table["outcome"].combine_chunks().dictionary_encode()
        pq.write_table(table.set_column(table.column_names.index("outcome"), "outcome", coded), path)
    return {"lost": MANY}


Maker = Callable[[Path], dict[str, int]]
"""Writes a run folder; returns the findings that its check must have, by class."""

IN_EXPRESSIONS: tuple[Maker, ...] = (
    partitions_of_delete_records,
    faults,
    topics,
    restarts,
    files_with_categories,
)
"""Of these there is a part of an expression, or of a plan, for each."""
IN_ROWS: tuple[Maker, ...] = (groups, readers, share_groups, brokers, leaders, transactions, steps)
"""These are values in rows, and in lists of constants."""


@pytest.mark.parametrize("make", IN_EXPRESSIONS)
def test_many_parts_of_expressions(spark: SparkSession, tmp_path: Path, make: Maker) -> None:
    holds_for_many(spark, tmp_path / "run", make)


@pytest.mark.soak
@pytest.mark.parametrize("make", IN_ROWS)
def test_many_values(spark: SparkSession, tmp_path: Path, make: Maker) -> None:
    holds_for_many(spark, tmp_path / "run", make)


@pytest.mark.soak
@pytest.mark.parametrize("make", [*IN_EXPRESSIONS, *IN_ROWS])
def test_many_of_each_on_apache_spark(apache_spark: SparkSession, tmp_path: Path, make: Maker) -> None:
    holds_for_many(apache_spark, tmp_path / "run", make)


def holds_for_many(spark: SparkSession, folder: Path, make: Maker) -> None:
    folder.mkdir()
    expected = make(folder)
    summary = check_run(spark, folder)
    found = Counter(row["finding"] for row in findings_of(folder))
    assert {kind: found[kind] for kind in expected} == expected, found
    assert not summary.problems
