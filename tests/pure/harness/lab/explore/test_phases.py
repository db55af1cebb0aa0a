"""What the cluster was at when a fault hit, from journals written by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from harness.lab.explore.phases import (
    BrokerBelief,
    ClusterPhase,
    ObservedFault,
    SampledMoment,
    observed_faults,
    phases_at,
)
from harness.model.errors import JournalError
from harness.model.journal import FAULTS, SAMPLES, TRANSACTIONS

pytestmark = pytest.mark.pure

FULL = {0: BrokerBelief(1, 0, 3)}
SHRUNK = {0: BrokerBelief(1, 0, 2)}
MOVED = {0: BrokerBelief(2, 1, 2)}
NONE = {0: BrokerBelief(-1, 1, 2)}


def moment(
    at: int, beliefs: dict[int, dict[int, BrokerBelief]], silent: tuple[int, ...] = ()
) -> SampledMoment:
    return SampledMoment(at, beliefs, frozenset(silent))


def phase(
    *moments: SampledMoment, at: int = 10, others: bool = False, transaction: bool = False
) -> tuple[ClusterPhase, ...]:
    return phases_at(moments, at, replicas=3, others_open=others, transaction=transaction)


@pytest.mark.parametrize(
    ("beliefs", "silent", "others", "expected"),
    [
        ({1: FULL, 2: FULL, 3: FULL}, (), False, ClusterPhase.STEADY),
        ({1: FULL, 2: FULL, 3: FULL}, (), True, ClusterPhase.STEADY),
        ({1: SHRUNK, 2: SHRUNK}, (3,), True, ClusterPhase.ISR_SHRUNK),
        ({1: SHRUNK, 2: SHRUNK, 3: SHRUNK}, (), False, ClusterPhase.RECOVERING),
        ({1: FULL, 2: FULL}, (3,), False, ClusterPhase.RECOVERING),
        ({1: FULL, 2: FULL}, (3,), True, ClusterPhase.STEADY),
        ({2: FULL, 3: FULL}, (1,), True, ClusterPhase.ELECTING),
        ({2: NONE, 3: NONE}, (1,), True, ClusterPhase.ELECTING),
        ({1: FULL, 2: MOVED, 3: MOVED}, (), True, ClusterPhase.ELECTING),
        ({1: MOVED, 2: MOVED, 3: MOVED}, (), True, ClusterPhase.ISR_SHRUNK),
        ({}, (1, 2, 3), True, ClusterPhase.ELECTING),
    ],
)
def test_phases(
    beliefs: dict[int, dict[int, BrokerBelief]], silent: tuple[int, ...], others: bool, expected: ClusterPhase
) -> None:
    twice = [moment(at, beliefs, silent) for at in (1, 5)]
    assert phase(*twice, others=others) == (expected,)
    assert phase(*twice, others=others, transaction=True) == (expected, ClusterPhase.TRANSACTION_OPEN)


def test_who_was_silent_once_was_only_late() -> None:
    late = moment(5, {2: FULL, 3: FULL}, (1,))
    assert phase(moment(1, {1: FULL, 2: FULL, 3: FULL}), late, others=True) == (ClusterPhase.STEADY,)


def test_only_samples_before_the_fault_count() -> None:
    before, after = moment(5, {1: FULL, 2: FULL, 3: FULL}), moment(11, {2: NONE, 3: NONE}, (1,))
    assert phase(before, after) == (ClusterPhase.STEADY,)
    assert phase(after) == (), "no sample tells"


def event(at: int, fault: str, what: str, **detail: Any) -> dict[str, Any]:
    return {
        "at_ns": at, "fault": fault, "kind": fault, "phase": what, "target": "", "detail": json.dumps(detail)
    }  # fmt: skip


def sample(at: int, broker: int, belief: BrokerBelief | None) -> dict[str, Any]:
    row: dict[str, Any] = dict.fromkeys(SAMPLES.names) | {"at_ns": at, "broker": broker}
    if belief is None:
        return row | {"answered": False}
    isr = list(range(1, belief.isr + 1))
    return row | {
        "answered": True, "topic": "t", "partition": 0, "leader": belief.leader,
        "leader_epoch": belief.epoch, "isr": isr,
    }  # fmt: skip


def journals(folder: Path, faults: list[dict[str, Any]], samples: list[dict[str, Any]]) -> Path:
    (folder / "samples").mkdir(parents=True)
    pq.write_table(pa.Table.from_pylist(faults, FAULTS), folder / "faults.parquet")
    pq.write_table(pa.Table.from_pylist(samples, SAMPLES), folder / "samples" / "part-0.parquet")
    return folder


def test_two_faults_of_a_run(tmp_path: Path) -> None:
    faults = [
        event(10, "partition-1", "decided", entry="faults[0]"),
        event(11, "partition-1", "aimed"),
        event(12, "partition-1", "injected"),
        event(13, "partition-1", "verified"),
        event(30, "kill-1", "decided", entry="faults[1]"),
        event(31, "kill-1", "aimed"),
        event(32, "kill-1", "injected"),
        event(33, "kill-1", "not-verified"),
        event(40, "partition-1", "undone"),
        event(50, "pause-1", "decided", entry="faults[2]"),
        event(51, "pause-1", "put-off"),
    ]
    full, shrunk = BrokerBelief(1, 0, 3), BrokerBelief(1, 0, 1)
    samples = [
        *(sample(at, broker, full) for at in (5, 9) for broker in (1, 2, 3)),
        *(sample(at, broker, shrunk) for at in (25, 29) for broker in (1, 2, 3)),
    ]
    folder = journals(tmp_path / "run", faults, samples)
    assert observed_faults(folder, 3) == (
        ObservedFault(place=0, phases=(ClusterPhase.STEADY,), verified=True),
        ObservedFault(place=1, phases=(ClusterPhase.ISR_SHRUNK,), verified=False),
    )
    # The same without the first fault: what has shrunk the ISR is over.
    later = journals(tmp_path / "later", [*faults[4:8]], samples)
    assert observed_faults(later, 3) == (
        ObservedFault(place=1, phases=(ClusterPhase.RECOVERING,), verified=False),
    )
    transactions = tmp_path / "run" / "transactions"
    transactions.mkdir()
    row = {"producer": 0, "txn": 0, "begun_ns": 8, "ended_ns": 20, "asked": "commit", "records": 1}
    table = pa.Table.from_pylist([row | {"outcome": "committed", "error": None}], TRANSACTIONS)
    pq.write_table(table, transactions / "part-0.parquet")
    assert [ClusterPhase.TRANSACTION_OPEN in one.phases for one in observed_faults(folder, 3)] == [
        True,
        False,
    ]


def test_a_run_without_faults_and_one_that_is_damaged(tmp_path: Path) -> None:
    assert observed_faults(tmp_path, 3) == ()
    (tmp_path / "faults.parquet").write_text("no Parquet")
    with pytest.raises(JournalError, match="a journal of the run cannot be read"):
        observed_faults(tmp_path, 3)
