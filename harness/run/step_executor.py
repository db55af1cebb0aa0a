"""Carries out the steps of an experiment on a live cluster, one after the other."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Protocol

from faults.partition_fault import PartitionFault
from faults.schedules.state import Schedule
from harness.cluster.convergence import await_isr, unsettled
from harness.cluster.live import LiveCluster
from harness.model.broker_views import TopologyView
from harness.model.journal import RowSink
from harness.model.polling import wait_until
from harness.model.progress import report_progress
from harness.model.run import StepInfo
from harness.run.broker_observer import BrokerObserver
from harness.run.broker_queries import ask
from harness.run.fault_ledger import FaultLedger, OpenFault
from harness.run.fault_scheduler import Scheduler
from harness.run.workload_factory import ScriptedWorkload, WorkloadBackend
from harness.spec.experiment import Experiment
from harness.spec.fault_index import down_before, schedule_seed
from harness.spec.steps import KIND, Action, Ask, Drive, Heal, Inject, Wait, Write
from workloads.producer.tally import Progress

_GRACE_SECONDS = 30.0
_POLL_SECONDS = 0.1


class ArmTarget(Protocol):
    """What steps work on for one arm: its topic, who writes to it, and where answers of brokers go."""

    @property
    def topic(self) -> str: ...

    @property
    def workload(self) -> WorkloadBackend: ...

    @property
    def answers(self) -> RowSink: ...


class StepExecutor:
    """The steps of one run. `done` holds those that have begun, `problems` what went wrong in words.

    All `lanes` write at the same time; a wait step waits until the state is seen of every lane's topic, an
    ask step asks about each. Faults are the run's, on the first lane's topic; only those on partitions, of an
    inject step, are done to every lane's. `note` is called whenever a step begins or ends, so that a run that
    is killed can be checked. `view` gives the last sample of the brokers, `seed` decides what is random in
    schedules.
    """

    def __init__(
        self,
        cluster: LiveCluster,
        experiment: Experiment,
        lanes: Sequence[ArmTarget],
        book: FaultLedger,
        delivery_seconds: float,
        note: Callable[[StepExecutor], None],
        *,
        view: Callable[[], TopologyView | None],
        seed: int,
    ) -> None:
        self._cluster = cluster
        self._experiment = experiment
        self._lanes = lanes
        self._book = book
        self._delivery_seconds = delivery_seconds
        self._note = note
        self._view = view
        self._seed = seed
        self._current = ""
        self._since_ns = time.time_ns()
        self._named: dict[str, list[OpenFault]] = {}
        self._rate = ReportRate()
        self.done: list[StepInfo] = []
        self.problems: list[str] = []

    def all(self) -> None:
        """Carry out every step.

        Raises:
            ClusterError: a state that was waited for did not come.
            FaultError: a fault could not be injected.
        """
        for index, step in enumerate(self._experiment.steps):
            action = step.action
            kind = KIND[type(action)]
            self._current = action.name if isinstance(action, Write | Drive) else f"{kind}-{index}"
            started = StepInfo(index=index, name=self._current, kind=kind, started_ns=time.time_ns())
            self.done.append(started)
            self._note(self)
            try:
                self._one(index, action)
            finally:
                self.done[-1] = started.model_copy(update={"ended_ns": time.time_ns()})
                self._note(self)

    def _one(self, index: int, action: Action) -> None:
        if isinstance(action, Write):
            self._write(index, action)
        elif isinstance(action, Drive):
            report_progress(f"driving {action.by}")
            for lane in self._lanes:
                assert isinstance(lane.workload, ScriptedWorkload), "checked when the experiment was made"
                self.problems += lane.workload.drive(index, action)
        elif isinstance(action, Wait):
            self._wait(action)
        elif isinstance(action, Inject):
            self._inject(action)
        elif isinstance(action, Heal) and action.only:
            report_progress(f"healing {', '.join(action.only)}")
            heal = self._book.heal if action.awaited else self._book.take_back
            for fault in (fault for name in action.only for fault in self._named[name]):
                heal(fault)
        elif isinstance(action, Heal):
            report_progress("healing")
            self.problems += self._book.heal_all()
        elif isinstance(action, Ask):
            report_progress(f"asking {action.of}")
            for lane in self._lanes:
                ask(self._cluster, lane.topic, action, self._look(lane), lane.answers)
        else:
            time.sleep(action.seconds)

    def _inject(self, inject: Inject) -> None:
        report_progress("injecting")
        every = isinstance(inject.fault, PartitionFault)
        topics = [lane.topic for lane in self._lanes if every or lane is self._lanes[0]]
        faults = self._named.setdefault(inject.name or "", [])
        for topic in topics:
            fault = self._book.inject(inject.fault, topic=topic)
            faults.append(fault)
            self._book.verify(fault)

    def _write(self, index: int, write: Write) -> None:
        scheduler = Scheduler(
            Schedule.of(
                write.faults,
                schedule_seed(self._seed, write),
                self._experiment.shape,
                seconds=write.ends,
                at_most_down=write.at_most_down,
            ),
            self._book,
            self._lanes[0].topic,
            self.problems,
            view=self._view,
            acked=self._reported,
            down_before=down_before(self._experiment, index),
        )
        for lane in self._lanes:
            lane.workload.start(index, records=write.records, seconds=write.seconds, rate=write.rate)
        try:
            scheduler.start()
            self._await_reports(write)
            scheduler.end()
            while not scheduler.wait(_POLL_SECONDS):
                self._progress()
        except BaseException:
            scheduler.cancel()
            raise

    def _reported(self) -> int:
        progress = [lane.workload.progress() for lane in self._lanes]
        return sum(one.acked + one.unconfirmed for one in progress)

    def _await_reports(self, write: Write) -> None:
        longest = (write.seconds or 0.0) + self._delivery_seconds + _GRACE_SECONDS
        deadline = time.monotonic() + (write.at_most or longest)
        while time.monotonic() < deadline:
            until = time.monotonic() + _POLL_SECONDS
            if all(lane.workload.finish(until) for lane in self._lanes):
                return
            self._progress()
        if write.at_most is None:
            self.problems.append(f"write step {write.name} did not end within {longest:g} s")

    def _wait(self, wait: Wait) -> None:
        deadline = time.monotonic() + wait.within
        for lane in self._lanes:
            self._wait_for(wait, lane, max(0.0, deadline - time.monotonic()))

    def _wait_for(self, wait: Wait, lane: ArmTarget, seconds: float) -> None:
        topic = self._experiment.topic
        if (condition := wait.condition) is not None:
            report_progress(f"waiting for {condition}")
            look = self._look(lane)
            wait_until(lambda: condition.missing(look), what=str(condition), seconds=seconds)
            return
        if isinstance(wait.isr, int):
            report_progress(f"waiting for an ISR of {wait.isr}")
            await_isr(self._cluster, lane.topic, topic.partitions, wait.isr, seconds)
            return
        report_progress("waiting until replicated")
        wait_until(
            lambda: unsettled(
                self._cluster.view((lane.topic,)), lane.topic, topic.partitions, topic.replication_factor
            ),
            what="every replica's log end offset equals the high watermark",
            seconds=seconds,
        )

    def _look(self, lane: ArmTarget) -> BrokerObserver:
        return BrokerObserver(self._cluster, lane.topic, lambda: self._book.scene("wait"), self._since_ns)

    def _progress(self) -> None:
        faults = self._book.open_names()
        line = line_of([lane.workload.progress() for lane in self._lanes], self._rate)
        report_progress(f"{self._current} · {line}" + (f" · {faults}" if faults else ""))


class ReportRate:
    """Success reports a second, over about the last second."""

    def __init__(self) -> None:
        self._seen: deque[tuple[float, int]] = deque()

    def of(self, done: int, now: float) -> float:
        """Take the count at a moment (seconds); returns the rate since about a second before."""
        self._seen.append((now, done))
        while len(self._seen) > 2 and now - self._seen[1][0] >= 1.0:
            self._seen.popleft()
        then, before = self._seen[0]
        return (done - before) / (now - then) if now > then else 0.0


def line_of(lanes: Sequence[Progress], rate: ReportRate) -> str:
    """Counts and rate of the workloads of all lanes in one line."""
    sent = sum(one.sent for one in lanes)
    done = sum(one.acked + one.unconfirmed for one in lanes)
    parts = [
        f"{rate.of(done, time.monotonic()):,.0f}/s",
        f"sent {sent:,}",
        f"acked {done:,}",
        f"open {sum(one.open for one in lanes):,}",
    ]
    failed = sum(one.rejected + one.indeterminate for one in lanes)
    if failed:
        last = next(one.last_error for one in reversed(lanes) if one.rejected + one.indeterminate)
        parts.append(f"errors {failed:,} (last {last})")
    return " · ".join(parts)
