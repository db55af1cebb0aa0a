"""The longest stretch without a success report, within one write step and partition."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from checkers.availability import unavailable_seconds
from checkers.load import load_run
from tests.spark.history import History, run_meta, step, write_run

pytestmark = pytest.mark.spark

STEPS = (step(0, "first", 0, 10), step(1, "second", 20, 30), step(2, "wait", 30, 90, kind="wait"))


def _reports(*closed: float, **options: object) -> History:
    """Sends acknowledged at these seconds, each sent half a second before."""
    history = History()
    for seq, at in enumerate(closed):
        history.send(seq, sent=at - 0.5, closed=at, **options)  # type: ignore[arg-type]
    return history


CASES = {
    "between two reports": (_reports(1, 2, 7.5, 8), 5.5),
    "less than a second counts as none": (_reports(1, 1.999, 2.998), 0.0),
    "a second counts": (_reports(1, 2), 1.0),
    "reports a nanosecond either side of a whole second": (_reports(1.999999999, 2, 2.9), 0.0),
    "from the first send to the first report": (History().send(0, sent=1, closed=4), 3.0),
    "from the last success to a later error": (
        _reports(1).send(1, "indeterminate", sent=1.5, closed=6),
        5.0,
    ),
    "an error report does not end a stretch": (
        _reports(1, 9).send(2, "indeterminate", sent=1, closed=5),
        8.0,
    ),
    "unconfirmed reports are success too": (_reports(1, 1.5, 2.25, outcome="unconfirmed"), 0.0),
    "no success at all": (History().send(0, "indeterminate", sent=1, closed=7), 6.0),
    "without any report, to the end of the step": (
        History().send(0, "indeterminate", sent=4, closed=None),
        6.0,
    ),
    "the end of the step counts only where a send was left open": (_reports(1), 0.0),
    "not from one step to the next": (
        _reports(1, 2).send(2, step=1, sent=20, closed=20.5).send(3, step=1, sent=20, closed=21.75),
        1.25,
    ),
    "not from one partition to another": (_reports(1, 5).send(2, partition=1, sent=2.5, closed=3), 4.0),
    "only in write steps": (_reports(31, 45, step=2), 0.0),
    "in steps that are known": (_reports(31, 45, step=7), 0.0),
    "nothing sent": (History(), 0.0),
}


@pytest.mark.parametrize("name", CASES)
def test_unavailable_seconds(spark: SparkSession, tmp_path: Path, name: str) -> None:
    history, seconds = CASES[name]
    frames = load_run(spark, write_run(tmp_path, history, meta=run_meta(steps=STEPS)))
    assert unavailable_seconds(frames.sends, frames.meta) == pytest.approx(seconds)
