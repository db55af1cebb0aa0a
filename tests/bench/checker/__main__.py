"""Prints one table: our check against the same classification by other tools, on the same histories.

    python -m tests.bench.checker [--sizes 1000000,10000000] [--tools kafka-chaos-sail,duckdb,polars,pandas]
    python -m tests.bench.checker --profile --tools kafka-chaos-sail,kafka-chaos-spark

Exit code 1 when two tools count differently, or differently from what was planted.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import signal
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from tests.bench.checker.histories import COPIES, SHAPES
from tests.bench.checker.measure import OURS, TOOLS, Measurement, Options, measure
from tests.bench.checker.table import lines


def main(
    sizes: Annotated[str, typer.Option(help="Sends of the clean histories.")] = "1_000_000,10_000_000",
    heavy: Annotated[
        str,
        typer.Option(help="Sends of a clean history with the rows of the heavy ones; 0: none."),
    ] = "1_000_000",
    tools: Annotated[str, typer.Option(help="Tools to compare.")] = ",".join(TOOLS),
    repeats: Annotated[int, typer.Option(help="Passes of each tool; the first one is cold.")] = 4,
    cores: Annotated[int, typer.Option(help="Number of cores to use.")] = 2,
    driver_memory: Annotated[str, typer.Option(help="Heap of the JVM of our check.")] = "4g",
    pandas_up_to: Annotated[int, typer.Option(help="Largest size for pandas (all in memory).")] = 10_000_000,
    scratch: Annotated[str | None, typer.Option(help="Folder for the histories.")] = None,
    profile: Annotated[
        bool, typer.Option("--profile", help="Print every request of our last pass: what it scans and costs.")
    ] = False,
) -> None:
    """Print one table: our check against the same classification by other tools, on the same histories."""
    # Whoever ends it leaves nothing behind, as Ctrl-C does.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    chosen = [name for name in tools.split(",") if _is_there(name)]
    wanted = [("clean", size) for size in sorted(map(int, sizes.split(",")))]
    if int(heavy):
        # As many rows as the clean history of that size: a record read ten times is eleven rows.
        wanted += [("half lost", int(heavy) * 4 // 3), ("ten times", int(heavy) * 2 // (COPIES + 1))]
    how = Options(repeats=repeats, cores=cores, driver_memory=driver_memory, profile=profile)
    print(
        f"{os.cpu_count()} cores, {how.cores} used; load {os.getloadavg()[0]:.1f}; {how.repeats} passes each"
    )
    measured = measure_all(wanted, chosen, how, scratch, pandas_up_to)
    print(f"\nall count the same, and what was planted\n\n{chr(10).join(lines(measured))}")


def measure_all(
    wanted: Sequence[tuple[str, int]],
    tools: Sequence[str],
    how: Options,
    scratch: str | None = None,
    pandas_up_to: int = 10_000_000,
) -> list[Measurement]:
    """Measure every tool on every history (its shape and number of sends), and print each result.

    Raises:
        SystemExit: a tool counts something other than what was planted.
    """
    measured: list[Measurement] = []
    for shape, size in wanted:
        folder = Path(tempfile.mkdtemp(prefix="kafka-chaos-bench-", dir=scratch))
        try:
            began = time.perf_counter()
            wrote = SHAPES[shape](folder, size)
            print(
                f"{shape}, {wrote.sends:,} sends written in {time.perf_counter() - began:.1f} s", flush=True
            )
            for tool in tools:
                if tool == "pandas" and size > pandas_up_to:
                    print(f"  {tool}: left out above {pandas_up_to:,} sends (--pandas-up-to)")
                    continue
                answer = measure(tool, folder, how)
                rows = wrote.sends + wrote.reads
                measured.append(Measurement(tool, shape, wrote.sends, rows, answer))
                passes = ", ".join(f"{each:.2f}" for each in answer.seconds)
                print(f"  {tool}: {passes} s, {answer.peak_mib:,.0f} MiB", flush=True)
                if answer.profile:
                    print(f"\n{answer.profile}\n", flush=True)
                if answer.findings != wrote.findings:
                    raise SystemExit(f"{tool} counts {answer.findings}, planted were {wrote.findings}")
        finally:
            shutil.rmtree(folder)
    return measured


def _is_there(tool: str) -> bool:
    if tool not in TOOLS:
        raise SystemExit(f"no such tool: {tool}; known are {', '.join(TOOLS)}")
    found = tool in OURS or importlib.util.find_spec(tool) is not None
    if not found:
        print(f"{tool} is not installed (pip install '.[bench]'), so it is left out")
    return found


if __name__ == "__main__":
    typer.run(main)
