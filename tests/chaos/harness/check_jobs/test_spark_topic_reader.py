"""The topic read by Spark's own Kafka source gives the same classes as our final reader's journal.
While brokers die or freeze it gives the same ones too, or the verdict is unknown."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from harness.cluster.managed import ManagedCluster
from harness.run.experiment_run import ExperimentRun
from harness.spec.experiment_files import load
from tests.chaos.support.suite import Started

pytestmark = [pytest.mark.chaos, pytest.mark.soak]

_NOT_PASSED_ON = {"reader", "leader_epoch", "read_ns"}
"""Columns in which the two journals may differ."""


@pytest.fixture(scope="module")
def cluster(started: Started) -> ManagedCluster:
    return started(load("cut-then-kill").cluster)


def rows(folder: Path) -> list[dict[str, Any]]:
    table = pq.read_table(folder)
    kept = table.select([name for name in table.schema.names if name not in _NOT_PASSED_ON])
    found: list[dict[str, Any]] = kept.to_pylist()
    return sorted(found, key=lambda row: (row["partition"], row["offset"]))


def command(folder: Path, *more: str) -> list[str]:
    return [sys.executable, "-m", "kafka_chaos", "check", str(folder), "--json", "--quiet", *more]


def checked(folder: Path, *more: str) -> Any:
    done = subprocess.run(command(folder, *more), capture_output=True, text=True, timeout=900, check=False)
    arm = json.loads(done.stdout)["arms"][0]
    assert arm["summary"] is not None, arm["meta"]["problems"]
    return arm


def test_the_same_counts_from_the_topic_as_from_the_journal(cluster: ManagedCluster, results: Path) -> None:
    experiment = load("cut-then-kill")
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


def _kills(cluster: ManagedCluster, over: threading.Event) -> None:
    """Brokers die one after the other, each for two seconds."""
    for broker in itertools.cycle(cluster.broker_ids):
        cluster.kill(broker)
        over.wait(2)
        cluster.start_node(broker)
        if over.wait(4):
            return


def _freeze(cluster: ManagedCluster, over: threading.Event) -> None:
    """Once Spark has started, nobody answers for 25 s."""
    over.wait(8)
    for broker in cluster.broker_ids:
        cluster.pause(broker)
    over.wait(25)
    for broker in cluster.broker_ids:
        cluster.unpause(broker)


@pytest.mark.parametrize("fault", [_kills, _freeze], ids=["kills", "frozen"])
def test_under_faults_on_brokers_the_answer_is_the_same_or_unknown(
    cluster: ManagedCluster, results: Path, fault: Callable[[ManagedCluster, threading.Event], None]
) -> None:
    experiment = load("cut-then-kill")
    arm = next(one for one in experiment.arms if one.name == "acks=1")
    folder = results / "acks-1"
    ExperimentRun(cluster, experiment, {folder: arm}, 7).execute()
    ours = checked(folder)
    over = threading.Event()
    with ThreadPoolExecutor(1) as beside:
        going_on = beside.submit(fault, cluster, over)
        try:
            done = subprocess.run(
                command(folder, "--read-with", "spark", "--bootstrap", cluster.bootstrap),
                capture_output=True,
                text=True,
                timeout=900,
                check=False,
            )
        finally:
            over.set()
            going_on.result()
    (theirs,) = json.loads(done.stdout)["arms"]
    verdict = theirs["judgement"]["verdict"]
    print(f"the answer under faults: {verdict}, {theirs['judgement']['reasons']}")
    if verdict == "unknown":
        assert theirs["judgement"]["reasons"]
        return
    assert theirs["judgement"] == ours["judgement"]
    assert theirs["summary"]["findings"] == ours["summary"]["findings"]
