"""The fixture `chaos`: experiments and single faults in a test."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.cluster.managed import ManagedCluster
from harness.model.errors import BadInput
from harness.model.result import FailedTest
from harness.pytest_plugin.background_run import Running, ThreadErrors
from harness.pytest_plugin.chaos_result import ChaosResult
from harness.pytest_plugin.cluster_pool import SessionClusters
from harness.pytest_plugin.experiments import RunCommand, experiment_around, load_experiment
from harness.pytest_plugin.marks import ChaosMarker
from harness.pytest_plugin.messages import failure, note_failed_test, readable
from harness.pytest_plugin.settings import Settings
from harness.pytest_plugin.single_fault import OpenedFault, open_fault
from harness.report.run_page import write_report
from harness.run import executor, replay
from harness.spec.experiment import Experiment
from harness.spec.overrides import ClusterOptions, overridden, with_payload


class Chaos:
    """Runs experiments on real clusters. Call it, or use one of its methods.

        chaos("kill-leader", arms=["acks=all"]).assert_lost(0)

    `failed` is set when the test has failed (`test_failed`): then the results are kept.
    """

    def __init__(
        self, settings: Settings, clusters: SessionClusters, mark: ChaosMarker, nodeid: str, beside: Path
    ) -> None:
        self._settings, self._clusters, self._mark = settings, clusters, mark
        self._nodeid, self._beside = nodeid, beside
        self._folder: Path | None = None
        self.results: list[ChaosResult] = []
        self.failed = False
        self._unreported: list[str] = []
        self._thread_errors = ThreadErrors()

    def __call__(
        self,
        experiment: str | Path | dict[str, Any] | Experiment | None = None,
        *,
        arms: Sequence[str] = (),
        seed: int | None = None,
        repeat: int = 1,
        payload: Any = None,
    ) -> ChaosResult:
        """Run an experiment, check and judge it.

        Args:
            experiment: a built-in's name, an experiment file, its text as a dict, or an `Experiment`; None:
                the marker's.
            arms: names of the arms to run; none: the marker's, or all.
            seed: seed of all choices; None: the marker's, or the session's.
            repeat: how often each arm is run.
            payload: what records hold, as `payload` in the workload of an experiment file, or a function
                (producer, seq) -> (key, value, headers); None: as the experiment says.

        Bad input or a missing prerequisite ends the test with its own message.
        """
        __tracebackhide__ = True
        with self._prepared(experiment, arms, seed, repeat, payload) as (spec, options, cluster):
            return self._run(cluster, spec, options)

    run = __call__

    def application(
        self,
        run: RunCommand,
        *,
        faults: Sequence[dict[str, Any]] = (),
        seconds: float = 10.0,
        rate: float = 200.0,
        cluster: dict[str, Any] | None = None,
        topic: dict[str, Any] | None = None,
        seed: int | None = None,
        **fields: Any,
    ) -> ChaosResult:
        """Put an application under test: it reads a topic that is written meanwhile, and writes another one.

            chaos.application(
                ["python", "copy.py", "{bootstrap}", "{input}", "{output}", "{group}"],
                faults=[{"fault": {"kill": {"target": {"application": "all"}}}, "at": 3, "for": 1}],
            ).assert_processed()

        Args:
            run: its command, or `run` as an experiment file has it.
            faults: as those of a write step in an experiment file.
            seconds, rate: how long the input is written, and records per second.
            cluster, topic: as in an experiment file.
            seed: as in `chaos()`.
            fields: further fields below `application` (`group`, `output`, `identity`, `guarantee`, ...).
        """
        __tracebackhide__ = True
        with readable(self._settings.missing):
            experiment = experiment_around(run, faults, seconds, rate, cluster, topic, fields)
        return self(experiment, seed=seed)

    @contextmanager
    def started(
        self,
        experiment: str | Path | dict[str, Any] | Experiment | None = None,
        *,
        arm: str | None = None,
        seed: int | None = None,
        payload: Any = None,
    ) -> Iterator[Running]:
        """Run one arm of an experiment in the background, so that your own application can consume its
        topic meanwhile. `arm` may be left out where there is only one; `payload` is as in `chaos()`.

            with chaos.started("kill-leader", arm="acks=all") as run:
                app = start_my_consumer(run.bootstrap, run.topic)
                result = run.wait()      # faults over, all read back; the cluster is still up
                seen = app.drain_and_stop()
            result.assert_delivered(seen)
        """
        __tracebackhide__ = True
        arms = () if arm is None else (arm,)
        with self._prepared(experiment, arms, seed, 1, payload) as (spec, options, cluster):
            chosen = executor.choose_arms(spec, options.arms)
            if len(chosen) != 1:
                raise BadInput(
                    "an application can follow one arm only",
                    where=f"experiment {spec.name}",
                    expected=f"one of {', '.join(choice.name for choice in chosen)}",
                    next_step="name it: chaos.started(..., arm=NAME)",
                )
            running = Running(cluster.bootstrap, options.results)
            self._thread_errors.listen()
            announced = replace(options, started=running.topic_created)
            running.start(lambda: self._run(cluster, spec, announced))
            try:
                running.await_topic()
                yield running
            except KeyboardInterrupt:
                raise
            except BaseException:
                # Other tests must not get the cluster while the run goes on.
                running.finish()
                raise
            running.wait()

    @contextmanager
    def fault(self, spec: dict[str, Any], *, on: ManagedCluster, topic: str) -> Iterator[OpenedFault]:
        """Inject one fault for as long as the block lasts; on leaving, it is healed.

            with chaos.fault({"kill": {"target": {"leader": 0}}}, on=kafka_cluster, topic="orders"):
                ...

        Args:
            spec: as in an experiment file.
            on: the cluster, as the fixture `kafka_cluster` gives it.
            topic: the topic whose partitions targets like `leader` mean.
        """
        __tracebackhide__ = True
        self._within_budget()
        began = time.monotonic()
        with readable(self._settings.missing):
            folder = self._own_folder()
        try:
            with open_fault(on, spec, topic, folder, self._seed(), self._settings.missing) as opened:
                yield opened
        finally:
            self._clusters.spent.seconds += time.monotonic() - began
            self._clusters.spent.faults += 1

    def test_failed(self, error: BaseException) -> None:
        """Note that the test has failed, in the report of the run whose assertion failed; if it is no
        assertion of a `ChaosResult`, in those of all runs of the test."""
        self.failed = True
        message = str(error)
        concerned = [result for result in self.results if message in result.failures]
        name = type(error).__name__
        shown = message if concerned else f"{name}: {message}"
        for result in concerned or self.results:
            self._unreported += note_failed_test(result, FailedTest(test=self._nodeid, message=shown))

    def failure_text(self) -> str:
        """What is shown below a failure."""
        if self.results:
            texts = [failure(result, self._nodeid) for result in self.results]
            return "\n\n".join([*texts, *self._unreported])
        kept = f"; its files: {self._folder}" if self._folder is not None else ""
        return f"no experiment of this test was finished{kept}\nseed: {self._seed()}"

    def properties(self) -> Iterator[tuple[str, str]]:
        """Properties for JUnit XML; pytest-xdist passes them on."""
        for result in self.results:
            image = result.arms[0].meta.cluster.image
            yield "kafka_chaos_experiment", result.result.experiment
            yield "kafka_chaos_verdict", result.verdict
            yield "kafka_chaos_seed", str(result.arms[0].meta.seed)
            yield "kafka_chaos_image", f"{image.reference} {image.digest}"
            yield "kafka_chaos_report", str(result.folder / "report.html")

    def close(self) -> None:
        """Remove the results of the runs, unless the test has failed or all results are kept."""
        self._thread_errors.stop()
        if self._folder is not None and not self.failed and self._settings.keep != "all":
            shutil.rmtree(self._folder, ignore_errors=True)

    @contextmanager
    def _prepared(
        self, experiment: Any, arms: Sequence[str], seed: int | None, repeat: int, payload: Any
    ) -> Iterator[tuple[Experiment, executor.Options, ManagedCluster]]:
        __tracebackhide__ = True
        self._within_budget()
        began = time.monotonic()
        with readable(self._settings.missing):
            spec, chosen_seed, names = self._resolve(experiment, tuple(arms), seed)
            if payload is not None:
                spec = with_payload(spec, payload)
            executor.choose_arms(spec, names)
            options = executor.Options(
                results=self._own_folder(),
                seed=chosen_seed,
                arms=names,
                repeat=repeat,
                command=f"pytest {self._nodeid} --chaos-seed {self._seed()}",
            )
            options = executor.with_engine(options, [spec])
            cluster = self._clusters.lease(spec.cluster)
            try:
                yield spec, options, cluster
            finally:
                self._clusters.release(cluster)
                self._clusters.spent.seconds += time.monotonic() - began

    def _run(self, cluster: ManagedCluster, spec: Experiment, options: executor.Options) -> ChaosResult:
        folder, result = executor.run_on(cluster, spec, options)
        write_report(result, folder)
        payloads = {arm.name: spec.workload_of(arm).payload is not None for arm in spec.arms}
        done = ChaosResult(
            result,
            folder,
            committed=lambda topic: cluster.admin().committed(topic),
            parseable=lambda arm: payloads.get(arm, False),
            thread_errors=self._thread_errors.found,
        )
        self.results.append(done)
        self._clusters.spent.faults += done.faults
        return done

    def _resolve(
        self, experiment: Any, arms: tuple[str, ...], seed: int | None
    ) -> tuple[Experiment, int, tuple[str, ...]]:
        named = self._mark.experiment if experiment is None else experiment
        if named is None:
            raise BadInput(
                "no experiment is named",
                where=self._nodeid,
                expected="chaos(EXPERIMENT), or @pytest.mark.chaos(EXPERIMENT)",
                next_step="`kafka-chaos experiments` lists the built-in ones",
            )
        mark, settings = self._mark, self._settings
        options = ClusterOptions(
            mark.version or settings.version, mark.image or settings.image, mark.profile or settings.profile
        )
        spec = overridden(load_experiment(named, self._beside), options)
        names = arms or mark.arms
        if settings.replay is None:
            return spec, self._seed() if seed is None else seed, names
        (spec,), chosen_seed, played = replay.replay_run([spec], settings.replay, None, None)
        if names and played[0] not in names:
            raise BadInput(
                "the run to replay belongs to another test",
                where=str(settings.replay),
                expected=f"a run of {', '.join(names)}",
                found=played[0],
                next_step="name the test that the run came from",
            )
        return spec, chosen_seed, tuple(played)

    def _seed(self) -> int:
        return self._settings.seed if self._mark.seed is None else self._mark.seed

    def _within_budget(self) -> None:
        spent = self._settings.budget.exceeded(self._clusters.spent)
        if spent is not None:
            pytest.skip(f"the chaos budget is spent: {spent}")

    def _own_folder(self) -> Path:
        """A folder for this test alone, created when first needed."""
        if self._folder is None:
            self._folder = self._settings.create_folder(self._nodeid)
        return self._folder
