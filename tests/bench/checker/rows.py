"""The goals of the check: from the command to the answer, and warm against DuckDB."""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.bench.checker.__main__ import measure_all
from tests.bench.checker.histories import COPIES, SHAPES
from tests.bench.checker.measure import OURS, Measurement, Options
from tests.bench.rows import Row

_DUCKDB = "duckdb"
_SAIL, _SPARK = OURS
MILLION = 1_000_000
WARM_GOALS = {
    ("clean", MILLION): (1.5, 9.0),
    ("clean", 10 * MILLION): (1.0, 3.0),
    ("half lost", 4 * MILLION // 3): (3.0, 16.0),
    ("ten times", 2 * MILLION // (COPIES + 1)): (4.0, 25.0),
}
"""By shape and sends, on Sail and on Apache Spark: the most times DuckDB's seconds."""
LARGE_SECONDS = {_SAIL: 40.0, _SPARK: 240.0}
LARGE_MIB = 4000.0


def rows(repeats: int = 4, *, large: bool = False) -> list[Row]:
    """All goals of the check, measured now; those of 100 million sends only if asked for (`large`)."""
    found = [
        _command(f"check of 1,000 sends on {engine}, command to answer", engine, 1000, goal)
        for engine, goal in (("sail", 2.0), ("spark", 7.0))
    ]
    measured = measure_all(list(WARM_GOALS), (*OURS, _DUCKDB), Options(repeats=repeats))
    for (shape, sends), goals in WARM_GOALS.items():
        theirs = _of(measured, _DUCKDB, shape, sends).answer.seconds[1:]
        for tool, goal in zip(OURS, goals, strict=True):
            answer = _of(measured, tool, shape, sends).answer
            what = f"check of {sends:,} sends ({shape})"
            found.append(
                Row.of(
                    f"{what}, warm, {OURS[tool]}",
                    "s",
                    answer.seconds[1:],
                    peer="DuckDB, eight classes",
                    theirs=statistics.median(theirs),
                    goal=goal,
                    relative=True,
                    cpu=statistics.median(answer.cpu_seconds[1:]),
                )
            )
            found.append(Row.of(f"{what}, first pass, {OURS[tool]}", "s", answer.seconds[:1]))
            found.append(Row.of(f"{what}, memory, {OURS[tool]}", "MiB", [answer.peak_mib]))
    for tool, goal in LARGE_SECONDS.items() if large else ():
        large = measure_all([("clean", 100 * MILLION)], (tool,), Options(repeats=2))[0]
        what = f"check of 100,000,000 sends (clean), {OURS[tool]}"
        found.append(Row.of(f"{what}, warm", "s", large.answer.seconds[1:], goal=goal))
        found.append(
            Row.of(f"{what}, memory of all processes", "MiB", [large.answer.peak_mib], goal=LARGE_MIB)
        )
    return found


def _of(measured: list[Measurement], tool: str, shape: str, sends: int) -> Measurement:
    """The measurement of that tool; a history has a few sends more than asked for."""
    return next(
        one
        for one in measured
        if one.tool == tool and one.shape == shape and abs(one.records - sends) < sends / 100
    )


def _command(what: str, engine: str, sends: int, goal: float, repeats: int = 3) -> Row:
    """Seconds of `kafka-chaos check` on a history of which half is lost, from the command to its end."""
    with tempfile.TemporaryDirectory(prefix="kafka-chaos-bench-") as scratch:
        folder = Path(scratch) / "run"
        folder.mkdir()
        SHAPES["half lost"](folder, sends)
        seconds = []
        for _ in range(repeats):
            began = time.perf_counter()
            subprocess.run(
                [sys.executable, "-m", "kafka_chaos", "check", str(folder), "--engine", engine, "--quiet"],
                capture_output=True,
                check=False,
            )
            seconds.append(time.perf_counter() - began)
    return Row.of(what, "s", seconds, goal=goal)
