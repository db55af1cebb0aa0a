"""What a claim is, how results of claims are written to claims.json, charts and tables of their measurements,
and the built-in claims."""

from __future__ import annotations

import re
from collections.abc import Sequence
from statistics import median_high
from typing import ClassVar

from markupsafe import Markup
from pydantic import Field

from harness.lab.suite.item_files import kind_of
from harness.lab.suite.model import Role, Suite, SuiteArmResult, SuiteItem, SuiteResult, SuiteVerdict
from harness.report.page.line_chart import LineChart, svg
from harness.report.page.markdown import cell, table

_KINDS = "rca"
"""First letters of claims in their order: about brokers (R), consumers (C), applications (A)."""


class ClaimResult(SuiteResult):
    """The result of a claim."""

    verdict: SuiteVerdict = Field(alias="answer")
    arms: tuple[SuiteArmResult, ...] = Field(alias="trials")


def elections(results: Sequence[SuiteResult]) -> LineChart:
    """R9: seconds until every partition has a leader, by the number of partitions; a dot is the median
    of the runs."""
    lines: dict[str, dict[float, list[float]]] = {}
    for result in results:
        for arm in result.arms:
            partitions = re.search(r"\d+$", arm.arm)
            seconds = next((row.number for row in arm.rows if row.number is not None), None)
            if seconds is not None and partitions is not None:
                line = lines.setdefault("kill" if arm.role is Role.CLAIM else "stop", {})
                line.setdefault(float(partitions.group()), []).append(seconds)
    return LineChart(
        "Time until every partition has a new leader",
        "partitions (all led by the broker that ends)",
        "seconds",
        {fault: [(x, median_high(line[x])) for x in sorted(line)] for fault, line in lines.items()},
        log_x=True,
    )


def draw(results: Sequence[SuiteResult]) -> dict[str, Markup]:
    """An SVG document per claim, by its id, of those of these results that can be plotted: R9, and R10, which
    shows acknowledged records per second while the leader ends."""
    drawings = {}
    curve = elections([result for result in results if result.id == "R9"])
    if curve.lines:
        drawings["R9"] = svg(curve)
    latest = next((result for result in reversed(results) if result.id == "R10"), None)
    lines = {arm.arm: arm.curve for arm in latest.arms if arm.curve} if latest else {}
    if lines:
        chart = LineChart("Acknowledgements while the leader ends", "seconds", "acked/s", lines, dots=False)
        drawings["R10"] = svg(chart)
    return drawings


def side_by_side(arms: Sequence[SuiteArmResult]) -> list[str]:
    """A Markdown table with one column per arm and one row per observation."""
    whats = list(dict.fromkeys(_common(row.what) for arm in arms for row in arm.findings))
    heads = [f"{arm.arm}{' (control)' if arm.role is Role.CONTROL else ''}" for arm in arms]
    seen = [{_common(row.what): row.seen for row in arm.rows} for arm in arms]
    rows = [(what, *(cells.get(what, "-") for cells in seen)) for what in whats]
    return table(("", *heads), rows, cell).splitlines()


def _common(what: str) -> str:
    """What was observed, without the number that differs from arm to arm."""
    return re.sub(r"^of [\d,]+ ", "", what)


CLAIM_SUITE = Suite(
    item="claim",
    heading="Claims on Kafka's guarantees, put to the test",
    roles=(Role.CLAIM, Role.CONTROL),
    passed=SuiteVerdict.YES,
    failed=SuiteVerdict.NO,
    result=ClaimResult,
    arm_result=SuiteArmResult,
    texts={"claim": "words", "today": "today"},
    draw=draw,
)


class Claim(SuiteItem):
    """A claim: `words` is the claim as engineers make it, `today` says what current versions of Kafka do, and
    since when, where the claim is out of date."""

    suite: ClassVar[Suite] = CLAIM_SUITE

    today: str = ""


CLAIM = kind_of(
    Claim,
    keys="id, title, words, set_up and arms",
    example="`kafka-chaos claims --init claim.yaml` writes an example",
)
CLAIMS: tuple[Claim, ...] = tuple(
    CLAIM.builtin(name)[0]
    for name in sorted(CLAIM.builtin_names(), key=lambda name: (_KINDS.index(name[0]), int(name[1:])))
)
"""Every claim, in order: R1 to R28 on replication, then those on consumers, C1 and following."""
