"""An imported history is checked like any other run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from checkers.check import check_run
from checkers.judgement.judge import judge
from harness.model.result import Judgement, Summary, VerdictWord
from harness.tools.interop.import_summary import VerifiableImport
from harness.tools.interop.verifiable_import import import_run
from tests.support.history import Check, History
from tests.support.paths import ROOT
from tests.support.verifiable_output import (
    EARLIEST,
    START,
    STOP,
    acknowledged,
    assigned,
    failed,
    got,
    polled,
    sent,
    share_polled,
    summary,
)

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


@pytest.mark.parametrize(("first", "absent"), [(-1, "unconfirmed_absent"), (0, "lost")])
def test_what_no_broker_confirmed_is_not_lost(
    spark: SparkSession, tmp_path: Path, first: int, absent: str
) -> None:
    sends = [sent("0", first), sent("1", -1), sent("2", -1), STOP, summary(3)]
    told, judgement = checked(spark, tmp_path, sends, [got("0", 0), got("1", 1), polled(2)])
    assert counts(told) == {absent: 1} | ({"recovered": 2} if first < 0 else {})
    assert (judgement.verdict is VerdictWord.INVALID) == (absent == "lost")


def test_what_confluents_consumer_lacks_is_lost(spark: SparkSession, tmp_path: Path) -> None:
    cases = ROOT / "tests" / "support" / "cases"
    request = VerifiableImport(
        (cases / "i-ckp-producer.log",), finals=(cases / "i-ckp-consumer.log",), complete=True
    )
    meta = import_run(request, tmp_path / "run").meta
    told = check_run(spark, tmp_path / "run")
    assert counts(told) == {"lost": 1}
    assert judge(meta, told).verdict is VerdictWord.INVALID


DESCRIBED = "GROUP TOPIC PARTITION START-OFFSET LAG\nq t 0 {start} {lag}\n"


def of_members(
    spark: SparkSession, folder: Path, *members: list[str], start: int = 4, lag: str = "0"
) -> tuple[dict[str, int], Judgement]:
    """Findings and verdict of four records that were written and given to these members of a share group."""
    (folder / "p.log").write_text(
        "\n".join([START, *(sent(str(seq), seq) for seq in range(4)), STOP, summary(4)])
    )
    (folder / "f.log").write_text("\n".join([START, assigned(0), *(got(str(seq), seq) for seq in range(4))]))
    (folder / "o.txt").write_text(DESCRIBED.format(start=start, lag=lag))
    files = [folder / f"{number}.log" for number in range(len(members))]
    for path, lines in zip(files, members, strict=True):
        path.write_text("\n".join([START, EARLIEST, *lines]))
    request = VerifiableImport(
        (folder / "p.log",), tuple(files), (folder / "f.log",), complete=True, share_offsets=folder / "o.txt"
    )
    meta = import_run(request, folder / "run").meta
    told = check_run(spark, folder / "run")
    return counts(told), judge(meta, told)


def poll(*offsets: int, at: int, answered: int | None = None, error: str | None = None) -> list[str]:
    """The lines of one poll, and of its acknowledgement."""
    lines = [*(got(str(one), one, at=at) for one in offsets), share_polled(*offsets, at=at)]
    return lines if answered is None else [*lines, acknowledged(*offsets, at=answered, error=error)]


def test_a_share_group_that_a_user_has(spark: SparkSession, tmp_path: Path) -> None:
    cases = ROOT / "tests" / "support" / "cases"
    request = VerifiableImport(
        (cases / "i-java-producer.log",),
        (cases / "i-share-again.log",),
        (cases / "i-java-full.log",),
        complete=True,
    )
    meta = import_run(request, tmp_path / "run").meta
    told = check_run(spark, tmp_path / "run")
    # Two records were given twice before they were acknowledged, which is lawful.
    assert counts(told) == {"share_redelivered": 2}
    (share,) = told.shares
    assert (share.records, share.deliveries, share.accepted, share.unanswered) == (20, 22, 20, 2)
    verdict = judge(meta, told)
    assert verdict.verdict is VerdictWord.UNKNOWN
    assert all("share group" in reason for reason in verdict.reasons)
    assert any("give --share-offsets" in reason for reason in verdict.reasons)


def test_a_share_group_that_got_everything_is_valid(spark: SparkSession, tmp_path: Path) -> None:
    found, verdict = of_members(
        spark,
        tmp_path,
        poll(0, 1, at=10, answered=20),
        # Given again after an answer with an error, and by the other member after its lock.
        [
            *poll(2, 3, at=15, answered=25, error="expired"),
            *poll(3, at=30, answered=40),
            *poll(2, at=50, answered=60),
        ],
    )
    assert (found, verdict.verdict) == ({"share_redelivered": 2}, VerdictWord.VALID), verdict.reasons


def test_a_record_that_no_member_was_given_is_lost_to_the_group(spark: SparkSession, tmp_path: Path) -> None:
    found, verdict = of_members(spark, tmp_path, poll(0, 1, 3, at=10, answered=20))
    assert (found, verdict.verdict) == ({"share_lost": 1}, VerdictWord.INVALID)
    # Near miss: the group has not finished it yet.
    (tmp_path / "later").mkdir()
    found, verdict = of_members(
        spark, tmp_path / "later", poll(0, 1, 3, at=10, answered=20), start=2, lag="1"
    )
    assert (found, verdict.verdict) == ({}, VerdictWord.VALID), verdict.reasons


def test_a_record_that_is_given_after_it_was_accepted(spark: SparkSession, tmp_path: Path) -> None:
    before = poll(0, 1, 2, 3, at=10, answered=20)
    others = [*poll(1, at=30, answered=31), *poll(2, at=40, answered=41)]
    found, verdict = of_members(spark, tmp_path, before, [*others, *poll(0, at=50, answered=60)])
    assert (found["share_again"], verdict.verdict) == (1, VerdictWord.INVALID)
