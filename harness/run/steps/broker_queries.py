"""What single brokers of a live cluster report: for the conditions of wait steps, and for ask steps.

Of an ask step every broker gets a query before any gets the next one: answers to earlier queries are older.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from faults.shared.fault_spec import InjectionContext
from harness.cluster.live import LiveCluster
from harness.cluster.protocol.client_requests import end_offset, epoch_end, fetch, produce
from harness.cluster.protocol.connection import DEBUGGING_REPLICA, BrokerConnection
from harness.model.broker_views import TopologyView
from harness.model.errors import ClusterError, FaultError
from harness.model.journal import RowSink
from harness.spec.steps import Ask
from workloads.records.log_format.checkpoints import EPOCH_FILE, epoch_rows, offset_rows
from workloads.records.log_format.segments import log_end_offset, parse_segment
from workloads.records.record.carried_identity import decode_carried
from workloads.records.record.identity import OK

NO_ANSWER = "NO_ANSWER"
_OBSERVER_SECONDS = 1.0
_SECONDS = 3.0
_ROUND_SECONDS = 0.02
_BATCH_FIELDS = ("base_offset", "last_offset", "leader_epoch", "producer_id", "base_sequence", "crc_ok")


@dataclass(frozen=True, slots=True)
class BrokerObserver:
    """Implements `harness.spec.wait_conditions.ConditionView` for one topic. `context` returns what targets
    are resolved in. Brokers' logs are read from `since_ns` (epoch ns) on."""

    cluster: LiveCluster
    topic: str
    context: Callable[[], InjectionContext]
    since_ns: int

    def view(self) -> TopologyView:
        return self.cluster.view((self.topic,))

    def nodes(self, target: Any) -> tuple[int, ...]:
        with suppress(FaultError):
            nodes: tuple[int, ...] = target.resolve(self.context().snapshot())
            return nodes
        return ()

    def high_watermark(self, broker: int, partition: int) -> int | None:
        if broker not in self.cluster.broker_ids:
            return None
        with suppress(OSError), self.cluster.connection(broker, _OBSERVER_SECONDS) as connection:
            fetched = fetch(connection, self.topic, partition, 0, max_bytes=1)
            return fetched.high_watermark if fetched.error is None else None
        return None

    def checkpoint(self, broker: int, file: str, partition: int) -> int | None:
        if file == EPOCH_FILE:
            text = self.cluster.log_files(broker, self.topic, partition).get(file, b"").decode()
            epochs = [row["leader_epoch"] for row in epoch_rows(broker, self.topic, partition, text)]
            return max(epochs, default=None)
        text = self.cluster.log_dir_file(broker, file).decode()
        rows = offset_rows(broker, file, text, self.topic)
        return next((row["offset"] for row in rows if row["partition"] == partition), None)

    def log(self, broker: int) -> str:
        return self.cluster.log_since(broker, self.since_ns)


@dataclass(frozen=True, slots=True)
class BrokerAnswer:
    """The answer of one broker: the name of an error, a number, or details."""

    error: str | None = None
    number: int | None = None
    detail: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class BrokerQuery:
    """A broker, the step and observed topic that it is queried for; `link` None: it needs no connection."""

    observer: BrokerObserver
    broker: int
    step: Ask
    link: BrokerConnection | None

    @property
    def partition_args(self) -> tuple[BrokerConnection, str, int]:
        """The first arguments of requests about the step's partition: connection, topic, partition."""
        assert self.link is not None, "this query needs a connection to the broker"
        return self.link, self.observer.topic, self.step.partition


def ask(observer: BrokerObserver, step: Ask, answers: RowSink) -> None:
    """Query the brokers of a step, once or for `step.seconds`; appends one row of ANSWERS per answer.

    Raises:
        ClusterError: the step's target matches no broker.
    """
    # Logs can be read from controllers too.
    printed = set(step.what) == {"printed"}
    cluster = observer.cluster
    brokers = tuple(number for number in observer.nodes(step.of) if printed or number in cluster.broker_ids)
    if not brokers:
        raise ClusterError(
            "the target matches no broker",
            where=f"step {step.name}",
            expected=f"a broker that is {step.of}",
            found="none",
        )
    until = time.monotonic() + (step.seconds or 0.0)
    number = 0
    with ExitStack() as stack:
        pool = stack.enter_context(ThreadPoolExecutor(max_workers=len(brokers)))
        links = {
            broker: None if printed else stack.enter_context(cluster.connection(broker, _SECONDS))
            for broker in brokers
        }
        query = [BrokerQuery(observer, broker, step, link) for broker, link in links.items()]
        while True:
            for position, question in enumerate(step.what):
                at_ns = time.time_ns()
                for asked, answer in zip(query, pool.map(partial(_answer, question), query), strict=True):
                    answers.append(
                        {
                            "at_ns": at_ns,
                            "ask": step.name,
                            "round": number,
                            "place": position,
                            "broker": asked.broker,
                            "partition": step.partition,
                            "question": question,
                            "error": answer.error,
                            "number": answer.number,
                            "detail": json.dumps(answer.detail),
                        }
                    )
            number += 1
            if time.monotonic() + _ROUND_SECONDS >= until:
                return
            time.sleep(_ROUND_SECONDS)


def _leader(query: BrokerQuery) -> BrokerAnswer:
    connection, name, partition = query.partition_args
    for topic in connection.metadata([name]).topics:
        for part in topic.partitions:
            if part.partition_index == partition:
                isr = [int(node) for node in part.isr_nodes]
                detail = {"leader_epoch": int(part.leader_epoch), "isr": isr}
                return BrokerAnswer(None, int(part.leader_id), detail)
    return BrokerAnswer("UNKNOWN_TOPIC_OR_PARTITION")


def _high_watermark(query: BrokerQuery) -> BrokerAnswer:
    fetched = fetch(*query.partition_args, 0, max_bytes=1)
    return BrokerAnswer(fetched.error, fetched.high_watermark)


def _fetch(query: BrokerQuery) -> BrokerAnswer:
    fetched = fetch(*query.partition_args, 0)
    detail = {"records": _records(fetched.data, fetched.high_watermark)}
    return BrokerAnswer(fetched.error, fetched.high_watermark, detail)


def _epoch_ends(query: BrokerQuery) -> BrokerAnswer:
    latest = _leader(query).detail.get("leader_epoch", -1)
    ends = {epoch: epoch_end(*query.partition_args, epoch) for epoch in range(latest + 1)}
    return BrokerAnswer(None, latest, {"ends": ends})


def _checkpoint(query: BrokerQuery) -> BrokerAnswer:
    file = "replication-offset-checkpoint"
    return BrokerAnswer(None, query.observer.checkpoint(query.broker, file, query.step.partition))


def _files(query: BrokerQuery) -> BrokerAnswer:
    observer, partition = query.observer, query.step.partition
    files = observer.cluster.log_files(query.broker, observer.topic, partition)
    segments = {name: data for name, data in sorted(files.items()) if name.endswith(".log")}
    batches = [batch for data in segments.values() for batch in parse_segment(data)]
    text = files.get(EPOCH_FILE, b"").decode()
    lines = epoch_rows(query.broker, observer.topic, partition, text)
    detail = {
        "batches": [{name: getattr(batch, name) for name in _BATCH_FIELDS} for batch in batches],
        "records": _records(b"".join(segments.values()), None),
        "epochs": [[row["leader_epoch"], row["offset"]] for row in lines],
    }
    return BrokerAnswer(None, log_end_offset(segments), detail)


def _printed(query: BrokerQuery) -> BrokerAnswer:
    text = query.step.text or ""
    lines = [line for line in query.observer.log(query.broker).splitlines() if text in line]
    return BrokerAnswer(None, len(lines), {"lines": lines})


def _records(data: bytes, below: int | None) -> list[list[int]]:
    """[offset, producer, seq] of each record with an offset less than `below` (None: of all); producer and
    seq are -1 where the value is not one of ours."""
    rows = []
    for batch in parse_segment(data):
        records = [record for record in batch.records() or () if below is None or record.offset < below]
        headers = [record.headers for record in records]
        decoded = decode_carried([record.value for record in records], 0, headers.__getitem__)
        for index, record in enumerate(records):
            # Only the run id may differ: a topic belongs to one run.
            ours = decoded.state[index] <= OK + 1
            identity = (int(decoded.producer[index]), int(decoded.seq[index])) if ours else (-1, -1)
            rows.append([record.offset, *identity])
    return rows


_QUESTIONS: dict[str, Callable[[BrokerQuery], BrokerAnswer]] = {
    "leader": _leader,
    "log_end": lambda query: BrokerAnswer(*end_offset(*query.partition_args, DEBUGGING_REPLICA)),
    "high_watermark": _high_watermark,
    "list_offsets": lambda query: BrokerAnswer(*end_offset(*query.partition_args)),
    "fetch": _fetch,
    "fetch_v10": lambda query: BrokerAnswer(fetch(*query.partition_args, 0, version=10).error),
    "produce": lambda query: BrokerAnswer(*produce(*query.partition_args)),
    "epoch_ends": _epoch_ends,
    "checkpoint": _checkpoint,
    "files": _files,
    "printed": _printed,
}


def _answer(question: str, query: BrokerQuery) -> BrokerAnswer:
    try:
        return _QUESTIONS[question](query)
    except (OSError, ClusterError) as error:
        return BrokerAnswer(NO_ANSWER, None, {"why": str(error)})
