"""Rules in Python about one partition of a group or share group: Arrow tables in, anomalies out.

Rules run in Python because they follow events one after the other. Workers of an engine import this module,
so it imports no engine.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
Row = dict[str, Any]
Rules = Callable[[pa.Table], Sequence[pa.Table]]
"""From the rows of one group and partition to tables with some of the columns of `ANOMALIES`."""

NULL = int(np.iinfo(np.int64).min)
MOST = int(np.iinfo(np.int64).max)
FAILED = "failed"
BY_PARTITION = ("group", "topic_partition")

ANOMALIES = pa.schema(
    {
        "group": pa.string(),
        "topic_partition": pa.int64(),
        **dict.fromkeys(("kind", "reader", "member", "other", "reason"), pa.string()),
        **dict.fromkeys(("offset", "seen", "count", "broker", "seq", "at_ns", "until_ns"), pa.int64()),
        "producer": pa.int32(),
    }
)
"""One row per anomaly; columns that do not apply are null. `kind` is the class of findings that it becomes;
that of an offset which an answer had before the transaction that sets it, "transaction_early". A row of kind
`FAILED` has the `reason` why the rules failed.

Of a group: `reader` is the member that committed, or that owned the partition first, `other` its second
owner. `offset` is the committed one, or the first record that the second owner was given; `seen` is what
`broker` answered (null: no offset), or the offset from which on a commit is ahead. `count` is the number of
answers, of records that the commit passes, of commits, or of records that the second owner was given. `at_ns`
and `until_ns` are the times of the commit and of the last such answer; of two owners, those of their overlap.

Of a share group: `member` was given the record first (of `share_again`: acknowledged it), or was the last one
that had it, `other` is the second one (null: not known). `offset` is the first of `count` offsets for
`share_lost` and `share_stuck`; else `count` is the number of deliveries that are meant. `seen` is the
greatest delivery count that the broker told, or where the group begins for `share_lost` and `share_stuck`
(null: it never began)."""


def attempt_rules(rules: Rules, rows: pa.Table) -> pa.Table:
    """What rules find in the rows of one group and partition, as `ANOMALIES`, or that they failed."""
    try:
        found = rules(rows)
    except Exception as error:  # any error of a rule makes the verdict unknown, and is shown
        found = [pa.table({"kind": [FAILED], "reason": [reason_of(error)]})]
    table = pa.concat_tables([ANOMALIES.empty_table(), *found], promote_options="permissive")
    for place, name in enumerate(BY_PARTITION):
        table = table.set_column(place, ANOMALIES.field(name), pa.repeat(rows[name][0], len(table)))
    return table.cast(ANOMALIES)


def reason_of(error: Exception) -> str:
    """The first line of an error, or its type."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


def of_journal(rows: pa.Table, name: str) -> pa.Table:
    """The rows of the journal of this name, from those of several."""
    return rows.filter(pc.equal(rows["journal"], name))


def integers(column: pa.ChunkedArray) -> Ints:
    """A column of integers or booleans as int64, nulls as `NULL`."""
    return np.asarray(np.from_dlpack(pc.fill_null(column.cast(pa.int64()), NULL).combine_chunks()), np.int64)


def offsets_of(rows: pa.Table) -> Ints:
    """The offsets, ascending, of the sets that `checkers.journals.offset_chunks` makes."""
    bits = integers(rows["bits"]).astype("<i8")
    flags = np.unpackbits(bits.view(np.uint8), bitorder="little").astype(bool)
    return np.sort((integers(rows["chunk"])[:, None] * 64 + np.arange(64)).reshape(-1)[flags])
