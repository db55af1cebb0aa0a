"""From an output of an application to the inputs that made it, and to its rows."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from confluent_kafka import Message

from harness.model.application_journal import OUTPUTS, UNMAPPED
from harness.model.errors import BadInput
from workloads.applications.outputs.named_inputs import (
    NamedInput,
    UnusableAnswer,
    at_path,
    decode_named,
    decode_unchanged,
    named_inputs,
    parsed_path,
)
from workloads.applications.outputs.output_record import record_of
from workloads.applications.outputs.templated_values import InputOf
from workloads.records.config.payload_spec import import_function
from workloads.records.reader.read_rows import KEPT_BYTES
from workloads.records.record.identity import CORRUPT, OK, STATES, UNDECODABLE, Decoded, decode_keys

IdentityKind = Literal["value", "key", "header", "json", "callable", "delivery"]

UNMAPPED_CODE = 4
"""State of an output that names no input, beside those of `workloads.records.record.identity.STATES`."""
_STATES = [*(state.value for state in STATES), UNMAPPED]
_MOST_ERROR = 500

InputsOf = Callable[[Message], list[NamedInput]]
"""The inputs that an output names; raises what the application's identity raises."""


@dataclass(frozen=True, slots=True)
class MappedOutputs:
    """One row per output and input that made it, or one row for an output that names none.

    `of` is the number of the output, `part` the position of the input among its `parts` inputs, from 0.
    `state` of `decoded` may be `UNMAPPED_CODE`; `error` then says why.
    """

    of: npt.NDArray[np.int64]
    part: npt.NDArray[np.int32]
    parts: npt.NDArray[np.int32]
    decoded: Decoded
    error: list[str | None]


class OutputIdentity:
    """How the outputs of an application name their inputs.

    Args:
        kind: where the identity is; "delivery": the value is its 28 bytes alone.
        name: name of the header, path into the JSON document, or "module:function".
        by_template: recognises values by what they hold (`workloads.applications.outputs.templated_values`);
        kind "value".

    Raises:
        BadInput: the path cannot be read, or the function cannot be imported.
    """

    def __init__(self, kind: IdentityKind, name: str = "", by_template: InputOf | None = None) -> None:
        self._unchanged, self._by_template = kind == "value", by_template
        self._inputs = _inputs_of(kind, name)

    def map(self, outputs: Sequence[Message], run: int) -> MappedOutputs:
        """The inputs of these outputs. Whatever an identity function raises is an `error`, not raised."""
        if self._unchanged:
            return _one_each(outputs, run, self._by_template)
        of: list[int] = []
        part: list[int] = []
        parts: list[int] = []
        inputs: list[NamedInput | None] = []
        error: list[str | None] = []
        for number, output in enumerate(outputs):
            named: Sequence[NamedInput | None] = ()
            problem: str | None = None
            try:
                named = self._inputs(output)
                problem = None if named else "it names no input"
            except Exception as raised:  # of the user's function; it is evidence of a finding
                problem = f"{type(raised).__name__}: {raised}"[:_MOST_ERROR]
            named = named or (None,)
            of += [number] * len(named)
            part += range(len(named))
            parts += [0 if problem else len(named)] * len(named)
            inputs += named
            error += [problem] * len(named)
        decoded = decode_named(inputs, run)
        decoded.state[np.array([problem is not None for problem in error], np.bool_)] = UNMAPPED_CODE
        return MappedOutputs(
            np.array(of, np.int64), np.array(part, np.int32), np.array(parts, np.int32), decoded, error
        )


def _one_each(outputs: Sequence[Message], run: int, by_template: InputOf | None) -> MappedOutputs:
    """Each output is the value of one input, unchanged."""
    count = len(outputs)
    values = [output.value() for output in outputs]
    decoded = decode_unchanged(values, run)
    unclear = np.flatnonzero(decoded.state == UNDECODABLE).tolist()
    if unclear:
        # The headers of all messages would take longer than the rest.
        headers: list[Any] = [outputs[index].headers() for index in unclear]
        again = decode_unchanged([values[index] for index in unclear], run, headers)
        decoded.replace(unclear, again)
    unclear = np.flatnonzero((decoded.state == UNDECODABLE) | (decoded.state == CORRUPT)).tolist()
    for index in unclear:
        if by_template is not None and (numbers := by_template(values[index], run)) is not None:
            decoded.set_known(index, run, numbers.producer, numbers.seq)
    part, parts = np.zeros(count, np.int32), np.ones(count, np.int32)
    return MappedOutputs(np.arange(count, dtype=np.int64), part, parts, decoded, [None] * count)


def _inputs_of(kind: IdentityKind, name: str) -> InputsOf:
    if kind == "key":
        return lambda output: named_inputs(output.key())
    if kind == "header":
        return lambda output: _in_headers(output, name)
    if kind == "json":
        try:
            steps = parsed_path(name)
        except ValueError as error:
            raise BadInput(
                "the identity of an application's outputs cannot be read",
                where="application.identity.json",
                expected="a path such as $.order.id",
                found=str(error),
                next_step="correct the path",
            ) from None
        return lambda output: named_inputs(at_path(json.loads(output.value() or b""), steps))
    if kind == "callable":
        function = import_function(
            name,
            of="the application's identity",
            where="application.identity.callable",
            takes="an OutputRecord",
        )
        return lambda output: named_inputs(function(record_of(output)))
    return lambda output: named_inputs(output.value())


def _in_headers(output: Message, name: str) -> list[NamedInput]:
    headers: Any = output.headers() or ()
    contents = [content for header, content in headers if header == name]
    if not contents:
        raise UnusableAnswer(f"it has no header {name!r}")
    return named_inputs(contents)


def output_rows(
    outputs: Sequence[Message], mapped: MappedOutputs, committed: npt.NDArray[np.bool_], read_ns: int
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
