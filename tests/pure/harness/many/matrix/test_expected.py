"""What the page of a matrix says of its `slo:`, and of arms that did not do what was expected."""

from __future__ import annotations

import io
from typing import Any

import pytest
from rich.console import Console

from harness.many.matrix.page import headline, matrix_page
from harness.many.matrix.result import MatrixResult
from harness.report.page import html, markdown
from harness.report.page.blocks import text_of
from harness.report.page.terminal import print_page
from tests.support.builders.matrices import SMALL
from tests.support.builders.matrix_results import drawn_result, with_broken_promise

pytestmark = pytest.mark.pure

ARM = "acks=all_fault=kill"
SLO = [{"at": {"acks": "all"}, "lost": 0, "unavailable_seconds": 3.5}, {"duplicates_per_million": 100}]


def shown(made: MatrixResult) -> dict[str, str]:
    """The page in its three forms."""
    page, out = matrix_page(made), io.StringIO()
    print_page(Console(file=out, width=250), page)
    return {"terminal": out.getvalue(), "html": html.render(page), "markdown": markdown.render(page)}


def rows(made: MatrixResult) -> set[tuple[str, ...]]:
    (found,) = (one for one in matrix_page(made).blocks if getattr(one, "id", None) == "slo")
    return {tuple(map(text_of, row)) for block in found.blocks for row in getattr(block, "rows", ())}


def test_every_bound_is_told_with_what_was_found() -> None:
    made = drawn_result(lambda *_: {}, 1, slo=SLO)
    told = rows(made)
    assert ("acks=all_fault=none", "lost", "0", "0", "yes") in told
    assert (ARM, "unavailable_seconds", "3.5", "4", "no") in told
    assert ("acks=1_fault=kill", "duplicates_per_million", "100", "0", "yes") in told
    assert len(told) == 2 * 2 + 4
    for form, text in shown(made).items():
        assert "Service levels" in text, form
        assert "2 of 8 broken." in text, form


def test_what_no_run_says_is_neither_kept_nor_broken() -> None:
    made = drawn_result(lambda *_: {}, 1, runs=0, unknown=2, slo=SLO)
    assert (ARM, "lost", "0", "-", "unknown") in rows(made)
    assert "none of 8 broken." in shown(made)["markdown"]


def test_a_matrix_without_bounds_has_no_such_section() -> None:
    for form, text in shown(drawn_result(lambda *_: {}, 1)).items():
        assert "Service levels" not in text, form


def promising(promise: dict[str, Any], at: str) -> dict[str, Any]:
    """Changes to SMALL that write a promise in the base or in the level `kill`."""
    if at == "base":
        return {"base": {**SMALL["base"], "promise": promise}}
    axes = SMALL["axes"]
    kill = {**axes["fault"]["levels"]["kill"], "promise": promise}
    levels = {**axes["fault"]["levels"], "kill": kill}
    return {"axes": {**axes, "fault": {"levels": levels}}}


def test_where_no_promise_was_written_what_was_expected_is_said() -> None:
    quiet = drawn_result(lambda *_: {}, 1)
    assert headline(quiet).endswith("; all as promised")
    told = headline(with_broken_promise(quiet, ARM, "lost"))
    assert told.endswith("; 1 not as expected by default (lost: 0)")
    assert "promise" not in told


@pytest.mark.parametrize("at", ["base", "level"])
def test_a_promise_that_was_written_is_said_to_be_broken(at: str) -> None:
    made = drawn_result(lambda *_: {}, 1, **promising({"lost": "0"}, at))
    assert headline(with_broken_promise(made, ARM, "lost")).endswith("; 1 broke its promise (lost: 0)")
    other = headline(with_broken_promise(made, ARM, "phantom"))
    assert other.endswith("; 1 not as expected by default (phantom: 0)")
    both = with_broken_promise(with_broken_promise(made, ARM, "lost"), "acks=1_fault=none", "phantom")
    assert headline(both).endswith(
        "; 1 broke its promise (lost: 0); 1 not as expected by default (phantom: 0)"
    )


@pytest.mark.parametrize(("runs", "unknown", "little"), [(1, 0, True), (1, 2, True), (2, 0, False)])
def test_the_headline_says_how_little_one_run_of_each_is(runs: int, unknown: int, little: bool) -> None:
    told = headline(drawn_result(lambda *_: {}, 3, runs=runs, unknown=unknown))
    words = "; one run of each shows little: what it did not show may yet happen in up to 95% of runs"
    assert told.endswith(words) is little, told
