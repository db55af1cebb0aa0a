"""A small matrix on real brokers: two by two arms, three runs of each, with known outcome."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from checkers import Share
from harness.many.matrix.compare import compare
from harness.many.matrix.result import MatrixArmResult, load_result

pytestmark = [pytest.mark.chaos, pytest.mark.soak]

SPEC = """
name: small
title: The leader is cut from its followers and dies, or not
base:
  # Followers stay in the ISR for as long as a busy machine may take from the cut to the kill.
  cluster: {properties: {replica.lag.time.max.ms: 30000}}
  topic: {partitions: 1, replication_factor: 3, config: {min.insync.replicas: 2}}
  workload: {producers: 1, record_size: 100}
axes:
  acks:
    levels:
      1: {producer: {acks: 1}, promise: {lost: any}}
      all: {producer: {acks: all}}
  fault:
    levels:
      cut-then-kill:
        steps:
          - write: {name: together, records: 500}
          - wait: {replicated: true, within: 60}
          - inject: {partition: {from: {leader: 0}, to: {followers: 0}}}
          - write: {name: alone, records: 500, at_most: 6}
          - wait: {isr: 3, within: 10}
          - inject: {kill: {target: {leader: 0}}}
          - heal:
      none:
        steps:
          - write: {name: together, records: 500}
repeats: 3
slo:
  - {at: {acks: all}, lost: 0}
"""


def matrix(*arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "kafka_chaos", "matrix", *arguments, "-q", "--json"]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


@pytest.mark.usefixtures("only_sweeper")
def test_two_by_two_by_three_killed_in_the_middle_and_resumed(tmp_path: Path) -> None:
    spec, results = tmp_path / "small.yaml", tmp_path / "results"
    spec.write_text(SPEC)
    first = matrix(str(spec), "--results", str(results), "--seed", "11")
    deadline = time.monotonic() + 900
    while len(list(results.glob("*/runs/*/*/outcome.json"))) < 4:
        assert time.monotonic() < deadline
        assert first.poll() is None, "it ended by itself"
        time.sleep(0.2)
    os.kill(first.pid, signal.SIGKILL)
    first.wait()
    (folder,) = results.iterdir()
    over = {path: path.stat().st_mtime_ns for path in folder.glob("runs/*/*/outcome.json")}
    second = matrix("--resume", str(folder))
    printed, _ = second.communicate(timeout=1200)
    assert second.returncode == 0, printed
    assert {path: path.stat().st_mtime_ns for path in over} == over, "no run that was over is made again"
    result = load_result(folder)
    assert json.loads(printed) == json.loads(result.model_dump_json())
    arms = {arm.name: arm for arm in result.arms}
    assert [run(arm).n for arm in result.arms] == [3, 3, 3, 3], [arm.left_out for arm in result.arms]
    assert {name: run(arm).k for name, arm in arms.items()} == {
        "acks=1_fault=cut-then-kill": 3,
        "acks=1_fault=none": 0,
        "acks=all_fault=cut-then-kill": 0,
        "acks=all_fault=none": 0,
    }
    doomed = arms["acks=1_fault=cut-then-kill"].figures
    assert doomed is not None
    assert doomed.lost_per_million.value == pytest.approx(500_000)
    assert not compare(result, result, names=("a", "b")).worse


def run(arm: MatrixArmResult) -> Share:
    assert arm.figures is not None
    return arm.figures.with_loss
