"""The progress line: counts and a rate over the last second."""

from __future__ import annotations

import pytest

from harness.stepping import Rate, line_of
from workloads.tally import Progress

pytestmark = pytest.mark.pure


def test_the_rate_is_that_of_the_last_second() -> None:
    rate = Rate()
    assert rate.of(0, 10.0) == 0.0
    assert rate.of(50, 10.5) == 100.0
    assert rate.of(150, 11.0) == 150.0
    assert rate.of(150, 11.5) == 100.0
    assert rate.of(150, 12.0) == 0.0
    assert rate.of(150, 99.0) == 0.0


def test_errors_are_shown_only_when_there_are_any() -> None:
    quiet = line_of(Progress(sent=10, acked=7), Rate())
    assert quiet == "0/s · sent 10 · acked 7 · open 3"
    loud = line_of(Progress(sent=10, acked=7, indeterminate=1, last_error="_MSG_TIMED_OUT"), Rate())
    assert "errors 1 (last _MSG_TIMED_OUT)" in loud
