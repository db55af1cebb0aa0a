"""A backend without brokers for explorations: what a run finds is a function of its experiment."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import yaml

from harness.lab.explore.menu import MENU, ExploreMenu
from harness.model.errors import BadInput, ClusterError
from harness.model.progress import report_progress
from harness.model.result import ArmResult, Judgement, VerdictWord
from harness.model.run import FinalRead, RunMeta
from harness.spec.experiment import Arm, Experiment
from tests.support.fake_backend import FakeBackend, checked, judged, summary_of

SMALL: dict[str, Any] = {
    "name": "small",
    "title": "Three faults, three settings",
    "topic": {"partitions": 1, "replication_factor": 3},
    "rates": [400, 1000],
    "at_most_down": 2,
    "settings": {
        "acks": {"all": {"producer": {"acks": "all"}}, 1: {"producer": {"acks": 1}}},
        "min-isr": {2: {"topic": {"min.insync.replicas": 2}}, 1: {"topic": {"min.insync.replicas": 1}}},
        "producers": {
            1: {"workload": {"producers": 1}},
            2: {"workload": {"producers": 2}},
            5: {"workload": {"producers": 5}},
        },
    },
    "faults": [
        {"name": "kill-leader", "fault": {"kill": {"target": {"leader": 0}}}, "for": [2, 6]},
        {
            "name": "cut-followers",
            "fault": {"partition": {"from": {"leader": 0}, "to": {"followers": 0}}},
            "for": [2, 8],
        },
        {"name": "pause-leader", "fault": {"pause": {"target": {"leader": 0}}}, "for": [2, 6], "weight": 0.5},
    ],
}


def menu_of(**changes: Any) -> ExploreMenu:
    return MENU.parse(yaml.safe_dump(SMALL | changes, sort_keys=False), "small.yaml")


def loses(experiment: Experiment) -> bool:
    """The planted failure: acks=1, and the leader is killed."""
    (step,) = experiment.steps
    assert step.write is not None
    kinds = [one.fault.name() for one in step.write.faults]  # type: ignore[union-attr]
    return experiment.arms[0].producer.acks == "1" and "kill" in kinds


class FakeExploreBackend(FakeBackend):
    """Judges by `fails`; `flaky` is how often a run that should fail does not (0 to 1, by its seed). `log`
    gets a line a run. `interrupt_at` and `break_at` are runs (from 0, counted in `log`); `dirty` resets
    fail. A run takes up to `seconds`, drawn by its schedule; the process of run `die_at` is killed hard."""

    lacks = "cgroup freezer"

    def __init__(
        self,
        log: Path,
        *,
        fails: Callable[[Experiment], bool] = loses,
        flaky: float = 0.0,
        interrupt_at: int | None = None,
        break_at: Sequence[int] = (),
        refuse_at: Sequence[int] = (),
        unknown_at: Sequence[int] = (),
        unread_at: Sequence[int] = (),
        impossible_: Sequence[str] = (),
        dirty: int = 0,
        die_at: int | None = None,
        clusters: int = 1,
        seconds: float = 0.0,
    ) -> None:
        super().__init__(
            log,
            impossible_=impossible_,
            interrupt_at=interrupt_at,
            die_at=die_at,
            clusters=clusters,
            seconds=seconds,
        )
        self.fails, self.flaky, self.dirty = fails, flaky, dirty
        self.break_at, self.unknown_at, self.refuse_at = break_at, unknown_at, refuse_at
        self.unread_at = unread_at
        self.resets = 0

    def reset(self, cluster: Any) -> str:  # noqa: ARG002
        self.resets += 1
        if self.dirty:
            self.dirty -= 1
            raise ClusterError("timed out after 60 s", found="broker 2 does not answer")
        return "nothing left"

    def run(
        self,
        cluster: Any,  # noqa: ARG002
        experiment: Experiment,
        arms: Mapping[Path, Arm],
        seed: int,
        skipped: tuple[str, ...] = (),  # noqa: ARG002
    ) -> None:
        assert 1 <= self.up <= self.clusters
        ((folder, arm),) = arms.items()
        number = len(self.lines())
        report_progress(f"{experiment.name} · {arm.name} · writing")
        drawn = random.Random(f"{experiment.title}/{seed}").random()
        time.sleep(self.seconds * drawn)
        meta = self.begun(folder, experiment, seed, number)
        if int(folder.name) - 1 == self.die_at:
            os.kill(os.getpid(), signal.SIGKILL)
        with self._lock, self.log.open("a") as stream:
            # Counted anew: two threads that began together would have the same number.
            number = len(self.lines())
            stream.write(f"{folder.name} {seed} {experiment.title}\n")
        if number in self.refuse_at:
            raise BadInput("the client refuses the settings", found="no such property")
        if number in self.break_at:
            raise ClusterError("a broker did not start", found="exit code 1")
        if self.fails(experiment) and drawn >= self.flaky:
            (folder / "lost").touch()
        read = None if int(folder.name) - 1 in self.unread_at else FinalRead(complete=True)
        ended = {"finished": True, "ended_ns": meta.started_ns + 10**9, "final_read": read}
        meta.model_copy(update=ended).save(folder)

    def check(self, parent: Path, name: str) -> Future[ArmResult]:
        meta = RunMeta.load(parent / name)
        summary = summary_of(lost=7 if (parent / name / "lost").exists() else 0)
        judgement = judged(summary, promised_loss=False)
        if int(name) - 1 in {*self.unknown_at, *self.unread_at}:
            judgement = Judgement(verdict=VerdictWord.UNKNOWN, reasons=("not shown",), as_promised=None)
        return checked(name, meta, summary, judgement)
