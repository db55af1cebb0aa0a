"""The report of an experiment: one self-contained HTML file; of many arms, one file per page."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from harness.model.errors import KafkaChaosError
from harness.model.result import ArmResult, ExperimentResult
from harness.model.run import RunMeta
from harness.model.storage import write_whole
from harness.report import html_tables
from harness.report.application import application_sentence
from harness.report.cell_evidence import cell_evidence
from harness.report.table import ARM_AND_PROMISE, COLUMNS, cells, expected_findings, expected_lines
from harness.report.timeline import Timeline, read_timeline
from harness.report.timeline_chart import (
    ALIVE_HEIGHT,
    LEFT,
    MARK_HEIGHT,
    RIGHT,
    STRIP_HEIGHT,
    WIDTH,
    Chart,
    broker_class,
    lay_out,
)
from harness.spec.cluster import PROFILES, Profile

REPORT_FILE, INDEX_FILE = "report.html", "index.html"
MOST_ARMS = 40
"""The most arms on one page; arms that did not do as promised go first."""
MOST_EXPECTED = 4
"""The most arms whose expected findings the headline names."""
MOST_COUNTS = 100
MOST_BLAME = 20

PROMISED = {True: "as promised", False: "not as promised", None: "undecided"}
_BACKTICKS = re.compile(r"`([^`\n]+)`")
_VERSION_NAMES = {"kafka": "Kafka", "python": "Python"}


@dataclass(frozen=True, slots=True)
class ArmView:
    """One arm as the template shows it; rows hold one text per column of their table."""

    result: ArmResult
    sentence: str
    expected: str | None
    application: str | None
    timeline: Timeline
    chart: Chart | None
    brokers: tuple[tuple[str, str], ...]
    chart_text: str
    moments: tuple[tuple[str, ...], ...]
    rebalances: tuple[tuple[str, ...], ...]
    ownerless: tuple[tuple[str, ...], ...]
    shares: tuple[tuple[str, ...], ...]
    windows: tuple[tuple[str, ...], ...]
    leaders: tuple[tuple[str, ...], ...]
    counts: tuple[tuple[str, ...], ...]
    examples: tuple[tuple[str, ...], ...]


def write_report(result: ExperimentResult, folder: Path) -> Path:
    """Write `folder`/report.html, and report-2.html and so on if there are many arms; returns the first's
    path.

    Journals are read from `folder`/<arm.folder>; the report names those that are missing or damaged.

    Raises:
        KafkaChaosError: a file cannot be written, or a page of an earlier report cannot be removed.
    """
    count = len(pages_of(result))
    for number in range(1, count + 1):
        save_page(
            render(result, folder, number),
            folder / page_name(number),
            what="the report",
            next_step="free space or correct its permissions, then run `kafka-chaos check` on the folder",
        )
    # An earlier report of this folder may have had more pages.
    while (stale := folder / page_name(count + 1)).is_file():
        try:
            stale.unlink()
        except OSError as error:
            raise KafkaChaosError(
                "a page of an earlier report cannot be removed",
                where=str(stale),
                expected="a writable folder",
                found=error.strerror or str(error),
                next_step="remove it; the new report is complete",
            ) from error
        count += 1
    return folder / REPORT_FILE


def page_name(number: int) -> str:
    """The file name of a page; the first is 1."""
    return REPORT_FILE if number == 1 else f"report-{number}.html"


def pages_of(result: ExperimentResult) -> list[list[ArmResult]]:
    """The arms of each page, at least one page: on the first those that did not do as promised, as far as
    there is room, then the others in their order."""
    worst_first = sorted(
        range(len(result.arms)), key=lambda n: (result.arms[n].judgement.as_promised is True, n)
    )
    numbers = [sorted(worst_first[:MOST_ARMS])]
    rest = sorted(worst_first[MOST_ARMS:])
    numbers += [rest[first : first + MOST_ARMS] for first in range(0, len(rest), MOST_ARMS)]
    return [[result.arms[n] for n in page] for page in numbers]


def index_link(folder: Path | None) -> str:
    """The link from a page in `folder` to the page of all results; empty if there is none above it."""
    if folder is None:
        return ""
    for up, above in enumerate(folder.resolve().parents[:3], 1):
        if (above / INDEX_FILE).is_file():
            return "../" * up + INDEX_FILE
    return ""


def save_page(text: str, target: Path, *, what: str, next_step: str) -> Path:
    """Write a page completely, or leave the previous file; returns its path.

    Raises:
        KafkaChaosError: `what` cannot be written.
    """
    try:
        write_whole(target, text)
    except OSError as error:
        raise KafkaChaosError(
            f"{what} cannot be written",
            where=str(target),
            expected="a writable folder with free space",
            found=error.strerror or str(error),
            next_step=next_step,
        ) from error
    return target


def render(result: ExperimentResult, folder: Path, number: int = 1) -> str:
    """One page of the report as HTML text."""
    pages = pages_of(result)
    shown = pages[number - 1]
    return (
        environment()
        .get_template("report.html.j2")
        .render(
            result=result,
            headline=headline(result),
            overall=_overall(result),
            outcomes=[(sentence(arm), _arm_class(arm)) for arm in shown],
            columns=COLUMNS,
            rows=[(arm, cells(arm), cell_evidence(arm), expected_findings(arm)) for arm in shown],
            arm_and_promise=ARM_AND_PROMISE,
            arms=[view(arm, folder) for arm in shown],
            pages=[(page, page_name(page)) for page in range(1, len(pages) + 1)],
            number=number,
            index=index_link(folder),
            left_out=len(result.arms) - len(shown),
            started=moment(result.started_ns),
            first=result.arms[0].meta if result.arms else None,
            properties=_properties(result.arms[0].meta) if result.arms else [],
            seeds=sorted({arm.meta.seed for arm in result.arms}),
            version_names=_VERSION_NAMES,
            **CONSTANTS,
        )
    )


CONSTANTS: dict[str, Any] = {
    "promised": PROMISED,
    "most_counts": MOST_COUNTS,
    "most_blame": MOST_BLAME,
    "geometry": {
        "width": WIDTH,
        "left": LEFT,
        "right": WIDTH - RIGHT,
        "mark": MARK_HEIGHT,
        "isr": STRIP_HEIGHT + ALIVE_HEIGHT + 11,
    },
}
"""Variables that the template of an arm's section (`section` in parts.html.j2) needs besides its
arguments."""


@cache
def environment() -> Environment:
    """The templates of reports: all values are escaped, and an undefined variable is an error."""
    made = Environment(
        loader=PackageLoader("harness.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=printable,
    )
    made.filters["prose"] = prose
    return made


def prose(text: str) -> Markup:
    """Text as markup: what stands between two backticks of one line becomes code, the rest is escaped."""
    return Markup(_BACKTICKS.sub(r"<code>\1</code>", str(escape(printable(text)))))


def headline(result: ExperimentResult) -> str:
    """The outcome in one line; a failed test is named first."""
    if not result.failed_tests:
        return _arms_headline(result)
    count, first = len(result.failed_tests), result.failed_tests[0]
    tests = f"The test {first.test} failed" if count == 1 else f"{count} tests failed"
    arms = _arms_headline(result)
    return f"{tests}; {arms[0].lower()}{arms[1:]}"


def _arms_headline(result: ExperimentResult) -> str:
    broken = [arm.folder for arm in result.arms if arm.judgement.as_promised is False]
    unclear = [arm.folder for arm in result.arms if arm.judgement.as_promised is None]
    total = len(result.arms)
    if not total:
        return "No arm was run"
    if not broken and not unclear:
        kept = "The only arm did as promised" if total == 1 else f"All {total} arms did as promised"
        expected = expected_lines(result)
        more = f"; and {len(expected) - MOST_EXPECTED} more" if len(expected) > MOST_EXPECTED else ""
        return "; ".join([kept, *expected[:MOST_EXPECTED]]) + more
    parts: list[str] = []
    if broken:
        parts.append(f"{len(broken)} of {total} arms did not do as promised: {_some(broken)}")
    if unclear:
        parts.append(f"{len(unclear)} of {total} arms are undecided: {_some(unclear)}")
    text = "; ".join(parts)
    return text[0].upper() + text[1:]


def sentence(arm: ArmResult) -> str:
    """The outcome of one arm and its reasons, as a sentence."""
    judgement = arm.judgement
    expected = expected_findings(arm)
    start = f"{arm.folder}: {PROMISED[judgement.as_promised]}{f' ({expected})' if expected else ''}"
    reasons = [*judgement.promise_reasons, *judgement.reasons]
    if not reasons:
        return f"{start}."
    more = f" (and {len(reasons) - 2} more)" if len(reasons) > 2 else ""
    why = "; ".join(" ".join(reason.split()) for reason in reasons[:2])
    return f"{start}. {why[0].upper()}{why[1:]}{more}."


def _overall(result: ExperimentResult) -> str:
    if result.failed_tests:
        return _css_class(False)
    kept = {0: True, 1: False}.get(result.exit_code())
    return _css_class(None if kept and expected_lines(result) else kept)


def _arm_class(arm: ArmResult) -> str:
    """The CSS class of an arm: amber if it is invalid, though as promised."""
    return _css_class(None if expected_findings(arm) else arm.judgement.as_promised)


def _css_class(promised: bool | None) -> str:
    """The CSS class of an outcome."""
    return {True: "good", False: "bad", None: "unclear"}[promised]


def view(arm: ArmResult, folder: Path) -> ArmView:
    """An arm as the template shows it; its journals are read from `folder`/<arm.folder>."""
    meta, summary = arm.meta, arm.summary
    timeline = read_timeline(folder / arm.folder, meta)
    drawable = any(timeline.sends) or bool(timeline.strips)
    leaders = {span.leader for strip in timeline.strips for span in strip.spans}
    return ArmView(
        result=arm,
        sentence=sentence(arm),
        expected=expected_findings(arm),
        application=application_sentence(arm),
        timeline=timeline,
        chart=lay_out(timeline, meta) if drawable else None,
        brokers=tuple((broker_class(b), "no leader" if b < 0 else f"broker {b}") for b in sorted(leaders)),
        chart_text=_chart_text(timeline, meta),
        moments=html_tables.moments(timeline, meta),
        rebalances=html_tables.rebalances(timeline, meta),
        ownerless=html_tables.ownerless(summary) if summary else (),
        shares=html_tables.shares(summary) if summary else (),
        windows=html_tables.windows(meta),
        leaders=html_tables.leader_changes(timeline),
        counts=html_tables.counts(summary, meta) if summary else (),
        examples=html_tables.examples(summary, meta) if summary else (),
    )


def _properties(meta: RunMeta) -> list[tuple[str, str]]:
    """The settings of the timing profile, overridden by the experiment's own."""
    profile = meta.cluster.profile
    known = PROFILES[Profile(profile)] if profile in tuple(Profile) else {}
    return list({**known, **meta.cluster.properties}.items())


def _chart_text(timeline: Timeline, meta: RunMeta) -> str:
    """A description of the drawing in words, for screen readers."""
    parts = [
        f"{sum(timeline.sends):,} sends, {sum(timeline.successes):,} success reports and "
        f"{sum(timeline.errors):,} error reports over {timeline.seconds:.0f} seconds."
    ]
    for name, target, opened, closed, *_ in html_tables.windows(meta):
        parts.append(f"The fault {name} on {target} was open from {opened} to {closed}.")
    for kind, counts in (("lost", timeline.lost), ("duplicate", timeline.duplicates)):
        if any(counts):
            begin = next(number for number, count in enumerate(counts) if count)
            end = max(number for number, count in enumerate(counts) if count) + 1
            seconds = timeline.bucket_ns / 1e9
            span = f"from {begin * seconds:.2f} s to {end * seconds:.2f} s"
            parts.append(f"{sum(counts):,} {kind} records are marked {span}.")
    if any(timeline.rebalances):
        parts.append(f"{sum(timeline.rebalances):,} changes of the owners of partitions are marked.")
    for strip in timeline.strips:
        leaders = [span.leader for span in strip.spans]
        order = [who for n, who in enumerate(leaders) if n == 0 or who != leaders[n - 1]]
        words = ", then ".join("no broker" if who < 0 else f"broker {who}" for who in order[:12])
        parts.append(f"Partition {strip.partition} was led by {words}.")
    return " ".join(parts)


def moment(at_ns: int) -> str:
    return datetime.fromtimestamp(at_ns / 1e9, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def _some(names: Sequence[str], most: int = 8) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def printable(value: Any) -> Any:
    """Replace control characters in text from logs; markup (the output of a template block) stays as it
    is."""
    if type(value) is str:
        return "".join(
            char if char.isprintable() or char in "\n\t" else "\N{REPLACEMENT CHARACTER}" for char in value
        )
    return value
