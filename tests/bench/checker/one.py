"""The process that `tests.bench.checker.measure` starts: several passes of one tool over one history.

Prints an `Answer` as one line of JSON.
"""

from __future__ import annotations

import atexit
import importlib
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path

from tests.bench.checker.histories import RUN_ID
from tests.bench.checker.measure import OURS, Answer
from tests.bench.checker.peers import PEERS
from tests.bench.checker.processes import use_of
from tests.bench.checker.profile import Profile, table


def main() -> None:
    settings = json.loads(sys.argv[1])
    tool, folder = settings["tool"], Path(settings["folder"])
    began = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="kafka-chaos-bench-spark-") as scratch:
        if tool in OURS:
            work = _ours(tool, folder, settings["cores"], settings["driver_memory"], Path(scratch))
        else:
            importlib.import_module(tool)
            work = _peer(tool, folder, settings["cores"])
        start = time.perf_counter() - began
        answer = Answer(round(start, 2), (), (), {})
        noted = Profile(folder)
        for number in range(settings["repeats"]):
            last = number + 1 == settings["repeats"]
            began, used = time.perf_counter(), use_of(os.getpid()).cpu_seconds
            with noted.open() if settings["profile"] and last else nullcontext():
                findings = work()
            seconds, cpu = time.perf_counter() - began, use_of(os.getpid()).cpu_seconds - used
            answer = Answer(
                answer.start_seconds,
                (*answer.seconds, round(seconds, 3)),
                (*answer.cpu_seconds, round(cpu, 2)),
                findings,
                profile=table(noted.requests, noted.journals) if noted.requests else "",
            )
        print(json.dumps(asdict(answer)), flush=True)


def _ours(
    tool: str, folder: Path, cores: int, driver_memory: str, scratch: Path
) -> Callable[[], dict[str, int]]:
    """A whole check as `kafka-chaos check` makes it, with evidence, findings and summary on disk."""
    from checkers.check import check_run
    from checkers.engine.choice import EngineChoice
    from checkers.engine.server import start_engine
    from harness.check_jobs.engines import rows_in

    on_spark = OURS[tool] == "spark"
    choice = EngineChoice("spark", f"local[{cores}]", driver_memory) if on_spark else EngineChoice("sail")
    choice = choice.for_rows(rows_in(folder))
    engine = start_engine(choice, scratch=scratch / "engine")
    session = engine.session()
    atexit.register(engine.stop)

    def work() -> dict[str, int]:
        return {finding.value: count for finding, count in check_run(session, folder).findings.items()}

    return work


def _peer(tool: str, folder: Path, cores: int) -> Callable[[], dict[str, int]]:
    return lambda: PEERS[tool](folder, RUN_ID, cores)


if __name__ == "__main__":
    main()
