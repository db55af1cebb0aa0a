"""Results as Markdown for the job summary of a build, which GitHub limits to 1 MiB."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from harness.model.result import ArmResult
from harness.page import markdown
from harness.page.blocks import Block, Code, Lines, Page, Section, section
from harness.report.arms_table import explanation, table
from harness.report.junit import SeriesOutcome

MOST_BYTES = 1024 * 1024


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
    more: Sequence[Block] = (),
) -> str:
    """The headline, then a table per experiment, then `more`, then each broken promise with its evidence.

    The most important parts come first. Parts that exceed `limit` bytes are left out and counted.
    `regressions` are sentences about arms that are worse than in the previous result.
    """
    page = Page(
        kind="nightly",
        title=f"kafka-chaos: {headline(outcomes, regressions, beside)}",
        headline="",
        status="unclear",
        blocks=(
            section("Worse than the last time", Lines(regressions)),
            *map(_experiment, outcomes),
            *more,
            *(
                _evidence(one, arm)
                for one in outcomes
                for arm in (one.result.arms if one.result is not None else ())
                if arm.judgement.as_promised is not True
            ),
        ),
    )
    return markdown.render(page, limit)


def _experiment(outcome: SeriesOutcome) -> Section:
    title = f"{outcome.experiment} on Kafka {outcome.version}"
    if outcome.result is None:
        return section(title, Code(outcome.error))
    return section(title, table(outcome.result))


def headline(
    outcomes: Sequence[SeriesOutcome], regressions: Sequence[str], beside: ArmCounts = ArmCounts()
) -> str:
    """The outcome of all arms in one line."""
    arms = [arm for one in outcomes if one.result is not None for arm in one.result.arms]
    counts = [
        (beside.broken + sum(1 for arm in arms if arm.judgement.as_promised is False), "not as promised"),
        (len(regressions), "worse than the last time"),
        (beside.undecided + sum(1 for arm in arms if arm.judgement.as_promised is None), "undecided"),
        (beside.not_run + sum(1 for one in outcomes if one.result is None), "could not be run"),
    ]
    total = len(arms) + beside.arms
    bad = ", ".join(f"{count} {what}" for count, what in counts if count)
    return f"{bad} (of {total} arms)" if bad else f"all {total} arms as promised"


def _evidence(outcome: SeriesOutcome, arm: ArmResult) -> Section:
    title = f"{outcome.experiment} / {arm.folder} on Kafka {outcome.version}"
    image = arm.meta.cluster.image
    again = (
        f"kafka-chaos run {outcome.experiment} --arm {arm.meta.arm} --seed {arm.meta.seed} "
        f"--kafka-version {outcome.version}"
    )
    lines = [explanation(arm, examples=3), f"image: {image.reference} {image.digest}", f"again: {again}"]
    if outcome.folder is not None:
        lines.append(f"report: {outcome.folder / 'report.html'}")
    return section(title, Code("\n".join(lines)))
