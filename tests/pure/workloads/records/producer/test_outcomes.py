"""The table from error to outcome: each row, and what must never be called rejected or acked."""

from __future__ import annotations

import pytest
from confluent_kafka import KafkaError

from harness.model.journal import SendOutcome
from workloads.records.producer.outcomes import (
    ANY,
    NO_REPORT,
    TABLE,
    OutcomeCondition,
    OutcomeRow,
    classify,
    explain,
)

pytestmark = pytest.mark.pure

CLIENT_NAMES = {KafkaError(code).name() for code in range(-200, 140)}
FACTS = {
    OutcomeCondition.ALWAYS: {"acks": "all"},
    OutcomeCondition.ACKS_0: {"acks": "0"},
    OutcomeCondition.ACKS_SOME: {"acks": "1"},
    OutcomeCondition.NOT_QUEUED: {"acks": "all", "queued": False},
    OutcomeCondition.ONE_ATTEMPT: {"acks": "all", "single_attempt": True},
}


@pytest.mark.parametrize("row", TABLE, ids=lambda row: f"{row.error}-{row.when.name}")
def test_each_row_says_why_and_can_be_reached(row: OutcomeRow) -> None:
    assert row.why
    error = "SOMETHING_NEW" if row.error == ANY else row.error
    assert explain(error, **FACTS[row.when]) == row  # type: ignore[arg-type]


def test_error_names_are_the_clients_own() -> None:
    named = {row.error for row in TABLE} - {None, ANY, NO_REPORT}
    assert named <= CLIENT_NAMES


@pytest.mark.parametrize("acks", ["0", "1", "all"])
def test_without_proof_of_a_single_attempt_nothing_is_rejected(acks: str) -> None:
    names = CLIENT_NAMES - {"NO_ERROR"}
    assert {classify(name, acks) for name in names} == {SendOutcome.INDETERMINATE}


@pytest.mark.parametrize(
    "name",
    [
        "NOT_LEADER_FOR_PARTITION",
        "NOT_ENOUGH_REPLICAS_AFTER_APPEND",
        "REQUEST_TIMED_OUT",
        "KAFKA_STORAGE_ERROR",
        "UNKNOWN",
        NO_REPORT,
    ],
)
def test_these_are_indeterminate_even_after_one_attempt(name: str) -> None:
    assert classify(name, "all", single_attempt=True) is SendOutcome.INDETERMINATE


def test_the_clients_own_errors_are_never_a_brokers_refusal() -> None:
    local = {name for name in CLIENT_NAMES if name.startswith("_")}
    assert {classify(name, "all", single_attempt=True) for name in local} == {SendOutcome.INDETERMINATE}


def test_success() -> None:
    assert classify(None, "0") is SendOutcome.UNCONFIRMED
    assert classify(None, "1") is SendOutcome.ACKED
    assert classify(None, "all") is SendOutcome.ACKED


def test_refused_before_the_queue_is_rejected_whatever_the_error() -> None:
    for name in ("MSG_SIZE_TOO_LARGE", "_UNKNOWN_PARTITION", "_FATAL", "_STATE"):
        assert classify(name, "0", queued=False) is SendOutcome.REJECTED


def test_a_broker_cannot_refuse_under_acks_0() -> None:
    assert classify("MSG_SIZE_TOO_LARGE", "0", single_attempt=True) is SendOutcome.INDETERMINATE
