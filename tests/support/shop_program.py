"""A program with a producer of confluent-kafka, which a run starts; its first argument says what it does.

well               it is right, with the acks of its second argument
events             the same without any module of kafka-chaos, as a program in another language
killed             as events, and it kills itself with SIGKILL in the midst of its sends
elsewhere          as events, and its records go to another topic
another-identity   as events, and its records carry the id of another run
"""

from __future__ import annotations

import json
import os
import signal
import struct
import sys
import time
from pathlib import Path
from typing import Any

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic
from crc32c import crc32c

HOW, ACKS = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "all"
BOOTSTRAP, TOPIC, RUN = (os.environ[f"KAFKA_CHAOS_{name}"] for name in ("BOOTSTRAP", "TOPIC", "RUN"))
FOLDER = Path(os.environ["KAFKA_CHAOS_JOURNAL"])
CONFIG = {"bootstrap.servers": BOOTSTRAP, "acks": ACKS, "message.timeout.ms": 30000}


def with_kafka_chaos() -> None:
    from kafka_chaos import journaled

    with journaled(Producer(CONFIG)) as producer:
        while not producer.run_over:
            producer.produce(TOPIC, b'{"order": 1}')
            producer.poll(0.002)


def with_events() -> None:
    producer = Producer(CONFIG)
    to = f"{TOPIC}-elsewhere" if HOW == "elsewhere" else TOPIC
    admin = AdminClient({"bootstrap.servers": BOOTSTRAP})
    if to != TOPIC:
        admin.create_topics([NewTopic(to, 1, 3)])[to].result()
    of_run = int(RUN) + (HOW == "another-identity")
    with (FOLDER / "shop.jsonl").open("w", buffering=1) as events:

        def write(event: str, **fields: Any) -> None:
            print(json.dumps({"event": event, **fields}), file=events)

        def report(seq: int, error: Any, message: Any) -> None:
            now = time.time_ns() // 1_000_000
            if error is None:
                write("acked", seq=seq, time_ms=now, partition=message.partition(), offset=message.offset())
            else:
                write("failed", seq=seq, time_ms=now, error=error.name())

        write("begin", producer=0, run=int(RUN), topic=TOPIC)
        seq = 0
        while not (FOLDER / "over").exists():
            value = b'{"order": %d}' % seq
            head = struct.pack(">IQIQ", 0x4B434831, of_run, 0, seq)
            write("sent", seq=seq, time_ms=time.time_ns() // 1_000_000, size=len(value))
            producer.produce(
                to,
                value,
                headers={"kafka-chaos-identity": head + struct.pack(">I", crc32c(head + value))},
                on_delivery=lambda error, message, seq=seq: report(seq, error, message),
            )
            seq += 1
            producer.poll(0.002)
            if HOW == "killed" and seq == 200:
                os.kill(os.getpid(), signal.SIGKILL)
        producer.flush()
        write("end")
    if to != TOPIC:
        admin.delete_topics([to])[to].result()


if __name__ == "__main__":
    print("the shop opens:", HOW, flush=True)
    with_kafka_chaos() if HOW == "well" else with_events()
