"""The table that `kafka-chaos rates` prints."""

from __future__ import annotations

from typing import Any

from rich.table import Table

from checkers.rates.aggregate import Rates
from harness.report.table_builder import build_table

COLUMNS = (
    "runs",
    "with\nloss",
    "share",
    "lost /\nmillion",
    "unconf. absent\n/ million",
    "duplicates\n/ million",
    "unavail-\nable s",
    "latency ms\np50 / p99",
)


def table(found: Rates) -> Table:
    """One row per group of runs."""
    rows = [(*(str(row[axis]) for axis in found.by), *_cells(row)) for row in found.rows]
    return build_table(
        (*found.by, *COLUMNS),
        rows,
        title="Rates over runs (95 % intervals)",
        right=COLUMNS,
        no_wrap=COLUMNS,
    )


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
