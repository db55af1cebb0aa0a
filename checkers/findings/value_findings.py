"""Findings about values that do not decode or whose CRC does not match."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from checkers.facts.columns import ColumnBatch, integers, nullable
from checkers.facts.reading import tables
from checkers.findings.table import Labels, findings_table
from checkers.journals.footers import RowGroup
from harness.model.journal import ReadState
from harness.model.result import FindingClass

DAMAGED = (ReadState.CORRUPT.value, ReadState.UNDECODABLE.value)
_SHOWN_BYTES = 16
_COLUMNS = ["topic", "partition", "offset", "state", "producer", "seq", "key", "value"]


def corrupt_values(groups: Sequence[RowGroup]) -> pa.Table:
    """One finding, as `FINDINGS`, per value of these row groups of the final read that does not decode or
    whose CRC does not match; its identity is the one that the value claims."""
    found = []
    for _, table in tables(groups, _COLUMNS):
        rows = table.filter(pc.is_in(table.column("state").cast(pa.string()), pa.array(DAMAGED)))
        details = [
            _of_value(*row) for row in zip(*(rows.column(name).to_pylist() for name in _SHOWN), strict=True)
        ]
        found.append(
            findings_table(
                rows.num_rows,
                {
                    "finding": Labels.same(FindingClass.CORRUPT.value, rows.num_rows).array(),
                    **{
                        name: rows.column(name).combine_chunks()
                        for name in ("producer", "seq", "partition", "key")
                    },
                    "offsets": one_each(integers(rows.column("offset"))),
                    "epochs": pa.array([1] * rows.num_rows, pa.int32()),
                    "copies": pa.array([1] * rows.num_rows, pa.int32()),
                    "detail": pa.array(details, pa.string()),
                },
            )
        )
    return pa.concat_tables([findings_table(0, {}), *found])


_SHOWN = ("state", "topic", "partition", "offset", "value")


def _of_value(state: str, topic: str, partition: int, offset: int, value: bytes | None) -> str:
    data = value or b""
    beginning = f"{len(data)} bytes beginning {data[:_SHOWN_BYTES].hex().upper()}"
    return f"{_damage(state, f'{topic}-{partition}', offset)}, {beginning}"


def _damage(state: str, place: str, offset: int) -> str:
    what = "CRC does not match" if state == ReadState.CORRUPT else "not a value of this harness"
    return f"{what}; {place} at offset {offset}"


def corrupt_deliveries(rows: ColumnBatch, states: Sequence[str], places: Labels, reader: Labels) -> pa.Table:
    """One finding, as `FINDINGS`, per live reader and place at which that reader got a damaged value and the
    final read did not.

    The damage was in one leader's log only, or temporary. `count` is the number of deliveries; no copy is in
    the log.

    Args:
        rows: `producer`, `seq`, `partition`, `key`, `offset`, `state` (index into `states`) and `given`, the
            number of deliveries.
        places: where each is, as `topic-partition`.
        reader: the name of each one's reader.
    """
    count = len(rows)
    at, who = places.array().to_pylist(), reader.array().to_pylist()
    details = [
        f"live reader {name} got what the final read does not hold: {_damage(states[state], place, offset)}"
        for name, place, state, offset in zip(
            who, at, rows["state"].tolist(), rows["offset"].tolist(), strict=True
        )
    ]
    columns: dict[str, Any] = {
        name: nullable(rows[name], pa.int64()) for name in ("producer", "seq", "partition", "key")
    }
    columns |= {
        "finding": Labels.same(FindingClass.CORRUPT.value, count).array(),
        "offsets": one_each(rows["offset"]),
        "epochs": pa.array([1] * count, pa.int32()),
        "copies": pa.array([0] * count, pa.int32()),
        "reader": reader.array(),
        "count": pa.array(rows["given"]),
        "detail": pa.array(details, pa.string()),
    }
    return findings_table(count, columns)


def one_each(numbers: Any) -> pa.ListArray:
    """A list of one number per row."""
    return pa.ListArray.from_arrays(pa.array(np.arange(len(numbers) + 1), pa.int32()), pa.array(numbers))
