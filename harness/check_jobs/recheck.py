"""Checks saved runs, or whole experiments, as `kafka-chaos check` does, without Docker and brokers."""

from __future__ import annotations

import os
import shlex
import time
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from pydantic import ValidationError

from checkers import ENGINE_VARIABLE, EngineChoice, engine_word, parse_settings
from harness.check_jobs.engines import rows_in
from harness.check_jobs.spark_jars import KAFKA, S3, is_on_s3, jars_of
from harness.check_jobs.worker import DEFAULT_OPTIONS, CheckOptions, start_checking
from harness.model.errors import BadInput, CheckError, JournalError, located_words_of
from harness.model.journal import RUN_FILE
from harness.model.progress import report_progress
from harness.model.result import ExperimentResult
from harness.model.run import RunMeta
from harness.model.secrets import this_command
from harness.model.storage import StoragePath, matching, storage_path, write_whole

RESULT_FILE = "result.json"


def check_options(
    folder: StoragePath,
    *,
    master: str,
    settings: list[str],
    driver_memory: str,
    results: str | None,
    bootstrap: str | None,
    from_topic: bool,
    engine: str = "auto",
) -> CheckOptions:
    """How to check `folder`. Fetches the jars for Apache Spark; Sail needs none, Connect servers have theirs.

    Raises:
        BadInput: the options contradict each other, or an engine or master is not valid.
        JournalError: `results` is a URL of an unknown scheme.
        PrerequisiteMissing: jars are not available.
    """
    if from_topic != (bootstrap is not None):
        raise BadInput(
            "--read-with spark and --bootstrap need each other",
            where="--read-with, --bootstrap",
            expected="--read-with spark --bootstrap host:port",
            next_step="use both, or neither to check the journal of the final read",
        )
    target = None if results is None else storage_path(results)
    word = engine_word(engine, where="--engine")
    choice = EngineChoice(word, master, driver_memory, parse_settings(settings)).checked()
    if from_topic and word == "sail":
        raise BadInput(
            "Sail reads no topics",
            where="--engine sail",
            found="--read-with spark",
            next_step="leave out --engine, so that Apache Spark is used",
        )
    named = os.environ.get(ENGINE_VARIABLE) if word == "auto" else word
    if named == "spark" or choice.asks_for_spark:
        # One server for all arms of an experiment. Where nothing is said, `decide_for` counts the rows.
        choice = choice.for_rows(rows_in(folder))
    on_sail = named == "sail" and not (choice.asks_for_spark or from_topic)
    wanted = [S3] if any(map(is_on_s3, (folder, target))) and not on_sail else []
    wanted += [KAFKA] if from_topic else []
    if wanted and not choice.is_connect:
        choice = replace(choice, jars=tuple(path for jar_set in wanted for path in jars_of(jar_set)))
    return CheckOptions(engine=choice, results=target, bootstrap=bootstrap)


def check_commands(experiments: Iterable[Path]) -> list[str]:
    """Commands that check interrupted runs: one per folder that holds a run but no result."""
    return [
        shlex.join(["kafka-chaos", "check", str(folder)])
        for folder in experiments
        if any(folder.glob(f"*/{RUN_FILE}")) and not (folder / RESULT_FILE).exists()
    ]


def recheck(folder: StoragePath, how: CheckOptions = DEFAULT_OPTIONS) -> ExperimentResult:
    """Check the runs in a folder; rewrites the experiment's result.json if there is one.

    Raises:
        JournalError: the folder is no run folder and contains none, or one of another version, or its
            result.json cannot be read.
        PrerequisiteMissing: the engine needs Java, and there is none.
        CheckError: the engine cannot be started, or result.json cannot be written.
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
    before = _saved_result(folder / RESULT_FILE)
    report_progress("reading the journals")
    waiting = [start_checking(parent, name, how) for name in names]
    arms = tuple(future.result() for future in waiting)
    if before is None:
        return ExperimentResult(
            experiment=arms[0].meta.experiment,
            title="checked again",
            description="",
            arms=arms,
            started_ns=arms[0].meta.started_ns,
            seconds=round(time.monotonic() - began, 1),
            command=this_command(),
        )
    # In the order of the saved result, in which an arm whose folder is gone keeps what was found before.
    merged = {arm.folder: arm for arm in before.arms} | {arm.folder: arm for arm in arms}
    result = before.model_copy(update={"arms": tuple(merged.values())})
    with CheckError.for_os_errors(
        "the result of the experiment cannot be written; the journals are untouched",
        where=folder / RESULT_FILE,
        expected="a folder with free space that can be written to",
        next_step="free space or correct its permissions, then run `kafka-chaos check` on the folder",
    ):
        write_whole(folder / RESULT_FILE, result.model_dump_json(indent=2) + "\n")
    return result


def check_results(folder: str | Path) -> ExperimentResult:
    """Check the saved journals of a run, or of an experiment with all its arms, again. Needs no Docker and no
    broker, and Java only for runs of more than 200 million records and for URLs. Findings and summaries
    in the folder are replaced.

    Args:
        folder: a folder, or a URL such as `s3a://bucket/run`.

    Raises:
        JournalError: the folder holds no run, or one of another version.
        PrerequisiteMissing, CheckError: the engine could not be started, or failed.
    """
    return recheck(storage_path(folder))


def not_checked(folder: StoragePath, result: ExperimentResult) -> list[str]:
    """One sentence per arm that was not checked again because its run folder is gone."""
    return [
        f"{arm.meta.arm} was not checked again: {folder / arm.folder / RUN_FILE} is missing; "
        "its result is the one of the earlier check"
        for arm in result.arms
        if not (folder / RUN_FILE).exists() and not (folder / arm.folder / RUN_FILE).exists()
    ]


def _saved_result(path: StoragePath) -> ExperimentResult | None:
    """The experiment's result as it was saved; None: there is none."""
    if not path.exists():
        return None
    try:
        return ExperimentResult.model_validate_json(path.read_text())
    except (ValueError, OSError) as error:
        reason = located_words_of(error) if isinstance(error, ValidationError) else str(error)
        raise JournalError(
            "the result of the experiment cannot be read",
            where=str(path),
            expected="the JSON that `kafka-chaos run` writes when all arms are checked",
            found=reason.splitlines()[0],
            next_step="move the file away and check again: verdicts are made anew from the journals",
        ) from error
