"""Applications under test on real brokers: their faults are proved, and nothing of them is left."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from harness.cluster.containers import docker_engine
from harness.cluster.external import ExternalCluster
from harness.cluster.managed import ManagedCluster
from harness.cluster.running_cluster import running_cluster
from harness.cluster.state_records import recorded_clusters
from harness.model.application_journal import APPLICATION_DIR
from harness.model.errors import ClusterError
from harness.model.journal_reader import journal_rows
from harness.model.result import VerdictWord
from harness.run.executor import Options, run_on
from harness.spec.cluster import ClusterSpec
from harness.spec.experiment import Experiment
from tests.chaos.support.applications import left_of_applications, run_application, verified_faults
from tests.chaos.support.processes import checked
from tests.support.paths import ROOT
from workloads.applications import arm_application

pytestmark = [pytest.mark.chaos, pytest.mark.soak]

COPY = ROOT / "tests" / "support" / "copy_application.py"
PIPE = """
trap 'kill -TERM 0; exit 143' TERM
export PATH=$PATH:/opt/kafka/bin KAFKA_HEAP_OPTS=-Xmx128m
kafka-console-consumer.sh --bootstrap-server {bootstrap} --topic {input} --group {group} --from-beginning |
  kafka-console-producer.sh --bootstrap-server {bootstrap} --topic {output} &
wait
"""


def test_a_process_is_killed_paused_and_restarted(cluster: ManagedCluster, tmp_path: Path) -> None:
    program = [sys.executable, str(COPY), "{bootstrap}", "{input}", "{output}", "{group}"]
    all_of_it = {"target": {"application": "all"}}
    arm = run_application(
        cluster,
        tmp_path,
        {"run": {"process": program}, "instances": 2, "group": "copies"},
        [
            {
                "write": {
                    "name": "input",
                    "records": 3000,
                    "rate": 250,
                    "faults": [
                        {"fault": {"kill": {"target": {"application": 0}}}, "at": 1, "for": 1},
                        {"fault": {"pause": all_of_it}, "at": 4, "for": 1},
                    ],
                }
            },
            {"inject": {"restart": all_of_it}},
        ],
    )
    assert verified_faults(arm) == {"kill-1": True, "pause-1": True, "restart-1": True}
    application = arm.meta.application
    assert application is not None
    assert application.problems == ()
    assert application.drained
    events = [
        (row["instance"], row["event"])
        for row in journal_rows(tmp_path / _folder(tmp_path) / APPLICATION_DIR, ["instance", "event"])
    ]
    assert events.count((0, "killed")) == 1
    assert events.count((0, "restarted")) == 2
    assert events.count((1, "restarted")) == 1
    assert left_of_applications(cluster) == []


def test_a_container_is_cut_off_limited_and_killed(cluster: ManagedCluster, tmp_path: Path) -> None:
    container = {"image": cluster.image.reference, "command": ["bash", "-c", PIPE]}
    one = {"target": {"application": 0}}
    arm = run_application(
        cluster,
        tmp_path,
        {"run": {"container": container}, "group": "pipe", "ready": {"group": "active", "within": 120}},
        [
            {
                "write": {
                    "name": "input",
                    "records": 2400,
                    "rate": 100,
                    "faults": [
                        {
                            "fault": {"partition": {"from": {"application": "all"}, "to": "all"}},
                            "at": 1,
                            "for": 2,
                        },
                        {"fault": {"cpu_limit": {**one, "cpus": 0.5}}, "at": 9, "for": 2},
                        # Its two JVMs hold about half of it.
                        {"fault": {"memory_limit": {**one, "mib": 640}}, "at": 12, "for": 1},
                    ],
                }
            },
            {"inject": {"kill": one}},
        ],
        workload={"payload": {"json": {"id": "$identity"}}},
    )
    assert verified_faults(arm) == {
        "partition-1": True,
        "cpu_limit-1": True,
        "memory_limit-1": True,
        "kill-1": True,
    }
    assert arm.meta.application is not None
    assert arm.meta.application.drained
    assert (tmp_path / _folder(tmp_path) / APPLICATION_DIR / "instance-0.log").exists()
    assert left_of_applications(cluster) == []


def test_an_application_that_ends_at_once_ends_the_run_with_its_last_lines(
    cluster: ManagedCluster, tmp_path: Path
) -> None:
    broken = [sys.executable, "-c", "import sys; print('no such setting: x'); sys.exit(4)"]
    steps = [{"write": {"name": "input", "records": 10}}]
    with pytest.raises(ClusterError, match="ended before it was ready") as refused:
        run_application(cluster, tmp_path, {"run": {"process": broken}}, steps)
    assert "exit code 4" in str(refused.value)
    assert "no such setting: x" in str(refused.value)
    assert "the run broke" in (tmp_path / _folder(tmp_path) / "run.json").read_text()
    assert left_of_applications(cluster) == []


def test_an_application_that_is_never_ready_leaves_a_folder_with_the_reason(
    cluster: ManagedCluster, tmp_path: Path
) -> None:
    asleep = [sys.executable, "-uc", "import time; print('still loading'); time.sleep(600)"]
    ready = {"logged": "loaded", "within": 10}
    steps = [{"write": {"name": "input", "records": 10}}]
    with pytest.raises(ClusterError, match="was not ready within 10 s") as refused:
        run_application(cluster, tmp_path, {"run": {"process": asleep}, "ready": ready}, steps)
    assert "application 0 has not printed 'loaded'; its last lines" in str(refused.value)
    assert "still loading" in str(refused.value)
    assert left_of_applications(cluster) == []
    run = tmp_path / _folder(tmp_path)
    assert "the application was not ready within 10 s" in (run / "run.json").read_text()
    # Nothing was shown, and the reason is told again.
    told = str(checked(run)["judgement"])
    assert "the application was not ready within 10 s" in told
    assert "still loading" in told


def test_an_application_that_floods_its_table_is_killed(cluster: ManagedCluster, tmp_path: Path) -> None:
    # Long lines, so that there are few to read, and not so fast that it fills the disk before anybody looks.
    endless = """
import os, sys, time
os.makedirs(sys.argv[1], exist_ok=True)
with open(sys.argv[1] + "/all", "ab", 0) as file:
    while True:
        file.write(b"x" * 999_999 + b"\\n")
        time.sleep(0.05)
"""
    arm = run_application(
        cluster,
        tmp_path,
        {"run": {"process": [sys.executable, "-c", endless, "{output}"]}, "output": {"table": "lines"}},
        [{"write": {"name": "input", "records": 100}}],
    )
    assert arm.judgement.verdict is VerdictWord.UNKNOWN
    assert "the application was killed: its table had grown to" in str(arm.judgement.reasons)
    assert left_of_applications(cluster) == []


def _folder(results: Path) -> str:
    """The run's folder below the results."""
    (found,) = results.glob("*/one*")
    return os.path.relpath(found, results)


def _interrupt(*_: str) -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("started", "error"),
    [(lambda *_: None, ClusterError), (_interrupt, KeyboardInterrupt)],
    ids=["the application ends at once", "interrupted"],
)
def test_a_second_cluster_ends_with_its_run(
    started: Callable[[str, str], None],
    error: type[BaseException],
    cluster: ManagedCluster,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    names: list[str] = []

    @contextmanager
    def noted(spec: ClusterSpec, logs: Path) -> Iterator[ManagedCluster | ExternalCluster]:
        with running_cluster(spec, logs) as second:
            names.append(second.name)
            yield second

    monkeypatch.setattr(arm_application, "running_cluster", noted)
    experiment = Experiment.model_validate(
        {
            "name": "second",
            "title": "an application with a second cluster",
            "application": {
                "run": {"process": [sys.executable, "-c", "raise SystemExit(7)", "{output_bootstrap}"]},
                "output": {"cluster": {}},
            },
            "steps": [{"write": {"name": "input", "records": 1}}],
            "arms": [{"name": "one"}],
        }
    )
    with pytest.raises(error):
        run_on(cluster, experiment, Options(results=tmp_path, started=started))
    (name,) = names
    assert name != cluster.name
    wanted = {"label": f"{docker_engine.CLUSTER_LABEL}={name}"}
    assert not cluster.client.containers.list(all=True, filters=wanted, ignore_removed=True)
    assert not cluster.client.networks.list(filters=wanted)
    assert name not in [record.name for record in recorded_clusters()]
