"""The matrix of a comparison of files, and its plan."""

from __future__ import annotations

from pathlib import Path

import pytest

from faults.requests import Requests
from harness.lab.clients.participants import chosen_faults
from harness.lab.configs.config_matrix import USUAL_FAULTS
from harness.lab.configs.config_plan import planned_comparison
from harness.many.matrix.plan import MatrixOptions, MatrixPlan
from harness.model.errors import BadInput
from harness.spec.experiment import Experiment
from harness.spec.overrides import ClusterOptions
from tests.support.builders.config_comparisons import ACKS, written_files

pytestmark = pytest.mark.pure


def planned(
    folder: Path,
    *faults: str,
    changes: MatrixOptions | None = None,
    rate: int | None = None,
    texts: dict[str, str] = ACKS,
) -> MatrixPlan:
    paths = written_files(folder, texts)
    return planned_comparison(paths, faults, rate, changes or MatrixOptions(), 4, "kafka-chaos x")[1]


def experiments(plan: MatrixPlan) -> dict[str, Experiment]:
    return {arm.name: arm.experiment for arm in plan.arms if arm.experiment is not None}


def test_every_file_meets_the_four_faults_five_times(tmp_path: Path) -> None:
    plan = planned(tmp_path)
    assert [arm.labels for arm in plan.arms] == [
        {"file": file, "fault": fault} for file in ACKS for fault in USUAL_FAULTS
    ]
    assert plan.needed.runs == 40
    assert plan.needed.starts == 1, "all arms share a cluster"
    for fault in USUAL_FAULTS:
        one, other = (experiments(plan)[f"file={file}_fault={fault}"] for file in ACKS)
        assert one.steps == other.steps == chosen_faults([fault])[fault].steps
        assert (one.cluster, one.topic, one.workload) == (other.cluster, other.topic, other.workload)


def test_an_arm_is_the_files_producer_on_the_topic_of_the_clients(tmp_path: Path) -> None:
    texts = {"a.conf": "acks=1; linger.ms=7; buffer.memory=33554432", "b.conf": "acks=all"}
    plan = planned(tmp_path, "kill", texts=texts)
    first, second = experiments(plan).values()
    (arm,) = first.arms
    assert arm.producer.properties() == {
        "acks": "1",
        "enable.idempotence": False,
        "max.in.flight.requests.per.connection": 5,
        "delivery.timeout.ms": 30_000,
        "linger.ms": 7,
        "queue.buffering.max.kbytes": "32768",
    }
    assert [experiment.arms[0].promise for experiment in (first, second)] == [
        {"lost": "0", "duplicate": "any"},
        {"lost": "0", "duplicate": "0"},
    ]
    assert (first.workload.rate, first.cluster.profile) == (1000, "kafka")
    assert first.topic.assignment == ((1, 2, 3),)
    assert first.topic.config == {"min.insync.replicas": "2"}


def test_options_change_faults_runs_rate_and_cluster(tmp_path: Path) -> None:
    changes = MatrixOptions(repeat=2, cluster=ClusterOptions(version="4.1.0", profile="fast"))
    plan = planned(tmp_path, "kill", "none", changes=changes, rate=50)
    assert plan.needed.runs == 8
    kill = experiments(plan)["file=one.properties_fault=kill"]
    assert (kill.workload.rate, kill.cluster.version, kill.cluster.profile) == (50, "4.1.0", "fast")
    none = experiments(plan)["file=one.properties_fault=none"]
    assert none.cluster.proxy, "a fault may need settings of the cluster"
    with pytest.raises(BadInput, match="kil"):
        planned(tmp_path, "kil")


def test_a_lost_answer_is_that_of_any_producer(tmp_path: Path) -> None:
    (one, _) = experiments(planned(tmp_path, "lost-answer")).values()
    (fault,) = [step.inject.fault for step in one.steps if step.inject is not None]
    assert isinstance(fault, Requests)
    assert (fault.on.client, fault.on.nth) == (None, 1)


def test_a_transactional_file_sends_in_transactions(tmp_path: Path) -> None:
    texts = {"a.conf": "acks=all", "b.conf": "acks=all; transactional.id=x"}
    plain, transactional = experiments(planned(tmp_path, "kill", texts=texts)).values()
    assert not plain.workload_of(plain.arms[0]).transactional
    assert transactional.workload_of(transactional.arms[0]).transactional


def test_names_of_files_that_are_no_names_of_folders(tmp_path: Path) -> None:
    plan = planned(tmp_path, "kill", texts={"old/p q.conf": "acks=1", "new/p q.conf": "acks=all"})
    assert list(experiments(plan)) == ["file=old-p-q.conf_fault=kill", "file=new-p-q.conf_fault=kill"]
    assert plan.arms[0].labels["file"] == "old/p q.conf"
