"""Whole run folders: what is counted, what is missing or damaged, and that order never matters."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from checkers.check import check_run
from checkers.evidence.findings import FINDINGS
from checkers.judgement.judge import judge
from harness.model.errors import CheckError, JournalError
from harness.model.finding_class import FindingClass
from harness.model.group_journal import COMMITS
from harness.model.journal import ADDED_COLUMNS, READS, SENDS
from harness.model.result import Summary, VerdictWord
from harness.model.run import FinalRead, RunMeta
from tests.support.history import (
    Check,
    History,
    bounds,
    findings_of,
    ns,
    run_meta,
    step,
    window,
    write_part,
    write_run,
)

pytestmark = pytest.mark.spark


def _mixed() -> History:
    """A bit of everything, over two steps and two producers."""
    history = History().send(0, at=0, step=0).read(0, at=0)
    history.send(1, at=1, step=1, sent=11, closed=12).send(2, at=2, step=1, sent=12, closed=13)
    history.send(3, "indeterminate", error="_MSG_TIMED_OUT", closed=None).read(3, at=4).read(3, at=5)
    history.send(0, "unconfirmed", producer=1).send(1, "rejected", producer=1).read(7, at=6, producer=1)
    return history.replica(1, 1, at=1).replica(2, 2, at=2)


def _mixed_meta() -> RunMeta:
    return run_meta(
        steps=(step(0, "before", 0, 10), step(1, "during", 10, 20), step(2, "wait", 20, 30, kind="wait")),
        windows=(window("kill-1", 10, 11.5), window("cut-1", 12.5, 15)),
    )


@pytest.fixture(scope="module")
def mixed(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> tuple[Summary, Path]:
    folder = write_run(tmp_path_factory.mktemp("mixed"), _mixed(), meta=_mixed_meta())
    return check_run(spark, folder), folder


def test_summary_counts_by_outcome_step_place_and_window(mixed: tuple[Summary, Path]) -> None:
    summary, folder = mixed
    schema = pq.read_schema(next((folder / "findings").glob("*.parquet")))
    assert schema.names == FINDINGS.names
    assert (summary.sent, summary.reads, summary.problems) == (6, 4, ())
    assert summary.outcomes == {"acked": 3, "indeterminate": 1, "rejected": 1, "unconfirmed": 1}
    assert summary.findings == {
        FindingClass.LOST: 2,
        FindingClass.DUPLICATE: 1,
        FindingClass.PHANTOM: 1,
        FindingClass.UNCONFIRMED_ABSENT: 1,
    }
    assert summary.acked_by_step == {"before": 1, "during": 2}
    assert summary.lost_by_step == {"during": 2}
    assert summary.lost_places == {"unknown": 2}
    assert summary.extra_copies == 1
    assert (summary.lost_held_by_leader, summary.lost_unexamined) == (1, 0)
    cells = {
        (cell.finding.value, cell.producer, cell.partition, cell.step, cell.windows)
        for cell in summary.counts
    }
    assert ("lost", 0, 0, 1, "kill-1 + cut-1") in cells
    assert ("lost", 0, 0, 1, "cut-1") in cells
    assert ("duplicate", 0, 0, 0, "kill-1 + cut-1") in cells
    assert ("phantom", 1, 0, None, "") in cells
    lost = [example for example in summary.examples if example.finding is FindingClass.LOST]
    assert [(example.seq, example.held_by) for example in lost] == [(1, (1,)), (2, (2,))]
    assert summary.check_seconds > 0


def test_order_of_rows_and_files_changes_nothing(check: Check, mixed: tuple[Summary, Path]) -> None:
    first, rows = mixed[0], findings_of(mixed[1])
    second, same = check(_mixed(), meta=_mixed_meta(), files=3, reverse=True)
    assert same == rows
    assert second.model_copy(update={"check_seconds": 0.0}) == first.model_copy(update={"check_seconds": 0.0})


def test_a_clean_run_leaves_no_findings_and_saves_its_summary(spark: SparkSession, tmp_path: Path) -> None:
    # The characters are ones that Spark's readers would take for patterns.
    folder = tmp_path / "run [1] {a,b} 10:30 100%"
    folder.mkdir()
    write_run(folder, History().send(0, at=0).read(0, at=0))
    summary = check_run(spark, folder)
    assert (summary.sent, summary.findings, summary.problems) == (1, {}, ())
    assert findings_of(folder) == []
    saved = Summary.model_validate_json((folder / "summary.json").read_text())
    assert saved == summary
    assert judge(run_meta(), saved).verdict is VerdictWord.VALID


def test_an_empty_topic_and_no_sends(check: Check) -> None:
    summary, rows = check(History())
    assert (summary.sent, summary.reads, summary.findings, rows) == (0, 0, {}, [])
    assert summary.unavailable_seconds is None


def test_no_acknowledgements_at_all(check: Check) -> None:
    history = History()
    for seq in range(8):
        history.send(seq, "unconfirmed")
    for seq in range(6):
        history.read(seq, at=seq)
    summary, _ = check(history, meta=run_meta(acks="0"))
    assert summary.findings == {FindingClass.RECOVERED: 6, FindingClass.UNCONFIRMED_ABSENT: 2}
    assert summary.acked_by_step == {"write": 0}
    recovered = [example.seq for example in summary.examples if example.finding is FindingClass.RECOVERED]
    assert recovered == [0, 1, 2, 3, 4]


def test_what_a_crash_left_open_is_indeterminate_unless_it_closed(check: Check) -> None:
    history = History().send(0, at=0).read(0, at=0).read(1, at=1)
    # 0 closed after the last flush of the open ones; 1 and 2 never did, whatever the file says of them.
    history.send(0, "indeterminate", closed=None, still_open=True)
    history.send(1, "acked", closed=None, still_open=True).send(2, "acked", closed=None, still_open=True)
    summary, rows = check(history)
    assert summary.outcomes == {"acked": 1, "indeterminate": 2}
    assert [(row["seq"], row["finding"], row["outcome"]) for row in rows] == [
        (1, "recovered", "indeterminate")
    ]
    assert summary.problems == ()


def test_losses_nobody_looked_for_in_the_replicas_are_unexamined(check: Check) -> None:
    final = FinalRead(complete=True, bounds=(bounds(),), finished_ns=ns(100))
    summary, rows = check(History().send(0, at=0).send(1, at=1), meta=run_meta(final_read=final))
    assert (summary.lost_unexamined, summary.lost_held_by_leader) == (2, 0)
    assert [row["held_by"] for row in rows] == [None, None]


def test_more_than_enough_examples_are_cut_and_the_worst_come_first(check: Check) -> None:
    history = History()
    for seq in range(7):
        history.send(seq, at=seq)
        for copy in range(2 + (seq == 6)):
            history.read(seq, at=seq + 10 * copy)
    summary, _ = check(history)
    assert [example.seq for example in summary.examples] == [6, 0, 1, 2, 3]
    assert (summary.count(FindingClass.DUPLICATE), summary.extra_copies) == (7, 8)


def test_a_journal_in_doubt_is_a_problem_each(spark: SparkSession, tmp_path: Path) -> None:
    history = History().send(0, at=0).send(0, at=0).send(1, "lost in thought").read(0, at=0, state="mouldy")
    write_run(tmp_path, history)
    with (tmp_path / "sends" / "part-00001.parquet").open("wb") as file:
        file.write((tmp_path / "sends" / "part-00000.parquet").read_bytes()[:-20])
    (tmp_path / "reads" / "part-00001.parquet").write_bytes(b"")
    (tmp_path / "replicas").mkdir()
    (tmp_path / "replicas" / "part-00000.parquet").write_bytes(b"PAR1")
    (tmp_path / "sends" / "open.parquet").write_bytes(b"PAR1")
    (tmp_path / "sends" / "part-00002.parquet.tmp").write_bytes(b"half a")
    problems = check_run(spark, tmp_path).problems
    assert [problem.split(" ", 3)[2] for problem in problems[:4]] == [
        "sends/part-00001.parquet",
        "sends/open.parquet",
        "reads/part-00001.parquet",
        "replicas/part-00000.parquet",
    ]
    assert all("sends it held count as phantom" in problem for problem in problems[:2])
    assert "that it held count as lost" in problems[2]
    assert "'lost in thought'" in problems[4]
    assert "'mouldy'" in problems[5]
    assert "1 sends more than once" in problems[6]
    assert len(problems) == 7
    assert all(problem.endswith("so the verdict is unknown") for problem in problems)


def test_no_reads_journal_is_a_problem(spark: SparkSession, tmp_path: Path) -> None:
    write_run(tmp_path, History().send(0, at=0))
    (tmp_path / "reads" / "part-00000.parquet").unlink()
    (tmp_path / "reads").rmdir()
    summary = check_run(spark, tmp_path)
    assert summary.reads == 0
    assert "before the final read" in summary.problems[0]
    assert judge(run_meta(), summary).verdict is VerdictWord.UNKNOWN


def test_fewer_records_than_the_final_read_counted_is_a_problem(spark: SparkSession, tmp_path: Path) -> None:
    write_run(tmp_path, History().send(0, at=0).read(0, at=0).send(1, at=1).read(1, at=1), files=2)
    (tmp_path / "reads" / "part-00001.parquet").unlink()
    problems = check_run(spark, tmp_path).problems
    assert problems == (
        "the reads journal holds 1 records, the final read says 2, so the verdict is unknown",
    )


@pytest.mark.parametrize("journal", ["sends", "reads"])
def test_a_journal_with_no_readable_file_is_an_error(
    spark: SparkSession, tmp_path: Path, journal: str
) -> None:
    write_run(tmp_path, History().send(0, at=0).read(0, at=0))
    (tmp_path / journal / "part-00000.parquet").write_bytes(b"not Parquet at all")
    with pytest.raises(JournalError, match=f"no file of the {journal} journal"):
        check_run(spark, tmp_path)


def test_no_sends_journal_is_an_error(spark: SparkSession, tmp_path: Path) -> None:
    run_meta().save(tmp_path)
    with pytest.raises(JournalError, match="no sends journal"):
        check_run(spark, tmp_path)


@pytest.mark.parametrize(
    ("column", "kind", "found"), [("seq", pa.int32(), "found:    int32"), ("seq", None, "no such column")]
)
def test_other_columns_are_an_error(
    spark: SparkSession, tmp_path: Path, column: str, kind: pa.DataType | None, found: str
) -> None:
    write_run(tmp_path, History().send(0, at=0))
    fields = [field.with_type(kind) if field.name == column and kind else field for field in READS]
    schema = pa.schema([field for field in fields if kind or field.name != column])
    write_part(tmp_path / "reads" / "part-00000.parquet", [], schema)
    with pytest.raises(JournalError, match="expected columns") as caught:
        check_run(spark, tmp_path)
    assert found in str(caught.value)


def test_commits_of_an_earlier_folder_lack_the_columns_that_were_added(
    spark: SparkSession, tmp_path: Path
) -> None:
    write_run(tmp_path, History().send(0, at=0).read(0, at=0).commit(1, reader="g-0"))
    schema = pa.schema([field for field in COMMITS if field.name not in ADDED_COLUMNS])
    assert len(schema) < len(COMMITS)
    write_part(tmp_path / "commits" / "part-00000.parquet", [], schema)
    assert check_run(spark, tmp_path).problems == ()


def test_columns_in_other_arrow_encodings_are_the_same_columns(spark: SparkSession, tmp_path: Path) -> None:
    history = History()
    for seq in range(4):
        history.send(seq, "acked" if seq < 3 else "rejected", at=seq).read(seq, at=seq)
    write_run(tmp_path, history, files=2)
    # The other file of the journal keeps its plain columns.
    path = tmp_path / "sends" / "part-00000.parquet"
    table = pq.read_table(path)
    for name, kind in (("outcome", pa.dictionary(pa.int8(), pa.string())), ("topic", pa.large_string())):
        index = SENDS.get_field_index(name)
        table = table.set_column(index, pa.field(name, kind), table.column(name).cast(kind))
    pq.write_table(table, path)
    summary = check_run(spark, tmp_path)
    assert (summary.outcomes, summary.problems) == ({"acked": 3, "rejected": 1}, ())
    assert summary.findings == {FindingClass.REJECTED_PRESENT: 1}


def test_a_run_of_another_version_is_an_error(spark: SparkSession, tmp_path: Path) -> None:
    write_run(tmp_path, History().send(0, at=0), meta=run_meta(schema_version=99))
    with pytest.raises(JournalError, match="another version"):
        check_run(spark, tmp_path)


def test_a_check_that_cannot_begin_leaves_the_answer_of_an_earlier_one(
    spark: SparkSession, tmp_path: Path
) -> None:
    write_run(tmp_path, History().send(0, at=0))
    check_run(spark, tmp_path)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert tmp_path / "summary.json" in before

    def no_engine() -> SparkSession:
        raise CheckError("Spark did not start")

    with pytest.raises(CheckError, match="did not start"):
        check_run(no_engine, tmp_path)
    journal = tmp_path / "sends" / "part-00000.parquet"
    journal.write_bytes(b"not Parquet at all")
    with pytest.raises(JournalError):
        check_run(spark, tmp_path)
    journal.write_bytes(before[journal])
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize("column", ["seq", "outcome", "sent_ns", "offset"])
def test_an_engine_that_fails_keeps_the_journals_and_drops_the_old_answer(
    spark: SparkSession, tmp_path: Path, column: str
) -> None:
    history = History()
    for seq in range(50):
        # Of a column whose values are all the same, an engine may read the statistics alone.
        outcome = "acked" if seq % 2 else "indeterminate"
        history.send(seq, outcome, at=seq, sent=seq / 10).read(seq, at=seq)
    write_run(tmp_path, history)
    (tmp_path / "summary.json").write_text("an earlier answer")
    path = tmp_path / "sends" / "part-00000.parquet"
    group = pq.ParquetFile(path).metadata.row_group(0)
    damaged = bytearray(path.read_bytes())
    pages = group.column(SENDS.get_field_index(column))
    begin, size = pages.dictionary_page_offset, pages.total_compressed_size
    damaged[begin : begin + size] = b"\xff" * size
    path.write_bytes(damaged)
    with pytest.raises(CheckError, match="journals are untouched") as caught:
        check_run(spark, tmp_path)
    assert caught.value.found
    assert "\n" not in caught.value.found
    assert path.read_bytes() == damaged
    assert not (tmp_path / "summary.json").exists()
