"""Rules in Python about one partition of a group or share group: Arrow tables in, anomalies out.

The rules run in Python because each follows the events of a partition one after the other. The workers of
the engine import this module, so it imports no engine.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from checkers.int64 import INT64_MIN
from harness.model.errors import first_line

Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
Rules = Callable[[pa.Table], Sequence[pa.Table]]
"""From the rows of one group and partition to tables with some of the columns of `ANOMALIES`."""

NULL = INT64_MIN
FAILED = "failed"
BY_PARTITION = ("group", "topic_partition")

ANOMALIES = pa.schema(
    {
        "group": pa.string(),
        "topic_partition": pa.int64(),
        **dict.fromkeys(("kind", "reader", "member", "other", "reason"), pa.string()),
        **dict.fromkeys(("offset", "count", "answered_offset", "first_undelivered"), pa.int64()),
        **dict.fromkeys(("delivery_count", "start_offset", "broker", "seq", "at_ns", "until_ns"), pa.int64()),
        "producer": pa.int32(),
    }
)
"""One row per anomaly; columns that do not apply are null. `kind` is the class of findings that the row
becomes, or "transaction_early", a coordinator that answered an offset before the transaction that sets it. A
row of kind `FAILED` has the `reason` why the rules failed.

Of a group: `reader` is the member that committed, or the first owner of the partition, and `other` the second
owner. `offset` is the committed one, or the first record that the second owner received. `answered_offset` is
the offset that `broker` answered (null: none). `first_undelivered` is the first offset that no member had
received when an offset beyond it was committed. `count` is the number of answers, of records that the commit
passes over, of commits, or of records that the second owner received. `at_ns` and `until_ns` are the times of
the commit and of the last such answer; of two owners, those of their overlap.

Of a share group: `member` received the record first (of `share_again`: acknowledged it), or was the last one
that received it, and `other` is the second one (null: not known). `offset` is the first of `count` offsets
for `share_lost` and `share_stuck`; else `count` is the number of deliveries that the finding is about.
`delivery_count` is the greatest one that the broker reported. `start_offset` is that of the group, for
`share_lost` and `share_stuck` (null: the group has none yet)."""


def attempt_rules(rules: Rules, rows: pa.Table) -> pa.Table:
    """What rules find in the rows of one group and partition, as `ANOMALIES`, or that they failed."""
    try:
        tables = rules(rows)
    except Exception as error:  # any error of a rule makes the verdict unknown, and is shown
        tables = [pa.table({"kind": [FAILED], "reason": [first_line(error)]})]
    table = pa.concat_tables([ANOMALIES.empty_table(), *tables], promote_options="permissive")
    for index, name in enumerate(BY_PARTITION):
        table = table.set_column(index, ANOMALIES.field(name), pa.repeat(rows[name][0], len(table)))
    return table.cast(ANOMALIES)


def rows_of_journal(rows: pa.Table, name: str) -> pa.Table:
    """The rows of the journal of this name, from those of several journals."""
    return rows.filter(pc.equal(rows["journal"], name))


def integers(column: pa.ChunkedArray) -> Ints:
    """A column of integers or booleans as int64, nulls as `NULL`."""
    return np.asarray(np.from_dlpack(pc.fill_null(column.cast(pa.int64()), NULL).combine_chunks()), np.int64)


def offsets_of(rows: pa.Table) -> Ints:
    """The offsets, ascending, of the sets that `checkers.journals.offset_chunks` makes."""
    bits = integers(rows["bits"]).astype("<i8")
    flags = np.unpackbits(bits.view(np.uint8), bitorder="little").astype(bool)
    return np.sort((integers(rows["chunk"])[:, None] * 64 + np.arange(64)).reshape(-1)[flags])
