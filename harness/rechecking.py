"""Checks saved folders again: a run's, or an experiment's with all its arms. No Docker, no broker."""

from __future__ import annotations

import shlex
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from checkers.judge import judge
from harness.model.errors import JournalError, KafkaChaosError
from harness.model.journal import RUN_FILE
from harness.model.result import ArmResult, ExperimentResult
from harness.model.run import RunMeta

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

RESULT_FILE = "result.json"


def check_runs(
    spark: SparkSession, folder: Path, names: Sequence[str], tell: Callable[[str], None]
) -> tuple[ArmResult, ...]:
    """Check and judge the runs below an experiment's folder; one that fails to be checked is `unknown`.

    Raises:
        JournalError: a run's metadata cannot be read.
    """
    from checkers.check import check_run

    results = []
    for name in names:
        meta = RunMeta.load(folder / name)
        tell(f"{meta.experiment} · {name} · checking")
        try:
            summary = check_run(spark, folder / name)
        except KafkaChaosError as error:
            meta = meta.model_copy(update={"problems": (*meta.problems, str(error))})
            results.append(ArmResult(folder=name, meta=meta, summary=None, judgement=judge(meta, None)))
        else:
            results.append(ArmResult(folder=name, meta=meta, summary=summary, judgement=judge(meta, summary)))
    return tuple(results)


def recheck(folder: Path, tell: Callable[[str], None]) -> ExperimentResult:
    """Check a folder; an experiment's result.json, where there is one, is written anew.

    Raises:
        JournalError: it is no run folder and holds none, or one of another version.
        CheckError, PrerequisiteMissing: Spark cannot be started.
    """
    began = time.monotonic()
    if (folder / RUN_FILE).exists() or not folder.is_dir():
        parent, names = folder.parent, [folder.name]
        RunMeta.load(folder)  # a bad folder is refused before Spark starts
    else:
        parent, names = folder, sorted(path.parent.name for path in folder.glob(f"*/{RUN_FILE}"))
    if not names:
        raise JournalError(
            "there is no run in this folder",
            where=str(folder),
            expected=f"{RUN_FILE} in it, or in a folder below it",
            found="neither",
            next_step="name a folder that `kafka-chaos run` left below results/",
        )
    from checkers.session import spark_session

    tell("starting Spark")
    spark = spark_session()
    try:
        arms = check_runs(spark, parent, names, tell)
    finally:
        spark.stop()
    saved = folder / RESULT_FILE
    command = shlex.join(["kafka-chaos", *sys.argv[1:]])
    first = arms[0].meta
    result = ExperimentResult(
        experiment=first.experiment,
        title="checked again",
        description="",
        arms=arms,
        started_ns=first.started_ns,
        seconds=round(time.monotonic() - began, 1),
        command=command,
    )
    if saved.exists():
        before = ExperimentResult.model_validate_json(saved.read_text())
        order = {arm.folder: number for number, arm in enumerate(before.arms)}
        arms = tuple(sorted(arms, key=lambda arm: order.get(arm.folder, len(order))))
        result = before.model_copy(update={"arms": arms})
        saved.write_text(result.model_dump_json(indent=2) + "\n")
    return result
