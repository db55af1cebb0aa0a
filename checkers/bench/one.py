"""The process that `checkers.bench.measure` starts: one tool, one history, a few passes; a JSON line."""

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

from checkers.bench.histories import RUN_ID
from checkers.bench.measure import OURS, Answer
from checkers.bench.peers import PEERS
from checkers.bench.processes import use_of


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
    from checkers.check import check_run
    from checkers.session import spark_session

    spark = spark_session(master=f"local[{cores}]", driver_memory=driver_memory, scratch=scratch)

    def work() -> dict[str, int]:
        return {finding.value: count for finding, count in check_run(spark, folder).findings.items()}

    return work


def _peer(tool: str, folder: Path, cores: int) -> Callable[[], dict[str, int]]:
    return lambda: PEERS[tool](folder, RUN_ID, cores)


if __name__ == "__main__":
    main()
