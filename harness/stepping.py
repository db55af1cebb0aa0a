"""Carries out the steps of an experiment on a live cluster, one after the other."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable

from faults.schedules.state import Schedule
from harness.asking import ask
from harness.cluster import Cluster
from harness.experiment import Experiment
from harness.faultbook import FaultBook, OpenFault
from harness.looking import LiveLook
from harness.model.journal import RowSink
from harness.model.run import StepInfo
from harness.model.topology import TopologyView
from harness.scheduler import Scheduler
from harness.settled import unsettled
from harness.steps import KIND, Action, Ask, Drive, Heal, Inject, Wait, Write
from harness.waiting import wait_until
from harness.writing import AnyWorkload, Drivable
from workloads.tally import Progress

_GRACE_SECONDS = 30.0
_POLL_SECONDS = 0.1


class Stepping:
    """The steps of one run. `done` holds those that have begun, `problems` what went wrong in words.

    `note` is called whenever a step begins or ends, so that a run that is killed can be checked. `view` gives
    the last sample of the brokers, `seed` decides what is random in schedules, `answers` gets what brokers
    say in ask steps.
    """

    def __init__(
        self,
        cluster: Cluster,
        experiment: Experiment,
        topic: str,
        workload: AnyWorkload,
        book: FaultBook,
        delivery_seconds: float,
        say: Callable[[str], None],
        note: Callable[[Stepping], None],
        *,
        view: Callable[[], TopologyView | None],
        seed: int,
        answers: RowSink,
    ) -> None:
        self._answers = answers
        self._cluster = cluster
        self._experiment = experiment
        self._topic = topic
        self._workload = workload
        self._book = book
        self._delivery_seconds = delivery_seconds
        self._say = say
        self._note = note
        self._view = view
        self._seed = seed
        self._current = ""
        self._since_ns = time.time_ns()
        self._named: dict[str, OpenFault] = {}
        self._rate = Rate()
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
            self._say(f"driving {action.by}")
            assert isinstance(self._workload, Drivable), "checked when the experiment was made"
            self.problems += self._workload.drive(index, action)
        elif isinstance(action, Wait):
            self._wait(action)
        elif isinstance(action, Inject):
            self._say("injecting")
            fault = self._book.inject(action.fault)
            if action.name is not None:
                self._named[action.name] = fault
            self._book.verify(fault)
        elif isinstance(action, Heal) and action.only:
            self._say(f"healing {', '.join(action.only)}")
            heal = self._book.heal if action.awaited else self._book.take_back
            for name in action.only:
                heal(self._named[name])
        elif isinstance(action, Heal):
            self._say("healing")
            self.problems += self._book.heal_all()
        elif isinstance(action, Ask):
            self._say(f"asking {action.of}")
            ask(self._cluster, self._topic, action, self._look(), self._answers)
        else:
            time.sleep(action.seconds)

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
            self._topic,
            self.problems,
            view=self._view,
            acked=self._reported,
            down_before=down_before(self._experiment, index),
        )
        self._workload.start(index, records=write.records, seconds=write.seconds, rate=write.rate)
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
        progress = self._workload.progress()
        return progress.acked + progress.unconfirmed

    def _await_reports(self, write: Write) -> None:
        longest = (write.seconds or 0.0) + self._delivery_seconds + _GRACE_SECONDS
        deadline = time.monotonic() + (write.at_most or longest)
        while time.monotonic() < deadline:
            if self._workload.finish(time.monotonic() + _POLL_SECONDS):
                return
            self._progress()
        if write.at_most is None:
            self.problems.append(f"write step {write.name} did not end within {longest:g} s")

    def _wait(self, wait: Wait) -> None:
        topic = self._experiment.topic
        if (condition := wait.condition) is not None:
            self._say(f"waiting for {condition}")
            look = self._look()
            wait_until(lambda: condition.missing(look), what=str(condition), seconds=wait.within)
            return
        if isinstance(wait.isr, int):
            self._say(f"waiting for an ISR of {wait.isr}")
            await_isr(self._cluster, self._topic, topic.partitions, wait.isr, wait.within)
            return
        self._say("waiting until replicated")
        wait_until(
            lambda: unsettled(
                self._cluster.view((self._topic,)), self._topic, topic.partitions, topic.replication_factor
            ),
            what="every replica's log end offset equals the high watermark",
            seconds=wait.within,
        )

    def _look(self) -> LiveLook:
        return LiveLook(self._cluster, self._topic, lambda: self._book.scene("wait"), self._since_ns)

    def _progress(self) -> None:
        faults = self._book.open_names()
        line = line_of(self._workload.progress(), self._rate)
        self._say(f"{self._current} · {line}" + (f" · {faults}" if faults else ""))


def schedule_seed(seed: int, write: Write) -> str:
    """What the random choices of a write step hang on."""
    return f"{seed}/{write.name}"


def down_before(experiment: Experiment, index: int) -> int:
    """How many brokers inject steps before a step may have left down."""
    return sum(fault.downs(experiment.shape) for fault in experiment.open_before(index).values())


def await_isr(cluster: Cluster, topic: str, partitions: int, members: int, seconds: float) -> None:
    """Wait until every partition's ISR has this many members, as its leader sees it.

    Raises:
        ClusterError: not within `seconds`.
    """

    def missing() -> str | None:
        view = cluster.view((topic,))
        for number in range(partitions):
            state = view.partition(topic, number)
            if state is None or len(state.isr) != members:
                return f"partition {number}: ISR {list(state.isr) if state else 'not known'}"
        return None

    wait_until(missing, what=f"an ISR of {members} in every partition", seconds=seconds)


class Rate:
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


def line_of(progress: Progress, rate: Rate) -> str:
    """Counts and rate of a workload in one line."""
    done = progress.acked + progress.unconfirmed
    parts = [
        f"{rate.of(done, time.monotonic()):,.0f}/s",
        f"sent {progress.sent:,}",
        f"acked {done:,}",
        f"open {progress.open:,}",
    ]
    failed = progress.rejected + progress.indeterminate
    if failed:
        parts.append(f"errors {failed:,} (last {progress.last_error})")
    return " · ".join(parts)
