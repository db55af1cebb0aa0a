"""A run folder from a list of the ids that were sent, and the topic that has them: `import-ids --topic`.

The list is all that is known of the sends: no time, no partition and no offset. The records have no identity
but their ids, so these are all that is judged. The final read is proved complete, as that of any run is.
"""

from __future__ import annotations

import platform
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from harness.cluster.running_cluster import running_cluster
from harness.model.id_journal import LOG_IDS_DIR, SENT_IDS, SENT_IDS_DIR
from harness.model.journal import SENDS, SENDS_DIR
from harness.model.run import FinalRead, RecordIds, RunMeta, StepInfo
from harness.run.preflight.feasibility import external_cluster_spec
from harness.run.reads.final_read import FinalReadTarget, final_read
from harness.tools.interop.ledger_check import LedgerRequest, read_sent, sent_words
from harness.tools.interop.own_import import shape_of
from harness.tools.interop.run_folder import new_run_folder
from workloads.own.log_ids import log_ids
from workloads.own.own_journal import ANY_PARTITION
from workloads.own.producer_folder import new_run_id
from workloads.records.config.id_spec import IdSpec
from workloads.records.journal.parquet_parts import PartWriter
from workloads.records.reader.final_reader import AlsoWritten

_ROWS = 100_000
"""Sends of one part of the journals."""


@dataclass(frozen=True, slots=True)
class IdsImport:
    """The lists of sends (`lists`, whose `received` is not used), the topic with its cluster, and the place
    of the id in its records."""

    lists: LedgerRequest
    topic: str
    bootstrap_servers: str
    place: IdSpec
    client_config: Path | None = None


def import_ids(request: IdsImport, folder: Path) -> tuple[RunMeta, tuple[str, ...]]:
    """Write the run folder, and read the topic to its end.

    Returns:
        The run, and a line about each list.

    Raises:
        BadInput: the folder is not empty, a list or a column cannot be used, or the topic is not there.
        ClusterError: the cluster does not answer.
        JournalError: the run folder cannot be written.
    """
    words = sent_words(request.lists)
    with (
        TemporaryDirectory(prefix="kafka-chaos-ids-") as name,
        ExitStack() as stack,
        new_run_folder(folder) as scratch,
    ):
        lists = read_sent(request.lists, words, Path(name), stack)
        meta = _read_topic(request, scratch)
        rows = _write_sends(Path(name), scratch, request.topic, meta.started_ns)
        problems = [problem for one in lists for problem in one.problems]
        if not rows:
            problems.append("the lists of sends have no row")
        meta = meta.model_copy(update={"problems": (*problems, *meta.problems), "ended_ns": time.time_ns()})
        meta.save(scratch)
    return meta, tuple(one.line for one in lists)


def _read_topic(request: IdsImport, folder: Path) -> RunMeta:
    """Read the topic, and say what the run is."""
    began, topic, place = time.time_ns(), request.topic, request.place
    config = None if request.client_config is None else str(request.client_config.resolve())
    with running_cluster(external_cluster_spec(request.bootstrap_servers, config), folder) as cluster:
        partitions, replicas = shape_of(cluster, topic)
        topic_config = cluster.admin().config(topic)
        compacted = "compact" in topic_config.get("cleanup.policy", "")
        also = AlsoWritten(folder / LOG_IDS_DIR, log_ids(place, topic))
        run_id = new_run_id()
        target = FinalReadTarget(topic, partitions, replicas, run_id, compacted=compacted, also=also)
        read = final_read(cluster, target, folder)
        return RunMeta(
            run_id=run_id,
            experiment="import-ids",
            arm=topic,
            topic=topic,
            partitions=partitions,
            replication_factor=replicas,
            topic_config=topic_config,
            acks="all",
            idempotent=False,
            client="a list of ids",
            cluster=cluster.info(),
            versions={"python": platform.python_version(), "kafka-chaos": version("kafka-chaos")},
            started_ns=began,
            steps=(StepInfo(index=0, name="imported", kind="write", started_ns=began, ended_ns=began),),
            final_read=read,
            finished=True,
            ids=RecordIds(place=place.words(), times=place.times, alone=True),
            problems=tuple(_may_be_gone(read, compacted=compacted)),
            skipped=cluster.remarks(),
        )


def _may_be_gone(read: FinalRead, *, compacted: bool) -> Iterator[str]:
    """Why an id that is missing may have been in the log; when it was sent is not known."""
    if compacted:
        yield "the topic is compacted: an id that is missing may have been removed"
    for bound in read.bounds:
        if bound.log_start_offset > 0:
            yield (
                f"{bound.topic}, partition {bound.partition} begins at offset {bound.log_start_offset:,}: an "
                "id that is missing may have been in what was deleted before it"
            )


def _write_sends(lists: Path, folder: Path, topic: str, at_ns: int) -> int:
    """Write the journals of sends and of their ids from the lists, whose rows are numbered as sends of one
    producer; returns their number. Nobody knows when they were sent: `at_ns` stands for it."""
    sends, ids = PartWriter(folder / SENDS_DIR), PartWriter(folder / SENT_IDS_DIR)
    number = 0
    for path in sorted(lists.glob("*.parquet"), key=lambda path: int(path.stem)):
        for batch in pq.ParquetFile(path).iter_batches(_ROWS):
            seqs = np.arange(number, number + batch.num_rows)
            number += batch.num_rows
            known = {"seq": seqs, "outcome": batch["outcome"], "id": batch["id"]}
            fixed = {"producer": 0, "topic": topic, "partition": ANY_PARTITION, "size": 0, "step": 0}
            sends.write(_table(SENDS, known, {**fixed, "sent_ns": at_ns}))
            ids.write(_table(SENT_IDS, known, fixed))
    for writer, schema in ((sends, SENDS), (ids, SENT_IDS)):
        if not writer.wrote:
            writer.write(schema.empty_table())
    return number


def _table(schema: pa.Schema, known: dict[str, Sequence[object]], fixed: dict[str, object]) -> pa.Table:
    """Rows of `schema` with the `known` columns, and one value in each of the others (null: it has none)."""
    rows = len(known["seq"])
    columns = [
        pa.array(known[field.name], field.type)
        if field.name in known
        else pa.repeat(pa.scalar(fixed.get(field.name), field.type), rows)
        for field in schema
    ]
    return pa.Table.from_arrays(columns, schema=schema)
