"""KAFKA-19012: the Java client writes a record into a partition that it was not sent to."""

from __future__ import annotations

from harness.bugs.clusters import PATIENT
from harness.bugs.expectations import in_partitions, invalid_for, valid
from harness.bugs.model import Bug, affected_arm, fixed_arm
from harness.claims.clusters import experiment
from harness.model.result import FindingClass
from harness.suite.expect_records import acked, outcomes
from harness.suite.expectations import precondition

_TEXT = """
name: kafka-19012
title: Records time out while their request is being written, and others take their place in memory
# Broker 1 leads partitions 0 to 5, broker 2 the others.
topic:
  assignment: [[1, 2], [1, 2], [1, 2], [1, 2], [1, 2], [1, 2], [2, 1], [2, 1], [2, 1], [2, 1], [2, 1]]
  config: {max.message.bytes: 16000000}
workload: {client: driven}
steps:
- drive: {name: warm, by: writer, do: [WARM]}
- inject: {partition: {from: {broker: 2}, to: {broker: 1}}, name: apart}
# Its acknowledgement waits for broker 2, and the client's next request waits for the acknowledgement.
- drive: {name: slow, by: writer, do: [send: {partition: 0, size: 900000, awaited: false}]}
- sleep: {seconds: 0.2}
# They go into one request. The client starts its round of the partitions at any of them: two records are
# large, so that small ones follow a large one.
- drive: {name: tails, by: writer, do: [TAILS]}
- wait: {log_end: {of: {broker: 1}, partition: 0, at_least: 2}, within: 10}
- inject: {partition: {from: client, to: {broker: 1}, lost: from_to}, name: deaf}
- sleep: {seconds: 3}
# Now the first is acknowledged, and as much of their request is written as the socket accepts. TCP
# retransmits after 12.6 s, then 25.2 s: so this must be late, and request.timeout.ms begins here.
- heal: {only: [apart], awaited: false}
# After delivery.timeout.ms.
- drive: {name: others, by: writer, do: [flush, OTHERS]}
- sleep: {seconds: 0.2}
- heal: {only: [deaf]}
- wait: {log_end: {of: {broker: 1}, partition: 5, at_least: 2}, within: 60}
- drive: {name: end, by: writer, do: [flush, send: {partition: 10}]}
arms:
- name: client-4.1.1
  workload: {client: driven, driven: {version: 4.1.1}}
  producer: &producer
    acks: all
    linger.ms: 0
    batch.size: 1000000
    max.in.flight.requests.per.connection: 1
    request.timeout.ms: 15000
    delivery.timeout.ms: 15000
    # Small enough that all buffers are in use, and other records get those of the timed-out ones.
    extra: {buffer.memory: 25500000, max.request.size: 32000000, send.buffer.bytes: 65536}
  promise: {misplaced: ">= 1"}
- {name: client-4.3.1, producer: *producer}
"""


_LARGE = (0, 3)


def _sends(partitions: range, more: str = "", large: tuple[int, ...] = ()) -> str:
    sizes = {number: 10_000_000 if number in large else 2_000 for number in partitions}
    return ", ".join(f"send: {{partition: {number}, size: {sizes[number]}{more}}}" for number in partitions)


_TIMED_OUT = experiment(
    _TEXT.replace("WARM", _sends(range(11)))
    .replace("TAILS", _sends(range(6), ", awaited: false", _LARGE))
    .replace("OTHERS", _sends(range(6, 11), ", awaited: false")),
    PATIENT,
)
_HAPPENED = (
    precondition(acked("warm", 11)),
    precondition(acked("slow", 1)),
    precondition(outcomes("tails", indeterminate=6)),
    precondition(acked("others", 5)),
    precondition(in_partitions(range(1, 6), 2)),
)

BUG = Bug(
    id="KAFKA-19012",
    title="The Java client writes a record to a partition to which it was not sent",
    link="https://issues.apache.org/jira/browse/KAFKA-19012",
    words="When a record times out while its request is being written to the socket, the client releases "
    "its memory at once. The next record takes that memory, and the rest of the request carries the next "
    "record: the broker writes it, with a valid checksum, into the topic and partition of the first.",
    affected="Java clients up to 3.9.1, and 4.1.1.",
    fixed="Java clients 3.9.2, 4.2.0 and later: the memory of a request that is being sent is kept until "
    "the request is complete.",
    set_up="Two brokers of Kafka 4.3.1 with replica.lag.time.max.ms=60000, one request in flight at a time, "
    "no idempotence. A first record is acknowledged late, because its follower is cut off. Two records of "
    "10 MB and four small ones, to six partitions, wait for that and follow in one request, when packets "
    "from the client to broker 1 are dropped. After delivery.timeout.ms=15000 they have timed out, and most "
    "of the request is not written. Five small records go to broker 2. Then packets to broker 1 pass again.",
    proof="The six records have timed out, and yet the broker has written a record into each of their "
    "partitions, so their request arrived.",
    arms=(
        affected_arm(_TIMED_OUT, invalid_for(FindingClass.MISPLACED), *_HAPPENED, arm="client-4.1.1"),
        fixed_arm(_TIMED_OUT, valid(), *_HAPPENED, arm="client-4.3.1"),
    ),
)
