"""What a journal says that this version does not know, and what an engine did not read."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from checkers.check import check_run
from checkers.journals.load import unread_sends
from checkers.registry import load_whole_run
from tests.support.history import History, write_run

pytestmark = pytest.mark.spark


def test_values_of_a_later_version_are_named_with_their_journal(spark: SparkSession, tmp_path: Path) -> None:
    history = History().send(0, at=0).read(0, at=0).send(1, "pondered").read(2, at=1, state="blurred")
    write_run(tmp_path, history)
    assert check_run(spark, tmp_path).problems == tuple(
        f"the {journal} journal holds the {what}, which this version does not know, so the verdict is unknown"
        for journal, what in (("sends", "outcome 'pondered'"), ("reads", "state 'blurred'"))
    )


def test_an_engine_that_reads_fewer_sends_than_there_are_decides_nothing(tmp_path: Path) -> None:
    write_run(tmp_path, History().send(0, at=0).send(1, at=1).send(2, at=2, still_open=True))
    journals = load_whole_run(tmp_path)
    assert unread_sends(journals, 1) == ["the engine read 1 sends of 2, so the verdict is unknown"]
    # The send that a crash left open may have its report as well.
    assert unread_sends(journals, 2) == unread_sends(journals, 3) == []
    assert len(unread_sends(journals, 4)) == 1
