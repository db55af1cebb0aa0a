"""Rates over run folders: grouped, left out with a reason, refused; the same numbers as in plain Python."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from checkers.check import check_run
from checkers.rates.aggregate import rates_of_runs
from checkers.rates.rows import axis_values
from checkers.statistics.rates import per_million, share_of
from harness.model.errors import BadInput, JournalError
from harness.model.finding_class import FindingClass
from harness.model.journal import RUN_FILE, SENDS_DIR, SUMMARY_FILE
from tests.support.command_line import call
from tests.support.fake_backend import summary_of
from tests.support.history import History, run_meta, write_run

pytestmark = pytest.mark.spark

LOST = {"1": [0, 40, 200, 0], "all": [0, 0, 0, 0]}


def add(folder: Path, lost: int = 0, labels: dict[str, str] | None = None, **meta: Any) -> Path:
    """A run folder of four sends whose reports took 1, 2, 3 and 10 ms."""
    history = History()
    for seq, millis in enumerate((1, 2, 3, 10)):
        history.send(seq, sent=1.0, closed=1.0 + millis / 1000)
    history.send(4, outcome="indeterminate", sent=1.0, closed=31.0)
    folder.mkdir(parents=True)
    write_run(folder, history, meta=run_meta(**meta))
    summary = summary_of(lost=lost, duplicates=2, unavailable=4 + lost / 100)
    (folder / SUMMARY_FILE).write_text(summary.model_dump_json())
    if labels is not None:
        (folder / "outcome.json").write_text(json.dumps({"labels": labels}))
    return folder


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """Four runs of acks=1, four of acks=all, deep and with odd names."""
    for acks, many in LOST.items():
        for number, lost in enumerate(many):
            folder = tmp_path / "results" / "m [1]" / "runs" / f"acks={acks}" / f"{number:03d}"
            add(
                folder, lost, {"fault": "kill"}, acks=acks, arm=f"acks={acks}",
                topic_config={"min.insync.replicas": "2"},
            )  # fmt: skip
    return tmp_path / "results"


def test_groups_have_the_numbers_of_their_runs(spark: SparkSession, results: Path) -> None:
    found = rates_of_runs(spark, results, ["acks", "fault"])
    assert found.left_out == []
    one, all_ = found.rows
    assert [(row["acks"], row["fault"], row["runs"]) for row in found.rows] == [
        ("1", "kill", 4),
        ("all", "kill", 4),
    ]
    assert (one["runs_with_loss"], one["lost"], one["acked"]) == (2, 240, 40_000)
    assert one["loss_share_low"] == pytest.approx(share_of(2, 4).low)
    expected = per_million(LOST["1"], [10_000] * 4)
    assert one["lost_per_million"] == pytest.approx(6000)
    assert one["lost_low"] == pytest.approx(expected.low)
    assert one["lost_high"] == pytest.approx(expected.high)
    assert one["unavailable_median_s"] == pytest.approx(4.2)
    assert one["unavailable_most_s"] == pytest.approx(6)
    assert one["duplicates_per_million"] == pytest.approx(200)
    assert (one["inputs"], one["unprocessed_per_million"]) == (0, None)
    assert all_["lost_per_million"] == 0
    assert all_["lost_high"] is None
    assert all_["loss_share_high"] == pytest.approx(1 - 0.05**0.25)
    assert all_["unconfirmed_absent_per_million"] is None
    # Of four times 1, 2, 3 and 10 ms; what has no success report has no latency.
    assert one["latency_p50_ms"] == pytest.approx(2)
    assert one["latency_p99_ms"] == pytest.approx(10)
    assert found.table.to_pylist() == found.rows


def test_unprocessed_and_reprocessed_inputs_of_an_application(spark: SparkSession, tmp_path: Path) -> None:
    path = add(tmp_path / "r" / "one") / SUMMARY_FILE
    summary = summary_of()
    findings = {FindingClass.UNPROCESSED: 3, FindingClass.REPROCESSED: 1}
    changed = summary.model_copy(update={"inputs": 1_000, "processed": 997, "findings": findings})
    path.write_text(changed.model_dump_json())
    (row,) = rates_of_runs(spark, tmp_path / "r", ["acks"], latencies=False).rows
    assert (row["inputs"], row["unprocessed"], row["reprocessed"]) == (1_000, 3, 1)
    assert (row["unprocessed_per_million"], row["reprocessed_per_million"]) == (3_000, 1_000)


def test_ids_of_records(spark: SparkSession, tmp_path: Path) -> None:
    path = add(tmp_path / "r" / "one") / SUMMARY_FILE
    found = {FindingClass.LOST_ID: 1, FindingClass.DUPLICATE_ID: 3}
    summary = summary_of().model_copy(update={"ids": 2_000, "acked_ids": 1_000, "findings": found})
    path.write_text(summary.model_dump_json())
    (row,) = rates_of_runs(spark, tmp_path / "r", ["acks"], latencies=False).rows
    assert (row["ids"], row["acked_ids"], row["lost_id"], row["duplicate_id"]) == (2_000, 1_000, 1, 3)
    assert (row["lost_id_per_million"], row["duplicate_id_per_million"]) == (1_000, 1_500)


def encoded(path: Path, types: dict[str, pa.DataType]) -> None:
    """Write a journal file again with these types of columns."""
    table = pq.read_table(path)
    for name, kind in types.items():
        column = table[name].combine_chunks()
        if pa.types.is_dictionary(kind):
            column = column.cast(kind.value_type).dictionary_encode()
        table = table.set_column(table.column_names.index(name), name, column.cast(kind))
    pq.write_table(table, path)


CATEGORIES = pa.dictionary(pa.int32(), pa.string())
ENCODINGS: dict[str, dict[str, pa.DataType]] = {
    "an outcome of categories": {"outcome": CATEGORIES},
    "all texts of categories": dict.fromkeys(("outcome", "topic", "error"), CATEGORIES),
    "long categories": {"outcome": pa.dictionary(pa.int32(), pa.large_string())},
    "a long outcome": {"outcome": pa.large_string()},
}
"""Columns of a journal that `check` reads, since only what Arrow remembers of them differs."""


@pytest.mark.parametrize("name", ENCODINGS)
def test_how_columns_are_encoded_changes_no_figure(spark: SparkSession, tmp_path: Path, name: str) -> None:
    folders = [add(tmp_path / "r" / f"run-{number}") for number in range(3)]
    before = rates_of_runs(spark, tmp_path / "r", ["acks"]).rows
    assert before[0]["latency_p99_ms"] == pytest.approx(10)
    parts = [folder / SENDS_DIR / "part-00000.parquet" for folder in folders]
    encoded(parts[1], ENCODINGS[name])
    # A journal of which one file is encoded so, and the other is not.
    shutil.copy(parts[0], parts[2].with_name("part-00001.parquet"))
    encoded(parts[2], ENCODINGS[name])
    check_run(spark, tmp_path / "r" / "run-1", results=tmp_path / "checked")
    assert rates_of_runs(spark, tmp_path / "r", ["acks"]).rows == before


def test_by_a_setting_and_without_latencies(spark: SparkSession, results: Path) -> None:
    add(results / "other", topic_config={"min.insync.replicas": "1"})
    found = rates_of_runs(spark, results, ["topic:min.insync.replicas"], latencies=False)
    assert [(row["topic:min.insync.replicas"], row["runs"]) for row in found.rows] == [("1", 1), ("2", 8)]
    assert "latency_p50_ms" not in found.rows[0]
    # Not every run has the axis.
    assert [row["fault"] for row in rates_of_runs(spark, results, ["fault"]).rows] == ["-", "kill"]


def test_runs_that_say_nothing_are_left_out_and_named(spark: SparkSession, results: Path) -> None:
    add(results / "unknown", problems=("the sampler ended early",), acks="all")
    (add(results / "unchecked", acks="all") / SUMMARY_FILE).unlink()
    (add(results / "damaged", acks="all") / SUMMARY_FILE).write_text("{")
    (add(results / "half", acks="all") / RUN_FILE).write_text("{")
    add(results / "runs" / "cut-short-003-1", acks="all")
    found = rates_of_runs(spark, results, ["acks"])
    assert [(row["acks"], row["runs"], row["left_out"]) for row in found.rows] == [("1", 4, 0), ("all", 4, 3)]
    told = {Path(line.partition(": ")[0]).name: line.partition(": ")[2] for line in found.left_out}
    assert set(told) == {"unknown", "unchecked", "damaged", "half"}
    assert told["unknown"] == "the sampler ended early"
    assert "kafka-chaos check" in told["unchecked"]


def test_only_runs_that_say_nothing(spark: SparkSession, tmp_path: Path) -> None:
    (add(tmp_path / "r" / "one") / SUMMARY_FILE).unlink()
    (row,) = rates_of_runs(spark, tmp_path / "r", ["acks"]).rows
    assert (row["runs"], row["left_out"], row["loss_share_high"]) == (0, 1, 1.0)
    assert row["lost_per_million"] is None


def test_other_versions_no_runs_and_unknown_axes_are_refused(
    spark: SparkSession, results: Path, tmp_path: Path
) -> None:
    with pytest.raises(BadInput, match="no run has a value on 'fauld'"):
        rates_of_runs(spark, results, ["fauld"])
    (tmp_path / "empty").mkdir()
    with pytest.raises(JournalError, match="there is no run below"):
        rates_of_runs(spark, tmp_path / "empty", ["acks"])
    path = add(results / "old") / RUN_FILE
    data = json.loads(path.read_text())
    path.write_text(json.dumps(data | {"schema_version": data["schema_version"] - 1}))
    with pytest.raises(JournalError) as caught:
        rates_of_runs(spark, results, ["acks"])
    assert "1 of 9 runs" in str(caught.value)
    assert str(results / "old") in str(caught.value)


def test_axes_of_a_run() -> None:
    found = axis_values(run_meta(producer_config={"acks": "all"}), {"client": "mine"})
    assert found["version"] == "4.3.1"
    assert found["producer:acks"] == "all"
    assert found["client"] == "mine", "the axes of a matrix come first"


def test_the_command(
    spark: SparkSession,  # noqa: ARG001
    results: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert call(monkeypatch, "rates", str(results), "--by", "acks,fault", "-q") == 0
    told = capsys.readouterr().out
    assert "6,000" in told
    assert "acks=1, fault=kill\n" in told, "into a pipe each group is a block"
    rows = pq.read_table(results / "rates.parquet").to_pylist()
    assert [(row["acks"], row["runs"], row["lost"]) for row in rows] == [("1", 4, 240), ("all", 4, 0)]
    assert (results / "rates.csv").read_text().splitlines()[1].startswith("1,kill,4,0,2,40000,240,")
    assert "Runs that lost acknowledged records" in (results / "rates.html").read_text()
    elsewhere = ("--results", str(results / "other"), "--html", str(results / "r.html"))
    assert call(monkeypatch, "rates", str(results), "-q", *elsewhere) == 0
    assert {path.name for path in (results / "other").iterdir()} == {"rates.parquet", "rates.csv"}
    assert (results / "r.html").exists()
    in_the_way = ("--csv", str(results / "r.html" / "rates.csv"))
    assert call(monkeypatch, "rates", str(results), "-q", *in_the_way) == 2
    assert "name a folder with --results" in capsys.readouterr().err
    assert (
        call(monkeypatch, "rates", str(results), "--engine", "sail", "--spark-conf", "spark.a=b", "-q") == 2
    )
    assert "Sail has no master, no settings" in capsys.readouterr().err
    contradiction = ("--engine", "sail", "--spark-conf", "spark.a=b")
    assert call(monkeypatch, "rates", str(results), "-q", *contradiction) == 2
    assert "Sail has no master, no settings" in capsys.readouterr().err
    assert call(monkeypatch, "rates", str(results), "--json", "-q", "--no-latency") == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert [row["arm"] for row in rows] == ["acks=1", "acks=all"]
    assert call(monkeypatch, "rates", str(results), "--by", "acks,acks") == 2
    assert call(monkeypatch, "rates", str(results / "nowhere"), "-q") == 3
