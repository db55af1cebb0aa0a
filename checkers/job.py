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

from pyspark.sql import SparkSession

from checkers.check import check_run
from checkers.engine.choice import EngineChoice, parse_settings
from harness.model.errors import KafkaChaosError
from harness.model.result import Summary
from harness.model.storage import storage_path


def run(folder: str, results: str | None, spark: SparkSession) -> Summary:
    """Check a run folder (path or URL); `results` is the folder for the results.

    Raises:
        JournalError, CheckError: as `checkers.check.check_run`.
    """
    return check_run(spark, storage_path(folder), results=None if results is None else storage_path(results))


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
        summary = run(options.run, options.results, _session(options.master, options.conf))
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
        return SparkSession.builder.appName("kafka-chaos").getOrCreate()
    from checkers.engine.server import start_engine

    engine = start_engine(EngineChoice("spark", master, settings=parse_settings(conf)).checked())
    atexit.register(engine.stop)
    return engine.session()


if __name__ == "__main__":
    sys.exit(main())
