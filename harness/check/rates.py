"""`kafka-chaos rates`: the Spark job over run folders, and its table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from rich.table import Table

from checkers.rates.aggregate import Rates
from harness.model.storage import StoragePath, place

RATES_DIR = "rates.parquet"
Tell = Callable[[str], None]


def run_rates(
    results: str, by: Sequence[str], *, latencies: bool, parquet: str | None, driver_memory: str, tell: Tell
) -> tuple[Rates, StoragePath]:
    """Rates of all runs below a folder or URL, and where they were written.

    Raises:
        BadInput, JournalError, CheckError, PrerequisiteMissing: as `checkers.rates.aggregate.rates` and the
            start of Spark say.
    """
    from checkers.rates.aggregate import rates
    from checkers.spark.session import spark_session
    from harness.model.errors import JournalError

    folder = place(results)
    if not folder.is_dir():
        raise JournalError(
            "there is no such folder",
            where=results,
            expected="a folder of results",
            next_step="name the folder below which runs are",
        )
    tell("starting Spark")
    spark = spark_session(driver_memory=driver_memory)
    tell("adding up the runs")
    target = place(parquet) if parquet is not None else folder / RATES_DIR
    return rates(spark, folder, by, latencies=latencies, parquet=target), target


def table(found: Rates) -> Table:
    """One row a group."""
    shown = Table(
        title="Rates over runs (95 % intervals)",
        title_justify="left",
        title_style="bold",
        box=None,
        pad_edge=False,
        header_style="bold underline",
    )
    for axis in found.by:
        shown.add_column(axis, overflow="fold")
    for column in (
        "runs",
        "with\nloss",
        "share",
        "lost /\nmillion",
        "unconf. absent\n/ million",
        "duplicates\n/ million",
        "unavail-\nable s",
        "latency ms\np50 / p99",
    ):
        shown.add_column(column, justify="right", no_wrap=True)
    for row in found.rows:
        shown.add_row(*(str(row[axis]) for axis in found.by), *_cells(row))
    return shown


def _cells(row: dict[str, Any]) -> tuple[str, ...]:
    runs = f"{row['runs']} (+{row['left_out']})" if row["left_out"] else f"{row['runs']}"
    latency = "-"
    if row.get("latency_p50_ms") is not None:
        latency = f"{row['latency_p50_ms']:.1f} / {row['latency_p99_ms']:,.0f}"
    return (
        runs,
        f"{row['runs_with_loss']}",
        f"{row['loss_share_low']:.0%} to {row['loss_share_high']:.0%}",
        _rate(row, "lost"),
        _rate(row, "unconfirmed_absent"),
        _rate(row, "duplicates"),
        "-" if row["unavailable_median_s"] is None else f"{row['unavailable_median_s']:.1f}",
        latency,
    )


def _rate(row: dict[str, Any], what: str) -> str:
    value, low, high = row[f"{what}_per_million"], row[f"{what}_low"], row[f"{what}_high"]
    if value is None:
        return "-"
    if not value:
        return "0"
    text = f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
    return text if low is None or high is None else f"{text} ({low:,.0f} to {high:,.0f})"
