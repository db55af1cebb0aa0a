"""What an audit advises about a run: of the client and the Kafka that it had, and only of what is known."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from harness.cli.results import print_result
from harness.model.finding_class import FindingClass
from harness.model.result import ArmResult, CountRow, ExperimentResult, Summary
from harness.model.run import UNKNOWN_CLUSTER, ClusterInfo
from harness.run.executor import Options
from harness.spec.experiment_files import load
from harness.tools.audit.audit import audit
from harness.tools.audit.known_settings import ClientLibrary
from harness.tools.audit.remedies import remedies
from harness.tools.interop.import_summary import VerifiableImport
from harness.tools.interop.verifiable_import import import_run
from tests.support.builders.experiments import install
from tests.support.history import window
from tests.support.verifiable_output import START, STOP, assigned, got, polled, sent, summary

pytestmark = pytest.mark.pure

JAVA, RDK = ClientLibrary.JAVA, ClientLibrary.LIBRDKAFKA


def result_of(monkeypatch: pytest.MonkeyPatch, arm: str, lost: int | None, folder: Path) -> ExperimentResult:
    stand_ins = install(monkeypatch)
    stand_ins.losses = {arm: lost}
    _, result = stand_ins.run_on(None, load("kill-leader"), Options(results=folder, arms=(arm,)))  # type: ignore[arg-type]
    return result


def test_the_remedy_of_an_invalid_run_is_the_audits(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    result = result_of(monkeypatch, "acks=1", 3, tmp_path / "a")
    assert remedies(result.arms[0]) == ("against lost: set acks=all and min.insync.replicas=2",)
    out = io.StringIO()
    print_result(Console(file=out, width=200), result)
    assert "  remedy against lost: set acks=all and min.insync.replicas=2\n" in out.getvalue()
    assert remedies(result_of(monkeypatch, "acks=1", 0, tmp_path / "b").arms[0]) == ()
    assert remedies(result_of(monkeypatch, "acks=1", None, tmp_path / "c").arms[0]) == ()


def test_settings_are_no_remedy_against_reports_that_were_false(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    arm = result_of(monkeypatch, "acks=1", 3, tmp_path).arms[0]
    assert arm.summary is not None
    settings = "against lost: set acks=all and min.insync.replicas=2"
    for doubts, expected in (
        ({"false": 3}, [False]),
        ({"false": 2}, [False, True]),
        ({"doubtful": 3}, [False, True]),
    ):
        summary = arm.summary.model_copy(update={"same_offset": doubts})
        found = remedies(arm.model_copy(update={"summary": summary}))
        assert [one == settings for one in found] == expected
        assert "look at what the client takes for a success" in found[0]


def test_what_a_client_or_a_service_does_has_no_remedy_in_the_settings(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    arm = result_of(monkeypatch, "acks=1", 3, tmp_path).arms[0]
    assert arm.summary is not None
    late = arm.summary.model_copy(update={"findings": {FindingClass.REORDERED: 5}})

    def found(summary: Summary, **meta: Any) -> tuple[str, ...]:
        settings = {"idempotent": False, "producer_config": {}, "client": "own"} | meta
        told = arm.meta.model_copy(update=settings)
        return remedies(arm.model_copy(update={"meta": told, "summary": summary}))

    assert any("max.in.flight" in remedy for remedy in found(late))
    assert found(late, order="none") == (), "sends overtake each other inside the client"
    assert found(late, max_in_flight=1) == (), "it has that setting"
    twice = arm.summary.model_copy(update={"findings": {FindingClass.DUPLICATE_ID: 5}})
    (remedy,) = found(twice)
    assert remedy.startswith("against duplicate_id: do not send an id again while its first send has no")


@pytest.mark.parametrize(
    ("windows", "remedy"),
    [
        (("", ""), "no fault was in force for 5 of 5"),
        (("kill-1", ""), "no fault was in force for 2 of 5"),
        (("kill-1", "kill-1 + cut-1"), None),
        (None, None),
    ],
)
@pytest.mark.parametrize("finding", [FindingClass.UNPROCESSED, FindingClass.REPROCESSED])
def test_a_control_is_offered_where_no_fault_was_in_force(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    finding: FindingClass,
    windows: tuple[str, str] | None,
    remedy: str | None,
) -> None:
    arm = result_of(monkeypatch, "acks=1", 3, tmp_path).arms[0]
    assert arm.summary is not None
    blamed = zip((3, 2), windows or ("", ""), strict=True)
    counts = [
        CountRow(finding=finding, producer=0, partition=0, step=0, windows=names, count=count)
        for count, names in blamed
    ]
    summary = arm.summary.model_copy(update={"counts": tuple(counts), "findings": {finding: 5}})
    faults = () if windows is None else (window("kill-1", 1, 2),)
    meta = arm.meta.model_copy(update={"windows": faults})
    found = remedies(arm.model_copy(update={"meta": meta, "summary": summary}))
    expected = (
        f"against {finding}: {remedy}, so look at the application; an arm with `without_faults: true` is a "
        "control: the same steps, but no fault is injected"
    )
    assert found == (() if remedy is None else (expected,))


def test_the_remedy_is_of_the_client_and_the_kafka_that_wrote(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    arm = result_of(monkeypatch, "acks=1", 3, tmp_path).arms[0]
    seen: list[tuple[ClientLibrary | None, str]] = []

    def record(entries: Any, client: ClientLibrary | None, kafka: str, **more: Any) -> Any:
        seen.append((client, kafka))
        return audit(entries, client, kafka, **more)

    monkeypatch.setattr("harness.tools.audit.remedies.audit", record)
    clients = {"librdkafka": RDK, "java": JAVA, "driven": JAVA, "my tool": None}
    for name in clients:
        remedies(arm.model_copy(update={"meta": arm.meta.model_copy(update={"client": name})}))
    assert [client for client, _ in seen] == list(clients.values())
    image = arm.meta.cluster.image.model_copy(update={"kafka_version": "3.6.1"})
    cluster = arm.meta.cluster.model_copy(update={"image": image})
    remedies(arm.model_copy(update={"meta": arm.meta.model_copy(update={"cluster": cluster})}))
    assert seen[-1][1] == "3.6.1"


NOT_OURS = UNKNOWN_CLUSTER.model_copy(
    update={"image": UNKNOWN_CLUSTER.image.model_copy(update={"reference": "not ours"}), "brokers": 3}
)


def lost(
    monkeypatch: pytest.MonkeyPatch, folder: Path, cluster: ClusterInfo, acks: str, topic: dict[str, str]
) -> ArmResult:
    """An arm of this cluster that lost records."""
    arm = result_of(monkeypatch, "acks=1", 3, folder).arms[0]
    changed = {
        "cluster": cluster,
        "acks": acks,
        "topic_config": topic,
        "producer_config": {},
        "client": "java",
    }
    return arm.model_copy(update={"meta": arm.meta.model_copy(update={**changed, "replication_factor": 1})})


@pytest.mark.parametrize(
    ("cluster", "acks", "topic", "advice"),
    [
        (UNKNOWN_CLUSTER, "all", {}, ()),
        (UNKNOWN_CLUSTER, "1", {}, ("set acks=all",)),
        (NOT_OURS, "all", {}, ("set replication.factor=3",)),
        (NOT_OURS, "1", {}, ("set acks=all", "set replication.factor=3")),
        (
            NOT_OURS,
            "1",
            {"min.insync.replicas": "1"},
            ("set acks=all and min.insync.replicas=2", "set replication.factor=3"),
        ),
    ],
)
def test_nothing_is_advised_about_what_is_not_known(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    cluster: ClusterInfo,
    acks: str,
    topic: dict[str, str],
    advice: tuple[str, ...],
) -> None:
    arm = lost(monkeypatch, tmp_path, cluster, acks, topic)
    assert remedies(arm) == tuple(f"against lost: {one}" for one in advice)


def test_an_imported_history_gets_no_advice_about_replicas(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "p.log").write_text("\n".join([START, sent("0", 0), sent("1", 1), STOP, summary(2)]))
    (tmp_path / "c.log").write_text("\n".join([START, assigned(0), got("0", 0), polled(1)]))
    request = VerifiableImport((tmp_path / "p.log",), finals=(tmp_path / "c.log",), complete=True)
    meta = import_run(request, tmp_path / "run").meta
    arm = result_of(monkeypatch, "acks=1", 1, tmp_path / "results").arms[0]
    assert remedies(arm) != ()
    assert remedies(arm.model_copy(update={"meta": meta})) == ()


def test_of_our_own_cluster_the_defaults_are_known(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    ours = result_of(monkeypatch, "acks=1", 3, tmp_path / "a").arms[0].meta.cluster
    arm = lost(monkeypatch, tmp_path / "b", ours, "all", {})
    assert "against lost: set min.insync.replicas=2 with replication.factor=3" in remedies(arm)


def test_what_the_topic_lets_expire_needs_no_remedy(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    arm = lost(monkeypatch, tmp_path, NOT_OURS, "all", {"retention.ms": "1000"})
    assert arm.summary is not None
    found = {**arm.summary.findings, FindingClass.EXPIRED: 9}
    arm = arm.model_copy(update={"summary": arm.summary.model_copy(update={"findings": found})})
    assert remedies(arm) == ("against lost: set replication.factor=3",)
