"""A cluster of ours, treated as somebody else's: over the protocol alone, and by commands of the user's
own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.cluster import state_records
from harness.cluster.managed import ManagedCluster
from harness.model.finding_class import FindingClass
from harness.model.host.processes import owner_label
from harness.model.polling import wait_until
from harness.model.result import ArmResult, VerdictWord
from harness.run.executor import Options, execute
from harness.run.faults.healing import heal_recorded
from harness.run.preflight.feasibility import on_external_cluster
from harness.spec.cluster import ClusterSpec
from harness.spec.experiment_files import parse
from harness.spec.security import SecuritySpec
from tests.chaos.support.windows import not_proved

pytestmark = [pytest.mark.chaos, pytest.mark.soak]

TEXT = """
name: foreign
title: Somebody else's leader is killed by their own command
topic: {partitions: 2, replication_factor: 3, config: {min.insync.replicas: 2}}
workload: {rate: 500, keys: 20}
readers:
  - {name: group, group: foreign-group, members: 2, commits: manual, isolation: read_committed}
steps:
  - write:
      name: steady
      seconds: 8
      faults:
        - fault: FAULT
          at: 2
          for: 4
arms:
  - {name: safe, producer: {acks: all, enable.idempotence: true}, promise: {lost: 0, duplicate: 0}}
"""


@pytest.fixture(scope="module")
def theirs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ManagedCluster]:
    """TLS and a password, as most clusters of others have."""
    spec = ClusterSpec(security=SecuritySpec(tls=True, sasl="plain"))
    with ManagedCluster(spec, log_folder=tmp_path_factory.mktemp("logs")) as started:
        yield started


@pytest.fixture
def config(theirs: ManagedCluster, tmp_path: Path) -> str:
    """A client's configuration file, as a user has it."""
    (tmp_path / "ca.pem").write_text(theirs.access.properties["ssl.ca.pem"])
    rest = {name: value for name, value in theirs.access.properties.items() if name != "ssl.ca.pem"}
    lines = [f"{name}={value}" for name, value in rest.items()]
    path = tmp_path / "client.properties"
    path.write_text("\n".join([*lines, f"ssl.ca.location={tmp_path}/ca.pem", ""]))
    return str(path)


def _line(cluster: ManagedCluster, verb: str) -> str:
    return f"docker {verb} {cluster.name}-broker-$KAFKA_CHAOS_TARGET"


def _fault(cluster: ManagedCluster, verify: str | None = None) -> str:
    state = f"docker inspect -f '{{{{.State.Running}}}}' {cluster.name}-broker-$KAFKA_CHAOS_TARGET"
    return json.dumps(
        {
            "command": {
                "target": {"leader": 0},
                "inject": _line(cluster, "kill"),
                "verify": verify or f'test "$({state})" = false && echo it is down',
                "heal": _line(cluster, "start"),
                "seconds": 30,
            }
        }
    )


def _run(
    cluster: ManagedCluster, config: str, results: Path, fault: str, containers: str | None = None
) -> tuple[Path, ArmResult]:
    experiment = parse(TEXT.replace("FAULT", fault), "test")
    (there,) = on_external_cluster([experiment], cluster.bootstrap.split(",")[0], config, containers)
    options = Options(results=results, seed=5, owned_containers=containers is not None)
    ((folder, result),) = execute([there], options)
    return folder, result.arms[0]


def _left(cluster: ManagedCluster) -> set[str]:
    """What of a run is still there: topics and groups."""
    admin = cluster.admin()
    topics = {name for name in admin._client.list_topics(timeout=60).topics if name.startswith("foreign")}
    return topics | {name for name in admin.groups() if name.startswith("foreign")}


def _await_nothing_left(cluster: ManagedCluster) -> None:
    """A broker learns of a deletion a moment after the controller."""
    wait_until(lambda: str(left) if (left := _left(cluster)) else None, what="nothing is left", seconds=30)


def test_their_own_command_kills_the_leader_and_nothing_is_left(
    theirs: ManagedCluster, config: str, results: Path
) -> None:
    folder, arm = _run(theirs, config, results, _fault(theirs))
    assert arm.judgement.verdict is VerdictWord.VALID, arm.judgement
    assert arm.judgement.as_promised
    assert arm.summary is not None
    assert arm.summary.count(FindingClass.LOST) == 0
    (window,) = arm.meta.windows
    assert window.verified
    assert window.evidence == "verify: it is down"
    assert any("not started by kafka-chaos" in line for line in arm.meta.skipped)
    _await_nothing_left(theirs)
    assert all(theirs.is_running(number) for number in theirs.broker_ids), "and theirs is as it was"
    password = theirs.access.properties["sasl.password"].encode()
    assert [path for path in folder.rglob("*") if path.is_file() and password in path.read_bytes()] == []


def test_a_fault_that_verify_does_not_prove_proves_nothing(
    theirs: ManagedCluster, config: str, results: Path
) -> None:
    fault = json.dumps({"command": {"inject": "true", "verify": "false", "heal": "true", "seconds": 2}})
    _, arm = _run(theirs, config, results, fault)
    assert arm.judgement.verdict is VerdictWord.UNKNOWN
    assert arm.judgement.reasons == ("fault command-1 was not shown to take effect",)


def test_their_containers_are_hit_once_that_is_allowed(
    theirs: ManagedCluster, config: str, results: Path
) -> None:
    label = f"kafka-chaos.cluster={theirs.name}"
    cut = "{partition: {from: {leader: 0}, to: {followers: 0}}}"
    for fault in ("{kill: {target: {leader: 0}}}", cut):
        _, arm = _run(theirs, config, results, fault, containers=label)
        assert arm.judgement.verdict is VerdictWord.VALID, arm.judgement
        assert not_proved(arm.meta) == []
    assert all(theirs.is_running(number) for number in theirs.broker_ids)


@pytest.mark.usefixtures("only_sweeper")
def test_a_killed_harness_is_healed_from_its_record(
    theirs: ManagedCluster, config: str, results: Path, tmp_path: Path
) -> None:
    text = TEXT.replace("FAULT", _fault(theirs))
    text = text.replace("seconds: 8", "seconds: 60").replace("for: 4", "for: 50")
    (tmp_path / "foreign.yaml").write_text(text)
    first = theirs.bootstrap.split(",")[0]
    command = [sys.executable, "-m", "kafka_chaos", "run", str(tmp_path / "foreign.yaml"), "--quiet"]
    options = ["--bootstrap-servers", first, "--client-config", config, "--results", str(results)]
    process = subprocess.Popen([*command, *options], env=dict(os.environ))
    until = time.monotonic() + 240
    while all(theirs.is_running(number) for number in theirs.broker_ids) and time.monotonic() < until:
        time.sleep(0.2)
    owner = owner_label(process.pid)
    os.kill(process.pid, signal.SIGKILL)
    process.wait(120)
    assert not all(theirs.is_running(number) for number in theirs.broker_ids)
    assert len(_left(theirs)) >= 1
    # Others on this machine may have ended, too.
    (record,) = [record for record in state_records.recorded_clusters() if record.owner == owner]
    (one,) = [one for one in heal_recorded(None) if one.name == record.name]
    assert one.clean, one
    assert all(theirs.is_running(number) for number in theirs.broker_ids)
    _await_nothing_left(theirs)
    assert one.name not in [record.name for record in state_records.recorded_clusters()]
