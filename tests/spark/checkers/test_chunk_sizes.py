"""However many records are compared as a whole first, the findings are those of plain Python."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from checkers.check import check_run
from harness.model.run import FinalRead, ReaderInfo
from tests.support.history import FINISHED, History, Row, bounds, findings_of, ns, run_meta, write_run
from tests.support.oracle import OracleFinding, classify
from tests.support.random_histories import examples, many

pytestmark = pytest.mark.spark

APART = 10
BITS = (0, 1, 6)
READERS = (ReaderInfo(name="live"),)
Record = tuple[int, int]

changes = st.lists(
    st.tuples(
        st.sampled_from(["sends", "reads", "committed", "live"]),
        st.sampled_from([0, 6, 9, 12, 63, 64, 66, 69]),
        st.sampled_from(
            ["drop", "again", "elsewhere", "later", "key", "no key", "outcome", "txn", "swap", "epoch"]
        ),
    ),
    max_size=4,
)


def _apply(history: History, journal: str, seq: int, word: str) -> None:
    """Change something about a record, if it has such a row."""
    rows = getattr(history, journal)
    row = next((row for row in rows if row["seq"] == seq), None)
    if row is None:
        return
    if word == "drop":
        rows.remove(row)
    elif word == "again" and journal != "sends":
        rows.append(dict(row))
    elif word in ("again", "elsewhere") and journal != "sends":
        rows.append(row | {"offset": row["offset"] + 1000})
    elif word == "later":
        row["offset"] = row["offset"] + 500 if row["offset"] is not None else 3
    elif word in ("key", "no key"):
        row["key"] = 99 if word == "key" else None
    elif journal == "sends" and word == "outcome":
        row["outcome"] = ("rejected", "indeterminate", "unconfirmed")[seq % 3]
    elif journal == "sends" and word == "txn":
        row["txn"] = seq % 4
    elif word == "swap":
        other = next((one for one in rows if one["seq"] > seq), row)
        row["offset"], other["offset"] = other["offset"], row["offset"]


def _side_by_side(drawn: list[list[tuple[str, int, str]]], *, transactional: bool) -> list[History]:
    histories = []
    for number, some in enumerate(drawn):
        history = History(producer=APART * number, partition=2 * number)
        for txn, outcome in enumerate(("committed", "aborted", "indeterminate")):
            history.txn(txn, outcome)
        for seq in range(70):
            key = None if seq % 5 == 0 else seq % 7
            inside = 0 if transactional and seq % 4 == 1 else None
            history.send(seq, at=seq, key=key, txn=inside, sent=1 + seq / 100)
            history.read(seq, at=seq, key=key)
            if transactional:
                history.read_committed(seq, at=seq, key=key)
            if seq % 3 == 0:
                history.give(seq, at=seq, key=key)
        for one in some:
            _apply(history, *one)
        histories.append(history)
    return histories


def _found(rows: list[Row]) -> dict[Record, OracleFinding]:
    of_records = [row for row in rows if row["finding"] not in BESIDE]
    found = {
        (row["producer"], row["seq"]): OracleFinding(
            *(row["finding"], row["copies"], tuple(row["offsets"]), row["place"]),
            *(tuple(row["held_by"] or ()), row["windows"]),
        )
        for row in of_records
    }
    assert len(found) == len(of_records)
    return found


BESIDE = ("skipped", "nonmonotonic_read", "redelivered", "diverged")


def _agree(
    spark: SparkSession, folder: Path, drawn: list[list[tuple[str, int, str]]], transactional: bool
) -> None:
    histories = _side_by_side(drawn, transactional=transactional)
    final = FinalRead(
        complete=True,
        bounds=tuple(bounds(2 * number, 0, 2000) for number in range(len(drawn))),
        finished_ns=ns(FINISHED),
    )
    meta = run_meta(transactional=transactional, readers=READERS, final_read=final)
    # Enough that is as it should be, so that chunks that differ are few and are selected.
    rest = History(producer=APART * len(drawn), partition=2 * len(drawn))
    for seq in range(250 * len(drawn)):
        rest.send(seq, at=seq).read(seq, at=seq)
        if transactional:
            rest.read_committed(seq, at=seq)
    write_run(folder, *histories, rest, meta=meta)
    answers = []
    for bits in BITS:
        summary = check_run(spark, folder, chunk_bits=bits)
        assert summary.problems == ()
        answers.append((summary.model_copy(update={"check_seconds": 0.0}), findings_of(folder)))
    for bits, answer in zip(BITS, answers, strict=True):
        assert answer == answers[0], f"chunks of 2^{bits}"
    of_oracle = {
        identity[1:]: told for history in histories for identity, told in classify(meta, history).items()
    }
    assert _found(answers[0][1]) == of_oracle


def _drawn(number: int, side_by_side: int) -> Callable[[Callable[..., None]], Callable[..., None]]:
    def with_them(test: Callable[..., None]) -> Callable[..., None]:
        drawn = st.lists(changes, min_size=side_by_side, max_size=side_by_side)
        return many(number)(given(drawn=drawn, transactional=st.booleans())(test))

    return with_them


@_drawn(3, 8)
def test_the_size_of_chunks_changes_nothing(
    spark: SparkSession,
    tmp_path_factory: pytest.TempPathFactory,
    drawn: list[list[tuple[str, int, str]]],
    transactional: bool,
) -> None:
    _agree(spark, tmp_path_factory.mktemp("sizes"), drawn, transactional)


@pytest.mark.soak
@_drawn(examples(4, 40), 40)
def test_the_size_of_chunks_changes_nothing_for_long(
    spark: SparkSession,
    tmp_path_factory: pytest.TempPathFactory,
    drawn: list[list[tuple[str, int, str]]],
    transactional: bool,
) -> None:
    _agree(spark, tmp_path_factory.mktemp("sizes"), drawn, transactional)
