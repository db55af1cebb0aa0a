"""The table that `kafka-chaos rates` prints."""

from __future__ import annotations

from typing import Any

from checkers import Rates
from harness.page.blocks import Table, grid
from harness.report.arms_table import three_digits


def table(found: Rates) -> Table:
    """One row per group of runs."""
    rows = [({axis: str(row[axis]) for axis in found.by}, _figures(row)) for row in found.rows]
    columns = list(rows[0][1]) if rows else []
    return Table(
        *grid(axes | figures for axes, figures in rows),
        title="Rates over runs (95 % intervals)",
        right=columns,
        no_wrap=columns,
    )


def _figures(row: dict[str, Any]) -> dict[str, str]:
    latency, unavailable = row.get("latency_p50_ms"), row["unavailable_median_s"]
    return {
        "runs": f"{row['runs']} (+{row['left_out']})" if row["left_out"] else f"{row['runs']}",
        "with\nloss": f"{row['runs_with_loss']}",
        "share": f"{row['loss_share_low']:.0%} to {row['loss_share_high']:.0%}",
        "lost /\nmillion": _rate(row, "lost"),
        "unconf. absent\n/ million": _rate(row, "unconfirmed_absent"),
        "duplicates\n/ million": _rate(row, "duplicates"),
        "unavail-\nable s": "-" if unavailable is None else f"{unavailable:.1f}",
        "latency ms\np50 / p99": "-" if latency is None else f"{latency:.1f} / {row['latency_p99_ms']:,.0f}",
    }


def _rate(row: dict[str, Any], what: str) -> str:
    value, low, high = row[f"{what}_per_million"], row[f"{what}_low"], row[f"{what}_high"]
    if value is None:
        return "-"
    text = three_digits(value)
    return text if not value or low is None or high is None else f"{text} ({low:,.0f} to {high:,.0f})"
