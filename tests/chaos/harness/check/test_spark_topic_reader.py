"""The topic read by Spark's own Kafka source gives the same classes as our final reader's journal."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from harness.cluster.managed import ManagedCluster
from harness.run.runner import ExperimentRun
from harness.spec import files

pytestmark = [pytest.mark.chaos, pytest.mark.soak]

_NOT_PASSED_ON = {"reader", "leader_epoch", "read_ns"}
"""Columns in which the two journals may differ."""


def rows(folder: Path) -> list[dict[str, Any]]:
    table = pq.read_table(folder)
    kept = table.select([name for name in table.schema.names if name not in _NOT_PASSED_ON])
    found: list[dict[str, Any]] = kept.to_pylist()
    return sorted(found, key=lambda row: (row["partition"], row["offset"]))


def checked(folder: Path, *more: str) -> Any:
    done = subprocess.run(
        [sys.executable, "-m", "kafka_chaos", "check", str(folder), "--json", "--quiet", *more],
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    arm = json.loads(done.stdout)["arms"][0]
    assert arm["summary"] is not None, arm["meta"]["problems"]
    return arm


def test_the_same_counts_from_the_topic_as_from_the_journal(cluster: ManagedCluster, results: Path) -> None:
    experiment = files.load("cut-then-kill")
    arm = next(one for one in experiment.arms if one.name == "acks=1")
    folder = results / "acks-1"
    ExperimentRun(cluster, experiment, {folder: arm}, 7).execute()
    ours = checked(folder)
    assert ours["summary"]["findings"].get("lost", 0) > 0
    theirs = checked(folder, "--read-with", "spark", "--bootstrap", cluster.bootstrap)
    assert rows(folder / "spark-reads") == rows(folder / "reads")
    for name in ("findings", "outcomes", "reads", "lost_by_step", "lost_places", "problems"):
        assert theirs["summary"][name] == ours["summary"][name], name
    assert theirs["judgement"] == ours["judgement"]
