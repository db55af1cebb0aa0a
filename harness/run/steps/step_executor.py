"""Carries out the steps of an experiment on a live cluster, one after the other."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, field

from faults.schedules.state import Schedule
from harness.cluster.convergence import await_isr, unsettled_reason
from harness.cluster.live import LiveCluster
from harness.model.broker_views import TopologyView
from harness.model.errors import ClusterError
from harness.model.polling import wait_until
from harness.model.progress import report_progress
from harness.model.run import StepInfo
from harness.run.arm_run import ArmRun
from harness.run.clients.run_clients import restart_reader
from harness.run.faults.ledger import FaultLedger, OpenFault
from harness.run.faults.scheduler import Scheduler
from harness.run.steps.broker_queries import BrokerObserver, ask
from harness.run.steps.producer_ids import initialise
from harness.run.steps.request_counters import RequestCounters
from harness.spec.experiment import Experiment
from harness.spec.fault_index import down_before, schedule_seed
from harness.spec.group_steps import AskOffsets, CommitOffsets, RestartReader
from harness.spec.producer_ids import InitProducerId
from harness.spec.rival import Rival
from harness.spec.run_plan import describe_requests
from harness.spec.steps import KIND, Action, AlterShareGroup, Ask, Drive, Heal, Inject, Wait, Write, name_of
from harness.spec.topic import DeleteRecords, RecreateTopic
from workloads.producer.producers import Workload
from workloads.producer.reports import Progress

_GRACE_SECONDS = 30.0
_POLL_SECONDS = 0.1


@dataclass(eq=False)
class StepExecutor:
    """The steps of one run. `done` holds the steps that have begun, `problems` what went wrong, in words.

    All `arms` write at the same time. A wait step waits until every arm's topic has the state, and an ask
    step queries the brokers about each topic. Faults act on the first arm's topic, but faults of inject
    steps that are about a topic on every arm's. `note` is called whenever a step begins or ends, so that a
    killed run can be checked. `view` returns the last sample of the brokers; `seed` decides the schedules'
    random choices.
    """

    cluster: LiveCluster
    experiment: Experiment
    arms: Sequence[ArmRun]
    ledger: FaultLedger
    delivery_seconds: float
    note: Callable[[StepExecutor], None]
    _: KW_ONLY
    view: Callable[[], TopologyView | None]
    seed: int
    done: list[StepInfo] = field(default_factory=list, init=False)
    problems: list[str] = field(default_factory=list, init=False)

    def __post_init__(self) -> None:
        self._current = ""
        self._step_position = ""
        self._ends: float | None = None
        self._since_ns = time.time_ns()
        self._named: dict[str, list[OpenFault]] = {}
        self._rate = ReportRate()
        self._without_faults = self.arms[0].arm.without_faults

    def all(self) -> None:
        """Carry out every step.

        Raises:
            ClusterError: a wait step timed out.
            FaultError: a fault could not be injected.
        """
        with RequestCounters(self.experiment.steps, lambda: self.ledger.context_of("wait")) as self._requests:
            self._all()

    def _all(self) -> None:
        for index, step in enumerate(self.experiment.steps):
            action = step.action
            self._step_position = f"step {index + 1} of {len(self.experiment.steps)}"
            kind = KIND[type(action)]
            self._current = name_of(action, index)
            started = StepInfo(index=index, name=self._current, kind=kind, started_ns=time.time_ns())
            self.done.append(started)
            self.note(self)
            try:
                self._one(index, action)
            finally:
                self.done[-1] = started.model_copy(update={"ended_ns": time.time_ns()})
                self.note(self)

    def _one(self, index: int, action: Action) -> None:
        if self._without_faults and isinstance(action, Inject | Heal):
            return
        if isinstance(action, Write):
            self._write(index, action)
        elif isinstance(action, Drive):
            # Imported here because it loads py4j, which nothing else needs.
            from harness.java.scripted_workload import PyScriptedWorkload

            self._say(f"driving {action.by}")
            for arm in self.arms:
                assert isinstance(arm.workload, PyScriptedWorkload), "checked when the experiment was made"
                self.problems += arm.workload.drive(index, action)
        elif isinstance(action, InitProducerId):
            from harness.java.scripted_workload import PyScriptedWorkload

            self._say(str(action))
            for arm in self.arms:
                assert isinstance(arm.workload, PyScriptedWorkload), "checked when the experiment was made"
                initialise(action, self.cluster, arm.workload.transactional_id_of(action.of), arm.answers)
        elif isinstance(action, Rival):
            self._rival(index, action)
        elif isinstance(action, Wait):
            self._wait(action)
        elif isinstance(action, Inject):
            self._inject(action)
        elif isinstance(action, Heal) and action.only:
            self._say(f"healing {', '.join(action.only)}")
            heal = self.ledger.heal if action.awaited else self.ledger.undo
            for fault in (fault for name in action.only for fault in self._named[name]):
                heal(fault)
        elif isinstance(action, Heal):
            self._say("healing")
            self.problems += self.ledger.heal_all()
        elif isinstance(action, Ask):
            self._say(f"asking {action.of}")
            for arm in self.arms:
                ask(self._observer(arm), action, arm.answers)
        elif isinstance(action, RestartReader):
            self._say(f"restarting reader {action.reader}")
            for arm in self.arms:
                restart_reader(arm.clients.readers.members(action.reader), action)
        elif isinstance(action, DeleteRecords):
            self._say(f"deleting the records below offset {action.before}")
            for arm in self.arms:
                arm.delete_records(action.before)
        elif isinstance(action, RecreateTopic):
            self._say("deleting the topic and creating it again")
            for arm in self.arms:
                arm.recreate_topic()
        elif isinstance(action, CommitOffsets):
            self._say(f"committing offsets {action.name}")
            for arm in self.arms:
                arm.clients.commits.carry_out(action, self._observer(arm).nodes)
        elif isinstance(action, AskOffsets):
            for arm in self.arms:
                arm.ask_offsets(action)
        elif isinstance(action, AlterShareGroup):
            self._say(f"changing share group {action.group}")
            for arm in self.arms:
                self.problems += arm.clients.share.alter(action)
        else:
            self._say(f"sleeping for {action.seconds:g} s")
            time.sleep(action.seconds)

    def _inject(self, inject: Inject) -> None:
        self._say("injecting")
        topics = [arm.topic for arm in self.arms if inject.fault.of_topic or arm is self.arms[0]]
        faults = self._named.setdefault(inject.name or "", [])
        for topic in topics:
            fault = self.ledger.inject(inject.fault, topic=topic)
            faults.append(fault)
            self.ledger.verify(fault)

    def _write(self, index: int, write: Write) -> None:
        scheduler = Scheduler(
            Schedule.of(
                () if self._without_faults else write.faults,
                schedule_seed(self.seed, write),
                self.experiment.shape,
                seconds=write.ends,
                at_most_down=write.at_most_down,
                extra=write.until_faults_end or 0.0,
            ),
            self.ledger,
            self.arms[0].topic,
            self.problems,
            view=self.view,
            acked=self._reported,
            down_before=down_before(self.experiment, index),
        )
        self._ends = time.monotonic() + write.ends if write.ends is not None else None
        seconds = write.seconds if write.until_faults_end is None else None
        for arm in self.arms:
            arm.workload.start(index, records=write.records, seconds=seconds, rate=write.rate)
        try:
            scheduler.start()
            if write.until_faults_end is not None:
                self._go_on(scheduler, write)
            self._await_reports("write", write.seconds or 0.0, write.at_most)
            scheduler.end()
            while not scheduler.wait(_POLL_SECONDS):
                self._progress()
        except BaseException:
            scheduler.cancel()
            raise

    def _go_on(self, scheduler: Scheduler, write: Write) -> None:
        """Let the producers write until the step may end, and then end their writing."""
        begun, least = time.monotonic(), write.seconds or 0.0
        most = least + (write.until_faults_end or 0.0)
        while (passed := time.monotonic() - begun) < least or (scheduler.unfinished and passed < most):
            time.sleep(min(_POLL_SECONDS, most - passed))
            self._progress()
        for arm in self.arms:
            arm.workload.stop()

    def _rival(self, index: int, rival: Rival) -> None:
        self._say(f"a rival of producer {rival.of} begins")
        for arm in self.arms:
            if isinstance(arm.workload, Workload):
                same_id = rival.transactional_id == "same"
                arm.workload.begin_rival(index, of=rival.of, records=rival.records, same_id=same_id)
            else:
                from harness.java.scripted_workload import PyScriptedWorkload

                assert isinstance(arm.workload, PyScriptedWorkload), "checked when the experiment was made"
                self.problems += arm.workload.rival(index, rival)
        self._await_reports("rival", self.delivery_seconds)

    def _reported(self) -> int:
        progress = [arm.workload.progress() for arm in self.arms]
        return sum(one.acked + one.unconfirmed for one in progress)

    def _await_reports(self, kind: str, seconds: float, at_most: float | None = None) -> None:
        """Wait until every send has its report, `at_most` seconds if that is given. Producers may send for
        `seconds`."""
        longest = seconds + self.delivery_seconds + _GRACE_SECONDS
        deadline = time.monotonic() + (at_most or longest)
        while time.monotonic() < deadline:
            until = time.monotonic() + _POLL_SECONDS
            if all(arm.workload.finish(until) for arm in self.arms):
                return
            self._progress()
        if at_most is None:
            self.problems.append(f"{kind} step {self._current} did not end within {longest:g} s")

    def _wait(self, wait: Wait) -> None:
        deadline = time.monotonic() + wait.within
        for arm in self.arms:
            self._wait_for(wait, arm, max(0.0, deadline - time.monotonic()))

    def _wait_for(self, wait: Wait, arm: ArmRun, seconds: float) -> None:
        topic = self.experiment.topic
        if wait.request is not None:
            what = describe_requests(wait)
            self._say(f"waiting until {what}, at most {wait.within:g} s")
            opened = self.ledger.open_injections()
            wait_until(lambda: self._requests.missing(wait, opened), what=what, seconds=seconds)
            return
        if (condition := wait.condition) is not None:
            self._say(f"waiting for {condition}, at most {wait.within:g} s")
            observer = self._observer(arm)
            wait_until(lambda: condition.missing(observer), what=str(condition), seconds=seconds)
            return
        if wait.application is not None:
            self._say(f"waiting for the application, at most {wait.within:g} s")
            if arm.application is None:
                return
            missing = arm.application.await_state(wait.application, wait.within)
            if missing is not None:
                expected = f"application: {wait.application}"
                raise ClusterError(f"timed out after {wait.within:g} s", expected=expected, found=missing)
            return
        if isinstance(wait.isr, int):
            self._say(f"waiting for an ISR of {wait.isr}, at most {wait.within:g} s")
            await_isr(self.cluster, arm.topic, topic.partitions, wait.isr, seconds)
            return
        self._say(f"waiting until replicated, at most {wait.within:g} s")
        wait_until(
            lambda: unsettled_reason(
                self.cluster.view((arm.topic,)), arm.topic, topic.partitions, topic.replication_factor
            ),
            what="every replica's log end offset equals the high watermark",
            seconds=seconds,
        )

    def _observer(self, arm: ArmRun) -> BrokerObserver:
        return BrokerObserver(self.cluster, arm.topic, lambda: self.ledger.context_of("wait"), self._since_ns)

    def _progress(self) -> None:
        faults = self.ledger.open_names()
        line = progress_line([arm.workload.progress() for arm in self.arms], self._rate)
        left = f"{max(0.0, self._ends - time.monotonic()):.0f} s left · " if self._ends is not None else ""
        self._say(f"{self._current} · {left}{line}" + (f" · {faults}" if faults else ""))

    def _say(self, message: str) -> None:
        report_progress(f"{self._step_position}: {message}")


class ReportRate:
    """Success reports per second, over about the last second."""

    def __init__(self) -> None:
        self._seen: deque[tuple[float, int]] = deque()

    def of(self, done: int, now: float) -> float:
        """Add the count `done` at the time `now` (seconds); returns the rate since about a second before."""
        self._seen.append((now, done))
        while len(self._seen) > 2 and now - self._seen[1][0] >= 1.0:
            self._seen.popleft()
        then, before = self._seen[0]
        return (done - before) / (now - then) if now > then else 0.0


def progress_line(arms: Sequence[Progress], rate: ReportRate) -> str:
    """Counts and rate of the workloads of all arms in one line."""
    sent = sum(one.sent for one in arms)
    done = sum(one.acked + one.unconfirmed for one in arms)
    parts = [
        f"{rate.of(done, time.monotonic()):,.0f}/s",
        f"sent {sent:,}",
        f"acked {done:,}",
        f"open {sum(one.open for one in arms):,}",
    ]
    failed = sum(one.rejected + one.indeterminate for one in arms)
    if failed:
        last = next(one.last_error for one in reversed(arms) if one.rejected + one.indeterminate)
        parts.append(f"errors {failed:,} (last {last})")
    return " · ".join(parts)
