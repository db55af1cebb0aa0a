"""Data that no producer of ours wrote: a check tells of it, and never breaks on it."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F

from checkers.check import check_run
from checkers.classes.base import Facts
from checkers.judgement.judge import judge
from checkers.records import classes
from harness.model.errors import CheckError
from harness.model.finding_class import FindingClass
from harness.model.journal import READS, READS_DIR, SENDS, SENDS_DIR
from harness.model.result import VerdictWord
from harness.model.run import FinalRead, ReaderInfo
from tests.support.history import RUN, History, bounds, findings_of, ns, run_meta, write_run
from tests.support.history import Check as CheckRun

pytestmark = pytest.mark.spark

CHUNK_SIZES = (6, 1, 0)
"""Records are compared in chunks of 2^6, 2^1 and 2^0 first."""
HUGE = 2**63 - 1


def _all_chunk_sizes(spark: SparkSession, folder: Path) -> dict[str, int]:
    """Counts of the findings, the same with chunks of any size."""
    answers = []
    for bits in CHUNK_SIZES:
        summary = check_run(spark, folder, chunk_bits=bits)
        answers.append((summary.model_copy(update={"check_seconds": 0.0}), findings_of(folder)))
    for bits, answer in zip(CHUNK_SIZES, answers, strict=True):
        assert answer == answers[0], f"chunks of 2^{bits}"
    return {finding.value: count for finding, count in answers[0][0].findings.items()}


def test_garbage_foreign_records_and_numbers_at_their_limits(spark: SparkSession, tmp_path: Path) -> None:
    dice = random.Random(1)
    history = History()
    for seq in range(8):
        history.send(seq, at=seq, key=seq).read(seq, at=seq, key=seq)
    history.send(HUGE, at=HUGE - 1).read(HUGE, at=HUGE - 1).send(HUGE - 1, at=HUGE, partition=1)
    for number in range(20):
        history.read(
            None, at=100 + number, producer=None, run=None, state="undecodable", value=dice.randbytes(30)
        )
    for number in range(20):
        claimed = dice.randrange(-(2**63), 2**63)
        history.read(
            claimed,
            at=200 + number,
            producer=dice.randrange(-(2**31), 2**31),
            run=dice.randrange(-(2**63), 2**63),
            state=dice.choice(["foreign", "corrupt"]),
            key=dice.randrange(-(2**63), 2**63),
            epoch=None,
            value=b"",
        )
    history.read(-(2**62), at=300).read(5, at=301, producer=-7)
    write_run(tmp_path, history, meta=run_meta(final_read=_final(2)))
    counts = _all_chunk_sizes(spark, tmp_path)
    assert counts["corrupt"] + counts["phantom"] == 42
    assert counts["lost"] == 1
    assert sum(counts.values()) == 43


def _final(partitions: int) -> FinalRead:
    every = tuple(bounds(partition, end=HUGE) for partition in range(partitions))
    return FinalRead(complete=True, bounds=every, finished_ns=ns(100), replicas_inspected=(1, 2, 3))


def test_one_identity_many_times_over(spark: SparkSession, tmp_path: Path) -> None:
    history = History().send(0, at=0).send(1, at=1).read(1, at=200_000)
    write_run(tmp_path, history)
    copies = 100_000
    row = history.reads[0] | {"seq": 0}
    table = pa.Table.from_pylist([row], schema=READS).take(pa.array([0] * copies))
    offsets = pa.array(range(copies), pa.int64())
    table = table.set_column(READS.get_field_index("offset"), READS.field("offset"), offsets)
    pq.write_table(table, tmp_path / "reads" / "part-00001.parquet", row_group_size=10_000)
    meta = run_meta()
    assert meta.final_read is not None
    meta.model_copy(update={"final_read": meta.final_read.model_copy(update={"records": copies + 1})}).save(
        tmp_path
    )
    assert _all_chunk_sizes(spark, tmp_path) == {"duplicate": 1, "inconsistent_offset": 1}
    (duplicate,) = (row for row in findings_of(tmp_path) if row["finding"] == "duplicate")
    assert (duplicate["copies"], duplicate["offsets"]) == (copies, [0, 1, 2, 3, 4])


def test_many_producers_with_few_records_each(spark: SparkSession, tmp_path: Path) -> None:
    """As many groups as records wherever rows are grouped by producer."""
    producers, each, one_in = 100_000, 2, 1_000
    write_run(tmp_path, History().send(0, at=0).read(0, at=0))
    numbers = range(producers * each)
    lost = {number for number in numbers if number % one_in == 7}
    kept = [number for number in numbers if number not in lost]
    for journal, schema, rows in ((SENDS_DIR, SENDS, list(numbers)), (READS_DIR, READS, kept)):
        path = tmp_path / journal / "part-00000.parquet"
        table = pq.read_table(path).take(pa.array([0] * len(rows)))
        columns = {
            "producer": [number % producers for number in rows],
            "seq": [number // producers for number in rows],
            "offset": rows,
        }
        for name, values in columns.items():
            place = schema.get_field_index(name)
            table = table.set_column(place, schema.field(name), pa.array(values, schema.field(name).type))
        pq.write_table(table, path)
    final = FinalRead(complete=True, records=len(kept), bounds=(bounds(end=HUGE),), finished_ns=ns(100))
    run_meta(final_read=final).save(tmp_path)
    summary = check_run(spark, tmp_path)
    assert (summary.sent, summary.problems) == (producers * each, ())
    assert summary.findings == {FindingClass.LOST: len(lost)}
    assert {row["producer"] for row in findings_of(tmp_path)} == {number % producers for number in lost}


@pytest.mark.parametrize("sends", [0, 1])
def test_next_to_nothing(spark: SparkSession, tmp_path: Path, sends: int) -> None:
    history = History()
    for seq in range(sends):
        history.send(seq, "unconfirmed").read(seq, at=seq)
    write_run(tmp_path, history)
    assert _all_chunk_sizes(spark, tmp_path) == ({"recovered": 1} if sends else {})


def test_records_that_were_all_sent_by_others(spark: SparkSession, tmp_path: Path) -> None:
    history = History()
    for seq in range(9):
        history.read(seq, at=seq, state="foreign", run=RUN + 1)
    write_run(tmp_path, history)
    assert _all_chunk_sizes(spark, tmp_path) == {"phantom": 9}


def test_gaps_of_control_records_and_compaction_are_no_skips(check: CheckRun) -> None:
    history = History()
    for seq in range(4):
        history.send(seq, at=3 * seq, key=0).read(seq, at=3 * seq, key=0).give(seq, at=3 * seq, key=0)
    history.send(9, at=1, key=0)
    summary, rows = check(
        history, meta=run_meta(readers=(ReaderInfo(name="live"),), topic_config={"cleanup.policy": "compact"})
    )
    assert summary.problems == ()
    assert [(row["finding"], row["seq"]) for row in rows] == [("compacted", 9)]
    assert "key 0 is at offset 9" in rows[0]["detail"]


def test_compaction_explains_only_what_it_may_have_removed(check: CheckRun) -> None:
    history = History().send(0, at=5, key=1).send(1, at=4, key=2).send(2, key=1).send(3, at=3)
    history.send(4, at=1, key=1).send(5, at=5, key=1, partition=1)
    history.send(6, at=4, key=1).read(6, at=4, key=1)
    _, rows = check(history, meta=run_meta(topic_config={"cleanup.policy": "compact"}))
    assert [(row["seq"], row["finding"]) for row in rows] == [
        (0, "lost"),
        (1, "lost"),
        (2, "lost"),
        (3, "lost"),
        (4, "compacted"),
        (5, "lost"),
    ]
    _, rows = check(history, meta=run_meta())
    assert {row["finding"] for row in rows} == {"lost"}


def test_order_across_chunks(spark: SparkSession, tmp_path: Path) -> None:
    """The latest record lies first, so that every chunk before its own must be told of it."""
    history = History()
    for seq in range(12):
        history.send(seq, at=seq + 1).read(seq, at=seq + 1)
    history.send(12, at=0).read(12, at=0)
    write_run(tmp_path, history)
    assert _all_chunk_sizes(spark, tmp_path) == {"reordered": 12}


def test_row_groups_and_encodings_of_any_kind_give_the_same(spark: SparkSession, tmp_path: Path) -> None:
    history = History()
    for seq in range(40):
        history.send(seq, at=(seq * 7) % 41, key=seq % 3)
        if seq % 5:
            history.read(seq, at=(seq * 7) % 41, key=seq % 3)
        history.give(seq, at=(seq * 7) % 41, key=seq % 3, session=seq)
    meta = run_meta(readers=(ReaderInfo(name="live"),))
    answers = []
    for name, options in {
        "one": {},
        "many": {"row_group": 3, "files": 4},
        "backwards": {"row_group": 5, "files": 2, "reverse": True},
    }.items():
        folder = tmp_path / name
        folder.mkdir()
        write_run(folder, history, meta=meta, **options)
        summary = check_run(spark, folder)
        answers.append((summary.findings, findings_of(folder)))
    # As an older version, or another tool, may have written them.
    deltas = dict.fromkeys(("seq", "offset"), "DELTA_BINARY_PACKED")
    for number, written in enumerate(
        (
            {"write_statistics": False, "compression": "none"},
            {"use_dictionary": False, "compression": "gzip", "row_group_size": 7},
            {"data_page_version": "2.0", "store_schema": False, "compression": "snappy"},
            {"use_dictionary": False, "column_encoding": deltas},
        )
    ):
        folder = tmp_path / str(number)
        folder.mkdir()
        write_run(folder, history, meta=meta)
        for path in folder.rglob("*.parquet"):
            pq.write_table(pq.read_table(path), path, **written)
        answers.append((check_run(spark, folder).findings, findings_of(folder)))
    assert all(answer == answers[0] for answer in answers)
    assert answers[0][0][FindingClass.LOST] == 8


def test_a_check_that_fails_is_a_reason_and_the_others_go_on(
    check: CheckRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_: Facts) -> Column:
        """It breaks."""
        raise ValueError("out of luck")

    def misspelt(r: Facts) -> Column:
        """There is no such column."""
        return r.read_lines > 0

    def lacking(r: Facts) -> Column:
        """The engine has no such function."""
        return F.call_function("no_such_function", r.read_rows) > 0

    wrong = ((broken, "out of luck"), (misspelt, "read_lines"), (lacking, "no_such_function"))
    for rule, reason in wrong:
        spoilt = tuple(replace(one, rule=rule) if one is classes.lost else one for one in classes.CLASSES)
        with monkeypatch.context() as patch:
            patch.setattr(classes, "CLASSES", spoilt)
            summary, rows = check(History().send(0, at=0).read(5, at=1))
        (problem,) = summary.problems
        assert problem.startswith("the check of lost failed (")
        assert reason in problem
        assert problem.endswith("), so the verdict is unknown")
        assert [row["finding"] for row in rows] == ["phantom"]
        assert judge(run_meta(), summary).verdict is VerdictWord.UNKNOWN


def test_an_engine_that_lacks_a_function_of_the_pipeline_decides_nothing(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_run(tmp_path, History().send(0, at=0).read(0, at=0))
    check_run(spark, tmp_path)
    monkeypatch.setattr(F, "bit_xor", lambda column: F.call_function("no_such_function", column))
    with pytest.raises(CheckError, match="the check failed; the journals are untouched") as caught:
        check_run(spark, tmp_path)
    assert "no_such_function" in str(caught.value.found)
    assert "\n" not in str(caught.value.found)
    assert "use the other engine" in str(caught.value.next_step)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["findings", "reads", "run.json", "sends"]


def test_missing_and_damaged_journals_of_readers_are_problems(spark: SparkSession, tmp_path: Path) -> None:
    history = History().send(0, at=0, txn=0).read(0, at=0).give(0, at=0).give(0, at=0, reader="other")
    meta = run_meta(transactional=True, readers=(ReaderInfo(name="live"), ReaderInfo(name="other")))
    write_run(tmp_path, history.txn(0).read_committed(0, at=0), meta=meta)
    (tmp_path / "transactions" / "part-00000.parquet").unlink()
    (tmp_path / "live" / "live" / "part-00000.parquet").write_bytes(b"PAR1")
    (tmp_path / "live" / "other" / "part-00000.parquet").unlink()
    (tmp_path / "live" / "unheard-of").mkdir()
    (tmp_path / "committed" / "part-00000.parquet").unlink()
    problems = check_run(spark, tmp_path).problems
    assert len(problems) == 5
    for problem, word in zip(
        problems,
        [
            "live/part-00000",
            "committed records holds 0",
            "'other' holds 0",
            "'unheard-of'",
            "no transactions",
        ],
        strict=True,
    ):
        assert word in problem
        assert problem.endswith("so the verdict is unknown")


def test_blame_names_leader_epochs_and_faults(check: CheckRun) -> None:
    from tests.support.history import sample, window

    history = History()
    for seq in range(3):
        history.send(seq, at=seq, sent=10.1, closed=10.2)
    for seq in range(3, 6):
        history.send(seq, at=seq - 3, sent=20, closed=20.1).read(seq, at=seq - 3, epoch=4)
    samples = [sample(at, 2, 2, 3) for at in (1, 9, 10, 11)] + [sample(12, 2, 1, 4)]
    # Broker 1 leads already, in the next epoch, while broker 2 still believes that it does.
    samples += [sample(1, 1, 2, 3), *(sample(at, 1, 1, 4) for at in (10, 15, 25))]
    summary, rows = check(history, meta=run_meta(windows=(window("partition-1", 9, 12),)), samples=samples)
    assert summary.count(FindingClass.LOST) == 3
    assert {(row["acked_by"], row["acked_epoch"], row["replaced_epoch"]) for row in rows} == {(2, 3, 4)}
    assert summary.blame == (
        "3 lost: sent in write to partition 0, acknowledged by broker 2 in epoch 3 during partition-1, "
        "overwritten in epoch 4",
    )
