"""A program that journals sends as a user's own does, without a broker; its first argument says how it ends.

It is started by a run, so it knows nothing of kafka-chaos but what the environment and the folder tell it.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

folder, how = Path(os.environ["KAFKA_CHAOS_JOURNAL"]), sys.argv[1]
number = int(sys.argv[2]) if len(sys.argv) > 2 else 0
run, topic = int(os.environ["KAFKA_CHAOS_RUN"]), os.environ["KAFKA_CHAOS_TOPIC"]
seconds = 60.0


def wait_for(name: str) -> None:
    deadline = time.monotonic() + seconds
    while not (folder / name).exists() and time.monotonic() < deadline:
        time.sleep(0.01)


def sends(write: Any) -> None:
    write(
        "begin", producer=number, run=run + (how == "other-run"), topic=topic + "x" * (how == "other-topic")
    )
    wait_for("begun")
    for seq in range(3):
        if how != "acked-without-sent":
            write("sent", seq=seq, time_ms=time.time_ns() // 1_000_000)
        write("acked", seq=seq, time_ms=time.time_ns() // 1_000_000, partition=0, offset=seq)


print("the program runs", how, flush=True)
if how == "at-once":
    sys.exit("no configuration for the shop")
if how == "silent":
    time.sleep(seconds)
if how == "on-term":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
if how == "deaf":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
if how == "late":
    wait_for("over")
with (folder / f"{number}.jsonl").open("w", buffering=1) as journal:

    def event(name: str, **fields: Any) -> None:
        print(json.dumps({"event": name, **fields}), file=journal)

    sends(event)
    if how == "half":
        journal.write('{"event": "sen')
        sys.exit(0)
    if how == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    try:
        wait_for("never" if how in ("on-term", "deaf") else "over")
    finally:
        if how != "no-end":
            event("end")
if how == "slow-exit":
    time.sleep(seconds)
sys.exit(3 if how == "fails-after-end" else 0)
