"""The user's own questions: the views of a run, queries over them, and what is said of wrong ones."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from checkers.check import check_run
from checkers.journals.views import Views, is_embedded
from checkers.questions.query import VIEW_DESCRIPTIONS
from checkers.questions.views import RunViews, ask, records_of, views_of
from checkers.registry import load_whole_run
from harness.check_jobs import saved_run_queries
from harness.model.errors import BadInput, KafkaChaosError
from harness.model.journal import SUMMARY_FILE
from tests.support.command_line import call
from tests.support.history import OTHER_RUN, History, run_meta, sample, step, window, write_run
from tests.support.paths import ROOT

pytestmark = pytest.mark.spark

PAGE = ROOT / "docs" / "how-to" / "ask-your-own-questions.md"
SECTION = re.compile(
    r"^### (\d+\. [^\n]*)\n(?:(?!^#).)*?```sql\n(.*?)```\n\n(\|[^\n]*\|)\n", re.DOTALL | re.MULTILINE
)
QUESTIONS = [match.groups() for match in SECTION.finditer(PAGE.read_text())]


def a_run(folder: Path) -> Path:
    """Two producers and two partitions. Producer 1 is read out of order, and lost a record to another; of
    producer 0 one record is there twice, one is a phantom, and one is of another run."""
    first, second = History(), History(producer=1, partition=1)
    for seq in range(4):
        first.send(seq, at=seq, key=seq, sent=seq + 1, closed=seq + 1.25).read(seq, at=seq, key=seq)
    first.read(3, at=9, key=3).read(77, at=10).read(0, at=11, run=OTHER_RUN, state="foreign")
    second.send(0, at=0, sent=5, closed=5.5).send(1, at=1, sent=6, closed=6.5).send(2, at=2, sent=7, closed=8)
    second.read(1, at=1).read(2, at=0, epoch=1)
    second.send(3, "indeterminate", sent=8, closed=None)
    folder.mkdir(parents=True)
    meta = run_meta(
        partitions=2,
        windows=(window("kill-1", 4.5, 6.0), window("cut-1", 20, None, verified=False)),
        steps=(step(0, "write", 0, 50), step(1, "quiet", 50, None, kind="sleep")),
    )
    samples = [sample(1, 2, leader=2, epoch=0), sample(7, 3, leader=3, epoch=1)]
    return write_run(folder, first, second, meta=meta, samples=samples)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run in a folder whose name has characters that mean something in patterns and in partitions."""
    return a_run(tmp_path / "results [1]" / "acks=1")


@pytest.fixture(scope="module")
def checked(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Such a run, checked, which no test changes."""
    run = a_run(tmp_path_factory.mktemp("checked") / "results [1]" / "acks=1")
    check_run(spark, run)
    return run


@pytest.fixture
def views(spark: SparkSession, checked: Path) -> RunViews:
    return views_of(spark, checked)


def rows(views: RunViews, query: str) -> list[dict[str, Any]]:
    answer: list[dict[str, Any]] = views.sql(query).to_pylist()
    return answer


def test_records_have_what_was_sent_beside_what_was_read(views: RunViews) -> None:
    found = {(row["run"], row["producer"], row["seq"]): row for row in rows(views, "select * from records")}
    assert len(found) == 4 + 4 + 2
    ordinary = found[4242, 0, 1]
    assert (ordinary["topic"], ordinary["partition"], ordinary["outcome"]) == ("t", 0, "acked")
    assert ordinary["latency_ms"] == pytest.approx(250)
    assert (ordinary["times_sent"], ordinary["times_read"], ordinary["first_offset"]) == (1, 1, 1)
    assert ordinary["finding"] is None
    twice = found[4242, 0, 3]
    assert (twice["times_read"], twice["finding"]) == (2, "duplicate")
    lost = found[4242, 1, 0]
    assert (lost["times_read"], lost["first_offset"], lost["finding"]) == (0, None, "lost")
    assert lost["windows"] == "kill-1 + cut-1"
    assert lost["partition"] == 1
    still_open = found[4242, 1, 3]
    assert (still_open["closed_ns"], still_open["latency_ms"], still_open["finding"]) == (None, None, None)
    phantom = found[4242, 0, 77]
    assert (phantom["times_sent"], phantom["outcome"], phantom["partition"]) == (0, None, 0)
    assert phantom["finding"] == "phantom"
    # The record of another run has the number of one of ours, which is as it should be.
    assert found[OTHER_RUN, 0, 0]["times_sent"] == 0
    assert found[4242, 0, 0]["finding"] is None


def test_every_record_with_a_finding_is_one_row(views: RunViews) -> None:
    found = rows(
        views, "select finding, count(*) as n from records where finding is not null group by finding"
    )
    kept = rows(views, "select finding, count(*) as n from findings where seq is not null group by finding")
    assert {row["finding"]: row["n"] for row in found} == {row["finding"]: row["n"] for row in kept}
    assert {"lost", "duplicate", "phantom"} <= {row["finding"] for row in found}


SEVERAL = [
    ("duplicate", None, None),
    ("duplicate", None, "at two offsets"),
    ("duplicate", "kill-1", None),
    ("duplicate", "", "at three offsets"),
]
"""Findings about one record, from the least on: null comes before all texts."""


@pytest.mark.parametrize("count", range(len(SEVERAL)))
def test_of_several_findings_about_a_record_the_least_is_shown(
    spark: SparkSession, run: Path, count: int
) -> None:
    shown = sorted(SEVERAL, key=lambda one: [(value is not None, value or "") for value in one])[count:]
    found = spark.createDataFrame(
        [(*one, 0, 3, 1) for one in reversed(shown)],
        "finding string, windows string, detail string, producer int, seq bigint, sent_ns bigint",
    )
    rows = records_of(Views.of(spark, load_whole_run(run)), found).where("finding is not null").collect()
    assert [(row["finding"], row["windows"], row["detail"]) for row in rows] == [shown[0]]


def test_faults_and_steps_are_those_of_the_run(views: RunViews) -> None:
    kill, cut = rows(views, "select * from faults order by opened_ns")
    assert (kill["name"], kill["kind"], kill["target"], kill["verified"]) == (
        "kill-1",
        "kill",
        "leader",
        True,
    )
    assert kill["closed_ns"] - kill["opened_ns"] == 1_500_000_000
    assert (cut["closed_ns"], cut["verified"]) == (None, False)
    assert [(one["index"], one["name"], one["kind"]) for one in rows(views, "select * from steps")] == [
        (0, "write", "write"),
        (1, "quiet", "sleep"),
    ]


def test_a_view_is_a_dataframe_and_there_are_no_others(views: RunViews) -> None:
    assert set(views) == {"records", "sends", "reads", "findings", "faults", "steps", "samples"}
    assert views["sends"].where("outcome = 'acked'").count() == 7
    assert "topic_partition" not in views["reads"].columns
    with pytest.raises(KeyError):
        views["transactions"]
    assert set(views) <= set(VIEW_DESCRIPTIONS)


def test_a_run_that_was_not_checked(spark: SparkSession, run: Path) -> None:
    views = views_of(spark, run)
    assert rows(views, "select count(*) as n from records") == [{"n": 10}]
    for query in ("select * from findings", "select finding from records"):
        with pytest.raises(BadInput, match="was not checked") as caught:
            views.sql(query)
        assert str(caught.value.next_step).startswith("run `kafka-chaos check ")
    check_run(spark, run)
    assert not views.checked
    assert rows(views_of(spark, run), "select count(*) as n from findings where finding = 'lost'") == [
        {"n": 1}
    ]


@pytest.mark.parametrize(
    ("query", "what", "more"),
    [
        ("", "this is no query", "an empty text"),
        ("drop table records", "this is no query", "begins with select"),
        ("-- select\ninsert into records values (1)", "this is no query", "begins with select"),
        ("select * from recrods", "there is no view 'recrods'", "did you mean 'records'"),
        ("select * from transactions", "no view 'transactions': it has no such journal", "records, sends"),
        ("select partitoin from records", "there is no column 'partitoin'", "did you mean 'partition'"),
        ("select r.nothing_like_it from sends r", "no column 'nothing_like_it'", "sends: producer, seq"),
        ("select count(* from sends", "the query cannot be answered", "found:"),
        ("select cast('x' as int) from sends", "the query cannot be answered", "found:"),
    ],
)
def test_a_wrong_query_is_explained(views: RunViews, query: str, what: str, more: str) -> None:
    with pytest.raises(BadInput) as caught:
        views.sql(query)
    told = str(caught.value)
    assert what in told
    assert more in told
    assert "JVM stacktrace" not in told
    assert "\tat " not in told


def test_a_query_never_finds_a_view_of_another_run(
    spark: SparkSession, views: RunViews, tmp_path: Path
) -> None:
    other = views_of(spark, a_run(tmp_path / "other"))
    assert rows(views, "select count(*) as n from findings") != [{"n": 0}]
    with pytest.raises(BadInput, match="was not checked"):
        other.sql("select count(*) as n from findings")


def test_more_rows_than_asked_for_are_told(views: RunViews) -> None:
    query = "select seq from sends where producer = 0 order by seq desc;  -- the newest first"
    some = ask(views, query, limit=3)
    assert (some.table.to_pydict(), some.more) == ({"seq": [3, 2, 1]}, True)
    everything = ask(views, query, limit=4)
    assert (everything.table.num_rows, everything.more) == (4, False)


def test_columns_of_one_name_stay_apart(views: RunViews) -> None:
    joined = views.sql(
        "select s.seq, r.seq from sends s join reads r on s.seq = r.seq + 1 and s.producer = 1"
    )
    assert joined.column_names == ["seq", "seq_2"]


def test_the_page_has_ten_questions() -> None:
    assert [title.partition(".")[0] for title, _, _ in QUESTIONS] == [str(number) for number in range(1, 11)]


def header_of(line: str) -> list[str]:
    return [name.strip() for name in line.strip("|").split("|")]


@pytest.mark.parametrize(("title", "query", "header"), QUESTIONS, ids=lambda text: text[:30])
def test_the_questions_of_the_page_have_answers(views: RunViews, title: str, query: str, header: str) -> None:
    answer = views.sql(query)
    assert answer.column_names == header_of(header), title
    assert answer.num_rows > 0, title


@pytest.mark.soak
def test_the_questions_of_the_page_have_answers_on_apache_spark(
    apache_spark: SparkSession, run: Path
) -> None:
    check_run(apache_spark, run)
    views = views_of(apache_spark, run)
    for title, query, header in QUESTIONS:
        answer = views.sql(query)
        assert answer.column_names == header_of(header), title
        assert answer.num_rows > 0, title


def test_the_command(
    views: RunViews,
    checked: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    query = "select outcome, count(*) as n from sends group by outcome order by n"

    def asked(*arguments: str, code: int = 0) -> str:
        assert call(monkeypatch, "sql", str(checked), *arguments, "-q") == code
        told = capsys.readouterr()
        return told.out + told.err

    assert "indeterminate" in asked(query)
    assert json.loads(asked(query, "--json")) == [
        {"outcome": "indeterminate", "n": 1},
        {"outcome": "acked", "n": 7},
    ]
    assert asked(query, "--csv").split() == ["outcome,n", "indeterminate,1", "acked,7"]
    file = tmp_path / "answer.parquet"
    assert "2 rows" in asked(query, "--parquet", str(file))
    assert pq.read_table(file).to_pylist()[1] == {"outcome": "acked", "n": 7}
    assert "there are more rows: the first 1 are here" in asked(query, "--limit", "1")
    assert "there are more" not in asked(query, "--limit", "0")
    listed = asked("--views")
    assert all(f"{name}: {VIEW_DESCRIPTIONS[name]}" in listed for name in views)
    assert "records" in [one["view"] for one in json.loads(asked("--views", "--json"))]
    assert "did you mean 'sends'" in asked("select * from send", code=2)
    assert "no query" in asked("delete from sends", code=2)
    assert "a query is missing" in asked(code=2)
    assert "contradict each other" in asked(query, "--csv", "--json", code=2)
    assert "cannot be written" in asked(query, "--parquet", str(tmp_path), code=2)


def test_folders_that_are_no_run(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(monkeypatch, "sql", str(run.parent), "select 1", "-q") == 3
    assert "name one of them" in capsys.readouterr().err
    assert call(monkeypatch, "sql", str(tmp_path / "nothing"), "select 1", "-q") == 3
    assert "this is not a run folder" in capsys.readouterr().err


def test_the_public_face(spark: SparkSession, run: Path) -> None:  # noqa: ARG001
    import kafka_chaos

    views = kafka_chaos.views(run, engine="sail")
    assert isinstance(views, kafka_chaos.RunViews)
    assert views.sql("select count(*) as n from sends").to_pylist() == [{"n": 8}]
    assert not (run / SUMMARY_FILE).exists()
    with pytest.raises(KafkaChaosError, match="there is no such engine"):
        kafka_chaos.views(run, engine="duckdb")


QUOTED = "select count(*) as n, 'it''s' as text from sends"


def test_what_sail_may_answer_otherwise_is_told(
    spark: SparkSession,  # noqa: ARG001
    run: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    views = saved_run_queries.views(run, "sail")
    assert views.differences("select 'its'") == []
    with pytest.warns(UserWarning, match="a quote that is written twice in a text is left out: put the text"):
        assert views.sql(QUOTED).to_pylist() == [{"n": 8, "text": "its"}]
    assert call(monkeypatch, "sql", str(run), QUOTED, "--engine", "sail", "-q") == 0
    told = capsys.readouterr()
    assert "warning: Sail may answer otherwise than Apache Spark. a quote that is written twice" in told.err
    assert call(monkeypatch, "sql", str(run), "select 1", "--engine", "sail", "-q") == 0
    assert "warning" not in capsys.readouterr().err


@pytest.fixture
def both(spark: SparkSession, apache_spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """The sessions of the tests in place of servers of a command."""
    if not is_embedded(spark):
        pytest.skip("the tier runs on Apache Spark")
    sessions = {"sail": spark, "spark": apache_spark}

    def views(run: str, engine: str) -> RunViews:
        return views_of(sessions[engine], Path(run))

    monkeypatch.setattr(saved_run_queries, "views", views)


@pytest.mark.soak
@pytest.mark.parametrize(
    ("query", "code", "answer", "told"),
    [
        (QUOTED, 1, "it's", "Sail alone: n = 8, text = 'its'"),
        ("select seq from sends order by seq", 0, "0", "Apache Spark and Sail answer the same 8 rows"),
        ("select sum(sent_ns) as n from sends", 1, "-", "Apache Spark cannot answer it ("),
        ("select count(*) as n from sends group by all", 1, "8", "Sail cannot answer it ("),
        ("select avg(latency_ms) as n from records", 0, "", "answer the same 1 rows"),
        ("select nothing from sends", 2, "", "there is no column 'nothing'"),
    ],
)
@pytest.mark.usefixtures("both")
def test_both_engines_are_asked_and_compared(
    run: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    query: str,
    code: int,
    answer: str,
    told: str,
) -> None:
    assert call(monkeypatch, "sql", str(run), query, "--both-engines", "-q") == code
    found = capsys.readouterr()
    assert answer in found.out
    assert told in found.err
    assert "warning" not in found.err
    assert "stacktrace" not in found.err


def test_options_that_contradict_asking_both(
    run: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for more in (("select 1", "--engine", "sail"), ("--views",)):
        assert call(monkeypatch, "sql", str(run), *more, "--both-engines", "-q") == 2
        assert "contradict each other" in capsys.readouterr().err
