"""What a group passed over that committed before any of its members had processed a record."""

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
from checkers.journals.views import Scratch, Views
from checkers.judgement.judge import judge
from checkers.registry import find_deliveries, load_whole_run
from harness.model.result import VerdictWord
from harness.model.run import ReaderInfo, RunMeta
from tests.support.history import History, Row, run_meta, write_run
from tests.support.oracle import deliveries
from tests.support.random_histories import examples, many

pytestmark = pytest.mark.spark

PARTITIONS = 100


def meta_of(*resets: str | None) -> RunMeta:
    """Members of a group with these values of auto.offset.reset."""
    readers = (
        ReaderInfo(name=name, group="g", reset=reset) for name, reset in zip("ab", resets, strict=True)
    )
    return run_meta(readers=tuple(readers), partitions=PARTITIONS)


META = meta_of("earliest", "earliest")


def written(records: int = 70) -> History:
    history = History()
    for seq in range(records):
        history.send(seq, at=seq).read(seq, at=seq)
    return history


def give(history: History, reader: str, at: float, first: int, last: int) -> History:
    for seq in range(first, last + 1):
        history.give(seq, at=seq, reader=reader, read=at)
    return history


def begun(*, knows: int | None = None, committed: float = 6, error: str | None = None) -> History:
    """`a` has the partition from 3 to 8 and commits offset 60 at `committed`; at 2 the group had committed
    `knows` (None: nothing). `b` has it from 9 on."""
    history = written().own("a", 3, 8, how="lost").own("b", 9)
    return history.answer(knows, at=2).commit(60, reader="a", at=committed, error=error)


def died(**options: Any) -> History:
    """As `begun`; `a` processed nothing, and `b` was given the rest."""
    return give(begun(**options), "b", 12, 60, 69)


def found(spark: SparkSession, folder: Path, *histories: History, meta: RunMeta = META) -> list[Row]:
    views = Views.of(spark, load_whole_run(write_run(folder / "run", *histories, meta=meta)))
    result = find_deliveries(views, Scratch(spark, folder / "scratch"))
    assert result.problems == ()
    rows = [] if result.findings is None else result.findings.toArrow().to_pylist()
    return sorted(rows, key=lambda row: (row["partition"], row["finding"], row["offsets"]))


NOTHING: dict[str, Callable[[], tuple[History, RunMeta]]] = {
    "it begins at the latest offset": lambda: (died(), meta_of("latest", "latest")),
    "one of its members does": lambda: (died(), meta_of("earliest", "latest")),
    "where it begins is not known": lambda: (died(), meta_of(None, None)),
    "it had committed an offset before": lambda: (died(knows=60), META),
    "whether it had committed one is not known": lambda: (
        give(written().own("a", 3, 8).commit(60, reader="a", at=6), "b", 12, 60, 69),
        META,
    ),
    "somebody else committed for it after that answer": lambda: (died().answer(60, at=5), META),
    "its commit was refused": lambda: (died(error="ILLEGAL_GENERATION"), META),
    "it committed after it was given its first record": lambda: (died(committed=13), META),
    "it was given all of it": lambda: (give(begun(), "b", 12, 0, 69), META),
    "it was given it later": lambda: (give(died(), "b", 20, 0, 59), META),
    "it committed the first offset": lambda: (
        written().own("a", 3).answer(None, at=2).commit(0, reader="a", at=6),
        META,
    ),
}


@pytest.mark.parametrize("name", NOTHING)
def test_near_misses(spark: SparkSession, tmp_path: Path, name: str) -> None:
    history, meta = NOTHING[name]()
    rows = found(spark, tmp_path, history, meta=meta)
    assert [row for row in rows if row["finding"] == "skipped"] == []
    assert not [one for one in deliveries(meta, history) if one[0] == "skipped"]


@pytest.mark.parametrize(
    ("history", "offset", "count"),
    [
        (died(), 0, 60),
        # It ended with the group, which was given nothing.
        (begun(), 0, 60),
        # The answer that there is no offset was repeated.
        (died().answer(None, at=4), 0, 60),
        # What it has committed itself says nothing.
        (died().answer(60, at=7), 0, 60),
        # A part was given to it later.
        (give(died(), "b", 20, 10, 59), 0, 10),
    ],
)
def test_what_it_had_committed_is_skipped(
    spark: SparkSession, tmp_path: Path, history: History, offset: int, count: int
) -> None:
    (row,) = (row for row in found(spark, tmp_path, history) if row["finding"] == "skipped")
    assert (row["reader"], row["offsets"], row["count"]) == ("g", [offset], count)
    assert row["detail"] == (
        f"g passed over {count} offset(s) of t-0 from {offset} on, which the final read holds: it began at "
        "the first offset (auto.offset.reset=earliest), and committed before it had processed any"
    )
    assert ("skipped", "g", 0, offset, count) in deliveries(META, history)


def test_it_breaks_the_verdict(spark: SparkSession, tmp_path: Path) -> None:
    summary = check_run(spark, write_run(tmp_path, died(), meta=META))
    judgement = judge(META, summary)
    assert (summary.problems, judgement.verdict) == ((), VerdictWord.INVALID)
    assert dict(summary.findings)["skipped"] == 1


times = st.integers(0, 8)
members = st.sampled_from("ab")
errors = st.sampled_from([None, None, None, "_TIMED_OUT"])
stories = st.fixed_dictionaries(
    {
        "written": st.integers(0, 8),
        "answers": st.lists(st.tuples(times, st.sampled_from([None, None, None, 2])), max_size=2),
        "commits": st.lists(st.tuples(members, times, st.integers(0, 8), errors), max_size=2),
        "given": st.lists(st.tuples(members, st.integers(3, 12), st.integers(0, 7)), max_size=6),
    }
)


def built(drawn: dict[str, Any], partition: int) -> History:
    """Moments are a little apart by kind, so that no two events that matter have the same time."""
    history = History(partition=partition, producer=partition)
    for seq in range(drawn["written"]):
        history.send(seq, at=seq).read(seq, at=seq)
    for at, offset in drawn["answers"]:
        history.answer(offset, at=at + 0.1)
    for reader, at, offset, error in drawn["commits"]:
        history.commit(offset, reader=reader, at=at + 0.2, error=error)
    for reader, at, seq in sorted(drawn["given"], key=lambda one: one[1]):
        history.give(seq, at=seq, reader=reader, read=at + 0.3, session=at)
    return history


@many(examples(10, 20))
@given(drawn=st.lists(stories, min_size=20, max_size=20))
def test_same_as_the_oracle(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory, drawn: list[dict[str, Any]]
) -> None:
    histories = [built(one, partition) for partition, one in enumerate(drawn)]
    rows = found(spark, tmp_path_factory.mktemp("committed-first"), *histories)
    told = Counter(
        (row["finding"], row["reader"], row["partition"], row["offsets"][0], row["count"]) for row in rows
    )
    assert told == sum((deliveries(META, history) for history in histories), Counter())
