"""Frames of Kafka's protocol as a client sends them, made by kio."""

from __future__ import annotations

import dataclasses
import io
import struct
import uuid
from typing import Any

from kio.index import load_request_schema, load_response_schema
from kio.serial import entity_writer

from harness.cluster.proxy import bodies
from harness.cluster.proxy.error_answers import empty
from harness.model.kafka_protocol import API_KEYS

TOPIC_ID = uuid.UUID(int=7)


def frame_of(body: Any, *, client: str | None = "c", correlation: int = 1) -> bytes:
    """A request's frame."""
    kind = type(body)
    header = kind.__header_schema__
    names = {field.name for field in dataclasses.fields(header)}
    values = {
        "request_api_key": kind.__api_key__,
        "request_api_version": kind.__version__,
        "correlation_id": correlation,
        "client_id": client,
    }
    buffer = io.BytesIO()
    entity_writer(header)(buffer, header(**{name: values[name] for name in names}))
    entity_writer(kind)(buffer, body)
    data = buffer.getvalue()
    return struct.pack(">i", len(data)) + data


def request(
    api: str, version: int, *, client: str | None = "c", correlation: int = 1, **fields: Any
) -> bytes:
    """A request of this API with these fields; a dict stands for a message, in the arrays of `fields`."""
    body = body_of(load_request_schema(API_KEYS[api], version), fields)
    return frame_of(body, client=client, correlation=correlation)


def answer(api: str, version: int, *, correlation: int = 1, **fields: Any) -> bytes:
    """An answer of this API with these fields, as in `request`."""
    return bodies.answer_frame(body_of(load_response_schema(API_KEYS[api], version), fields), correlation)


def body_of(kind: type[Any], fields: dict[str, Any]) -> Any:
    """A message with these fields, and the least of the others."""
    made = {}
    for name, value in fields.items():
        element = bodies.element_of(bodies.field_types(kind)[name])
        many = isinstance(value, tuple) and value and isinstance(value[0], dict)
        made[name] = tuple(body_of(element, one) for one in value) if many else value
    return dataclasses.replace(empty(kind), **made)


def produce(
    version: int,
    *,
    client: str | None = "c",
    transaction: str | None = None,
    acks: int = -1,
    correlation: int = 1,
    partitions: tuple[int, ...] = (0,),
    topic: str = "t",
    records: bytes = b"records",
) -> bytes:
    """A Produce request for a topic; from version 13 on with `TOPIC_ID` in place of its name."""
    data = tuple({"index": number, "records": records} for number in partitions)
    named = {"topic_id": TOPIC_ID} if version >= 13 else {"name": topic}
    return request(
        "Produce",
        version,
        client=client,
        correlation=correlation,
        transactional_id=transaction,
        acks=acks,
        topic_data=({**named, "partition_data": data},),
    )
