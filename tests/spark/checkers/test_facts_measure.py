"""Which plan a run is told by, and what a journal says that this version does not know."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from checkers.facts.measure import PlanName, RunFacts, measure
from checkers.journals.load import load_run
from checkers.running import OnSpark
from tests.support.history import History, write_run

pytestmark = pytest.mark.spark


def facts_of(
    spark: SparkSession, folder: Path, force: PlanName | None = None, block_rows: int = 1000
) -> RunFacts:
    scratch = folder / "scratch"
    scratch.mkdir()
    on_spark = OnSpark(lambda: spark)
    return measure(load_run(folder), scratch, on_spark, on_spark, force=force, block_rows=block_rows)


def test_journals_in_order_are_told_by_blocks(spark: SparkSession, tmp_path: Path) -> None:
    history = History()
    for seq in range(60):
        history.send(seq, at=seq).read(seq, at=seq)
    write_run(tmp_path, history, row_group=5)
    facts = facts_of(spark, tmp_path, block_rows=20)
    assert (facts.plan, facts.problems) == ("blocks", ())


@pytest.mark.parametrize(
    ("force", "taken"),
    [
        (None, "shuffle"),
        pytest.param("shuffle", "shuffle", marks=pytest.mark.soak),
        ("blocks", "blocks"),
    ],
)
def test_journals_in_no_order_are_shuffled_unless_blocks_are_asked_for(
    spark: SparkSession, tmp_path: Path, force: PlanName | None, taken: str
) -> None:
    history = History()
    for seq in range(60):
        # Every row group has records from far apart: each block would read all of them.
        mixed = seq * 37 % 60
        history.send(mixed, at=seq).read(mixed, at=seq)
    write_run(tmp_path, history, row_group=5)
    assert facts_of(spark, tmp_path, force, block_rows=2).plan == taken


def test_words_of_a_later_version_are_named_with_their_journal(spark: SparkSession, tmp_path: Path) -> None:
    history = History().send(0, at=0).read(0, at=0).send(1, "pondered").read(2, at=1, state="blurred")
    write_run(tmp_path, history)
    assert facts_of(spark, tmp_path).problems == tuple(
        f"the {journal} journal holds the {word}, which this version does not know, so the verdict is unknown"
        for journal, word in (("sends", "outcome 'pondered'"), ("reads", "state 'blurred'"))
    )
