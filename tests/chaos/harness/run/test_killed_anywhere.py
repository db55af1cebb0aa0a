"""The harness itself is killed, at any moment of a matrix, again and again: nothing is left behind, every
journal can be read, `check` answers, and `--resume` goes on to the end.

`--kills N` asks for more than the nightly's three.
"""

from __future__ import annotations

import random
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from docker import DockerClient

from harness.cluster.containers import docker_engine
from harness.many.matrix.result import load_result
from harness.model.host import processes
from tests.chaos.support.processes import COMMAND, environment, kafka_chaos

pytestmark = [pytest.mark.chaos, pytest.mark.soak, pytest.mark.usefixtures("only_sweeper")]

SPEC = """
name: doomed
title: Faults of three kinds, while the harness is killed
base:
  topic: {partitions: 2, replication_factor: 3, config: {min.insync.replicas: 2}}
  workload: {producers: 1, rate: 500}
  producer: {acks: all, enable.idempotence: true}
axes:
  fault:
    levels:
      kill:
        steps:
          - write: {name: w, seconds: 6, faults: [{fault: {kill: {target: {leader: 0}}}, at: 1, for: 3}]}
      pause:
        steps:
          - write: {name: w, seconds: 6, faults: [{fault: {pause: {target: {leader: 0}}}, at: 1, for: 3}]}
      partition:
        steps:
          - write:
              name: w
              seconds: 6
              faults: [{fault: {partition: {from: {leader: 0}, to: {followers: 0}}}, at: 1, for: 3}]
repeats: 2
"""
MOST_SECONDS = 60.0
"""Of a matrix under way before it is killed: by then some of its runs are over."""
BEGIN_SECONDS = 600.0
"""Until a cluster is up and the first run has begun, on a busy machine."""


def left_by_the_dead(client: DockerClient) -> list[str]:
    """What carries our label, and the label of an owner that has ended."""
    wanted = {"label": docker_engine.LABEL}
    containers = client.containers.list(all=True, filters=wanted, ignore_removed=True)
    found = [(one.name, one.labels) for one in containers]
    found += [(one.name, one.attrs.get("Labels")) for one in client.networks.list(filters=wanted)]
    found += [(one.name, one.attrs.get("Labels")) for one in client.volumes.list(filters=wanted)]
    return [
        name
        for name, labels in found
        if processes.owner_has_ended((labels or {}).get(docker_engine.OWNER_LABEL))
    ]


def killed_after(seconds: float, state: Path, arguments: list[str], begun: Callable[[], bool]) -> bool:
    """Whether it was still under way that long after `begun`."""
    process = subprocess.Popen(
        [*COMMAND, *arguments],
        env=environment(state),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        deadline = time.monotonic() + BEGIN_SECONDS
        while not begun() and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.2)
        process.wait(seconds)
        return False
    except subprocess.TimeoutExpired:
        return True
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()


def new_runs(folder: Path, seen: set[Path]) -> list[Path]:
    """Runs that were begun since, over or not."""
    found = [path.parent for path in sorted(folder.glob("**/run.json")) if path.parent not in seen]
    seen.update(found)
    return found


def test_killed_at_any_moment(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    kills = int(request.config.getoption("--kills"))
    chance = random.Random(kills)
    client = docker_engine.connect()
    spec, state = tmp_path / "doomed.yaml", tmp_path / "state"
    spec.write_text(SPEC)
    folder: Path | None = None
    matrices, done, checked = 0, 0, 0
    seen: set[Path] = set()
    while done < kills:
        if folder is None:
            results = tmp_path / f"results-{matrices}"
            matrices += 1
            arguments = ["matrix", str(spec), "--results", str(results), "-q", "--seed", str(matrices)]
        else:
            arguments = ["matrix", "--resume", str(folder), "-q"]
        # At any moment; but if there is no run to check yet, the last time once one has begun.
        anyhow = checked > 0 or done < kills - 1
        under_way = killed_after(
            chance.uniform(0.5, MOST_SECONDS),
            state,
            arguments,
            begun=lambda results=results, anyhow=anyhow: anyhow or any(results.glob("**/run.json")),
        )
        done += under_way
        swept = kafka_chaos(state, "clean")
        assert swept.returncode == 0, swept.stderr
        assert left_by_the_dead(client) == []
        assert not list(state.glob("*/")), "the record goes with the cluster"
        folder = next(iter(results.glob("doomed-*")), None)
        for run in [] if folder is None else new_runs(folder, seen):
            for part in run.glob("**/*.parquet"):
                pq.read_table(part)
            answer = kafka_chaos(state, "check", str(run), "--json", "--quiet")
            assert answer.returncode in (0, 1, 3), answer.stderr
            checked += 1
        if folder is not None and (not under_way or done == kills):
            whole = kafka_chaos(state, "matrix", "--resume", str(folder), "-q")
            assert whole.returncode == 0, whole.stderr + whole.stdout
            arms = load_result(folder).arms
            assert [len(arm.runs) for arm in arms] == [2, 2, 2]
            folder = None
    print(f"{done} kills, {matrices} matrices, {checked} runs checked")
    assert checked > 0
