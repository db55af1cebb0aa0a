"""Runs arms of an experiment on a running cluster: workload, faults, journals and final read."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from faults.shared.fault_spec import InjectionContext
from harness.cluster.cluster_with_application import ClusterWithApplication
from harness.cluster.external import ExternalCluster
from harness.cluster.managed import ManagedCluster
from harness.cluster.trace_kinds import TAG_PREFIX
from harness.cluster.traces import traces
from harness.model.errors import ClusterError, FaultError, KafkaChaosError
from harness.model.progress import progress_under, report_progress
from harness.model.run import RunMeta
from harness.run.arm_run import ArmRun
from harness.run.faults.healing import heal_cluster
from harness.run.faults.ledger import FaultLedger
from harness.run.preflight.feasibility import check_external_limits, on_connected_cluster
from harness.run.preflight.offered_requests import check_offered
from harness.run.steps.step_context import StepContext
from harness.run.steps.step_executor import carry_out_steps
from harness.spec.cluster import SESSION_SECONDS
from harness.spec.experiment import Arm, Experiment

_MOST_NAMED = 4
"""Arms that run together and are named in progress."""


@dataclass(eq=False)
class ExperimentRun:
    """One execution of one arm, or of several side by side under the same steps and faults.

    `arms` are by the run folder of each; the folder of a run that breaks is partial and says why. `skipped`
    names the faults that this machine cannot inject, and what clients cannot do on an existing cluster.
    `started` is called with the names of arm and topic when all topics exist and are empty.
    `owned_containers`: faults may act on those of an external cluster.

    Raises:
        BadInput: a fault that is impossible on an existing cluster, or would hit its containers; a target or
            an assignment that names a broker that the cluster does not have; or what needs a request that
            the cluster does not offer.
    """

    cluster: ManagedCluster | ExternalCluster
    experiment: Experiment
    arms: Mapping[Path, Arm]
    seed: int
    skipped: tuple[str, ...] = ()
    started: Callable[[str, str], None] = lambda _arm, _topic: None
    owned_containers: bool = False

    def __post_init__(self) -> None:
        # Here, because every run goes through here: whoever starts it cannot forget to ask.
        check_external_limits(self.experiment, owned=self.owned_containers)
        if self.experiment.cluster.existing is not None:
            self.experiment = on_connected_cluster(self.experiment, self.cluster.broker_ids)
        if isinstance(self.cluster, ExternalCluster):
            self.skipped += check_offered(self.experiment, self.cluster.offered)
        self._arm_runs = [
            ArmRun(self.cluster, self.experiment, arm, folder, self.seed) for folder, arm in self.arms.items()
        ]
        self._timer = PhaseTimer()
        self._view = ClusterWithApplication(self.cluster, None)

    def execute(self) -> tuple[RunMeta, ...]:
        """Run the steps, heal everything, read everything; returns the saved metadata of each arm.

        Raises:
            BadInput: the client or the broker refuses an arm's settings.
            ClusterError: what an earlier run has left on the cluster cannot be healed.
            KeyboardInterrupt: raised again after the journals are closed.
        """
        self._timer.enter("looking for faults left open")
        with self._progress():
            if isinstance(self.cluster, ManagedCluster) and self.cluster.changes:
                report_progress("starting a new cluster, since the last run has changed its version")
                self.cluster.renew()
            healed = heal_cluster(self.cluster)
        if not healed.clean:
            raise ClusterError(
                "the cluster is not clean at the start of a run",
                where=self.cluster.name,
                expected="nothing left of faults that were injected before",
                found="; ".join((*healed.failures, *healed.traces)),
                next_step="start a new cluster, or heal it by hand: `kafka-chaos heal`",
            )
        self._timer.enter("topics")
        topics = tuple(topic for arm_run in self._arm_runs for topic in arm_run.topics)
        groups = set().union(*(arm_run.groups() for arm_run in self._arm_runs))
        self.cluster.note_run_resources(topics, groups)
        try:
            return self._on_topics()
        finally:
            with self._progress():
                for left in self.cluster.delete_run_resources():
                    report_progress(left)

    def _on_topics(self) -> tuple[RunMeta, ...]:
        with ExitStack() as stack:
            for arm_run in self._arm_runs:
                arm_run.create(self.skipped, stack)
            for arm_run in self._arm_runs:
                self.started(arm_run.arm.name, arm_run.topic)
            for arm_run in self._arm_runs:
                arm_run.open(stack)
            self._view = ClusterWithApplication(self.cluster, self._arm_runs[0].instances())
            ledger = FaultLedger(self._injection_context, _EveryArm(self._arm_runs), self.cluster.name)
            self._view.on_restart = ledger.restarted
            stack.callback(self.cluster.on_start(ledger.restarted))
            with self._progress():
                self._produce(ledger)
            self._timer.enter(None)
            return tuple(arm_run.finish(self._timer.seconds()) for arm_run in self._arm_runs)

    def _produce(self, ledger: FaultLedger) -> None:
        """Carry out the steps, heal, close the producers."""
        self._timer.enter("clients ready")
        with ExitStack() as stack:
            for arm_run in self._arm_runs:
                arm_run.produce(stack)
            steps = StepContext(
                self.cluster,
                self.experiment,
                self._arm_runs,
                ledger,
                max(arm_run.clients.delivery_seconds for arm_run in self._arm_runs),
                lambda now: self._save_so_far(now, ledger),
                view=lambda: self._arm_runs[0].sampler.latest,
                seed=self.seed,
            )
            try:
                report_progress("waiting until the producers may begin")
                for arm_run in self._arm_runs:
                    arm_run.clients.start()
                self._timer.enter("steps")
                try:
                    carry_out_steps(steps)
                except (ClusterError, FaultError) as error:
                    steps.problems.append(str(error))
                steps.problems += self.cluster.proxy_problems()
                self._timer.enter("healing")
                report_progress("healing")
                steps.problems += ledger.heal_all()
                steps.problems += traces(self.cluster, self.cluster.nodes_with_containers)
                for arm_run in self._arm_runs:
                    arm_run.producers.stop()
                self._timer.enter("clients closing")
                report_progress("closing the producers, and the readers at the end")
                for arm_run in self._arm_runs:
                    steps.problems += arm_run.clients.end()
            except BaseException as error:
                # Journals first. The cluster may end with this run, so nothing waits until it is healthy.
                for arm_run in self._arm_runs:
                    arm_run.clients.abort()
                steps.problems += ledger.undo_all()
                steps.problems.append(f"the run broke: {_reason(error)}")
                self._save_so_far(steps, ledger)
                raise
        self._save_so_far(steps, ledger)

    def _progress(self) -> AbstractContextManager[None]:
        """Report progress in the `with` block as that of all arms together."""
        names = [arm_run.arm.name for arm_run in self._arm_runs]
        arms = " + ".join(names) if len(names) <= _MOST_NAMED else f"{len(names)} arms together"
        return progress_under(f"{self.experiment.name} · {arms}")

    def _save_so_far(self, steps: StepContext, ledger: FaultLedger) -> None:
        for arm_run in self._arm_runs:
            arm_run.note(steps.done, ledger, steps.problems)

    def _injection_context(self, name: str) -> InjectionContext:
        first = self._arm_runs[0]
        return InjectionContext(
            cluster=self._view,
            topic=first.topic,
            session_seconds=SESSION_SECONDS[self.cluster.spec.profile],
            tag=f"{TAG_PREFIX}{first.run_id:x}-{name}",
            seed=f"{self.seed}/{name}",
            beside=tuple(topic for arm_run in self._arm_runs for topic in arm_run.topics),
            groups=first.named_groups(),
        )


class PhaseTimer:
    """Seconds by phase. Entering a phase ends the one before; the times of a repeated phase are added."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._seconds: dict[str, float] = {}
        self._phase: str | None = None
        self._since = 0.0

    def enter(self, phase: str | None) -> None:
        """Enter this phase (None: no phase)."""
        now = self._clock()
        if self._phase is not None:
            self._seconds[self._phase] = self._seconds.get(self._phase, 0.0) + now - self._since
        self._phase, self._since = phase, now

    def seconds(self) -> dict[str, float]:
        """Phase -> seconds so far, rounded to milliseconds, in the order of first entry."""
        return {phase: round(seconds, 3) for phase, seconds in self._seconds.items()}


class _EveryArm:
    """Appends fault events to the journal of every arm."""

    def __init__(self, arm_runs: list[ArmRun]) -> None:
        self._arm_runs = arm_runs

    def append(self, row: dict[str, Any]) -> None:
        for arm_run in self._arm_runs:
            arm_run.faults.append(row)


def _reason(error: BaseException) -> str:
    """Why a run broke, for its metadata: the error's message without its next step."""
    if isinstance(error, KeyboardInterrupt):
        return "interrupted"
    if isinstance(error, KafkaChaosError):
        return ": ".join(text for text in (error.what, error.found) if text)
    return repr(error)
