"""Turns the options of `kafka-chaos check` into a `CheckOptions`."""

from __future__ import annotations

import os
from dataclasses import replace

from checkers import ENGINE_VARIABLE, EngineChoice, engine_word, parse_settings
from harness.check_jobs.engines import rows_in
from harness.check_jobs.spark_jars import KAFKA, S3, jars_of
from harness.check_jobs.worker import CheckOptions
from harness.model.errors import BadInput
from harness.model.storage import S3_SCHEMES, StoragePath, UrlPath, storage_path


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
    """How to check `folder`. Fetches the jars that Apache Spark needs for it, unless a Spark Connect server
    has its own; Sail reads S3 without any.

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
    wanted = [S3] if any(_is_s3(where) for where in (folder, target)) and not on_sail else []
    wanted += [KAFKA] if from_topic else []
    if wanted and not choice.is_connect:
        choice = replace(choice, jars=tuple(path for jar_set in wanted for path in jars_of(jar_set)))
    return CheckOptions(engine=choice, results=target, bootstrap=bootstrap)


def _is_s3(where: StoragePath | None) -> bool:
    return isinstance(where, UrlPath) and where.url.partition("://")[0].lower() in S3_SCHEMES
