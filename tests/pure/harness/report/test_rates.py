"""Rates as a table on terminals of any width, and as a page with charts."""

from __future__ import annotations

import io
import re

import pytest
from rich.console import Console

from checkers.rates.aggregate import Rates, columns_of
from checkers.rates.counts import counts_of
from checkers.statistics.rates import per_million
from harness.model.finding_class import FindingClass
from harness.report.arms_table import three_digits
from harness.report.page import html
from harness.report.page.terminal import print_table
from harness.report.rates import rates_page, rates_table
from tests.support.builders.rates import BY, GROUPS, LOST, NOTHING, rates

pytestmark = pytest.mark.pure

OF_IDS = ("ids", "acked_ids", "lost_id", "duplicate_id")


def printed(width: int, *, as_cards: bool = False) -> str:
    out = io.StringIO()
    print_table(Console(file=out, width=width), rates_table(rates()), as_cards=as_cards)
    return out.getvalue()


def lost_text() -> str:
    found = per_million(LOST, [10_000] * 4)
    assert found.low is not None
    assert found.high is not None
    return f"6,000 ({three_digits(found.low)} to {three_digits(found.high)})"


@pytest.mark.parametrize("width", [20, 80, 100, 120, 300])
def test_groups_and_intervals_are_whole_at_any_width(width: int) -> None:
    told = printed(width)
    for group in GROUPS:
        for value in group:
            assert value in told
    for text in (lost_text(), "7% to 93%", "0% to 53%"):
        assert text in told
    assert ("experiment=kill-the-leader-of-a-partition, arm=acks=1\n" in told) is (width < 300)


def test_a_group_is_a_block_with_a_line_per_figure() -> None:
    lines = [line.rstrip() for line in printed(300, as_cards=True).splitlines()]
    begin = lines.index("experiment=kill-the-leader-of-a-partition, arm=acks=1")
    assert lines[begin + 1 : begin + 8] == [
        "  runs                     4",
        "  runs with loss           2",
        "  share of runs with loss  7% to 93%",
        f"  lost per million         {lost_text()}",
        "  duplicates per million   0",
        "  unprocessed per million  -",
        "  reprocessed per million  -",
    ]


def test_figures_that_no_group_has_are_left_out() -> None:
    columns = rates_table(rates()).columns
    assert "unprocessed per million" in columns
    assert "unconfirmed and absent per million" not in columns
    assert "latency ms, p50 / p99" not in columns
    assert "latency ms, p50 / p99" in rates_table(rates(latency_p50_ms=1.0, latency_p99_ms=2.0)).columns
    assert rates_table(Rates(BY, [], [])).columns == ()


def test_unprocessed_and_reprocessed_are_rates_of_inputs() -> None:
    row = columns_of(GROUPS["application-<b>", "exactly-once"])
    assert (row["inputs"], row["unprocessed"], row["reprocessed"]) == (2_000, 3, 6)
    assert (row["unprocessed_per_million"], row["reprocessed_per_million"]) == (1_500, 3_000)
    assert columns_of([NOTHING])["unprocessed_per_million"] is None, "it has no application"


def test_lost_ids_are_a_rate_of_those_acknowledged_and_duplicate_ids_of_those_sent() -> None:
    counts = {"ids": 1_000, "acked_ids": 500, "lost_id": 1, "duplicate_id": 2}
    row = columns_of([NOTHING | counts, NOTHING])
    assert (row["lost_id_per_million"], row["duplicate_id_per_million"]) == (2_000, 2_000)
    assert columns_of([NOTHING])["lost_id_per_million"] is None, "its records have no ids"
    of_ids = Rates(("arm",), [{"arm": "ours", **row}], [])
    assert {"lost ids per million", "duplicate ids per million"} <= {*rates_table(of_ids).columns}
    assert "Duplicate ids per million" in html.render(rates_page(of_ids, "results"))
    assert not [name for name in rates_table(rates()).columns if "ids" in name], "no run has ids"


def test_findings_about_ids_count_only_where_the_number_of_ids_is_known() -> None:
    found = {FindingClass.LOST_ID: 3, FindingClass.DUPLICATE_ID: 4}
    counts = counts_of(10, {}, found, ids=(8, 7))
    assert {name: counts[name] for name in OF_IDS} == dict(zip(OF_IDS, (8, 7, 3, 4), strict=True))
    before = counts_of(10, {}, found)
    assert {name: before[name] for name in OF_IDS} == dict.fromkeys(OF_IDS, 0), "checked by a version before"


def test_the_page_draws_each_rate_with_its_interval() -> None:
    text = html.render(rates_page(rates(), "results"))
    titles = re.findall(r'<title id="[^"]*">(.*?)</title>', text)
    assert titles == [
        "Runs that lost acknowledged records",
        "Lost per million",
        "Unprocessed per million",
        "Reprocessed per million",
        "Seconds without a success report",
    ]
    assert "1 of 3 groups lost acknowledged records, in 10 runs" in text
    shares, lost, *_ = re.findall(r"<svg.*?</svg>", text, re.DOTALL)
    # The axis is 936 units wide: two of four runs are half of it, none has no width but a visible edge.
    widths = re.findall(r'<rect class="bar" x="4.0" y="[\d.]+" width="([\d.]+)"', shares)
    assert widths == ["468.0", "1.0", "1.0"]
    assert shares.count('class="interval"') == 3
    assert lost.count('class="interval"') == 1, "a rate of 0 has no upper bound"
    assert f"arm=acks=1: {lost_text()}; " in lost, "read aloud too"
    assert "application-&lt;b&gt;" in shares
    assert 'class="broken"' not in text
    assert "runs/7: it was not checked" in text


def test_a_page_without_any_run_that_counts() -> None:
    row = dict(zip(BY, ("one", "two"), strict=True)) | columns_of([NOTHING | {"problem": "not checked"}])
    page = rates_page(Rates(BY, [row], []), "results")
    assert page.headline == "No result: no run has a known verdict"
    assert "<svg" not in html.render(page)
