"""Schedules on real brokers: a menu does what was planned, and again from its journal; conditions fire."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from harness.cluster.managed import ManagedCluster
from harness.model.journal import FAULTS_FILE
from harness.model.result import ArmResult, VerdictWord
from harness.run.executor import Options, run_on
from harness.run.replay import replay
from harness.spec.experiment import Experiment
from harness.spec.experiment_files import parse
from harness.spec.run_plan import plan_of
from tests.chaos.support.windows import not_proved

pytestmark = [pytest.mark.chaos, pytest.mark.soak]

HEAD = """
name: {name}
title: t
topic: {{partitions: 1, config: {{min.insync.replicas: 2}}}}
workload: {{rate: 500}}
arms: [{{name: safe, producer: {{acks: all, enable.idempotence: true}}}}]
steps:
"""
STORM = (
    HEAD.format(name="menu")
    + """
- write:
    name: storm
    seconds: 60
    faults:
    - name: storm
      random:
        menu:
        - {fault: {kill: {target: {leader: 0}}}, for: [1, 2]}
        - {fault: {pause: {target: {random: 1}}}, for: [1, 2]}
        - {fault: {partition: {from: {leader: 0}, to: {followers: 0}}}, for: [1, 2]}
        every: [2, 3]
        times: 4
        at_most_down: 1
"""
)
SEED = 3
"""Draws a kill last, and only then: its heal takes longest, and need not end before the step does. All four
take about 20 s; the step has three times as long, for a busy machine."""
CONDITIONS = (
    HEAD.format(name="conditions")
    + """
- write:
    name: w
    seconds: 50
    faults:
    - {name: by-count, fault: {pause: {target: {leader: 0}}}, after: {acked: 500}, for: 12}
    - {name: by-isr, fault: {pause: {target: controller}}, after: {isr_below: 3}, for: 0.5, within: 45}
    - {name: by-leader, fault: {pause: {target: controller}}, after: {leader_moved: 0}, for: 0.5}
    - sequence:
      - {fault: {pause: {target: {followers: 0}}}, for: 1}
      - {fault: {pause: {target: {leader: 0}}}, for: 1}
      after: {healed: by-count}
      pause: 0.2
"""
)


def run(cluster: ManagedCluster, experiment: Experiment, results: Path) -> tuple[Path, ArmResult]:
    folder, result = run_on(cluster, experiment, Options(results=results, seed=SEED))
    (arm,) = result.arms
    assert arm.meta.problems == ()
    assert arm.judgement.verdict == VerdictWord.VALID, arm.judgement
    assert not_proved(arm.meta) == []
    assert all(window.closed_ns is not None for window in arm.meta.windows)
    return folder / "safe", arm


def decided(folder: Path) -> list[dict[str, Any]]:
    """Faults that were injected, in order: kind, nodes, and what was journaled with the decision."""
    found: dict[str, dict[str, Any]] = {}
    for row in pq.read_table(folder / FAULTS_FILE).to_pylist():
        one = found.setdefault(row["fault"], {"kind": row["kind"], "at_ns": row["at_ns"]})
        detail = json.loads(row["detail"])
        if row["phase"] == "decided":
            one |= {key: detail[key] for key in ("entry", "at", "due", "for")}
        elif row["phase"] == "aimed":
            one["nodes"] = detail["nodes"]
        one[row["phase"]] = row["at_ns"]
    return sorted((one for one in found.values() if "injected" in one), key=lambda one: one["decided"])


def test_a_storm_does_what_its_plan_says_and_is_repeated_from_its_journal(
    cluster: ManagedCluster, results: Path
) -> None:
    storm = parse(STORM, "storm")
    planned = plan_of(storm, SEED).steps[0].faults
    kinds = [one.fault.split()[0] for one in planned]
    assert set(kinds) == {"kill", "pause", "partition"}
    assert kinds.index("kill") == len(kinds) - 1

    first, _ = run(cluster, storm, results)
    before = decided(first)
    assert [one["kind"] for one in before] == kinds
    assert [(one["for"], one["for"]) for one in before] == [one.lasting for one in planned]
    # One at a time, so that each began after the one before was seen to be healed.
    for one, two in pairwise(before):
        assert one["healed"] <= two["decided"]

    again = replay(storm, first)
    second, _ = run(cluster, again, results)
    after = decided(second)
    assert [(one["kind"], one["nodes"], one["for"]) for one in after] == [
        (one["kind"], one["nodes"], one["for"]) for one in before
    ]
    # As early as then, or later where a heal took longer.
    assert [one["due"] for one in after] == [one["at"] for one in before]


def test_conditions_fire_when_they_come_true(cluster: ManagedCluster, results: Path) -> None:
    folder, _ = run(cluster, parse(CONDITIONS, "conditions"), results)
    by_entry = {one["entry"]: one for one in decided(folder)}
    assert len(by_entry) == 5
    paused = by_entry["faults[0]"]
    assert paused["at"] >= 0.9, "500 records at 500 a second"
    # The paused broker leaves the ISR, and another one leads, once its session has ended. Both pause the
    # controller: the second waits for the first.
    first, second = sorted((by_entry["faults[1]"], by_entry["faults[2]"]), key=lambda one: one["injected"])
    assert paused["injected"] < first["decided"] < paused["healed"]
    assert first["healed"] < second["injected"]
    one, two = by_entry["faults[3].sequence[0]"], by_entry["faults[3].sequence[1]"]
    assert paused["healed"] <= one["decided"] < one["healed"] < two["decided"] - 0.2e9
