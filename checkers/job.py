"""The check as a Spark job: `spark-submit --py-files kafka-chaos.zip job.py RUN [--results PLACE]`, where
kafka-chaos.zip is our wheel, renamed.

Spark's settings (master, memory, jars, keys of object stores) are those of spark-submit; RUN and PLACE are
paths that the whole cluster can access, or URLs. Without spark-submit, `python -m checkers.job` takes
`--master` and starts a Spark Connect server with it. Prints the summary as JSON and writes it with the
findings to PLACE (default: into the run's folder). Exit code 0: checked, whatever was found; 2 and 3 as
`kafka-chaos`. docs/how-to/scale.md has examples.
"""

from __future__ import annotations

import argparse
import atexit
import os
import sys
from typing import TYPE_CHECKING

from harness.model.errors import KafkaChaosError, PrerequisiteMissing

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from harness.model.result import Summary

OLDEST_PYTHON = (3, 11)


def run(folder: str, results: str | None, master: str, conf: list[str]) -> Summary:
    """Check a run folder (path or URL); `results` is the folder for the results, `master` and `conf` say on
    which Spark, where spark-submit does not.

    Raises:
        PrerequisiteMissing: this Python is too old, or lacks a package.
        KafkaChaosError: as `checkers.check.check_run` and `checkers.engine.server.start_engine`.
    """
    python = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info < OLDEST_PYTHON:
        raise _unfit(f"{'.'.join(map(str, OLDEST_PYTHON))} or later", python)
    try:
        from checkers.check import check_run
    except ModuleNotFoundError as missing:
        raise _unfit(
            "pyspark, pyarrow, numpy and pydantic", f"Python {python}, no {missing.name}"
        ) from missing
    return check_run(lambda: _session(master, conf), folder, results=results)


def _unfit(expected: str, found: str) -> PrerequisiteMissing:
    return PrerequisiteMissing(
        "the Python of the driver cannot run the check",
        where=sys.executable,
        expected=expected,
        found=found,
        next_step="let PYSPARK_DRIVER_PYTHON name one that has this, and PYSPARK_PYTHON that of the workers",
    )


def main() -> int:
    """Entry point; returns the exit code."""
    # argparse, since a Spark installation that runs this job from kafka-chaos.zip has no typer.
    parser = argparse.ArgumentParser(prog="checkers.job", description=__doc__)
    parser.add_argument("run", metavar="RUN", help="run folder: a path or a URL")
    parser.add_argument("--results", metavar="PLACE", help="folder for findings/ and summary.json")
    parser.add_argument("--master", default="local[*]", help="Spark master, where spark-submit sets none")
    parser.add_argument("--conf", action="append", default=[], help="a setting of Spark's, name=value")
    options = parser.parse_args()
    try:
        summary = run(options.run, options.results, options.master, options.conf)
    except KafkaChaosError as error:
        print(f"kafka-chaos: {error}", file=sys.stderr)
        return error.exit_code
    print(summary.model_dump_json(indent=2))
    return 0


def _session(master: str, conf: list[str]) -> SparkSession:
    # spark-submit starts the JVM first and tells us its port; so do the launchers of other platforms.
    if "PYSPARK_GATEWAY_PORT" in os.environ:
        # A process that runs checks over Spark Connect has set this for itself, and may have started us.
        os.environ.pop("SPARK_CONNECT_MODE_ENABLED", None)
        from pyspark.sql import SparkSession

        return SparkSession.builder.appName("kafka-chaos").getOrCreate()
    from checkers.engine.choice import EngineChoice, parse_settings
    from checkers.engine.server import start_engine

    engine = start_engine(EngineChoice("spark", master, settings=parse_settings(conf)).checked())
    atexit.register(engine.stop)
    return engine.session()


if __name__ == "__main__":
    sys.exit(main())
