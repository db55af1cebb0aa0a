"""An imported history is checked like any other run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from checkers.check import check_run
from checkers.judgement.judge import judge
from harness.interop.import_summary import VerifiableImport
from harness.interop.verifiable_import import import_run
from harness.model.result import Judgement, Summary, VerdictWord
from tests.spark.conftest import Check
from tests.support.history import History
from tests.support.paths import ROOT
from tests.support.verifiable_output import START, STOP, assigned, failed, got, polled, sent, summary

pytestmark = pytest.mark.spark


def checked(
    spark: SparkSession, folder: Path, sends: list[str], reads: list[str], **options: Any
) -> tuple[Summary, Judgement]:
    (folder / "p.log").write_text("\n".join([START, *sends]))
    (folder / "c.log").write_text("\n".join([START, assigned(0, 1), *reads]))
    request = VerifiableImport((folder / "p.log",), finals=(folder / "c.log",), complete=True, **options)
    run = folder / "run"
    meta = import_run(request, run).meta
    told = check_run(spark, run)
    return told, judge(meta, told)


def counts(told: Summary) -> dict[str, int]:
    return {finding.value: count for finding, count in told.findings.items() if count}


def test_all_there_is_valid(spark: SparkSession, tmp_path: Path) -> None:
    sends = [sent("0", 0, key="0"), sent("1", 0, partition=1, key="1"), sent("2", 1, key="0")]
    reads = [
        got("0", 0, key="0"),
        got("2", 1, key="0"),
        polled(2),
        got("1", 0, partition=1, key="1"),
        polled(1, 1),
    ]
    told, verdict = checked(spark, tmp_path, [*sends, STOP, summary(3)], reads)
    assert (counts(told), verdict.verdict) == ({}, VerdictWord.VALID), verdict.reasons


def test_a_loss_and_a_record_of_no_one(spark: SparkSession, tmp_path: Path) -> None:
    sends = [sent("0", 0), sent("1", 1), STOP, summary(2)]
    told, verdict = checked(spark, tmp_path, sends, [got("0", 0), got("5", 1), got("hello", 2), polled(3)])
    assert counts(told) == {"lost": 1, "phantom": 1, "corrupt": 1}
    assert verdict.verdict is VerdictWord.INVALID


def test_failures_and_a_killed_producers_last_sends_are_no_phantoms(
    spark: SparkSession, tmp_path: Path
) -> None:
    # 1 failed, to which partition is not told; 2 and 3 were never told of.
    told, verdict = checked(
        spark,
        tmp_path,
        [sent("0", 0), failed("1")],
        [got("0", 0), got("3", 2), polled(2), got("1", 7, partition=1), polled(1, 1)],
    )
    assert counts(told) == {"recovered": 2}
    assert verdict.verdict is VerdictWord.VALID, verdict.reasons
    assert told.outcomes == {"acked": 1, "indeterminate": 3}
    assert told.unavailable_seconds == 0.0


def test_an_unknown_partition_is_still_one_partition(check: Check) -> None:
    history = History().send(0, "indeterminate", partition=-1).read(0, at=3)
    history.send(1, "indeterminate", partition=-1).read(1, at=4).read(1, at=0, partition=1)
    history.send(2, "indeterminate", partition=0).read(2, at=1, partition=1)
    _, findings = check(history)
    assert [(row["seq"], row["finding"]) for row in findings] == [
        (0, "recovered"),
        (1, "misplaced"),
        (2, "misplaced"),
    ]


@pytest.mark.parametrize("producer", ["i-java-producer", "i-ckp-producer", "i-compose-producer"])
def test_files_of_users(producer: str, spark: SparkSession, tmp_path: Path) -> None:
    cases = ROOT / "tests" / "support" / "cases"
    request = VerifiableImport(
        (cases / f"{producer}.log",), finals=(cases / "i-java-full.log",), complete=True
    )
    meta = import_run(request, tmp_path / "run").meta
    told = check_run(spark, tmp_path / "run")
    verdict = judge(meta, told)
    assert (counts(told), verdict.verdict) == ({}, VerdictWord.VALID), verdict.reasons


def test_what_confluents_consumer_lacks_is_lost(spark: SparkSession, tmp_path: Path) -> None:
    cases = ROOT / "tests" / "support" / "cases"
    request = VerifiableImport(
        (cases / "i-ckp-producer.log",), finals=(cases / "i-ckp-consumer.log",), complete=True
    )
    meta = import_run(request, tmp_path / "run").meta
    told = check_run(spark, tmp_path / "run")
    assert counts(told) == {"lost": 1}
    assert judge(meta, told).verdict is VerdictWord.INVALID
