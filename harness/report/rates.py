"""Rates over groups of runs: the table of `kafka-chaos rates`, and its page with a chart of each rate."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from checkers import Rates
from harness.report.arms_table import three_digits
from harness.report.page.bar_chart import Bar, bars_section
from harness.report.page.blocks import Block, Lines, Page, Table, Text, grid, section

_RATES = {
    "lost": ("lost", "acknowledged records"),
    "unconfirmed_absent": ("unconfirmed and absent", "unconfirmed records (acks=0)"),
    "duplicates": ("duplicates", "records sent"),
    "unprocessed": ("unprocessed", "inputs of applications: they have no output"),
    "reprocessed": ("reprocessed", "inputs of applications: they have more outputs than they should"),
    "lost_id": ("lost ids", "different ids that were acknowledged: no record in the log has them"),
    "duplicate_id": ("duplicate ids", "different ids sent: they are in the log more often than meant"),
}
"""What is counted, in words, and of what."""
_NARROW = (
    *((f"{what} per million", f"{what}\n/ million") for what, _ in _RATES.values()),
    *(("runs with loss", "with\nloss"), ("share of runs with loss", "share")),
    *(("unavailable s", "unavail-\nable s"), ("latency ms, p50 / p99", "latency ms\np50 / p99")),
)
_ABOUT = (
    "The unit is the run: losses come in bursts, so records within a run are not independent. The share of "
    "runs with loss has a Clopper-Pearson interval, rates per million a bootstrap over runs. A rate of 0 has "
    "no interval, because without any event there is no upper bound. Runs that are not finished, not checked "
    "or of verdict `unknown` count nowhere; the number in brackets is how many of them a group has."
)


def rates_table(found: Rates) -> Table:
    """One row per group of runs; figures that no group has are left out."""
    figures = [_figures(row) for row in found.rows]
    kept = [name for name in (figures[0] if figures else ()) if any(texts[name] != "-" for texts in figures)]
    rows = (
        {axis: str(row[axis]) for axis in found.by} | {name: texts[name] for name in kept}
        for row, texts in zip(found.rows, figures, strict=True)
    )
    return Table(
        *grid(rows), "Rates over runs (95 % intervals)", right=kept, no_wrap=kept, headers=_NARROW,
        heads=len(found.by), cards=True,
    )  # fmt: skip


def rates_page(found: Rates, folder: str) -> Page:
    """The page of the rates of all runs below `folder`."""
    runs = sum(row["runs"] for row in found.rows)
    losing = sum(row["runs_with_loss"] > 0 for row in found.rows)
    bad = any(row[what] for row in found.rows for what in _RATES)
    lost = f"{losing or 'None'} of {len(found.rows)} groups lost acknowledged records, in {runs:,} runs"
    return Page(
        kind="rates",
        title=f"Rates of runs by {', '.join(found.by)}",
        headline=lost if runs else "No result: no run has a known verdict",
        status="unclear" if bad or not runs else "good",
        listed=False,
        blocks=(
            Text(f"All runs below `{folder}`."),
            *_charts(found),
            section("All figures", rates_table(found), Text(_ABOUT, note=True), id="figures"),
            section("Runs left out", Lines(found.left_out), id="left-out"),
        ),
    )


def _charts(found: Rates) -> Iterator[Block]:
    groups = [(", ".join(f"{axis}={row[axis]}" for axis in found.by), row) for row in found.rows]
    yield bars_section(
        "Runs that lost acknowledged records",
        "Per cent of the runs of a group.",
        [_share_bar(label, row) for label, row in groups],
        id="with-loss",
        most=100.0,
        unit=" %",
    )
    for what, (title, of) in _RATES.items():
        if any(row[what] for _, row in groups):
            bars = [_rate_bar(label, row, what) for label, row in groups]
            id = what.replace("_", "-")
            yield bars_section(f"{title.capitalize()} per million", f"Of {of}.", bars, id=id)
    yield bars_section(
        "Seconds without a success report",
        "Median over runs of the longest stretch in any partition.",
        [_seconds_bar(label, row) for label, row in groups],
        id="unavailable",
        unit=" s",
    )


def _share_bar(label: str, row: dict[str, Any]) -> Bar:
    if not row["runs"]:
        return Bar(label, "no run counts")
    value, low, high = row["runs_with_loss"] / row["runs"], row["loss_share_low"], row["loss_share_high"]
    text = f"{row['runs_with_loss']} of {row['runs']} ({_share(row)})"
    return Bar(label, text, 100 * value, 100 * low, 100 * high)


def _rate_bar(label: str, row: dict[str, Any], what: str) -> Bar:
    value, low, high = (row[f"{what}_{end}"] for end in ("per_million", "low", "high"))
    return Bar(label, "no such records" if value is None else _rate(row, what), value, low, high)


def _seconds_bar(label: str, row: dict[str, Any]) -> Bar:
    median, most = row["unavailable_median_s"], row["unavailable_most_s"]
    if median is None:
        return Bar(label, "no run counts")
    return Bar(label, f"{median:.1f} s, at most {most:.1f} s", median)


def _figures(row: dict[str, Any]) -> dict[str, str]:
    latency, unavailable = row.get("latency_p50_ms"), row["unavailable_median_s"]
    return {
        "runs": f"{row['runs']} (+{row['left_out']})" if row["left_out"] else f"{row['runs']}",
        "runs with loss": f"{row['runs_with_loss']}",
        "share of runs with loss": _share(row),
        **{f"{title} per million": _rate(row, what) for what, (title, _) in _RATES.items()},
        "unavailable s": "-" if unavailable is None else f"{unavailable:.1f}",
        "latency ms, p50 / p99": "-" if latency is None else f"{latency:.1f} / {row['latency_p99_ms']:,.0f}",
    }


def _share(row: dict[str, Any]) -> str:
    return f"{row['loss_share_low']:.0%} to {row['loss_share_high']:.0%}"


def _rate(row: dict[str, Any], what: str) -> str:
    value, low, high = row[f"{what}_per_million"], row[f"{what}_low"], row[f"{what}_high"]
    if value is None:
        return "-"
    text = three_digits(value)
    bounded = value and low is not None and high is not None
    return f"{text} ({three_digits(low)} to {three_digits(high)})" if bounded else text
