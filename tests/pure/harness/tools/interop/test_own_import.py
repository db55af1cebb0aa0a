"""`kafka-chaos import-sends`: journals of own producers in, a run folder out; nothing half."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from harness.cli.app import app
from harness.model.errors import BadInput
from harness.model.id_journal import SENT_IDS_DIR
from harness.model.journal import SENDS_DIR, TRANSACTIONS_DIR, SendOutcome, TxnOutcome
from harness.model.journal_reader import journal_rows
from harness.model.run import UNKNOWN_CLUSTER, FinalRead, RecordIds, RunMeta
from harness.run.reads.final_read import FinalReadTarget
from harness.spec.cluster import ClusterSpec
from harness.tools.interop import own_import
from harness.tools.interop.own_import import OwnImport, import_own
from tests.support.builders.views import quiet, view
from workloads.own.client_settings import ClientSettings
from workloads.own.own_journal import BegunTransaction, OwnJournal
from workloads.own.producer_folder import ProducerFolder, ProducerTarget
from workloads.records.config.id_spec import IdSpec

pytestmark = pytest.mark.pure

SERVERS = "there:9092"


class StandIn:
    """A cluster with one topic, `t`."""

    bootstrap = SERVERS

    def view(self, _topics: Any, timeout: float) -> Any:
        assert timeout
        return quiet() if self.known else view()

    def admin(self) -> StandIn:
        return self

    def config(self, _topic: str) -> dict[str, str]:
        return {"cleanup.policy": "delete"}

    def info(self) -> Any:
        return UNKNOWN_CLUSTER

    def remarks(self) -> tuple[str, ...]:
        return ("not ours",)

    known = True


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> StandIn:
    """Stand-ins for the cluster and its final read, whose target they keep."""
    cluster = StandIn()

    @contextmanager
    def running(_spec: ClusterSpec, _logs: Path) -> Iterator[StandIn]:
        yield cluster

    def read(_cluster: StandIn, target: FinalReadTarget, _folder: Path) -> FinalRead:
        cluster.target = target  # type: ignore[attr-defined]
        return FinalRead(complete=True, records=3)

    monkeypatch.setattr(own_import, "running_cluster", running)
    monkeypatch.setattr(own_import, "final_read", read)
    monkeypatch.setattr(own_import, "external_cluster_spec", lambda *_: ClusterSpec())
    return cluster


def journals(path: Path, *, sends: int = 3, closed: bool = True, run_id: int = 5) -> Path:
    folder = ProducerFolder(path)
    folder.create(ProducerTarget(run_id, "t"))
    number, file = folder.claim()
    journal = OwnJournal(file, number, folder.target())
    for _ in range(sends):
        seq = journal.sent(time.time_ns(), 0, None, 10)
        journal.report(seq, SendOutcome.ACKED, at_ns=seq, offset=seq, partition=0)
    if closed:
        journal.close()
    return path


def events(path: Path, *lines: dict[str, Any], end: bool = True, producer: int = 7) -> Path:
    begin = {"event": "begin", "producer": producer, "run": 5, "topic": "t"}
    written = [begin, *lines, *([{"event": "end"}] if end else [])]
    path.write_text("".join(json.dumps(one) + "\n" for one in written))
    return path


def test_a_run_folder_comes_of_it(cluster: StandIn, tmp_path: Path) -> None:
    folder = journals(tmp_path / "sent")
    events(folder / "in-the-folder.jsonl", {"event": "sent", "seq": 0, "time_ms": 1000})
    beside = events(tmp_path / "beside.jsonl", {"event": "sent", "seq": 0, "time_ms": 2000}, producer=8)
    target = tmp_path / "run"
    meta = import_own(OwnImport((folder, beside), SERVERS, max_in_flight=1), target)
    assert RunMeta.load(target) == meta
    assert (meta.run_id, meta.topic, meta.partitions, meta.replication_factor) == (5, "t", 1, 3)
    assert (meta.acks, meta.idempotent, meta.transactional, meta.client) == ("all", False, False, "own")
    assert (meta.max_in_flight, meta.problems, meta.finished) == (1, (), True)
    assert meta.steps[0].started_ns == 1_000_000_000
    sends = [(row["producer"], row["seq"], row["outcome"]) for row in journal_rows(target / SENDS_DIR)]
    assert sorted(sends) == [
        (0, 0, "acked"),
        (0, 1, "acked"),
        (0, 2, "acked"),
        (7, 0, "indeterminate"),
        (8, 0, "indeterminate"),
    ]
    assert not (target / TRANSACTIONS_DIR).exists()
    assert cluster.target == FinalReadTarget("t", 1, 3, 5)  # type: ignore[attr-defined]
    names = {"target.json", "0.jsonl", "in-the-folder.jsonl"}
    assert {one.name for one in folder.iterdir()} == names, "the source stays as it is"
    assert not list(tmp_path.glob(".*importing"))


@pytest.mark.usefixtures("cluster")
def test_a_client_that_says_how_it_is_configured_is_judged_by_that(tmp_path: Path) -> None:
    folder = ProducerFolder(tmp_path / "sent")
    folder.create(ProducerTarget(5, "t"))
    for acks, idempotent in (("all", True), ("1", False)):
        number, file = folder.claim()
        OwnJournal(file, number, folder.target(), ClientSettings("x 1", acks, idempotent, 5)).close()
    meta = import_own(OwnImport((folder.path,), SERVERS, idempotent=True), tmp_path / "run")
    assert (meta.acks, meta.idempotent, meta.max_in_flight) == ("1", False, 5)
    assert meta.producer_config["acks"] == "all, 1"
    assert meta.remarks == (
        "producer 1 (x 1) has acks=1 (the command says all) and enable.idempotence=false (the command says "
        "true): it is judged by its own settings",
    )


def test_transactions_make_a_transactional_run(cluster: StandIn, tmp_path: Path) -> None:
    folder = journals(tmp_path / "sent", sends=0)
    number, file = ProducerFolder(folder).claim()
    journal = OwnJournal(file, number, ProducerFolder(folder).target())
    journal.sent(time.time_ns(), 0, None, 1, txn=0)
    journal.transaction(BegunTransaction(0, 1, commit_requested=True), TxnOutcome.COMMITTED)
    journal.close()
    meta = import_own(OwnImport((folder,), SERVERS, transaction_timeout_ms=9000), tmp_path / "run")
    assert (meta.transactional, meta.idempotent) == (True, True)
    assert cluster.target.transaction_seconds == 9.0  # type: ignore[attr-defined]
    assert len(list(journal_rows(tmp_path / "run" / TRANSACTIONS_DIR))) == 1


@pytest.mark.usefixtures("cluster")
def test_what_is_in_doubt_is_a_problem_and_printed(tmp_path: Path) -> None:
    folder = journals(tmp_path / "sent", closed=False)
    cut = events(tmp_path / "cut.jsonl", end=False)
    options = ["--journal", str(folder), "--journal", str(cut), "--bootstrap-servers", SERVERS]
    done = CliRunner().invoke(app, ["import-sends", str(tmp_path / "run"), *options])
    assert done.exit_code == 0, done.output
    assert "cut.jsonl does not end with `end`" in done.output
    assert "0.jsonl does not end with `end`" in done.output
    assert f"kafka-chaos check {tmp_path / 'run'}" in done.output
    assert len(RunMeta.load(tmp_path / "run").problems) == 2


def refusal(tmp_path: Path, *sources: Path) -> str:
    with pytest.raises(BadInput) as refused:
        import_own(OwnImport(sources, SERVERS), tmp_path / "run")
    assert not (tmp_path / "run").exists()
    assert not list(tmp_path.glob(".*importing"))
    return str(refused.value)


def test_what_cannot_be_imported_leaves_nothing(cluster: StandIn, tmp_path: Path) -> None:
    first, other = journals(tmp_path / "first"), journals(tmp_path / "other", run_id=6)
    assert "the journals are of different runs" in refusal(tmp_path, first, other)
    assert "producer 0 has a journal already" in refusal(tmp_path, first, journals(tmp_path / "same"))
    bad = events(tmp_path / "bad.jsonl", {"event": "sent", "seq": 1, "time_ms": 1})
    assert "bad.jsonl, line 2" in refusal(tmp_path, first, bad)
    (tmp_path / "empty").mkdir()
    assert "no folder for journals of producers" in refusal(tmp_path, tmp_path / "empty")
    assert "a file of events cannot be read" in refusal(tmp_path, tmp_path / "nothing")
    cluster.known = False
    assert "the topic is not there" in refusal(tmp_path, first)


def test_a_folder_that_holds_something_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="the run folder exists already"):
        import_own(OwnImport((journals(tmp_path / "sent"),), SERVERS), tmp_path)


def test_a_folder_of_events_alone_needs_no_target(cluster: StandIn, tmp_path: Path) -> None:
    (tmp_path / "sent").mkdir()
    events(tmp_path / "sent" / "shop.jsonl", {"event": "sent", "seq": 0, "time_ms": 1000})
    meta = import_own(OwnImport((tmp_path / "sent",), SERVERS), tmp_path / "run")
    assert (meta.run_id, meta.problems) == (5, ())
    assert cluster.known


def test_the_ids_that_the_program_has_journaled_are_used(cluster: StandIn, tmp_path: Path) -> None:
    folder = ProducerFolder(tmp_path / "sent")
    folder.create(ProducerTarget(5, "t", id=IdSpec(json="order_id")))
    number, file = folder.claim()
    own = OwnJournal(file, number, folder.target())
    own.sent(1, 0, b"customer-7", 10, record_id="order-11")
    own.close()
    beside = events(tmp_path / "beside.jsonl", {"event": "sent", "seq": 0, "time_ms": 1, "id": "order-12"})
    meta = import_own(OwnImport((beside, folder.path), SERVERS), tmp_path / "run")
    assert meta.ids == RecordIds(place="the field order_id of the value", times=1)
    rows = [(row["id"], row["key_text"]) for row in journal_rows(tmp_path / "run" / SENT_IDS_DIR)]
    assert sorted(rows) == [("order-11", "customer-7"), ("order-12", None)]
    assert cluster.target.also is not None  # type: ignore[attr-defined]
    told = OwnImport((beside, folder.path), SERVERS, ids=IdSpec(key=True))
    other = import_own(told, tmp_path / "other")
    assert other.ids == RecordIds(place="the key", times=1), "what is asked for comes first"


@pytest.mark.usefixtures("cluster")
def test_journals_with_their_ids_in_several_places_are_refused(tmp_path: Path) -> None:
    folders = []
    for name in ("a", "b"):
        folder = ProducerFolder(tmp_path / name)
        folder.create(ProducerTarget(5, "t", id=IdSpec(json=name)))
        folders.append(folder.path)
    with pytest.raises(BadInput, match="several places of the id"):
        import_own(OwnImport(tuple(folders), SERVERS), tmp_path / "run")
