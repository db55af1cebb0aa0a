"""Checks runs in one background thread, so that a finished run is checked while the next one runs; by both
engines, if that is asked for, and then tells whether Apache Spark and Sail count the same.

The thread and the engine have a lower priority than brokers and producers, which are measured. The engine is
kept for the next check of this process.
"""

from __future__ import annotations

import os
import queue
import tempfile
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextvars import copy_context
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from checkers import Decision, EngineChoice, judge, warm
from harness.check_jobs import engines
from harness.model.errors import KafkaChaosError
from harness.model.journal import SUMMARY_FILE
from harness.model.progress import report_progress
from harness.model.result import ArmResult, Summary
from harness.model.run import RunMeta
from harness.model.storage import StoragePath, write_whole

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_NICE = 10
_OWN = {"engine", "check_seconds"}
"""Fields of a summary that are those of one check, not of the run."""
_SHOWN = 5
"""Entries of a field that a sentence about a difference names."""

CheckJob = tuple[Callable[[], ArmResult], "Future[ArmResult]"]


@cache
def _jobs() -> queue.SimpleQueue[CheckJob]:
    """Calls that one thread makes in order, a daemon: no check keeps an interrupted process alive."""
    jobs: queue.SimpleQueue[CheckJob] = queue.SimpleQueue()

    def work() -> None:
        # On Linux, niceness is per thread, and processes that it starts inherit it.
        if hasattr(os, "setpriority"):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICE)
        while True:
            job, future = jobs.get()
            try:
                future.set_result(job())
            except BaseException as error:  # raised again by `Future.result`
                future.set_exception(error)

    threading.Thread(target=work, name="checking", daemon=True).start()
    return jobs


@dataclass(frozen=True)
class CheckOptions:
    """How runs are checked: by which engine ("auto": by the size of the run), where findings are written
    (None: into the run's folder). With `bootstrap`, Spark reads the topic instead of the journal. With
    `both_engines`, the other engine counts too, and if the counts differ, the verdict is unknown."""

    engine: EngineChoice = field(default_factory=EngineChoice)
    results: StoragePath | None = None
    bootstrap: str | None = None
    both_engines: bool = False


DEFAULT_OPTIONS = CheckOptions()


def prepare_checks(choice: EngineChoice) -> EngineChoice:
    """Decide on the engine for runs that are about to be made, Apache Spark if nothing else is said, and
    have it start in the background once the brokers are up, so that it is there when the first run is over.

    Raises:
        BadInput: the choice contradicts itself.
        PrerequisiteMissing: the engine needs Java, and there is none.
    """
    decision = engines.require_engine(choice)
    engines.start_early(decision, warm)
    return decision.choice


def start_checking(parent: StoragePath, name: str, how: CheckOptions = DEFAULT_OPTIONS) -> Future[ArmResult]:
    """Check the run in `parent`/`name` after the checks that were started before; returns at once.

    The result raises:
        JournalError: the run's metadata cannot be read.
        PrerequisiteMissing, CheckError: the engine cannot be started.
    If the check fails otherwise, the verdict of the result is `unknown`, with the reason.
    """
    context = copy_context()  # of `progress_under`
    future: Future[ArmResult] = Future()
    _jobs().put((lambda: context.run(_check, parent, name, how), future))
    return future


def _check(parent: StoragePath, name: str, how: CheckOptions) -> ArmResult:
    from checkers import check_run
    from harness.check_jobs.spark_topic_reader import SPARK_READS_DIR, read_topic

    began = time.monotonic()
    meta = RunMeta.load(parent / name)
    head = f"{meta.experiment} · {name}"
    decision = Decision(how.engine)
    if how.engine.engine == "auto":
        decision = engines.decide_for(how.engine, parent / name)
        if decision.reason:
            report_progress(f"{head} · {decision.reason}")
    not_started: list[KafkaChaosError] = []

    def session() -> SparkSession:
        report_progress(f"{head} · starting {'Sail' if decision.engine == 'sail' else 'Apache Spark'}")
        try:
            engine = engines.engine(decision.choice)
            opened = engine.session()
        except KafkaChaosError as error:
            not_started.append(error)
            raise
        report_progress(f"{head} · checking with {engine.describe()}")
        return opened

    results = None if how.results is None else how.results / name
    try:
        reads_folder = None
        if how.bootstrap is not None:
            report_progress(f"{head} · reading the topic with Spark")
            reads_folder = (results or parent / name) / SPARK_READS_DIR
            read_topic(session(), how.bootstrap, meta, reads_folder)
        summary = check_run(session, parent / name, results=results, reads_folder=reads_folder)
        if how.both_engines:
            report_progress(f"{head} · comparing with another engine")
            summary = compared(parent / name, summary, results or parent / name)
    except KafkaChaosError as error:
        if error in not_started:
            raise
        meta = meta.model_copy(update={"problems": (*meta.problems, str(error))})
        return ArmResult(folder=name, meta=meta, summary=None, judgement=judge(meta, None))
    took = round(time.monotonic() - began, 3)
    return ArmResult(
        folder=name, meta=meta, summary=summary, judgement=judge(meta, summary), check_seconds=took
    )


def compared(folder: StoragePath, first: Summary, results: StoragePath) -> Summary:
    """The summary of a run, whose folder for results is `results`, after a second check by the other engine.
    Each difference, or that the other engine did not answer, is one more problem, so that the verdict is
    unknown; `summary.json` is then written again."""
    from checkers import check_run

    other = EngineChoice("spark" if first.engine.startswith("Sail ") else "sail")

    def check() -> Summary:
        choice = engines.require_engine(other).choice
        with tempfile.TemporaryDirectory(prefix="kafka-chaos-second-") as scratch:
            return check_run(lambda: engines.engine(choice).session(), folder, results=Path(scratch))

    summary = second_opinion(first, check)
    if summary != first:
        write_whole(results / SUMMARY_FILE, summary.model_dump_json(indent=2) + "\n")
    return summary


def second_opinion(first: Summary, check: Callable[[], Summary]) -> Summary:
    """A summary, with a problem for everything in which that of a second check differs."""
    try:
        problems = differences(first, check())
    except KafkaChaosError as error:
        problems = [f"the counts were not compared with those of a second engine: {error}"]
    return first.model_copy(update={"problems": (*first.problems, *problems)}) if problems else first


def differences(first: Summary, second: Summary) -> list[str]:
    """A sentence for each field in which two summaries of one run differ."""
    ours, theirs = first.model_dump(mode="json"), second.model_dump(mode="json")
    return [
        f"the engines differ in {name}: {_differing(ours[name], theirs[name])} by {first.engine}, "
        f"{_differing(theirs[name], ours[name])} by {second.engine}"
        for name in ours
        if name not in _OWN and ours[name] != theirs[name]
    ]


def _differing(value: Any, other: Any) -> str:
    """A field's value; for a table or list only the entries that the other summary lacks."""
    if isinstance(value, dict):
        other = other or {}
        names = [name for name in {**value, **other} if value.get(name) != other.get(name)]
        return _few([f"{name} {value.get(name, 0)}" for name in names])
    if isinstance(value, list):
        return _few([str(item) for item in value if item not in (other or ())])
    return str(value)


def _few(texts: list[str]) -> str:
    more = len(texts) - _SHOWN
    return "; ".join(texts[:_SHOWN]) + (f"; and {more} more" if more > 0 else "") or "nothing more"
