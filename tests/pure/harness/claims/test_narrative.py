"""A run as a story: what is drawn is what the journals hold."""

from __future__ import annotations

import xml.etree.ElementTree as ET

from harness.claims import plots
from harness.claims.catalog.registry import CLAIMS
from harness.claims.clusters import experiment
from harness.claims.html import headline, render
from harness.claims.model import ClaimResult
from harness.claims.plots import Plot, svg
from harness.suite.expect_records import acks_curve
from harness.suite.expectations import Observation
from harness.suite.model import Role, SuiteArmResult, SuiteVerdict, choose
from harness.suite.narrative import story
from tests.pure.harness.suite.test_run_evidence import Folder, at, folder, pytestmark

__all__ = ["folder", "pytestmark"]

TWO_STEPS = experiment("""
name: x
title: A cut
steps:
- write: {name: together, records: 2}
- write: {name: alone, records: 1}
arms: [{name: a}]
""")


def a_cut(folder: Folder) -> Folder:
    together = folder.step("together", 0, 1)
    for seq in range(2):
        folder.send(together, seq, closed_ns=at(0.5))
    folder.fault("partition-1", "decided", 2.0)
    folder.fault("partition-1", "injected", 2.2)
    alone = folder.step("alone", 3, 4)
    folder.send(alone, 2, closed_ns=at(9))
    for seconds, end in ((1.1, 2), (3.9, 2), (4.1, 3)):
        folder.sample(seconds, 1, [1, 2], broker=1, log_end_offset=end, high_watermark=2)
        folder.sample(seconds, 1, [1, 2], broker=2, log_end_offset=2)
    return folder


def test_a_row_is_the_state_after_something_had_happened(folder: Folder) -> None:
    lines = story(a_cut(folder).finished(), TWO_STEPS)
    assert lines[0].split()[:3] == ["s", "what", "happened"]
    together, cut, alone = (" ".join(line.split()) for line in lines[1:4])
    assert together == "1.0 together: 2 acked LEO 2 HW 2 leads, epoch 0 LEO 2 1,2"
    # Nothing was sampled soon after the cut: the last state before it is shown.
    assert cut == "2.2 k: LEO 2 HW 2 leads, epoch 0 LEO 2 1,2"
    assert alone == "4.0 alone: 1 still open LEO 3 HW 2 leads, epoch 0 LEO 2 1,2"


def test_a_state_that_a_fault_has_changed_is_not_that_before_it(folder: Folder) -> None:
    # Sampled within half a second after the step, and after the cut was decided on.
    folder.fault("partition-1", "decided", 1.05)
    lines = story(a_cut(folder).finished(), TWO_STEPS)
    assert "LEO" not in lines[1]


def test_records_are_told_by_their_write_step_and_epoch(folder: Folder) -> None:
    a_cut(folder)
    folder.answer("dead", "files", 1, 3, detail={
        "records": [[0, 0, 0], [1, 0, 1], [2, 0, 2], [3, 0, 77]], "epochs": [[0, 0], [4, 2]],
    })  # fmt: skip
    folder.answer("dead", "checkpoint", 1, 2)
    for broker in (1, 2):
        for offset in range(2):
            folder.replica(broker, offset, offset)
    folder.read(0, 0)
    folder.read(1, 1, epoch=3)
    lines = story(folder.finished(), TWO_STEPS)
    assert lines[lines.index("") + 1 :] == (
        "dead, replication-offset-checkpoint: broker 1: 2",
        "dead, files of broker 1: 0-1 together (epoch 0); 2 alone (epoch 4); 3 ? (epoch 4)",
        "at the end, files of broker 1: 0-1 together (epoch 0)",
        "at the end, files of broker 2: 0-1 together (epoch 0)",
        "at the end, final read: 0 together (epoch 0); 1 together (epoch 3)",
    )


def test_a_run_without_samples_has_no_story(folder: Folder) -> None:
    folder.step("together", 0, 1)
    assert story(folder.finished(), TWO_STEPS) == ()


def test_acknowledgements_a_second(folder: Folder) -> None:
    step = folder.step("together", 0, 2)
    for seq, closed in enumerate((0.1, 0.2, 0.6)):
        folder.send(step, seq, closed_ns=at(closed))
    folder.send(step, 3, outcome="indeterminate", closed_ns=at(0.3))
    run = folder.finished()
    assert acks_curve(run, "together") == ((0.0, 8.0), (0.25, 0.0), (0.5, 4.0))
    assert acks_curve(run, "other") == ()


def a_result(arms: dict[str, float | None]) -> ClaimResult:
    trials = tuple(
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
        id="R9", title="t", verdict=SuiteVerdict.YES, reasons=(), arms=trials, seconds=1, kafka="4.3.1"
    )


def test_elections_are_plotted_by_partitions_with_the_median_of_runs() -> None:
    runs = [a_result({"kill-1": seconds, "kill-100": 5.0, "stop-1": None}) for seconds in (4.0, 9.0, 4.5)]
    plot = plots.elections(runs)
    assert plot.lines == {"kill": [(1.0, 4.5), (100.0, 5.0)]}
    root = ET.fromstring(svg(plot))
    (line,) = root.findall("{*}polyline")
    assert len((line.get("points") or "").split()) == 2
    assert not root.findall(".//{*}script")


def test_a_plot_stays_within_its_frame_and_escapes_names() -> None:
    plot = Plot("a < b", "x", "y", {"<one>": [(0.0, 0.0), (7.0, 1234.0)], "two": [(3.0, 12.0)]})
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
    assert plots.side_by_side(arms) == [
        "| | a | b (control) |",
        "|---|---|---|",
        "| acked records lost | 7 | 7 |",
    ]


def test_arms_side_by_side() -> None:
    result = a_result({"kill-1": 4.0, "stop-1": 0.5})
    assert plots.side_by_side(result.arms) == [
        "| | kill-1 | stop-1 |",
        "|---|---|---|",
        "| led after | 4.0 | 0.5 |",
    ]


def test_a_page_of_a_run_holds_rows_stories_and_plots_and_escapes_them() -> None:
    (claim,) = choose(CLAIMS, ["R9"])
    result = a_result({"kill-1": 4.0, "kill-100": 4.5})
    odd = result.arms[0].model_copy(update={"story": ("0.1 <script>",), "doubts": ("a & b",)})
    page = render([claim], [result.model_copy(update={"arms": (odd, *result.arms[1:])})])
    assert "<title>1 of 1 claims: yes</title>" in page
    assert "0.1 &lt;script&gt;" in page
    assert "a &amp; b" in page
    assert "<polyline" in page
    assert "<script" not in page


def test_a_headline_names_what_is_no_yes() -> None:
    yes = a_result({"kill-1": 4.0})
    others = [yes.model_copy(update={"verdict": one}) for one in (SuiteVerdict.NO, SuiteVerdict.UNKNOWN)]
    assert headline([yes, *others]) == "1 of 3 claims: yes; 1 no; 1 unknown"
