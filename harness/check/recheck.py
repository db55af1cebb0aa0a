"""Checks the saved folder of a run, or of an experiment with all its arms, without Docker and brokers."""

from __future__ import annotations

import shlex
import time
from collections.abc import Iterable
from pathlib import Path

from harness.check.worker import DEFAULT_OPTIONS, CheckOptions, start_checking
from harness.model.errors import JournalError
from harness.model.journal import RUN_FILE
from harness.model.progress import report_progress
from harness.model.result import ExperimentResult
from harness.model.run import RunMeta
from harness.model.secrets import this_command
from harness.model.storage import StoragePath, matching, write_whole

RESULT_FILE = "result.json"


def check_commands(experiments: Iterable[Path]) -> list[str]:
    """The commands that check what was interrupted: one for each of these folders that holds a run and no
    result."""
    return [
        shlex.join(["kafka-chaos", "check", str(folder)])
        for folder in experiments
        if any(folder.glob(f"*/{RUN_FILE}")) and not (folder / RESULT_FILE).exists()
    ]


def recheck(folder: StoragePath, how: CheckOptions = DEFAULT_OPTIONS) -> ExperimentResult:
    """Check the runs in a folder; rewrites the experiment's result.json if there is one.

    Raises:
        JournalError: the folder is no run folder and contains none, or one of another version.
        CheckError, PrerequisiteMissing: Spark cannot be started.
    """
    began = time.monotonic()
    if (folder / RUN_FILE).exists() or not folder.is_dir():
        parent, names = folder.parent, [folder.name]
        RunMeta.load(folder)  # refuses an unusable folder before Spark starts
    else:
        parent, names = folder, [path.parent.name for path in matching(folder, f"*/{RUN_FILE}")]
    if not names:
        raise JournalError(
            "there is no run in this folder",
            where=str(folder),
            expected=f"{RUN_FILE} in it, or in a folder below it",
            found="neither",
            next_step="pass a folder that `kafka-chaos run` has written below results/",
        )
    report_progress("starting Spark")
    waiting = [start_checking(parent, name, how) for name in names]
    arms = tuple(future.result() for future in waiting)
    saved = folder / RESULT_FILE
    command = this_command()
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
        write_whole(saved, result.model_dump_json(indent=2) + "\n")
    return result
