"""The columns of findings, and tables of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from checkers.facts.columns import NULL, Ints, partitions
from checkers.facts.places import ranked
from harness.model.storage import StoragePath, write_parquet

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
        ("checkpoint", pa.int64()),
    ]
)
"""The findings journal, one row per finding; columns that do not apply are null.

`partition` is the one sent to (of a phantom or a corrupt value: the one read from). `offsets` are the first 5
at which the final read holds it, sorted; `copies` is the number of its places, `epochs` the number of leader
epochs in which they were written. `place` says what is at the acknowledged offset of a lost record:
"overwritten" (something else), "tail" (the log ends before it), "not committed" (the record itself, but
readers of committed records do not get it), "unknown" (none of these, or no offset was reported). `held_by`
are the brokers whose own files hold a lost record (null: no replica's files were read). `windows` are the
names of the faults that were open between send and report (of a lost or vanished record: at any time since it
was sent), joined by " + ". `detail` is a sentence for people. `reader` is the live reader that got it (of a
finding about deliveries: the reader or group), `count` the number of deliveries or offsets that the finding
stands for, `txn` the producer's transaction. Of a lost record: `acked_by` and `acked_epoch` are the broker
that led when it was acknowledged and its leader epoch, as brokers themselves reported; `replaced_epoch` is
the epoch of the record in its place.

Of a finding about an application's output, `offsets` and `copies` are of its outputs and `partition` is that
of the input (of an invented one: of the output). `place` is "expired" if retention has deleted the input,
"aborted" if its transaction was aborted, "not in the log"; of an invented output it says why: "never sent",
"foreign", "corrupt", "undecodable" or "unmapped". `reader` is the instance that was started again between the
send and the last output, such as "instance 1", `checkpoint` the last offset of the input's partition that the
application had checkpointed before (of an unprocessed input: the highest one that is not beyond it).
"""


OF_FEW_VALUES = ["finding", "outcome", "error", "place", "windows", "reader"]
"""Columns that are dictionaries in memory and in Parquet, since they have few different values."""
CODED_FINDINGS = pa.schema(
    [
        (field.name, pa.dictionary(pa.int32(), pa.string())) if field.name in OF_FEW_VALUES else field
        for field in FINDINGS
    ]
)
"""`FINDINGS` as tasks have them."""
_ASCENDING = ["seq", "sent_ns", "closed_ns", "acked_offset"]
_WITH_STATISTICS = ["producer", "seq", "partition", "step", "sent_ns"]
"""Statistics of the other columns would take a third of the time of writing, and help nobody to skip rows."""


def findings_table(count: int, columns: Mapping[str, pa.Array]) -> pa.Table:
    """A table of `CODED_FINDINGS`; columns that are not given are null (`windows`: empty)."""
    given = {"windows": Labels.same("", count).coded(), **columns}
    arrays = [
        _as(given[field.name], field.type) if field.name in given else pa.nulls(count, field.type)
        for field in CODED_FINDINGS
    ]
    return pa.Table.from_arrays(arrays, schema=CODED_FINDINGS)


def _as(column: pa.Array, kind: pa.DataType) -> pa.Array:
    if pa.types.is_dictionary(kind) and not pa.types.is_dictionary(column.type):
        return column.cast(pa.string()).dictionary_encode()
    return column.cast(kind)


def write_findings(findings: pa.Table, target: StoragePath) -> None:
    """Write a table of `CODED_FINDINGS` as Parquet, whose columns are those of `FINDINGS`. Raises OSError or
    pyarrow.ArrowException."""
    write_parquet(
        findings.unify_dictionaries(),
        target,
        use_dictionary=OF_FEW_VALUES,
        column_encoding=dict.fromkeys(_ASCENDING, "DELTA_BINARY_PACKED"),
        write_statistics=_WITH_STATISTICS,
        # It would say that columns are dictionaries, which matters only here.
        store_schema=False,
    )


@dataclass(frozen=True)
class Labels:
    """Values of few kinds, one per row: the index of each in `names` (-1: null)."""

    codes: Ints
    names: Sequence[Any]

    @classmethod
    def same(cls, name: Any, count: int) -> Labels:
        """The same value in each row."""
        return cls(np.zeros(count, np.int64), [name])

    def coded(self) -> pa.DictionaryArray:
        """An Arrow dictionary of strings, without nulls and each only once."""
        codes, names = self.codes, list(self.names)
        kinds = [name for name in dict.fromkeys(names) if name is not None]
        if kinds != names:
            numbers = {name: number for number, name in enumerate(kinds)}
            codes = np.array([*(numbers.get(name, -1) for name in names), -1], np.int64)[codes]
        low = int(codes.min(initial=0))
        if low < 0:
            missing = codes < 0
            indices = pa.array(np.where(missing, 0, codes).astype(np.int32), mask=missing)
        elif codes.max(initial=0) == 0:
            indices = pa.array(np.zeros(len(codes), np.int32))
        else:
            indices = pa.array(codes.astype(np.int32))
        return pa.DictionaryArray.from_arrays(indices, pa.array(kinds, pa.string()))

    def array(self, kind: pa.DataType | None = None) -> pa.Array:
        """An Arrow column of this type (default: string)."""
        names = pa.array(list(self.names), kind or pa.string())
        codes = self.codes
        if not len(codes) or not len(names) or codes.max() < 0:
            return pa.nulls(len(codes), names.type)
        low = int(codes.min())
        if low == codes.max():
            return pa.repeat(names[low], len(codes))
        if low >= 0:
            return names.take(pa.array(codes))
        missing = codes < 0
        return names.take(pa.array(np.where(missing, 0, codes), mask=missing))


def place_names(spot: Ints, topics: Sequence[str]) -> Labels:
    """`topic-partition` of each spot; null for none, and for a topic that is not known."""
    many, code = ranked(spot)
    names = []
    for one, partition in zip(many.tolist(), partitions(many).tolist(), strict=True):
        topic = (one - partition) >> 32
        names.append(f"{topics[topic]}-{partition}" if one != NULL and 0 <= topic < len(topics) else None)
    return Labels(code, names)


def partition_numbers(spot: Ints) -> Ints:
    """The partition numbers in spots, null for none."""
    return np.where(spot == NULL, NULL, partitions(spot))
