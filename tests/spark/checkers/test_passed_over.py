"""What a group passed over that had owned a partition, had committed nothing, and was reset to the end."""

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
from harness.model.group_journal import OFFSETS, OFFSETS_DIR
from harness.model.result import VerdictWord
from harness.model.run import RunMeta
from tests.support.builders.passed_over import LATEST, META, Written, findings_of_readers, history_of_log
from tests.support.history import TOPIC, History, ns, run_meta, write_part, write_run
from tests.support.oracle import deliveries
from tests.support.random_histories import examples, many, side_by_side

pytestmark = pytest.mark.spark


def give(history: History, reader: str, at: float, first: int, last: int) -> History:
    for seq in range(first, last + 1):
        history.give(seq, at=seq, reader=reader, read=at)
    return history


def back_at_the_end(*written: Written, reader: str = "a") -> History:
    """`a` owned the partition from 1 to 5, and `reader` from 10 on, which was given all from offset 40 on."""
    history = history_of_log(*(written or ((7, 0, 39), (12, 40, 59))))
    return give(history.own("a", 1, 5).own(reader, 10), reader, 13, 40, 59)


def resets(*values: Any) -> RunMeta:
    """Members with these values of auto.offset.reset."""
    pairs = zip(LATEST, values, strict=True)
    return run_meta(readers=tuple(one.model_copy(update={"reset": value}) for one, value in pairs))


NOTHING: dict[str, Callable[[], tuple[History, RunMeta]]] = {
    "it never owned the partition before": lambda: (
        give(history_of_log((7, 0, 39), (12, 40, 59)).own("a", 10), "a", 13, 40, 59),
        META,
    ),
    "it read them later": lambda: (give(back_at_the_end(), "b", 20, 0, 39), META),
    "they were written before its first ownership": lambda: (
        back_at_the_end((0.5, 0, 39), (12, 40, 59)),
        META,
    ),
    "they were written during its first ownership": lambda: (back_at_the_end((4, 0, 39), (12, 40, 59)), META),
    "a committed offset was there": lambda: (back_at_the_end().commit(0, reader="a", at=4), META),
    "a commit that may be there": lambda: (
        back_at_the_end().commit(0, reader="a", at=4, error="_TIMED_OUT"),
        META,
    ),
    "another member owned it meanwhile, and was given them": lambda: (
        give(back_at_the_end().own("b", 6, 9), "b", 8, 0, 39),
        META,
    ),
    "it did not come back": lambda: (history_of_log((7, 0, 39)).own("a", 1, 5), META),
    "it has it still": lambda: (
        give(history_of_log((7, 0, 39), (12, 40, 59)).own("a", 1), "a", 13, 40, 59),
        META,
    ),
    "it begins at the earliest offset": lambda: (back_at_the_end(), resets("earliest", "earliest")),
    "one of its members does": lambda: (back_at_the_end(), resets("latest", "earliest")),
    "where it begins is not known": lambda: (back_at_the_end(), resets(None, None)),
    "they are not in the log any more": lambda: (_without_reads(back_at_the_end(), 40), META),
}


def _without_reads(history: History, below: int) -> History:
    history.reads[:] = [row for row in history.reads if row["offset"] >= below]
    return history


@pytest.mark.parametrize("name", NOTHING)
def test_near_misses(spark: SparkSession, tmp_path: Path, name: str) -> None:
    history, meta = NOTHING[name]()
    assert findings_of_readers(spark, tmp_path, history, meta=meta) == []
    assert deliveries(meta, history) == Counter()


@pytest.mark.parametrize(
    ("history", "offset", "count"),
    [
        (back_at_the_end(), 0, 40),
        (back_at_the_end(reader="b"), 0, 40),
        # From the end of the first ownership on, not from its begin.
        (back_at_the_end((4, 0, 9), (7, 10, 39), (12, 40, 59)), 10, 30),
        # It came back twice; the first time, nothing was written.
        (back_at_the_end().own("b", 6, 6.5), 0, 40),
        # What it commits when it is back is beyond them.
        (back_at_the_end().commit(60, reader="a", at=14), 0, 40),
        # A member that owned the partition meanwhile was given a part.
        (give(back_at_the_end().own("b", 6, 9), "b", 8, 10, 19), 0, 10),
    ],
)
def test_what_was_written_while_it_was_away_is_skipped(
    spark: SparkSession, tmp_path: Path, history: History, offset: int, count: int
) -> None:
    row = findings_of_readers(spark, tmp_path, history)[0]
    assert (row["finding"], row["reader"], row["offsets"], row["count"]) == ("skipped", "g", [offset], count)
    assert row["detail"] == (
        f"g passed over {count} offset(s) of t-0 from {offset} on, which the final read holds: it had owned "
        "the partition before they were written, had committed no offset, and was reset to the end of the "
        "log (auto.offset.reset=latest)"
    )
    assert ("skipped", "g", 0, offset, count) in deliveries(META, history)


def test_only_what_lies_before_its_first_record_has_this_reason(spark: SparkSession, tmp_path: Path) -> None:
    history = history_of_log((7, 0, 39), (12, 40, 59)).own("a", 1, 5).own("a", 10)
    first, second = findings_of_readers(
        spark, tmp_path, give(give(history, "a", 13, 40, 44), "a", 14, 50, 59)
    )
    assert (first["offsets"], first["count"], second["offsets"], second["count"]) == ([0], 40, [45], 5)
    assert first["detail"].endswith("(auto.offset.reset=latest)")
    assert second["detail"].endswith("which the final read holds")


@pytest.mark.parametrize(("known_at", "count"), [(6, 0), (14, 1)])
def test_a_coordinator_that_knew_an_offset_shows_that_there_was_no_reset(
    spark: SparkSession, tmp_path: Path, known_at: float, count: int
) -> None:
    """Somebody else may commit for the group, as kafka-consumer-groups.sh does."""
    at = ns(known_at)
    answer = {"group": "g", "topic": TOPIC, "partition": 0, "asked_ns": at, "at_ns": at, "offset": 0}
    row = answer | {"source": "fetch", "broker": 1}
    write_part(tmp_path / "run" / OFFSETS_DIR / "part-00000.parquet", [row], OFFSETS)
    assert len(findings_of_readers(spark, tmp_path, back_at_the_end())) == count


def test_it_breaks_the_verdict(spark: SparkSession, tmp_path: Path) -> None:
    """A group restarts before its first record; 321 records are written while it is away."""
    history = history_of_log((7, 0, 320), (12, 321, 420)).own("a", 1, 5).own("a", 10)
    write_run(tmp_path, give(history, "a", 13, 321, 420), meta=META)
    summary = check_run(spark, tmp_path)
    judgement = judge(META, summary)
    assert (summary.problems, judgement.verdict) == ((), VerdictWord.INVALID)
    assert dict(summary.findings)["skipped"] == 1


times = st.integers(0, 12)
members = st.sampled_from("ab")
owned = st.tuples(members, times, st.sampled_from([None, 1, 3]), st.sampled_from(["revoked", "lost"]))
committed = st.tuples(members, times, st.integers(0, 8), st.sampled_from([None, None, "_TIMED_OUT"]))
stories = st.fixed_dictionaries(
    {
        "written": st.lists(times, min_size=1, max_size=8),
        "owners": st.lists(owned, max_size=4),
        "given": st.lists(st.tuples(members, times, st.integers(0, 7)), max_size=6),
        "commits": st.lists(committed, max_size=1),
    }
)


def built(drawn: dict[str, Any], partition: int) -> History:
    """Moments are a little apart by kind, so that no two events that matter have the same time."""
    history = History(partition=partition, producer=partition)
    for seq, sent in enumerate(sorted(drawn["written"])):
        history.send(seq, at=seq, sent=sent + 0.1, closed=sent + 0.15).read(seq, at=seq)
    for number, (reader, begin, lasts, how) in enumerate(drawn["owners"]):
        since = begin + 0.2 + number / 100
        history.own(reader, since, None if lasts is None else since + lasts + 0.005, how=how)
    for reader, at, seq in sorted(drawn["given"], key=lambda one: one[1]):
        history.give(seq, at=seq, reader=reader, read=at + 0.3, session=at)
    for reader, at, offset, error in drawn["commits"]:
        history.commit(offset, reader=reader, at=at + 0.4, error=error)
    return history


SIDE_BY_SIDE = side_by_side(20, of_many=80)


@many(examples(4, SIDE_BY_SIDE))
@given(drawn=st.lists(stories, min_size=SIDE_BY_SIDE, max_size=SIDE_BY_SIDE))
def test_same_as_the_oracle(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory, drawn: list[dict[str, Any]]
) -> None:
    histories = [built(one, partition) for partition, one in enumerate(drawn)]
    rows = findings_of_readers(spark, tmp_path_factory.mktemp("passed-over"), *histories)
    told = Counter(
        (row["finding"], row["reader"], row["partition"], row["offsets"][0], row["count"]) for row in rows
    )
    assert told == sum((deliveries(META, history) for history in histories), Counter())
