"""Bodies of requests and answers, through kio: read, written, and the topics and partitions they name."""

from __future__ import annotations

import dataclasses
import io
import struct
import typing
from collections.abc import Iterator
from functools import cache
from typing import Any
from uuid import UUID

from kio.index import load_request_schema, load_response_schema
from kio.schema.index import api_key_map, schema_name_map
from kio.serial import entity_reader, entity_writer
from kio.static.constants import EntityType

from harness.model.request_rules import NamedPartition

_TOPICS = ("topic_name", "topic", "name")
"""Fields of topics, where they have the type TopicName."""
_PARTITIONS = ("partition_index", "partition", "index", "partition_id")
_MANY = ("partition_indexes", "partitions")
"""Fields with numbers of partitions alone."""


class Unreadable(Exception):
    """kio does not know this API or version, or the bytes are damaged."""


@cache
def newest_version(key: int) -> int:
    """The newest version of an API that kio can read; -1: it does not know the API."""
    versions = schema_name_map.get(api_key_map.get(key, ""), {})
    return max((number for number, kinds in versions.items() if EntityType.response in kinds), default=-1)


def read_request(key: int, version: int, frame: bytes | memoryview) -> Any:
    """The body of a request's frame. Raises Unreadable."""
    return _read(load_request_schema, key, version, frame)


def read_answer(key: int, version: int, frame: bytes | memoryview) -> Any:
    """The body of an answer's frame. Raises Unreadable."""
    return _read(load_response_schema, key, version, frame)


def _read(load: Any, key: int, version: int, frame: bytes | memoryview) -> Any:
    try:
        kind = load(key, version)
        data = bytes(frame)
        _, size = entity_reader(kind.__header_schema__)(data, 4)
        return entity_reader(kind)(data, 4 + size)[0]
    except Exception as error:  # of kio, several kinds and none in common
        raise Unreadable(f"{type(error).__name__}: {error}") from error


def answer_frame(body: Any, correlation: int) -> bytes:
    """The frame of an answer."""
    buffer = io.BytesIO()
    header = type(body).__header_schema__
    entity_writer(header)(buffer, header(correlation_id=correlation))
    entity_writer(type(body))(buffer, body)
    data = buffer.getvalue()
    return struct.pack(">i", len(data)) + data


_NOWHERE = NamedPartition()


def partitions(entity: Any, inside: NamedPartition = _NOWHERE) -> Iterator[NamedPartition]:
    """The topics and partitions that a message names, each with the topic it stands below."""
    shape = _shape(kind_of(entity))
    topic = next((str(name) for name in (getattr(entity, field) for field in shape.topics) if name), None)
    topic_id = entity.topic_id if shape.has_id else None
    here = inside
    if topic is not None or isinstance(topic_id, UUID):
        here = NamedPartition(topic, str(topic_id) if isinstance(topic_id, UUID) else None)
        yield here
    for name in shape.partitions:
        here = here._replace(partition=int(getattr(entity, name)))
        yield here
    for name in shape.many:
        yield from (here._replace(partition=int(number)) for number in getattr(entity, name) or ())
    for name in shape.nested:
        value = getattr(entity, name)
        for inner in value if isinstance(value, tuple) else () if value is None else (value,):
            yield from partitions(inner, here)


def kind_of(entity: Any) -> Any:
    """The class of a message."""
    return type(entity)


@dataclasses.dataclass(frozen=True)
class _Shape:
    topics: tuple[str, ...]
    has_id: bool
    partitions: tuple[str, ...]
    many: tuple[str, ...]
    nested: tuple[str, ...]


@cache
def _shape(kind: Any) -> _Shape:
    hints = field_types(kind)
    inner = {name: element_of(hint) for name, hint in hints.items()}
    nested = tuple(name for name, element in inner.items() if dataclasses.is_dataclass(element))
    return _Shape(
        topics=tuple(name for name in _TOPICS if _is_topic(hints.get(name))),
        has_id="topic_id" in hints,
        partitions=tuple(name for name in _PARTITIONS if name in hints and name not in nested),
        many=tuple(name for name in _MANY if name in hints and name not in nested),
        nested=nested,
    )


@cache
def field_types(kind: Any) -> dict[str, Any]:
    """The type of each field of a message of kio."""
    hints = typing.get_type_hints(kind)
    return {field.name: hints[field.name] for field in dataclasses.fields(kind)}


def element_of(hint: Any) -> Any:
    """What an array consists of, or the type itself; of `X | None` it is X."""
    for argument in typing.get_args(hint):
        if argument not in (type(None), Ellipsis):
            return element_of(argument)
    return hint


def _is_topic(hint: Any) -> bool:
    return getattr(element_of(hint), "__name__", "") == "TopicName"
