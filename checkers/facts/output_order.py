"""Where the outputs of an application stand, and which of them are out of order."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pyarrow as pa

from checkers.facts.columns import NULL, ColumnBatch, Ints
from checkers.facts.places import ranked
from harness.model.storage import StoragePath, place, write_parquet

Order = Literal["none", "partition", "key"]
"""The order of the input that an application keeps."""

ORDER = (
    *("out_spot", "out_offset", "in_spot", "in_offset", "key", "producer", "seq", "spot", "step", "outcome"),
    *("sent_ns", "closed_ns", "acked_offset", "txn", "moment"),
)
"""One row per input and partition of the output: the place of its first output there."""


def first_outputs(facts: ColumnBatch, made: ColumnBatch, of: Ints, order: Order, inputs: Ints) -> ColumnBatch:
    """Rows of `ORDER` of these inputs, if the application promises an order."""
    if order == "none" or not len(of):
        return ColumnBatch.empty(ORDER)
    has_place = np.zeros(len(facts), bool)
    has_place[inputs] = True
    rows = np.flatnonzero(has_place[of])
    if order == "key":
        rows = rows[facts["key"][of[rows]] != NULL]
    sorted_rows = rows[np.lexsort((made["offset"][rows], made["spot"][rows], of[rows]))]
    spot, record = made["spot"][sorted_rows], of[sorted_rows]
    new = np.ones(len(record), bool)
    new[1:] = (record[1:] != record[:-1]) | (spot[1:] != spot[:-1])
    chosen = sorted_rows[new]
    record = of[chosen]
    columns = {name: facts[name][record] for name in ORDER if name in facts.columns}
    columns |= {"out_spot": made["spot"][chosen], "out_offset": made["offset"][chosen]}
    columns["moment"] = made["moment"][chosen]
    return ColumnBatch({name: columns[name] for name in ORDER})


def order_file(scratch: str, spot: int, number: int) -> StoragePath:
    """The file that `save_order` writes for a partition of the output and a block."""
    return place(scratch) / "order" / f"spot-{spot}-block-{number:06}.parquet"


def save_order(scratch: str, number: int, order: ColumnBatch) -> list[int]:
    """Write a block's rows of `ORDER`, a file per partition of the output; returns the partitions."""
    many, which = ranked(order["out_spot"])
    for index, spot in enumerate(many.tolist()):
        rows = order.where(np.flatnonzero(which == index))
        table = pa.table({name: pa.array(rows[name]) for name in ORDER})
        write_parquet(table, order_file(scratch, spot, number))
    return [int(spot) for spot in many]


def late_outputs(rows: ColumnBatch, order: Order) -> tuple[Ints, Ints]:
    """Which first outputs of one partition stand after the first output of a later input of the same input
    partition (and, with `order` "key", of the same key); and the offset of such an input.

    Of several that stand before it, it is the input with the highest offset.
    """
    names = ("in_spot", "key") if order == "key" else ("in_spot",)
    group = np.zeros(len(rows), np.int64)
    for name in names:
        many, number = ranked(rows[name])
        _, group = ranked(group * max(1, len(many)) + number)
    sequence = np.lexsort((rows["in_offset"], rows["out_offset"], group))
    group, place_in, place_out = group[sequence], rows["in_offset"][sequence], rows["out_offset"][sequence]
    many, number = ranked(place_in)
    # A running maximum that begins anew with each group: a later group's numbers are all greater.
    running = np.maximum.accumulate(group * max(1, len(many)) + number)
    before = np.empty(len(running), np.int64)
    before[:1], before[1:] = -1, running[:-1]
    # What one output holds of several inputs has no order among itself.
    same = np.zeros(len(running), bool)
    same[1:] = (place_out[1:] == place_out[:-1]) & (group[1:] == group[:-1])
    starts = np.flatnonzero(~same)
    before = before[starts][np.cumsum(~same) - 1]
    highest = before - group * max(1, len(many))
    late = np.flatnonzero(highest > number)
    return sequence[late], many[highest[late]]
