"""The comparison of whole chunks of records: what is left out is ordinary, and any difference is seen.

All cases are in one run, each with producers of its own, so that a few queries answer for all.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from checkers.journals.views import Scratch, Views
from checkers.records.chunks import Chunks, compare_chunks, differing_chunks, seq_chunk
from checkers.records.facts import ordinary, with_txn_outcome
from checkers.registry import load_whole_run
from harness.model.journal import SendOutcome, TxnOutcome
from tests.support.builders.chunk_cases import (
    APART,
    DIFFERENT,
    FAR,
    NAMES,
    READERS,
    SAME,
    Record,
    as_it_should_be,
    expected,
)
from tests.support.history import History, Row, run_meta, write_run

pytestmark = pytest.mark.spark


@dataclass(frozen=True)
class Compared:
    """A run with all cases, and what was found in it by bits of a chunk."""

    transactional: bool
    views: Views
    sends: DataFrame
    found: dict[int, set[Record]]
    chunks: dict[int, Chunks]


BITS = (0, 1, 6)


@pytest.fixture(scope="module", params=[True, False], ids=["transactional", "plain"])
def compared(
    request: pytest.FixtureRequest, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Compared:
    histories = []
    for number, name in enumerate(NAMES):
        history = as_it_should_be(APART * number)
        (DIFFERENT[name].change if name in DIFFERENT else SAME[name])(history)
        if not request.param:
            history.committed.clear()
        histories.append(history)
    folder = tmp_path_factory.mktemp("compared")
    meta = run_meta(transactional=request.param, readers=READERS)
    views = Views.of(spark, load_whole_run(write_run(folder, *histories, meta=meta, files=3)))
    sends = with_txn_outcome(views)
    found, chunks = {}, {}
    for bits in BITS:
        rows = differing_chunks(views, sends, bits).collect()
        found[bits] = {(row["producer"], row["chunk"]) for row in rows}
        assert len(found[bits]) == len(rows), "each chunk once"
        scratch = tmp_path_factory.mktemp("scratch")
        chunks[bits] = compare_chunks(views, sends, Scratch(spark, scratch), bits=bits)
    return Compared(request.param, views, sends, found, chunks)


@pytest.mark.parametrize("name", NAMES)
def test_a_chunk_differs_if_and_only_if_a_record_of_it_does(compared: Compared, name: str) -> None:
    number = NAMES.index(name)
    records = expected(compared.transactional).get(name, set())
    for bits, found in compared.found.items():
        mine = {one for one in found if APART * number <= one[0] < APART * (number + 1)}
        assert mine == {(producer, seq >> bits) for producer, seq in records}, f"chunks of 2^{bits}"


@pytest.mark.parametrize("bits", BITS)
def test_what_does_not_differ_is_left_out(compared: Compared, bits: int) -> None:
    chunks, found = compared.chunks[bits], compared.found[bits]
    assert chunks.differing == len(found)
    assert chunks.repeated == 1 + 1 + 1 + 2 + 1 + 1
    assert chunks.rows is not None
    for rows in (compared.sends, compared.views.reads, compared.views.live):
        kept = (
            chunks.rows_to_check(rows.where(F.col("producer").isNotNull()))
            .select("producer", "seq")
            .collect()
        )
        every = rows.where(F.col("producer").isNotNull()).select("producer", "seq").collect()
        assert sorted(map(tuple, kept)) == sorted(
            tuple(row) for row in every if (row["producer"], row["seq"] >> bits) in found
        )
        assert 0 < len(kept) < len(every) / 2


def test_the_chunk_of_a_record_is_its_seq_without_the_lowest_bits(spark: SparkSession) -> None:
    seqs = [*FAR, *range(-130, 130)]
    rows = spark.createDataFrame([(seq,) for seq in seqs], "seq bigint")
    told = rows.select("seq", *(seq_chunk(bits).alias(f"b{bits}") for bits in BITS)).collect()
    assert {tuple(row) for row in told} == {(seq, *(seq >> bits for bits in BITS)) for seq in seqs}


def test_where_most_differs_every_record_is_looked_at(spark: SparkSession, tmp_path: Path) -> None:
    for name, lost in (("few", 0), ("most", 1)):
        history = History()
        for seq in range(256):
            history.send(seq, at=seq)
            if seq % 64 or (seq // 64 < 2 and not lost):
                history.read(seq, at=seq)
        views = Views.of(spark, load_whole_run(write_run(_new(tmp_path / name), history)))
        sends = with_txn_outcome(views)
        chunks = compare_chunks(views, sends, Scratch(spark, _new(tmp_path / f"{name}-scratch")))
        assert (chunks.differing, chunks.rows is None) == ((4, True) if lost else (2, False))
        assert chunks.rows_to_check(sends).count() == (256 if lost else 128)


ORDINARY: Row = {
    "topic_partition": 3,
    "outcome": "acked",
    "acked_offset": 7,
    "txn": None,
    "txn_outcome": None,
    "send_rows": 1,
    "read_rows": 1,
    "first_offset": 7,
    "committed_rows": 1,
    "live_rows": 0,
    "read_from": 3,
    "read_elsewhere": None,
    "wrong_key": False,
}
FACTS = (
    "topic_partition bigint, outcome string, acked_offset bigint, txn bigint, txn_outcome string, "
    "send_rows bigint, read_rows bigint, first_offset bigint, committed_rows bigint, live_rows bigint, "
    "read_from bigint, read_elsewhere bigint, wrong_key boolean"
)
NOT_ORDINARY: tuple[Row, ...] = (
    *({"outcome": outcome.value} for outcome in SendOutcome if outcome is not SendOutcome.ACKED),
    {"outcome": "pondered"},
    {"outcome": None},
    {"acked_offset": None},
    {"acked_offset": 8},
    {"first_offset": 6},
    {"first_offset": None},
    {"acked_offset": None, "first_offset": None},
    {"send_rows": 0},
    {"send_rows": 2},
    {"read_rows": 0},
    {"read_rows": 2},
    {"committed_rows": 0},
    {"committed_rows": 2},
    {"live_rows": 1},
    {"read_from": 2},
    {"read_from": None},
    {"topic_partition": 2},
    {"topic_partition": None, "read_from": None},
    {"topic_partition": -1, "read_from": -1},
    {"topic_partition": 2**32 - 1, "read_from": 2**32 - 1},
    {"read_elsewhere": 5},
    {"wrong_key": True},
    {"txn": 4},
    {"txn": 4, "txn_outcome": "pondered"},
    *({"txn": 4, "txn_outcome": end.value} for end in TxnOutcome if end is not TxnOutcome.COMMITTED),
)


def test_each_condition_of_an_ordinary_record_is_needed(spark: SparkSession) -> None:
    cases: list[tuple[Row, bool]] = [(change, False) for change in NOT_ORDINARY]
    cases += [({}, True), ({"txn": 4, "txn_outcome": "committed"}, True)]
    rows = [(*(ORDINARY | change).values(), number) for number, (change, _) in enumerate(cases)]
    facts = spark.createDataFrame(rows, FACTS + ", number int")
    told = facts.select("number", ordinary(transactional=True).alias("is_ordinary")).collect()
    assert {row["number"]: row["is_ordinary"] for row in told} == {
        number: is_ordinary for number, (_, is_ordinary) in enumerate(cases)
    }
    plain = facts.where(F.col("number").isin(len(cases) - 1, len(cases) - 2))
    without = plain.withColumn("committed_rows", F.lit(0))
    for rows_of, is_ordinary in ((plain, False), (without, True)):
        answers = rows_of.select(ordinary(transactional=False).alias("one")).collect()
        assert [row["one"] for row in answers] == [is_ordinary] * 2


def _new(folder: Path) -> Path:
    folder.mkdir()
    return folder
