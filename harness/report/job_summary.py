"""Results as Markdown for the job summary of a build, which GitHub limits to 1 MiB."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from harness.model.result import ArmResult
from harness.report.junit import SeriesOutcome
from harness.report.markdown import code_block, escape, table
from harness.report.table import COLUMNS, cells, explanation

MOST_BYTES = 1024 * 1024
_ROOM = 400
"""Bytes reserved for the sentence about what was left out."""


@dataclass(frozen=True, slots=True)
class ArmCounts:
    """Counts of arms of matrices, for the headline. `undecided` arms prove nothing; `not_run` counts whole
    matrices."""

    arms: int = 0
    broken: int = 0
    undecided: int = 0
    not_run: int = 0


def summary_text(
    outcomes: Sequence[SeriesOutcome],
    regressions: Sequence[str] = (),
    limit: int = MOST_BYTES,
    *,
    beside: ArmCounts = ArmCounts(),
    more: Iterable[str] = (),
) -> str:
    """The headline, then a table per experiment, then `more`, then each broken promise with its evidence.

    The most important parts come first. Parts that exceed `limit` bytes are left out and counted.
    `regressions` are sentences about arms that are worse than in the previous result.
    """
    parts = list(_parts(outcomes, regressions, beside, more))
    kept: list[str] = []
    used = 0
    for number, part in enumerate(parts):
        used += len(part.encode(errors="replace"))
        if used > limit - _ROOM:
            left = len(parts) - number
            kept.append(
                f"\n_{left} more part(s) of this summary are left out: they would exceed {limit:,} bytes._\n"
            )
            break
        kept.append(part)
    return "".join(kept)


def _parts(
    outcomes: Sequence[SeriesOutcome], regressions: Sequence[str], beside: ArmCounts, more: Iterable[str]
) -> Iterator[str]:
    yield f"# kafka-chaos: {headline(outcomes, regressions, beside)}\n"
    if regressions:
        yield "\n## Worse than the last time\n\n" + "".join(f"- {escape(line)}\n" for line in regressions)
    for outcome in outcomes:
        yield f"\n## {escape(outcome.experiment)} on Kafka {escape(outcome.version)}\n\n"
        if outcome.result is None:
            yield code_block(outcome.error)
            continue
        rows = [cells(arm) for arm in outcome.result.arms]
        yield f"{escape(outcome.result.title)}\n\n{table(COLUMNS, rows)}"
    yield from more
    for outcome in outcomes:
        for arm in outcome.result.arms if outcome.result is not None else ():
            if arm.judgement.as_promised is not True:
                yield _evidence(outcome, arm)


def headline(
    outcomes: Sequence[SeriesOutcome],
    regressions: Sequence[str],
    beside: ArmCounts = ArmCounts(),
) -> str:
    """The outcome of all arms in one line."""
    arms = [arm for one in outcomes if one.result is not None for arm in one.result.arms]
    counts = [
        (
            beside.broken + sum(1 for arm in arms if arm.judgement.as_promised is False),
            "not as promised",
        ),
        (len(regressions), "worse than the last time"),
        (beside.undecided + sum(1 for arm in arms if arm.judgement.as_promised is None), "undecided"),
        (beside.not_run + sum(1 for one in outcomes if one.result is None), "could not be run"),
    ]
    total = len(arms) + beside.arms
    bad = ", ".join(f"{count} {what}" for count, what in counts if count)
    return f"{bad} (of {total} arms)" if bad else f"all {total} arms as promised"


def _evidence(outcome: SeriesOutcome, arm: ArmResult) -> str:
    title = (
        f"\n### {escape(outcome.experiment)} / {escape(arm.folder)} on Kafka {escape(outcome.version)}\n\n"
    )
    image = arm.meta.cluster.image
    again = (
        f"kafka-chaos run {outcome.experiment} --arm {arm.meta.arm} --seed {arm.meta.seed} "
        f"--kafka-version {outcome.version}"
    )
    lines = [explanation(arm, examples=3), f"image: {image.reference} {image.digest}", f"again: {again}"]
    if outcome.folder is not None:
        lines.append(f"report: {outcome.folder / 'report.html'}")
    return title + code_block("\n".join(lines))
