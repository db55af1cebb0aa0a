"""What the final read notes of the ids that a user's records have of their own."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from confluent_kafka import Message

from harness.model.id_journal import LOG_IDS
from workloads.own.record_ids import id_of
from workloads.records.config.id_spec import IdSpec
from workloads.records.reader.final_reader import RowMaker


def log_ids(spec: IdSpec, topic: str) -> RowMaker:
    """Makes LOG_IDS rows of what the final read of a topic reads."""

    def make(messages: list[Any], _read_ns: int) -> pa.Table:
        rows = [
            {"topic": topic, "partition": one.partition(), "offset": one.offset(), "id": found}
            for one in messages
            if (found := _id_of_message(spec, one)) is not None
        ]
        return pa.Table.from_pylist(rows, schema=LOG_IDS)

    return RowMaker(LOG_IDS, make)


def _id_of_message(spec: IdSpec, message: Message) -> str | None:
    # Headers are made anew with each call, and most ids are elsewhere.
    headers: Any = message.headers() if spec.header is not None else None
    return id_of(spec, message.key(), message.value(), headers)
