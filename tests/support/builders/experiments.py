"""Stand-ins for brokers: a cluster that is only a name, and experiments that come to what a test says."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Self

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from harness.model.finding_class import FindingClass
from harness.model.journal import FAULTS, FAULTS_FILE, READS, READS_DIR
from harness.model.result import ArmResult, Example, ExperimentResult, Judgement, Summary, VerdictWord
from harness.model.run import ClusterInfo, FaultWindow, ImageInfo, RunMeta, StepInfo
from harness.pytest_plugin import cluster_pool, messages
from harness.run import executor
from harness.run.executor import EXPERIMENT_FILE, Options, choose_arms
from harness.spec.cluster import ClusterSpec
from harness.spec.experiment import Arm, Experiment
from tests.support.builders.summaries import summary_with

SECOND = 1_000_000_000
START = 1_700_000_000 * SECOND
IMAGE = ImageInfo(reference="apache/kafka:4.3.1", digest="sha256:12ab", origin="local", kafka_version="4.3.1")
Losses = dict[str, int | None]
"""Arm -> how many records it loses; None: it cannot be told."""


class StandInCluster:
    """What the plugin asks of a cluster. `stopped` tells what became of it."""

    def __init__(self, spec: ClusterSpec, ports: list[int]) -> None:
        self.spec = spec
        self.ports = ports
        self.name = "kc-standin"
        self.bootstrap = ",".join(f"127.0.0.1:{port}" for port in ports)
        self.stopped = False
        self.commits: dict[str, dict[int, int]] = {}

    def admin(self) -> Self:
        return self

    def committed(self, _topic: str) -> dict[str, dict[int, int]]:
        return self.commits

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stopped = True

    def on_start(self, _told: Callable[[int], None]) -> Callable[[], None]:
        return lambda: None

    def proxy_problems(self) -> list[str]:
        return []


class StandIns:
    """Installed in place of Docker and brokers; counts what was asked of it."""

    def __init__(self) -> None:
        self.clusters: list[StandInCluster] = []
        self.healed = 0
        self.runs: list[tuple[Experiment, Options]] = []
        self.losses: Losses = {}
        self.during: Callable[[], None] = lambda: None

    def start(self, spec: ClusterSpec, *, ports: list[int], **_: object) -> StandInCluster:
        self.clusters.append(StandInCluster(spec, ports))
        return self.clusters[-1]

    def heal(self, _cluster: StandInCluster) -> StandIns:
        self.healed += 1
        return self

    clean = True
    failures = traces = ()

    def run_on(
        self, _cluster: StandInCluster, experiment: Experiment, options: Options
    ) -> tuple[Path, ExperimentResult]:
        self.runs.append((experiment, options))
        folder = options.results / f"{experiment.name}-20260101T000000Z"
        folder.mkdir(parents=True)
        (folder / EXPERIMENT_FILE).write_text(experiment.model_dump_json(by_alias=True))
        arms = []
        for arm in choose_arms(experiment, options.arms):
            options.started(arm.name, "t")
            self.during()
            arms.append(arm_result(experiment, arm, folder, options.seed, self.losses.get(arm.name, 0)))
        result = ExperimentResult(
            experiment=experiment.name,
            title=experiment.title,
            description="",
            arms=tuple(arms),
            started_ns=START,
            seconds=1.0,
            command=options.command,
        )
        return folder, result


def install(monkeypatch: pytest.MonkeyPatch) -> StandIns:
    """Stand-ins instead of brokers, Docker and Java, until the end of the test."""
    found = StandIns()
    monkeypatch.setattr(cluster_pool, "ManagedCluster", found.start)
    monkeypatch.setattr(cluster_pool, "heal_cluster", found.heal)
    monkeypatch.setattr(executor, "run_on", found.run_on)
    monkeypatch.setattr(executor, "with_engine", lambda options, _: options)
    monkeypatch.setattr(messages, "image_line", lambda _: "image of a stand-in")
    return found


def arm_result(
    experiment: Experiment, arm: Arm, folder: Path, seed: int, lost: int | None, reads: int = 4
) -> ArmResult:
    """An arm whose run lost as many, with the journals that a replay and a consumer are held against."""
    run = folder / arm.name
    names = [step.action.name for step in experiment.steps if step.write is not None]
    meta = RunMeta(
        run_id=77,
        experiment=experiment.name,
        arm=arm.name,
        seed=seed,
        topic="t",
        partitions=2,
        replication_factor=3,
        acks="1",
        idempotent=False,
        cluster=ClusterInfo(
            brokers=3,
            controllers=1,
            combined=False,
            profile="fast",
            properties={},
            image=IMAGE,
            start_seconds=8.0,
        ),
        started_ns=START,
        ended_ns=START + 8 * SECOND,
        steps=tuple(
            StepInfo(index=0, name=name, kind="write", started_ns=START, ended_ns=START + 6 * SECOND)
            for name in names
        ),
        windows=(
            FaultWindow(
                name="kill-1",
                kind="kill",
                target="broker 1",
                opened_ns=START + 2 * SECOND,
                closed_ns=START + 5 * SECOND,
                verified=True,
            ),
        ),
        finished=True,
    )
    run.mkdir()
    meta.save(run)
    pq.write_table(FAULTS.empty_table(), run / FAULTS_FILE)
    (run / READS_DIR).mkdir()
    record = {"reader": "final", "topic": "t", "state": "ok", "read_ns": START}
    rows = [record | {"partition": number % 2, "offset": number} for number in range(reads)]
    pq.write_table(pa.Table.from_pylist(rows, READS), run / READS_DIR / "part-000000.parquet")
    told = lost is not None
    broken = bool(lost)
    word = VerdictWord.INVALID if broken else VerdictWord.VALID
    reason = f"{lost} acknowledged records are lost" if told else "the final read is not complete"
    return ArmResult(
        folder=arm.name,
        meta=meta,
        summary=_summary(lost or 0),
        judgement=Judgement(
            verdict=word if told else VerdictWord.UNKNOWN,
            reasons=(reason,) if broken or not told else (),
            as_promised=not broken or arm.promise.get("lost", "0") != "0" if told else None,
        ),
    )


def _summary(lost: int) -> Summary:
    example = Example(
        finding=FindingClass.LOST,
        producer=0,
        seq=3,
        partition=1,
        offsets=(),
        acked_offset=4711,
        outcome="acked",
        sent_ns=START,
        closed_ns=START + 3 * SECOND,
        error=None,
        windows="kill-1",
        held_by=(3,),
        detail="acknowledged at offset 4711 of t-1; another record stands there now",
    )
    return summary_with(
        sent=10,
        outcomes={"acked": 9},
        reads=8,
        findings={FindingClass.LOST: lost} if lost else {},
        examples=(example,) if lost else (),
        unavailable_seconds=4.2,
        check_seconds=1.0,
    )
