"""Answers that carry an error: built from the request, or made of the broker's answer.

An answer has its errors at the top, at each partition (or group, or topic), or both. With both, what concerns
the whole request stands further out: those are the codes in `_OF_THE_REQUEST`.
"""

from __future__ import annotations

import dataclasses
import datetime
import enum
import typing
from functools import cache
from typing import Any

from kio.index import load_response_schema
from kio.schema.errors import ErrorCode
from kio.static.primitive import Records

from harness.cluster.proxy import bodies
from harness.cluster.proxy.frames import RequestHead

_WHOLE_REQUEST = """
CLUSTER_AUTHORIZATION_FAILED GROUP_AUTHORIZATION_FAILED TRANSACTIONAL_ID_AUTHORIZATION_FAILED
COORDINATOR_NOT_AVAILABLE COORDINATOR_LOAD_IN_PROGRESS NOT_COORDINATOR NOT_CONTROLLER STALE_BROKER_EPOCH
STALE_CONTROLLER_EPOCH UNKNOWN_CONTROLLER_ID INCONSISTENT_CLUSTER_ID INVALID_GROUP_ID UNKNOWN_MEMBER_ID
ILLEGAL_GENERATION STALE_MEMBER_EPOCH FENCED_MEMBER_EPOCH FENCED_INSTANCE_ID REBALANCE_IN_PROGRESS
FETCH_SESSION_ID_NOT_FOUND INVALID_FETCH_SESSION_EPOCH FETCH_SESSION_TOPIC_ID_ERROR
SHARE_SESSION_NOT_FOUND INVALID_SHARE_SESSION_EPOCH SHARE_SESSION_LIMIT_REACHED
INVALID_PRODUCER_ID_MAPPING INVALID_PRODUCER_EPOCH PRODUCER_FENCED THROTTLING_QUOTA_EXCEEDED
REQUEST_TIMED_OUT UNSUPPORTED_VERSION UNKNOWN_SERVER_ERROR REBOOTSTRAP_REQUIRED
"""
_OF_THE_REQUEST = frozenset(_WHOLE_REQUEST.split())
_ALIASES = {"partition_index": ("partition", "index"), "index": ("partition_index", "partition")}
"""Names in requests of what an answer's field repeats, where they differ."""
_NO_ERROR = ErrorCode.none


def error_answer(head: RequestHead, frame: bytes, name: str) -> bytes | None:
    """The answer to a request with this error, for the partitions that the request names; None: the request
    cannot be read, or names nothing that could carry an error."""
    try:
        request = bodies.read_request(head.key, head.version, frame)
    except bodies.Unreadable:
        return None
    answer = _mirrored(load_response_schema(head.key, head.version), request)
    return _framed(head, answer, name)


def with_error(head: RequestHead, frame: bytes, name: str) -> bytes | None:
    """A broker's answer with this error in place of its own; None as in `error_answer`."""
    try:
        return _framed(head, bodies.read_answer(head.key, head.version, frame), name)
    except bodies.Unreadable:
        return None


def _framed(head: RequestHead, answer: Any, name: str) -> bytes | None:
    placed = _placed(answer, ErrorCode[name.lower()], name in _OF_THE_REQUEST)
    return None if placed == answer else bodies.answer_frame(placed, head.correlation)


def empty(kind: Any) -> Any:
    """A message of this kind that says least: defaults, empty arrays, and numbers that mean "not known"."""
    return _mirrored(kind, None)


def _placed(entity: Any, code: ErrorCode, outermost: bool) -> Any:
    """The message with the code at the outermost level that has one, else at the innermost of its arrays."""
    own = dict.fromkeys(_error_fields(bodies.kind_of(entity)), code)
    if outermost and own:
        return dataclasses.replace(entity, **own)
    changes: dict[str, Any] = {}
    for name, element in _nested(bodies.kind_of(entity)).items():
        value = getattr(entity, name)
        if isinstance(value, tuple) and _has_error(element):
            changes[name] = tuple(_placed(inner, code, outermost) for inner in value)
    return dataclasses.replace(entity, **(changes if any(changes.values()) else own))


def _mirrored(kind: Any, request: Any) -> Any:
    """An answer of this kind without an error, which names what the request names."""
    values = {}
    for field in dataclasses.fields(kind):
        hint = bodies.field_types(kind)[field.name]
        element = bodies.element_of(hint)
        if typing.get_origin(hint) is tuple and dataclasses.is_dataclass(element):
            values[field.name] = _mirrored_array(element, field.name, request)
        else:
            values[field.name] = _mirrored_value(field, hint, request)
    return kind(**values)


def _mirrored_array(element: Any, name: str, request: Any) -> tuple[Any, ...]:
    if not _has_error(element) or not dataclasses.is_dataclass(request):
        return ()
    source = _source(element, name, request)
    return tuple(_mirrored(element, entity) for entity in source)


def _source(element: Any, name: str, request: Any) -> tuple[Any, ...]:
    """The array of the request whose elements those of the answer stand for: the one with most fields of the
    same names, else the one of this name, else the first."""
    arrays = {
        field.name: getattr(request, field.name)
        for field in dataclasses.fields(request)
        if isinstance(getattr(request, field.name), tuple)
    }
    kinds = {array: bodies.element_of(bodies.field_types(bodies.kind_of(request))[array]) for array in arrays}
    wanted = {field.name for field in dataclasses.fields(element)}
    wanted |= {alias for field in wanted for alias in _ALIASES.get(field, ())}

    def likeness(one: str) -> tuple[int, bool]:
        fields = bodies.field_types(kinds[one]) if dataclasses.is_dataclass(kinds[one]) else ()
        return len(wanted & set(fields)), one == name

    best = max(arrays, key=likeness, default=None)
    return () if best is None else arrays[best]


def _mirrored_value(field: dataclasses.Field[Any], hint: Any, request: Any) -> Any:
    if field.metadata.get("kafka_type") == "error_code":
        return _NO_ERROR
    element = bodies.element_of(hint)
    if not dataclasses.is_dataclass(request):
        # A number of a partition, or a name, that the answer has as a field: the first of its type.
        return request if isinstance(request, element) and _is_key(field.name) else _nothing(field, hint)
    for name in (field.name, *_ALIASES.get(field.name, ())):
        value = getattr(request, name, None)
        if isinstance(value, element) and not isinstance(value, tuple):
            return value
    return _nothing(field, hint)


def _is_key(name: str) -> bool:
    return name in ("partition_index", "partition", "key", "name", "group_id", "topic", "transactional_id")


def _nothing(field: dataclasses.Field[Any], hint: Any) -> Any:
    """The default of a field, else the value of its type that says least."""
    if field.default is not dataclasses.MISSING:
        return field.default
    if bodies.element_of(hint) is Records:
        return Records(b"")
    if type(None) in typing.get_args(hint):
        return None
    if typing.get_origin(hint) is tuple:
        return ()
    element = bodies.element_of(hint)
    if dataclasses.is_dataclass(element):
        return _mirrored(element, None)
    if issubclass(element, int) and any(word in field.name for word in _UNKNOWN):
        return element(-1)
    for kind, value in _LEAST:
        if issubclass(element, kind):
            return element.parse(value) if hasattr(element, "parse") else element(value)
    raise TypeError(f"no value for {field.name}: {hint}")


_LEAST: tuple[tuple[type, Any], ...] = (
    (enum.Enum, 0),
    (bool, False),
    (int, 0),
    (float, 0.0),
    (str, ""),
    (bytes, b""),
    (datetime.timedelta, datetime.timedelta()),
    (datetime.datetime, datetime.datetime.fromtimestamp(0, datetime.UTC)),
)
_UNKNOWN = ("offset", "watermark", "epoch", "node_id", "leader_id", "producer_id")
"""Words in the names of numbers that Kafka sets to -1 where they are not known."""


@cache
def _error_fields(kind: Any) -> tuple[str, ...]:
    return tuple(
        field.name for field in dataclasses.fields(kind) if field.metadata.get("kafka_type") == "error_code"
    )


@cache
def _nested(kind: Any) -> dict[str, Any]:
    """The fields that are arrays of messages, with what these are."""
    elements = {name: bodies.element_of(hint) for name, hint in bodies.field_types(kind).items()}
    return {name: element for name, element in elements.items() if dataclasses.is_dataclass(element)}


def _nested_errors(kind: Any) -> bool:
    return any(_has_error(element) for element in _nested(kind).values())


@cache
def _has_error(kind: Any) -> bool:
    return bool(_error_fields(kind)) or _nested_errors(kind)
