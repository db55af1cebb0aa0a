"""Cycles of transactions in a report."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest

from harness.model.finding_class import FindingClass
from harness.model.result import Example
from harness.report.arms_table import example_lines
from harness.report.cycle_drawing import CycleEdge, cycles_section, drawn
from harness.report.page.blocks import Drawing, Text
from tests.support.builders.experiments import summary_with
from tests.support.history import run_meta

pytestmark = pytest.mark.pure

SVG = "{http://www.w3.org/2000/svg}"


def example(finding: FindingClass, *cycle: str) -> Example:
    return Example(
        finding=finding,
        producer=0,
        seq=None,
        partition=None,
        offsets=(),
        acked_offset=None,
        outcome=None,
        sent_ns=None,
        closed_ns=None,
        error=None,
        windows="kill-1",
        held_by=(),
        detail="2 transactions",
        count=2,
        txn=3,
        cycle=cycle,
    )


@pytest.mark.parametrize(
    ("text", "step"),
    [
        ("0/3 wr a-topic-2@41", CycleEdge("0/3", "wr", "p2: 41")),
        ("10/30 ww t-0@4,7", CycleEdge("10/30", "ww", "p0: 4, 7")),
        ("0/3 realtime", CycleEdge("0/3", "realtime", "")),
    ],
)
def test_the_texts_of_edges_are_read(text: str, step: CycleEdge) -> None:
    assert CycleEdge.of(text) == step


@pytest.mark.parametrize("count", [2, 3, 5, 12])
def test_every_transaction_and_edge_is_drawn_within_the_picture(count: int) -> None:
    steps = [CycleEdge(f"{number}/7", "wr", "p0: 1") for number in range(count)]
    svg = ET.fromstring(drawn(steps))
    texts = [text.text for text in svg.iter("text")]
    assert texts[:count] == ["is polled by (p0: 1)"] * count
    assert texts[count:] == [f"producer {number}, txn 7" for number in range(count)]
    _, _, width, height = map(float, svg.attrib["viewBox"].split())
    boxes = {(float(box.attrib["x"]), float(box.attrib["y"])) for box in svg.iter("rect")}
    assert len(boxes) == count
    assert all(0 <= x <= width - 150 and 0 <= y <= height - 24 for x, y in boxes)


def test_what_breaks_the_verdict_comes_first_and_each_class_once() -> None:
    several = (
        example(FindingClass.FRACTURED_READ, "0/1 rw t-0@1,2", "1/1 wr t-1@3"),
        example(FindingClass.CIRCULAR_INFORMATION_FLOW, "0/1 wr t-0@1", "1/1 wr t-0@2"),
        example(FindingClass.CIRCULAR_INFORMATION_FLOW, "8/1 wr t-0@1", "9/1 wr t-0@2"),
        example(FindingClass.LOST),
    )
    blocks = cycles_section(summary_with(examples=several)).blocks
    texts = [block.text for block in blocks if isinstance(block, Text)]
    assert [text.split(".")[0] for text in texts] == [
        "`circular_information_flow`",
        "`fractured_read`, which Kafka allows",
    ]
    first, _ = (block for block in blocks if isinstance(block, Drawing))
    assert "producer 0, txn 1" in first.svg
    assert not cycles_section(summary_with(examples=several[-1:])).blocks


def test_an_example_names_no_record() -> None:
    one = example(FindingClass.CIRCULAR_INFORMATION_FLOW, "0/1 wr t-0@1", "1/1 wr t-0@2")
    assert example_lines(summary_with(examples=(one,)), run_meta()) == [
        "circular_information_flow: 2 transactions, during kill-1"
    ]
