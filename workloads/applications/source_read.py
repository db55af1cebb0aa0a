"""What a file or an HTTP endpoint has been given, as rows of the final read of a topic."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from harness.model.application_journal import OUTPUTS_DIR
from harness.model.journal import READS, READS_DIR, SENDS_DIR, ReadState, SendOutcome
from harness.model.journal_reader import journal_batches, journal_rows
from harness.model.run import FinalRead, PartitionBounds
from workloads.records.reader.read_rows import PartitionFile


def source_read(folder: Path, name: str, run_id: int, last_error: str) -> FinalRead:
    """Write what the input holds into `folder`/reads: every record that was taken for certain, and of those
    of which this is not known (requests without an answer) the ones that have outputs. `name` is that of the
    input in the journals. Call it when the outputs have been read.

    Raises:
        JournalError: a journal cannot be read or written.
    """
    named = (
        row["seq"]
        for row in (journal_rows(folder / OUTPUTS_DIR, ("state", "run", "seq")) if last_error else ())
        if (row["state"], row["run"]) == (ReadState.OK.value, run_id)
    )
    unclear = pa.array(set(named), pa.int64())
    file, now, end, records, acked = PartitionFile(folder / READS_DIR, 0), time.time_ns(), 0, 0, 0
    for sends in journal_batches(folder / SENDS_DIR, ("producer", "seq", "key", "outcome")):
        taken = pc.equal(sends["outcome"], SendOutcome.ACKED.value)
        maybe = pc.equal(sends["outcome"], SendOutcome.INDETERMINATE.value)
        held = sends.filter(pc.or_(taken, pc.and_(maybe, pc.is_in(sends["seq"], unclear))))
        count = held.num_rows
        records, acked = records + count, acked + (pc.sum(taken).as_py() or 0)
        end = max(end, (pc.max(sends["seq"]).as_py() or 0) + 1)
        columns = {column: held[column] for column in ("producer", "seq", "key")} | {
            "reader": pa.repeat("final", count),
            "topic": pa.repeat(name, count),
            "partition": pa.array(np.zeros(count, np.int32)),
            "offset": held["seq"],
            "state": pa.repeat(ReadState.OK.value, count),
            "run": pa.array(np.full(count, run_id)),
            "read_ns": pa.array(np.full(count, now)),
        }
        absent = {column.name: pa.nulls(count, column.type) for column in READS if column.name not in columns}
        file.add(pa.Table.from_pydict(columns | absent, schema=READS))
    file.close()
    refused = f"the application has acknowledged none of the {end:,} records: {last_error}"
    bound = PartitionBounds(
        topic=name, partition=0, log_start_offset=0, end_offset=end, leader=-1, leader_epoch=-1
    )
    return FinalRead(
        complete=bool(acked or not end),
        attested=True,
        reasons=() if acked or not end else (refused,),
        bounds=(bound,),
        records=records,
        finished_ns=now,
    )
