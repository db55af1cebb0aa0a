"""How fast our producer is, with every acknowledgement journaled, against Kafka's own tools.

    python -m tests.bench.producer_throughput [repeats] [records]

Prints a table: median, slowest and fastest records/s of the repeats; records/s of the whole command, with the
start of its JVM; and CPU time per record, which a busy machine changes less. All clients write to the same
cluster in turns, after a first turn that does not count, each to a topic of its own: 3 replicas,
min.insync.replicas 2, and the settings of `SETTINGS`. The client chooses the partition; ours stays with one
about as long as Java's does (`OURS`). Ours is timed from the first send until the last acknowledgement is in
a Parquet file; the others report their own figures, which leave out the start of their JVMs.
VerifiableProducer prints a line for each acknowledgement into a file in its container; its values are shorter
than ours (a number in text), which is an advantage.
"""

from __future__ import annotations

import json
import re
import shlex
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import pyarrow.parquet as pq
import typer
from docker import DockerClient
from docker.errors import DockerException
from rich.console import Console
from rich.table import Table

from harness.cluster.containers import docker_engine
from harness.cluster.convergence import settle
from harness.cluster.managed import ManagedCluster
from harness.model.errors import ClusterError
from tests.bench.kafka_tools import (
    CONFIG_FILE,
    VERIFIABLE_PRODUCER,
    properties_text,
    tool_container,
    tools_bootstrap,
)
from tests.bench.rows import Row
from workloads.java.java_settings import java_properties
from workloads.records.config.producer_settings import ProducerSettings
from workloads.records.config.workload_spec import WorkloadSpec
from workloads.records.producer.producers import Producers
from workloads.records.producer.send_journal import SendJournal

RECORDS = 1_000_000
SIZE = 100
PARTITIONS = 6
VERIFIABLE_SHARE = 4
"""VerifiableProducer writes this many times fewer records, since it is that much slower; rates are
compared."""
SETTINGS = ProducerSettings.model_validate(
    {
        "acks": "all",
        "enable.idempotence": True,
        "max.in.flight.requests.per.connection": 5,
        "delivery.timeout.ms": 120_000,
        "linger.ms": 5,
        "batch.size": 131_072,
    }
)
OURS = SETTINGS.model_copy(
    update={"sticky_linger_ms": 100, "extra": {"queue.buffering.max.messages": 300_000}}
)
"""Java's client stays with a partition until a batch is full (KIP-794), librdkafka for a number of ms. With
its default of 10 ms the same batch.size gave smaller batches, and the brokers more work per record. Java's
buffer.memory of 32 MiB has room for 300,000 of these records."""
GOALS = {"kafka-producer-perf-test": 1.05, "VerifiableProducer": 3.0}
"""Our producer should be this many times as fast as each of these."""
_PERF = "/opt/kafka/bin/kafka-producer-perf-test.sh"
_RATE = re.compile(r"^(\d+) records sent, ([\d.]+) records/sec", re.MULTILINE)
_TIMES = re.compile(r"^times ([\d.]+) ([\d.]+) ([\d.]+)$", re.MULTILINE)
_SETTLE_SECONDS = 120.0


def tool_output(client: DockerClient, cluster: ManagedCluster, name: str, number: int, script: str) -> str:
    """Run a script in a container of the cluster's image on its network; returns what it printed.

    Raises:
        ClusterError: the engine refuses, or the script ended with another code than 0.
    """
    container = tool_container(client, cluster, name, number, script, {})
    try:
        output = container.attach(stdout=True, stderr=True, stream=True)
        container.start()
        text = b"".join(output).decode(errors="replace")
        code = int(container.wait()["StatusCode"])
    except (DockerException, OSError) as error:
        raise ClusterError("a tool's container failed", where=name, found=str(error)) from error
    finally:
        with suppress(DockerException, OSError):
            container.remove(v=True, force=True)
    if code:
        raise ClusterError("a tool of Kafka failed", where=name, found=f"code {code}: {text[-2000:]}")
    return text


@dataclass(frozen=True, slots=True)
class Took:
    """Records/s, CPU seconds of the client per record (for a JVM including its start), and records/s of the
    whole command. Ours has no start of its own: it is a thread of the running process."""

    rate: float
    cpu: float
    whole: float


class Bench:
    """One cluster, and the three ways to write to it. Each way returns a `Took`."""

    def __init__(self, cluster: ManagedCluster, client: DockerClient, records: int) -> None:
        self._cluster = cluster
        self._client = client
        self._records = records
        self._turn = 0

    def ours(self, topic: str) -> Took:
        """Our producer; checks that every record is in the journal, acknowledged."""
        with tempfile.TemporaryDirectory() as folder:
            journal = SendJournal(Path(folder) / "sends", topic)
            producers = Producers(
                WorkloadSpec(record_size=SIZE, spread="client"),
                OURS,
                bootstrap=self._cluster.bootstrap,
                topic=topic,
                partitions=PARTITIONS,
                run_id=1,
                seed=1,
                journal=journal,
            )
            began, cpu = time.perf_counter(), time.process_time()
            producers.start(0, records=self._records)
            producers.finish()
            producers.close()
            journal.close()
            took, cpu = time.perf_counter() - began, time.process_time() - cpu
            table = pq.read_table(Path(folder) / "sends", columns=["outcome", "seq"])
            outcomes = set(table["outcome"].to_pylist())
            if table.num_rows != self._records or outcomes != {"acked"}:
                raise RuntimeError(f"{table.num_rows} rows with outcomes {outcomes}")
        return Took(self._records / took, cpu / self._records, self._records / took)

    def perf_test(self, topic: str) -> Took:
        """kafka-producer-perf-test, which keeps no acknowledgement."""
        arguments = f"--topic {topic} --num-records {self._records} --record-size {SIZE} --throughput -1"
        text = self._tool(f"{_PERF} {arguments} --producer.config {CONFIG_FILE}")
        found = _RATE.findall(text)
        if not found or int(found[-1][0]) != self._records:
            raise RuntimeError(f"kafka-producer-perf-test said: {text[-1000:]}")
        return _took(float(found[-1][1]), text, self._records)

    def verifiable(self, topic: str) -> Took:
        """VerifiableProducer, which prints a line for each acknowledgement."""
        records = self._records // VERIFIABLE_SHARE
        arguments = f"--topic {topic} --max-messages {records} --acks -1 --producer.config {CONFIG_FILE}"
        bootstrap = f"--bootstrap-server {tools_bootstrap(self._cluster)}"
        text = self._tool(f"{VERIFIABLE_PRODUCER} {bootstrap} {arguments} >/tmp/lines; tail -n 1 /tmp/lines")
        report = json.loads(next(line for line in text.splitlines() if line.startswith('{"timestamp"')))
        if report.get("acked") != records:
            raise RuntimeError(f"VerifiableProducer said: {text[-1000:]}")
        return _took(float(report["avg_throughput"]), text, records)

    def _tool(self, command: str) -> str:
        properties = properties_text(java_properties(SETTINGS, tools_bootstrap(self._cluster)))
        write = f"printf %s {shlex.quote(properties)} >{CONFIG_FILE}"
        script = f"TIMEFORMAT='times %R %U %S'; {write} && time {{ {command}; }}"
        self._turn += 1
        return tool_output(self._client, self._cluster, f"bench-{self._turn}", self._turn, script)


def _took(rate: float, text: str, records: int) -> Took:
    """With the seconds that bash's `time` printed."""
    real, user, system = map(float, _TIMES.findall(text)[-1])
    return Took(rate, (user + system) / records, records / real)


def measure(repeats: int, records: int, tell: Callable[[str], None]) -> dict[str, list[Took]]:
    """The measurements of each client; the clients take turns, and the order rotates."""
    with ManagedCluster() as cluster:
        bench = Bench(cluster, docker_engine.connect(), records)
        ways: list[tuple[str, Callable[[str], Took]]] = [
            ("kafka-chaos", bench.ours),
            ("kafka-producer-perf-test", bench.perf_test),
            ("VerifiableProducer", bench.verifiable),
        ]
        found: dict[str, list[Took]] = {name: [] for name, _ in ways}
        admin = cluster.admin()
        # During the first million records the brokers' JVMs have compiled nothing yet, so it does not count.
        for turn in range(-1, repeats):
            for name, way in ways[:1] if turn < 0 else ways[turn % len(ways) :] + ways[: turn % len(ways)]:
                topic = f"bench-{turn + 1}-{name.lower()}"
                config = {"min.insync.replicas": "2"}
                admin.create(topic, partitions=PARTITIONS, replication_factor=3, config=config)
                settle(cluster, topic, PARTITIONS, 3, _SETTLE_SECONDS)
                took = way(topic)
                tell(f"{turn + 1}/{repeats} {name}: {took.rate:,.0f} records/s")
                found[name] += [took] if turn >= 0 else []
                admin.delete(topic)
    return found


def table_of(found: dict[str, list[Took]], title: str) -> Table:
    """The results as a table; the last columns say how many times as fast ours is, and should be."""
    table = Table(title=title, title_justify="left")
    for column in ("client", "median", "slowest", "fastest", "whole", "CPU us", "ours is", "meant"):
        table.add_column(column, justify="left" if column == "client" else "right")
    ours = statistics.median(one.rate for one in found["kafka-chaos"])
    for name, took in found.items():
        rates = [one.rate for one in took]
        goal = GOALS.get(name)
        times = f"{ours / statistics.median(rates):.2f} x"
        row = [f"{value:,.0f}" for value in (statistics.median(rates), min(rates), max(rates))]
        row.append(f"{statistics.median(one.whole for one in took):,.0f}")
        row.append(f"{statistics.median(one.cpu for one in took) * 1e6:.1f}")
        table.add_row(name, *row, "" if goal is None else times, "" if goal is None else f">= {goal:g} x")
    return table


def rows(repeats: int = 7) -> list[Row]:
    """Our rate against that of each of Kafka's tools."""
    found = measure(repeats, RECORDS, lambda line: print(f"  {line}", flush=True))
    ours = [took.rate for took in found["kafka-chaos"]]
    return [
        Row.of(
            f"producer against {tool}",
            "records/s",
            ours,
            peer=tool,
            theirs=statistics.median(took.rate for took in found[tool]),
            goal=goal,
            relative=True,
            more_is_better=True,
        )
        for tool, goal in GOALS.items()
    ]


def main(
    repeats: Annotated[int, typer.Argument(help="Measured turns of each client.")] = 5,
    records: Annotated[int, typer.Argument(help="Records that each client writes in a turn.")] = RECORDS,
) -> None:
    """Measure how fast our producer is, with every acknowledgement journaled, against Kafka's own tools."""
    progress = Console(stderr=True)
    found = measure(repeats, records, lambda line: progress.print(line, highlight=False))
    settings = ", ".join(f"{name}={value}" for name, value in OURS.properties().items())
    what = f"{records:,} records of {SIZE} B, {PARTITIONS} partitions, {repeats} repeats, records/s"
    Console(width=None if sys.stdout.isatty() else 120).print(table_of(found, f"{what}\n{settings}"))


if __name__ == "__main__":
    typer.run(main)
