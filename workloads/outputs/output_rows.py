"""Rows of an application's outputs: from what a client or a table gives to Parquet."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from harness.model.application_journal import OUTPUTS
from harness.model.journal import UNMAPPED
from workloads.outputs.output_identity import UNMAPPED_CODE, MappedOutputs
from workloads.outputs.output_record import OutputMessage
from workloads.reader.read_rows import KEPT_BYTES
from workloads.record.identity import OK, STATES, UNDECODABLE, decode_keys

_STATES = [*(state.value for state in STATES), UNMAPPED]


def output_rows(
    outputs: Sequence[OutputMessage],
    mapped: MappedOutputs,
    committed: npt.NDArray[np.bool_],
    read_ns: int,
) -> pa.Table:
    """OUTPUTS rows of one batch of outputs; `committed` says of each output whether readers of committed
    records get it."""
    of, decoded = mapped.of, mapped.decoded
    many = len(of)
    nameless = (decoded.state == UNDECODABLE) | (decoded.state == UNMAPPED_CODE)
    kept: list[bytes | None] = [None] * many
    for index in np.flatnonzero(decoded.state != OK).tolist():
        kept[index] = (outputs[int(of[index])].value() or b"")[:KEPT_BYTES]
    stamps = [stamp if kind else None for kind, stamp in (output.timestamp() for output in outputs)]
    numbers = pa.array(of)

    def each(values: pa.Array) -> pa.Array:
        return values.take(numbers)

    return pa.Table.from_pydict(
        {
            "topic": each(pa.array([output.topic() for output in outputs], pa.string())),
            "partition": each(pa.array([output.partition() for output in outputs], pa.int32())),
            "offset": each(pa.array([output.offset() for output in outputs], pa.int64())),
            "leader_epoch": each(pa.array([output.leader_epoch() for output in outputs], pa.int32())),
            "timestamp_ms": each(pa.array(stamps, pa.int64())),
            "part": pa.array(mapped.part),
            "parts": pa.array(mapped.parts),
            "state": pa.array(_STATES, pa.string()).take(pa.array(decoded.state)),
            "run": pa.array(decoded.run, mask=nameless),
            "producer": pa.array(decoded.producer, mask=nameless),
            "seq": pa.array(decoded.seq, mask=nameless),
            "key": each(decode_keys([output.key() for output in outputs])),
            "value": pa.array(kept, pa.binary()),
            "error": pa.array(mapped.error, pa.string()),
            "read_ns": pa.array(np.full(many, read_ns, np.int64)),
            "committed": pa.array(committed[of]),
        },
        schema=OUTPUTS,
    )
