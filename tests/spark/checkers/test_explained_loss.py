"""The lost record that docs/explanation/checks.md follows: each step gives what the page shows."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from checkers.check import check_run
from checkers.journals.views import Scratch, Views
from checkers.judgement.judge import judge
from checkers.records.chunks import compare_chunks
from checkers.records.facts import facts_of_records, ordinary, with_txn_outcome
from checkers.registry import load_whole_run
from tests.support.history import History, findings_of, run_meta, sample, window, write_run
from tests.support.paths import ROOT

pytestmark = pytest.mark.spark

PAGE = (ROOT / "docs/explanation/checks.md").read_text()
SAMPLES = [*(sample(at, 1, 1, 1) for at in (0, 1)), sample(13, 2, 2, 2)]
META = run_meta(acks="1", windows=(window("partition-1", 10, 14), window("kill-1", 12, 16)))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The run of the page: records 100 to 109 were acknowledged at offsets that others have now."""
    history = History()
    for seq in range(100):
        history.send(seq, at=seq).read(seq, at=seq, epoch=1)
    for seq in range(100, 110):
        history.send(seq, at=seq, sent=11, closed=11.5)
    for seq in range(110, 130):
        history.send(seq, at=seq - 10, sent=20, closed=20.5).read(seq, at=seq - 10, epoch=2)
        for broker in (1, 2, 3):
            history.replica(broker, seq, at=seq - 10, epoch=2)
    return write_run(tmp_path, history, meta=META, samples=SAMPLES)


def row_of(column: str) -> str:
    """The value that the page's tables show for a column."""
    line = next(line for line in PAGE.splitlines() if line.startswith(f"| `{column}`"))
    return line.split("|")[2].strip()


def test_the_chunks_and_the_facts_are_those_of_the_page(spark: SparkSession, folder: Path) -> None:
    views = Views.of(spark, load_whole_run(folder))
    sends = with_txn_outcome(views)
    scratch = folder / "scratch"
    scratch.mkdir()
    chunks = compare_chunks(views, sends, Scratch(spark, scratch))

    def of_one_chunk(rows: DataFrame) -> DataFrame:
        return rows.where("shiftright(seq, 6) = 1")

    facts = facts_of_records(views, sends, of_one_chunk(views.reads), of_one_chunk, repeated=False)
    found = facts.where(~ordinary(transactional=False)).collect()
    row = next(row for row in found if row["seq"] == 105)
    assert chunks.differing == 1
    assert (facts.count(), len(found)) == (64, 10)
    assert f"Of the {facts.count()} records of chunk 1, the {facts.count() - len(found)} others are" in PAGE
    for name in ("send_rows", "outcome", "acked_offset", "read_rows", "first_offset", "live_rows"):
        assert row_of(name) == ("null" if row[name] is None else str(row[name])), name


def test_the_finding_the_summary_and_the_verdict_are_those_of_the_page(
    spark: SparkSession, folder: Path
) -> None:
    summary = check_run(spark, folder)
    row = next(row for row in findings_of(folder) if row["seq"] == 105)
    assert row["finding"] == "lost"
    for name in ("place", "replaced_epoch", "held_by", "windows"):
        assert row_of(name) == str(row[name]), name
    assert row_of("acked_by") == f"{row['acked_by']}, {row['acked_epoch']}"
    assert f"```text\n{row['detail']}\n```" in PAGE
    assert f"```text\n{summary.blame[0]}\n```" in PAGE
    judgement = judge(META, summary)
    assert judgement.verdict.value == "invalid"
    assert f'"{judgement.reasons[0]}"' in PAGE
