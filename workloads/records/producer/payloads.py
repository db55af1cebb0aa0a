"""Records whose content the user chose: templates in JSON or Avro, or a function of the user's."""

from __future__ import annotations

import io
import json
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from harness.model.errors import BadInput
from workloads.records.config.payload_spec import PLACEHOLDER, AvroPayload, PayloadSpec, import_function
from workloads.records.config.workload_spec import WorkloadSpec
from workloads.records.producer.send_journal import NO_KEY
from workloads.records.record.carried_identity import IDENTITY_HEADER, IDENTITY_TEXT, carry
from workloads.records.record.identity import decode_keys

Content: TypeAlias = tuple[bytes | None, bytes | None, list[tuple[str, bytes | None]]]
"""Key, value and headers; a key of None leaves the workload's own."""


@dataclass(frozen=True, slots=True)
class PayloadRecord:
    """A record as the client gets it; `key` None leaves the workload's own. `identity`: 28 bytes."""

    key: bytes | None
    value: bytes | None
    headers: list[tuple[str, bytes | None]]
    identity: bytes


class PayloadBuilder:
    """Builds the records of one producer.

    Raises:
        BadInput: the function, the schema or the package for Avro is not there.
    """

    def __init__(self, spec: PayloadSpec, run: int, producer: int, keys: int | None) -> None:
        self._content = _content_of(spec, keys)
        self._run = run
        self._producer = producer

    def build_many(self, first: int, count: int) -> list[PayloadRecord]:
        """The records `first`, `first + 1`, ...

        Raises:
            BadInput: the user's function failed, or returned something else; or a record does not fit the
                Avro schema.
        """
        return [self._record(seq) for seq in range(first, first + count)]

    def _record(self, seq: int) -> PayloadRecord:
        key, value, headers = self._content(self._producer, seq)
        carried = carry(value, self._run, self._producer, seq)
        if carried.header is not None:
            headers = [*headers, (IDENTITY_HEADER, carried.header)]
        return PayloadRecord(key, carried.value, headers, carried.identity)


def check_payload(spec: WorkloadSpec) -> None:
    """Build the first record of each producer, if records have a payload of the user's.

    Raises:
        BadInput: it cannot be built.
    """
    if spec.payload is not None:
        for producer in range(spec.producers):
            PayloadBuilder(spec.payload, 0, producer, spec.keys).build_many(0, 1)


def produce_record(
    produce: Callable[..., None],
    topic: str,
    record: PayloadRecord,
    key: bytes | None,
    partition: int,
    report: Callable[..., None],
) -> None:
    """`produce` of the client, with the record in place of a value; reports give the identity as value."""
    chosen = key if record.key is None else record.key

    def reported(error: Any, message: Any) -> None:
        details = {name: getattr(message, name) for name in ("offset", "partition", "latency")}
        report(error, SimpleNamespace(value=lambda: record.identity, **details))

    produce(topic, record.value, chosen, partition, reported, headers=record.headers)


def key_ids(records: list[PayloadRecord], own: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Key ids as readers find them; `own` are the workload's, for records without a key of the user's."""
    decoded = decode_keys([record.key for record in records]).fill_null(NO_KEY).to_numpy(zero_copy_only=False)
    given = np.array([record.key is not None for record in records], dtype=np.bool_)
    return np.where(given, decoded, own).astype(np.int64)


def _content_of(spec: PayloadSpec, keys: int | None) -> Callable[[int, int], Content]:
    if spec.python is not None:
        return _called(spec.python)
    if spec.avro is not None:
        encode, template = _avro_encoder(spec.avro), spec.avro.record
    else:
        encode, template = json_bytes, spec.json_

    def content(producer: int, seq: int) -> Content:
        names = {"seq": seq, "producer": producer, "key": None if keys is None else seq % keys}
        return None, encode(filled(template, {**names, "identity": IDENTITY_TEXT})), []

    return content


def json_bytes(data: Any) -> bytes:
    """Values of a template in JSON, filled in."""
    return json.dumps(data, separators=(",", ":"), ensure_ascii=False).encode(errors="surrogatepass")


def filled(template: Any, names: Mapping[str, Any]) -> Any:
    """The template with the values of these placeholders, by name."""
    if isinstance(template, dict):
        return {name: filled(value, names) for name, value in template.items()}
    if isinstance(template, list | tuple):
        return [filled(value, names) for value in template]
    if not isinstance(template, str):
        return template
    if template.startswith("$") and template[1:] in names:
        return names[template[1:]]
    return PLACEHOLDER.sub(lambda match: "$" if match[1] == "$" else str(names[match[1]]), template)


def _avro_encoder(spec: AvroPayload) -> Callable[[Any], bytes]:
    try:
        import fastavro
    except ImportError as error:
        raise BadInput(
            "values in Avro need a package that is not installed",
            where="workload.payload.avro",
            expected="fastavro",
            found=str(error),
            next_step="pip install fastavro",
        ) from error
    path = spec.schema_ if isinstance(spec.schema_, str) else None
    try:
        written = spec.schema_ if path is None else json.loads(Path(path).read_text())
        schema = fastavro.parse_schema(written)
    except (OSError, ValueError, fastavro.schema.SchemaParseException) as error:
        raise BadInput(
            "this is no Avro schema",
            where="workload.payload.avro.schema" + ("" if path is None else f": {path}"),
            expected="a schema, or the path of a file with one in JSON",
            found=f"{type(error).__name__}: {error}",
            next_step="correct the schema, or the path",
        ) from error
    prefix = b"" if spec.schema_id is None else struct.pack(">bI", 0, spec.schema_id)

    def encode(data: Any) -> bytes:
        stream = io.BytesIO()
        try:
            fastavro.schemaless_writer(stream, schema, data)
        except Exception as error:  # fastavro raises what its types raise
            raise BadInput(
                "the record does not fit its Avro schema",
                where="workload.payload.avro.record",
                expected="data that the schema describes",
                found=f"{type(error).__name__}: {error}; the record is {data!r}"[:500],
                next_step="correct the record or the schema",
            ) from error
        return prefix + stream.getvalue()

    return encode


def _called(name: str) -> Callable[[int, int], Content]:
    function = import_function(
        name, of="the payload", where="workload.payload.python", takes="producer and seq"
    )

    def content(producer: int, seq: int) -> Content:
        try:
            answer = function(producer, seq)
        except Exception as error:
            raise _unusable(name, producer, seq, f"{type(error).__name__}: {error}") from error
        try:
            key, value, headers = answer
            pairs = headers.items() if isinstance(headers, Mapping) else headers or ()
            return _bytes(key), _bytes(value), [(_text(header), _bytes(other)) for header, other in pairs]
        except (TypeError, ValueError) as error:
            raise _unusable(name, producer, seq, repr(answer)[:200]) from error

    return content


def _unusable(name: str, producer: int, seq: int, found: str) -> BadInput:
    return BadInput(
        "the function of the payload did not return a record",
        where=f"workload.payload.python: {name}, called with producer {producer} and seq {seq}",
        expected="(key, value, headers): bytes, text or None each, and a mapping of texts to bytes, text "
        "or None",
        found=found,
        next_step="correct the function; it may be called with any producer and any seq from 0",
    )


def _bytes(value: Any) -> bytes | None:
    if isinstance(value, str):
        return value.encode()
    if value is None or isinstance(value, bytes):
        return value
    raise TypeError


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    raise TypeError
