"""Checks runs on Spark in one background thread, so that a finished run is checked while the next one runs.

The thread and the JVM that it starts have a lower priority than brokers and producers, which are measured.
The Spark session is kept for the next check of this process.
"""

from __future__ import annotations

import os
import queue
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextvars import copy_context
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING

from checkers.judgement.judge import judge
from checkers.spark.master import SparkPlace
from harness.model.errors import KafkaChaosError
from harness.model.progress import report_progress
from harness.model.result import ArmResult
from harness.model.run import RunMeta
from harness.model.storage import StoragePath

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_NICE = 10

CheckJob = tuple[Callable[[], ArmResult], "Future[ArmResult]"]


class _Worker:
    """One daemon thread, so that a running check does not keep an interrupted process alive."""

    def __init__(self) -> None:
        self._jobs: queue.SimpleQueue[CheckJob] = queue.SimpleQueue()
        threading.Thread(target=self._run, name="checking", daemon=True).start()

    def submit(self, job: Callable[[], ArmResult]) -> Future[ArmResult]:
        future: Future[ArmResult] = Future()
        self._jobs.put((job, future))
        return future

    def _run(self) -> None:
        # On Linux, niceness is per thread, and processes that it starts inherit it.
        if hasattr(os, "setpriority"):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICE)
        while True:
            job, future = self._jobs.get()
            try:
                future.set_result(job())
            except BaseException as error:  # raised again by `Future.result`
                future.set_exception(error)


@cache
def _worker() -> _Worker:
    return _Worker()


@dataclass(frozen=True)
class CheckOptions:
    """How runs are checked: on which Spark (the first check of a process decides), where findings are written
    (None: into the run's folder). With `bootstrap`, Spark reads the topic instead of the journal."""

    spark: SparkPlace = field(default_factory=SparkPlace)
    results: StoragePath | None = None
    bootstrap: str | None = None

    @property
    def asks_for_spark(self) -> bool:
        """Whether a master or settings of Spark are given, so that Spark checks small runs too."""
        usual = SparkPlace()
        return self.spark.master != usual.master or self.spark.settings != usual.settings


DEFAULT_OPTIONS = CheckOptions()


def start_checking(parent: StoragePath, name: str, how: CheckOptions = DEFAULT_OPTIONS) -> Future[ArmResult]:
    """Check the run in `parent`/`name` after the checks that were started before; returns at once.

    The result raises:
        JournalError: the run's metadata cannot be read.
        PrerequisiteMissing, CheckError: Spark cannot be started.
    If the check fails otherwise, the verdict of the result is `unknown`, with the reason.
    """
    context = copy_context()  # of `progress_under`
    return _worker().submit(lambda: context.run(_check, parent, name, how))


def _check(parent: StoragePath, name: str, how: CheckOptions) -> ArmResult:
    from checkers.check import check_run
    from checkers.running import LOCAL_ROWS
    from checkers.spark.session import spark_session
    from harness.check.spark_topic_reader import SPARK_READS_DIR, read_topic

    began = time.monotonic()
    meta = RunMeta.load(parent / name)

    not_started: list[KafkaChaosError] = []

    def spark() -> SparkSession:
        report_progress(f"{meta.experiment} · {name} · starting Spark")
        try:
            session = spark_session(
                master=how.spark.master,
                driver_memory=how.spark.driver_memory,
                settings=how.spark.settings,
                jars=how.spark.jars,
            )
        except KafkaChaosError as error:
            not_started.append(error)
            raise
        report_progress(f"{meta.experiment} · {name} · checking")
        return session

    results = None if how.results is None else how.results / name
    try:
        reads_folder = None
        if how.bootstrap is not None:
            report_progress(f"{meta.experiment} · {name} · reading the topic with Spark")
            reads_folder = (results or parent / name) / SPARK_READS_DIR
            read_topic(spark(), how.bootstrap, meta, reads_folder)
        report_progress(f"{meta.experiment} · {name} · checking")
        local_rows = 0 if how.asks_for_spark else LOCAL_ROWS
        summary = check_run(
            spark, parent / name, results=results, reads_folder=reads_folder, local_rows=local_rows
        )
    except KafkaChaosError as error:
        if error in not_started:
            raise
        meta = meta.model_copy(update={"problems": (*meta.problems, str(error))})
        return ArmResult(folder=name, meta=meta, summary=None, judgement=judge(meta, None))
    took = round(time.monotonic() - began, 3)
    return ArmResult(
        folder=name, meta=meta, summary=summary, judgement=judge(meta, summary), check_seconds=took
    )
