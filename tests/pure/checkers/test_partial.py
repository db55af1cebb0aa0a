"""Counts of parts of the findings add up to those of the whole."""

from __future__ import annotations

import random
from itertools import pairwise

import pyarrow as pa
import pytest

from checkers.findings.table import FINDINGS
from checkers.judgement.partial import EXAMPLES_PER_CLASS, PartialSummary, partial_summary
from tests.support.history import ns, window

pytestmark = pytest.mark.pure

WINDOWS = (window("a", 1, 5), window("b", 4, 9), window("c", 12, None))


def findings(count: int, seed: int) -> pa.Table:
    draw = random.Random(seed)
    rows = []
    for _ in range(count):
        finding = draw.choice(["lost", "duplicate", "vanished", "skipped", "diverged", "recovered"])
        sent = draw.choice([None, *range(10)])
        rows.append(
            {
                "finding": finding,
                "producer": draw.choice([None, 0, 1]),
                "seq": draw.choice([None, 0, 1, 2]),
                "partition": draw.choice([None, 0, 1]),
                "step": draw.choice([None, 0, 1]),
                "sent_ns": ns(sent),
                "closed_ns": None if sent is None or draw.random() < 0.2 else ns(sent + draw.randrange(9)),
                "offsets": draw.choice([[], [1], [1, 2], [7]]),
                "copies": draw.choice([0, 1, 2, 3]),
                "place": draw.choice([None, "tail", "unknown"]),
                "held_by": draw.choice([None, [], [1], [1, 2]]),
                "windows": draw.choice(["", "a", "a + b"]),
                "detail": draw.choice(["x", "y"]),
                "reader": draw.choice([None, "r"]),
                "count": draw.choice([None, 1, 5]),
                "acked_by": draw.choice([None, 1]),
            }
        )
    return pa.Table.from_pylist(rows, schema=FINDINGS)


def test_parts_add_up_to_the_whole() -> None:
    for seed in range(20):
        whole = findings(200, seed)
        expected = PartialSummary.merged([partial_summary(whole, WINDOWS, ["p"]).to_bytes()])
        cuts = [0, 7, 7, 90, 200]
        parts = [
            partial_summary(whole.slice(low, high - low), WINDOWS, ["p"]).to_bytes()
            for low, high in pairwise(cuts)
        ]
        assert PartialSummary.merged(parts) == expected
        assert expected.problems == ("p",)
        assert sum(expected.cells.values()) == sum(expected.groups.values()) == 200
        assert expected.extra_copies == sum(
            row["copies"] - 1 for row in whole.to_pylist() if row["finding"] == "duplicate"
        )


def test_examples_are_the_first_of_each_class_by_the_whole_order() -> None:
    def rank(row: dict[str, object]) -> tuple[object, ...]:
        down = [(-row[name] if row[name] is not None else 2**63) for name in ("copies", "count")]  # type: ignore[operator]
        sent = 2**63 if row["sent_ns"] is None else row["sent_ns"]
        rest = [
            (row[name] is not None, row[name] or 0) if name != "offsets" else (True, row[name])
            for name in ("producer", "seq", "partition", "offsets")
        ]
        return (*down, sent, *rest, row["detail"])

    for seed in range(20):
        whole = findings(300, seed)
        found = partial_summary(whole, WINDOWS, []).examples
        for finding in ("lost", "skipped", "diverged"):
            rows = sorted((row for row in whole.to_pylist() if row["finding"] == finding), key=rank)
            mine = [one for one in found if one["finding"] == finding]
            assert list(map(rank, mine)) == list(map(rank, rows[:EXAMPLES_PER_CLASS]))
