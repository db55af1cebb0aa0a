"""The process that `tests.bench.checker.measure` starts: several passes of one tool over one history.

Prints an `Answer` as one line of JSON.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

from tests.bench.checker.histories import RUN_ID
from tests.bench.checker.measure import OURS, Answer
from tests.bench.checker.peers import PEERS
from tests.bench.checker.processes import use_of


def main() -> None:
    settings = json.loads(sys.argv[1])
    tool, folder = settings["tool"], Path(settings["folder"])
    began = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="kafka-chaos-bench-spark-") as scratch:
        if tool == OURS:
            work = _ours(folder, settings["cores"], settings["driver_memory"], Path(scratch))
        else:
            importlib.import_module(tool)
            work = _peer(tool, folder, settings["cores"])
        start = time.perf_counter() - began
        answer = Answer(round(start, 2), (), (), {})
        for _ in range(settings["repeats"]):
            began, used = time.perf_counter(), use_of(os.getpid()).cpu_seconds
            findings = work()
            seconds, cpu = time.perf_counter() - began, use_of(os.getpid()).cpu_seconds - used
            answer = Answer(
                answer.start_seconds,
                (*answer.seconds, round(seconds, 3)),
                (*answer.cpu_seconds, round(cpu, 2)),
                findings,
            )
        print(json.dumps(asdict(answer)), flush=True)


def _ours(folder: Path, cores: int, driver_memory: str, scratch: Path) -> Callable[[], dict[str, int]]:
    """A whole check as `kafka-chaos check` makes it, with evidence, findings and summary on disk."""
    from pyspark.sql import SparkSession

    from checkers.check import check_run
    from checkers.spark.session import spark_session

    def spark() -> SparkSession:
        return spark_session(master=f"local[{cores}]", driver_memory=driver_memory, scratch=scratch)

    def work() -> dict[str, int]:
        return {finding.value: count for finding, count in check_run(spark, folder).findings.items()}

    return work


def _peer(tool: str, folder: Path, cores: int) -> Callable[[], dict[str, int]]:
    return lambda: PEERS[tool](folder, RUN_ID, cores)


if __name__ == "__main__":
    main()
