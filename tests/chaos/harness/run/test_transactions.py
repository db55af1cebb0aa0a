"""Transactions, live readers and groups on real brokers; what the journals say is checked here by hand."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.dataset as ds
import pytest

from harness.cluster.convergence import settle
from harness.cluster.managed import ManagedCluster
from harness.model.run import RunMeta
from harness.run.experiment_run import ExperimentRun
from harness.spec.cluster import ClusterSpec
from harness.spec.experiment import Experiment
from tests.chaos.support.windows import not_proved
from tests.support.processed_keys import source_of

pytestmark = pytest.mark.chaos

Rows = list[dict[str, Any]]
Identity = tuple[int, int]
SEED = 11


class Ran:
    """One arm that was run, and its journals."""

    def __init__(self, cluster: ManagedCluster, experiment: dict[str, Any], arm: str, folder: Path) -> None:
        made = Experiment.model_validate(experiment)
        chosen = next(one for one in made.arms if one.name == arm)
        self.meta: RunMeta
        (self.meta,) = ExperimentRun(cluster, made, {folder: chosen}, SEED).execute()
        self.folder = folder

    def rows(self, name: str) -> Rows:
        found: Rows = ds.dataset(self.folder / name, format="parquet").to_table().to_pylist()
        return found

    def sound(self) -> None:
        assert self.meta.problems == ()
        assert self.meta.final_read is not None
        assert self.meta.final_read.complete, self.meta.final_read.reasons
        assert not_proved(self.meta) == []


def identities(rows: Rows) -> set[Identity]:
    return {(row["producer"], row["seq"]) for row in rows}


def by_outcome(ran: Ran) -> dict[str, set[Identity]]:
    """Acknowledged sends by what became of their transaction."""
    outcome = {(row["producer"], row["txn"]): row["outcome"] for row in ran.rows("transactions")}
    found: dict[str, set[Identity]] = defaultdict(set)
    for row in ran.rows("sends"):
        if row["outcome"] == "acked":
            found[outcome[row["producer"], row["txn"]]].add((row["producer"], row["seq"]))
    return found


def base(**changes: Any) -> dict[str, Any]:
    return {
        "name": "txn",
        "title": "t",
        "topic": {"partitions": 3, "replication_factor": 3, "config": {"min.insync.replicas": 2}},
        "workload": {"producers": 2, "rate": 1500, "transactions": {"records": 30, "abort": 0.25}},
        # By records, not by time: a busy machine writes them later, not fewer.
        "steps": [{"write": {"name": "w", "records": 1500, "at_most": 150}}],
        "arms": [
            {
                "name": "a",
                "producer": {"delivery.timeout.ms": 30000, "transaction.timeout.ms": 40000},
            }
        ],
        **changes,
    }


KILL = {"fault": {"kill": {"target": {"leader": 0}}}, "after": {"acked": 1000}, "for": 4}
READERS = [
    {"name": "everything"},
    {"name": "committed", "isolation": "read_committed"},
    {
        "name": "work",
        "group": "work",
        "members": 2,
        "isolation": "read_committed",
        "commits": "manual",
        "restarts": [3, 7],
    },
]


@pytest.fixture(scope="module")
def killed(cluster: ManagedCluster, tmp_path_factory: pytest.TempPathFactory) -> Ran:
    """Transactions while the leader of partition 0 is killed, with readers of all kinds."""
    steps = [{"write": {"name": "w", "records": 8000, "at_most": 150, "faults": [KILL]}}]
    return Ran(cluster, base(steps=steps, readers=READERS), "a", tmp_path_factory.mktemp("killed"))


def test_the_committed_read_holds_exactly_the_committed_transactions(killed: Ran) -> None:
    killed.sound()
    final = killed.meta.final_read
    assert final is not None
    became = by_outcome(killed)
    assert len(became["committed"]) > 1000
    assert len(became["aborted"]) > 100
    print(Counter((row["asked"], row["outcome"], row["error"]) for row in killed.rows("transactions")))
    everything, committed = identities(killed.rows("reads")), identities(killed.rows("committed"))
    assert became["committed"] <= committed
    assert not became["aborted"] & committed
    assert became["aborted"] <= everything, "aborted records are in the log: the control"
    assert final.committed_records == len(killed.rows("committed"))
    assert final.records == len(killed.rows("reads"))


def test_every_transaction_has_a_row_that_fits_its_sends(killed: Ran) -> None:
    txns = killed.rows("transactions")
    sends = killed.rows("sends")
    counted = Counter((row["producer"], row["txn"]) for row in sends)
    assert counted == {(row["producer"], row["txn"]): row["records"] for row in txns if row["records"]}
    partitions = defaultdict(set)
    for row in sends:
        partitions[row["producer"], row["txn"]].add(row["partition"])
    assert max(map(len, partitions.values())) == 3
    assert {row["outcome"] for row in txns} >= {"committed", "aborted"}


def test_live_readers_were_given_what_their_isolation_allows(killed: Ran) -> None:
    became = by_outcome(killed)
    plain = identities(killed.rows("live/everything"))
    careful = identities(killed.rows("live/committed"))
    assert became["committed"] | became["aborted"] <= plain
    assert became["committed"] <= careful
    assert not became["aborted"] & careful
    for name in ("everything", "committed"):
        last: dict[tuple[int, int], int] = defaultdict(lambda: -1)
        for row in sorted(killed.rows(f"live/{name}"), key=lambda row: row["position"]):
            place = (row["session"], row["partition"])
            assert row["offset"] > last[place]
            last[place] = row["offset"]
    infos = {info.name: info for info in killed.meta.readers}
    assert set(infos) == {"everything", "committed", "work-0", "work-1"}
    assert all(info.closed for info in infos.values())
    assert infos["committed"].committed


def test_the_group_came_through_its_rebalances(killed: Ran) -> None:
    became = by_outcome(killed)
    both = killed.rows("live/work-0") + killed.rows("live/work-1")
    assert became["committed"] <= identities(both)
    assert not became["aborted"] & identities(both)
    moved = [row for row in killed.rows("assignments") if row["reader"].startswith("work")]
    assert {row["event"] for row in moved} >= {"assigned", "revoked"}
    assert max(row["session"] for row in moved) >= 1
    commits = [row for row in killed.rows("commits") if row["error"] is None]
    ends = {bound.partition: bound.end_offset for bound in killed.meta.final_read.bounds}  # type: ignore[union-attr]
    assert {row["partition"] for row in commits} == {0, 1, 2}
    assert all(row["offset"] <= ends[row["partition"]] for row in commits)


def test_without_transactions_nothing_of_them_is_there(cluster: ManagedCluster, tmp_path: Path) -> None:
    plain = Ran(cluster, base(workload={"rate": 500}), "a", tmp_path)
    plain.sound()
    assert plain.meta.final_read is not None
    assert plain.meta.final_read.committed_records is None
    assert not plain.meta.transactional
    names = {entry.name for entry in tmp_path.iterdir()}
    assert not names & {"transactions", "committed", "live", "assignments", "commits"}
    assert {row["txn"] for row in plain.rows("sends")} == {None}


@pytest.mark.parametrize("fence_every", [pytest.param(4, marks=pytest.mark.soak), None])
def test_a_fenced_producers_transaction_is_aborted(
    cluster: ManagedCluster, tmp_path: Path, fence_every: int | None
) -> None:
    transactions = {"records": 20, "fence_every": fence_every}
    ran = Ran(cluster, base(workload={"rate": 300, "transactions": transactions}), "a", tmp_path)
    ran.sound()
    rows = ran.rows("transactions")
    fenced = [row for row in rows if row["error"] is not None]
    if fence_every is None:
        assert fenced == []
        assert {row["outcome"] for row in rows} == {"committed"}
        return
    assert fenced
    assert {row["txn"] % 4 for row in fenced} == {3}
    assert {(row["asked"], row["outcome"]) for row in fenced} == {("commit", "aborted")}
    print(Counter(row["error"] for row in fenced))
    became = by_outcome(ran)
    committed = identities(ran.rows("committed"))
    assert became["aborted"]
    assert became["aborted"] <= identities(ran.rows("reads"))
    assert not became["aborted"] & committed
    assert became["committed"] == committed


@pytest.mark.parametrize("transactional_id", ["same", "own"])
def test_a_producer_whose_id_a_rival_takes_is_fenced(
    cluster: ManagedCluster, tmp_path: Path, transactional_id: str
) -> None:
    rival = {"name": "over", "of": 1, "records": 60, "transactional_id": transactional_id}
    steps = [
        {"write": {"name": "before", "records": 60}},
        {"rival": rival},
        {"write": {"name": "after", "records": 90}},
    ]
    workload = {"producers": 2, "transactions": {"records": 30}}
    ran = Ran(cluster, base(steps=steps, workload=workload, readers=READERS[:2]), "a", tmp_path)
    ran.sound()
    # Producers 0 and 1 have written a transaction each; the rival is producer 2.
    (met,) = [row for row in ran.rows("transactions") if (row["producer"], row["txn"]) == (1, 1)]
    sends = ran.rows("sends")
    mine = {row["seq"]: row for row in sends if (row["producer"], row["txn"]) == (1, 1)}
    early, late = ({(1, seq) for seq in sorted(mine)[part]} for part in (slice(60), slice(60, None)))
    after = Counter(row["producer"] for row in sends if row["step"] == 2)
    print(met, Counter((row["outcome"], row["error"]) for row in mine.values()))
    log, committed = identities(ran.rows("reads")), identities(ran.rows("committed"))
    assert early <= log
    if transactional_id == "own":
        assert (met["outcome"], met["error"], met["records"]) == ("committed", None, 120)
        assert early | late <= committed
        assert after == {0: 30, 1: 30, 2: 30}
        return
    assert (met["outcome"], met["error"]) == ("aborted", "_FENCED")
    assert {mine[seq]["outcome"] for _, seq in early} == {"acked"}
    assert not late & log, "what was sent after the take-over was refused"
    assert not early & (committed | identities(ran.rows("live/committed")))
    assert early <= identities(ran.rows("live/everything")), "the control: they were in the log"
    assert after == {0: 45, 2: 45}
    assert {(2, seq) for seq in range(105)} <= committed


@pytest.fixture(scope="module")
def racked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ManagedCluster]:
    with ManagedCluster(ClusterSpec(racks=True), log_folder=tmp_path_factory.mktemp("logs")) as started:
        yield started


@pytest.mark.soak
def test_a_reader_in_a_rack_is_served_by_the_follower_there(racked: ManagedCluster, tmp_path: Path) -> None:
    experiment = base(
        cluster={"racks": True},
        topic={"partitions": 3, "replication_factor": 3},
        workload={"rate": 500},
        readers=[{"name": "near", "rack": "r2"}, {"name": "plain"}],
    )
    ran = Ran(racked, experiment, "a", tmp_path)
    ran.sound()
    there = identities(ran.rows("reads"))
    assert len(there) > 1000
    assert identities(ran.rows("live/near")) == there
    assert identities(ran.rows("live/plain")) == there
    assert {info.name: info.rack for info in ran.meta.readers} == {"near": "r2", "plain": None}


@pytest.mark.soak
def test_the_control_a_rack_that_no_follower_is_in(cluster: ManagedCluster, tmp_path: Path) -> None:
    """On a cluster without racks the same reader is served by leaders, and that is told."""
    experiment = base(
        cluster={"racks": True}, workload={"rate": 500}, readers=[{"name": "near", "rack": "r2"}]
    )
    ran = Ran(cluster, experiment, "a", tmp_path)
    assert ran.meta.problems == ("reader near has rack r2, but never fetched from a follower",)
    assert identities(ran.rows("live/near")) == identities(ran.rows("reads"))


@pytest.mark.soak
def test_a_coordinator_that_dies_takes_no_committed_transaction_along(
    cluster: ManagedCluster, tmp_path: Path
) -> None:
    target = {"coordinator": {"transactional_id": "kafka-chaos-0"}}
    fault = {"fault": {"kill": {"target": target}}, "after": {"acked": 500}, "for": 3}
    steps = [{"write": {"name": "w", "records": 6000, "at_most": 150, "faults": [fault]}}]
    ran = Ran(cluster, base(steps=steps), "a", tmp_path)
    ran.sound()
    became = by_outcome(ran)
    committed = identities(ran.rows("committed"))
    assert became["committed"] <= committed
    assert not became["aborted"] & committed


@pytest.mark.soak
def test_processors_process_each_committed_record_once(cluster: ManagedCluster, tmp_path: Path) -> None:
    """Exactly once, though a leader is killed, a member restarts and a third of the batches is aborted."""
    workload = {
        "rate": 1000,
        "transactions": {"records": 30, "abort": 0.2},
        "process": {"members": 2, "records": 50, "abort": 0.3, "restarts": [5]},
    }
    steps = [{"write": {"name": "w", "records": 4000, "at_most": 150, "faults": [KILL]}}]
    ran = Ran(cluster, base(workload=workload, steps=steps), "a", tmp_path)
    ran.sound()
    topic = ran.meta.topic
    outcomes = Counter((row["producer"], row["outcome"]) for row in ran.rows("transactions"))
    assert outcomes[1, "aborted"] + outcomes[2, "aborted"] > 0
    source = [row for row in ran.rows("committed") if row["topic"] == topic]
    made = [row for row in ran.rows("committed") if row["topic"] != topic]
    keys = Counter(source_of(row["key"]) for row in made)
    assert max(keys.values()) == 1
    assert set(keys) == {(row["partition"], row["offset"]) for row in source}
    log = [row for row in ran.rows("reads") if row["topic"] != topic]
    assert len(log) > len(made), "the control: what was aborted is in the log"
    assert {info.commits for info in ran.meta.readers} == {"transaction"}


@pytest.mark.soak
def test_an_open_transaction_is_waited_for(cluster: ManagedCluster, tmp_path: Path) -> None:
    """A producer that is stopped in the middle leaves a transaction open; nobody commits it."""
    from confluent_kafka import Producer

    topic, timeout_seconds = "left-open", 15
    admin = cluster.admin()
    admin.create(topic, partitions=1, replication_factor=3, config={})
    settle(cluster, topic, 1, 3, 60)
    from harness.run.reads.final_read import FinalReadTarget, final_read

    producer = Producer(
        {
            "bootstrap.servers": cluster.bootstrap,
            "transactional.id": "left-open",
            # So long that it is still open when the final read begins, on a busy machine too.
            "transaction.timeout.ms": timeout_seconds * 1000,
            "message.timeout.ms": timeout_seconds * 1000,
        }
    )
    producer.init_transactions(120)
    producer.begin_transaction()
    for number in range(10):
        producer.produce(topic, b"x%d" % number, partition=0)
    assert producer.flush(timeout_seconds) == 0
    for name in ("sends", "reads"):
        (tmp_path / name).mkdir()
    began = time.monotonic()
    read = final_read(cluster, FinalReadTarget(topic, 1, 3, 1, float(timeout_seconds)), tmp_path)
    assert read.complete, read.reasons
    assert (read.records, read.committed_records) == (10, 0)
    assert read.bounds[0].end_offset == 11, "the coordinator's marker is there"
    assert time.monotonic() - began > 3
    del producer
    admin.delete(topic)


def test_a_transactional_id_is_initialised_with_an_epoch_and_its_owner_is_fenced(
    cluster: ManagedCluster, tmp_path: Path
) -> None:
    init = "init_producer_id"
    drive = {"by": "writer", "do": ["begin", {"send": {}}]}
    experiment = base(
        workload={"client": "driven", "driven": {"transactional": True}},
        steps=[
            {init: {"name": "old", "of": "writer", "epoch": 40}},
            {"drive": {"name": "one", **drive}},
            {init: {"name": "fence", "of": "writer"}},
            {"drive": {"name": "two", "by": "writer", "do": ["commit"]}},
            {init: {"name": "other", "of": "other"}},
            {"drive": {"name": "three", **drive, "by": "other"}},
            {"drive": {"name": "four", "by": "other", "do": ["commit"]}},
        ],
    )
    ran = Ran(cluster, experiment, "a", tmp_path / "run")
    ran.sound()
    epochs = {row["ask"]: (row["error"], row["number"]) for row in ran.rows("answers")}
    # The abort makes it 41, and the answer after it has the next.
    assert epochs == {"old": (None, 39), "fence": (None, 42), "other": (None, 0)}
    ended = {row["producer"]: (row["outcome"], row["error"]) for row in ran.rows("transactions")}
    assert ended[0][0] != "committed"
    assert ended[0][1] is not None, "its commit was refused"
    assert ended[1] == ("committed", None), "a control: it was not initialised meanwhile"
