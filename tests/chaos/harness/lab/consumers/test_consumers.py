"""Consumers compared on real brokers: a program that goes on after an error, a position that is gone, and
what is handled of aborted transactions."""

from __future__ import annotations

import pytest

from harness.lab.consumers.consumer_comparison import ConsumerArm
from harness.lab.consumers.consumer_participants import chosen_situations, consuming_participants
from harness.lab.consumers.consumer_run import ConsumerRun
from harness.lab.consumers.consumer_runner import compare_consumers, new_consumers
from harness.model.defaults import DEFAULT_VERSION
from harness.model.result import NotHandled, VerdictWord
from harness.run.executor import Options

pytestmark = [pytest.mark.chaos, pytest.mark.soak]


@pytest.fixture(scope="module")
def arms() -> tuple[ConsumerArm, ...]:
    """Two clients in Python, one of which has a short session."""
    arms, left_out = consuming_participants(["aiokafka", "kafka-python"], ["default"], None, "own")
    assert left_out == {}
    return arms


@pytest.fixture(scope="module")
def runs(
    arms: tuple[ConsumerArm, ...], tmp_path_factory: pytest.TempPathFactory
) -> dict[tuple[str, str], ConsumerRun]:
    """A run of each of three situations on one cluster, by situation and client."""
    situations = chosen_situations(["error-caught", "log-start-moved", "aborted-two"])
    options = Options(results=tmp_path_factory.mktemp("consumers"), seed=5)
    folder, begun = new_consumers(situations, arms, {}, options)
    result = compare_consumers(situations, arms, options, DEFAULT_VERSION, 4, begun, folder)
    return {(run.situation, run.client): run for run in result.runs}


@pytest.mark.parametrize("client", ["aiokafka", "kafka-python"])
def test_a_program_that_goes_on_after_an_error_skips_one(
    runs: dict[tuple[str, str], ConsumerRun], client: str
) -> None:
    run = runs["error-caught", client]
    assert run.verdict is VerdictWord.INVALID, run
    assert (run.skipped, run.skipped_by) == (1, {NotHandled.FAILED.value: 1})
    assert (run.handled, run.twice) == (1019, 0)
    assert list(run.whose()) == ["the program's"]


@pytest.mark.parametrize("client", ["aiokafka", "kafka-python"])
def test_a_position_that_is_gone_is_reset_to_the_end(
    runs: dict[tuple[str, str], ConsumerRun], client: str
) -> None:
    run = runs["log-start-moved", client]
    # 300 of the 1,000 were deleted; 20 more came when it had been reset.
    assert (run.handled, run.skipped) == (20, 700), run
    assert list(run.whose()) == ["the client's"]


@pytest.mark.parametrize("client", ["aiokafka", "kafka-python"])
def test_aborted_records_are_filtered(runs: dict[tuple[str, str], ConsumerRun], client: str) -> None:
    run = runs["aborted-two", client]
    assert run.verdict is VerdictWord.VALID, run
    assert (run.handled, run.aborted, run.markers, run.skipped) == (40, 0, 0, 0)
