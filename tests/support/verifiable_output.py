"""Lines as Kafka's VerifiableProducer and VerifiableConsumer print them (as seen of 4.3.1)."""

from __future__ import annotations

import json
from typing import Any

T0_MS = 1_700_000_000_000
TOPIC = "t"


def line(name: str, at: int = 0, **fields: Any) -> str:
    return json.dumps({"timestamp": T0_MS + at, "name": name, **fields}, separators=(",", ":"))


def sent(
    value: str, offset: int, *, partition: int = 0, key: str | None = None, at: int = 0, topic: str = TOPIC
) -> str:
    return line(
        "producer_send_success", at, topic=topic, key=key, value=value, offset=offset, partition=partition
    )


def failed(
    value: str, exception: str = "TimeoutException", message: str = "", *, key: str | None = None
) -> str:
    kind = f"class org.apache.kafka.common.errors.{exception}"
    return line("producer_send_error", topic=TOPIC, key=key, value=value, exception=kind, message=message)


def summary(count: int, acked: int = 0) -> str:
    return line("tool_data", 900, sent=count, acked=acked, target_throughput=-1, avg_throughput=1.5)


def got(value: str | None, offset: int, *, partition: int = 0, key: str | None = None, at: int = 500) -> str:
    return line("record_data", at, key=key, value=value, topic=TOPIC, partition=partition, offset=offset)


def polled(count: int, partition: int = 0) -> str:
    parts = [{"topic": TOPIC, "partition": partition, "count": count, "minOffset": 0, "maxOffset": count - 1}]
    return line("records_consumed", 500, count=count, partitions=parts)


def assigned(*partitions: int, event: str = "assigned") -> str:
    return line(
        f"partitions_{event}", 400, partitions=[{"topic": TOPIC, "partition": one} for one in partitions]
    )


def committed(offset: int, *, success: bool = True, partition: int = 0, **more: Any) -> str:
    offsets = [{"topic": TOPIC, "partition": partition, "offset": offset}]
    return line("offsets_committed", 600, offsets=offsets, success=success, **more)


def share_polled(*offsets: int, at: int = 0) -> str:
    """The line of a VerifiableShareConsumer after the records of one poll."""
    parts = [{"topic": TOPIC, "partition": 0, "count": len(offsets), "offsets": list(offsets)}]
    return line("records_consumed", at, count=len(offsets), partitions=parts)


def acknowledged(*offsets: int, at: int = 0, error: str | None = None) -> str:
    parts = [{"topic": TOPIC, "partition": 0, "count": len(offsets), "offsets": list(offsets)}]
    more = {} if error is None else {"error": error}
    return line(
        "offsets_acknowledged", at, count=len(offsets), partitions=parts, success=error is None, **more
    )


EARLIEST = line("offset_reset_strategy_set", offsetResetStrategy="earliest")
START, STOP = line("startup_complete"), line("shutdown_complete", 800)
LOG = "[2026-11-21 16:00:00,000] WARN [Producer clientId=producer-1] Got error (org.apache.kafka.clients)"
