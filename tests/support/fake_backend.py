"""A backend without brokers for matrices: the result of each run is drawn by its seed."""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

from harness.many.docker_backend import Feasibility
from harness.model.errors import BadInput, ClusterError
from harness.model.finding_class import FindingClass
from harness.model.progress import report_progress
from harness.model.result import ArmResult, Judgement, Summary, VerdictWord
from harness.model.run import RunMeta
from harness.spec.cluster import ClusterSpec
from harness.spec.experiment import Arm, Experiment
from tests.support.builders.summaries import summary_with

ACKED = 10_000


def summary_of(
    *, lost: int = 0, duplicates: int = 0, acked: int = ACKED, unavailable: float = 0.0
) -> Summary:
    findings = {FindingClass.LOST: lost, FindingClass.DUPLICATE: duplicates}
    return summary_with(
        sent=acked,
        outcomes={"acked": acked},
        reads=acked - lost,
        findings={finding: count for finding, count in findings.items() if count},
        unavailable_seconds=unavailable,
    )


def judged(summary: Summary, *, promised_loss: bool) -> Judgement:
    lost = summary.count(FindingClass.LOST)
    return Judgement(
        verdict=VerdictWord.INVALID if lost else VerdictWord.VALID,
        reasons=(f"{lost} lost",) if lost else ("all read back",),
        as_promised=promised_loss or not lost,
    )


def checked(name: str, meta: RunMeta, summary: Summary, judgement: Judgement) -> Future[ArmResult]:
    """A check that is over."""
    future: Future[ArmResult] = Future()
    future.set_result(ArmResult(folder=name, meta=meta, summary=summary, judgement=judgement))
    return future


class FakeBackend:
    """Loses in a third of runs with acks=1. `log` gets a line a run; the process is killed hard in the middle
    of run `die_at` (from 0). A run takes `seconds`; up to `clusters` may be up. `refuse`, `break_` and
    `impossible_` name arms; `unknown` (arm, folder name)."""

    lacks = "netem"
    """What the machine lacks for impossible arms."""

    def __init__(
        self,
        log: Path,
        *,
        die_at: int | None = None,
        refuse: str = "",
        break_: Sequence[str] = (),
        impossible_: Sequence[str] = (),
        unknown: tuple[str, str] = ("", ""),
        interrupt_at: int | None = None,
        clusters: int = 1,
        seconds: float = 0.0,
    ) -> None:
        self.log, self.die_at, self.refuse, self.break_ = log, die_at, refuse, list(break_)
        self.impossible_, self.unknown, self.interrupt_at = impossible_, unknown, interrupt_at
        self.clusters, self.seconds = clusters, seconds
        self.starts: list[str] = []
        self.up = self.most_up = 0
        self._lock = threading.Lock()

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _lock=threading.Lock())

    def lines(self) -> list[str]:
        return self.log.read_text().splitlines() if self.log.exists() else []

    def feasibility(self, experiments: Sequence[Experiment]) -> Feasibility:
        named = {one.arms[0].name: one for one in experiments}
        out = {name: f"no {self.lacks}" for name in named if name in self.impossible_}
        return Feasibility({name: (one, ()) for name, one in named.items() if name not in out}, out)

    def start(self, spec: ClusterSpec, logs: Path) -> AbstractContextManager[Any]:  # noqa: ARG002
        @contextmanager
        def cluster() -> Iterator[str]:
            with self._lock:
                self.starts.append(spec.version)
                self.up += 1
                self.most_up = max(self.most_up, self.up)
            try:
                yield spec.version
            finally:
                with self._lock:
                    self.up -= 1

        return cluster()

    def reset(self, cluster: Any) -> str:  # noqa: ARG002
        return "nothing left"

    def delete_topics(self, cluster: Any, folders: Sequence[Path]) -> None:
        """There are none."""

    def run(
        self,
        cluster: Any,
        experiment: Experiment,
        arms: Mapping[Path, Arm],
        seed: int,
        skipped: tuple[str, ...] = (),
    ) -> None:
        assert not skipped
        ((folder, arm),) = arms.items()
        assert cluster == experiment.cluster.version
        assert 1 <= self.up <= self.clusters
        time.sleep(self.seconds)
        report_progress(f"{experiment.name} · {arm.name} · writing")
        if arm.name == self.refuse:
            raise BadInput("the broker refuses the topic", found="Invalid value")
        number = len(self.lines())
        meta = self.begun(folder, experiment, seed, number)
        if self.die_at == number:
            os.kill(os.getpid(), signal.SIGKILL)
        if arm.name in self.break_:
            self.break_.remove(arm.name)
            raise ClusterError("a broker did not start", found="exit code 1")
        meta.model_copy(update={"finished": True, "ended_ns": meta.started_ns + 10**9}).save(folder)
        with self.log.open("a") as stream:
            stream.write(f"{folder.parent.name} {folder.name} {seed}\n")

    def begun(self, folder: Path, experiment: Experiment, seed: int, number: int) -> RunMeta:
        """What a run leaves when it has begun; run `interrupt_at` is interrupted then."""
        (arm,) = experiment.arms
        folder.mkdir(parents=True)
        meta = RunMeta(
            run_id=1, experiment=experiment.name, arm=arm.name, seed=seed, topic="t", partitions=1,
            replication_factor=3, acks=arm.producer.acks, idempotent=arm.producer.enable_idempotence,
            started_ns=time.time_ns(),
        )  # fmt: skip
        meta.save(folder)
        # Two threads may skip a number between them, and only one of them is interrupted.
        with self._lock:
            interrupted = self.interrupt_at is not None and number >= self.interrupt_at
            if interrupted:
                self.interrupt_at = None
        if interrupted:
            raise KeyboardInterrupt
        return meta

    def check(self, parent: Path, name: str) -> Future[ArmResult]:
        meta = RunMeta.load(parent / name)
        drawn = random.Random(f"{meta.arm}/{meta.seed}")
        lost = drawn.randint(1, 500) if meta.acks == "1" and drawn.random() < 1 / 3 else 0
        summary = summary_of(lost=lost, unavailable=4 + drawn.random())
        judgement = judged(summary, promised_loss=meta.acks == "1")
        if (meta.arm, name) == self.unknown:
            judgement = Judgement(
                verdict=VerdictWord.UNKNOWN, reasons=("fault kill-1 was not shown",), as_promised=None
            )
        return checked(name, meta, summary, judgement)
