"""Tiny explorations on real brokers: a loss that its menu does not name is found, shrunk, and replayed; two
clusters side by side share the runs."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from harness.lab.explore.phases import ClusterPhase
from harness.lab.explore.result import load_result
from harness.model.finding_class import FindingClass
from harness.model.result import VerdictWord

pytestmark = [pytest.mark.chaos, pytest.mark.soak]

MENU = """
name: tiny
title: One leader, cut off or moved
producer: {delivery.timeout.ms: 15000}
# Half of the shortest cut that shrinking comes to within the runs below, so that it can be replayed.
cluster: {properties: {broker.session.timeout.ms: 2000, broker.heartbeat.interval.ms: 300}}
topic: {partitions: 1, replication_factor: 3, config: {min.insync.replicas: 2}}
rates: [500]
rest: 1
most_faults: 1
settings:
  acks:
    all: {producer: {acks: all}}
    1: {producer: {acks: 1}, weight: 3}
  producers:
    1: {workload: {producers: 1}}
    2: {workload: {producers: 2}}
faults:
  - {name: cut-leader, fault: {partition: {from: {leader: 0}, to: {any: [all, controllers]}}}, for: [7, 8]}
  - {name: move-leader, fault: {transfer: {partition: 0}}, for: [1, 2], weight: 0.3}
"""


def chaos(*arguments: str) -> int:
    return subprocess.run([sys.executable, "-m", "kafka_chaos", *arguments, "-q"], check=False).returncode


def test_a_loss_that_nobody_named_is_found_and_shrunk(tmp_path: Path) -> None:
    menu, results = tmp_path / "tiny.yaml", tmp_path / "results"
    menu.write_text(MENU)
    options = ("--runs", "8", "--confirm", "1/1", "--seed", "4", "--results", str(results))
    assert chaos("explore", "--menu", str(menu), *options) == 1
    (folder,) = (one for one in results.iterdir() if one.name != "index.html")
    result = load_result(folder)
    assert len(result.runs) == 8
    violation = result.violations[0]
    assert FindingClass.LOST in violation.classes
    assert violation.minimal.settings == {"acks": "1"}
    assert [one.name for one in violation.minimal.faults] == ["cut-leader"]
    for run in result.runs:
        assert run.verdict is not VerdictWord.UNKNOWN, run.reasons
        assert [seen.verified for seen in run.seen] == [True]
        assert run.seen[0].phases == (ClusterPhase.STEADY,)
        if run.trial.settings.get("acks") != "1":
            assert run.verdict is VerdictWord.VALID, run.reasons
    assert result.clusters == 1
    assert all(run.reset.startswith("reused: 3 brokers answer") for run in result.runs[1:])
    # Anybody can replay it, and under the default settings nothing is lost.
    again = ("--results", str(tmp_path / "again"))
    assert chaos("run", str(folder / violation.experiment), "--arm", "found", *again) == 1
    assert chaos("run", str(folder / violation.experiment), "--arm", "defaults", *again) == 0


def test_two_clusters_make_two_runs_each_and_a_resumed_part_goes_on_with_both(tmp_path: Path) -> None:
    menu, results = tmp_path / "tiny.yaml", tmp_path / "results"
    menu.write_text(MENU.replace("for: [7, 8]", "for: [1, 2]"))
    options = ("--clusters", "2", "--seed", "5", "--results", str(results))
    assert chaos("explore", "--menu", str(menu), "--runs", "3", "--confirm", "1/1", *options) in (0, 1)
    (folder,) = (one for one in results.iterdir() if one.name != "index.html")
    first = load_result(folder)
    assert (len(first.runs), first.clusters, first.side_by_side) == (3, 2, 2)
    assert [run.reset for run in first.runs].count("a new cluster") == 2
    assert first.runs[1].started_ns < first.runs[0].started_ns + first.runs[0].seconds * 1e9, "side by side"
    bootstrap = {
        json.loads((folder / run.folder / "run.json").read_text())["producer_config"]["bootstrap.servers"]
        for run in first.runs
    }
    assert len(bootstrap) == 2
    assert chaos("explore", "--resume", str(folder), "--runs", "4") in (0, 1)
    result = load_result(folder)
    assert result.runs[:3] == first.runs, "none was made again"
    assert [run.number for run in result.runs] == [1, 2, 3, 4]
    for run in result.runs:
        assert run.verdict is not VerdictWord.UNKNOWN, run.reasons
        assert [seen.verified for seen in run.seen] == [True]
