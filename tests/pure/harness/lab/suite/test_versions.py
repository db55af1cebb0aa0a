"""Claims on several Kafka versions: what can be tried where, and what counts as a regression."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from harness.lab.claims.claim import CLAIMS
from harness.lab.suite.model import SuiteResult, SuiteVerdict, choose
from harness.lab.suite.versions import (
    NOT_RUN,
    OWN_VERSIONS,
    VersionTable,
    in_order,
    items_for,
    on_named_version,
)
from harness.model.errors import BadInput
from harness.report.page.blocks import Lines, Table, text_of

pytestmark = pytest.mark.pure

(ONE, OTHER) = choose(CLAIMS, ["R1", "R2"])
YES, NO, UNKNOWN = SuiteVerdict.YES, SuiteVerdict.NO, SuiteVerdict.UNKNOWN


def result(item: str, verdict: SuiteVerdict) -> SuiteResult:
    return ONE.suite.result(
        id=item, title="t", verdict=verdict, reasons=(), arms=(), seconds=1.0, kafka="4.3.1"
    )


def table(**verdicts: Sequence[SuiteVerdict]) -> VersionTable:
    """Of the first item: its verdicts by version, as `v4_1_1`."""
    return VersionTable(
        [ONE, OTHER],
        {name[1:].replace("_", "."): [result("R1", one) for one in runs] for name, runs in verdicts.items()},
    )


def test_versions_are_in_the_order_of_their_numbers_and_each_once() -> None:
    assert in_order("4.10.0, 3.9.2,4.3.1,3.9.2,") == ["3.9.2", "4.3.1", "4.10.0"]
    with pytest.raises(BadInput, match="names no version"):
        in_order(" ,")


def test_an_item_that_cannot_be_tried_on_a_version_says_why() -> None:
    pinned, later = choose(CLAIMS, ["R6"])[0], next(one for one in CLAIMS if one.since > "4")
    chosen, why = items_for("3.9.2", [ONE, pinned, later], on_named_version)
    assert [one.id for one in chosen] == ["R1"]
    assert chosen[0].kafka == "3.9.2"
    assert why[pinned.id] == OWN_VERSIONS
    assert why[later.id] == f"needs {later.since}"


@pytest.mark.parametrize(
    ("before", "after", "found"),
    [
        ([YES], [NO], ["R1: yes on 3.9.2, no on 4.3.1"]),
        ([YES, YES], [YES, NO], ["R1: yes on 3.9.2, yes 1/2, no 1/2 on 4.3.1"]),
        ([YES, NO], [NO, NO], []),
        ([NO], [YES], []),
        ([YES], [UNKNOWN], []),
        ([], [NO], []),
    ],
)
def test_a_regression_failed_after_it_had_always_passed(
    before: Sequence[SuiteVerdict], after: Sequence[SuiteVerdict], found: list[str]
) -> None:
    assert table(v3_9_2=before, v4_3_1=after).regressions() == found


def test_a_version_on_which_nothing_was_decided_is_passed_over() -> None:
    assert table(v3_9_2=[YES], v4_1_1=[UNKNOWN], v4_3_1=[NO]).regressions() == [
        "R1: yes on 3.9.2, no on 4.3.1"
    ]
    assert table(v3_9_2=[YES], v4_1_1=[NO], v4_3_1=[NO]).regressions() == ["R1: yes on 3.9.2, no on 4.1.1"]


def test_the_table_has_a_column_per_version() -> None:
    tried = table(v3_9_2=[YES], v4_3_1=[NO])
    whole = VersionTable(tried.items, tried.results, {("3.9.2", "R2"): "needs 4.0"})
    shown, lines = whole.blocks()
    assert isinstance(shown, Table)
    assert isinstance(lines, Lines)
    assert shown.columns == ("claim", "3.9.2", "4.3.1")
    assert [[text_of(cell) for cell in row[1:]] for row in shown.rows] == [
        ["yes", "no"],
        ["needs 4.0", NOT_RUN],
    ]
    assert list(lines.lines) == ["regression: R1: yes on 3.9.2, no on 4.3.1"]
    assert whole.to_json()["left_out"] == [{"version": "3.9.2", "id": "R2", "why": "needs 4.0"}]
