"""What a group with auto.offset.reset=latest passed over of partitions that were added while it read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from checkers.check import check_run
from checkers.judgement.judge import judge
from harness.model.result import VerdictWord
from harness.model.run import FinalRead, ReaderInfo, RunMeta
from tests.support.builders.passed_over import findings_of_readers, history_of_log
from tests.support.history import FINISHED, History, bounds, ns, run_meta, window, write_run
from tests.support.oracle import deliveries
from tests.support.random_histories import examples, many, side_by_side

pytestmark = pytest.mark.spark

NEW = 1
"""The partition that was added, at 5 s; the group read partition 0 from 1 s on."""
ADDED = window("add", 5, 6).model_copy(update={"kind": "add_partitions"})


def meta_of(**changes: Any) -> RunMeta:
    readers = tuple(ReaderInfo(name=name, group="g", reset="latest") for name in "ab")
    final = FinalRead(complete=True, bounds=(bounds(0), bounds(NEW)), finished_ns=ns(FINISHED))
    usual = {"readers": readers, "final_read": final, "windows": (ADDED,)}
    usual |= {"partitions": 2, "partitions_at_start": 1}
    return run_meta(**{**usual, **changes})


META = meta_of()


def resets(*values: str | None) -> RunMeta:
    pairs = zip(META.readers, values, strict=True)
    return meta_of(readers=tuple(one.model_copy(update={"reset": value}) for one, value in pairs))


def others(begun: float) -> History:
    """Ten records of the partition that the topic had from the beginning; `a` has it from `begun` on."""
    history = History().own("a", begun)
    for seq in range(10):
        history.send(100 + seq, at=seq, sent=2).read(100 + seq, at=seq)
        history.give(100 + seq, at=seq, reader="a", read=begun + 0.5)
    return history


def widened(*, learned: float | None = 10, first: int = 40, history: History | None = None) -> History:
    """Offsets 0 to 39 of the new partition are written at 7 s, 40 to 59 at 12 s; `b` is assigned it at
    `learned` and is given all from `first` on."""
    history = history or others(1)
    history = history_of_log((7, 0, 39), (12, 40, 59), history=history, partition=NEW)
    if learned is not None:
        history.own("b", learned, partition=NEW)
        for seq in range(first, 60):
            history.give(seq, at=seq, reader="b", read=13, partition=NEW)
    return history


def keep_only(history: History, below: int) -> History:
    """Without the records from this offset of the new partition on."""
    history.reads[:] = [row for row in history.reads if row["partition"] == 0 or row["offset"] < below]
    return history


NOTHING: dict[str, Callable[[], tuple[History, RunMeta]]] = {
    "it begins at the earliest offset": lambda: (widened(), resets("earliest", "earliest")),
    "it begins with what is ten seconds old": lambda: (
        widened(),
        resets("by_duration:PT10S", "by_duration:PT10S"),
    ),
    "one of its members begins at the earliest offset": lambda: (widened(), resets("latest", "earliest")),
    "where it begins is not known": lambda: (widened(), resets(None, None)),
    "the topic had the partition from the beginning": lambda: (widened(), meta_of(partitions_at_start=2)),
    "it learned of the partition before anything was written to it": lambda: (widened(learned=6.5), META),
    "it was given all of it": lambda: (widened(first=0), META),
    "it has not learned of it yet": lambda: (widened(learned=None), META),
    "it began after the partition had been added and written to": lambda: (
        widened(history=others(9)),
        META,
    ),
    "it began after the partition had been added, and before it was written to": lambda: (
        widened(history=others(5.5)),
        META,
    ),
    "somebody had committed an offset of it for the group": lambda: (
        widened().commit(40, reader="a", partition=NEW, at=8),
        META,
    ),
    "a commit that may be there": lambda: (
        widened().commit(40, reader="a", partition=NEW, at=8, error="_TIMED_OUT"),
        META,
    ),
}


@pytest.mark.parametrize("name", NOTHING)
def test_near_misses(spark: SparkSession, tmp_path: Path, name: str) -> None:
    history, meta = NOTHING[name]()
    assert findings_of_readers(spark, tmp_path, history, meta=meta) == []
    assert deliveries(meta, history) == Counter()


@pytest.mark.parametrize(
    ("history", "meta", "count"),
    [
        (widened(), META, 40),
        # Somebody else added it, so that no fault of the run tells when.
        (widened(), meta_of(windows=()), 40),
        # What is written between the assignment and the reset is passed over, too.
        (widened(first=45), META, 45),
        # It has it, and was given nothing yet: what was written after it was assigned it may still come.
        (widened(first=60), META, 40),
        # A client that commits where it is, without having been given a record (Java).
        (widened().commit(40, reader="b", partition=NEW, at=11), META, 40),
        # Only what the log holds.
        (keep_only(widened(first=60), 25), META, 25),
    ],
)
def test_what_was_written_before_it_learned_of_the_partition_is_skipped(
    spark: SparkSession, tmp_path: Path, history: History, meta: RunMeta, count: int
) -> None:
    (row,) = findings_of_readers(spark, tmp_path, history, meta=meta)
    told = (row["finding"], row["reader"], row["partition"], row["offsets"], row["count"])
    assert told == ("skipped", "g", NEW, [0], count)
    assert row["detail"] == (
        f"g passed over {count} offset(s) of t-1 from 0 on, which the final read holds: the partition was "
        "added while the group read the others, and records were written to it before the group learned of "
        "it; it had committed no offset of it, and was reset to its end (auto.offset.reset=latest)"
    )
    assert deliveries(meta, history) == Counter({("skipped", "g", NEW, 0, count): 1})


def test_a_group_that_was_given_nothing_at_all(spark: SparkSession, tmp_path: Path) -> None:
    history = widened(first=60, history=History().own("a", 1))
    rows = findings_of_readers(spark, tmp_path, history, meta=META)
    assert [(row["partition"], row["offsets"], row["count"]) for row in rows] == [(NEW, [0], 40)]


def test_it_breaks_the_verdict(spark: SparkSession, tmp_path: Path) -> None:
    summary = check_run(spark, write_run(tmp_path, widened(), meta=META))
    assert (summary.problems, judge(META, summary).verdict) == ((), VerdictWord.INVALID)
    assert dict(summary.findings) == {"skipped": 1}


GROUPS, PARTITIONS = side_by_side(5, of_many=20), 4
"""The first partitions belong to a group each, which read it from the beginning; three more were added
for each."""
times = st.integers(0, 12)
later = st.integers(4, 12)
"""Most of what happens in a new partition happens after its group has begun and it was added, so that some
of the stories are of a group that passed over records."""
members = st.sampled_from("ab")
stories = st.fixed_dictionaries(
    {
        "written": st.lists(later | times, max_size=8),
        "owners": st.lists(st.tuples(members, later | times, st.sampled_from([None, 1, 3])), max_size=2),
        "given": st.lists(st.tuples(members, times, st.integers(0, 7)), max_size=4),
        "commits": st.lists(
            st.tuples(members, times, st.integers(0, 8), st.sampled_from([None, "_TIMED_OUT"])), max_size=1
        ),
    }
)


@many(examples(12, GROUPS * PARTITIONS))
@given(
    drawn=st.lists(stories, min_size=GROUPS * PARTITIONS, max_size=GROUPS * PARTITIONS),
    begun=st.lists(st.none() | st.integers(0, 5), min_size=GROUPS, max_size=GROUPS),
    added=st.none() | st.integers(0, 6),
    reset=st.sampled_from(["latest", "latest", "latest", "earliest"]),
)
def test_same_as_the_oracle(
    spark: SparkSession,
    tmp_path_factory: pytest.TempPathFactory,
    drawn: list[dict[str, Any]],
    begun: list[int | None],
    added: int | None,
    reset: Any,
) -> None:
    history, number = History(), 0
    for group, since in enumerate(begun):
        if since is not None:
            history.own(f"a{group}", since + 0.2, partition=group)
    for partition, story in enumerate(drawn):
        of = partition % GROUPS
        for seq, sent in enumerate(sorted(story["written"])):
            history.send(
                seq, at=seq, sent=sent + 0.1, closed=sent + 0.15, partition=partition, producer=partition
            )
            history.read(seq, at=seq, partition=partition, producer=partition)
        for reader, begin, lasts in story["owners"]:
            number += 1
            since_then = begin + 0.2 + number / 1000
            until = None if lasts is None else since_then + lasts
            history.own(f"{reader}{of}", since_then, until, partition=partition)
        for reader, at, seq in sorted(story["given"], key=lambda one: one[1]):
            where = {"partition": partition, "producer": partition}
            history.give(seq, at=seq, reader=f"{reader}{of}", read=at + 0.3, session=at, **where)
        for reader, at, offset, error in story["commits"]:
            history.commit(offset, reader=f"{reader}{of}", at=at + 0.4, error=error, partition=partition)
    windows = () if added is None else (ADDED.model_copy(update={"opened_ns": ns(added + 0.25)}),)
    meta = meta_of(
        partitions=GROUPS * PARTITIONS,
        partitions_at_start=GROUPS,
        windows=windows,
        readers=tuple(
            ReaderInfo(name=f"{name}{of}", group=f"g{of}", reset=reset)
            for of in range(GROUPS)
            for name in "ab"
        ),
        final_read=FinalRead(complete=True, bounds=tuple(map(bounds, range(GROUPS * PARTITIONS)))),
    )
    rows = findings_of_readers(spark, tmp_path_factory.mktemp("added"), history, meta=meta)
    told = Counter(
        (row["finding"], row["reader"], row["partition"], row["offsets"][0], row["count"]) for row in rows
    )
    assert told == deliveries(meta, history)
