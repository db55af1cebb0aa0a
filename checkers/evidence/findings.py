"""The journal of findings: its columns, and DataFrames that have exactly these."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from checkers.sql import conform, sql_types
from harness.model.finding_class import FindingClass

MOST_OFFSETS = 5
"""Offsets that a finding has."""

FINDINGS = pa.schema(
    [
        ("finding", pa.string()),
        ("producer", pa.int32()),
        ("seq", pa.int64()),
        ("partition", pa.int32()),
        ("key", pa.int64()),
        ("step", pa.int32()),
        ("outcome", pa.string()),
        ("sent_ns", pa.int64()),
        ("closed_ns", pa.int64()),
        ("acked_offset", pa.int64()),
        ("error", pa.string()),
        ("offsets", pa.list_(pa.int64())),
        ("copies", pa.int32()),
        ("epochs", pa.int32()),
        ("place", pa.string()),
        ("held_by", pa.list_(pa.int32())),
        ("windows", pa.string()),
        ("detail", pa.string()),
        ("reader", pa.string()),
        ("count", pa.int64()),
        ("txn", pa.int64()),
        ("acked_by", pa.int32()),
        ("acked_epoch", pa.int32()),
        ("replaced_epoch", pa.int32()),
        ("reports", pa.int32()),
        ("true_reports", pa.int32()),
        ("checkpoint", pa.int64()),
        ("cycle", pa.list_(pa.string())),
        ("id", pa.string()),
        ("key_text", pa.string()),
    ]
)
"""The findings journal, one row per finding; columns that do not apply are null.

`partition` is the one sent to (of a phantom or a corrupt value: the one read from). `offsets` are the first 5
at which the final read holds it, sorted; `copies` is the number of all of them, `epochs` the number of leader
epochs in which they were written. `place` says what is at the acknowledged offset of a lost record:
"overwritten" (something else), "tail" (the log ends before it), "not committed" (the record itself, but
readers of committed records do not get it), "unknown" (none of these, or no offset was reported). `held_by`
are the brokers whose own files hold a lost record (null: no replica's files were read). `windows` are the
names of the faults that were open between send and report (of a lost or vanished record: at any time since it
was sent; of outputs: `checkers.applications.passing.with_times`), joined by " + ". `detail` is a sentence for
people. `reader` is the live reader that got it (of a finding about deliveries: the reader or group), `count`
the number of deliveries or offsets that the finding stands for, `txn` the producer's transaction. Of a lost
record: `acked_by` and `acked_epoch` are the broker that acknowledged it and its leader epoch, where what
brokers said of themselves and the log leave only one (`checkers.evidence.leadership.with_acknowledger`);
`replaced_epoch` is the epoch of the record that is there now, which has replaced it; `reports` and
`true_reports` are the number of success reports that name its offset and how many of these can be true, where
that is less or not known (null) (`checkers.evidence.same_offset`).

Of a finding about an application's output, `offsets` and `copies` are of its outputs and `partition` is that
of the input (of an invented one: of the output). `place` is "expired" if retention has deleted the input,
"aborted" if its transaction was aborted, "not in the log"; of an invented output it says why: "never sent",
"foreign", "corrupt", "undecodable" or "unmapped". `reader` is the instance that was started again between the
send (of a reprocessed input: its first output) and the last output, such as "instance 1", `checkpoint` the
last offset of the input's partition that the application had checkpointed before (of an unprocessed input:
the highest one that is not beyond it).

Of a finding about transactions, `count` is the number of transactions in the component, `producer` and `txn`
are the first of its shortest cycle, and `cycle` has one text per edge of that, such as "0/3 wr t-0@7": the
transaction (producer/number), the kind of the edge to the next one, and what it is about.

`id` is the id that the record has of its own, and `key_text` the key of a record of the user's own producers,
as text (`harness.model.id_journal`). Of a finding about an id, `producer`, `seq`, `step` and
`sent_ns` are of its first send, `closed_ns` of its last report, `count` is the number of its sends, `copies`
that of its records in the log, and `offsets` and `partition` say where they are.
"""


def is_of(finding: FindingClass) -> Column:
    """Which findings are of this class."""
    return F.col("finding") == finding.value


def as_findings(rows: DataFrame, columns: Mapping[str, Column]) -> DataFrame:
    """The rows with exactly the columns of `FINDINGS`: those of `columns`, else those that `rows` has, else
    null (`windows`: empty). The engine resolves the columns of `rows`, so what cannot be computed raises."""
    return conform(rows, sql_types(FINDINGS), columns, default={"windows": ""})
