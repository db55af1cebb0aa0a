"""Hand-built runs: a few sends and reads as people would tell them, written as real run folders."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from harness.model.application_journal import (
    APPLICATION_DIR,
    APPLICATION_EVENTS,
    HANDLER_FAILURES,
    HANDLER_FAILURES_DIR,
    OUTPUTS,
    OUTPUTS_DIR,
)
from harness.model.application_meta import ApplicationMeta
from harness.model.group_journal import (
    ASSIGNMENTS,
    ASSIGNMENTS_DIR,
    COMMITS,
    COMMITS_DIR,
    OFFSETS,
    OFFSETS_DIR,
)
from harness.model.id_journal import LOG_IDS, LOG_IDS_DIR, SENT_IDS, SENT_IDS_DIR
from harness.model.journal import (
    COMMITTED_DIR,
    LIVE_DIR,
    OPEN_SENDS,
    READS,
    READS_DIR,
    REPLICAS,
    REPLICAS_DIR,
    SAMPLES,
    SAMPLES_DIR,
    SENDS,
    SENDS_DIR,
    TRANSACTIONS,
    TRANSACTIONS_DIR,
)
from harness.model.result import Summary
from harness.model.run import (
    ClusterInfo,
    FaultWindow,
    FinalRead,
    ImageInfo,
    PartitionBounds,
    RunMeta,
    StepInfo,
)

RUN = 4242
OTHER_RUN = 7
TOPIC = "t"
OUTPUT = "t-out"
"""Output topic of the application of histories that have one."""
SECOND = 1_000_000_000
T0 = 1_700_000_000 * SECOND
"""Times in histories are seconds after this moment."""
FINISHED = 100
"""When the final read ended."""

Row = dict[str, Any]

Check = Callable[..., tuple[Summary, list[Row]]]
"""The fixture `check`: histories and the run's metadata in, summary and findings out."""


def ns(seconds: float | None) -> int | None:
    return None if seconds is None else T0 + round(seconds * SECOND)


def window(name: str, opened: float, closed: float | None, *, verified: bool = True) -> FaultWindow:
    return FaultWindow(
        name=name,
        kind="kill",
        target="leader",
        opened_ns=T0 + round(opened * SECOND),
        closed_ns=ns(closed),
        verified=verified,
    )


def step(index: int, name: str, started: float, ended: float | None, kind: str = "write") -> StepInfo:
    return StepInfo(
        index=index, name=name, kind=kind, started_ns=T0 + round(started * SECOND), ended_ns=ns(ended)
    )


def bounds(partition: int = 0, start: int = 0, end: int = 1000, leader: int = 1) -> PartitionBounds:
    return PartitionBounds(
        topic=TOPIC,
        partition=partition,
        log_start_offset=start,
        end_offset=end,
        leader=leader,
        leader_epoch=3,
    )


def run_meta(**changes: Any) -> RunMeta:
    """Metadata of a finished, complete run; `changes` replace fields."""
    image = ImageInfo(reference="kafka:test", digest="sha256:0", origin="local", kafka_version="4.3.1")
    cluster = ClusterInfo(
        brokers=3,
        controllers=1,
        combined=False,
        profile="fast",
        properties={},
        image=image,
        start_seconds=1.0,
    )
    final = FinalRead(
        complete=True, bounds=(bounds(),), finished_ns=ns(FINISHED), replicas_inspected=(1, 2, 3)
    )
    meta = RunMeta(
        run_id=RUN,
        experiment="hand-built",
        arm="only",
        seed=1,
        topic=TOPIC,
        partitions=1,
        replication_factor=3,
        topic_config={},
        producer_config={},
        acks="all",
        idempotent=False,
        promise={},
        cluster=cluster,
        versions={},
        started_ns=T0,
        ended_ns=ns(FINISHED),
        steps=(step(0, "write", 0, 50),),
        windows=(),
        final_read=final,
        finished=True,
    )
    return meta.model_copy(update=changes)


def application(**changes: Any) -> ApplicationMeta:
    """An application that was drained and whose output was read to its end; `changes` replace fields."""
    whole = ApplicationMeta(output=OUTPUT, guarantee="exactly-once", read_complete=True, drained=True)
    return whole.model_copy(update=changes)


@dataclass
class History:
    """What clients saw. `producer` and `partition` are added to those of every row, so that many histories
    can stand in one run side by side."""

    producer: int = 0
    partition: int = 0
    sends: list[Row] = field(default_factory=list)
    opened: list[Row] = field(default_factory=list)
    reads: list[Row] = field(default_factory=list)
    replicas: list[Row] = field(default_factory=list)
    committed: list[Row] = field(default_factory=list)
    live: list[Row] = field(default_factory=list)
    txns: list[Row] = field(default_factory=list)
    commits: list[Row] = field(default_factory=list)
    owners: list[Row] = field(default_factory=list)
    outputs: list[Row] = field(default_factory=list)
    failures: list[Row] = field(default_factory=list)
    answers: list[Row] = field(default_factory=list)
    sent_ids: list[Row] = field(default_factory=list)
    log_ids: list[Row] = field(default_factory=list)

    def send(
        self,
        seq: int,
        outcome: str = "acked",
        *,
        at: int | None = None,
        producer: int = 0,
        partition: int = 0,
        topic: str = TOPIC,
        key: int | None = None,
        step: int = 0,
        sent: float = 1.0,
        closed: float | None = 2.0,
        error: str | None = None,
        still_open: bool = False,
        txn: int | None = None,
        stamp: float | None = None,
        record_id: str | None = None,
        key_text: str | None = None,
    ) -> History:
        """A send; `stamp` is the time that the producer gave the record (None: it gave none), `record_id` the
        record's own id and `key_text` its key, of a producer of the user's own."""
        if record_id is not None or key_text is not None:
            names = {"id": record_id, "key_text": key_text}
            self.sent_ids.append({"producer": self.producer + producer, "seq": seq, **names})
        (self.opened if still_open else self.sends).append(
            {
                "producer": self.producer + producer,
                "seq": seq,
                "topic": topic,
                "partition": self.partition + partition,
                "key": key,
                "size": 100,
                "step": step,
                "sent_ns": ns(sent),
                "outcome": outcome,
                "closed_ns": ns(closed),
                "offset": at,
                "error": error,
                "txn": txn,
                "timestamp_ms": None if stamp is None else (T0 + round(stamp * SECOND)) // 1_000_000,
            }
        )
        return self

    def txn(
        self,
        number: int,
        outcome: str = "committed",
        *,
        producer: int = 0,
        begun: float = 1,
        ended: float | None = 2,
        polled: tuple[int, int] = (0, 0),
    ) -> History:
        """A transaction of a producer, and how it ended; `polled` is the position of the first record that it
        polled, and the number of these."""
        self.txns.append(
            {
                "producer": self.producer + producer,
                "txn": number,
                "begun_ns": ns(begun),
                "ended_ns": ns(ended),
                "asked": "abort" if outcome == "aborted" else "commit",
                "outcome": outcome,
                "records": 0,
                "error": None,
                "polled_from": polled[0] if polled[1] else None,
                "polled": polled[1] or None,
            }
        )
        return self

    def read(
        self,
        seq: int | None,
        *,
        at: int,
        producer: int | None = 0,
        partition: int = 0,
        topic: str = TOPIC,
        key: int | None = None,
        epoch: int | None = 0,
        state: str = "ok",
        run: int | None = RUN,
        value: bytes | None = None,
        reader: str = "final",
        record_id: str | None = None,
    ) -> History:
        """A record of the final read; `record_id` is its own id."""
        if record_id is not None:
            place = {"topic": topic, "partition": self.partition + partition, "offset": at}
            self.log_ids.append({**place, "id": record_id})
        self.reads.append(
            self._row(reader, seq, at, producer, partition, topic, key, epoch, state, run, value)
        )
        return self

    def read_committed(
        self,
        seq: int | None,
        *,
        at: int,
        producer: int | None = 0,
        partition: int = 0,
        topic: str = TOPIC,
        key: int | None = None,
        run: int | None = RUN,
    ) -> History:
        """A record of the final read of committed records."""
        self.committed.append(
            self._row("committed", seq, at, producer, partition, topic, key, 0, "ok", run, None)
        )
        return self

    def give(
        self,
        seq: int | None,
        *,
        at: int,
        reader: str = "live",
        producer: int | None = 0,
        partition: int = 0,
        topic: str = TOPIC,
        key: int | None = None,
        state: str = "ok",
        run: int | None = RUN,
        session: int = 0,
        read: float = FINISHED,
    ) -> History:
        """A record that a live reader was given, after all that it was given before."""
        row = self._row(reader, seq, at, producer, partition, topic, key, 0, state, run, None)
        position = sum(one["reader"] == reader for one in self.live)
        self.live.append(row | {"session": session, "position": position, "read_ns": ns(read)})
        return self

    def own(
        self, reader: str, begin: float, end: float | None = None, *, how: str = "revoked", partition: int = 0
    ) -> History:
        """A partition is assigned to a live reader at `begin` and given up, or lost, at `end`."""
        events = [(begin, "assigned")] + ([] if end is None else [(end, how)])
        where = {"topic": TOPIC, "partition": self.partition + partition, "offset": None, "member": None}
        self.owners += [
            {"reader": reader, "session": 0, "at_ns": ns(at), "event": event, **where} for at, event in events
        ]
        return self

    def commit(
        self, offset: int, *, reader: str, partition: int = 0, error: str | None = None, at: float = 3
    ) -> History:
        """An offset that a live reader committed."""
        self.commits.append(
            {
                "reader": reader,
                "session": 0,
                "at_ns": ns(at),
                "topic": TOPIC,
                "partition": self.partition + partition,
                "offset": offset,
                "error": error,
            }
        )
        return self

    def answer(self, offset: int | None, *, at: float, group: str = "g", partition: int = 0) -> History:
        """A coordinator's answer about the committed offset of a group (None: it has none)."""
        self.answers.append(
            {
                "group": group,
                "topic": TOPIC,
                "partition": self.partition + partition,
                "asked_ns": ns(at),
                "at_ns": ns(at),
                "source": "fetch",
                "broker": 1,
                "offset": offset,
            }
        )
        return self

    def logged(self, offset: int, *, at: float, group: str = "g", partition: int = 0) -> History:
        """A commit in the coordinator's log, after all that it holds, as two of its replicas have it."""
        of_group = {"group": group, "topic": TOPIC, "partition": self.partition + partition}
        log_offset = sum(row["source"] == "logged" for row in self.answers) // 2
        committed = {"offset": offset, "log_offset": log_offset, "commit_ms": (ns(at) or 0) // 1_000_000}
        asked = {"asked_ns": ns(FINISHED), "at_ns": ns(FINISHED), "source": "logged"}
        self.answers += [of_group | asked | committed | {"broker": broker} for broker in (1, 2)]
        return self

    def handler_failed(self, offset: int, *, at: float, member: int = 0, partition: int = 0) -> History:
        """The handler of a member failed on the record at this offset."""
        where = {"topic": TOPIC, "partition": self.partition + partition, "offset": offset}
        self.failures.append({"at_ns": ns(at), "member": member, "error": "HandlerFailed", **where})
        return self

    def _row(
        self,
        reader: str,
        seq: int | None,
        at: int,
        producer: int | None,
        partition: int,
        topic: str,
        key: int | None,
        epoch: int | None,
        state: str,
        run: int | None,
        value: bytes | None,
    ) -> Row:
        return {
            "reader": reader,
            "topic": topic,
            "partition": self.partition + partition,
            "offset": at,
            "leader_epoch": epoch,
            "timestamp_ms": None,
            "state": state,
            "run": run,
            "producer": None if producer is None else self.producer + producer,
            "seq": seq,
            "key": key,
            "value": value,
            "read_ns": ns(FINISHED),
            "session": None,
            "position": None,
        }

    def output(
        self,
        seq: int | None,
        *,
        at: int,
        producer: int | None = 0,
        partition: int = 0,
        state: str = "ok",
        run: int | None = RUN,
        part: int = 0,
        parts: int = 1,
        made: float | None = 3.0,
        error: str | None = None,
        committed: bool = True,
    ) -> History:
        """An output of an application, made of record `seq`."""
        self.outputs.append(
            {
                "topic": OUTPUT,
                "partition": self.partition + partition,
                "offset": at,
                "leader_epoch": 0,
                "timestamp_ms": None if made is None else (T0 + round(made * SECOND)) // 1_000_000,
                "part": part,
                "parts": parts,
                "state": state,
                "run": run,
                "producer": None if producer is None else self.producer + producer,
                "seq": seq,
                "key": None,
                "value": None if state == "ok" else b"value",
                "error": error,
                "read_ns": ns(FINISHED),
                "committed": committed,
            }
        )
        return self

    def replica(
        self,
        broker: int,
        seq: int,
        *,
        at: int = 0,
        producer: int = 0,
        state: str = "ok",
        run: int = RUN,
        epoch: int = 0,
        crc: int = 0,
        control: bool = False,
    ) -> History:
        self.replicas.append(
            {
                "broker": broker,
                "topic": TOPIC,
                "partition": self.partition,
                "offset": at,
                "leader_epoch": epoch,
                "timestamp_ms": None,
                "control": control,
                "state": state,
                "run": run,
                "producer": self.producer + producer,
                "seq": seq,
                "crc": crc,
            }
        )
        return self


def sample(
    at: float, broker: int, leader: int, epoch: int, *, partition: int = 0, answered: bool = True
) -> Row:
    """What a broker told of a partition's leader at a moment; without an answer, all of that is null."""
    told = {
        "controller": 101,
        "topic": TOPIC,
        "partition": partition,
        "leader": leader,
        "leader_epoch": epoch,
        "isr": [1, 2, 3],
        "log_start_offset": 0,
        "log_end_offset": 0,
        "high_watermark": 0,
    }
    heard = told if answered else dict.fromkeys(told)
    return {"at_ns": ns(at), "broker": broker, "answered": answered, **heard}


def event(at: float, name: str, *, instance: int = 0, detail: str = "{}") -> Row:
    """An event in the life of an application's instance."""
    return {"at_ns": ns(at), "instance": instance, "event": name, "detail": detail}


def write_part(path: Path, rows: Sequence[Row], schema: pa.Schema, row_group: int = 1_000_000) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist(list(rows), schema=schema), path, row_group_size=row_group)


def write_run(
    folder: Path,
    *histories: History,
    meta: RunMeta | None = None,
    files: int = 1,
    reverse: bool = False,
    samples: Sequence[Row] = (),
    events: Sequence[Row] = (),
    row_group: int = 1_000_000,
) -> Path:
    """Write a run folder of all these histories; `files` parts a journal, rows backwards if `reverse`.

    A journal other than sends and reads is there if it has rows, or if the metadata speak of it.
    """
    meta = meta or run_meta()

    def rows_of(attribute: str) -> list[Row]:
        rows = [row for history in histories for row in getattr(history, attribute)]
        return rows[::-1] if reverse else rows

    def write(name: str, rows: list[Row], schema: pa.Schema) -> None:
        for number in range(files):
            write_part(folder / name / f"part-{number:05}.parquet", rows[number::files], schema, row_group)

    final = meta.final_read
    counts = {"records": len(rows_of("reads"))}
    for name, attribute, schema, needed in (
        (SENDS_DIR, "sends", SENDS, True),
        (READS_DIR, "reads", READS, True),
        (REPLICAS_DIR, "replicas", REPLICAS, False),
        (COMMITTED_DIR, "committed", READS, meta.transactional),
        (TRANSACTIONS_DIR, "txns", TRANSACTIONS, meta.transactional),
        (COMMITS_DIR, "commits", COMMITS, False),
        (ASSIGNMENTS_DIR, "owners", ASSIGNMENTS, False),
        (OFFSETS_DIR, "answers", OFFSETS, False),
        (OUTPUTS_DIR, "outputs", OUTPUTS, meta.application is not None),
        (HANDLER_FAILURES_DIR, "failures", HANDLER_FAILURES, False),
        (SENT_IDS_DIR, "sent_ids", SENT_IDS, False),
        (LOG_IDS_DIR, "log_ids", LOG_IDS, meta.ids is not None),
    ):
        rows = rows_of(attribute)
        if rows or needed:
            write(name, rows, schema)
    if meta.transactional:
        counts["committed_records"] = len(rows_of("committed"))
    live = rows_of("live")
    readers = []
    for reader in meta.readers:
        given = [row for row in live if row["reader"] == reader.name]
        write(f"{LIVE_DIR}/{reader.name}", given, READS)
        readers.append(reader.model_copy(update={"records": len(given), "closed": True}))
    if samples:
        write(SAMPLES_DIR, list(samples), SAMPLES)
    if events:
        write(APPLICATION_DIR, list(events), APPLICATION_EVENTS)
    opened = [row for history in histories for row in history.opened]
    if opened:
        write_part(folder / SENDS_DIR / OPEN_SENDS, opened, SENDS)
    meta = meta.model_copy(update={"readers": tuple(readers)})
    if meta.application is not None:
        application = meta.application.model_copy(update={"records": len(rows_of("outputs"))})
        meta = meta.model_copy(update={"application": application})
    if final is not None:
        meta = meta.model_copy(update={"final_read": final.model_copy(update=counts)})
    meta.save(folder)
    return folder


def findings_of(folder: Path) -> list[Row]:
    """The findings that a check left, ordered by identity and offset."""
    rows = pq.read_table(folder / "findings").to_pylist()
    return sorted(
        rows,
        key=lambda row: (
            *(-1 if row[name] is None else row[name] for name in ("producer", "seq")),
            *(row["finding"], row["offsets"], row["detail"]),
        ),
    )
