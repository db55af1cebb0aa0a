"""The report of a matrix: one HTML file that needs nothing else; and the same figures as CSV and Markdown."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import ValidationError

from checkers.judgement.judge import judge
from harness.matrix.export import axes_of, csv_text, headline, junit_text, markdown_text
from harness.matrix.result import MatrixArmResult, MatrixResult, RunRow
from harness.matrix.table import COLUMNS, cells, interval_of, notes, reasons
from harness.model.errors import JournalError
from harness.model.journal import SUMMARY_FILE
from harness.model.result import ArmResult, FindingClass, Summary
from harness.model.run import RunMeta
from harness.report.html import (
    CONSTANTS,
    REPORT_FILE,
    ArmView,
    environment,
    index_link,
    moment,
    save_page,
    view,
)
from harness.report.table import UNCONFIRMED_NOTE

CSV_FILE, MARKDOWN_FILE, JUNIT_FILE = "matrix.csv", "matrix.md", "matrix.junit.xml"
ONE_SIDED = (
    '"from 55 %": every run showed it, and there are so few runs that the true share may still be as low as '
    '55 %. "up to 45 %": no run showed it, and the true share may still be as high as 45 %: it is not known '
    "to be zero."
)
MOST_SECTIONS = 12
"""Arms of which one run is shown whole; those that lose most go first."""


@dataclass(frozen=True, slots=True)
class HeatMapCell:
    """One cell of a heat map. `heat` is 0 to 100; None: nothing is known, and `text` says why, with the
    number of a note on the page (0: none)."""

    text: str
    interval: str
    heat: int | None
    arm: str
    note: int = 0


@dataclass(frozen=True, slots=True)
class HeatMap:
    """One measure over all arms: `rows` are a label and its cells under `columns`. `bounded`: a cell has an
    interval with one end only."""

    title: str
    explanation: str
    bounded: bool
    corner: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[HeatMapCell | None, ...]], ...]


CellOf = Callable[[MatrixArmResult, float], HeatMapCell]
"""From an arm, and the longest median of all arms, to its cell."""


def write_page(result: MatrixResult, folder: Path) -> Path:
    """Write report.html, matrix.csv, matrix.md and matrix.junit.xml; returns the first's path.

    Raises:
        KafkaChaosError: one cannot be written.
    """
    for name, text in (
        (CSV_FILE, csv_text(result)),
        (MARKDOWN_FILE, markdown_text(result)),
        (JUNIT_FILE, junit_text(result)),
        (REPORT_FILE, render(result, folder)),
    ):
        save_page(
            text,
            folder / name,
            what="the report of the matrix",
            next_step="free space or correct its permissions; matrix.json has all that the report shows",
        )
    return folder / REPORT_FILE


def render(result: MatrixResult, folder: Path) -> str:
    """The report as HTML text. Journals of the runs that it shows are read from `folder`."""
    sections = [shown for arm in _worst_first(result) if (shown := _section(arm, folder)) is not None]
    counted = [run for arm in result.arms for run in arm.runs]
    return (
        environment()
        .get_template("matrix.html.j2")
        .render(
            result=result,
            headline=headline(result),
            overall=overall(result),
            maps=heat_maps(result),
            index=index_link(folder),
            one_sided=ONE_SIDED,
            refusals=list(reasons(result).values()),
            axes=axes_of(result),
            columns=COLUMNS,
            rows=[(arm, cells(arm)) for arm in result.arms],
            aside=UNCONFIRMED_NOTE
            if any("(" in cell for arm in result.arms for cell in cells(arm)[1:])
            else None,
            notes=[line for line in notes(result) if line not in reasons(result).values()],
            arms=sections[:MOST_SECTIONS],
            left_out=max(0, len(sections) - MOST_SECTIONS),
            started=moment(result.started_ns),
            runs=len(counted),
            left_out_runs=sum(not run.counts for run in counted),
            images=sorted({(run.kafka_version, run.image_digest) for run in counted if run.kafka_version}),
            replay=[(f"{run.arm} {run.repeat + 1}", _replay(run)) for run in counted if _broke(run)][:50],
            **CONSTANTS,
        )
    )


def overall(result: MatrixResult) -> str:
    """The CSS class of the headline: it is never green while a configuration lost or duplicated records."""
    code = result.exit_code()
    found = any(
        share.k
        for arm in result.arms
        if arm.figures is not None
        for share in (
            arm.figures.with_loss,
            arm.figures.with_unconfirmed_absent,
            arm.figures.with_duplicates,
        )
    )
    return {0: "unclear" if found else "good", 1: "bad"}.get(code, "unclear")


def heat_maps(result: MatrixResult) -> tuple[HeatMap, ...]:
    """Shares of runs with loss and with duplicates, and how long nothing could be written."""
    return (
        _map(
            result,
            "Runs that lost acknowledged records",
            "k of n runs, with the 95 % interval of the share; in brackets where nothing was acknowledged "
            "by a broker (acks=0): unconfirmed and absent.",
            _loss,
        ),
        _map(
            result,
            "Runs with duplicates",
            "k of n runs, with the 95 % interval of the share.",
            _duplicates,
        ),
        _map(
            result,
            "Seconds without a success report",
            "Median over runs of the longest stretch in any partition; the interval encloses the median.",
            _seconds,
        ),
    )


def _map(result: MatrixResult, title: str, explanation: str, cell: CellOf) -> HeatMap:
    axes = axes_of(result)
    across = axes[-1] if len(axes) > 1 else None
    down = axes[:-1] if across else axes
    columns = list(dict.fromkeys(arm.labels[across] for arm in result.arms)) if across else ["all"]
    rows: dict[str, dict[str, HeatMapCell]] = {}
    most = max((_median(arm) for arm in result.arms), default=0.0)
    noted = {reason: number for number, reason in enumerate(reasons(result), 1)}
    shown = []
    for arm in result.arms:
        label = ", ".join(arm.labels[axis] for axis in down)
        one = cell(arm, most)
        if one.heat is None and arm.reason is not None:
            one = replace(one, note=noted[arm.state, arm.reason])
        shown.append(one)
        rows.setdefault(label, {})[arm.labels[across] if across else "all"] = one
    return HeatMap(
        title,
        explanation,
        any(one.interval.startswith(("from ", "up to ")) for one in shown),
        ", ".join(down),
        tuple(f"{across}: {name}" if across else name for name in columns),
        tuple((label, tuple(found.get(name) for name in columns)) for label, found in rows.items()),
    )


def _loss(arm: MatrixArmResult, _: float) -> HeatMapCell:
    if arm.figures is None or not arm.figures.runs:
        return _nothing(arm)
    aside = arm.figures.unconfirmed_absent_per_million.records > 0
    share = arm.figures.with_unconfirmed_absent if aside else arm.figures.with_loss
    text = f"{share.k} of {share.n}"
    return HeatMapCell(
        f"({text})" if aside else text, interval_of(share), round(100 * share.k / share.n), arm.name
    )


def _duplicates(arm: MatrixArmResult, _: float) -> HeatMapCell:
    if arm.figures is None or not arm.figures.runs:
        return _nothing(arm)
    share = arm.figures.with_duplicates
    return HeatMapCell(
        f"{share.k} of {share.n}", interval_of(share), round(100 * share.k / share.n), arm.name
    )


def _seconds(arm: MatrixArmResult, most: float) -> HeatMapCell:
    if arm.figures is None or arm.figures.unavailable_seconds.median is None:
        return _nothing(arm)
    found = arm.figures.unavailable_seconds
    known = found.low is not None and found.high is not None
    interval = f"{found.low:.1f} to {found.high:.1f} s" if known else "too few runs for an interval"
    return HeatMapCell(
        f"{found.median:.1f} s", interval, round(100 * _median(arm) / most) if most else 0, arm.name
    )


def _median(arm: MatrixArmResult) -> float:
    return (arm.figures.unavailable_seconds.median or 0.0) if arm.figures is not None else 0.0


def _nothing(arm: MatrixArmResult) -> HeatMapCell:
    text = "no run counts" if arm.state == "ran" else arm.state
    return HeatMapCell(text, "", None, arm.name)


def _worst_first(result: MatrixResult) -> list[MatrixArmResult]:
    def badness(arm: MatrixArmResult) -> tuple[float, float]:
        if arm.figures is None:
            return (0.0, 0.0)
        return (arm.figures.lost_per_million.value or 0.0, arm.figures.duplicates_per_million.value or 0.0)

    return sorted(result.arms, key=badness, reverse=True)


def _section(arm: MatrixArmResult, folder: Path) -> ArmView | None:
    """The worst run of an arm, as the report of an experiment shows it; None: it cannot be read."""

    def badness(run: RunRow) -> tuple[bool, int]:
        return run.as_promised is not True, run.count(FindingClass.LOST) + run.count(FindingClass.DUPLICATE)

    for run in sorted((run for run in arm.runs if run.counts), key=badness, reverse=True):
        try:
            meta = RunMeta.load(folder / run.folder)
            summary = Summary.model_validate_json((folder / run.folder / SUMMARY_FILE).read_text())
        except (JournalError, OSError, ValidationError):
            continue
        return view(
            ArmResult(folder=run.folder, meta=meta, summary=summary, judgement=judge(meta, summary)), folder
        )
    return None


def _broke(run: RunRow) -> bool:
    return run.as_promised is False


def _replay(run: RunRow) -> str:
    return f"kafka-chaos run --replay {shlex.quote(run.folder)}"
