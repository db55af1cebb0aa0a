"""Turns the options of `kafka-chaos check` into a `CheckOptions`."""

from __future__ import annotations

from checkers.spark.master import SparkPlace, parse_settings
from harness.check.spark_jars import KAFKA, S3, jars_of
from harness.check.worker import CheckOptions
from harness.model.errors import BadInput
from harness.model.storage import S3_SCHEMES, StoragePath, UrlPath, place


def check_options(
    folder: StoragePath,
    *,
    master: str,
    settings: list[str],
    driver_memory: str,
    results: str | None,
    bootstrap: str | None,
    from_topic: bool,
) -> CheckOptions:
    """How to check `folder`. Fetches the jars that this needs, unless a Spark Connect server has its own.

    Raises:
        BadInput: the options contradict each other, or the master is not valid.
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
    target = None if results is None else place(results)
    spark = SparkPlace(master, driver_memory, parse_settings(settings)).checked()
    wanted = [S3] if any(_is_s3(where) for where in (folder, target)) else []
    wanted += [KAFKA] if from_topic else []
    if not spark.is_connect:
        jars = tuple(path for jar_set in wanted for path in jars_of(jar_set))
        spark = SparkPlace(master, driver_memory, spark.settings, jars)
    return CheckOptions(spark=spark, results=target, bootstrap=bootstrap)


def _is_s3(where: StoragePath | None) -> bool:
    return isinstance(where, UrlPath) and where.url.partition("://")[0].lower() in S3_SCHEMES
