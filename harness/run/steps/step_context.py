"""What a step needs to be carried out: the cluster, the arms, the faults, and a way to report progress."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, TypeAlias

from harness.cluster.live import LiveCluster
from harness.model.broker_views import TopologyView
from harness.model.progress import report_progress
from harness.model.run import StepInfo
from harness.run.arm_run import ArmRun
from harness.run.faults.ledger import FaultLedger
from harness.run.faults.open_fault import OpenFault
from harness.run.steps.broker_queries import BrokerObserver
from harness.run.steps.progress_line import ReportRate, progress_line
from harness.run.steps.request_counters import RequestCounters
from harness.spec.experiment import Experiment

_GRACE_SECONDS = 30.0
POLL_SECONDS = 0.1


@dataclass(eq=False)
class StepContext:
    """The steps of one run. `done` holds the steps that have begun, `problems` what went wrong, in words.

    All `arms` write at the same time. A wait step waits until every arm's topic has the state, and an ask
    step queries the brokers about each topic. Faults act on the first arm's topic, but faults of inject
    steps that are about a topic on every arm's. `note` is called whenever a step begins or ends, so that a
    killed run can be checked. `view` returns the last sample of the brokers; `seed` decides the schedules'
    random choices. `named` are the faults that inject steps have begun, by the steps' names; `ends` is when
    the writing of a step ends (a time.monotonic(); None: it is not known).
    """

    cluster: LiveCluster
    experiment: Experiment
    arms: Sequence[ArmRun]
    ledger: FaultLedger
    delivery_seconds: float
    note: Callable[[StepContext], None]
    _: KW_ONLY
    view: Callable[[], TopologyView | None]
    seed: int
    done: list[StepInfo] = field(default_factory=list, init=False)
    problems: list[str] = field(default_factory=list, init=False)
    named: dict[str, list[OpenFault]] = field(default_factory=dict, init=False)
    ends: float | None = field(default=None, init=False)
    requests: RequestCounters = field(init=False)

    def __post_init__(self) -> None:
        self.requests = RequestCounters(self.experiment.steps, lambda: self.ledger.context_of("wait"))
        self.without_faults = self.arms[0].arm.without_faults
        self._position = ""
        self._current = ""
        self._since_ns = time.time_ns()
        self._rate = ReportRate()

    def begin(self, step: StepInfo) -> None:
        """Note that a step has begun."""
        self._position = f"step {step.index + 1} of {len(self.experiment.steps)}"
        self._current = step.name
        self.done.append(step)
        self.note(self)

    def end(self) -> None:
        """Note that the step has ended."""
        self.done[-1] = self.done[-1].model_copy(update={"ended_ns": time.time_ns()})
        self.note(self)

    def say(self, message: str) -> None:
        """Report progress."""
        report_progress(f"{self._position}: {message}")

    def say_progress(self) -> None:
        """Report how far the producers are, and which faults are open."""
        faults = self.ledger.open_names()
        line = progress_line([arm.producers.progress() for arm in self.arms], self._rate)
        left = f"{max(0.0, self.ends - time.monotonic()):.0f} s left · " if self.ends is not None else ""
        self.say(f"{self._current} · {left}{line}" + (f" · {faults}" if faults else ""))

    def await_reports(self, seconds: float, at_most: float | None = None) -> None:
        """Wait until every send has its report, `at_most` seconds if that is given. Producers may send for
        `seconds`."""
        longest = seconds + self.delivery_seconds + _GRACE_SECONDS
        deadline = time.monotonic() + (at_most or longest)
        while time.monotonic() < deadline:
            until = time.monotonic() + POLL_SECONDS
            if all(arm.producers.finish(until) for arm in self.arms):
                return
            self.say_progress()
        if at_most is None:
            kind = self.done[-1].kind
            self.problems.append(f"{kind} step {self._current} did not end within {longest:g} s")

    def observer(self, arm: ArmRun) -> BrokerObserver:
        """What the brokers say about the arm's topic."""
        return BrokerObserver(self.cluster, arm.topic, lambda: self.ledger.context_of("wait"), self._since_ns)


Handler: TypeAlias = Callable[[StepContext, int, Any], None]
"""What carries out a step: the context, the step's place among the steps, and the step."""
