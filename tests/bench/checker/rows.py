"""The goals of the check: from the command to the answer, and warm against DuckDB."""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from tests.bench.checker.__main__ import measure_all
from tests.bench.checker.histories import COPIES, SHAPES
from tests.bench.checker.measure import OURS, Answer, Measurement, Options
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
LARGE = 100 * MILLION
LARGE_GOALS = {_SAIL: 1.5, _SPARK: 10.0}
"""Of that many sends, the most times DuckDB's seconds."""
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
            found.append(_against(f"{what}, warm, {OURS[tool]}", answer, theirs, goal))
            found.append(Row.of(f"{what}, first pass, {OURS[tool]}", "s", answer.seconds[:1]))
            found.append(Row.of(f"{what}, memory, {OURS[tool]}", "MiB", [answer.peak_mib]))
    return [*found, *_large()] if large else found


def _large() -> list[Row]:
    """The goals of a history that is larger than what most machines hold in memory."""
    measured = measure_all([("clean", LARGE)], (*OURS, _DUCKDB), Options(repeats=2))
    theirs = _of(measured, _DUCKDB, "clean", LARGE).answer
    what = f"check of {LARGE:,} sends (clean)"
    found = [Row.of(f"{what}, memory, DuckDB", "MiB", [theirs.peak_mib])]
    for tool, goal in LARGE_GOALS.items():
        answer = _of(measured, tool, "clean", LARGE).answer
        found.append(_against(f"{what}, warm, {OURS[tool]}", answer, theirs.seconds[1:], goal))
        found.append(Row.of(f"{what}, memory, {OURS[tool]}", "MiB", [answer.peak_mib], goal=LARGE_MIB))
    return found


def _against(what: str, answer: Answer, theirs: Sequence[float], goal: float) -> Row:
    """The warm passes of ours, and those of DuckDB on the same history."""
    return Row.of(
        what,
        "s",
        answer.seconds[1:],
        peer="DuckDB, eight classes",
        theirs=statistics.median(theirs),
        goal=goal,
        relative=True,
        cpu=statistics.median(answer.cpu_seconds[1:]),
    )


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
