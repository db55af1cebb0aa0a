"""A former leader does not replicate a partition any more, because records at the begin of its successor's
epoch have been deleted.

It starts a cluster of three brokers and one controller with kafka-chaos, which has to be installed. The
leader has records that no other broker has when it is killed. Its successor gets a batch, and the first half
of that batch's records is deleted. The former leader asks where its own epoch ended, is told the log start
offset, and cuts its log there and not where the epochs part. In the control fewer records are deleted.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

from confluent_kafka import Producer
from trials import SHOWN, trials

from kafka_chaos import ManagedCluster

TOPIC = "deleted"
LEADER, OTHERS = 1, (2, 3)
COMMON, MORE = 100, 20
"""Records that all brokers have, and those that the leader has alone, as many as its successor gets."""
SECONDS, BACK_SECONDS = 120.0, 60.0
"""The most that a step may take, and how long the former leader has to be in the ISR again."""
FAULT = f"Partition {TOPIC}-0 marked as failed"
"""What the former leader logs."""


def wait_until(seen: Callable[[], bool], seconds: float = SECONDS) -> bool:
    until = time.monotonic() + seconds
    while not seen():
        if time.monotonic() > until:
            return False
        time.sleep(0.5)
    return True


def state(cluster: ManagedCluster) -> tuple[int, int]:
    """The leader of the partition (-1: none is known), and the size of its ISR."""
    found = cluster.view((TOPIC,)).partition(TOPIC, 0)
    return (-1, 0) if found is None else (found.leader, len(found.isr))


def write(cluster: ManagedCluster, records: int, acks: str) -> None:
    """Write them in one batch."""
    producer = Producer(
        {"bootstrap.servers": cluster.bootstrap, "acks": acks, "linger.ms": 1000, "log_level": 0}
    )
    for _ in range(records):
        producer.produce(TOPIC, b"value", partition=0)
    # flush() does not wait for linger.ms.
    producer.poll(2.0)
    if producer.flush(SECONDS):
        raise SystemExit("not tried: records were not written")


def trial(version: str, deleted: int) -> str:
    """`deleted`: how many records of the successor's batch are deleted, and all before them."""
    with ManagedCluster(version=version, brokers=3) as cluster:
        cluster.admin().create(
            TOPIC,
            partitions=1,
            replication_factor=3,
            config={"min.insync.replicas": "2"},
            assignment=[[1, 2, 3]],
        )
        if not wait_until(lambda: state(cluster) == (LEADER, 3)):
            raise SystemExit("not tried: the topic was not ready")
        write(cluster, COMMON, "all")
        for broker in OTHERS:
            cluster.pause(broker)
        write(cluster, MORE, "1")
        cluster.kill(LEADER)
        for broker in OTHERS:
            cluster.unpause(broker)
        if not wait_until(lambda: state(cluster)[0] in OTHERS):
            raise SystemExit("not tried: there was no successor")
        write(cluster, MORE, "all")
        cluster.delete_records(TOPIC, {0: COMMON + deleted})
        cluster.start_node(LEADER)
        back = wait_until(lambda: state(cluster)[1] == 3, BACK_SECONDS)
        failed = FAULT in cluster.log_since(LEADER, 0)
        told = f"it has {'' if failed else 'not '}marked the partition as failed"
        if back:
            return f"the former leader is in the ISR; {told}"
        return (
            f"{SHOWN if failed else ''}the former leader was not in the ISR after {BACK_SECONDS:g} s; {told}"
        )


if __name__ == "__main__":
    trials(
        {
            "4.4.0": partial(trial, "4.4.0", MORE // 2),
            "4.3.1": partial(trial, "4.3.1", MORE // 2),
            "4.1.1": partial(trial, "4.1.1", MORE // 2),
            "3.9.2": partial(trial, "3.9.2", MORE // 2),
            "control, 4.4.0": partial(trial, "4.4.0", 0),
        },
        seconds=600,
    )
