"""Prints one table: our check against the same classification elsewhere, same histories, one run.

    python -m tests.bench.checker [--sizes 1000000,10000000] [--tools kafka-chaos,duckdb,polars,pandas]

Exit code 1 when two tools count differently, or differently from what was planted.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import shutil
import tempfile
import time
from pathlib import Path

from tests.bench.checker.histories import COPIES, SHAPES
from tests.bench.checker.measure import OURS, TOOLS, Measurement, Options, measure
from tests.bench.checker.table import lines


def main() -> None:
    options = _arguments()
    tools = [name for name in options.tools.split(",") if _is_there(name)]
    sizes = sorted(int(size.replace("_", "")) for size in options.sizes.split(","))
    heavy = int(str(options.heavy).replace("_", ""))
    wanted = [("clean", size) for size in sizes]
    if heavy:
        # As many rows as the clean history of that size: a record read ten times is eleven rows.
        wanted += [("half lost", heavy * 4 // 3), ("ten times", heavy * 2 // (COPIES + 1))]
    how = Options(repeats=options.repeats, cores=options.cores, driver_memory=options.driver_memory)
    print(
        f"{os.cpu_count()} cores, {how.cores} used; load {os.getloadavg()[0]:.1f}; {how.repeats} passes each"
    )
    measured: list[Measurement] = []
    for shape, size in wanted:
        folder = Path(tempfile.mkdtemp(prefix="kafka-chaos-bench-", dir=options.scratch))
        try:
            began = time.perf_counter()
            wrote = SHAPES[shape](folder, size)
            print(
                f"{shape}, {wrote.sends:,} sends written in {time.perf_counter() - began:.1f} s", flush=True
            )
            for tool in tools:
                if tool == "pandas" and size > options.pandas_up_to:
                    print(f"  {tool}: left out above {options.pandas_up_to:,} sends (--pandas-up-to)")
                    continue
                answer = measure(tool, folder, how)
                rows = wrote.sends + wrote.reads
                measured.append(Measurement(tool, shape, wrote.sends, rows, answer))
                passes = ", ".join(f"{each:.2f}" for each in answer.seconds)
                print(f"  {tool}: {passes} s, {answer.peak_mib:,.0f} MiB", flush=True)
                if answer.findings != wrote.findings:
                    raise SystemExit(f"{tool} counts {answer.findings}, planted were {wrote.findings}")
        finally:
            shutil.rmtree(folder)
    print(f"\nall count the same, and what was planted\n\n{chr(10).join(lines(measured))}")


def _is_there(tool: str) -> bool:
    if tool not in TOOLS:
        raise SystemExit(f"no such tool: {tool}; known are {', '.join(TOOLS)}")
    found = tool == OURS or importlib.util.find_spec(tool) is not None
    if not found:
        print(f"{tool} is not installed (pip install 'kafka-chaos[bench]'), so it is left out")
    return found


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.checker", description=__doc__)
    parser.add_argument("--sizes", default="1_000_000,10_000_000", help="sends of the clean histories")
    parser.add_argument(
        "--heavy",
        default="1_000_000",
        help="sends of the clean history that the heavy ones have the rows of; 0: none of them",
    )
    parser.add_argument("--tools", default=",".join(TOOLS))
    parser.add_argument("--repeats", type=int, default=4, help="passes each, the first of them cold")
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--driver-memory", default="4g", help="heap of our JVM")
    parser.add_argument("--pandas-up-to", type=int, default=10_000_000, help="it holds all in memory")
    parser.add_argument("--scratch", default=None, help="folder for the histories (default: the system's)")
    return parser.parse_args()


if __name__ == "__main__":
    main()
