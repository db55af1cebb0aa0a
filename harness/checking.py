"""Checks runs on Spark in one background thread, so that a finished run is checked while the next one runs.

The thread and the JVM that it starts are niced: brokers and producers go first, and what they do is what is
measured. The Spark session stays for the next check of this process.
"""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from functools import cache
from pathlib import Path

from checkers.judge import judge
from harness.model.errors import KafkaChaosError
from harness.model.result import ArmResult
from harness.model.run import RunMeta

_NICE = 10

Job = tuple[Callable[[], ArmResult], "Future[ArmResult]"]


class _Worker:
    """One daemon thread: a check that is under way must not keep an interrupted process alive."""

    def __init__(self) -> None:
        self._jobs: queue.SimpleQueue[Job] = queue.SimpleQueue()
        threading.Thread(target=self._run, name="checking", daemon=True).start()

    def submit(self, job: Callable[[], ArmResult]) -> Future[ArmResult]:
        future: Future[ArmResult] = Future()
        self._jobs.put((job, future))
        return future

    def _run(self) -> None:
        # On Linux niceness belongs to a thread, and processes started from it inherit it.
        if hasattr(os, "setpriority"):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICE)
        while True:
            job, future = self._jobs.get()
            try:
                future.set_result(job())
            except BaseException as error:  # raised again by whoever asks for the result
                future.set_exception(error)


@cache
def _worker() -> _Worker:
    return _Worker()


def start_checking(parent: Path, name: str, tell: Callable[[str], None]) -> Future[ArmResult]:
    """Check the run in `parent`/`name` as soon as the checks before it are done; its result comes later.

    The result raises:
        JournalError: the run's metadata cannot be read.
        PrerequisiteMissing, CheckError: Spark cannot be started.
    A check that fails otherwise gives a result that is `unknown` and says why.
    """
    return _worker().submit(lambda: _check(parent, name, tell))


def _check(parent: Path, name: str, tell: Callable[[str], None]) -> ArmResult:
    from checkers.check import check_run
    from checkers.session import spark_session

    meta = RunMeta.load(parent / name)
    spark = spark_session()
    tell(f"{meta.experiment} · {name} · checking")
    try:
        summary = check_run(spark, parent / name)
    except KafkaChaosError as error:
        meta = meta.model_copy(update={"problems": (*meta.problems, str(error))})
        return ArmResult(folder=name, meta=meta, summary=None, judgement=judge(meta, None))
    return ArmResult(folder=name, meta=meta, summary=summary, judgement=judge(meta, summary))
