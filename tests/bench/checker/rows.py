"""The goals of the check: from the command to the answer, and warm against DuckDB."""

from __future__ import annotations

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
MILLION = 1_000_000
WARM_GOALS = {
    ("clean", MILLION): (1.0, False),
    ("clean", 10 * MILLION): (1.2, True),
    ("half lost", 4 * MILLION // 3): (2.0, False),
    ("ten times", 2 * MILLION // (COPIES + 1)): (1.2, False),
}
"""By shape and sends: the most seconds, or (True) the most times DuckDB's."""


def rows(repeats: int = 4) -> list[Row]:
    """All goals of the check, measured now."""
    found = [
        _command(f"check of {sends:,} sends ({shape}), command to answer", shape, sends, goal)
        for shape, sends, goal in (("half lost", 1000, 7.0), ("clean", MILLION, 9.0))
    ]
    measured = measure_all(list(WARM_GOALS), (OURS, _DUCKDB), Options(repeats=repeats))
    for (shape, sends), (goal, relative) in WARM_GOALS.items():
        ours, theirs = (_of(measured, tool, shape, sends) for tool in (OURS, _DUCKDB))
        found.append(
            Row.of(
                f"check of {sends:,} sends ({shape}), warm",
                "s",
                ours.answer.seconds[1:],
                peer="DuckDB, eight classes",
                theirs=sorted(theirs.answer.seconds[1:])[len(theirs.answer.seconds[1:]) // 2],
                goal=goal,
                relative=relative,
            )
        )
    large = measure_all([("clean", 100 * MILLION)], (OURS,), Options(repeats=2))[0]
    what = "check of 100,000,000 sends (clean)"
    found.append(Row.of(f"{what}, warm, on Spark", "s", large.answer.seconds[1:], goal=40.0))
    found.append(Row.of(f"{what}, memory of all processes", "MiB", [large.answer.peak_mib], goal=2200.0))
    return found


def _of(measured: list[Measurement], tool: str, shape: str, sends: int) -> Measurement:
    """The measurement of that tool; a history has a few sends more than asked for."""
    return next(
        one
        for one in measured
        if one.tool == tool and one.shape == shape and abs(one.records - sends) < sends / 100
    )


def _command(what: str, shape: str, sends: int, goal: float, repeats: int = 3) -> Row:
    """Seconds of `kafka-chaos check` on a history, from the command to its end."""
    with tempfile.TemporaryDirectory(prefix="kafka-chaos-bench-") as scratch:
        folder = Path(scratch) / "run"
        folder.mkdir()
        SHAPES[shape](folder, sends)
        seconds = []
        for _ in range(repeats):
            began = time.perf_counter()
            subprocess.run(
                [sys.executable, "-m", "kafka_chaos", "check", str(folder), "--quiet"],
                capture_output=True,
                check=False,
            )
            seconds.append(time.perf_counter() - began)
    return Row.of(what, "s", seconds, goal=goal)
