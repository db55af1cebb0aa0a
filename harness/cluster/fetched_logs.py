"""What a broker of an existing cluster returns of its logs, as far as the protocol shows it.

Its files cannot be read. A debugging consumer (ListOffsets and Fetch with replica id -2) is answered by every
replica of Apache Kafka, up to its log end offset.
"""

from __future__ import annotations

from collections.abc import Iterator

from harness.cluster.protocol.client_requests import fetch
from harness.cluster.protocol.connection import DEBUGGING_REPLICA, EARLIEST, LATEST, BrokerConnection
from harness.model.run import PartitionBounds
from workloads.records.log_format.segments import parse_segment

_FETCH_BYTES = 8 * 1024 * 1024
_MOST_BYTES = 2 * 1024**3
"""Maximum size of one replica's log that is compared record by record."""


def whole_log(connection: BrokerConnection, topic: str, partition: int) -> bytes:
    """The log of one replica, in whole batches. Raises OSError (no answer) and ValueError (another one)."""
    return b"".join(_batches(connection, topic, partition))


def doubtful_end(connection: BrokerConnection, bound: PartitionBounds) -> list[str]:
    """A sentence if the leader's answers contradict each other on where the partition ends, which a read up
    to `bound.end_offset` would not show: the high watermark of a Fetch there must be this offset. Empty: they
    agree. Kafka's leader answers both from one value."""
    where = f"partition {bound.partition}: broker {bound.leader}"
    listed = f"{where} answered ListOffsets (latest) with {bound.end_offset}"
    try:
        got = fetch(connection, bound.topic, bound.partition, bound.end_offset, max_bytes=1)
    except OSError as error:
        return [f"{listed}, and a Fetch there was not answered: {error}"]
    if got.error is not None:
        return [f"{listed}, and a Fetch there with {got.error}"]
    if got.high_watermark == bound.end_offset:
        return []
    return [
        f"{listed}, and Fetch with the high watermark {got.high_watermark}: "
        "a reader that stops at the first does not get what lies between"
    ]


def _batches(connection: BrokerConnection, topic: str, partition: int) -> Iterator[bytes]:
    """Yield the log piece by piece, in whole batches."""
    where = (topic, partition)
    offset, end = (
        connection.offsets([where], timestamp=stamp, replica_id=DEBUGGING_REPLICA).get(where)
        for stamp in (EARLIEST, LATEST)
    )
    if offset is None or end is None:
        raise ValueError("the broker does not report where its log begins and ends")
    taken = 0
    while offset < end:
        got = fetch(
            connection, topic, partition, offset, max_bytes=_FETCH_BYTES, replica_id=DEBUGGING_REPLICA
        )
        if got.error is not None:
            raise ValueError(got.error)
        whole = whole_batches(got.data)
        if not whole:
            raise ValueError(f"the broker returned nothing at offset {offset} of {end}")
        taken += len(whole)
        if taken > _MOST_BYTES:
            raise ValueError(f"its log has more than {_MOST_BYTES >> 30} GiB")
        yield whole
        offset = max(batch.last_offset for batch in parse_segment(whole)) + 1


def whole_batches(data: bytes) -> bytes:
    """`data` without a last batch that is cut off. A batch begins with 12 bytes: base offset and length."""
    at = 0
    while at + 12 <= len(data):
        size = 12 + int.from_bytes(data[at + 8 : at + 12], "big")
        if at + size > len(data):
            break
        at += size
    return data[:at]
