"""From the options of `kafka-chaos check` to how and where runs are checked."""

from __future__ import annotations

from checkers.spark.master import SparkPlace, parsed_settings
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
    """How to check `folder`. Jars that this needs are fetched now, unless a cluster brings its own.

    Raises:
        BadInput: options that do not go together, or a master that is none.
        JournalError: `results` is a URL that nothing here opens.
        PrerequisiteMissing: jars are not to be had.
    """
    if from_topic != (bootstrap is not None):
        raise BadInput(
            "a topic is read by Spark from brokers: both must be said, or neither",
            where="--read-with, --bootstrap",
            expected="--read-with spark --bootstrap host:port",
            next_step="leave both out to check the journal of the final read",
        )
    target = None if results is None else place(results)
    spark = SparkPlace(master, driver_memory, parsed_settings(settings)).checked()
    wanted = [S3] if any(_is_s3(where) for where in (folder, target)) else []
    wanted += [KAFKA] if from_topic else []
    if not spark.is_connect:
        jars = tuple(path for jar_set in wanted for path in jars_of(jar_set))
        spark = SparkPlace(master, driver_memory, spark.settings, jars)
    return CheckOptions(spark=spark, results=target, bootstrap=bootstrap)


def _is_s3(where: StoragePath | None) -> bool:
    return isinstance(where, UrlPath) and where.url.partition("://")[0].lower() in S3_SCHEMES
