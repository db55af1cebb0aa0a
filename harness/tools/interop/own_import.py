"""A run folder from journals of a user's own producers, with a final read of their cluster.

docs/how-to/own-producer.md says what such a run does not contain. The final read is proved complete, as that
of any run is; what else is in doubt becomes a problem of the run, so that its verdict is `unknown`.
"""

from __future__ import annotations

import platform
import shutil
import time
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path

import pyarrow.compute as pc

from harness.cluster.live import LiveCluster
from harness.cluster.running_cluster import running_cluster
from harness.model.errors import BadInput
from harness.model.id_journal import LOG_IDS_DIR, SENT_IDS, SENT_IDS_DIR
from harness.model.journal import SENDS_DIR, TRANSACTIONS, TRANSACTIONS_DIR
from harness.model.journal_reader import journal_batches
from harness.model.run import RecordIds, RunMeta, StepInfo
from harness.run.preflight.feasibility import external_cluster_spec
from harness.run.reads.final_read import FinalReadTarget, final_read
from harness.tools.interop.run_folder import new_run_folder
from workloads.own.client_settings import ClientSettings, Judged, corrected
from workloads.own.journal_files import files_of, take_over_files, target_of
from workloads.own.log_ids import log_ids
from workloads.own.producer_folder import ProducerTarget
from workloads.records.config.id_spec import IdSpec
from workloads.records.config.producer_settings import CLIENT_TRANSACTION_TIMEOUT_MS
from workloads.records.journal.row_journal import RowJournal
from workloads.records.producer.send_journal import SendJournal
from workloads.records.reader.final_reader import AlsoWritten

_VIEW_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class OwnImport:
    """What to import: folders of journals and files of events (`*.jsonl`), the cluster with the topic that
    they wrote, how their producers were configured, and where records have an id of their own (`ids`; None:
    where the journals' folder says)."""

    journals: tuple[Path, ...]
    bootstrap_servers: str
    client_config: Path | None = None
    idempotent: bool = False
    max_in_flight: int | None = None
    transaction_timeout_ms: int = CLIENT_TRANSACTION_TIMEOUT_MS
    ids: IdSpec | None = None


def import_own(request: OwnImport, folder: Path) -> RunMeta:
    """Write the run folder, and read the topic to its end.

    Raises:
        BadInput: the folder is not empty, the journals are of different runs, a line of events cannot be
            used, or the topic is not there.
        ClusterError: the cluster does not answer.
        JournalError: the run folder cannot be written.
    """
    with new_run_folder(folder) as scratch:
        return _import(request, scratch)


def _common_target(journals: tuple[Path, ...]) -> ProducerTarget:
    targets = {path: target_of(path) for path in journals}
    first = targets[journals[0]]
    for path, other in targets.items():
        if (other.run_id, other.topic, other.acks) != (first.run_id, first.topic, first.acks):
            raise BadInput(
                "the journals are of different runs",
                where=f"{journals[0]} and {path}",
                expected=f"run {first.run_id}, topic {first.topic}, acks={first.acks}",
                found=f"run {other.run_id}, topic {other.topic}, acks={other.acks}",
                next_step="import them as runs of their own",
            )
    places = list(dict.fromkeys(target.id for target in targets.values() if target.id is not None))
    if len(places) > 1:
        raise BadInput(
            "the journals name several places of the id that records have of their own",
            where=", ".join(map(str, journals)),
            expected="one place",
            found="; ".join(place.words() for place in places),
            next_step="import them as runs of their own",
        )
    return replace(first, id=places[0] if places else None)


def _import(request: OwnImport, folder: Path) -> RunMeta:
    target = _common_target(request.journals)
    config = None if request.client_config is None else str(request.client_config.resolve())
    spec = external_cluster_spec(request.bootstrap_servers, config)
    ids = request.ids or target.id
    told: dict[int, ClientSettings] = {}
    problems: list[str] = []
    producers = 0
    transactions = folder / TRANSACTIONS_DIR
    with (
        SendJournal(folder / SENDS_DIR, target.topic) as sends,
        RowJournal(transactions, TRANSACTIONS) as rows,
        RowJournal(folder / SENT_IDS_DIR, SENT_IDS) as sent_ids,
    ):
        files = [file for path in request.journals for file in files_of(path)]
        for one in take_over_files(files, target, sends, rows, ids=sent_ids):
            if isinstance(one.problem, BadInput):
                raise one.problem
            if one.problem is not None:
                problems.append(one.problem)
            if one.producer is not None:
                producers += 1
                if one.settings is not None:
                    told[one.producer] = one.settings
    transactional = any(table.num_rows for table in journal_batches(transactions))
    if not transactional:
        shutil.rmtree(transactions)
    began, wrote = _times(folder)
    with running_cluster(spec, folder) as cluster:
        partitions, replicas = shape_of(cluster, target.topic)
        topic_config = cluster.admin().config(target.topic)
        topic_to_read = FinalReadTarget(
            target.topic,
            partitions,
            replicas,
            target.run_id,
            request.transaction_timeout_ms / 1000 if transactional else None,
            compacted="compact" in topic_config.get("cleanup.policy", ""),
            also=None if ids is None else AlsoWritten(folder / LOG_IDS_DIR, log_ids(ids, target.topic)),
        )
        meta = RunMeta(
            run_id=target.run_id,
            experiment="imported",
            arm=target.topic,
            topic=target.topic,
            partitions=partitions,
            replication_factor=replicas,
            topic_config=topic_config,
            acks=target.acks,
            idempotent=request.idempotent or transactional,
            transactional=transactional,
            max_in_flight=request.max_in_flight,
            client="own",
            cluster=cluster.info(),
            versions={"python": platform.python_version(), "kafka-chaos": version("kafka-chaos")},
            started_ns=began,
            steps=(StepInfo(index=0, name="imported", kind="write", started_ns=began, ended_ns=wrote),),
            final_read=final_read(cluster, topic_to_read, folder),
            finished=True,
            ids=None if ids is None else RecordIds(place=ids.words(), times=ids.times),
            problems=tuple(problems),
            skipped=cluster.remarks(),
        )
    of_command = Judged(target.acks, request.idempotent or transactional, request.max_in_flight)
    its_own = corrected(of_command, told, producers=producers, named="the command")
    meta = meta.model_copy(update={**its_own, "ended_ns": time.time_ns()})
    meta.save(folder)
    return meta


def _times(folder: Path) -> tuple[int, int]:
    """When the first record was sent, and when the last one."""
    spans = [
        pc.min_max(table["sent_ns"]).as_py()
        for table in journal_batches(folder / SENDS_DIR, ["sent_ns"])
        if table.num_rows
    ]
    now = time.time_ns()
    return min((span["min"] for span in spans), default=now), max(
        (span["max"] for span in spans), default=now
    )


def shape_of(cluster: LiveCluster, topic: str) -> tuple[int, int]:
    """The numbers of partitions and of replicas of a topic.

    Raises:
        BadInput: no broker knows the topic.
    """
    view = cluster.view((topic,), timeout=_VIEW_SECONDS)
    known = [state for broker in view.answered() for state in broker.partitions if state.topic == topic]
    if not known:
        raise BadInput(
            "the topic is not there",
            where=cluster.bootstrap,
            expected=f"the topic {topic}",
            found="a cluster whose brokers do not know it",
            next_step="correct --bootstrap-servers; a topic that was deleted cannot be read any more",
        )
    return max(state.partition for state in known) + 1, max(len(state.replicas) for state in known)
