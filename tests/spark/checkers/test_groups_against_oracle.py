"""Random histories of a group, judged by the check and by the plain-Python oracle."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from checkers.groups.find import find
from checkers.journals.views import Scratch, Views
from checkers.registry import load_whole_run
from harness.model.group_journal import (
    ASSIGNMENTS,
    ASSIGNMENTS_DIR,
    COMMITS,
    COMMITS_DIR,
    OFFSETS,
    OFFSETS_DIR,
)
from harness.model.run import ReaderInfo
from tests.support.group_history import READERS, SESSION, GroupHistory, at_ns
from tests.support.group_oracle import GroupFinding, group_findings
from tests.support.history import History, Row, run_meta, step, write_part, write_run
from tests.support.random_histories import examples, many

pytestmark = pytest.mark.spark

SIDE_BY_SIDE = 20
"""Histories in one run, so that one question to the engine answers for all: each has a group, a partition and
readers of its own."""
LOG = 8
Span = tuple[float, float]
"""From when to when the topic was deleted and created again, in seconds."""
members = st.sampled_from(READERS)
offsets = st.integers(0, LOG)
times = st.integers(0, 15)
spans = st.tuples(times, st.integers(0, 12))
commits = st.tuples(
    members,
    offsets,
    spans,
    st.sampled_from([None, None, None, "ABORTED", "_TIMED_OUT"]),
    st.sampled_from(["request", "request", "auto", "transaction", None]),
)
histories = st.fixed_dictionaries(
    {
        "commits": st.lists(commits, max_size=6),
        "answers": st.lists(
            st.tuples(spans, st.none() | offsets, st.sampled_from([None, None, None, "NOT_COORDINATOR"])),
            max_size=5,
        ),
        "owners": st.lists(
            st.tuples(members, spans, st.sampled_from(["revoked", "revoked", "lost", None])), max_size=5
        ),
        "given": st.lists(st.tuples(members, times, st.integers(0, LOG - 1)), max_size=12),
        "logged": st.lists(st.none() | offsets, max_size=4),
    }
)


def built(drawn: dict[str, Any]) -> GroupHistory:
    """Moments are a little apart by kind, so that no two events that matter have the same time."""
    history = GroupHistory(log=LOG)
    for number, (reader, offset, (begin, lasts), error, kind) in enumerate(drawn["commits"]):
        asked = None if kind == "auto" else begin + 0.1 + number / 100
        at = begin + lasts + 0.2 + number / 100
        history.commit(reader, offset, at, asked=asked, error=error, kind=kind)
    for number, ((begin, lasts), offset, error) in enumerate(drawn["answers"]):
        asked = begin + 0.3 + number / 100
        history.answer(offset, asked + lasts + 0.005, asked=asked, error=error)
    for number, (reader, (begin, lasts), how) in enumerate(drawn["owners"]):
        since = begin + 0.5 + number / 100
        history.own(reader, since, None if how is None else since + lasts + 0.005, how=how or "")
    for reader, time, offset in drawn["given"]:
        history.give(reader, time + 0.7, offset, offset)
    # As a journal has them.
    history.commits.sort(key=lambda row: row["at_ns"])
    return history.logged(*drawn["logged"])


def written(folder: Path, histories: list[GroupHistory], recreated: list[Span]) -> Path:
    """A run folder with all these histories."""
    records = History()
    rows: dict[str, list[Row]] = {COMMITS_DIR: [], ASSIGNMENTS_DIR: [], OFFSETS_DIR: []}
    readers = []
    for number, history in enumerate(histories):
        own: dict[str, Any] = {"producer": number, "partition": number}
        for offset in range(history.log):
            records.send(offset, at=offset, **own).read(offset, at=offset, **own)
        for row in history.given:
            records.give(row["offset"], at=row["offset"], reader=f"{row['reader']}-{number}", **own)
            records.live[-1]["read_ns"] = row["read_ns"]
        for name, some in (
            (COMMITS_DIR, history.commits),
            (ASSIGNMENTS_DIR, history.owners),
            (OFFSETS_DIR, history.answers),
        ):
            key = "group" if name == OFFSETS_DIR else "reader"
            rows[name] += [row | {"partition": number, key: f"{row[key]}-{number}"} for row in some]
        readers += [
            ReaderInfo(name=f"{name}-{number}", group=f"g-{number}", session_ms=SESSION * 1000)
            for name in READERS
        ]
    steps = tuple(
        step(number, f"again-{number}", begin, end, kind="recreate_topic")
        for number, (begin, end) in enumerate(recreated)
    )
    write_run(folder, records, meta=run_meta(readers=tuple(readers), steps=steps))
    for name, schema in ((COMMITS_DIR, COMMITS), (ASSIGNMENTS_DIR, ASSIGNMENTS), (OFFSETS_DIR, OFFSETS)):
        write_part(folder / name / "part-00000.parquet", rows[name], schema)
    return folder


def found(
    spark: SparkSession, folder: Path, histories: list[GroupHistory], recreated: list[Span]
) -> list[list[GroupFinding]]:
    """The findings about each history."""
    views = Views.of(spark, load_whole_run(written(folder / "run", histories, recreated)))
    result = find(views, Scratch(spark, folder / "scratch"))
    assert result.problems == ()
    by_history: list[list[GroupFinding]] = [[] for _ in histories]
    for row in [] if result.findings is None else result.findings.toArrow().to_pylist():
        by_history[row["partition"]].append(
            GroupFinding(row["finding"], _members(row), row["offsets"][0], row["count"])
        )
    return by_history


def _members(row: Row) -> tuple[str, ...]:
    """The names of the members; of two owners, the second one is in the sentence alone."""
    if row["reader"].startswith("g-"):
        return ()
    first, _, rest = row["detail"].partition(" and ")
    both = (first, rest.split()[0]) if row["finding"] == "two_owners" else (row["reader"],)
    return tuple(name.rpartition("-")[0] for name in both)


@many(examples(4, SIDE_BY_SIDE))
@given(
    drawn=st.lists(histories, min_size=SIDE_BY_SIDE, max_size=SIDE_BY_SIDE),
    again=st.lists(spans, max_size=2),
)
def test_they_agree_on_every_finding(
    spark: SparkSession,
    tmp_path_factory: pytest.TempPathFactory,
    drawn: list[dict[str, Any]],
    again: list[tuple[int, int]],
) -> None:
    all_of_them = [built(one) for one in drawn]
    recreated = [(begin + 0.31, begin + lasts / 4 + 0.93) for begin, lasts in again]
    told = found(spark, tmp_path_factory.mktemp("groups"), all_of_them, recreated)
    times = tuple((at_ns(begin), at_ns(end)) for begin, end in recreated)
    for history, findings in zip(all_of_them, told, strict=True):
        assert sorted(findings) == sorted(group_findings(history, times))
