"""Programs of a user's own under a cut and a kill of the leader: accounted for as our own producers are.

The arms with acks=1 are the controls: the leader acknowledges what its followers never get, and dies.
"""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from confluent_kafka import Producer

from harness.cluster.managed import ManagedCluster
from harness.model.finding_class import FindingClass
from harness.model.result import VerdictWord
from harness.pytest_plugin.background_run import Running
from harness.run.executor import Options, run_on
from harness.spec.experiment_files import load, parse
from tests.chaos.support.suite import Started
from tests.support.paths import ROOT

pytestmark = [pytest.mark.chaos, pytest.mark.soak]

EXPERIMENT = """
name: own
title: The leader of programs of one's own is cut off and dies
topic: {assignment: [[1, 2, 3]], config: {min.insync.replicas: 2}}
workload: {client: own}
together: true
steps:
  - write: {name: together, seconds: 1}
  - inject: {partition: {from: {leader: 0}, to: {followers: 0}}}
  - write: {name: alone, seconds: 0.8}
  # If the followers had left the ISR by now, none of them could be elected and the run would prove nothing.
  - wait: {isr: 3, within: 10}
  - inject: {kill: {target: {leader: 0}}}
  - write: {name: after, seconds: 2}
  - heal:
arms:
  - {name: this-process, producer: {acks: 1}, promise: {lost: ">= 1", duplicate: any}}
  - {name: another-process, producer: {acks: all}, promise: {duplicate: any}}
  - {name: events, producer: {acks: 1}, promise: {lost: ">= 1", duplicate: any}}
"""
ANOTHER_PROCESS = """
import os
from confluent_kafka import Producer
from kafka_chaos import journaled

config = {"bootstrap.servers": os.environ["KAFKA_CHAOS_BOOTSTRAP"], "message.timeout.ms": 30000}
producer = journaled(Producer(config))
while not producer.run_over:
    producer.produce(os.environ["KAFKA_CHAOS_TOPIC"], b'{"order": 1}')
    producer.poll(0.002)
producer.flush()
"""
# Without any module of kafka-chaos, as a program in another language would do it.
EVENTS = """
import json, os, struct, time
from crc32c import crc32c
from confluent_kafka import Producer

run, topic, folder = (os.environ["KAFKA_CHAOS_" + name] for name in ("RUN", "TOPIC", "JOURNAL"))
config = {"bootstrap.servers": os.environ["KAFKA_CHAOS_BOOTSTRAP"], "acks": "1", "message.timeout.ms": 30000}
producer = Producer(config)
events = open(folder + "/shop.jsonl", "w", buffering=1)

def write(event, **fields):
    print(json.dumps({"event": event, **fields}), file=events)

def reported(seq, error, message):
    now = time.time_ns() // 1_000_000
    if error is None:
        write("acked", seq=seq, time_ms=now, partition=message.partition(), offset=message.offset())
    else:
        write("failed", seq=seq, time_ms=now, error=error.name())

write("begin", producer=0, run=int(run), topic=topic)
seq = 0
while not os.path.exists(folder + "/over"):
    value = b'{"order": %d}' % seq
    head = struct.pack(">IQIQ", 0x4B434831, int(run), 0, seq)
    write("sent", seq=seq, time_ms=time.time_ns() // 1_000_000, size=len(value))
    producer.produce(
        topic,
        value,
        headers={"kafka-chaos-identity": head + struct.pack(">I", crc32c(head + value))},
        on_delivery=lambda error, message, seq=seq: reported(seq, error, message),
    )
    seq += 1
    producer.poll(0.002)
producer.flush()
write("end")
"""


class Programs:
    """Starts the program of each arm as soon as its topic exists, and keeps what its callbacks were given."""

    def __init__(self, cluster: ManagedCluster, results: Path) -> None:
        self._cluster = cluster
        self._results = results
        self.reported: list[str | None] = []
        self.threads: list[threading.Thread] = []
        self.processes: list[subprocess.Popen[bytes]] = []

    def start(self, arm: str, topic: str) -> None:
        run = Running(self._cluster.bootstrap, self._results)
        run.topic_created(arm, topic)
        if arm == "this-process":
            self.threads.append(threading.Thread(target=self._write, args=(run,)))
            self.threads[-1].start()
        else:
            script = EVENTS if arm == "events" else ANOTHER_PROCESS
            environment = {**os.environ, **run.environment, "PYTHONPATH": str(ROOT)}
            self.processes.append(subprocess.Popen([sys.executable, "-c", script], env=environment))

    def _write(self, run: Running) -> None:
        settings = {"bootstrap.servers": run.bootstrap, "acks": "1", "message.timeout.ms": 30000}
        with run.journaled(Producer(settings)) as producer:
            for number in itertools.count():
                producer.produce(
                    run.topic,
                    f'{{"order": {number}}}',
                    on_delivery=lambda error, _: self.reported.append(error and error.name()),
                )
                producer.poll(0.002)
                if producer.run_over:
                    return


@pytest.fixture
def cluster(started: Started) -> ManagedCluster:
    """The cluster of cut-then-kill, whose followers stay in the ISR from the cut to the kill."""
    return started(load("cut-then-kill").cluster)


def test_programs_of_ones_own_are_accounted_for(cluster: ManagedCluster, results: Path) -> None:
    programs = Programs(cluster, results)
    options = Options(results=results, seed=5, started=programs.start)
    folder, result = run_on(cluster, parse(EXPERIMENT, "own"), options)
    for thread in programs.threads:
        thread.join(120)
        assert not thread.is_alive()
    assert [process.wait(120) for process in programs.processes] == [0, 0]
    for arm in result.arms:
        assert arm.judgement.as_promised, (arm.meta.arm, arm.judgement, arm.meta.problems)
        assert arm.summary is not None
        unexpected = {FindingClass.PHANTOM, FindingClass.CORRUPT, FindingClass.MISPLACED}
        assert not unexpected & arm.summary.findings.keys()
    mine, other, events = result.arms
    assert [one.judgement.verdict for one in (mine, other, events)] == [
        VerdictWord.INVALID,
        VerdictWord.VALID,
        VerdictWord.INVALID,
    ]
    assert mine.summary is not None
    assert mine.summary.sent == len(programs.reported), "the program's own callbacks were called"
    assert mine.summary.outcomes["acked"] == programs.reported.count(None)
    assert "gone after kill" in " ".join(mine.summary.blame)
    assert (folder / "this-process" / "producers" / "0.jsonl").is_file()
