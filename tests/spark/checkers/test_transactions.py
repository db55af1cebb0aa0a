"""Cycles of transactions that poll, with near misses, and random ones that an oracle judges too."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from checkers.check import check_run
from checkers.judgement.judge import judge
from harness.model.finding_class import FindingClass
from harness.model.result import Summary, VerdictWord
from tests.support.history import Check, Row, findings_of, window, write_run
from tests.support.random_histories import examples, many
from tests.support.transaction_history import PARTITIONS, Story, Txn, meta_of, names, of_transactions, stories

pytestmark = pytest.mark.spark

SIDE_BY_SIDE = 20
"""Stories in one run: 10 producers, 3 partitions and 100 s apart, so that no edge joins them in a cycle."""
CIRCLE = Story((Txn(polled=((1, 0),)), Txn(polled=((0, 0),))), ((0,), (1,)))
"""Each of two transactions polled a record of the other."""


def found(check: Check, story: Story) -> list[str]:
    _, rows = check(story.history(), meta=meta_of(*story.readers()))
    return [row["finding"] for row in of_transactions(rows)]


def test_transactions_that_poll_each_other_break_the_verdict(check: Check) -> None:
    meta = meta_of(*CIRCLE.readers(), windows=(window("kill-1", 5, 8), window("kill-2", 30, 31)))
    summary, rows = check(CIRCLE.history(), meta=meta)
    (row,) = of_transactions(rows)
    assert row["finding"] == "circular_information_flow"
    assert (row["producer"], row["txn"], row["count"], row["windows"]) == (0, 0, 2, "kill-1")
    assert row["cycle"] == ["0/0 wr t-0@0", "1/0 wr t-1@0"]
    assert row["detail"] == (
        "2 transactions have polled each other's records in a circle: "
        "transaction 0 of producer 1 polled offset 0 of t-0, which transaction 0 of producer 0 wrote; "
        "transaction 0 of producer 0 polled offset 0 of t-1, which transaction 0 of producer 1 wrote"
    )
    judgement = judge(meta, summary)
    assert judgement.verdict is VerdictWord.INVALID
    assert judgement.reasons == (
        "1 time transactions have polled each other's records in a circle, "
        "though each had to commit before another could poll its records",
    )
    (example,) = summary.examples
    assert example.cycle == tuple(row["cycle"])


def test_with_read_uncommitted_the_same_is_allowed_unless_promised(check: Check) -> None:
    readers = [reader.model_copy(update={"committed": False}) for reader in CIRCLE.readers()]
    meta = meta_of(*readers, promise={"circular_information_flow": ">= 1"})
    summary, _ = check(CIRCLE.history(), meta=meta)
    assert summary.count(FindingClass.CIRCULAR_INFORMATION_FLOW) == 1
    judgement = judge(meta, summary)
    assert (judgement.verdict, judgement.as_promised) == (VerdictWord.VALID, True)
    strict = meta.model_copy(update={"promise": {"circular_information_flow": "0"}})
    assert judge(strict, summary).verdict is VerdictWord.INVALID


def test_a_transaction_that_polls_what_began_after_its_end(check: Check) -> None:
    """In the near miss the other one had begun before."""
    log = ((1,), (0,))
    assert found(check, Story((Txn(1, 2, ((0, 0),)), Txn(3, 4)), log)) == ["circular_information_flow"]
    assert found(check, Story((Txn(1, 3, ((0, 0),)), Txn(3, 4)), log)) == []
    assert found(check, Story((Txn(1, None, ((0, 0),), "indeterminate"), Txn(3, 4)), log)) == []


def test_writes_around_each_other_are_counted(check: Check) -> None:
    """In the near miss both partitions have them in the same order."""
    story = Story((Txn(), Txn()), ((0, 1), (1, 0)))
    meta = meta_of(*story.readers())
    history = story.history()
    # Only if a producer polled at all, the transactions are looked at.
    history.txns[0] |= {"polled_from": None, "polled": None}
    summary, rows = check(history, meta=meta)
    (row,) = of_transactions(rows)
    assert row["finding"] == "write_cycle"
    assert row["cycle"] == ["0/0 ww t-0@0,1", "1/0 ww t-1@0,1"]
    assert judge(meta, summary).verdict is VerdictWord.VALID
    assert not summary.blame
    assert found(check, Story((Txn(), Txn()), ((0, 1), (0, 1)))) == []
    aborted = Story((Txn(), Txn(outcome="aborted"), Txn()), ((0, 1, 2), (2, 1, 0)))
    assert found(check, aborted) == ["write_cycle"]
    assert found(check, Story((Txn(), Txn(outcome="aborted")), ((0, 1), (1, 0)))) == []


def test_a_transaction_that_is_polled_in_part_is_counted(check: Check) -> None:
    """In the near misses all of it was polled, or nothing else of that partition was."""
    log = ((0,), (2, 0))
    part = Story((Txn(), Txn(polled=((0, 0), (1, 0))), Txn()), log)
    assert found(check, part) == ["fractured_read"]
    assert found(check, Story((Txn(), Txn(polled=((0, 0), (1, 0), (1, 1))), Txn()), log)) == []
    assert found(check, Story((Txn(), Txn(polled=((0, 0),)), Txn()), log)) == []


def test_two_read_write_edges_are_no_fractured_read(check: Check) -> None:
    """Write skew: each polled the partition to which the other then wrote."""
    story = Story((Txn(polled=((0, 0),)), Txn(polled=((1, 0),)), Txn()), ((2, 1), (2, 0)))
    assert found(check, story) == []


def test_without_polling_producers_nothing_is_asked(check: Check) -> None:
    history = Story((Txn(), Txn()), ((0, 1), (1, 0))).history()
    summary, rows = check(history, meta=meta_of())
    assert rows == []
    assert summary.problems == ()


def test_journals_from_before_the_columns_have_no_polls(
    check: Check, monkeypatch: pytest.MonkeyPatch
) -> None:
    from harness.model.journal import ADDED_COLUMNS, TRANSACTIONS
    from tests.support import history as support

    old = support.pa.schema([field for field in TRANSACTIONS if field.name not in ADDED_COLUMNS])
    monkeypatch.setattr(support, "TRANSACTIONS", old)
    for txn in (story := CIRCLE.history()).txns:
        del txn["polled_from"], txn["polled"]
    summary, rows = check(story, meta=meta_of(*CIRCLE.readers()))
    assert (rows, summary.problems) == ([], ())


@many(examples(4, SIDE_BY_SIDE))
@given(several=st.lists(stories(), min_size=SIDE_BY_SIDE, max_size=SIDE_BY_SIDE))
def test_random_transactions_are_judged_as_the_oracle_does(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory, several: list[Story]
) -> None:
    _, rows = _checked(spark, tmp_path_factory.mktemp("run"), several)
    expected = sorted(
        (number, kind, len(component), length)
        for number, story in enumerate(several)
        for kind, component, length in story.cycles()
    )
    told = [
        (row["producer"] // 10, row["finding"], row["count"], len(row["cycle"]))
        for row in of_transactions(rows)
    ]
    assert sorted(told) == expected
    for row in of_transactions(rows):
        assert {name // 10 for name in names(row["cycle"])} == {row["producer"] // 10}


def _checked(spark: SparkSession, folder: Path, several: list[Story]) -> tuple[Summary, list[Row]]:
    histories = [
        story.history(first=10 * number, partition=PARTITIONS * number, later=100.0 * number)
        for number, story in enumerate(several)
    ]
    readers = [reader for number, story in enumerate(several) for reader in story.readers(first=10 * number)]
    write_run(folder, *histories, meta=meta_of(*readers))
    return check_run(spark, folder), findings_of(folder)
