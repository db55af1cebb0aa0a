"""`kafka-chaos import-ids --topic`: a list of ids in, a run folder out that says what the topic holds."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from harness.cli.app import app
from harness.model.id_journal import SENT_IDS_DIR
from harness.model.journal import SENDS_DIR
from harness.model.journal_reader import journal_rows
from harness.model.run import FinalRead, RecordIds, RunMeta
from harness.run.reads.final_read import FinalReadTarget
from harness.tools.interop import ids_import
from tests.support.history import bounds
from tests.support.topic_stand_in import TopicStandIn

pytestmark = pytest.mark.pure

SENT = "order,outcome\nA-1,ok\nA-2,timeout\nA-1,ok\nA-3,rejected\n"
OPTIONS = ("--id", "order", "--topic", "t", "--bootstrap-servers", "there:9092")


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> TopicStandIn:
    cluster = TopicStandIn()

    def read(_cluster: TopicStandIn, target: FinalReadTarget, _folder: Path) -> FinalRead:
        cluster.target = target
        return FinalRead(complete=True, records=3, bounds=(bounds(start=cluster.start),))

    cluster.stand_in(monkeypatch, ids_import, read)
    return cluster


def called(folder: Path, *options: str, sent: str = SENT) -> tuple[int, str]:
    (folder / "sent.csv").write_text(sent)
    command = ["import-ids", "--sent", str(folder / "sent.csv"), *options, "--quiet"]
    done = CliRunner().invoke(app, command)
    return done.exit_code, done.output + str(done.exception or "")


def test_a_list_becomes_sends_without_times_and_places(cluster: TopicStandIn, tmp_path: Path) -> None:
    code, told = called(tmp_path, *OPTIONS, "--folder", str(tmp_path / "run"))
    assert code == 0, told
    assert f"written; now: kafka-chaos check {tmp_path / 'run'}" in told
    meta = RunMeta.load(tmp_path / "run")
    assert meta.ids == RecordIds(place="the field order of the value", alone=True)
    assert (meta.topic, meta.problems, meta.finished, meta.client) == ("t", (), True, "a list of ids")
    sends = [
        (row["seq"], row["outcome"], row["partition"]) for row in journal_rows(tmp_path / "run" / SENDS_DIR)
    ]
    assert sends == [(0, "acked", -1), (1, "indeterminate", -1), (2, "acked", -1), (3, "rejected", -1)]
    names = [(row["seq"], row["id"]) for row in journal_rows(tmp_path / "run" / SENT_IDS_DIR)]
    assert names == [(0, "A-1"), (1, "A-2"), (2, "A-1"), (3, "A-3")]
    assert cluster.target is not None
    assert (cluster.target.topic, cluster.target.also is None) == ("t", False)


def test_the_place_of_the_id_and_how_often_it_is_meant(cluster: TopicStandIn, tmp_path: Path) -> None:
    place = ("--received-id", "header:order-id", "--id-times", "2")
    assert called(tmp_path, *OPTIONS, *place, "--folder", str(tmp_path / "run"))[0] == 0
    assert RunMeta.load(tmp_path / "run").ids == RecordIds(place="the header order-id", times=2, alone=True)
    assert cluster.target is not None


@pytest.mark.parametrize(
    ("policy", "start", "sent", "problem"),
    [
        ("compact", 0, SENT, "the topic is compacted"),
        ("delete", 5, SENT, "partition 0 begins at offset 5"),
        ("delete", 0, "order\n", "the lists of sends have no row"),
        ("delete", 0, "order,x\n,1\n", "1 rows have no id"),
    ],
)
def test_what_is_in_doubt_is_a_problem(
    cluster: TopicStandIn, tmp_path: Path, policy: str, start: int, sent: str, problem: str
) -> None:
    cluster.policy, cluster.start = policy, start
    code, told = called(tmp_path, *OPTIONS, "--folder", str(tmp_path / "run"), sent=sent)
    assert (code, problem in told) == (0, True), told
    assert any(problem in one for one in RunMeta.load(tmp_path / "run").problems)


@pytest.mark.parametrize(
    "options",
    [
        ("--id", "order"),
        ("--id", "order", "--topic", "t"),
        (*OPTIONS, "--folder", "run", "--received", "list.csv"),
        (*OPTIONS, "--folder", "run", "--complete"),
    ],
)
@pytest.mark.usefixtures("cluster")
def test_a_list_or_a_topic_is_compared_with(tmp_path: Path, options: tuple[str, ...]) -> None:
    code, told = called(tmp_path, *options)
    assert code != 0
    assert "it is not clear what the ids are compared with" in told


@pytest.mark.usefixtures("cluster")
def test_what_cannot_be_imported_leaves_nothing(tmp_path: Path) -> None:
    code, told = called(
        tmp_path, *OPTIONS, "--folder", str(tmp_path / "run"), sent="order,outcome\nA,strange\n"
    )
    assert (code != 0, "these outcomes are not known" in told) == (True, True)
    assert not (tmp_path / "run").exists()
