"""Runs arms of an experiment on a running cluster: workload, faults, journals, final read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import Any

from faults.base import InjectionContext
from harness.cluster.external import ExternalCluster
from harness.cluster.managed import ManagedCluster
from harness.model.errors import ClusterError, FaultError
from harness.model.progress import progress_under, report_progress
from harness.model.run import RunMeta
from harness.run import phase_timer
from harness.run.arm_run import ArmRun
from harness.run.fault_ledger import FaultLedger
from harness.run.healing import heal_cluster
from harness.run.phase_timer import PhaseTimer
from harness.run.residue_check import traces
from harness.run.step_executor import StepExecutor
from harness.spec.cluster import SESSION_SECONDS
from harness.spec.experiment import Arm, Experiment


class ExperimentRun:
    """One execution of one arm, or of several side by side under the very same steps and faults.

    `arms` are by the folder that each leaves: complete at the end, or partial and saying why. `skipped` says
    what the experiment had and this machine cannot do; `started` is called with arm and topic once all topics
    are there, before anything is written.
    """

    def __init__(
        self,
        cluster: ManagedCluster | ExternalCluster,
        experiment: Experiment,
        arms: Mapping[Path, Arm],
        seed: int,
        skipped: tuple[str, ...] = (),
        started: Callable[[str, str], None] = lambda _arm, _topic: None,
    ) -> None:
        self._skipped = skipped
        self._started = started
        self._cluster = cluster
        self._experiment = experiment
        self._seed = seed
        self._lanes = [ArmRun(cluster, experiment, arm, folder, seed) for folder, arm in arms.items()]
        self._watch = PhaseTimer()

    def execute(self) -> tuple[RunMeta, ...]:
        """Run the steps, heal everything, read everything; returns the saved metadata of each arm.

        Raises:
            BadInput: the client or the broker refuses an arm's settings.
            KeyboardInterrupt: passed on, after the journals are closed.
        """
        self._watch.enter(phase_timer.CLEAN)
        with self._progress():
            self._start_clean()
        self._watch.enter(phase_timer.TOPICS)
        topics = tuple(topic for lane in self._lanes for topic in lane.topics)
        self._cluster.borrow(topics, set().union(*(lane.groups() for lane in self._lanes)))
        try:
            return self._on_topics()
        finally:
            with self._progress():
                for left in self._cluster.give_back():
                    report_progress(left)

    def _on_topics(self) -> tuple[RunMeta, ...]:
        for lane in self._lanes:
            lane.create(self._skipped)
        for lane in self._lanes:
            self._started(lane.arm.name, lane.topic)
        with ExitStack() as stack:
            for lane in self._lanes:
                lane.open(stack)
            book = FaultLedger(self._scene, _Copied(self._lanes), self._cluster.name)
            stack.callback(self._cluster.on_start(book.restarted))
            with self._progress():
                self._produce(book)
            self._watch.enter(None)
            return tuple(lane.finish(self._watch.seconds()) for lane in self._lanes)

    def _start_clean(self) -> None:
        """Heal what a run before this one has left open on the cluster.

        Raises:
            ClusterError: it does not become clean.
        """
        healed = heal_cluster(self._cluster)
        if not healed.clean:
            raise ClusterError(
                "the cluster is not clean at the start of a run",
                where=self._cluster.name,
                expected="nothing left of faults that were injected before",
                found="; ".join((*healed.failures, *healed.traces)),
                next_step="start a new cluster, or heal it by hand: `kafka-chaos heal`",
            )

    def _produce(self, book: FaultLedger) -> None:
        """Carry out the steps, heal, close the producers."""
        first = self._lanes[0]
        self._watch.enter(phase_timer.CLIENTS)
        with ExitStack() as stack:
            for lane in self._lanes:
                lane.produce(stack)
            stepping = StepExecutor(
                self._cluster,
                self._experiment,
                self._lanes,
                book,
                max(lane.traffic.delivery_seconds for lane in self._lanes),
                lambda now: self._note(now, book),
                view=lambda: first.sampler.latest,
                seed=self._seed,
            )
            try:
                report_progress("waiting until the producers may begin")
                for lane in self._lanes:
                    lane.traffic.start()
                self._watch.enter(phase_timer.STEPS)
                try:
                    stepping.all()
                except (ClusterError, FaultError) as error:
                    stepping.problems.append(str(error))
                self._watch.enter(phase_timer.HEAL)
                report_progress("healing")
                stepping.problems += book.heal_all()
                stepping.problems += traces(self._cluster, self._cluster.handled)
                for lane in self._lanes:
                    lane.workload.stop()
                self._watch.enter(phase_timer.CLOSE)
                report_progress("closing the producers, and the readers at the end")
                for lane in self._lanes:
                    stepping.problems += lane.traffic.end()
            except BaseException as error:
                # Journals first. Nobody waits to see the cluster whole again, which may end with this run.
                for lane in self._lanes:
                    lane.traffic.break_off()
                stepping.problems += book.undo_all()
                what = "interrupted" if isinstance(error, KeyboardInterrupt) else repr(error)
                stepping.problems.append(f"the run broke: {what}")
                self._note(stepping, book)
                raise
        self._note(stepping, book)

    def _progress(self) -> AbstractContextManager[None]:
        """What progress of all arms together is reported under."""
        arms = " + ".join(lane.arm.name for lane in self._lanes)
        return progress_under(f"{self._experiment.name} · {arms}")

    def _note(self, stepping: StepExecutor, book: FaultLedger) -> None:
        for lane in self._lanes:
            lane.note(stepping.done, book.windows(), stepping.problems)

    def _scene(self, name: str) -> InjectionContext:
        first = self._lanes[0]
        return InjectionContext(
            cluster=self._cluster,
            topic=first.topic,
            session_seconds=SESSION_SECONDS[self._cluster.spec.profile],
            tag=f"kafka-chaos-{first.run_id:x}-{name}",
            seed=f"{self._seed}/{name}",
            beside=tuple(topic for lane in self._lanes for topic in lane.topics),
        )


class _Copied:
    """Fault events into the journal of every lane."""

    def __init__(self, lanes: list[ArmRun]) -> None:
        self._lanes = lanes

    def append(self, row: dict[str, Any]) -> None:
        for lane in self._lanes:
            lane.faults.append(row)
