"""Cycles of transactions, compared with an oracle that tries every path; and their sentences."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings

from checkers.groups.anomalies import FAILED, NULL
from checkers.transactions import cycles
from checkers.transactions.cycles import TXN_BITS, cycle_rules, realtime
from tests.support.transaction_history import Story, Txn, names, stories

pytestmark = pytest.mark.pure


@settings(max_examples=400, deadline=None)
@given(stories())
def test_cycles_are_those_of_the_oracle(story: Story) -> None:
    rows = cycle_rules(story.table(), ["t"]).to_pylist()
    expected = sorted((kind, len(component), length) for kind, component, length in story.cycles())
    assert sorted((row["kind"], row["count"], len(row["cycle"])) for row in rows) == expected
    for row in rows:
        told = names(row["cycle"])
        kinds = [step.split()[1] for step in row["cycle"]]
        for kind, edge in zip(kinds, pairwise([*told, told[0]]), strict=True):
            assert edge in story.edges()[kind], "each edge that is told is one"
        assert row["producer"] == min(told)
        assert row["kind"] != "fractured_read" or kinds.count("rw") == 1


@settings(max_examples=200, deadline=None)
@given(stories(most=8))
def test_realtime_edges_reach_what_all_of_them_reach(story: Story) -> None:
    all_pairs = {
        (a, b)
        for a, first in enumerate(story.txns)
        for b, then in enumerate(story.txns)
        if first.ended is not None and first.ended < then.begun
    }
    begun = np.array([txn.begun for txn in story.txns], np.int64)
    ended = np.array([NULL if txn.ended is None else txn.ended for txn in story.txns], np.int64)
    few = set(realtime(begun, ended))
    assert few <= all_pairs
    reached = set(few)
    for _ in story.txns:
        reached |= {(a, d) for a, b in reached for c, d in few if b == c}
    assert reached == all_pairs


def test_a_realtime_edge_that_follows_from_others_makes_a_cycle_shorter(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The second transaction polled the first, and had ended before it began, as had the third in between."""
    txns = (Txn(begun=2, ended=None), Txn(begun=0, ended=0, polled=((0, 0),)), Txn(begun=1, ended=1))
    story = Story(txns, ((0,),))
    (row,) = cycle_rules(story.table(), ["t"]).to_pylist()
    assert (row["kind"], row["count"], len(row["cycle"])) == ("circular_information_flow", 3, 2)
    monkeypatch.setattr(cycles, "ALL_REALTIME", 2)
    (row,) = cycle_rules(story.table(), ["t"]).to_pylist()
    assert (row["kind"], row["count"], len(row["cycle"])) == ("circular_information_flow", 3, 3)


def test_a_long_cycle_is_found_and_told_in_part() -> None:
    """Twenty transactions in a ring, each of which polled a record of the one before it."""
    ring = [((number - 1) % 20, number) for number in range(20)]
    story = Story(tuple(Txn(polled=((0, before),)) for before, _ in ring), (tuple(range(20)),))
    (row,) = [
        row
        for row in cycle_rules(story.table(), ["t"]).to_pylist()
        if row["kind"] == "circular_information_flow"
    ]
    assert row["count"] == 20
    assert len(row["cycle"]) == cycles.MOST_EDGES
    assert row["story"].endswith("; and 8 more such steps lead back")


def test_sentences_name_transactions_offsets_and_partitions() -> None:
    numbers = {"topic_partition": (1 << 32) + 2, "offset": 4, "next_offset": 7}
    one, two = (3 << TXN_BITS) + 5, (8 << TXN_BITS) + 1
    table = Story((Txn(),), ()).table().slice(0, 0)
    rows = [
        {"kind": "wr", "source": one, "target": two, **numbers, "next_offset": None},
        {"kind": "rw", "source": two, "target": one, **numbers},
        {"kind": "ww", "source": two, "target": one, **numbers},
    ]
    found = cycle_rules(table.from_pylist(rows, schema=table.schema), ["a", "b"]).to_pylist()
    assert [(row["kind"], row["cycle"]) for row in found] == [
        ("write_cycle", ["3/5 wr b-2@4", "8/1 ww b-2@4,7"]),
        ("fractured_read", ["3/5 wr b-2@4", "8/1 rw b-2@4,7"]),
    ]
    first, second = "transaction 5 of producer 3", "transaction 1 of producer 8"
    polled = f"{second} polled offset 4 of b-2, which {first} wrote"
    assert [row["story"] for row in found] == [
        f"{polled}; {first} wrote offset 7 of b-2 after {second} wrote 4",
        f"{polled}; {second} polled b-2 up to offset 4, and {first} wrote 7",
    ]


def test_a_rule_that_fails_says_why() -> None:
    broken = Story((Txn(),), ()).table().drop_columns(["offset"])
    (row,) = cycle_rules(broken, ["t"]).to_pylist()
    assert row["kind"] == FAILED
    assert "offset" in row["reason"]
