"""The plots of claims, and the HTML page of their results."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from harness.lab.claims.claim import CLAIM_SUITE, CLAIMS, ClaimResult, elections, side_by_side
from harness.lab.suite.expectations import Observation
from harness.lab.suite.model import Role, SuiteArmResult, SuiteVerdict, choose
from harness.lab.suite.page import headline, write_page
from harness.report.page.line_chart import LineChart, svg

pytestmark = pytest.mark.pure


def a_result(arms: dict[str, float | None]) -> ClaimResult:
    arm_results = tuple(
        SuiteArmResult(
            role=Role.CLAIM,
            experiment="x",
            arm=arm,
            folder="f",
            doubts=(),
            rows=(Observation(what="led after", expected="?", seen=f"{value}", ok=True, number=value),),
            curve=((0.0, 10.0), (0.25, 0.0)),
        )
        for arm, value in arms.items()
    )
    return ClaimResult(
        id="R9", title="t", verdict=SuiteVerdict.YES, reasons=(), arms=arm_results, seconds=1, kafka="4.3.1"
    )


def test_elections_are_plotted_by_partitions_with_the_median_of_runs() -> None:
    runs = [a_result({"kill-1": seconds, "kill-100": 5.0, "stop-1": None}) for seconds in (4.0, 9.0, 4.5)]
    plot = elections(runs)
    assert plot.lines == {"kill": [(1.0, 4.5), (100.0, 5.0)]}
    root = ET.fromstring(svg(plot))
    (line,) = root.findall("{*}polyline")
    assert len((line.get("points") or "").split()) == 2
    assert not root.findall(".//{*}script")


def test_a_plot_stays_within_its_frame_and_escapes_names() -> None:
    plot = LineChart("a < b", "x", "y", {"<one>": [(0.0, 0.0), (7.0, 1234.0)], "two": [(3.0, 12.0)]})
    root = ET.fromstring(svg(plot))
    for line in root.findall("{*}polyline"):
        for point in (line.get("points") or "").split():
            x, y = (float(number) for number in point.split(","))
            assert 60 <= x <= 500
            assert 36 <= y <= 274


def test_arms_side_by_side_have_what_was_lost_of_any_number_in_one_row() -> None:
    one, other = a_result({"a": 1.0, "b": 2.0}).arms
    lost = [
        Observation(what=f"of {count} acked records lost", expected="0", seen="7", ok=False)
        for count in (20, 65)
    ]
    arms = [
        one.model_copy(update={"rows": (lost[0],)}),
        other.model_copy(update={"rows": (lost[1],), "role": Role.CONTROL}),
    ]
    assert side_by_side(arms) == [
        "| | a | b (control) |",
        "|---|---|---|",
        "| acked records lost | 7 | 7 |",
    ]


def test_arms_side_by_side() -> None:
    result = a_result({"kill-1": 4.0, "stop-1": 0.5})
    assert side_by_side(result.arms) == [
        "| | kill-1 | stop-1 |",
        "|---|---|---|",
        "| led after | 4.0 | 0.5 |",
    ]


def test_a_page_of_a_run_holds_rows_stories_and_plots_and_escapes_them(tmp_path: Path) -> None:
    (claim,) = choose(CLAIMS, ["R9"])
    result = a_result({"kill-1": 4.0, "kill-100": 4.5})
    odd = result.arms[0].model_copy(update={"story": ("0.1 <script>",), "doubts": ("a & b",)})
    changed = result.model_copy(update={"arms": (odd, *result.arms[1:])})
    page = write_page([claim], [changed], tmp_path).read_text()
    assert "<title>1 of 1 claims: yes</title>" in page
    assert "0.1 &lt;script&gt;" in page
    assert "a &amp; b" in page
    assert "<polyline" in page
    assert "<script" not in page


def test_a_headline_names_what_is_no_yes() -> None:
    yes = a_result({"kill-1": 4.0})
    others = [yes.model_copy(update={"verdict": one}) for one in (SuiteVerdict.NO, SuiteVerdict.UNKNOWN)]
    assert headline(CLAIM_SUITE, [yes, *others]) == "1 of 3 claims: yes; 1 no; 1 unknown"
