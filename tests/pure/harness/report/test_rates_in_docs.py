"""The figures on the page about rates are those of the saved rows."""

from __future__ import annotations

import csv
import re

import pytest

from harness.report.arms_table import three_digits
from tests.support.paths import ROOT

pytestmark = pytest.mark.pure

PAGE = (ROOT / "docs" / "how-to" / "rates.md").read_text()
with (ROOT / "docs" / "rates.csv").open() as file:
    ROWS = list(csv.DictReader(file))


def test_each_row_of_the_page_is_a_saved_one() -> None:
    assert sum(int(row["runs"]) for row in ROWS) >= 200
    assert f"These are {sum(int(row['runs']) for row in ROWS)} runs" in PAGE
    for row in ROWS:
        lost = three_digits(float(row["lost_per_million"]))
        axes = rf"{re.escape(row['faults'])} +{row['acks']} +{row['idempotent']}"
        wanted = rf"^{axes} +{row['runs']} +{row['runs_with_loss']} .* {re.escape(lost)} "
        assert re.search(wanted, PAGE, re.MULTILINE), row


def test_shares_that_the_page_draws_conclusions_from() -> None:
    shares = {
        (row["faults"], row["acks"], row["idempotent"]): f"{float(row['loss_share_low']):.0%} to "
        f"{float(row['loss_share_high']):.0%}"
        for row in ROWS
    }
    assert shares["kill", "1", "false"] == "24% to 65%"
    assert "mean\n  that 24 to 65 per cent of such runs lose" in PAGE
    assert shares["kill", "all", "false"] == "0% to 14%"
    assert "may still be up to 14 per cent" in PAGE
