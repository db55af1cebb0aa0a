"""A topic that is deleted and created again: offsets of two topics of one name are not compared."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from checkers.check import check_run
from checkers.judgement.judge import judge
from harness.model.result import VerdictWord
from harness.model.run import Deletion, FinalRead, ReaderInfo, RunMeta
from tests.support.builders.passed_over import findings_of_readers
from tests.support.history import FINISHED, TOPIC, History, bounds, findings_of, ns, run_meta, write_run
from tests.support.oracle import classify, deliveries
from tests.support.random_histories import examples, many

pytestmark = pytest.mark.spark

OLD, NEW = 60, 40
"""The first topic had offsets 0 to 59, sent at 2 s; the second one, of 10 s, has 0 to 39, sent at 12 s."""


def again(*times: float) -> tuple[Deletion, ...]:
    return tuple(Deletion(topic=TOPIC, before=None, at_ns=ns(time) or 0) for time in times)


def meta_of(*readers: ReaderInfo, **changes: Any) -> RunMeta:
    final = FinalRead(complete=True, bounds=(bounds(0, 0, NEW),), finished_ns=ns(FINISHED))
    usual = {"readers": readers, "final_read": final, "deletions": again(10), "partitions": 100}
    return run_meta(**{**usual, **changes})


ALONE = meta_of(ReaderInfo(name="a"))
LATEST = meta_of(ReaderInfo(name="a", group="g", reset="latest", commits="auto"))
EARLIEST = meta_of(ReaderInfo(name="a", group="g", reset="earliest", commits="auto"))


def written() -> History:
    history = History()
    for offset in range(OLD):
        history.send(offset, at=offset, sent=2, closed=2.5)
    for offset in range(NEW):
        history.send(OLD + offset, at=offset, sent=12, closed=12.5).read(OLD + offset, at=offset)
    return history


def give(history: History, first: int, last: int, *, new: bool = True, session: int = 0) -> History:
    """Offsets that `a` is given, of the new topic or of the old one."""
    for offset in range(first, last + 1):
        seq, read = (OLD + offset, 13.0) if new else (offset, 3.0)
        history.give(seq, at=offset, reader="a", read=read, session=session)
    return history


def read_on(first: int | None, *, old: int = OLD, session: int = 0) -> History:
    """`a` reads the first topic up to `old`, and the second one from `first` on."""
    history = give(written().own("a", 1), 0, old - 1, new=False)
    return history if first is None else give(history, first, NEW - 1, session=session)


@pytest.mark.parametrize("meta", [ALONE, LATEST, EARLIEST])
@pytest.mark.parametrize("session", [0, 1])
def test_reading_both_from_the_beginning_is_no_step_back(
    spark: SparkSession, tmp_path: Path, meta: RunMeta, session: int
) -> None:
    history = read_on(0, session=session).commit(OLD, reader="a", at=4)
    assert findings_of_readers(spark, tmp_path, history, meta=meta) == []
    assert deliveries(meta, history) == Counter()


def test_the_same_without_the_step_is_found(spark: SparkSession, tmp_path: Path) -> None:
    meta = ALONE.model_copy(update={"deletions": ()})
    row = findings_of_readers(spark, tmp_path, read_on(0), meta=meta)[0]
    assert (row["finding"], row["offsets"]) == ("nonmonotonic_read", [0])


@pytest.mark.parametrize(
    ("meta", "history", "reader", "count", "went_on"),
    [
        # It was reset to the end, when 22 records were there.
        (LATEST, read_on(22), "g", 22, "at offset 22 of the new one"),
        (LATEST, read_on(22).commit(OLD, reader="a", at=4), "g", 22, "at offset 22 of the new one"),
        # It went on at its old position.
        (EARLIEST, read_on(30, old=30), "g", 30, "at offset 30 of the new one"),
        (ALONE, read_on(30, old=30), "a", 30, "at offset 30 of the new one"),
        (ALONE, read_on(30, old=30, session=1), "a", 30, "at offset 30 of the new one"),
        # It was given nothing, and committed the end of the new topic.
        (LATEST, read_on(None).commit(25, reader="a", at=13), "g", 25, "behind them"),
        # It had owned the partition, and was given nothing of the old topic.
        (LATEST, give(written().own("a", 1), 22, NEW - 1), "g", 22, "at offset 22 of the new one"),
    ],
)
def test_what_it_passes_over_of_the_new_topic_is_skipped(
    spark: SparkSession,
    tmp_path: Path,
    meta: RunMeta,
    history: History,
    reader: str,
    count: int,
    went_on: str,
) -> None:
    (row,) = findings_of_readers(spark, tmp_path, history, meta=meta)
    assert (row["finding"], row["reader"], row["offsets"], row["count"]) == ("skipped", reader, [0], count)
    assert row["detail"] == (
        f"{reader} passed over {count} offset(s) of t-0 from 0 on, which the final read holds: the topic was "
        f"created again while it read, and it went on {went_on}"
    )
    assert deliveries(meta, history) == Counter({("skipped", reader, 0, 0, count): 1})


def test_what_it_reads_twice_of_the_new_topic_is_redelivered(spark: SparkSession, tmp_path: Path) -> None:
    """As the Java client does with the consumer protocol: it goes on at 30, and then reads all again."""
    history = give(read_on(30, old=30), 0, NEW - 1, session=1)
    rows = findings_of_readers(spark, tmp_path, history, meta=EARLIEST)
    assert [(row["finding"], row["offsets"], row["count"]) for row in rows] == [
        ("redelivered", [offset], 2) for offset in range(30, NEW)
    ]
    assert rows[0]["detail"] == (
        "group g was given offset 30 of t-0 2 times, in the topic that had been created again while it read"
    )


NOTHING = {
    "a group that began later": (give(written().own("a", 11), 22, NEW - 1), LATEST),
    "an old position that it commits again": (read_on(None).commit(OLD, reader="a", at=13), LATEST),
    "a commit in the old topic beyond the new one": (
        give(read_on(None), 0, 9).commit(NEW, reader="a", at=4),
        EARLIEST,
    ),
    "its old position, which it commits before it learns of the new topic": (
        give(read_on(None), 0, 9).commit(NEW, reader="a", at=12.5),
        EARLIEST,
    ),
    "a reader without a group that reads all in a later session": (
        give(read_on(30, old=30), 0, NEW - 1, session=1),
        ALONE,
    ),
}


@pytest.mark.parametrize("name", NOTHING)
def test_near_misses(spark: SparkSession, tmp_path: Path, name: str) -> None:
    history, meta = NOTHING[name]
    rows = findings_of_readers(spark, tmp_path, history, meta=meta)
    assert rows == []
    assert deliveries(meta, history) == Counter()


def test_a_record_of_the_old_topic_is_at_no_other_ones_offset(spark: SparkSession, tmp_path: Path) -> None:
    """A send that timed out was given to a reader at an offset at which the new topic holds another."""
    history = written().own("a", 1).send(500, "indeterminate", sent=2, closed=3)
    give(history.give(500, at=7, reader="a", read=4), 0, NEW - 1)
    # Near miss: of a record of the new topic, that is what happened.
    history.send(501, "indeterminate", sent=12, closed=13).give(501, at=8, reader="a", read=14, session=2)
    summary = check_run(spark, write_run(tmp_path, history, meta=ALONE))
    rows = [(row["seq"], row["finding"]) for row in findings_of(tmp_path) if row["finding"] != "expired"]
    assert rows == [(501, "inconsistent_offset")]
    told = {seq: one.finding for (_, _, seq), one in classify(ALONE, history).items()}
    assert told[501] == "inconsistent_offset"
    assert 500 not in told
    assert judge(ALONE, summary).verdict is VerdictWord.INVALID


PARTITIONS = 12
READERS = (
    ReaderInfo(name="alone"),
    *(ReaderInfo(name=name, group="g", reset="latest") for name in ("a", "b")),
    ReaderInfo(name="c", group="h", reset="earliest"),
)
times = st.integers(0, 12)
readers = st.sampled_from([reader.name for reader in READERS])
stories = st.fixed_dictionaries(
    {
        "sent": st.lists(st.tuples(times, st.booleans()), max_size=10),
        "owners": st.lists(st.tuples(readers, times, st.sampled_from([None, 1, 3])), max_size=3),
        "given": st.lists(st.tuples(readers, times, st.integers(0, 9), st.integers(0, 1)), max_size=8),
        "commits": st.lists(
            st.tuples(readers, times, st.integers(0, 8), st.sampled_from([None, None, "_TIMED_OUT"])),
            max_size=2,
        ),
        "end": st.integers(0, 8),
    }
)


@many(examples(3, PARTITIONS))
@given(
    drawn=st.lists(stories, min_size=PARTITIONS, max_size=PARTITIONS),
    at=st.lists(times, max_size=2),
    first=st.sampled_from([1, 100]),
    names=st.sets(readers, min_size=1),
)
def test_same_as_the_oracle(
    spark: SparkSession,
    tmp_path_factory: pytest.TempPathFactory,
    drawn: list[dict[str, Any]],
    at: list[int],
    first: int,
    names: set[str],
) -> None:
    """Moments are a little apart by kind, so that no two events that matter have the same time."""
    history, number = History(), 0
    deletions = again(*(time + 0.05 for time in at))
    for partition, story in enumerate(drawn):
        where = {"partition": partition, "producer": partition}
        ends: dict[int, int] = {}
        for seq, (sent, kept) in enumerate(sorted(story["sent"])):
            # Offsets begin anew in each topic.
            of = sum(time + 0.05 < sent + 0.1 for time in at)
            offset = ends.get(of, 0)
            ends[of] = offset + 1
            history.send(seq, at=offset, sent=sent + 0.1, closed=sent + 0.15, **where)
            if kept and of == len(at):
                history.read(seq, at=offset, **where)
        for reader, begin, lasts in story["owners"]:
            number += 1
            since = begin + 0.2 + number / 1000
            history.own(reader, since, None if lasts is None else since + lasts, partition=partition)
        for reader, time, seq, session in sorted(story["given"], key=lambda one: one[1]):
            own = [row for row in history.sends if (row["partition"], row["seq"]) == (partition, seq)]
            offset = own[0]["offset"] if own else seq
            history.give(seq, at=offset, reader=reader, read=time + 0.3, session=session, **where)
        for reader, time, offset, error in story["commits"]:
            history.commit(offset, reader=reader, at=time + 0.4, error=error, partition=partition)
    for name in ("live", "owners", "commits"):
        setattr(history, name, [row for row in getattr(history, name) if row["reader"] in names])
    final = FinalRead(
        complete=True,
        bounds=tuple(bounds(partition, 0, story["end"]) for partition, story in enumerate(drawn)),
    )
    chosen = tuple(reader for reader in READERS if reader.name in names)
    meta = meta_of(*chosen, deletions=deletions, partitions=first, final_read=final)
    rows = findings_of_readers(spark, tmp_path_factory.mktemp("again"), history, meta=meta)
    told = Counter(
        (row["finding"], row["reader"], row["partition"], row["offsets"][0], row["count"]) for row in rows
    )
    assert told == deliveries(meta, history)
