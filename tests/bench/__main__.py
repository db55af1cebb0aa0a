"""Measures everything that has a goal, against the peers, and prints one table.

    python -m tests.bench [--only check,boot,faults,producer,proxy] [--large] [--save]

The last result is in tests/bench/last.json; what became slower than every repeat of the last time is named.
With --save the new result takes its place, and docs/how-to/scale.md gets the table.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from functools import partial
from typing import Annotated

import typer
from rich.console import Console

from tests.bench.rows import Row, load, markdown, save, slower, table
from tests.support.paths import ROOT

PAGE = ROOT / "docs" / "how-to" / "scale.md"
BEGIN, END = "<!-- benchmarks -->", "<!-- /benchmarks -->"


def check(*, large: bool = False) -> list[Row]:
    from tests.bench.checker.rows import rows

    return rows(large=large)


def boot() -> list[Row]:
    from tests.bench.boot import rows

    return rows()


def faults() -> list[Row]:
    from tests.bench.fault_latency import rows

    return rows()


def producer() -> list[Row]:
    from tests.bench.producer_throughput import rows

    return rows()


def proxy() -> list[Row]:
    from tests.bench.proxy_overhead import rows

    return rows()


SUITES: dict[str, Callable[[], list[Row]]] = {
    "check": check,
    "boot": boot,
    "faults": faults,
    "producer": producer,
    "proxy": proxy,
}


def main(
    only: Annotated[str, typer.Option(help="Suites to run, separated by commas.")] = ",".join(SUITES),
    large: Annotated[bool, typer.Option("--large", help="Check 100 million sends, too.")] = False,
    keep: Annotated[bool, typer.Option("--save", help="Keep the result and write the page.")] = False,
) -> None:
    """Measure everything that has a goal, and print one table."""
    began = time.monotonic()
    unknown = [name for name in only.split(",") if name not in SUITES]
    if unknown:
        raise SystemExit(f"no such suite: {', '.join(unknown)}; known are {', '.join(SUITES)}")
    # Whoever ends it leaves nothing behind, as Ctrl-C does.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    busy = os.getloadavg()[0]
    suites = SUITES | {"check": partial(check, large=large)}
    rows = [row for name in only.split(",") for row in suites[name]()]
    console = Console(width=180)
    console.print(table(rows))
    for line in slower(rows, load()):
        console.print(line)
    console.print(
        f"{time.monotonic() - began:,.0f} s; load average {busy:.1f} before, {os.getloadavg()[0]:.1f} after"
    )
    if keep:
        measured = {row.what for row in rows}
        rows = [*(row for row in load() if row.what not in measured), *rows]
        save(rows)
        before, _, rest = PAGE.read_text().partition(BEGIN)
        PAGE.write_text(f"{before}{BEGIN}\n{markdown(rows)}\n{END}{rest.partition(END)[2]}")


if __name__ == "__main__":
    typer.run(main)
