"""Results of an experiment as a run saves them: arms, their metadata, summaries and judgements."""

from __future__ import annotations

from harness.model.finding_class import FindingClass
from harness.model.result import (
    ArmResult,
    CountRow,
    Example,
    ExperimentResult,
    Judgement,
    Summary,
    VerdictWord,
)
from harness.model.run import ClusterInfo, FaultWindow, FinalRead, ImageInfo, RunMeta, StepInfo
from tests.support.builders.summaries import summary_with

SECOND = 1_000_000_000

START = 1_700_000_000 * SECOND


def meta(arm: str = "acks=1", *, windows: bool = True) -> RunMeta:
    """A run of eight seconds in which broker 1 is killed."""
    image = ImageInfo(
        reference="apache/kafka:4.3.1", digest="sha256:12ab", origin="local", kafka_version="4.3.1"
    )
    cluster = ClusterInfo(
        brokers=3,
        controllers=1,
        combined=False,
        profile="fast",
        properties={"broker.session.timeout.ms": "4000"},
        image=image,
        start_seconds=8.0,
        memory_mib=1033.4,
    )
    window = FaultWindow(
        name="kill-1",
        kind="kill",
        target="broker 1",
        opened_ns=START + 2 * SECOND,
        closed_ns=START + 5 * SECOND,
        verified=True,
        evidence="process gone",
    )
    return RunMeta(
        run_id=77,
        experiment="kill-leader",
        arm=arm,
        seed=42,
        topic="t",
        partitions=2,
        replication_factor=3,
        topic_config={"min.insync.replicas": "2"},
        producer_config={"acks": "1"},
        acks="1",
        idempotent=False,
        promise={"lost": "any"},
        cluster=cluster,
        versions={"python": "3.11.7"},
        started_ns=START,
        ended_ns=START + 8 * SECOND,
        steps=(
            StepInfo(index=0, name="steady", kind="write", started_ns=START, ended_ns=START + 6 * SECOND),
        ),
        windows=(window,) if windows else (),
        final_read=FinalRead(complete=True, records=8, settled_seconds=1.5, replicas_inspected=(1, 2, 3)),
        finished=True,
    )


def summary(error: str | None = None) -> Summary:
    """2,400 lost records of two producers, with an example."""
    example = Example(
        finding=FindingClass.LOST,
        producer=0,
        seq=3,
        partition=1,
        offsets=(),
        acked_offset=4711,
        outcome="acked",
        sent_ns=START + SECOND,
        closed_ns=START + 2 * SECOND,
        error=error,
        windows="kill-1",
        held_by=(3,),
        detail="acknowledged at offset 4711 of t-1; another record stands there now",
    )
    cells = [
        CountRow(
            finding=FindingClass.LOST, producer=producer, partition=1, step=0, windows="kill-1", count=1200
        )
        for producer in (0, 1)
    ]
    return summary_with(
        sent=10,
        outcomes={"acked": 9, "indeterminate": 1},
        reads=8,
        findings={FindingClass.LOST: 2400},
        acked_by_step={"steady": 9},
        lost_by_step={"steady": 2400},
        lost_places={"overwritten": 2400},
        counts=tuple(cells),
        examples=(example,),
        unavailable_seconds=3.2,
        check_seconds=2.0,
    )


def arm(name: str = "acks=1", promised: bool | None = True, *, error: str | None = None) -> ArmResult:
    """An arm that did as promised, did not, or of which nobody can say (None)."""
    words = {True: VerdictWord.VALID, False: VerdictWord.INVALID, None: VerdictWord.UNKNOWN}
    judgement = Judgement(verdict=words[promised], reasons=("a reason",), as_promised=promised)
    return ArmResult(folder=name, meta=meta(name), summary=summary(error), judgement=judgement)


def result(*arms: ArmResult) -> ExperimentResult:
    """An experiment with these arms."""
    return ExperimentResult(
        experiment="kill-leader",
        title="The leader is killed",
        description="",
        arms=arms,
        started_ns=START,
        seconds=9.0,
        command="kafka-chaos run kill-leader",
    )
